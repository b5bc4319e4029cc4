"""recipe=text: characters and tags as a second task, through whole runs."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
from torch import nn

import oracles
from parser.data.parses import NO_NODE
from parser.data.vocabulary import N_RESERVED
from parser.model import Model
from parser.settings import OptimizerSettings, SettingsError
from parser.training.examples import TrainingSentences, gold_examples
from parser.training.fitter import Span
from parser.training.passes import train
from parser.training.sentence_fitter import SentenceFitter
from parser.training.settings_check import check
from tests.classifier.test_text_model import random_text_model
from tests.random_trees import random_projective_tree
from tests.toy import sentence, settings, write_conllu
from tests.training.small_runs import files_of, train_until_killed

SMALL = [
    "recipe=text",
    "encoder.layers=2",
    "encoder.hidden=16",
    "encoder.characters.hidden=6",
    "encoder.characters.embedding=6",
    "encoder.tagger.size=4",
    "classifier.hidden=24",
    "vectors.dimensions=8",
    "optimizer.batch_size=60",
    "first_pass.epochs=1",
    "second_pass.epochs=2",
]


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """Where UPOS and FEATS follow from the last letter of the form, and XPOS is the same everywhere."""
    rng = random.Random(0)
    made = []
    for _ in range(15):
        one = sentence(random_projective_tree(rng, rng.randint(2, 8)), rng)
        if one.heads.count(0) != 1:
            continue
        one.forms = ["".join(rng.choice("abcde") for _ in range(rng.randint(1, 5))) + rng.choice("xyz") for _ in one.forms]
        one.upos = [{"x": "NOUN", "y": "VERB", "z": "ADJ"}[form[-1]] for form in one.forms]
        one.feats = [{"x": "Case=Nom|Number=Sing", "y": "_", "z": "Number=Sing"}[form[-1]] for form in one.forms]
        made.append(one)
    return write_conllu(tmp_path_factory.mktemp("toy") / "toy.conllu", made)


def run(treebank, *overrides: str):
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return settings("treebank.name=toy", *files, *SMALL, *overrides)


def test_it_learns_the_tags_and_says_how_many_are_right(treebank, tmp_path):
    no_dropout = ["encoder.dropout=0", "encoder.attribute_dropout=0", "encoder.tagger.dropout=0", "classifier.word_dropout=0"]
    fast = [
        "optimizer.learning_rate=0.01",
        "optimizer.batch_size=15",
        "first_pass.epochs=8",
        "second_pass.epochs=12",
        "keep=last",
    ]
    metrics = train(run(treebank, *no_dropout, *fast), tmp_path)
    assert (metrics["recipe"], metrics["model"]) == ("text", "bilstm")
    assert metrics["test"]["upos"] > 95
    assert metrics["test"]["feats"] > 95
    assert "xpos" not in metrics["test"]
    model = Model.load(tmp_path)
    assert model.vocabularies.attributes == ["form", "suffix3"]
    assert set(model.vocabularies.tags) == {"upos", "feats"}
    assert "shares" in json.loads((tmp_path / "model" / "settings.json").read_text())["calibration"]


def test_a_killed_run_resumes_to_the_same_end(treebank, tmp_path):
    train(run(treebank), tmp_path / "whole")
    train_until_killed(run(treebank), tmp_path / "killed", 2)
    train(run(treebank), tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")


def test_losses_of_tags_are_weighted_means_over_words():
    rng = random.Random(0)
    model = random_text_model()
    made = [sentence(random_projective_tree(rng, n), rng) for n in (3, 1, 6)]
    for one in made:
        one.upos = [rng.choice("XYZ") for _ in one.upos]  # it does not know Z
        one.feats = [rng.choice(["_", "A=b"]) for _ in one.feats]
    encoded, tags = model.vocabularies.encode(made), model.vocabularies.encode_tags(made)
    gold = oracles.Trees.from_heads(one.heads for one in made)
    data = TrainingSentences(encoded, gold, np.where(gold.heads >= 0, 0, NO_NODE).astype(np.int32), tags)
    examples = gold_examples(data, oracles.create("static").bind(gold), model.system, model.table)
    wanted = OptimizerSettings("adam", 0.1, "constant", "pass", 0.0, 0.0, 1000)
    weights = {"upos": 0.5, "feats": 2.0}
    fitter = SentenceFitter(model.classifier, data, wanted, Span(0, 1), 5.0, None, weights)
    (batch,) = fitter._batches(examples, torch.Generator())
    _, found = fitter._losses(batch, examples, dropping=False)
    with torch.no_grad():
        scores = model.classifier.tokens.tag_scores(torch.from_numpy(encoded.values.T.copy()), np.diff(encoded.offsets))
    expected = 0.0
    for row, (column, weight) in zip(tags, weights.items(), strict=True):
        words = [place for place, number in enumerate(row) if number >= N_RESERVED]
        losses = [nn.functional.cross_entropy(scores[column][w], torch.tensor(int(row[w]) - N_RESERVED)) for w in words]
        expected += weight * float(torch.stack(losses).mean())
    assert found.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["encoder.tagger.layer=3"], "read by the layer above"),
        ([f"~encoder.tagger.weights.{column}" for column in ("upos", "xpos", "feats")], "nothing would be predicted"),
        (["+encoder.tagger.weights.lemma=1"], "no such column; known: upos, xpos, feats"),
        (["encoder.tagger.weights.upos=0"], "above 0"),
        (["encoder.characters.longest=10000"], "at most 256"),
        (["encoder.tagger.dropout=1"], "out of range"),
        (["tokenizer=moses"], "known: none, udpipe"),
    ],
)
def test_settings_that_cannot_be(overrides, message):
    with pytest.raises(SettingsError, match=message):
        check(settings("recipe=text", *overrides))


@pytest.mark.parametrize(
    "overrides",
    [["encoder.tagger=null"], ["encoder.tagger.size=0"], ["encoder.characters=null"], ["model=mlp"], ["model=bilstm"]],
)
def test_settings_that_can_be(overrides):
    check(settings("recipe=text", *overrides))
