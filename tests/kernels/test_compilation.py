"""That kernels are being compiled is said, by one line."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import NumbaError
from numba.core.options import DefaultOptions

from parser import kernels
from parser.kernels import Compilation, assign, highest, kernel, lowest
from parser.text import characters, sentence_ends, token_ends
from parser.text.tokens import Token
from parser.training.text.tokenizer import train_tokenizer
from tests.forgery import small_model
from tests.jit import COMPILED
from tests.toy import ROOT

LINE = "compiling kernels: this happens once for each kind of model, and takes about ten seconds\n"

# Compiles a kernel of the user's, and two of ours, the second for two kinds of vectors.
COMPILING = """
import numba
import numpy as np
from parser.commands.command_line import run
from parser.kernels import highest, lowest, show_compilation

def compile_some():
    numba.njit(lambda x: x + 1)(1)
    lowest(np.array([1.0, 2.0]))
    highest(np.array([1.0, 2.0]))
    highest(np.array([1, 2]))

"""

of_compilation = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def python(cache: Path, code: str, *arguments: Path) -> str:
    """Return what a program says on standard error, whose kernels are kept in that folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", f"import sys{code}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


def of(package: str = "parser.decoding") -> Any:
    """Return what numba tells of a kernel."""
    function = SimpleNamespace(__module__=f"{package}.some")
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@of_compilation
@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("show_compilation(); show_compilation(); compile_some()", LINE),
        ("run(compile_some)", LINE),
        ("compile_some()", ""),
    ],
)
def test_one_line_says_it_as_in_every_command_and_none_where_all_is_there(tmp_path, start, said):
    assert [python(tmp_path, COMPILING + start) for _ in range(2)] == [said, ""]


@of_compilation
def test_the_library_says_it_once_and_no_message_of_an_error_is_compiled(tmp_path):
    """Where slices are assigned to each other, numba compiles what writes that they differ in
    length, which takes seconds.
    """
    small_model("static").save(tmp_path / "model")
    code = """
from numba.core import event
import oracles
from parser import Parser
from parser.decoding.files.file_parsing import warm_up
from parser.decoding.predictor import Predictor
with event.install_recorder("numba:compile") as compiled:
    for _ in range(2):
        parser = Parser.load(sys.argv[1])
        parser.parse([["a", "b", "c"]], allow_missing_columns=True)
    warm_up(Predictor(parser.model))
    assert oracles.create("context_rows").step_scores([2, 0, 2], [0, 1], [2, 3]) == (3, 2, None)
names = {one.data["dispatcher"].py_func.__qualname__ for _, one in compiled.buffer}
assert not [name for name in names if "shape" in name], names
print(len(names), file=sys.stderr)
"""
    first, second = (python(tmp_path / "kernels", code, tmp_path / "model") for _ in range(2))
    assert first.startswith(LINE)
    assert int(first.removeprefix(LINE)) > 5
    assert second == "0\n"


@of_compilation
@pytest.mark.long
def test_a_warm_up_compiles_what_the_library_and_the_server_need(tmp_path):
    small_model("static").save(tmp_path / "model")
    code = """
from numba.core import event
from parser.commands import parse
parse.write_bytecode = lambda: None
sys.argv = ["parse", sys.argv[1], "--warm-up"]
assert parse.main() == 0
from parser import Parser
from parser.decoding.parse_options import ParseOptions
from parser.serving import page
from parser.serving.service import Service
with event.install_recorder("numba:compile") as compiled:
    parser = Parser.load(sys.argv[1])
    parser.parse([["a", "b", "c"]], allow_missing_columns=True)
    parser.parse([["a", "b", "c"]], heads=[[2, None, None]], allow_missing_columns=True)
    page.warm_up(Service(parser.model, "model", ParseOptions(allow_missing_columns=True)))
names = {one.data["dispatcher"].py_func.__qualname__ for _, one in compiled.buffer}
assert not names, names
"""
    python(tmp_path / "kernels", code, tmp_path / "model")


def test_kernels_of_others_are_theirs(capsys):
    heard = Compilation()
    heard.on_start(of("elsewhere"))
    assert gc.isenabled()
    heard.on_end(of("elsewhere"))
    assert capsys.readouterr().err == ""


def test_a_clock_stands_meanwhile(monkeypatch):
    seconds = iter([10.0, 11.0, 15.0, 16.0])
    monkeypatch.setattr(kernels, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    monkeypatch.setattr(kernels, "_compilation", Compilation())
    monkeypatch.setattr(sys, "stderr", None)
    before = kernels.time_without_compiling()
    for hear in (kernels._compilation.on_start, kernels._compilation.on_end):
        hear(of())
    assert kernels.time_without_compiling() - before == 2.0  # of six, in which four were compiling


@pytest.mark.parametrize("collects", [True, False])
def test_meanwhile_no_garbage_is_looked_for(monkeypatch, collects):
    monkeypatch.setattr(sys, "stderr", None)
    heard = Compilation()
    (gc.enable if collects else gc.disable)()
    try:
        heard.on_start(of())
        heard.on_start(of())
        heard.on_end(of())
        assert not gc.isenabled()
        heard.on_end(of())
        assert gc.isenabled() == collects
    finally:
        gc.enable()


def test_the_highest_and_the_lowest_value():
    values = np.array([3.5, -2.0, 7.25, 7.25])
    assert (highest(values), lowest(values), highest(values[1:2])) == (7.25, -2.0, -2.0)


def test_arrays_are_held_by_those_who_have_them():
    array = np.zeros(4, np.float32)
    before = sys.getrefcount(array)
    for _ in range(3):
        assign(array[1:], np.arange(5))
    assert sys.getrefcount(array) == before
    assert array.tolist() == [0, 0, 1, 2]


@of_compilation
def test_a_kernel_that_makes_an_array_is_refused():
    @kernel()
    def makes_one(n):
        return np.empty(n)[0]

    if hasattr(DefaultOptions, "_nrt"):
        with pytest.raises(NumbaError):
            makes_one(3)


@of_compilation
def test_kernels_of_text_are_compiled_for_no_literals():
    """A literal 0 is a type of its own, so a kernel that gets one is compiled once more."""
    dogs = [[[Token("Dogs", ("Dogs",), True), Token("bark", ("bark",), False)]] * 2] * 20
    train_tokenizer(dogs, None, 1).split("Dogs bark. Dogs bark.")
    for kernel_of_text in (
        *(token_ends._find_tokens, sentence_ends._fill_rows, sentence_ends._find_ends),
        sentence_ends._fill_all_lines,
    ):
        for signature in kernel_of_text.signatures:
            # not from disk, so that the kernels that it calls are compiled or loaded
            njit(kernel_of_text.py_func).compile(signature)
    called = [
        *(token_ends.fill_atoms, token_ends.keeps_period),
        *(sentence_ends.fill_atoms, sentence_ends.quotes_after, sentence_ends._fill_lines),
        characters.stretch,
    ]
    for one in called:
        assert one.signatures, one
        literal = [
            each for each in one.signatures if any(isinstance(a, types.Literal) for a in each)
        ]
        assert not literal, one
