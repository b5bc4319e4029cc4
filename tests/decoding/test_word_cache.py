"""The compiled lookup of words against Vocabularies, on the columns that conllu/stream.py reads;
also when it has to forget.
"""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.conllu.chunks import Chunk, find_words
from parser.conllu.stream import read_raw_sentences
from parser.data.attributes import ATTRIBUTES
from parser.data.parts.characters import Characters
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary, vocabulary_for
from parser.decoding.files import word_cache
from parser.decoding.files.file_parsing import RawColumns
from parser.decoding.files.word_cache import WordCache
from tests.odd_files import files, line

VOCABULARIES = Vocabularies(
    {name: vocabulary_for(name, ["_", "a", "\u00e9", "\udcc3", ""]) for name in ATTRIBUTES},
    [Characters(["a", "\u00e9"], 4)],
)


def words_of(content: bytes):
    words = find_words(Chunk(content, True))
    assert words is not None
    return words


def assert_encoded(cache: WordCache, content: bytes) -> None:
    found = cache.encode(words_of(content))
    sentences = [
        RawColumns(sentence)
        for sentence in read_raw_sentences(io.BytesIO(content))
        if len(sentence)
    ]
    expected = VOCABULARIES.encode(sentences)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.unseen, expected.unseen)
    np.testing.assert_array_equal(found.offsets, expected.offsets)


@given(
    st.lists(files(), max_size=4),
    st.sampled_from([{}, {"max_entries": 3}, {"max_bytes": 20}, {"max_entries": -1}]),
)
def test_it_encodes_as_the_vocabularies_do(contents, bounds):
    cache = WordCache(VOCABULARIES, **bounds)
    for content in contents:
        assert_encoded(cache, content)


@pytest.mark.parametrize("call", [1, 2, 4])
def test_what_could_not_be_encoded_is_not_taken_for_known(monkeypatch, call):
    """Of an error in the middle, such as of want of memory, the next chunk sees nothing."""
    content = b"".join(line(1, form, form, form, "_", form) + b"\n" for form in ("a", "b", "c"))
    cache, calls = WordCache(VOCABULARIES), []

    def failing(vocabularies, values, encode=word_cache._encode):
        calls.append(values)
        if len(calls) == call:
            raise MemoryError
        return encode(vocabularies, values)

    monkeypatch.setattr(word_cache, "_encode", failing)
    monkeypatch.setattr(
        word_cache, "longer", lambda array, size: np.full((len(array), size), 77, np.int32)
    )
    with pytest.raises(MemoryError):
        cache.encode(words_of(content))
    assert len(calls) == call
    monkeypatch.undo()
    assert_encoded(cache, content)


def test_many_entries():
    cache = WordCache(VOCABULARIES)
    for chunk in range(5):
        forms = [f"{'a' * (i % 3)}{i % (1000 * chunk + 7)}" for i in range(5000)]
        assert_encoded(cache, b"".join(line(1, form, "", "a", "a", "_") + b"\n" for form in forms))


def test_a_value_of_a_column_is_looked_up_once():
    class Counting(Vocabulary):
        def __init__(self, symbols):
            super().__init__(symbols)
            self.seen = []

        def encode(self, values):
            self.seen += values
            return super().encode(values)

    by_attribute = {name: Counting([]) for name in ("form", "suffix2", "upos")}
    cache = WordCache(Vocabularies(by_attribute))
    for upos in ("X", "Y", "X"):
        cache.encode(
            words_of(b"".join(line(word, "ab"[word % 2], "_", upos) for word in range(1, 100)))
        )
    assert {name: sorted(vocabulary.seen) for name, vocabulary in by_attribute.items()} == {
        "form": ["a", "b"],
        "suffix2": ["a", "b"],
        "upos": ["X", "Y"],
    }
