"""Characters of forms as rows of numbers."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.data.parts.characters import Characters
from parser.data.tasks.tags import TagTask
from parser.data.tasks.task import numbers_of_columns
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, UNKNOWN, Vocabulary
from parser.network_spec import CharacterSpec
from tests.toy import sentence

FORMS = st.lists(st.text("abcé\ud800", max_size=9), min_size=1, max_size=5)


def one_by_one(characters: Characters, form: str) -> list[int]:
    """Return the numbers of a form, padded."""
    if len(form) > characters.rows:
        first = characters.rows // 2
        form = form[:first] + form[-(characters.rows - first) :]
    numbers = [
        N_RESERVED + characters.symbols.index(c) if c in characters.symbols else UNKNOWN
        for c in form
    ] or [UNKNOWN]
    return numbers + [ABSENT] * (characters.rows - len(numbers))


@given(st.lists(FORMS, max_size=4), st.integers(1, 7))
def test_forms_are_encoded_one_by_one(sentences, longest):
    characters = Characters(["b", "a", "é"], longest)
    found = characters.encode_forms(sentences).T.tolist()
    root = [ROOT] + [ABSENT] * (longest - 1)
    assert found == [
        row
        for forms in sentences
        for row in [root, *(one_by_one(characters, form) for form in forms)]
    ]


def test_characters_seen_once_are_unknown():
    wanted = SimpleNamespace(
        similar=False,
        spec=SimpleNamespace(encoder=SimpleNamespace(characters=CharacterSpec(2, 2, longest=3))),
    )
    made = Characters.new(
        wanted, [SimpleNamespace(forms=["ab", "ba"]), SimpleNamespace(forms=["bc"])]
    )
    assert made.symbols == ["b", "a"]
    assert made.rows == 3


@pytest.mark.parametrize("symbols", [["a", "a"], ["ab"], [""]])
def test_what_is_no_alphabet(symbols):
    with pytest.raises(ValueError, match=r"twice|not one character"):
        Characters(symbols, 3)


def test_vocabularies_put_them_behind_the_attributes():
    read, other = sentence([0, 1]), sentence([0])
    read.forms, other.forms = ["aa", "B"], ["b"]
    attributes = {"form": Vocabulary(["b"]), "lower": Vocabulary(["aa", "b"])}
    vocabularies = Vocabularies(
        attributes, [Characters(["a"], 3)], [TagTask({"upos": Vocabulary([read.upos[0]])})]
    )
    encoded = vocabularies.encode([read, other])
    assert (encoded.offsets.tolist(), encoded.lengths.tolist()) == ([0, 3, 5], [2, 1])
    assert vocabularies.n_rows == len(encoded.values) == 5
    assert encoded.values[0].tolist() == [ROOT, UNKNOWN, UNKNOWN, ROOT, N_RESERVED]
    assert encoded.values[1].tolist() == [ROOT, N_RESERVED, N_RESERVED + 1, ROOT, N_RESERVED + 1]
    assert encoded.values[2:].T.tolist() == [[1, 0, 0], [3, 3, 0], [2, 0, 0], [1, 0, 0], [2, 0, 0]]
    assert vocabularies.unknown_counts(encoded) == {"form": 2, "lower": 0}
    assert numbers_of_columns({"upos": [read.upos]}, vocabularies.tags)[0, :2].tolist() == [
        ROOT,
        N_RESERVED,
    ]
