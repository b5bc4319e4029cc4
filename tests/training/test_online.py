"""Runs of model=linear: what they leave, that they resume and repeat to the same bytes, and what they refuse."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from oracles import Trees
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parse
from parser.linear.model import WEIGHTS, LinearModel
from parser.model import loading as models
from parser.model.model import Model, ModelError
from parser.settings.plan import Plan
from parser.training.examples import corpus
from parser.training.observers import EpochEnd, Observer
from parser.training.run import train
from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import planned, sentence, write_conllu


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    """Sentences some of whose trees are not projective."""
    rng = random.Random(4)
    trees = [random_mildly_nonprojective_tree(rng, rng.randint(2, 9)) for _ in range(20)]
    one_root = [heads for heads in trees if heads.count(0) == 1]
    assert not Trees.from_heads(one_root).projective.all()
    return write_conllu(tmp_path_factory.mktemp("data") / "toy.conllu", [sentence(heads, rng) for heads in one_root])


def run(treebank: Path, *more: str) -> Plan:
    files = (f"treebank.{part}={treebank}" for part in ("train", "dev", "test"))
    return planned(*files, "treebank.name=toy", "model=linear", "online.iterations=4", *more)


class Stop(Observer):
    """Interrupts a run after an iteration."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def on_epoch(self, epoch: EpochEnd) -> None:
        if epoch.epoch == self._epoch:
            raise KeyboardInterrupt


def contents(folder: Path) -> list[bytes]:
    return [(folder / "model" / name).read_bytes() for name in ("settings.json", "vocabularies.json", WEIGHTS)]


def test_a_run_leaves_a_model_that_parses_as_it_was_measured(treebank, tmp_path):
    metrics = train(run(treebank), tmp_path)
    assert json.loads((tmp_path / "metrics.json").read_text()) == metrics
    assert (metrics["model"], metrics["column"]) == ("linear", None)
    assert list(tmp_path.glob("events.out.tfevents.*"))
    sentences = read_treebank(treebank).sentences
    model = models.load(tmp_path)
    for threads in (1, 2):
        parses = parse(model, sentences, threads=threads)
        gold = np.concatenate([[-1, *s.heads] for s in sentences])
        assert 100 * (parses.heads == gold)[gold >= 0].mean() == pytest.approx(metrics["dev"]["uas"])


def test_an_interrupted_run_resumes_to_the_same_bytes(treebank, tmp_path):
    whole = train(run(treebank, "keep=last", "online.exploration_probability=0.5"), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(run(treebank, "keep=last", "online.exploration_probability=0.5"), tmp_path / "resumed", [Stop(2)])
    resumed = train(run(treebank, "keep=last", "online.exploration_probability=0.5"), tmp_path / "resumed")
    assert contents(tmp_path / "whole") == contents(tmp_path / "resumed")
    assert whole["test"] == resumed["test"]


@pytest.mark.parametrize("system", ["arc_hybrid", "swap"])
def test_every_system_learns_online(treebank, tmp_path, system):
    metrics = train(run(treebank, f"system={system}"), tmp_path)
    assert metrics["system"] == system
    assert metrics["dev"]["las"] > 60  # the same sentences


def test_long_sentences_are_named_where_trees_are_made_projective(treebank, monkeypatch, caplog):
    """The two passes' kinds of trees, which model=linear does not read, say nothing about it."""
    monkeypatch.setattr(corpus, "_LONG", 3)
    for oracle, named in (("nederhof_linear", True), ("context_rows", False)):
        caplog.clear()
        corpus.Corpus.new(run(treebank, f"oracle={oracle}"))
        assert ("words projective may take minutes" in caplog.text) == named, oracle


def test_a_linear_model_is_no_first_pass(treebank, tmp_path):
    train(run(treebank, "online.iterations=1"), tmp_path)
    with pytest.raises(ModelError, match="model=mlp or model=bilstm"):
        Model.load(tmp_path)
    assert isinstance(models.load(tmp_path), LinearModel)
