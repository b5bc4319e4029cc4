"""The attributes of words that a model can read: the column that each is read from,
and the function that is applied to its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from oracles.errors import OptimalStepError, did_you_mean
from parser.conllu.checks import FEATS, FORM, LEMMA, UPOS, XPOS


class AttributeColumns(Protocol):
    """The columns of a sentence's words 1..n that attributes are read from."""

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]


# The number of each of these columns among the ten columns of CoNLL-U.
COLUMN_NUMBERS = {"forms": FORM, "lemmas": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}


@dataclass(frozen=True)
class Attribute:
    """An attribute of words: the value of one ``column`` of AttributeColumns,
    or what ``function`` makes of this value.
    """

    column: str
    function: Callable[[str], str] | None = None


# The column with the number of lattice nodes that a word advances by, as text.
# Words outside lattices advance by one.
LENGTHS = "lengths"

# The treebank of a sentence, in a model of several treebanks.
TREEBANK = "treebank"

# The embedding of the pieces of forms; see parts/subwords.py.
SUBWORDS = "subwords"

# "lower" ignores case, as word vectors often do. Affixes are from the form in lower case;
# a shorter form is its own affix.
ATTRIBUTES = {
    "form": Attribute("forms"),
    "lower": Attribute("forms", str.lower),
    "prefix2": Attribute("forms", lambda form: form[:2].lower()),
    "suffix2": Attribute("forms", lambda form: form[-2:].lower()),
    "suffix3": Attribute("forms", lambda form: form[-3:].lower()),
    "suffix4": Attribute("forms", lambda form: form[-4:].lower()),
    "lemma": Attribute("lemmas", str.lower),
    "upos": Attribute("upos"),
    "xpos": Attribute("xpos"),
    "feats": Attribute("feats"),
    "feats_pairs": Attribute("feats"),
    "length": Attribute(LENGTHS),
    TREEBANK: Attribute(TREEBANK),
}

# Attributes whose values are sets, such as FEATS: "Case=Nom|Number=Sing" has two elements. A value
# is embedded as the sum of its elements' vectors, so that values which differ in one element are
# similar.
ELEMENTS = {"feats_pairs": lambda feats: feats.split("|")}

# The columns that a tagger can predict, and the attribute that has the same values.
TAGS = {"upos": "upos", "xpos": "xpos", "feats": "feats_pairs"}

# The columns that a model can predict besides head and relation: by name (also in metrics.json),
# the number of the column.
PREDICTED = {"lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}


# The values of attributes, in messages for people.
_VALUES = {
    "form": "the words",
    "lower": "the words in lower case",
    "prefix2": "the beginnings of two letters",
    **{
        f"suffix{n}": f"the endings of {written} letters"
        for n, written in ((2, "two"), (3, "three"), (4, "four"))
    },
    "lemma": "the lemmas",
    **{name: f"the values of {name.upper()}" for name in ("upos", "xpos", "feats")},
    "feats_pairs": "the features in FEATS",
    "length": "the lengths",
    "treebank": "the treebanks",
}


def never_seen(counts: Mapping[str, int], words: int) -> str:
    """Return a line for people: the shares of ``words`` whose values of attributes were never seen
    in training; empty if there are no attributes.
    """
    shares = [
        f"{100 * count / max(1, words):.2f}% of {_VALUES.get(name, name)}"
        for name, count in counts.items()
    ]
    return f"never seen in training: {', '.join(shares)}" if shares else ""


def attribute_values(
    sentences: Iterable[AttributeColumns], attribute: str, treebank: str = ""
) -> list[list[str]]:
    """Return the values of an attribute, a list per sentence;
    ``treebank`` is the default for sentences without one.

    Raises:
        OptimalStepError: the attribute is not in ATTRIBUTES.
    """
    if attribute not in ATTRIBUTES:
        near = did_you_mean(attribute, ATTRIBUTES)
        raise OptimalStepError(
            f"unknown attribute {attribute!r}{near}; known: {', '.join(ATTRIBUTES)}"
        )
    column, function = ATTRIBUTES[attribute].column, ATTRIBUTES[attribute].function
    if column == LENGTHS:
        return [
            getattr(sentence, LENGTHS, None) or ["1"] * len(sentence.forms)
            for sentence in sentences
        ]
    if column == TREEBANK:
        return [
            [getattr(sentence, TREEBANK, None) or treebank] * len(sentence.forms)
            for sentence in sentences
        ]
    columns = [getattr(sentence, column) for sentence in sentences]
    return (
        columns
        if function is None
        else [[function(value) for value in values] for values in columns]
    )
