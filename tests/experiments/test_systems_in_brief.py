"""The table of transition systems says what was measured, and what was not."""

from __future__ import annotations

from dataclasses import fields

from experiments import systems_in_brief
from experiments.comparisons import Row
from scripts.benchmarks.measurements import Measurement
from scripts.benchmarks.ratios import decoding_over


def row(variant: str, treebank: str, trained_on: str, las: str) -> Row:
    known = {"variant": variant, "treebank": treebank, "trained_on": trained_on, "las": las}
    return Row(**{field.name: known.get(field.name, "1") for field in fields(Row)})


def test_means_of_seeds_and_ratios():
    rows = [row("swap", "grc", "dev", "50"), row("swap", "hu", "train", "70"), row("swap", "hu", "train", "71")]
    speeds = [Measurement("swap", decoding_over("arc_standard"), "0.456", "ratio", "", "", "", "")]
    head, *lines = systems_in_brief.table(rows, speeds)
    assert head[3:] == ["decoding", "LAS, hu", "LAS, grc"]  # those with a training part first
    by_name = {line[0]: line[3:] for line in lines}
    assert by_name["`swap`"] == ["0.46", "70.50", "50.00"]
    assert by_name["`arc_standard`"] == ["1", "not measured", "not measured"]
    assert by_name["`lr_spine`"] == ["not measured"] * 3
