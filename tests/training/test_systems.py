"""Every transition system trains, explores, saves, loads and parses;
one that somebody else has written, too.
"""

from pathlib import Path
from unittest.mock import patch

import pytest

import oracles
from oracles import Trees, registry
from parser import transitions
from parser.commands import report
from parser.data.treebank import read_treebank
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.parse_options import ParseOptions
from parser.decoding.search import parse
from parser.model.trained_model import TrainedModel
from parser.reports.trace import GoldTree, model_trace
from parser.serving.service import Service
from parser.settings.plan import plan
from parser.training.run import train
from tests.serving.documents import document, job, parsed
from tests.toy import ROOT, assert_same_trees, settings
from tests.training.small_runs import BILSTM, SMALL, check_resumes, run
from tests.transition_systems import systems
from tests.transitions import toy_system

# Most other tests train arc-standard.
SYSTEMS = [*systems("arc_standard"), "arc_eager nonmonotonic=true"]


@pytest.fixture(scope="module", params=SYSTEMS)
def trained(request, finished) -> tuple[Path, list[str]]:
    """Return a run's folder and overrides."""
    overrides = f"system={request.param}".split()
    folder, metrics = finished(*overrides)
    name = request.param.split()[0]
    assert (metrics["system"], metrics["column"]) == (name, None)
    assert TrainedModel.load(folder).system.name == name
    return folder, overrides


def test_it_trains_and_parses(trained, treebank):
    model, sentences = TrainedModel.load(trained[0]), read_treebank(treebank).sentences
    parses = parse(model, sentences)
    heads = [
        parses.heads[a + 1 : b].tolist()
        for a, b in zip(parses.offsets, parses.offsets[1:], strict=False)
    ]
    assert all(tree.count(0) == 1 for tree in heads)
    trees = Trees.from_heads(heads)  # refuses cycles
    assert trees.projective.all() or not model.system.projective
    encoded = model.vocabularies.encode(sentences)
    slow = parse_batched(encoded, model.system, model.table, model.scorer(encoded))
    assert_same_trees(parses, slow)


def test_what_is_done_with_a_model_is_done_with_it(trained, treebank, tmp_path):
    """A trace, the page about its run, and a service."""
    folder, _ = trained
    model, sentences = TrainedModel.load(folder), read_treebank(treebank).sentences[:4]
    parses = parse(model, sentences)
    oracle = oracles.create(model.system.oracles[0], **model.system.options)
    for one, start in zip(sentences, parses.offsets + 1, strict=False):
        traced = model_trace(model, one, len(one), oracle, GoldTree(one.heads, one.deprels))
        assert traced.heads == parses.heads[start : start + len(one)].tolist()
    report.main([str(folder), "-o", str(tmp_path / "report.html")])
    assert model.system.name in (tmp_path / "report.html").read_text()
    assert list(folder.rglob("events.out.tfevents.*"))
    text = document(1)
    assert Service(model, "toy", ParseOptions(allow_missing_columns=True)).answers(
        [job(data=text, parser="")]
    ) == [parsed(model, text)]


def test_a_killed_run_is_resumed_to_the_same_end(trained, treebank, tmp_path):
    folder, overrides = trained
    check_resumes(run(treebank, *overrides), tmp_path, 4, folder)


@pytest.mark.parametrize("system", systems("arc_standard"))
def test_it_trains_with_an_encoder(system, treebank, tmp_path):
    train(
        run(treebank, f"system={system}", *BILSTM, "first_pass.epochs=1", "second_pass.epochs=1"),
        tmp_path,
    )
    assert len(parse(TrainedModel.load(tmp_path), read_treebank(treebank).sentences).heads) > 0


def test_a_system_of_ones_own_trains_to_the_same_bytes_as_the_one_that_it_copies(
    treebank, finished, tmp_path
):
    theirs, _ = finished("system=arc_hybrid", "oracle=arc_hybrid_tabular")
    files = (f"treebank.{part}={treebank}" for part in ("train", "dev", "test"))
    ours = settings("treebank.name=toy", *files, *SMALL, "system=arc_hybrid")
    ours.system, ours.oracle = "toy_arc_hybrid", "toy_oracle"
    with patch.dict(transitions._SYSTEMS), patch.dict(registry._ORACLES):
        toy_system.register()
        train(plan(ours), tmp_path)
        parses = parse(TrainedModel.load(tmp_path), read_treebank(treebank).sentences)
    assert (parses.heads > 0).any()
    weights = [
        (folder / "model" / "classifier.safetensors").read_bytes() for folder in (theirs, tmp_path)
    ]
    assert weights[0] == weights[1]
    assert len((ROOT / "tests" / "transitions" / "toy_system.py").read_text().splitlines()) < 100
