"""Every transition system trains, explores, saves, loads and parses; one that somebody else has written, too."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import oracles
import tests.transitions.toy_system  # noqa: F401 - registers a system
from oracles import Trees
from parser.beam_settings import Beam
from parser.commands import report
from parser.data.treebank import read_treebank
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.parse_options import ParseOptions
from parser.decoding.parsers import beam_parser_of, parse
from parser.model.model import Model
from parser.reports.trace import GoldTree, model_trace
from parser.serving.service import Service
from parser.settings import Settings
from parser.settings.plan import Plan, plan
from parser.training.run import train
from tests.random_trees import random_mildly_nonprojective_tree
from tests.serving.documents import document, job, parsed
from tests.toy import ROOT, sentence, settings, write_conllu
from tests.training.small_runs import files_of, train_until_killed

SYSTEMS = ["arc_eager", "arc_eager nonmonotonic=true", "arc_hybrid", "attardi", "swap", "lr_spine"]
SYSTEMS += ["covington", "pointer"]


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    """Sentences some of whose trees are not projective."""
    rng = random.Random(4)
    trees = [random_mildly_nonprojective_tree(rng, rng.randint(2, 9)) for _ in range(30)]
    one_root = [heads for heads in trees if heads.count(0) == 1]
    assert not Trees.from_heads(one_root).projective.all()
    return write_conllu(tmp_path_factory.mktemp("data") / "toy.conllu", [sentence(heads, rng) for heads in one_root])


def run(treebank: Path, *more: str) -> Plan:
    return plan(settings_of(treebank, *more))


def settings_of(treebank: Path, *more: str) -> Settings:
    return settings(
        *(f"treebank.{part}={treebank}" for part in ("train", "dev", "test")),
        "treebank.name=toy",
        "first_pass.epochs=2",
        "second_pass.epochs=2",
        "vectors.epochs=1",
        *more,
    )


@pytest.fixture(scope="module", params=SYSTEMS)
def trained(request, treebank, tmp_path_factory) -> Path:
    """A run's folder."""
    name, *options = request.param.split()
    folder = tmp_path_factory.mktemp(name)
    metrics = train(run(treebank, f"system={name}", *options), folder)
    assert (metrics["system"], metrics["column"]) == (name, None)
    assert Model.load(folder / "model").system.name == name
    return folder


def test_it_trains_and_parses(trained, treebank):
    model = Model.load(trained / "model")
    sentences = read_treebank(treebank).sentences
    parses = parse(model, sentences)
    heads = [parses.heads[a + 1 : b].tolist() for a, b in zip(parses.offsets, parses.offsets[1:], strict=False)]
    assert all(tree.count(0) == 1 for tree in heads)
    trees = Trees.from_heads(heads)  # refuses cycles
    assert trees.projective.all() or not model.system.projective
    encoded = model.vocabularies.encode(sentences)
    slow = parse_batched(encoded, model.system, model.table, model.scorer(encoded))
    np.testing.assert_array_equal(parses.heads, slow.heads)
    np.testing.assert_array_equal(parses.relations, slow.relations)


def test_what_is_done_with_a_model_is_done_with_it(trained, treebank, tmp_path):
    """k-best trees, a trace, the page about its run, and a service."""
    model, sentences = Model.load(trained / "model"), read_treebank(treebank).sentences[:4]
    encoded = model.vocabularies.encode(sentences)
    parses = parse(model, sentences)
    oracle = oracles.create(model.system.oracles[0], **model.system.options)
    k_best = beam_parser_of(model, Beam(3)).k_best(encoded, 3)
    for one, trees, start in zip(sentences, k_best, parses.offsets + 1, strict=False):
        assert all(Trees.from_heads([tree.heads]) and (tree.heads == 0).sum() == 1 for tree in trees)
        traced = model_trace(model, one, len(one), oracle, GoldTree(one.heads, one.deprels))
        assert traced.heads == parses.heads[start : start + len(one)].tolist()
    report.main([str(trained), "-o", str(tmp_path / "report.html")])
    assert model.system.name in (tmp_path / "report.html").read_text()
    assert list(trained.rglob("events.out.tfevents.*"))
    text = document(1)
    assert Service(model, "toy", ParseOptions(allow_missing_columns=True)).answers([job(data=text, parser="")]) == [
        parsed(model, text)
    ]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_killed_run_is_resumed_to_the_same_end(system, treebank, tmp_path):
    wanted = run(treebank, *f"system={system}".split())
    train(wanted, tmp_path / "whole")
    train_until_killed(wanted, tmp_path / "killed", 3)
    train(wanted, tmp_path / "killed")
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "killed")


@pytest.mark.parametrize("system", SYSTEMS)
def test_it_trains_with_an_encoder(system, treebank, tmp_path):
    small = ["recipe=accurate", "model=bilstm", "encoder.hidden=8", "encoder.layers=1", "classifier.hidden=8"]
    train(run(treebank, f"system={system.split()[0]}", *small), tmp_path)
    assert len(parse(Model.load(tmp_path / "model"), read_treebank(treebank).sentences).heads) > 0


def test_a_system_of_ones_own_trains_to_the_same_bytes_as_the_one_that_it_copies(treebank, tmp_path):
    theirs = run(treebank, "system=arc_hybrid", "oracle=arc_hybrid_tabular")
    train(theirs, tmp_path / "theirs")
    ours = settings_of(treebank, "system=arc_hybrid")
    ours.system, ours.oracle = "toy_arc_hybrid", "toy_oracle"
    train(plan(ours), tmp_path / "ours")
    weights = [(tmp_path / name / "model" / "classifier.safetensors").read_bytes() for name in ("theirs", "ours")]
    assert weights[0] == weights[1]
    assert len(parse(Model.load(tmp_path / "ours" / "model"), read_treebank(treebank).sentences).heads) > 0
    assert len((ROOT / "tests" / "transitions" / "toy_system.py").read_text().splitlines()) < 100
