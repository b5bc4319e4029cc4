"""CoNLL-U Plus passes through; what is no CoNLL-U at all is called by its name, with the way out."""

from __future__ import annotations

import bz2
from io import BytesIO

import pytest

from parser.conllu.checks import COLUMN_NAMES, ConlluError
from parser.conllu.chunks import find_words, read_chunks
from parser.conllu.files import open_input
from parser.conllu.stream import read_raw_sentences, rewrite

ORDER = ["ID", "PARSEME:MWE", "FORM", "UPOS", "LEMMA", "XPOS", "HEAD", "DEPREL", "FEATS", "DEPS", "MISC"]
PLUS = (
    f"\ufeff# global.columns = {' '.join(ORDER)}\r\n"
    "1-2\t*\tau\t_\t_\t_\t_\t_\t_\t_\t_\r\n"
    "1\t1:X\tà\tADP\tà\t_\t3\tcase\t_\t3:case\t_\r\n"
    "2\t1\tle\tDET\tle\t_\t3\tdet\t_\t_\t_\r\n"
    "2.1\t*\tvu\tVERB\t_\t_\t_\t_\t_\t_\t_\r\n"
    "3\t*\tchat\tNOUN\tchat\t_\t0\troot\tNumber=Sing\t_\tSpaceAfter=No\r\n\r\n"
)


def read(text: str, **options):
    return list(read_raw_sentences(BytesIO(text.encode()), "file", **options))


def test_conllu_plus_is_read_in_any_order_and_written_back():
    (sentence,) = read(PLUS)
    assert sentence.columns[0] == ["1", "à", "à", "ADP", "_", "_", "3", "case", "3:case", "_"]
    assert [columns[1] for columns, _ in sentence.surface_tokens()] == ["au", "chat"]
    assert rewrite(sentence, [3, 3, 0], ["case", "det", "root"]) == PLUS.replace("3:case", "_")
    tagged = rewrite(sentence, [0, 1, 1], ["root", "a", "b"], others={3: ["X", "Y", "Z"]}).split("\r\n")
    assert tagged[2] == "1\t1:X\tà\tX\tà\t_\t0\troot\t_\t_\t_"


@pytest.mark.parametrize("size", [1, 50, 1000])
def test_all_chunks_of_conllu_plus_are_read_line_by_line(size):
    chunks = list(read_chunks(BytesIO((PLUS + PLUS.partition("\n")[2]).encode()), size))
    assert all(find_words(chunk) is None for chunk in chunks)
    assert len({chunk.layout for chunk in chunks}) == 1


def test_the_columns_of_conllu_may_be_named():
    text = f"# global.columns = {' '.join(COLUMN_NAMES)}\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"
    assert read(text)[0].layout is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# global.columns = ID FORM HEAD\n1\ta\t0\n", "file, line 1: CoNLL-U Plus without LEMMA, UPOS"),
        (f"# global.columns = {' '.join(COLUMN_NAMES)} A A\n", "with A twice"),
        (PLUS.replace("\tchat\t_", "\tchat"), "10 columns where global.columns names 11"),
        ("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\t*\n", "11 columns .*global.columns = ID FORM"),
        ("1\ta" + "\t_" * 12 + "\n", "14 columns .*CoNLL-2009"),
        ("1 a _ _ _ _ 0 root _ _\n", "separated by blanks"),
        ("A dog.\n", "text that is not in columns can only be parsed, with --text"),
        ("1\ta" + "\t_" * 8 + "\n\n\ufeff# x\n1\ta" + "\t_" * 8 + "\n", "line 3, .*byte order mark"),
        ("# a\r1\ta\r\r", "file, line 1: lines end with CR"),
        ("1\ta" + "\t_" * 8 + "\n1\ta" + "\t_" * 8 + "\n", "line 2, .*word 1 where word 2 is expected.*put an empty line"),
        ("1\ta" + "\t_" * 8 + "\n1-2\ta" + "\t_" * 8 + "\n", "line 2, .*token 1-2 before word 2.*put an empty line"),
        (
            "1\ta" + "\t_" * 8 + "\n\n2\ta" + "\t_" * 8 + "\n",
            "line 3, .*word 2 where word 1 .*remove the empty line",
        ),
        ("1\ta" + "\t_" * 8 + "\t\n", "11 columns .*ends with a tab; remove it"),
        ("\t".join(COLUMN_NAMES) + "\n", "'ID' is not an id; remove the line with the names"),
        ("\ufeff\ufeff1\ta" + "\t_" * 8 + "\n", "is not an id; remove the byte order mark"),
        ("2-1\ta" + "\t_" * 8 + "\n", "multiword token 2-1 ends before it begins"),
    ],
)
def test_what_is_something_else_is_named_with_the_way_out(text, message):
    with pytest.raises(ConlluError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\ta".encode("utf-16"), "UTF-16"),
        ("1\ta".encode("utf-16-be"), "UTF-16"),
        ("1\ta".encode("utf-32"), "UTF-32"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<!doctype HTML>\n", "web page"),
        (b'<?xml version="1.0"?>\n<corpus/>\n', "this is XML; convert it to CoNLL-U"),
        (b"%PDF-1.4\n%\xe2\xe3\n", "this is a PDF, not text"),
        (b"\x1f\x8b\x08", r"gzip.*\.gz"),
        (bz2.compress(b"a"), r"bzip2.*\.bz2"),
        (bz2.compress(b""), r"bzip2.*\.bz2"),
    ],
)
def test_files_that_are_no_text_are_named(content, message, tmp_path):
    (tmp_path / "file.conllu").write_bytes(content)
    with open_input(tmp_path / "file.conllu") as stream, pytest.raises(ConlluError, match=message):
        stream.read()


@pytest.mark.parametrize("content", [b"Bzh eo anv berr Breizh.\n", b"BZh eo anv berr Breizh.\n", b"pk\x03\x04"])
def test_text_that_begins_like_a_compressed_file_is_read(content, tmp_path):
    (tmp_path / "file.txt").write_bytes(content)
    with open_input(tmp_path / "file.txt") as stream:
        assert stream.read() == content


def test_where_an_empty_line_is_missing_the_message_says_so():
    word = "\ta" + "\t_" * 8 + "\n"
    for text in (f"1{word}2{word}# 2\n1{word}", f"1{word}1-2{word}1{word}2{word}", f"1{word}0.1{word}1{word}"):
        (sentence,) = read(text, strict=False)
        assert len(sentence) == 0
        assert str(sentence.error).endswith("or put an empty line before it if a sentence begins here")
