"""Kernels on disk are loaded before numba is ready to compile, which it is where it must;
and a model is warmed up.
"""

import gc
import sys
from contextlib import suppress

import pytest

from parser.commands.parsing_options import rare_collections, short_switch_interval
from tests.forgery import small_model, small_segmenter
from tests.forked import new_python
from tests.text.tiny_tokenizer import save_tiny_tokenizer
from tests.toy import sentence, write_conllu

COMPILED_SO_FAR = """
import sys
from oracles.kernel_cache import Kernel

def compiled():
    ours = [module for name, module in sys.modules.items() if name.startswith("parser.")]
    values = [value for module in ours for value in vars(module).values()]
    ours = [value for value in values if isinstance(value, Kernel) and "dispatcher" in vars(value)]
    return {str(kernel): kernel.signatures for kernel in ours}
"""


def test_kernels_on_disk_run_before_numba_is_ready_to_compile_and_others_are_compiled():
    code = """
import sys
import numpy as np
from numba import njit
from parser.kernels import load_kernels_directly
load_kernels_directly()
from parser.conllu.chunks import Chunk, find_words
assert find_words(Chunk(b"1" + 9 * b"\\t_" + b"\\n", True)).n_lines == 1
assert "numba.typed.typeddict" not in sys.modules
twice_sum = njit(lambda numbers: 2.0 * np.sum(np.sort(numbers)))
assert twice_sum(np.array([2.0, 1.0])) == 6.0
assert "numba.typed.typeddict" in sys.modules
"""
    with suppress(AssertionError):  # it may find nothing on disk
        new_python(code)
    new_python(code)


def test_after_a_warm_up_nothing_is_left_to_compile(tmp_path):
    small_model("static").save(tmp_path / "model")
    sentences = [sentence([0, 1, 2]), sentence([2, 0])]
    write_conllu(tmp_path / "in.conllu", sentences)
    code = """
import os
from importlib.util import cache_from_source
from parser.commands.parse import main

model, file = sys.argv[1:]
sys.argv[1:] = [model, "--warm-up"]
assert main() == 0
assert os.path.exists(cache_from_source(sys.modules["parser"].__file__))
before = compiled()
assert sum(map(len, before.values())) > 5
sys.argv[1:] = [model, file, "-o", file + ".out", "--threads=2", "--allow-missing-columns"]
assert main() == 0
assert compiled() == before
assert "torch._dynamo" not in sys.modules  # torch's compiler, a second to load
"""
    new_python(COMPILED_SO_FAR + code, tmp_path / "model", tmp_path / "in.conllu")
    assert (tmp_path / "in.conllu.out").exists()


# The second has no encoder, so that only the segmenter needs its kernels.
@pytest.mark.parametrize(("kind", "many"), [("text", True), ("static", False)])
def test_after_a_warm_up_for_text_nothing_is_left_to_compile(tmp_path, kind, many):
    """Neither for sentences, which a segmenter finds, nor for tags;
    parse_many does it before its processes begin.
    """
    small_model(kind).save(tmp_path / "model")
    save_tiny_tokenizer(tmp_path / "model")
    small_segmenter().save(tmp_path / "model")
    (tmp_path / "in.txt").write_text("a b c. d e\n")
    code = """
from pathlib import Path
from parser.commands.parse import main
from parser.text.shards import Shard
from parser.decoding.parse_options import ParseOptions
from parser.text.worker import ShardParser

model, file, many = sys.argv[1:]
if many == "True":
    parser = ShardParser(Path(model), ParseOptions(text=True, allow_missing_columns=True))
    parser.warm_up()
else:
    sys.argv[1:] = [model, "--warm-up", "--text"]
    assert main() == 0
before = compiled()
if many == "True":
    assert parser(Shard(file, file + ".out")).error is None
else:
    sys.argv[1:] = [model, file, "--text", "--allow-missing-columns", "-o", file + ".out"]
    assert main() == 0
assert compiled() == before
"""
    new_python(COMPILED_SO_FAR + code, tmp_path / "model", tmp_path / "in.txt", str(many))
    assert (tmp_path / "in.txt.out").exists()


def test_threads_wait_less_long_for_each_other_meanwhile():
    before = sys.getswitchinterval()
    with suppress(KeyError), short_switch_interval():
        assert sys.getswitchinterval() == pytest.approx(0.0001)
        raise KeyError
    assert sys.getswitchinterval() == before


def test_garbage_is_collected_more_seldom_meanwhile():
    before = gc.get_threshold()
    with suppress(KeyError), rare_collections():
        assert all(now > then for now, then in zip(gc.get_threshold(), before, strict=True))
        raise KeyError
    assert gc.get_threshold() == before
