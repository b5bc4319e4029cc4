"""What a search in training asks of the classifier, against lists of states, autograd, and what is known of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from oracles import UNKNOWN_HEAD
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.decoding.beam.tree_stacks import read_trees
from parser.model.model import Model
from parser.network_spec import ClassifierSpec, Embedding
from parser.training.fitting.beam_objective import GoldBeamSearch, GoldTrees, _Workspace
from parser.transitions.features import slots_of
from tests.jit import COMPILED
from tests.random_models import with_random_weights
from tests.training.beam_objectives import (
    gold_of,
    known_in_part,
    objective_of,
    random_sentences,
    slow_losses,
    surrogate_of_single_items,
    trainer_of,
    training_with,
)
from tests.training.slow_beam import SlowBeam

SLOTS = {"form": ["s0", "b0", "s1.l1"], "upos": ["s0", "s1", "b0", "b1"], "deprel": ["s0.l1", "s0.r1", "s1.r2"]}


def new_model(sentences, seed: int, activation: str = "tanh") -> Model:
    torch.manual_seed(seed)
    vocabularies = Vocabularies(
        {
            "form": Vocabulary.of(form for s in sentences for form in s.forms),
            "upos": Vocabulary.of(tag for s in sentences for tag in s.upos),
        }
    )
    spec = ClassifierSpec(11, activation, 0.5, 0.1, 0.1, {"form": Embedding(5, True), "deprel": Embedding(3, True)})
    model = Model.new(vocabularies, Vocabulary(["root", "obj"]), slots_of(SLOTS), spec)
    return with_random_weights(model)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("sizes", "merge"), [*product([(1, 1), (3, 2), (700, 700)], ["none", "configuration"])])
def test_losses_and_gradients_are_those_of_lists_of_states(sizes, merge, seed, partial):
    longest = 3 if sizes[0] > 100 or not COMPILED else 6
    sentences = random_sentences(sum(sizes) + seed, 3, longest)
    model = new_model(sentences, 1 + seed)
    data = known_in_part(model, sentences, seed) if partial else gold_of(model, sentences)
    training = training_with(*sizes, merge)
    objective = objective_of(model, data, training)
    found = objective.search(np.arange(len(sentences)), dropping=False)
    searched = found.searched
    assert found.kept is None
    steps, losses, lost = zip(*slow_losses(model, data, training), strict=True)
    expected = torch.stack(losses)
    np.testing.assert_allclose(searched.losses, expected.detach().numpy(), atol=1e-4)
    np.testing.assert_allclose(searched.steps, np.array(steps) / (2 * data.trees.lengths))
    np.testing.assert_array_equal(searched.lost, lost)

    model.classifier.zero_grad()
    objective.surrogate(found).backward()
    ours = {name: p.grad.clone() for name, p in model.classifier.named_parameters() if p.grad is not None}
    model.classifier.zero_grad()
    expected.mean().float().backward()
    for name, parameter in model.classifier.named_parameters():
        assert parameter.grad is not None
        np.testing.assert_allclose(ours[name].numpy(), parameter.grad.numpy(), atol=2e-4, err_msg=name)


def test_a_beam_that_holds_everything_gives_the_log_partition_and_its_gradient():
    """The crf's loss is log Z of all computations less that of the gold ones; a slope of it is a difference of losses."""
    sentences = random_sentences(5, 1, 3)
    model = new_model(sentences, 2)
    data, training = gold_of(model, sentences), training_with(700, 700, "none")
    objective = objective_of(model, data, training)
    found = objective.search(np.arange(1), dropping=False)
    inside = slice(1, int(data.trees.offsets[1]))
    gold = data.trees.heads[inside].tolist(), data.relations[inside].tolist()
    slow = SlowBeam(model, data.sentences.values, *gold, merging=False)
    losses = []
    for beam, _ in slow.steps(700, 1)[1:]:
        totals = torch.stack([item.total for item in beam])
        of_gold = torch.stack([item.total for item in beam if item.lost == 0])
        losses.append((totals.logsumexp(0) - of_gold.logsumexp(0)).item())
    expected = max(losses)
    assert found.searched.losses[0] == pytest.approx(expected, abs=1e-4)
    objective.surrogate(found).backward()
    bias = model.classifier.output.bias
    assert bias.grad is not None
    for output in range(len(bias)):
        around = []
        for step in (0.05, -0.05):
            with torch.no_grad():
                bias[output] += step
            around.append(objective.search(np.arange(1), dropping=False).searched.losses[0])
            with torch.no_grad():
                bias[output] -= step
        assert float(bias.grad[output]) == pytest.approx((around[0] - around[1]) / 0.1, abs=2e-2)


def test_a_mask_of_hidden_units_is_the_same_in_search_and_gradient():
    sentences = random_sentences(9, 4, 6)
    model = new_model(sentences, 3)
    objective = objective_of(model, gold_of(model, sentences), training_with(1, 1))
    torch.manual_seed(1)
    found = objective.search(np.arange(4))
    assert found.kept is not None
    assert set(found.kept.unique().tolist()) == {0.0, 2.0}
    mean = surrogate_of_single_items(found.searched.losses) / 4
    assert objective.surrogate(found).item() == pytest.approx(mean, abs=1e-4)
    assert objective.surrogate(replace(found, kept=2 - found.kept)).item() != pytest.approx(mean, abs=1e-2)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("seed", range(8 if COMPILED else 2))
def test_what_is_lost_is_missed_at_the_end(seed, partial):
    sentences = random_sentences(seed, 6, 12 if COMPILED else 5)
    model = new_model(sentences, seed)
    data = known_in_part(model, sentences, seed) if partial else gold_of(model, sentences)
    training = training_with(5, 3)
    updates = GoldBeamSearch(model.weights(), model.system, model.table, training, GoldTrees.of(data))
    words = updates.words_of(data.sentences)
    workspace = _Workspace(int(data.trees.lengths.max()), updates._layers, model.table, training)
    for s, length in enumerate(data.trees.lengths.tolist()):
        start = int(data.trees.offsets[s])
        gold = data.trees.heads[start : start + length + 1], data.relations[start : start + length + 1]
        updates._search_sentence(s, start, length, words, updates._layers, workspace)
        missed_by_gold = set()
        for side in (workspace.gold_beam, workspace.beam):
            for k in range(side.items.counts[2 * length]):
                heads, relations = np.empty((2, length + 1), np.int32)
                read_trees(workspace.stacks, side.items.cells[2 * length, k], heads, relations, workspace.scratch.path)
                right = (heads == gold[0]) & ((relations == gold[1]) | (gold[1] < 0)) | (gold[0] == UNKNOWN_HEAD)
                missed = length - int(right[1:].sum())
                if side is workspace.gold_beam:
                    assert side.lost[2 * length, k] == 0
                    missed_by_gold.add(missed)
                else:
                    assert missed == side.lost[2 * length, k] + min(missed_by_gold)
            assert len(missed_by_gold) == 1
            for m in range(2 * length):
                assert side.items.counts[m + 1] > 0
                parents = side.items.parents[m + 1, : side.items.counts[m + 1]]
                assert (side.lost[m + 1, : side.items.counts[m + 1]] >= side.lost[m, parents]).all()


def test_training_makes_what_is_gold_win():
    sentences = random_sentences(4, 8, 7)
    model = new_model(sentences, 4, "relu")
    model.classifier.dropout = 0.0
    objective = objective_of(model, gold_of(model, sentences), training_with(4, 2))
    order = torch.Generator().manual_seed(1)
    trainer = trainer_of(model, objective)
    losses = [trainer.fit_epoch(epoch, order).loss for epoch in range(30)]
    assert losses[-1] < 0.1 * losses[0]
    trainer.fit_epoch(30, order)
    report = objective.report()
    assert report.lost_percent < 50
