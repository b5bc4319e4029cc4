"""The speed table is what was measured, and says what was not."""

from __future__ import annotations

import pytest

from experiments import speed
from scripts.benchmarks.measurements import Measurement

QUANTITIES = [quantity for _, quantities in speed._COLUMNS.values() for quantity in quantities]


def rows(label: str, quantities: list[str]) -> list[Measurement]:
    return [Measurement(label, quantity, str(1.5 + number), "", "", "", "", "") for number, quantity in enumerate(quantities)]


def test_a_line_for_each_label_that_was_measured():
    lines = speed.table(rows("recipe=accurate", QUANTITIES) + rows("something else", QUANTITIES[:1]))
    assert lines[1:] == [["`recipe=accurate`", "1.5 (2 words/s)", "3.5", "4.5", "5.5", "6.5", "7.50", "8.50", "9.50 s"]]
    head, rule, line = speed.as_markdown(lines).splitlines()
    assert head.startswith("| | text read once |")
    assert head.count("|") == rule.count("|") == line.count("|") == 10


def test_what_was_not_measured_is_named():
    with pytest.raises(ValueError, match="recipe=paper: 'start-up' was not measured"):
        speed.table(rows("recipe=paper", QUANTITIES[:-1]))
