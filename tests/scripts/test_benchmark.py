"""The command of the benchmarks, whose rows say what was measured; and the benchmark of serving."""

import inspect
import json
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from oracles.errors import OptimalStepError
from parser.model.packs import shipped_packs
from scripts.benchmarks import command as benchmark
from scripts.benchmarks import serving
from scripts.benchmarks.measurements import (
    SAMPLE,
    Measurement,
    read_measurements,
    write_measurements,
)
from tests.serving.documents import document, model_of_kind, parsed


def measurement(label: str, quantity: str, value: str) -> Measurement:
    return Measurement(
        label,
        quantity,
        value,
        "s",
        "a processor",
        "2",
        "python=3",
        "python scripts/benchmark.py parsing",
    )


def test_rows_of_a_label_are_replaced_and_others_stay(tmp_path):
    path = tmp_path / "speed" / "rows.csv"
    write_measurements(
        path, "x", [measurement("x", "start-up", "1"), measurement("x", "decoding", "2")]
    )
    write_measurements(path, "a", [measurement("a", "start-up", "3")])
    write_measurements(path, "x", [measurement("x", "start-up", "4")])
    assert read_measurements(path) == [
        measurement("a", "start-up", "3"),
        measurement("x", "start-up", "4"),
    ]


def test_rows_say_what_was_measured_where_and_by_which_command(tmp_path, monkeypatch, capsys):
    result = {
        "seconds": 1 / 3,
        "machine": {"processor": "a processor", "cores": 2},
        "versions": {"python": "3"},
    }
    module = SimpleNamespace(
        __doc__="measures nothing",
        add_arguments=lambda parser: parser.add_argument("--size", type=int, default=1),
        run=lambda size: result | {"size": size},
        as_table=lambda result: f"size {result['size']}",
        quantities=lambda result: {"start-up": (result["seconds"], "s")},
    )
    monkeypatch.setattr(benchmark, "import_module", lambda name: module)
    arguments = ["oracles", "--size", "3", "--label", "x y", "--rows", str(tmp_path / "rows.csv")]
    benchmark.main(arguments)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["size"] == 3
    assert captured.err == "size 3\n"
    (row,) = read_measurements(tmp_path / "rows.csv")
    assert row == Measurement(
        *("x y", "start-up", "0.333333", "s", "a processor", "2", "python=3"),
        f"python scripts/benchmark.py oracles --size 3 --label 'x y' --rows {tmp_path}/rows.csv",
    )

    with pytest.raises(SystemExit):
        benchmark.main(["oracles", "--rows", str(tmp_path / "rows.csv")])
    assert "--rows and --label go together" in capsys.readouterr().err


@pytest.mark.parametrize("name", benchmark.BENCHMARKS)
def test_each_needs_no_argument(monkeypatch, name):
    module = import_module(f"scripts.benchmarks.{name}")
    given: list[inspect.BoundArguments] = []

    def run(**arguments: object) -> None:
        given.append(inspect.signature(original).bind(**arguments))
        raise OptimalStepError("understood")

    original = module.run
    monkeypatch.setattr(module, "run", run)
    with pytest.raises(OptimalStepError, match="understood"):
        benchmark.main([name])
    if "model" in given[0].arguments:
        assert str(given[0].arguments["model"]) in shipped_packs()
    assert SAMPLE.is_file()


@pytest.mark.posix
def test_a_server_that_says_more_than_its_address_is_found_and_does_not_wait_for_a_reader(
    tmp_path, monkeypatch
):
    program = tmp_path / "server"
    program.write_text(
        "#!/bin/sh\necho compiling kernels >&2\necho 'en at http://127.0.0.1:5/ (Ctrl-C ends it)' "
        f">&2\nhead -c 1000000 /dev/zero >&2\necho done > '{tmp_path}/done'\n"
    )
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    with serving.serving(tmp_path) as (process, address):
        assert address == "127.0.0.1:5"
        assert process.wait() == 0
    assert (tmp_path / "done").exists()


def test_documents_cover_the_file_and_know_their_answers(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(document(1, 8).replace("\t_\t0\tdep", "\tA=b\t0\tdep"))
    model = model_of_kind()
    made = serving.make_documents(model, path)
    assert len(made) == 4
    assert "".join(one.answer for one in made) == parsed(model, path.read_text())
    path.write_text("# nothing\n\n")
    with pytest.raises(ValueError, match="there are no sentences to send"):
        serving.make_documents(model, path)


@pytest.mark.long
def test_a_short_run(tmp_path):
    pytest.importorskip("fastapi", reason="FastAPI is not installed (extra serve)")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra serve)")
    model_of_kind().save(tmp_path / "model")
    path = tmp_path / "a.conllu"
    path.write_text(document(1, 30).replace("\t_\t0\tdep", "\tA=b\t0\tdep"))
    result = serving.run(tmp_path / "model", path, clients=5, seconds=1)
    assert result["wrong"] == 0, result["examples_of_wrong"]
    assert result["answers"] >= 5
    assert "words/s" in serving.as_table(result)
    with pytest.raises(ValueError, match=r"not start: error: .*neither a folder nor a model"):
        serving.serving(tmp_path / "none").__enter__()
