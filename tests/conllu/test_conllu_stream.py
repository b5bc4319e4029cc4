"""What goes through comes out: byte for byte, but for the columns of a new tree."""

import gzip
import io
import itertools
import lzma
import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given

from parser.conllu.checks import DEPREL, FORM, HEAD, ConlluError
from parser.conllu.files import open_input, open_output
from parser.conllu.stream import read_raw_sentences, rewrite
from tests.odd_files import encoded, files, line
from tests.toy import real_treebank


def read(content: bytes, path: str = "file"):
    return list(read_raw_sentences(io.BytesIO(content), path))


SENTENCE = (
    b"# sent_id = one\n#no space\n# text = x\n# text = the same key again\n"
    + line("1-2", "ab")
    + line(1, "a", "a", "X", "x", "F=a=b", "2", "dep", "2:dep|3:dep", "Gloss=a=b|x")
    + b"# a comment between words\n"
    + line(2, "b  c d", "_", "X", "_", "_", "_", "_", "_", "_")
    + line("2.1", "e", "_", "_", "_", "_", "_", "_", "1:dep", "_")
    + b"\n"
)


def test_a_sentence_is_split():
    (sentence,) = read(SENTENCE)
    assert encoded("".join(sentence.lines)) == SENTENCE
    assert len(sentence) == 2
    assert sentence.column(FORM) == ["a", "b  c d"]
    assert sentence.columns[0] == [
        "1",
        "a",
        "a",
        "X",
        "x",
        "F=a=b",
        "2",
        "dep",
        "2:dep|3:dep",
        "Gloss=a=b|x",
    ]
    assert sentence.word_lines == [5, 7]
    assert sentence.multiwords == [(4, 1, 2)]
    assert sentence.place() == "file, line 1, sentence 1 (sent_id one)"


def test_rewriting_changes_head_deprel_and_deps_of_words_and_nothing_else():
    (sentence,) = read(SENTENCE.replace(b"\n", b"\r\n"))
    expected = (
        SENTENCE.replace(b"2\tdep\t2:dep|3:dep", b"0\troot\t_").replace(
            b"b  c d\t_\tX\t_\t_\t_\t_", b"b  c d\t_\tX\t_\t_\t1\tnmod:poss"
        )
    ).replace(b"\n", b"\r\n")
    assert encoded(rewrite(sentence, [0, 1], ["root", "nmod:poss"])) == expected
    assert encoded("".join(sentence.lines)) == SENTENCE.replace(b"\n", b"\r\n"), (
        "the sentence itself stays as it was"
    )


def test_new_heads_on_odd_bytes_a_last_line_without_end_and_a_first_one_with_a_bom():
    (sentence,) = read(b"\xef\xbb\xbf" + line(1, "a", end=""))
    assert rewrite(sentence, [0], ["root"]) == "\ufeff1\ta\t_\t_\t_\t_\t0\troot\t_\t_"
    content = line(1, "a").replace(b"a", b"\xff\xfe\xe9") + b"\n"  # no UTF-8
    (sentence,) = read(content)
    assert encoded(rewrite(sentence, [0], ["root"])) == content.replace(
        b"_\t_\t_\t_\n", b"0\troot\t_\t_\n"
    )


def test_as_many_heads_and_relations_as_words():
    (sentence,) = read(SENTENCE)
    for heads, deprels in (
        ([0], ["root", "dep"]),
        ([0, 1], ["root"]),
        ([0, 1, 1], ["root", "dep", "dep"]),
    ):
        with pytest.raises(ValueError, match="argument"):
            rewrite(sentence, heads, deprels)


def test_without_words():
    assert read(b"") == []
    (end,) = read(b"# only a comment")
    assert (len(end), rewrite(end, [], [])) == (0, "# only a comment")
    sentences = read(b"\n\n# a\n\n" + line(1, "a") + b"\n\n\n# b\n\n\n")
    assert [len(sentence) for sentence in sentences] == [0, 1, 0, 0]
    assert [sentence.number for sentence in sentences] == [1, 1, 2, 2]
    assert [sentence.first_line for sentence in sentences] == [1, 5, 7, 11]


def without_deps(content: bytes) -> bytes:
    """Return the same lines, DEPS of words emptied."""
    lines = [raw.split(b"\t") for raw in content.split(b"\n")]
    for columns in lines:
        if columns[0].removeprefix(b"\xef\xbb\xbf").isdigit() and len(columns) == 10:
            columns[8] = b"_"
    return b"\n".join(b"\t".join(columns) for columns in lines)


@given(files())
@example(SENTENCE + b"\n \r\n" + SENTENCE.rstrip())
def test_every_byte_passes_through(content):
    sentences = read(content)
    assert (
        encoded("".join(itertools.chain.from_iterable(sentence.lines for sentence in sentences)))
        == content
    )
    same = "".join(
        rewrite(sentence, sentence.column(HEAD), sentence.column(DEPREL)) for sentence in sentences
    )
    assert encoded(same) == without_deps(content)


def test_errors_name_line_and_mend():
    content = b"# a\n" + line(1, "a") + b"\n# sent_id = s\n" + line("x", "a")
    sentences = read_raw_sentences(io.BytesIO(content), "file")
    assert len(next(sentences)) == 1
    with pytest.raises(
        ConlluError, match=r"file, line 5, sentence 2 \(sent_id s\): 'x' is not an id; write"
    ):
        next(sentences)


def test_heads_are_checked_on_demand():
    content = (
        b"# comment\n" + line("1-2", "ab") + b"".join(line(i, "a", *"____", "0") for i in (1, 2))
    )
    (sentence,) = read(content)
    assert sentence.heads(several_roots=True) == [0, 0]
    with pytest.raises(ConlluError, match="file, line 4, sentence 1: several roots"):
        sentence.heads()
    (sentence,) = read(content.replace(b"\t0\t", b"\t_\t"))
    with pytest.raises(ConlluError, match="file, line 3, sentence 1: the head '_' is not a number"):
        sentence.heads()


def test_a_sentence_comes_before_the_next_is_read():
    """And memory is that of a sentence."""
    lines = iter([line(1, "a"), b"\n", line(1, "b"), b"\n"])
    assert next(read_raw_sentences(lines)).column(FORM) == ["a"]
    assert len([*lines]) == 2
    many = (raw for _ in range(20_000) for raw in (line(1, "a"), b"\n"))
    tracemalloc.start()
    try:
        assert sum(len(sentence) for sentence in read_raw_sentences(many)) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


def test_real_files_pass_through():
    for path in sorted(real_treebank("").glob("*/*-dev.conllu")):
        with open_input(path) as stream:
            text = "".join(
                rewrite(sentence, sentence.heads(), sentence.column(DEPREL))
                for sentence in read_raw_sentences(stream)
            )
        assert encoded(text) == without_deps(path.read_bytes())


@pytest.mark.parametrize(
    ("name", "uncompress"), [("f", bytes), ("f.gz", gzip.decompress), ("f.xz", lzma.decompress)]
)
def test_files_by_name(tmp_path, name, uncompress):
    path = tmp_path / name
    for _ in range(2):
        with open_output(path) as text:
            text.write("é\r\n\udcff\n")
        assert uncompress(path.read_bytes()) == b"\xc3\xa9\r\n\xff\n"
    with open_input(path) as stream:
        assert list(stream) == [b"\xc3\xa9\r\n", b"\xff\n"]
    assert [file.name for file in tmp_path.iterdir()] == [name]
    if name.endswith(".gz"):
        header = path.read_bytes()[:8]
        assert (header[3], header[4:]) == (
            0,
            bytes(4),
        ), "no name, no time: the same text gives the same bytes"


@pytest.mark.posix
def test_output_keeps_the_permissions_and_follows_a_link(tmp_path):
    path, link = tmp_path / "f", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with open_output(link) as text:
        text.write("new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.posix
def test_what_the_shell_has_opened_is_written_as_it_said(tmp_path):
    """Through a pipe, and behind what a file has already."""
    names = [
        name
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", os.devnull)
        if os.path.exists(name)
    ]
    program = "from parser.conllu.files import *\n"
    program += "".join(f"with open_output('{name}') as text: text.write('new')\n" for name in names)
    command, new = [sys.executable, "-c", program], b"new" * (len(names) - 1)
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == new
    (tmp_path / "all").write_bytes(b"old ")
    with open(tmp_path / "all", "ab") as appended:
        subprocess.run(command, stdout=appended, check=True)
    assert (tmp_path / "all").read_bytes() == b"old " + new
    assert not Path(os.devnull).is_file()


def test_names_that_cannot_be_opened(tmp_path):
    with pytest.raises(ConlluError, match="there is no such file"), open_input(tmp_path / "none"):
        pass
    with pytest.raises(FileNotFoundError, match="another"), open_input(os.devnull):
        raise FileNotFoundError("another file's error is not taken for this one's")


def test_standard_streams_stay_open():
    program = (
        "from parser.conllu.files import *\nfrom parser.conllu.stream import *\nwith "
        "open_input('-') as stream, open_output('-') as text:\n    for sentence in "
        "read_raw_sentences(stream): text.write(rewrite(sentence, "
        "[0], ['root']))\nprint('after')\n"
    )
    content = line(1, "\u00e9", end="\r\n").replace(b"\xc3\xa9", b"\xff")
    done = subprocess.run(
        [sys.executable, "-c", program], input=content, capture_output=True, check=True
    )
    assert done.stdout == content.replace(b"_\t_\t_\t_\r\n", b"0\troot\t_\t_\r\n") + b"after\n"
