"""Vectors trained and read, unknown forms, and the vocabularies around them."""

import bz2
import gzip
import lzma
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import save_facebook_model

from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, UNKNOWN, Vocabulary
from parser.data.word_vectors import VectorFileError, VectorTraining, WordVectors
from tests.forked import new_python

SENTENCES = [
    ["the", "cat", "sees", "the", "dog"],
    ["the", "dog", "sleeps"],
    ["a", "cat", "sees"],
] * 5 + [["hapax", "legomenon"]]


@pytest.mark.posix
def test_vectors_are_the_same_in_every_process_and_a_user_without_a_home_folder_can_train_them():
    code = f"""
import os, pwd
from parser.data.word_vectors import VectorTraining, WordVectors
def unknown(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown
del os.environ["HOME"]
print(WordVectors.train({SENTENCES!r}, VectorTraining(10), 3).matrix.tobytes().hex())
"""
    one, other = (
        WordVectors.train(SENTENCES, VectorTraining(10), seed).matrix.tobytes().hex()
        for seed in (3, 4)
    )
    assert new_python(code).strip() == one != other


def test_rows_of_what_is_reserved_unknown_and_rare():
    vectors = WordVectors.train(SENTENCES, VectorTraining(10, min_count=1), 0)
    assert vectors.matrix.shape == (len(vectors.vocabulary), 10)
    assert not vectors.matrix[[ABSENT, ROOT]].any()
    rare = vectors.vocabulary.encode(["hapax", "legomenon"])
    np.testing.assert_allclose(vectors.matrix[UNKNOWN], vectors.matrix[rare].mean(axis=0))
    without_rare = WordVectors.train(SENTENCES, VectorTraining(10, min_count=2), 0)
    assert without_rare.vocabulary.encode(["hapax", "never seen", "cat"])[:2] == [UNKNOWN, UNKNOWN]
    assert without_rare.matrix[UNKNOWN].any()


def test_a_treebank_without_any_repetition_is_no_error(caplog):
    vectors = WordVectors.train([["one", "two"], ["three"]], VectorTraining(4, min_count=2), 0)
    assert sorted(vectors.vocabulary.symbols) == ["one", "three", "two"]
    assert "vectors.min_count=1" in caplog.text


def word2vec_file(path: Path, binary: bool, words: str = "un deux") -> bytes:
    """Write a file of vectors of three numbers: 1, 2, 3 for the first word, and so on."""
    names = words.split()
    keyed = KeyedVectors(vector_size=3)
    keyed.add_vectors(names, np.arange(1, 3 * len(names) + 1, dtype=np.float32).reshape(-1, 3))
    keyed.save_word2vec_format(str(path), binary=binary)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "binary"), [("v.txt", False), ("v.bin", True), ("v.vec", True), ("v.bin", False)]
)
def test_files_in_word2vec_formats_even_under_each_others_names(tmp_path, name, binary):
    word2vec_file(tmp_path / name, binary)
    vectors = WordVectors.read(tmp_path / name)
    assert vectors.vocabulary.symbols == ["un", "deux"]
    np.testing.assert_array_equal(vectors.matrix[N_RESERVED:], [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(vectors.matrix[UNKNOWN], [2.5, 3.5, 4.5])


def test_a_part_of_a_file(tmp_path):
    path = tmp_path / "v.vec"
    word2vec_file(path, False, "un deux trois")
    assert WordVectors.read(path, limit=2).vocabulary.symbols == ["un", "deux"]
    wanted = WordVectors.read(path, wanted={"trois", "un", "quatre"})
    assert wanted.vocabulary.symbols == ["un", "trois"]
    np.testing.assert_array_equal(wanted.matrix[N_RESERVED:], [[1, 2, 3], [7, 8, 9]])
    # that of all rare ones, wanted or not
    np.testing.assert_array_equal(wanted.matrix[UNKNOWN], [4, 5, 6])
    with pytest.raises(ValueError, match="none of its forms"):
        WordVectors.read(path, wanted={"quatre"})


def test_the_number_in_the_first_line_of_a_text_is_that_of_its_vectors_as_far_as_they_are_read(
    tmp_path,
):
    rows = b"un 1 2 3\ndeux 4 5 6\n"
    for limit, said in ((None, "there are 2;"), (3, "there are 2;"), (10, "there are 2;")):
        refused(
            tmp_path / "v.vec",
            b"4 3\n" + rows,
            f"says 4 vectors of 3 numbers, but {said}",
            limit=limit,
        )
    for limit, said in ((None, "there are 2;"), (2, "there are at least 2;"), (3, "there are 2;")):
        refused(
            tmp_path / "v.vec",
            b"1 3\n" + rows,
            f"says 1 vector of 3 numbers, but {said}",
            limit=limit,
        )
    for count in (1, 2, 9):
        (tmp_path / "v.vec").write_bytes(b"%d 3\n" % count + rows)
        assert WordVectors.read(tmp_path / "v.vec", limit=1).vocabulary.symbols == ["un"]


@pytest.mark.usefixtures("fasttext_file")
def test_binary_files_of_fasttext_make_vectors_of_characters(tmp_path, fasttext):
    found = WordVectors.read(tmp_path / "v.bin", wanted={"cat", "catalogue"})
    assert found.vocabulary.symbols == ["cat", "catalogue"]
    np.testing.assert_allclose(
        found.matrix[N_RESERVED:], [fasttext.wv["cat"], fasttext.wv["catalogue"]], rtol=1e-5
    )
    assert WordVectors.read(tmp_path / "v.bin").vocabulary.symbols == list(fasttext.wv.index_to_key)


@pytest.mark.parametrize("name", ["v.vec", "v.bin"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 2\nun 1 2\n".encode("utf-16"), "UTF-16"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<!DOCTYPE html>\n", "web page"),
        (gzip.compress(b"1 2\nun 1 2\n", mtime=0), r"gzip.*\.gz"),
    ],
)
def test_what_is_certainly_something_else_is_named(tmp_path, name, content, message):
    refused(tmp_path / name, content, message)


@pytest.fixture(scope="module")
def fasttext() -> FastText:
    return FastText(SENTENCES, vector_size=4, min_count=2, epochs=1, bucket=50, seed=1, workers=1)


@pytest.fixture
def fasttext_file(fasttext, tmp_path) -> bytes:
    save_facebook_model(fasttext, str(tmp_path / "v.bin"))
    return (tmp_path / "v.bin").read_bytes()


def refused(path: Path, content: bytes, message: str, **options) -> None:
    path.write_bytes(content)
    with pytest.raises(VectorFileError, match=message) as raised:
        WordVectors.read(path, **options)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize("binary", [False, True])
def test_damaged_files_of_word2vec(tmp_path, binary):
    path = tmp_path / ("v.bin" if binary else "v.txt")
    content = word2vec_file(path, binary)
    row = content[len(b"2 3\n") :]
    refused(
        path,
        content[:-10],
        f"says 2 vectors of 3 numbers, but {'word 2' if binary else 'line 3'} has not",
    )
    refused(path, b"3 3\n" + row, "says 3 vectors of 3 numbers, but")
    for limit in (3, 10):
        refused(path, b"3 3\n" + row, "says 3 vectors of 3 numbers, but", limit=limit)
    # more are neither read nor counted
    assert WordVectors.read(path, limit=2).vocabulary.symbols == ["un", "deux"]
    refused(path, b"2 4\n" + row, "says 2 vectors of 4 numbers, but")
    for limit in (None, 10**6):
        refused(
            path,
            b"999999999999 300\n" + row,
            "says 999,999,999,999 vectors of 300 numbers, but",
            limit=limit,
        )
    refused(path, b"300 10\n", "says 300 vectors of 10 numbers, but no vectors follow; .*fetch")
    refused(path, b"300 10\n\n" + row, "but line 2 is blank")
    refused(path, b"-1 3\n" + row, "does not begin with a line 'COUNT DIMENSIONS'")
    zipped = path.with_name(f"{path.name}.gz")
    for damaged in (
        gzip.compress(content)[:-12],
        b"no gzip",
        gzip.compress(content)[:30] + b"\0" * 20,
    ):
        refused(zipped, damaged, "damaged or cut off")
    zipped.write_bytes(gzip.compress(content))
    assert WordVectors.read(zipped).vocabulary.symbols == ["un", "deux"]


def test_of_many_bad_lines_the_first_is_named(tmp_path):
    lines = [f"w{number} 0.{number} 1.5\n" for number in range(300)]
    first, path = "300 2\n", tmp_path / "v.vec"
    commas = [line.replace(".", ",") for line in lines]
    refused(
        path, (first + "".join(commas)).encode(), "but line 2 has not, nor have 299 after .*decimal"
    )
    some = first + "".join(lines[:200] + commas[200:])
    refused(path, some.encode(), "but line 202 has not, nor have 99 after it")
    cut = first + "".join(lines)[:-5]
    refused(path, cut.encode(), "but line 301 has not; it is damaged or cut off")
    latin = b"".join(line.encode().replace(b"w", b"\xe9") for line in lines[1:])
    refused(path, (first + lines[0]).encode() + latin, "but line 3 is not UTF-8")


@pytest.mark.parametrize("binary", [False, True])
def test_words_that_come_again_and_bytes_that_are_no_text_are_left_out_and_counted(
    tmp_path, binary, caplog
):
    path = tmp_path / ("v.bin" if binary else "v.vec")
    content = word2vec_file(path, binary, "un deux dex trois quatre")
    path.write_bytes(content.replace(b"dex", b"d\xffx").replace(b"trois", b"un"))
    vectors = WordVectors.read(path)
    assert vectors.vocabulary.symbols == ["un", "deux", "quatre"]
    np.testing.assert_array_equal(vectors.matrix[N_RESERVED:], [[1, 2, 3], [4, 5, 6], [13, 14, 15]])
    assert "repeated words were left out" in caplog.text
    assert "left out (1" in caplog.text


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zip"])
@pytest.mark.parametrize("beginning", ["", "\ufeff", "4 3\n", "\ufeff4 3\n"])
def test_text_with_and_without_a_first_line_compressed_or_not(tmp_path, suffix, beginning):
    content = f"{beginning}un 1 2 3\ndeux 4 5 6 \n. . . 7 8 9\nd\u00e9j\u00e0 vu 1 1 1\n".encode()
    path = tmp_path / f"v.vec{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("v.vec", content)
    else:
        path.write_bytes(
            {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}.get(suffix, bytes)(
                content
            )
        )
    vectors = WordVectors.read(path)
    assert vectors.vocabulary.symbols == ["un", "deux", ". . .", "d\u00e9j\u00e0 vu"]
    np.testing.assert_array_equal(
        vectors.matrix[N_RESERVED:], [[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1]]
    )


def test_what_is_no_file_of_vectors_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        WordVectors.read(tmp_path / "nowhere.txt")
    refused(tmp_path / "poem.txt", b"The woods are lovely,\n", "not a text file of word vectors")
    refused(tmp_path / "v.kv", b"", "save_word2vec_format")
    content = word2vec_file(tmp_path / "v.txt", binary=False)
    for number in (b"nan", b"inf"):
        refused(
            tmp_path / "v.txt",
            content.replace(b"5.0", number),
            "the vector of 'deux' holds NaN or infinity",
        )
    refused(tmp_path / "v.txt", b"1" + content[1:], "but there are 2")
    for length in (b"9" * 13, b"9" * 30):
        refused(
            tmp_path / "v.txt",
            b"1 " + length + b"\na \0\1\2\3",
            "numbers a vector; correct it, or fetch it",
        )
    refused(
        tmp_path / "v.txt", b"2 2" + content[3:], "says 2 vectors of 2 numbers, but line 2 has 3"
    )


def test_damaged_files_of_fasttext(tmp_path, fasttext_file):
    path = tmp_path / "v.bin"
    for size in (5, 40, 100, 110, 200, 700):
        refused(path, fasttext_file[:size], "fetch it again|Fetch it again")
    labels, size = 8 + 56 + 8, 8 + 56
    for at, value, message in (
        (labels, 2, "of word vectors"),
        (size, 2**30, "ends among its words"),
        (8, 7, "cannot be read"),
    ):
        refused(
            path,
            fasttext_file[:at] + value.to_bytes(4, "little") + fasttext_file[at + 4 :],
            message,
        )
    refused(tmp_path / "v.bin.gz", gzip.compress(fasttext_file), "uncompress it first")
    first = fasttext_file.index(struct.pack("<?2q", False, 50 + fasttext_file[size], 4)) + 17
    refused(
        path,
        fasttext_file[:first] + struct.pack("<f", np.nan) + fasttext_file[first + 4 :],
        "holds NaN",
    )


def test_vocabularies_put_the_frequent_first_and_know_their_unknowns():
    vocabulary = Vocabulary.of(["b", "a", "c", "b", "c"])
    assert vocabulary.symbols == ["b", "c", "a"]
    assert vocabulary.encode(["a", "x", "b"]) == [N_RESERVED + 2, UNKNOWN, N_RESERVED]
    assert len(vocabulary) == N_RESERVED + 3
    with pytest.raises(ValueError, match="'a' twice"):
        Vocabulary(["a", "a"])
