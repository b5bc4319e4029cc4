"""The compiled reader and writer against the slow ones of conllu/stream.py, the reference,
on files whole and damaged.
"""

import gzip
import io
import random
import re

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from parser.conllu import chunks as chunks_module
from parser.conllu.checks import DEPS, FEATS, FORM, HEAD, ConlluError
from parser.conllu.chunks import Chunk, TreeWriter, find_heads, find_words, read_chunks
from parser.conllu.stream import read_raw_sentences, rewrite
from tests.odd_files import damaged_files, encoded, files, line

RELATIONS = ["root", "nmod:poss", "\u00e9", ""]
MARK = b"\xef\xbb\xbf"


@given(files() | damaged_files(), st.booleans())
@example(line(1, "a") * 2, True)
@example(line("1-3", "a") + line(1, "a") + line(2, "b") + b"\n" + line(1, "c"), True)
@example(line("1-2", "a") + line(1, "a") + line("2-3", "a") + line(2, "b") + line(3, "b"), True)
@example(line("0.1", "a") + line(1, "a") + line("1.1", "a") + line("1.2", "a"), True)
@example(line("01", "a"), True)
@example(line("1-", "a") + line(1, "a"), True)
@example(line("01-02", "a") + line(1, "a") + line(2, "a"), True)
@example(line("1000000000-1", "a"), True)
@example(line(1, "a")[:-1] + b"\t\n", True)
@example(b"#" + b"\t" * 12 + b"\n" + line(1, "a", end=""), True)
@example(MARK, True)
@example(MARK + b"#\n" + line(1, "a"), False)
@example(b"\r\r", True)
@example(b"\r \r", True)
def test_words_are_where_the_stream_has_them(content, first):
    try:
        sentences = list(read_raw_sentences(io.BytesIO(content), lines_before=0 if first else 1))
    except ConlluError as error:
        if first and "old Macs" in str(error):  # so are no chunks read of it
            with pytest.raises(ConlluError, match="old Macs"):
                list(read_chunks(io.BytesIO(content)))
        else:
            assert find_words(Chunk(content, first)) is None
        return
    words = find_words(Chunk(content, first))
    if re.search(rb"[0-9]{10}", content):
        return  # may be left to the stream
    assert words is not None
    with_words = [sentence for sentence in sentences if len(sentence)]
    assert np.diff(words.offsets).tolist() == [len(sentence) for sentence in with_words]
    assert words.n_lines == sum(len(sentence.lines) for sentence in sentences)
    columns = [columns for sentence in with_words for columns in sentence.columns]
    for form, head, misc, expected in zip(
        words.forms, words.heads, words.miscs, columns, strict=True
    ):
        assert content[form:head] == encoded(
            "".join(column + "\t" for column in expected[FORM : FEATS + 1])
        )
        assert content[head:misc] == encoded("\t".join(expected[HEAD : DEPS + 1]))


@given(files(), st.randoms(use_true_random=False))
@example(b"".join(line(word) for word in range(1, 1234)), random.Random(1))
def test_trees_are_written_as_the_stream_rewrites_them(content, rng):
    words = find_words(Chunk(content, True))
    assert words is not None
    heads = [rng.randint(0, len(words.heads)) for _ in words.heads]
    relations = [rng.randrange(len(RELATIONS)) for _ in heads]
    expected = []
    start = 0
    for sentence in read_raw_sentences(io.BytesIO(content)):
        inside = slice(start, start + len(sentence))
        expected.append(
            rewrite(
                sentence, heads[inside], [RELATIONS[relation] for relation in relations[inside]]
            )
        )
        start += len(sentence)
    written = TreeWriter(RELATIONS).write(
        words, np.array(heads, np.int32), np.array(relations, np.int32)
    )
    assert bytes(written) == encoded("".join(expected))


HEADS = st.sampled_from(
    [
        "_",
        "_",
        "_",
        "0",
        "1",
        "2",
        "3",
        "02",
        "4",
        "-1",
        "x",
        "",
        "_1",
        "1_",
        "_ ",
        "\u0661",
        "9" * 12,
    ]
)


@given(st.lists(st.lists(HEADS, min_size=1, max_size=4), min_size=1, max_size=3), st.booleans())
@example([["2", "0", "2", "_"]], False)
@example([["0", "0"]], True)
@example([["2", "3", "1"], ["_"]], True)
@example([["3", "_", "0"], ["2", "1"]], False)
def test_heads_are_those_of_the_stream_or_left_to_it(sentences, several_roots):
    text = "".join(
        "".join(
            f"{word}\ta\t_\t_\t_\t_\t{head}\tr{word}\t_\t_\n" for word, head in enumerate(heads, 1)
        )
        + "\n"
        for heads in sentences
    ).encode()
    words = find_words(Chunk(text, True))
    assert words is not None
    found = find_heads(words, several_roots)
    try:
        read = read_raw_sentences(io.BytesIO(text))
        expected = [
            head
            for sentence in read
            for head in sentence.heads(several_roots=several_roots, partial=True)
        ]
    except ConlluError:
        assert found is None
        return
    if "9" * 12 in (head for heads in sentences for head in heads):
        return  # may be left to the stream
    assert found is not None
    heads, (begins, ends) = found
    assert heads.tolist() == expected
    relations = [text[begin:end].decode() for begin, end in zip(begins, ends, strict=True)]
    assert relations == [f"r{word}" for heads in sentences for word in range(1, len(heads) + 1)]


def read_whole(content):
    return [(s.number, s.columns) for s in read_raw_sentences(io.BytesIO(content)) if len(s)]


def read_by_chunks(content, size):
    found = []
    n_lines = n_sentences = 0
    for chunk in read_chunks(io.BytesIO(content), size):
        for s in read_raw_sentences(io.BytesIO(chunk.content), "-", n_lines, n_sentences):
            found += [(s.number, s.columns)] if len(s) else []
            n_lines += len(s.lines)
            n_sentences += len(s) > 0
    return found


def found_or_error(read, *arguments):
    try:
        return read(*arguments)
    except ConlluError as error:
        return str(error)


@given(files() | damaged_files(), st.integers(1, 40), st.integers(1, 3))
@example(line(1, "a") + b" \n" + line(1, "b") + b"\r\r\n" + line(1, "c"), 3, 1)
@example(line(1, "a") + b"\n" + line(1, "b") + b"\r\n" + line(1, "c") + line(3), 3, 1)
def test_chunks_are_the_file_cut_between_sentences(content, size, threads):
    assume(b"\n" in content or content.count(b"\r") < 2)  # refused, see test_formats.py
    chunks = list(read_chunks(io.BytesIO(content), size, threads))
    assert b"".join(chunk.content for chunk in chunks) == content
    assert [chunk.first for chunk in chunks] == [True, *[False] * len(chunks)][: len(chunks)]
    assert found_or_error(read_by_chunks, content, size) == found_or_error(read_whole, content)


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"  \r\n"])
def test_chunks_are_as_long_as_they_need_be(blank):
    sentence = line(1, "a") + line(2, "b") + blank
    chunks = list(read_chunks(io.BytesIO(sentence * 1000), 300))
    assert max(len(chunk.content) for chunk in chunks) < 300 + len(sentence)
    assert len(chunks) > 50


def test_what_has_no_blank_lines_is_not_held_without_end(monkeypatch):
    monkeypatch.setattr(chunks_module, "LONGEST_SENTENCE", 1000)
    endless = io.BytesIO(line(1, "a") + b"\n" + b"some text\n" * 10_000)
    with pytest.raises(
        ConlluError,
        match=r"^f: from byte \d+ on, there is no blank line in 1,\d{3} bytes; .*--text",
    ):
        list(read_chunks(endless, 300, name="f"))
    assert endless.tell() < 2000


class Pipe(io.RawIOBase):
    """Bytes of which nobody knows how many there are."""

    def __init__(self, content):
        self.content = io.BytesIO(content)

    def read(self, size=-1):
        return self.content.read(size)


def lengths_of_chunks(stream, threads):
    return [len(chunk.content) for chunk in read_chunks(stream, 4000, threads)]


def test_chunks_of_a_pipe_grow_with_what_has_been_read():
    sentence = line(1, "a") + b"\n"
    lengths = lengths_of_chunks(Pipe(sentence * 5000), 2)
    assert sum(lengths) == 5000 * len(sentence)
    assert max(lengths[:5]) < 1000 + len(sentence)
    assert lengths[-1] < lengths[-2] < 4000 + len(sentence)
    assert any(1500 < length < 3000 for length in lengths)
    before = np.cumsum([0, *lengths[:-1]])
    assert all(
        length <= max(1000, read // 8) + 2 * len(sentence)
        for length, read in zip(lengths, before, strict=True)
    )


def test_chunks_of_a_file_are_the_shares_of_the_threads_in_what_is_left(tmp_path):
    content = (line(1, "a") + b"\n") * 1000
    path = tmp_path / "a.conllu"
    path.write_bytes(content)
    with path.open("rb") as file:
        lengths = lengths_of_chunks(file, 2)
    assert sum(lengths) == len(content)
    left = len(content) - np.cumsum([0, *lengths[:-1]])
    for length, of_those in zip(lengths[:-1], left, strict=False):
        assert abs(length - min(4000, max(1000, of_those // 2))) <= 2 * len(line(1, "a") + b"\n")
    assert lengths == lengths_of_chunks(io.BytesIO(content), 2)
    assert min(lengths[:-1]) < 1100 < 3900 < max(lengths)


def test_a_file_may_grow_while_it_is_read_and_nobody_knows_how_much_a_compressed_one_holds(
    tmp_path,
):
    content, path = (line(1, "a") + b"\n") * 100, tmp_path / "a.conllu"
    path.write_bytes(content)
    with path.open("rb") as file:
        chunks = read_chunks(file, 200, 2)
        found = [next(chunks).content]
        with path.open("ab") as more:
            more.write(content)
        assert b"".join([*found, *(chunk.content for chunk in chunks)]) == content * 2
    path.write_bytes(gzip.compress(content * 10))
    with gzip.open(path, "rb") as file:
        assert lengths_of_chunks(file, 2) == lengths_of_chunks(Pipe(content * 10), 2)
