"""What is no CoNLL-U at all is called by its name, with the way out."""

import bz2
from io import BytesIO

import pytest

from parser.conllu.checks import COLUMN_NAMES, ConlluError
from parser.conllu.files import open_input
from parser.conllu.formats import is_conllu
from parser.conllu.stream import read_raw_sentences


def read(text: str, **options):
    return list(read_raw_sentences(BytesIO(text.encode()), "file", **options))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\t*\n", "11 columns .*CoNLL-U Plus.*: cut -f1-10"),
        ("1\ta" + "\t_" * 12 + "\n", "14 columns .*CoNLL-2009"),
        (
            "1 the\t_\tDET" + "\t_" * 6 + "\n",
            "9 columns .*: some seem to be separated by spaces; separate them by tabs",
        ),
        ("1\tthe _ DET _ _ 2 det _ _\n", "2 columns .*: some seem to be separated by spaces"),
        ("1\ta b\t_\tX _" + "\t_" * 5 + "\n", "9 columns .*: some seem to be separated by spaces"),
        ("1\tthis is a plain text that has a tab\n", "2 columns .*write _ in an empty one"),
        ("1\ta" + "\t_" * 7 + "\n", "9 columns .*write _ in an empty one"),
        ("A dog.\n", "plain text can only be parsed: optimal-step parse --text"),
        (
            "1\ta" + "\t_" * 8 + "\n\n\ufeff# x\n1\ta" + "\t_" * 8 + "\n",
            "line 3, .*byte order mark",
        ),
        ("# a\r1\ta\r\r", "file, line 1: lines end with CR"),
        (
            "1\ta" + "\t_" * 8 + "\n1\ta" + "\t_" * 8 + "\n",
            "line 2, .*word 1 where word 2 is expected.*put an empty line",
        ),
        (
            "1\ta" + "\t_" * 8 + "\n1-2\ta" + "\t_" * 8 + "\n",
            "line 2, .*token 1-2 before word 2.*put an empty line",
        ),
        (
            "1\ta" + "\t_" * 8 + "\n\n2\ta" + "\t_" * 8 + "\n",
            "line 3, .*word 2 where word 1 .*remove the empty line",
        ),
        ("1\ta" + "\t_" * 8 + "\t\n", "11 columns .*ends with a tab; remove it"),
        ("\t".join(COLUMN_NAMES) + "\n", "'ID' is not an id; remove the line with the names"),
        ("\ufeff\ufeff1\ta" + "\t_" * 8 + "\n", "is not an id; remove the byte order mark"),
    ],
)
def test_what_is_something_else_is_named_with_the_way_out(text, message):
    with pytest.raises(ConlluError, match=message):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "1\ta" + "\t_" * 8 + "\n",
        "\ufeff\r\n# sent_id = 1\r\n# text = a\r\n1-2\tab" + "\t_" * 8 + "\r\n",
        "0.1\ta" + "\t_" * 8 + "\n",
        "1 a _ NOUN _ _ 0 root _ _\n",
        "1\ta" + "\t_" * 12 + "\n",
    ],
)
def test_conllu_is_known_by_its_first_word(text):
    assert is_conllu(text)
    assert not is_conllu(f"Some text.\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a\n",
        "1 of the 3 dogs barks at the old man\n",
        "1\tThe dog barks.\n",
        "1. A dog _ _ barks.\n",
    ],
)
def test_text_is_not_conllu(text):
    assert not is_conllu(text)


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


@pytest.mark.parametrize(
    "content", [b"Bzh eo anv berr Breizh.\n", b"BZh eo anv berr Breizh.\n", b"pk\x03\x04"]
)
def test_text_that_begins_like_a_compressed_file_is_read(content, tmp_path):
    (tmp_path / "file.txt").write_bytes(content)
    with open_input(tmp_path / "file.txt") as stream:
        assert stream.read() == content


def test_where_an_empty_line_is_missing_the_message_says_so():
    word = "\ta" + "\t_" * 8 + "\n"
    for text in (
        f"1{word}2{word}# 2\n1{word}",
        f"1{word}1-2{word}1{word}2{word}",
        f"1{word}0.1{word}1{word}",
    ):
        (sentence,) = read(text, strict=False)
        assert len(sentence) == 0
        assert str(sentence.error).endswith(
            "or put an empty line before it if a sentence begins here"
        )
