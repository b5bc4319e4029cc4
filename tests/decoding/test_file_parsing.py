"""Parsing a file in compiled chunks against parsing it line by line: the same bytes,
for any chunks and any threads.
"""

import io
import os
import random
import tracemalloc
from functools import partial
from itertools import count, islice
from threading import Barrier
from typing import BinaryIO, cast

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parser.beam_settings import Beam
from parser.conllu.checks import ConlluError
from parser.conllu.chunks import Chunk
from parser.conllu.stream import read_raw_sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.decoding.files import file_parsing
from parser.decoding.files.file_parsing import ChunkParser, FileCounts, parallel_map
from parser.decoding.files.word_cache import WordCache
from parser.decoding.parse_options import OnError, ParseOptions
from parser.decoding.predictor import Predictor
from parser.model.trained_model import TrainedModel
from parser.network_spec import ClassifierSpec, Embedding
from parser.transitions.features import slots_of
from tests.odd_files import damaged_files, files, line
from tests.parsed_files import parse_file
from tests.random_models import with_random_weights

FORMS = ["_", "a", "\u00e9", "\udcc3", ""]
SLOTS = {
    "form": ["s0", "s1", "b0"],
    "upos": ["s0", "b0", "s0.l1"],
    "feats": ["b1"],
    "deprel": ["s0.l1", "s0.r1"],
}


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    torch.manual_seed(1)
    vocabularies = Vocabularies({name: Vocabulary(FORMS) for name in ("form", "upos", "feats")})
    spec = ClassifierSpec(
        20, "relu", 0, 0, 0, {"form": Embedding(5, False), "deprel": Embedding(3, True)}
    )
    made = TrainedModel.new(
        vocabularies, Vocabulary(["det", "root", "obj", "nsubj:outer"]), slots_of(SLOTS), spec
    )
    return with_random_weights(made, std=1.0)


def slowly(model: TrainedModel, content: bytes, single_root: bool = True):
    parser = ChunkParser(Predictor(model, ParseOptions(several_roots=not single_root)))
    nothing = FileCounts(0, 0, 0, dict.fromkeys(model.vocabularies.attributes, 0))
    text, parsed = parser.parse_faulty(Chunk(content, True), "file", nothing)
    return bytes(text), parsed


def in_chunks(model: TrainedModel, content: bytes, single_root: bool = True, **options):
    target = io.BytesIO()
    options = {"several_roots": not single_root, "allow_missing_columns": True} | options
    parsed = parse_file(model, io.BytesIO(content), target, "file", **options)
    return target.getvalue(), parsed


@given(files() | damaged_files(), st.integers(1, 60), st.integers(1, 3), st.booleans())
@example(line("0000000001-1", "a") + line(1, "a") + b"\n" + line(1, "a"), 3, 2, True)
def test_any_file_in_any_chunks(model, content, chunk_bytes, threads, single_root):
    def result_or_error(parse, **options):
        try:
            return parse(model, content, single_root, **options)
        except ConlluError as error:
            return str(error)

    assert result_or_error(in_chunks, chunk_bytes=chunk_bytes, threads=threads) == result_or_error(
        slowly
    )


def long_file(n_sentences: int) -> bytes:
    rng = random.Random(1)
    sentences = []
    for number in range(n_sentences):
        words = [
            line(word, rng.choice("ab_"), "_", rng.choice("ab_"), "_", "_")
            for word in range(1, rng.randint(2, 30))
        ]
        sentences.append(f"# sent_id = {number}\n".encode() + b"".join(words))
    return b"\n".join(sentences)


def test_a_long_file_in_any_chunks_by_any_threads(model):
    content = long_file(500)
    expected = slowly(model, content)
    for threads, chunk_bytes in ((1, 1), (4, 1), (1, 10_000), (2, 10_000), (1, 10**9), (2, 10**9)):
        assert in_chunks(model, content, threads=threads, chunk_bytes=chunk_bytes) == expected, (
            threads,
            chunk_bytes,
        )


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_far_into_a_file_names_its_line_after_what_was_parsed_before_it(model, threads):
    content = long_file(300)
    broken = content + b"\n# sent_id = here\n" + line(1, "a") + line(3, "b")
    target = io.BytesIO()
    number = len(broken.splitlines())
    with pytest.raises(
        ConlluError, match=rf"file, line {number}, sentence 301 \(sent_id here\): word 3"
    ):
        parse_file(
            model,
            io.BytesIO(broken),
            target,
            "file",
            threads=threads,
            allow_missing_columns=True,
            chunk_bytes=1000,
        )
    assert target.getvalue()
    assert slowly(model, content + b"\n")[0].startswith(target.getvalue())


@pytest.mark.parametrize("threads", [1, 2])
def test_memory_does_not_grow_with_the_input(model, threads, monkeypatch):
    monkeypatch.setattr(file_parsing, "WordCache", partial(WordCache, max_entries=1000))

    class Endless(io.RawIOBase):
        """Words that never come twice."""

        def __init__(self, n_bytes: int) -> None:
            self.left, self.number = n_bytes, 0

        def read(self, size: int = -1) -> bytes:
            lines = []
            while size > 0 and self.left > 0:
                self.number += 1
                lines.append(line(1, f"word{self.number}") + b"\n")
                size, self.left = size - len(lines[-1]), self.left - len(lines[-1])
            return b"".join(lines)

    def peak(n_bytes: int) -> int:
        tracemalloc.start()
        try:
            with open(os.devnull, "wb") as nowhere:
                source = cast(BinaryIO, Endless(n_bytes))
                parse_file(
                    model,
                    source,
                    nowhere,
                    threads=threads,
                    allow_missing_columns=True,
                    chunk_bytes=10_000,
                )
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100_000)
    # three times as much as that comes more; chunks in flight differ from run to run
    assert peak(2**21) < peak(2**19) + 2**19


GOOD = (
    line(1, "a") + b"\n",
    line(1, "\u00e9") + line(2, "a") + b"\n",
    b"# c\r\n" + line(1, "a", end="\r\n") + b"\r\n",
)
BLANK = b"\n"
BAD = (
    line(2, "a") + b"\n",
    b"# sent_id = s\n" + line(1, "\u00e9")[:-3] + b"\r\n\n",
    b"\xff\0prose\n\n",
    b"\t" * 9 + b"\n \n",
)


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from([*GOOD, *BAD, BLANK]), max_size=8),
    st.integers(1, 3),
    st.integers(1, 100),
)
@example([*BAD, *GOOD, *BAD], 2, 10)
@example([BAD[0], BLANK, BAD[1]], 1, 100)
def test_a_bad_sentence_loses_itself_alone(model, pieces, threads, chunk_bytes):
    options = {"threads": threads, "chunk_bytes": chunk_bytes}
    each = [piece if piece in BAD else in_chunks(model, piece)[0] for piece in pieces]
    for on_error, expected in (
        (OnError.KEEP, each),
        (OnError.SKIP, [piece for piece in each if piece not in BAD]),
    ):
        errors: list[str] = []

        def report(error, errors=errors):
            errors.append(str(error))

        found, parsed = in_chunks(
            model, b"".join(pieces), on_error=on_error, report=report, **options
        )
        assert found == b"".join(expected)
        assert (parsed.sentences, parsed.refused) == (
            sum(p in GOOD for p in pieces),
            sum(p in BAD for p in pieces),
        )
        lines = [
            1 + b"".join(pieces[:i]).count(b"\n") + piece.startswith(b"#")
            for i, piece in enumerate(pieces)
        ]
        bad = [i for i, piece in enumerate(pieces) if piece in BAD]
        assert [error.split(":")[0].removesuffix(" (sent_id s)") for error in errors] == [
            f"file, line {lines[i]}, sentence {i + 1 - pieces[:i].count(BLANK)}" for i in bad
        ]
        assert any("1 sentence is not" in warning for warning in parsed.warnings()) == (
            len(bad) == 1
        )


def test_tags_unlike_those_of_training_are_told(model):
    _, parsed = in_chunks(
        model, b"".join(line(i, "a", "_", "a" if i < 9 else "new", "_", "a") for i in range(1, 11))
    )
    assert parsed.warnings() == [
        "20.0% of the words have a value of upos that was never seen in training; "
        "tag the input as the training data was"
    ]
    _, parsed = in_chunks(model, line(1, "new", "_", "a", "_", "a"))
    assert parsed.warnings() == [], "new forms are nothing unusual"


def test_with_a_beam_and_the_k_best_trees(model):
    words = [line(i, form, "_", form) for i, form in enumerate(["a", "_", "\u00e9", "a", "b"], 1)]
    content = b"# text = x\n" + b"".join(words) + b"\n# no words\n\n" + words[0]
    greedy, _ = in_chunks(model, content)
    for content_of_chunk in (10, 1000):
        assert in_chunks(model, content, beam=Beam(1), chunk_bytes=content_of_chunk)[0] == greedy
    best, _ = in_chunks(model, content, beam=Beam(5), threads=2)
    found, parsed = in_chunks(model, content, beam=Beam(5), k_best=3)
    assert (parsed.sentences, parsed.words) == (2, 6)
    copies = found.decode().split("\n\n")
    assert copies[3] == "# no words"
    assert [copy.split("\n")[:2] for copy in copies[:3]] == [
        ["# text = x", f"# beam_rank = {rank}"] for rank in (1, 2, 3)
    ]
    scores = [float(copy.split("\n")[2].removeprefix("# beam_score = ")) for copy in copies[:3]]
    assert scores == sorted(scores, reverse=True)
    without = [text for text in copies[0].split("\n") if not text.startswith("# beam_")]
    assert without == best.decode().split("\n\n")[0].split("\n")


MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("before", "missing"), [(b"", 0), (b"", 1), (b"", 2), (MARK, 1), (MARK + b"# a\n", 1)]
)
def test_copies_of_a_sentence_are_sentences_of_one_file(model, before, missing, end):
    """Whatever the file begins with, and whether its end is missing: of the last line,
    of the sentence.
    """
    words = [line(i, form, "_", form).rstrip() + end for i, form in enumerate(["a", "b"], 1)]
    content = before + b"".join([*words, end, *words, end])
    content = content[: len(content) - missing * len(end)]
    found, _ = in_chunks(model, content, beam=Beam(5), k_best=2)
    sentences = list(read_raw_sentences(io.BytesIO(found), "found"))
    assert [len(sentence) for sentence in sentences] == [2] * 4
    assert found.startswith(before)
    assert found.count(MARK) == content.count(MARK)
    assert found.endswith(content[-3:])


@pytest.mark.parametrize("content", [b"", b"\n \n", b"# a\n\n"])
def test_a_file_without_a_sentence_is_told(model, content):
    assert in_chunks(model, content)[1].warnings() == ["the input has no sentence"]


def test_words_that_are_not_utf_8_are_parsed_and_said_so(model):
    content = line(1, "a") + b"2\tb\xe9\t_\tX\t_\t_\t1\t_\t_\t_\n\n"
    for damage in (b"", b"1\n\n"):  # in compiled code, and line by line
        _, parsed = in_chunks(model, content + damage, on_error=OnError.SKIP)
        assert any("line 2 is not UTF-8" in warning for warning in parsed.warnings())
    assert in_chunks(model, line(1, "\u00e9"))[1].not_utf8 is None


def test_threads_work_side_by_side():
    met = Barrier(2, timeout=60)
    assert len(list(parallel_map(lambda _: met.wait(), range(10), 2))) == 10


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_in_the_order_of_the_items_and_few_are_taken_ahead(threads):
    assert list(parallel_map(lambda x: x * x, range(100), threads)) == [
        (x, x * x) for x in range(100)
    ]
    assert list(parallel_map(str, [], threads)) == []
    taken = []

    def items():
        for item in count():
            taken.append(item)
            yield item

    results = parallel_map(str, items(), threads)
    assert [result for _, result in islice(results, 50)] == [str(item) for item in range(50)]
    assert len(taken) <= 50 + 3 * threads
    results.close()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("fault", ["item", "function"])
def test_an_error_comes_after_the_results_before_it(threads, fault):
    def items():
        yield from range(10)
        if fault == "item":
            raise OSError("cannot be read on")
        yield from range(-1, 10)

    results = parallel_map(lambda item: item if item >= 0 else [][0], items(), threads)
    assert list(islice(results, 10)) == [(item, item) for item in range(10)]
    with pytest.raises(OSError if fault == "item" else IndexError):
        next(results)
