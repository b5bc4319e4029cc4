"""The first words of a process are handled without compiling anything, with the same results."""

import json
import os
import random
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from oracles import kernel_cache
from oracles.kernel_cache import Kernel, kernel
from parser import Parser, transitions
from parser.beam_settings import Beam
from parser.decoding import predictor
from parser.decoding.files import file_parsing
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor
from parser.decoding.search import GREEDY, SearchWish, search_for
from parser.kernels import interpreted
from parser.kernels.interpreted import (
    FIRST_WORDS,
    Briefly,
    compile_from_now_on,
    instead_of,
)
from parser.model.trained_model import TrainedModel
from parser.model_folder import TOKENIZER
from parser.transitions.features import slots_of
from tests.forgery import KINDS, small_model
from tests.forked import works
from tests.jit import COMPILED
from tests.random_models import with_random_weights
from tests.text.tiny_tokenizer import save_tiny_tokenizer
from tests.toy import ROOT, sentence

pytestmark = pytest.mark.skipif(not COMPILED, reason="everything is interpreted")

PARSING = """
import sys
from numba.core import event
from parser import Parser, transitions
from parser.beam_settings import Beam
from parser.decoding.search import GREEDY, SearchWish, search_for
parser = Parser.load(sys.argv[1])
with event.install_recorder("numba:compile") as compiled:
    for text in sys.argv[2:]:
        for tree in parser.parse_text(text, allow_missing_columns=True):
            print(tree.forms, tree.heads, tree.deprels, tree.tags)
assert not compiled.buffer, compiled.buffer
"""

COMMAND = """
import sys
from numba.core import event
from parser.commands.parse import main
with event.install_recorder("numba:compile") as compiled:
    assert main() == 0
assert not compiled.buffer, compiled.buffer
"""

TEXTS = "a b c. d e\nb a d.\n", "c d a b. e\n"


@pytest.fixture(autouse=True)
def nothing_is_warmed_up(monkeypatch):
    """Let kernels be interpreted, also after a test that has warmed up a model."""
    monkeypatch.setattr(interpreted, "_is_over", False)


@pytest.fixture
def uncompiled(monkeypatch):
    """Two kernels, neither compiled nor on disk; the second calls the first."""
    monkeypatch.setattr(kernel_cache, "_stores_kernels", False)
    monkeypatch.setattr(interpreted, "_is_on_disk", lambda kernel: False)

    @kernel()
    def half(x):
        return x / 2

    @kernel()
    def quarter(x):
        return half(half(x))

    return half, quarter


@pytest.mark.parametrize("compiles", [False, True])
def test_interpreted_kernels_do_not_warn_as_compiled_ones_do_not(monkeypatch, compiles):
    monkeypatch.setattr(interpreted, "COMPILES", compiles)
    monkeypatch.setattr(interpreted, "_is_over", not compiles)
    with np.errstate(all="raise"), Briefly()(1):
        assert np.uint64(2**63) * np.uint64(2) == 0


def python(cache: Path, code: str, *arguments: str | Path) -> str:
    """Return the output of a program whose compiled kernels are stored in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_parsed_without_compiling_as_with_compiled_kernels(tmp_path, monkeypatch, kind):
    small_model(kind).save(tmp_path / "model")
    save_tiny_tokenizer(tmp_path / "model")
    said = python(tmp_path / "kernels", PARSING, tmp_path / "model", *TEXTS)
    monkeypatch.setattr(interpreted, "_is_over", True)
    parser = Parser.load(tmp_path / "model")
    parsed = [parser.parse_text(text, allow_missing_columns=True) for text in TEXTS]
    lines = [f"{tree.forms} {tree.heads} {tree.deprels} {tree.tags}" for tree in chain(*parsed)]
    assert said.splitlines() == lines


@pytest.mark.parametrize("name", transitions.names())
@pytest.mark.parametrize("beam", [GREEDY, Beam(3)], ids=["greedy", "beam"])
def test_every_system_makes_the_same_trees(monkeypatch, name, beam):
    small = small_model("static")
    there = transitions.create_for(small.relations, name, {}).always_there
    spec = replace(small.spec, embeddings={"form": small.spec.embeddings["form"]})
    model = with_random_weights(
        TrainedModel.new(
            small.vocabularies, small.relations, slots_of({"form": [there]}), spec, name
        )
    ).frozen()
    rng = random.Random(name)
    sentences = [
        replace(sentence([0] * length), forms=rng.choices("abc", k=length))
        for length in (1, 2, 3, 5, 8, 13)
    ]
    encoded = model.vocabularies.encode(sentences)
    monkeypatch.setattr(interpreted, "_is_compiled", lambda kernel: False)
    trees = []
    for is_over in (False, True):
        monkeypatch.setattr(interpreted, "_is_over", is_over)
        with Briefly()(1):
            parses = search_for(model, SearchWish(beam)).parse(encoded, single_root=True)
        trees.append((parses.heads.tolist(), parses.relations.tolist()))
    assert trees[0] == trees[1]


@pytest.mark.parametrize("older", [False, True])
def test_a_command_compiles_nothing_for_a_sentence(tmp_path, monkeypatch, older):
    small_model("lemmas").save(tmp_path / "model")
    save_tiny_tokenizer(tmp_path / "model")
    if older:  # places that training never saw are closed when it is loaded
        path = tmp_path / "model" / TOKENIZER
        settings = json.loads(path.read_text("utf-8"))
        del settings["dashes_in_tokens"]
        path.write_text(json.dumps(settings), "utf-8")
    (tmp_path / "in.txt").write_text("a b c. d e\n")
    command = str(tmp_path / "model"), str(tmp_path / "in.txt"), "--text", "--allow-missing-columns"
    said = python(tmp_path / "kernels", COMMAND, *command)
    monkeypatch.setattr(interpreted, "_is_over", True)
    assert said == works("scripts/parse.py", *command).stdout != ""


def test_kernels_are_compiled_once_the_pieces_of_work_are_no_longer_small(uncompiled):
    half, quarter = uncompiled
    piece = Briefly()
    for size in (3, FIRST_WORDS - 3):
        with piece(size):
            assert quarter(3) == 0.75
    assert not {**half.overloads, **quarter.overloads}
    with piece(1):
        assert quarter(3) == 0.75
    assert len(half.overloads) == 2  # of an integer, of a float
    assert len(quarter.overloads) == 1
    with Briefly()(FIRST_WORDS + 1):
        half(np.float32(1))
    assert len(half.overloads) == 3


@pytest.mark.parametrize(("beam", "size"), [(GREEDY, 4), (Beam(32), 28), (Beam(256), 208)])
def test_words_count_more_with_a_beam(monkeypatch, beam, size):
    sizes = []
    monkeypatch.setattr(predictor, "_parsing", lambda words: sizes.append(words) or nullcontext())
    parser = Parser(small_model("lemmas"), beam=beam)
    parser.parse([["a", "b", "c"]], allow_missing_columns=True)
    assert max(sizes) == size  # of three words and the root


def test_long_lines_count_as_several(monkeypatch):
    sizes = []
    monkeypatch.setattr(
        file_parsing, "_briefly", lambda lines: sizes.append(lines) or nullcontext()
    )
    row = "\t".join(["1", "a", *"_" * 8])
    content = f"# {'x' * 100_000}\n{row}\n\n".encode()
    options = ParseOptions(tags=None)
    parse_file(Predictor(small_model("lemmas"), options), BytesIO(content), BytesIO())
    assert sum(sizes) >= 1_000


def test_what_is_compiled_runs_unless_an_interpreted_kernel_calls_it(uncompiled):
    half, quarter = uncompiled
    half(1.0)
    instead_of(half)(lambda x: x / 2 + 100)
    with Briefly()(1):
        assert half(1.0) == 0.5
        assert quarter(1.0) == (1 / 2 + 100) / 2 + 100
    assert not quarter.overloads


def test_what_is_on_disk_runs_if_it_is_worth_loading(tmp_path):
    """And numba is not imported before."""
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from parser.kernels.interpreted import FEW_WORDS, Briefly
from of_the_user import half
if sys.argv[2] == "compile":
    half(1.0)
piece, said = Briefly(per_word=2), []
for size in (2 * FEW_WORDS, 1):
    with piece(size):
        said += [half(1.0), "numba" in sys.modules]
print(*said)
"""
    source = "from oracles.kernel_cache import kernel\n@kernel()\ndef half(x):\n    return x / 2\n"
    (tmp_path / "of_the_user.py").write_text(source)
    said = [python(tmp_path, code, tmp_path, what).split() for what in ("", "compile", "")]
    assert said == [
        ["0.5", "False", "0.5", "False"],
        ["0.5", "True", "0.5", "True"],
        ["0.5", "False", "0.5", "True"],
    ]


def test_pieces_within_pieces_and_errors_leave_all_as_it_was(uncompiled):
    half, quarter = uncompiled
    with Briefly()(9):
        with Briefly()(FIRST_WORDS + 1):
            half(1.0)
        with pytest.raises(ZeroDivisionError), Briefly()(1):
            raise ZeroDivisionError
        with pytest.raises(TypeError):
            quarter("a")
        quarter(1.0)
    assert (len(half.overloads), len(quarter.overloads)) == (1, 0)
    assert Kernel.__call__ is not interpreted._call


def test_other_threads_compile(uncompiled):
    half, quarter = uncompiled
    with Briefly()(9):
        thread = Thread(target=half, args=(1.0,))
        thread.start()
        thread.join()
        quarter(1.0)
    assert (len(half.overloads), len(quarter.overloads)) == (1, 0)


def test_from_now_on_everything_is_compiled(uncompiled):
    compile_from_now_on()
    with Briefly()(1):
        uncompiled[1](1.0)
    assert uncompiled[1].overloads


def test_numbers_overflow_without_a_warning():
    @kernel()
    def product_of(x):
        return x * x

    many = np.uint64(2**63 + 1)
    with Briefly()(1):
        assert product_of(many) == 1
    assert not product_of.overloads
