"""Comparisons of variants: the commands on the sample treebank, rows, who teaches whom,
claims with their intervals.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from experiments import comparison
from experiments.command import settings_of
from experiments.comparison import (
    EXPERIMENT,
    Claim,
    VariantComparison,
    cells,
    count_edges,
    measure,
    shown,
    student,
)
from experiments.engine import Cell
from experiments.tables import Interval
from parser.data.treebank import read_treebank
from tests.forked import works
from tests.toy import TINY

GIVEN = ",".join(TINY)


def wanted(config: str, *overrides: str) -> VariantComparison:
    return settings_of(VariantComparison, config, ["paths.treebanks=data", *overrides])


def row(variant: str, treebank: str, seed: int, las: float) -> dict[str, str]:
    known = {
        "variant": variant,
        "treebank": treebank,
        "seed": str(seed),
        "trained_on": "train",
        "las": f"{las:.4f}",
    }
    return dict.fromkeys(EXPERIMENT.columns, "") | known


def test_edges_that_are_not_projective_are_counted():
    gold = [[3, 0, 2], [3, 4, 0, 3], [2, 0], [3, 0, 2]]
    found = count_edges(gold, [[3, 0, 2], [0, 1, 1, 2], [2, 0], [2, 0, 2]])
    assert [*found.values()] == [2, 1, 3, 1, 4, 2, 3]
    assert (
        comparison._edges_of([{name: str(count) for name, count in found.items()}])
        == "50.0 / 33.3 / 40.0; 50.0 of 75.0"
    )
    nothing = {name: str(count) for name, count in count_edges([[0]], [[0]]).items()}
    assert comparison._edges_of([nothing]) == "none; 0.0 of 0.0"


def command(folder: Path, tmp_path: Path, name: str, *arguments: str) -> None:
    where = ["published=null", f"results={tmp_path}/results", f"runs={tmp_path}/runs"]
    works(f"experiments/{name}", *arguments, "languages=[sample]", "seeds=1", *where, folder=folder)


@pytest.mark.long
def test_the_command_trains_what_is_missing_and_writes_a_table(tmp_path, small_sample):
    arguments = ["comparison.py", "variants=[tiny]", f"+all_variants.tiny=[{GIVEN}]"]
    command(small_sample, tmp_path, *arguments)
    rows = (tmp_path / "results" / "results.csv").read_text()
    assert rows.count("\n") == 2
    assert ",recipe=accurate first_pass.epochs=1 second_pass.epochs=1 " in rows
    assert "| tiny | " in (tmp_path / "results" / "table.md").read_text()
    command(small_sample, tmp_path, *arguments)
    # CPU seconds and all: it was not run again
    assert (tmp_path / "results" / "results.csv").read_text() == rows


@pytest.mark.long
def test_unseen_treebanks_are_trained_on_their_dev_part(tmp_path, small_sample):
    arguments = [
        "comparison.py",
        "--config-name=unseen",
        "variants=[tiny]",
        f"+all_variants.tiny=[{GIVEN}]",
    ]
    command(small_sample, tmp_path, *arguments)
    metrics = json.loads(
        (tmp_path / "runs" / "tiny" / "sample-dev-seed1" / "metrics.json").read_text()
    )
    dev = read_treebank(small_sample / "data" / "sample" / "sample-ud-dev.conllu").sentences
    assert metrics["train"]["sentences"] == len(dev)
    assert metrics["dev"] is None
    assert "trained on the dev part alone" in (tmp_path / "results" / "table.md").read_text()


@pytest.mark.long
def test_a_beam_is_measured_with_every_size(tmp_path, small_sample):
    arguments = [
        "beam.py",
        "systems=[tiny]",
        f"+all_systems.tiny=[{GIVEN}]",
        "sizes=[1,2]",
        "merges=[configuration]",
    ]
    command(small_sample, tmp_path, *arguments)
    assert (tmp_path / "results" / "results.csv").read_text().count("\n") == 3
    assert (tmp_path / "results" / "tiny.svg").exists()


@pytest.mark.long
def test_udpipe_is_trained_once_and_parses_greedily_and_with_a_beam(
    tmp_path, monkeypatch, small_sample
):
    monkeypatch.chdir(small_sample)
    pytest.importorskip("ufal.udpipe", reason="UDPipe is not installed")
    monkeypatch.setitem(comparison.udpipe.PARSER, "iterations", 1)
    monkeypatch.setitem(comparison.udpipe.PARSER, "hidden_layer", 20)
    asked = wanted(
        "accurate", "languages=[sample]", "variants=[UDPipe]", f"runs={tmp_path}", "seeds=2"
    )
    found = cells(asked)
    assert [cell.key for cell in found] == [
        (f"UDPipe, beam {beam}", "sample", "train", "1") for beam in (1, 5)
    ]
    assert len({cell.group for cell in found}) == 1
    measured = [values for _, values in measure(asked, found)]
    assert (tmp_path / "UDPipe" / "sample.udpipe").exists()
    assert all(0 < float(values["las"]) <= float(values["uas"]) <= 100 for values in measured)
    assert all(0 < float(values["dev_las"]) <= 100 for values in measured)
    assert measured[0]["cpu_seconds"] == measured[1]["cpu_seconds"]


def test_treebanks_without_a_train_part_are_trained_on_dev():
    files = wanted("online").training("attardi, static", "grc", 1).settings().treebank
    assert str(files.train).endswith("-dev.conllu")
    assert files.dev is None
    assert str(wanted("online").training("attardi, static", "hu", 1).part("train")).endswith(
        "-train.conllu"
    )


def test_a_training_makes_a_row(tmp_path):
    settings = "model=linear,online.iterations=1,online.mode=nondet"
    settings += ",treebank.train=data/sample/sample-ud-dev.conllu"
    asked = wanted(
        "online", f"+all_variants.tiny=[{settings}]", "languages=[sample]", f"runs={tmp_path}"
    )
    ((key, made),) = measure(asked, [Cell(("tiny", "sample", "train", "1"), "", "")])
    assert key == ("tiny", "sample", "train", "1")
    assert 60 < float(made["las"]) <= float(made["uas"]) <= 100
    assert made["predicted"] == "0"  # arc-standard
    assert int(made["gold"]) > int(made["gold_found"])


def test_a_claim_is_estimated_from_pairs_of_treebank_and_seed():
    rows = [
        row("a", "hu", 1, 70),
        row("a", "hu", 2, 71),
        row("b", "hu", 1, 69),
        row("b", "hu", 3, 60),
        row("a", "got", 1, 50),
    ]
    assert comparison.differences(rows, Claim(["a"], ["b"], ""), "hu") == [1]
    assert comparison.differences(rows, Claim(["a"], ["b"], ""), "got") == []
    assert comparison.differences(rows, Claim(["a", "a"], ["b", "b"], ""), "hu") == [2]


def test_intervals_are_students():
    sample = [1.0, 2.0, 4.0]
    found = student(sample)
    assert found.mean == pytest.approx(7 / 3)
    margin = 4.30265273 * np.std(sample, ddof=1) / math.sqrt(3)
    assert (found.low, found.high) == pytest.approx((7 / 3 - margin, 7 / 3 + margin))
    assert found.verdict == "open"
    assert shown(sample) == f"{found}, open"
    assert student([1, 1.1, 1.2]).verdict == "holds"
    assert student([-1, -1.1, -1.2]).verdict == "the opposite holds"
    assert shown([1.0]) == "+1.00, one pair"
    assert student([1.0]).verdict == Interval(0.5, 0, 1).verdict == "open"
