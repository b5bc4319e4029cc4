"""Fitting a classifier with a contextual token representation, and whole runs with model=bilstm."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

import oracles
from parser.data.sentences import NO_NODE
from parser.data.vocabulary import N_RESERVED
from parser.model.model import Model
from parser.settings.plan import OptimizerPlan, Span, plan
from parser.training.compiled.gradients import set_loss
from parser.training.examples.examples import TrainingSentences, gold_examples
from parser.training.fitting.example_objective import SentenceObjective
from parser.training.fitting.sentence_batches import BatchEncoder
from parser.training.fitting.trainer import TorchOptimizer, Trainer
from parser.training.run import train
from parser.transitions.features import TOKEN
from tests.parsed_files import parse_file
from tests.random_models import random_bilstm_model
from tests.random_trees import random_mildly_nonprojective_tree, random_projective_tree
from tests.toy import planned, sentence, settings, write_conllu
from tests.training.small_runs import files_of, train_until_killed

SMALL = [
    "recipe=accurate",
    "model=bilstm",
    "encoder.hidden=12",
    "classifier.hidden=24",
    "vectors.dimensions=8",
    "optimizer.batch_size=60",
    "first_pass.epochs=2",
    "second_pass.epochs=2",
]


@pytest.fixture(scope="module")
def training_data():
    """A model with random weights, sentences and their gold examples."""
    rng = random.Random(3)
    trees = [random_projective_tree(rng, rng.randint(1, 9)) for _ in range(25)]
    sentences = [sentence(heads, rng) for heads in trees]
    model = random_bilstm_model(sentences, dropping=False)
    gold = oracles.Trees.from_heads(trees)
    encoded = model.vocabularies.encode(sentences)
    relations = np.full(len(gold.heads), NO_NODE, np.int32)
    relations[gold.heads >= 0] = [rng.randrange(4) for _ in range(int((gold.heads >= 0).sum()))]
    data = TrainingSentences(encoded, gold, relations)
    return model, encoded, gold_examples(data, oracles.create("static").bind(gold), model.system, model.table)


def objective_of(model, encoded, examples, batch_size: int) -> SentenceObjective:
    data = TrainingSentences(encoded, oracles.Trees.from_heads([]), np.zeros(0, np.int32))
    objective = SentenceObjective(model.classifier, BatchEncoder(model.classifier, data), batch_size)
    objective.examples = examples
    return objective


@pytest.mark.parametrize("batch_size", [1, 40, 10_000])
def test_a_batch_holds_whole_sentences_and_an_epoch_every_example_once(training_data, batch_size):
    model, encoded, examples = training_data
    count, batches = objective_of(model, encoded, examples, batch_size).batches(torch.Generator().manual_seed(1))
    assert count == len(batches)
    assert sorted(np.concatenate([batch.examples for batch in batches])) == list(range(len(examples)))
    assert sorted(np.concatenate([batch.sentences for batch in batches])) == list(range(len(encoded)))
    columns = model.classifier.embedded_columns[TOKEN]
    for batch in batches:
        read = examples.features[batch.examples][:, columns]
        assert set(read[read >= N_RESERVED] - N_RESERVED) <= set(encoded.places(batch.sentences))


def test_the_loss_of_batches_is_that_of_the_classifier_over_all_sentences(training_data):
    """With a learning rate of zero, so that nothing changes on the way."""
    model, encoded, examples = training_data
    scores = torch.from_numpy(model.scorer(encoded)(examples.features))
    expected = float(set_loss(scores, torch.from_numpy(examples.targets).long()))
    for batch_size in (40, 10_000):
        plan = OptimizerPlan("adam", 0.0, "constant", Span(0, 1), batch_size)
        trainer = Trainer(
            objective_of(model, encoded, examples, batch_size), TorchOptimizer(model.classifier, plan, max_grad_norm=5.0), plan
        )
        found = trainer.fit_epoch(0, torch.Generator().manual_seed(1))
        assert found.loss == pytest.approx(expected, rel=1e-4)


def test_gradients_are_those_of_the_classifier_over_all_sentences(training_data):
    model, encoded, examples = training_data
    objective = objective_of(model, encoded, examples, 10_000)
    model.classifier.zero_grad()
    _, (batch,) = objective.batches(torch.Generator().manual_seed(1))
    objective.losses(batch)[0].backward()
    found = {name: p.grad.clone() for name, p in model.classifier.named_parameters()}
    model.classifier.zero_grad()
    tokens = model.classifier.tokens
    vectors = tokens.with_tokens(tokens.encode(torch.from_numpy(encoded.values.T.copy()), encoded.lengths + 1).tokens)
    scores = model.classifier(torch.from_numpy(examples.features), vectors)
    set_loss(scores, torch.from_numpy(examples.targets).long()).backward()
    for name, parameter in model.classifier.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-3, atol=1e-5)
    model.classifier.zero_grad()


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    rng = random.Random(0)
    trees = []
    while len(trees) < 20:
        heads = random_mildly_nonprojective_tree(rng, rng.randint(2, 8))
        if heads.count(0) == 1:
            trees.append(heads)
    return write_conllu(tmp_path_factory.mktemp("toy") / "toy.conllu", [sentence(heads, rng) for heads in trees])


def run(treebank, *overrides: str):
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return planned("treebank.name=toy", *files, *SMALL, *overrides)


def test_it_learns_a_tiny_treebank_by_heart(treebank, tmp_path):
    """Random trees cannot be guessed, so only a parser that has learned them gets them right."""
    eager = ["encoder.dropout=0", "encoder.attribute_dropout=0", "classifier.input_dropout=0", "classifier.dropout=0"]
    more = [
        "encoder.hidden=32",
        "optimizer.batch_size=20",
        "optimizer.learning_rate=0.01",
        "first_pass.epochs=30",
        "second_pass.epochs=30",
    ]
    metrics = train(run(treebank, *eager, *more, "classifier.word_dropout=0", "classifier.hidden=64"), tmp_path)
    assert metrics["model"] == "bilstm"
    assert metrics["test"]["las"] > 90


@pytest.mark.parametrize("epochs_until_death", [1, 3])
def test_a_killed_run_resumes_to_the_same_end(treebank, tmp_path, epochs_until_death):
    train(run(treebank), tmp_path / "whole")
    train_until_killed(run(treebank), tmp_path / "killed", epochs_until_death)
    train(run(treebank), tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")


@pytest.mark.parametrize("overrides", [["column=1", "treebank.dev=null"], ["column=4", "second_pass.examples=join"]])
def test_settings_that_can_be_combined(treebank, tmp_path, overrides):
    train(run(treebank, *overrides), tmp_path)
    model = Model.load(tmp_path / "model")
    with treebank.open("rb") as source, (tmp_path / "parsed").open("wb") as target:
        parsed = parse_file(model, source, target)
    assert parsed.sentences == 20
    assert set(parsed.unknown) == set(model.vocabularies.attributes)


@pytest.mark.parametrize("column", range(1, 7))
def test_the_group_composes_with_every_column(column):
    made = settings("recipe=accurate", "model=bilstm", f"column={column}")
    assert not OmegaConf.missing_keys(made)
    labels = plan(made).labels
    assert (labels["model"], labels["recipe"], labels["column"]) == ("bilstm", "accurate", column)


def test_there_is_no_other_model():
    with pytest.raises(Exception, match="transformer"):
        planned("recipe=accurate", "model=transformer")
