"""The exact loss against recursion over all computations, and runs whose third pass trains with it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from parser.beam_settings import Exact, Scores
from parser.data.sentences import NO_NODE
from parser.data.treebank import read_treebank
from parser.data.vocabularies import ABSENT, N_RESERVED
from parser.decoding.exact.chart import ChartRules, n_states
from parser.decoding.parsers import parser_with_beam
from parser.evaluation.gold_part import GoldPart
from parser.model.model import Model
from parser.settings.plan import OptimizerPlan, Span
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting import exact_objective
from parser.training.fitting.exact_objective import ExactObjective, add_posteriors
from parser.training.fitting.sentence_batches import BatchEncoder
from parser.training.fitting.trainer import TorchOptimizer, Trainer
from parser.training.run import train
from tests.decoding.arc_hybrid_sums import IMPOSSIBLE, log_sum, over_computations
from tests.jit import COMPILED
from tests.random_models import small_bilstm_model
from tests.random_trees import random_projective_tree
from tests.toy import sentence
from tests.training.small_runs import Searches, files_of, run, train_until_killed

EXACT = [
    "system=arc_hybrid",
    "model=bilstm",
    "recipe=accurate",
    "beam=exact",
    "beam.training.epochs=2",
    "beam.training.batch_sentences=5",
    "beam.training.learning_rate=0.01",
    "encoder.hidden=12",
    "encoder.slots.token=[s0,b0]",
    "encoder.slots.deprel=[]",
    "first_pass.epochs=1",
    "second_pass.epochs=1",
]


def tensor_log_sum(values: list[torch.Tensor | float]) -> torch.Tensor | float:
    """As log_sum(), with a gradient."""
    possible = [torch.as_tensor(value, dtype=torch.float64) for value in values if value > IMPOSSIBLE]
    return torch.stack(possible).logsumexp(0) if possible else IMPOSSIBLE


@settings(max_examples=25 if COMPILED else 4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 6), n_relations=st.integers(1, 2), single_root=st.booleans())
def test_the_partition_function_and_the_posteriors_are_those_of_all_computations(seed, n, n_relations, single_root):
    rng = random.Random(seed)
    root_relation = seed % n_relations if single_root and n_relations > 1 else NO_NODE
    space = {"root_relation": root_relation, "single_root": single_root}
    scores = np.random.default_rng(seed).normal(0, 2, (n_states(n), 1 + 2 * n_relations)).astype(np.float32)
    arcs = {}
    if rng.random() < 0.7:  # those of a tree, or of a part of one
        heads = random_projective_tree(rng, n)
        arcs = {i: (head, rng.randrange(n_relations)) for i, head in enumerate(heads, 1) if rng.random() < 0.8}
    heads, relations = np.full((2, n + 1), NO_NODE, np.int32)
    for token, arc in arcs.items():
        heads[token], relations[token] = arc
    slopes = np.zeros_like(scores)
    found = add_posteriors(scores, n, ChartRules(n_relations, root_relation, single_root), heads, relations, -2.0, slopes)
    values = torch.from_numpy(scores.astype(np.float64)).requires_grad_()
    expected = over_computations([row.unbind() for row in values], n, tensor_log_sum, **space, arcs=arcs)
    assert found == pytest.approx(expected if expected == IMPOSSIBLE else expected.item(), abs=1e-9)
    if found == -math.inf:
        assert not slopes.any()
        return
    expected.backward()
    np.testing.assert_allclose(slopes, -2 * values.grad.numpy(), atol=1e-5)
    if n == 6 and not arcs:
        assert (-slopes.sum() / 2) == pytest.approx(2 * n, rel=1e-5)  # as many transitions as a computation has


@pytest.mark.parametrize("single_root", [True, False])
def test_sums_over_longer_sentences_and_over_the_computations_of_a_tree(single_root):
    rng = random.Random(7)
    n = 8 if COMPILED else 5
    for _ in range(3):
        scores = np.random.default_rng(rng.randrange(99)).normal(0, 2, (n_states(n), 5)).astype(np.float32)
        rules = ChartRules(2, 1 if single_root else NO_NODE, single_root)
        space = {"root_relation": rules.root_relation, "single_root": single_root}
        tree = random_projective_tree(rng, n)
        while tree.count(0) != 1:
            tree = random_projective_tree(rng, n)
        arcs = {i: (head, int(head == 0)) for i, head in enumerate(tree, 1)}
        heads, relations = np.array([[NO_NODE, *column] for column in zip(*arcs.values(), strict=True)], np.int32)
        free, slopes = np.full(n + 1, NO_NODE, np.int32), np.zeros_like(scores)
        of_all = add_posteriors(scores, n, rules, free, free, 1.0, slopes)
        of_tree = add_posteriors(scores, n, rules, heads, relations, -1.0, slopes)
        assert of_all == pytest.approx(over_computations(scores.tolist(), n, log_sum, **space), abs=1e-9)
        assert of_tree == pytest.approx(over_computations(scores.tolist(), n, log_sum, **space, arcs=arcs), abs=1e-9)
        assert slopes.sum() == pytest.approx(0, abs=1e-4)


def data_of(trees: list[list[int]]) -> tuple[Model, TrainingSentences]:
    """A model, and sentences over these trees; the relation of the root's children is its own."""
    rng = random.Random(2)
    sentences = [sentence(heads, rng) for heads in trees]
    model = small_bilstm_model(sentences, {"token": ["s0", "b0"]})
    gold = oracles.Trees.from_heads(trees)
    relations = np.where(gold.heads == 0, 1, np.where(gold.heads > 0, 0, NO_NODE)).astype(np.int32)
    return model, TrainingSentences(model.vocabularies.encode(sentences), gold, relations)


def objective_of(model: Model, data: TrainingSentences) -> ExactObjective:
    return ExactObjective(model, data, BatchEncoder(model.classifier, data), 2)


def trainer_of(model: Model, objective: ExactObjective) -> Trainer:
    """With a learning rate of zero."""
    plan = OptimizerPlan("adam", 0.0, "constant", Span(0, 1), 0.0, 0.0, 2)
    return Trainer(objective, TorchOptimizer(model.classifier, plan), plan)


def test_the_loss_is_minus_the_log_probability_of_the_gold_tree_in_any_batch():
    trees = [[0], [2, 0, 2], [0, 1, 2, 2], [0, 0, 2]]  # the last has two roots, so it is one of all trees
    model, data = data_of(trees)
    objective = objective_of(model, data)
    surrogate, losses = objective.loss(np.arange(4), dropping=False)
    for s, tree in enumerate(trees):
        n = len(tree)
        own = data.sentences.span(s, s + 1)
        pairs = [(i, j) for j in range(1, n + 2) for i in range(j)]
        features = np.array([[N_RESERVED + i, N_RESERVED + j if j <= n else ABSENT] for i, j in pairs], np.int32)
        scores = model.scorer(own)(features).tolist()
        one_root = tree.count(0) == 1
        space = {"root_relation": 1 if one_root else NO_NODE, "single_root": one_root}
        arcs = {i: (head, int(head == 0)) for i, head in enumerate(tree, 1)}
        of_all, of_tree = (over_computations(scores, n, log_sum, **space, arcs=some) for some in ({}, arcs))
        assert losses[s] == pytest.approx(of_all - of_tree, abs=1e-4)
        assert objective.loss(np.array([s]), dropping=False)[1][0] == pytest.approx(losses[s], abs=1e-4)
    epoch, report = trainer_of(model, objective).fit_epoch(0, torch.Generator().manual_seed(1)), objective.report()
    assert epoch.mean == pytest.approx(losses.mean(), abs=1e-4)
    assert report.gold_percent == pytest.approx(100 * np.exp(-losses).mean(), rel=1e-3)
    assert report.configurations == (3 + 10 + 15 + 10) / 4
    assert surrogate.requires_grad


def test_a_step_against_the_gradient_lowers_the_loss_as_the_gradient_says():
    model, data = data_of([[2, 0, 2], [0, 1, 2, 2]])
    objective = objective_of(model, data)
    numbers = np.arange(2)
    surrogate, before = objective.loss(numbers, dropping=False)
    model.classifier.zero_grad()
    surrogate.backward()
    step = 1e-3
    squares = 0.0
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            if parameter.grad is not None:
                squares += float((parameter.grad**2).sum())
                parameter -= step * parameter.grad
    _, after = objective.loss(numbers, dropping=False)
    transitions = 2 * 7
    assert (before.sum() - after.sum()) / transitions == pytest.approx(step * squares, rel=0.05)


def test_sentences_that_are_too_long_are_left_out(monkeypatch, caplog):
    monkeypatch.setattr(exact_objective, "LONGEST", 3)
    model, data = data_of([[2, 0, 2], [0, 1, 2, 2]])
    objective = objective_of(model, data)
    assert "of more than 3 words are left out of exact training: 1" in caplog.text
    seen: list[int] = []
    trainer_of(model, objective).fit_epoch(0, torch.Generator(), lambda _, __, sentences, ___: seen.append(sentences))
    assert seen == [1]


def test_the_third_pass_makes_the_parser_better_and_the_model_remembers_the_search(treebank, tmp_path):
    searches = Searches()
    longer = "beam.training.epochs=12", "classifier.input_dropout=0", "encoder.attribute_dropout=0"
    metrics = train(run(treebank, *EXACT, *longer), tmp_path, [searches])
    assert metrics["beam"] == "exact"
    assert metrics["dev"]["las"] > metrics["after_second_pass"]["dev"]["las"] + 5
    shares = [search.report.gold_percent for search in searches.seen]
    assert len(shares) == 12
    assert shares[-1] > shares[0]
    model = Model.load(tmp_path)
    assert model.beam == Exact(Scores.GLOBAL)
    gold = GoldPart.of(read_treebank(str(treebank)).sentences, model.vocabularies, model.relations)
    assert metrics["dev"] == gold.scores(parser_with_beam(model, model.beam).parse(gold.sentences))


def test_a_killed_third_pass_is_resumed_to_the_same_end(treebank, tmp_path):
    whole = train(run(treebank, *EXACT), tmp_path / "whole")
    train_until_killed(run(treebank, *EXACT), tmp_path / "killed", 3)
    resumed = train(run(treebank, *EXACT), tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert resumed["test"] == whole["test"]


def test_without_a_third_pass_the_search_is_over_probabilities(treebank, tmp_path):
    metrics = train(run(treebank, *EXACT, "beam.training=null"), tmp_path)
    assert "after_second_pass" not in metrics
    assert Model.load(tmp_path).beam == Exact(Scores.LOCAL)
