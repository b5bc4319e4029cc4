"""Input without the columns that a model reads is refused before anything is parsed,
and no other input is.
"""

import io

import pytest

from parser.conllu.chunks import read_chunks
from parser.data.vocabulary import Vocabulary
from parser.decoding.files.missing_columns import MissingColumnsError, refuse_missing_columns
from tests.odd_files import line

MODEL = {"form": Vocabulary(["a"]), "upos": Vocabulary(["X"]), "feats": Vocabulary(["_", "F=a"])}


def passed(content: bytes, size: int = 1000, model: dict[str, Vocabulary] = MODEL) -> bytes:
    """Return what is not refused of a file that is read in chunks of this size."""
    return b"".join(
        chunk.content
        for chunk in refuse_missing_columns(read_chunks(io.BytesIO(content), size), model, "file")
    )


def words(n: int, upos: str = "X", feats: str = "F=a", form: str = "a") -> bytes:
    return b"".join(line(1, form, "_", upos, "_", feats) + b"\n" for _ in range(n))


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (words(1, upos="_"), "UPOS is"),
        (b"# a comment\n0.1" + line(1, "e", "_", "X")[1:] + words(1, upos="_"), "UPOS is"),
        (words(2000, feats="_"), "FEATS is"),
        (words(100, feats="_"), "FEATS is"),
        (words(100, form="_"), "FORM is"),
        (words(500, feats="_", upos="_"), "UPOS and FEATS are"),
    ],
)
def test_what_is_refused(content, columns):
    with pytest.raises(MissingColumnsError, match=rf"file: {columns} _ .* --allow-missing-columns"):
        passed(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# only a comment\n\n",
        b"prose\n",
        words(99, feats="_"),  # so it may be in a text of a few words
        words(1, form="_"),  # an underscore
        words(999, feats="_", upos="_") + words(1),
        words(1, upos="_") + words(1),
    ],
)
@pytest.mark.parametrize("size", [1, 10**6])
def test_what_is_not_refused_passes_unchanged(content, size):
    assert passed(content, size) == content


@pytest.mark.parametrize(
    ("content", "values", "told"),
    [
        (words(99, feats="_"), 30, True),
        (words(3, feats="_"), 30, True),
        (words(2, feats="_"), 30, False),  # "Yes ."
        (words(99, feats="_"), 3, False),  # where few words have any
        (words(98, feats="_") + words(1), 30, False),
    ],
)
def test_of_few_words_a_column_may_be_missing_as_is_told_once(content, values, told, caplog):
    model = MODEL | {"feats": Vocabulary(["_", *(f"F={number}" for number in range(values))])}
    for _ in range(2):
        assert passed(content, model=model) == content
    assert len(caplog.records) == told
    assert all("file: FEATS may be missing: all of the" in text for text in caplog.messages)


def test_no_more_is_read_than_is_looked_at():
    stream = io.BytesIO(words(1) + words(100_000, upos="_"))
    next(refuse_missing_columns(read_chunks(stream, 100), MODEL, "file"))
    assert stream.tell() <= 200


def test_what_one_of_several_treebanks_lacks_is_not_missing():
    several = MODEL | {"treebank": Vocabulary(["hu", "da"])}
    assert passed(words(2000, feats="_"), model=several) == words(2000, feats="_")
    with pytest.raises(MissingColumnsError, match="file: UPOS is _"):
        passed(words(500, feats="_", upos="_"), model=several)
