"""numba begins without scipy.linalg, which the process can import all the same; and a model is warmed up."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.forgery import small_model
from tests.toy import ROOT, sentence, write_conllu


def test_kernels_run_before_scipy_is_imported_and_after():
    pytest.importorskip("scipy")
    code = """
import sys
from parser.numba_start import start_numba_without_scipy
start_numba_without_scipy()
from parser.conllu.chunks import Chunk, find_words
assert find_words(Chunk(b"1" + 9 * b"\\t_" + b"\\n", True)).n_lines == 1
assert "scipy.linalg" not in sys.modules
import scipy.linalg
start_numba_without_scipy()
assert "scipy.linalg" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_after_a_warm_up_nothing_is_left_to_compile(tmp_path):
    small_model("static").save(tmp_path / "model")
    sentences = [sentence([0, 1, 2]), sentence([2, 0])]
    write_conllu(tmp_path / "in.conllu", sentences)
    code = """
import sys
from numba.core.dispatcher import Dispatcher
from parser.commands.parse import main

def compiled():
    ours = [vars(module).values() for name, module in sys.modules.items() if name.startswith("parser.")]
    return {str(kernel): kernel.signatures for values in ours for kernel in values if isinstance(kernel, Dispatcher)}

model, file = sys.argv[1:]
sys.argv[1:] = [model, "--warm-up"]
assert main() == 0
before = compiled()
assert sum(map(len, before.values())) > 10
sys.argv[1:] = [model, file, "-o", file + ".out", "--threads=2", "--allow-missing-columns"]
assert main() == 0
assert compiled() == before
"""
    command = [sys.executable, "-c", code, str(tmp_path / "model"), str(tmp_path / "in.conllu")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "in.conllu.out").exists()
