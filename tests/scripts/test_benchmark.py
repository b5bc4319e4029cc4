"""The command of the benchmarks: rows of what was measured."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from scripts.benchmarks import command as benchmark
from scripts.benchmarks.measurements import Measurement, read_measurements, write_measurements


def measurement(label: str, quantity: str, value: str) -> Measurement:
    return Measurement(label, quantity, value, "s", "a processor", "2", "python=3", "python scripts/benchmark.py parsing")


def test_rows_of_a_label_are_replaced_and_others_stay(tmp_path):
    path = tmp_path / "speed" / "rows.csv"
    write_measurements(path, "x", [measurement("x", "start-up", "1"), measurement("x", "decoding", "2")])
    write_measurements(path, "a", [measurement("a", "start-up", "3")])
    write_measurements(path, "x", [measurement("x", "start-up", "4")])
    assert read_measurements(path) == [measurement("a", "start-up", "3"), measurement("x", "start-up", "4")]


@pytest.fixture
def a_benchmark(monkeypatch):
    """In the place of that of the oracles."""
    result = {"seconds": 1 / 3, "machine": {"processor": "a processor", "cores": 2}, "versions": {"python": "3"}}
    module = SimpleNamespace(
        __doc__="measures nothing",
        add_arguments=lambda parser: parser.add_argument("--size", type=int, default=1),
        run=lambda size: result | {"size": size},
        as_table=lambda result: f"size {result['size']}",
        quantities=lambda result: {"start-up": (result["seconds"], "s")},
    )
    monkeypatch.setattr(benchmark, "import_module", lambda name: module)


@pytest.mark.usefixtures("a_benchmark")
def test_rows_say_what_was_measured_where_and_by_which_command(tmp_path, capsys):
    arguments = ["oracles", "--size", "3", "--label", "x y", "--rows", str(tmp_path / "rows.csv")]
    assert benchmark.main(arguments) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["size"] == 3
    assert captured.err == "size 3\n"
    (row,) = read_measurements(tmp_path / "rows.csv")
    assert row == Measurement(
        *("x y", "start-up", "0.333333", "s", "a processor", "2", "python=3"),
        f"python scripts/benchmark.py oracles --size 3 --label 'x y' --rows {tmp_path}/rows.csv",
    )


@pytest.mark.usefixtures("a_benchmark")
def test_rows_need_a_label(tmp_path, capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["oracles", "--rows", str(tmp_path / "rows.csv")])
    assert "--rows and --label go together" in capsys.readouterr().err
