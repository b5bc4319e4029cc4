"""Attributes whose values are sets."""

import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Elements, SetVocabulary, Vocabulary, vocabulary_for

FEATS = ["_", "Case=Nom|Number=Sing", "Case=Acc|Number=Sing", "Case=Nom|Number=Plur|Person=3"]

sets = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True).map("|".join)


def test_only_attributes_with_elements_have_set_vocabularies_which_are_not_empty():
    assert isinstance(vocabulary_for("feats_pairs", FEATS), SetVocabulary)
    assert type(vocabulary_for("feats", FEATS)) is Vocabulary
    with pytest.raises(ValueError, match="at least one value"):
        vocabulary_for("feats_pairs", [])


def test_known_values_keep_their_numbers_and_unknown_ones_get_that_of_the_most_similar():
    vocabulary = vocabulary_for("feats_pairs", FEATS)
    assert vocabulary.encode(FEATS) == [N_RESERVED + i for i in range(4)]
    assert vocabulary.encode(["Number=Sing", "Case=Nom|Person=3|Number=Plur|Tense=Past"]) == [
        N_RESERVED + 1,
        N_RESERVED + 3,
    ]
    # nothing in common with any: the most frequent one
    assert vocabulary.encode(["Gender=Fem"]) == [N_RESERVED]


def test_no_set_of_a_value_is_made_for_each_known_one():
    """A value of 150,000 elements took 3 s: as many unions of so many elements as there are known
    values.
    """
    elements = [str(number) for number in range(50_000)]
    vocabulary = SetVocabulary(["a", "b"], lambda text: elements if text == "long" else [text])
    tracemalloc.start()
    try:
        vocabulary.encode(["long"])
        assert tracemalloc.get_traced_memory()[1] < 1.5 * sys.getsizeof(frozenset(elements))
    finally:
        tracemalloc.stop()


def test_memory_for_unknown_values_is_bounded_in_bytes():
    vocabulary = vocabulary_for("feats_pairs", FEATS)
    tracemalloc.start()
    try:
        for number in range(40):
            vocabulary.encode([f"Case=Nom|{number}" + "x" * 2**20])
        assert tracemalloc.get_traced_memory()[0] < 10 * 2**20
    finally:
        tracemalloc.stop()
    assert vocabulary.encode([f"Case=Nom|{'x' * 2**24}"]) == vocabulary.encode(
        ["Case=Nom|0" + "x" * 2**20]
    )


@given(st.lists(sets, min_size=1, unique=True), st.lists(sets))
def test_values_with_an_element_that_no_known_value_has_are_told_from_others(known, values):
    vocabulary = SetVocabulary(known, lambda text: text.split("|"))
    elements = {element for symbol in known for element in symbol.split("|")}
    expected = [not set(value.split("|")) <= elements for value in values]
    assert vocabulary.have_unseen(values) == expected
    vocabularies = Vocabularies({"feats_pairs": vocabulary, "upos": Vocabulary(["a"])})
    encoded = vocabularies.encode([sentence_of(values), sentence_of(values[:1])])
    assert vocabularies.unknown_counts(encoded)["feats_pairs"] == sum(expected) + sum(expected[:1])
    for part in (encoded.span(1, 2), encoded.take(np.array([1]))):
        assert vocabularies.unknown_counts(part) == {
            "feats_pairs": sum(expected[:1]),
            "upos": len(values[:1]),
        }
    assert vocabularies.unknown_counts(encoded, [len(values), 0])["feats_pairs"] == sum(
        expected[-1:]
    )


def sentence_of(feats: list[str]) -> SimpleNamespace:
    empty = ["_"] * len(feats)
    return SimpleNamespace(forms=empty, lemmas=empty, upos=empty, xpos=empty, feats=feats)


@given(st.lists(sets, min_size=1, unique=True), sets)
def test_no_known_set_is_more_similar(known, value):
    vocabulary = SetVocabulary(known, lambda text: text.split("|"))
    found = known[vocabulary.encode([value])[0] - N_RESERVED]

    def likeness(a: str, b: str) -> float:
        return len(set(a.split("|")) & set(b.split("|"))) / len(
            set(a.split("|")) | set(b.split("|"))
        )

    assert likeness(found, value) == max(likeness(symbol, value) for symbol in known)


@given(st.lists(sets, min_size=1, unique=True))
def test_every_value_has_its_elements_and_every_reserved_value_one_of_its_own(known):
    vocabulary = SetVocabulary(known, lambda text: text.split("|"))
    elements = Elements.of(vocabulary)
    pairs = list(zip(elements.values, elements.elements, strict=True))
    of_value = {v: [e for w, e in pairs if w == v] for v in range(len(vocabulary))}
    assert [of_value[v] for v in range(N_RESERVED)] == [[v] for v in range(N_RESERVED)]
    names: dict[int, str] = {}
    for number, symbol in enumerate(known, N_RESERVED):
        assert len(of_value[number]) == len(symbol.split("|"))
        for element, name in zip(of_value[number], symbol.split("|"), strict=True):
            assert names.setdefault(element, name) == name
            assert N_RESERVED <= element < elements.n_elements
