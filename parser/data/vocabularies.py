"""The vocabularies of a model, which make sentences into numbers: those of attributes, of sets, and of characters.

The numbers 0 to 2 are the same in all of them: ABSENT, ROOT, UNKNOWN.

The value of some attributes is a set of elements, such as FEATS as a set of Attribute=Value pairs. A set is embedded as the sum
of its elements' vectors, so that what is learned of ``Case=Nom`` serves every value that has it.

The characters of forms have as many rows as the longest form has that is read whole, and so have subwords (subwords.py). The
rows lie after those of the attributes in ``Sentences.values``, subwords first, so that all that cuts, caches and batches
sentences takes them along. The row of a character, or of a piece, is its place in the form; after the last one is ABSENT.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from parser.data.attributes import ATTRIBUTES, ELEMENTS, LENGTHS, SUBWORDS, TAGS, TREEBANK, AttributeColumns, attribute_values
from parser.data.sentences import Sentences

if TYPE_CHECKING:
    from parser.data.lemmas import Lemmas
    from parser.data.parts.pretrained import Pieces
    from parser.data.parts.subwords import Subwords

# Every vocabulary begins with these: no node at the position, the artificial root, a value that training never saw.
ABSENT, ROOT, UNKNOWN = range(3)
N_RESERVED = 3

# The relation that UD reserves for the child of the artificial root, and the one for relations that nobody can tell.
UD_ROOT, UD_UNSPECIFIED = "root", "dep"


class Vocabulary:
    """A numbering of strings; the reserved numbers come first, then ``symbols`` in their order."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = list(symbols)
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols, N_RESERVED)}
        if len(self._numbers) != len(self.symbols):
            repeated = next(symbol for symbol, times in Counter(self.symbols).items() if times > 1)
            raise ValueError(f"the vocabulary lists {repeated!r} twice")

    @classmethod
    def of(cls, values: Iterable[str]) -> Vocabulary:
        """All distinct values, the most frequent first, ties in alphabetical order."""
        counts = Counter(values)
        return cls(sorted(counts, key=lambda value: (-counts[value], value)))

    def extended(self, values: Iterable[str], min_count: int = 1) -> list[str]:
        """The symbols, and then those of the values that are new and there so often, the most frequent first."""
        counts = Counter(value for value in values if value not in self)
        new = [value for value, count in counts.items() if count >= min_count]
        return [*self.symbols, *sorted(new, key=lambda value: (-counts[value], value))]

    def __len__(self) -> int:
        """Reserved numbers included: the rows that a table indexed by this vocabulary must have."""
        return N_RESERVED + len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._numbers

    def encode(self, values: Iterable[str]) -> list[int]:
        """The numbers of the values, UNKNOWN for those that the vocabulary lacks."""
        return self.encode_exactly(values)

    def encode_exactly(self, values: Iterable[str]) -> list[int]:
        """The same where encode() would take one value for another."""
        get = self._numbers.get
        return [get(value, UNKNOWN) for value in values]


# Rarer characters are unknown ones, from which a model learns what to make of characters that training never saw.
_MIN_COUNT = 2


class Characters:
    """A vocabulary of characters.

    Args:
        symbols: the known characters.
        longest: of a longer form its first and its last characters are read, this many in all; affixes are at the ends.

    Raises:
        ValueError: a character is there twice, or one is not a single character.
    """

    def __init__(self, symbols: Iterable[str], longest: int) -> None:
        self.vocabulary = Vocabulary(symbols)
        if odd := [symbol for symbol in self.vocabulary.symbols if len(symbol) != 1]:
            raise ValueError(f"{odd[0][:20]!r} is not one character")
        self.longest = longest

    @classmethod
    def of(cls, forms: Iterable[str], longest: int) -> Characters:
        """Those that are seen at least twice in the forms, the most frequent first."""
        counts = Counter(chain.from_iterable(forms))
        known = [character for character, count in counts.items() if count >= _MIN_COUNT]
        return cls(sorted(known, key=lambda character: (-counts[character], character)), longest)

    def extended(self, forms: Iterable[str]) -> Characters:
        """With those that are new and seen at least twice in the forms."""
        return Characters(self.vocabulary.extended(chain.from_iterable(forms), _MIN_COUNT), self.longest)

    def __len__(self) -> int:
        """Reserved numbers included."""
        return len(self.vocabulary)

    @property
    def symbols(self) -> list[str]:
        """The known characters, in the order of their numbers."""
        return self.vocabulary.symbols

    def encode(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """int32[longest, tokens]: the characters of the forms of sentences, a root before each.

        A root has only the character ROOT, a form without characters has UNKNOWN.
        """
        return encode_parts(sentences, self.longest, lambda form: self.vocabulary.encode(self._ends(form)) or [UNKNOWN])

    def _ends(self, form: str) -> str:
        """The characters that are read."""
        if len(form) <= self.longest:
            return form
        first = self.longest // 2
        return form[:first] + form[len(form) - (self.longest - first) :]


def encode_parts(sentences: Sequence[Sequence[str]], longest: int, numbers_of: Callable[[str], list[int]]) -> np.ndarray:
    """int32[longest, tokens]: numbers of the parts of forms, a root before each sentence, which has only the number ROOT.

    Args:
        sentences: forms by sentence.
        longest: numbers of a form at most.
        numbers_of: the numbers of a form; asked once for each.
    """
    numbers: dict[str, list[int]] = {}
    rows = []
    for forms in sentences:
        rows.append([ROOT])
        for form in forms:
            if (known := numbers.get(form)) is None:
                known = numbers[form] = numbers_of(form)
            rows.append(known)
    encoded = np.full((len(rows), longest), ABSENT, np.int32)
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    encoded[np.arange(longest) < lengths[:, None]] = list(chain.from_iterable(rows))
    return np.ascontiguousarray(encoded.T)


# Bytes of the unknown values that a vocabulary remembers the most similar one of; bounds the memory of parsing a stream.
_REMEMBERED_BYTES = 8 * 2**20


class SetVocabulary(Vocabulary):
    """A vocabulary of sets. A set that it lacks is taken for the known one that is most like it.

    Args:
        symbols: the known values, the most frequent first.
        elements_of: the elements of a value.
    """

    def __init__(self, symbols: Iterable[str], elements_of: Callable[[str], list[str]]) -> None:
        super().__init__(symbols)
        if not self.symbols:
            raise ValueError("a vocabulary of sets has at least one value")
        self.elements_of = elements_of
        sets = [frozenset(elements_of(symbol)) for symbol in self.symbols]
        self._sizes = np.array([len(known) for known in sets])
        having: dict[str, list[int]] = {}
        for number, known in enumerate(sets):
            for element in known:
                having.setdefault(element, []).append(number)
        self._having = {element: np.array(numbers) for element, numbers in having.items()}  # the values with an element
        self._closest: dict[str, tuple[int, bool]] = {}  # and whether an element is unknown
        self._remembered_bytes = 0

    @cached_property
    def elements(self) -> Elements:
        """Which elements the values have."""
        return Elements.of(self)

    def encode(self, values: Iterable[str]) -> list[int]:
        """The numbers of the values; for unknown ones those of the most similar, the share of common elements deciding."""
        get = self._numbers.get
        return [number if (number := get(value)) is not None else self._most_similar(value)[0] for value in values]

    def have_unseen(self, values: Iterable[str]) -> list[bool]:
        """Of each value, whether it has an element that no known value has."""
        known = self._numbers
        return [value not in known and self._most_similar(value)[1] for value in values]

    def _most_similar(self, value: str) -> tuple[int, bool]:
        """The number of the most similar value; and whether this one has an element that no known value has."""
        if (found := self._closest.get(value)) is not None:
            return found
        wanted = frozenset(self.elements_of(value))
        having = [self._having[element] for element in wanted if element in self._having]
        common = np.bincount(np.concatenate(having), minlength=len(self._sizes)) if having else np.zeros(len(self._sizes))
        likeness = common / (len(wanted) + self._sizes - common)
        closest = N_RESERVED + int(np.argmax(likeness)), len(having) < len(wanted)  # the most frequent of the most similar
        size = sys.getsizeof(value)
        if self._remembered_bytes + size > _REMEMBERED_BYTES:
            self._closest.clear()
            self._remembered_bytes = 0
        if size <= _REMEMBERED_BYTES:
            self._closest[value] = closest
            self._remembered_bytes += size
        return closest


@dataclass(frozen=True)
class Elements:
    """Which elements the values of a vocabulary have, as pairs of numbers; each reserved value is an element of its own.

    Attributes:
        values: int64[pairs], the number of the value.
        elements: int64[pairs], the number of one of its elements.
        symbols: the elements besides the reserved ones, in the order of their numbers.
    """

    values: np.ndarray
    elements: np.ndarray
    symbols: list[str]

    @property
    def n_elements(self) -> int:
        """Elements in all."""
        return N_RESERVED + len(self.symbols)

    @classmethod
    def of(cls, vocabulary: SetVocabulary) -> Elements:
        """The elements of the values of a vocabulary."""
        sets = [vocabulary.elements_of(symbol) for symbol in vocabulary.symbols]
        numbering = Vocabulary.of(chain.from_iterable(sets))
        pairs = [(reserved, reserved) for reserved in range(N_RESERVED)]
        for number, elements in enumerate(sets, N_RESERVED):
            pairs += [(number, element) for element in numbering.encode(elements)]
        values, elements_of_pairs = np.array(pairs, np.int64).T
        return cls(values, elements_of_pairs, numbering.symbols)


def vocabulary_for(attribute: str, symbols: Iterable[str]) -> Vocabulary:
    """The vocabulary of an attribute with the given values: a SetVocabulary if they are sets.

    Raises:
        ValueError: unknown attribute, a value that is there twice, or no sets.
    """
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}; known: {', '.join(ATTRIBUTES)}")
    return SetVocabulary(symbols, ELEMENTS[attribute]) if attribute in ELEMENTS else Vocabulary(symbols)


def tag_vocabulary(column: str, symbols: Iterable[str]) -> Vocabulary:
    """The vocabulary of a column that a tagger predicts; of feats, a SetVocabulary.

    Raises:
        ValueError: no column that is predicted, a value that is there twice, or no value.
    """
    if column not in TAGS:
        raise ValueError(f"unknown column of tags {column!r}; known: {', '.join(TAGS)}")
    return vocabulary_for(TAGS[column], symbols)


_EVERYWHERE = slice(None)


class Vocabularies:
    """The vocabularies of all attributes, ``by_attribute`` in a fixed order.

    Args:
        by_attribute: what is read of a word.
        characters: those of forms, where they are read.
        tags: by column of gold data that a tagger predicts (upos, xpos, feats), its values; input need not have them.
        lemmas: what is known of lemmas, where they are predicted.
        subwords: those of forms, where they are read.
        pretrained: how a pretrained encoder segments forms, where there is one.

    Attributes:
        treebank: of a model of several treebanks, that which sentences are from that do not say theirs; at first the first one.
    """

    def __init__(
        self,
        by_attribute: dict[str, Vocabulary],
        characters: Characters | None = None,
        tags: dict[str, Vocabulary] | None = None,
        lemmas: Lemmas | None = None,
        subwords: Subwords | None = None,
        pretrained: Pieces | None = None,
    ) -> None:
        self.by_attribute = by_attribute
        self.characters = characters
        self.tags = tags or {}
        self.lemmas = lemmas
        self.subwords = subwords
        self.pretrained = pretrained
        self.treebank = next(iter(self.treebanks), "")

    @property
    def treebanks(self) -> list[str]:
        """The treebanks that the model tells apart."""
        return self.by_attribute[TREEBANK].symbols if TREEBANK in self.by_attribute else []

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes, in the order of ``Sentences.values``."""
        return list(self.by_attribute)

    @property
    def embedded(self) -> dict[str, Vocabulary | Subwords]:
        """What an encoder has tables of vectors of: the attributes, and subwords."""
        return {**self.by_attribute, **({} if self.subwords is None else {SUBWORDS: self.subwords})}

    @property
    def _parts(self) -> list[Subwords | Characters]:
        """What is read of parts of forms, in the order of ``Sentences.values``."""
        return [parts for parts in (self.subwords, self.characters, self.pretrained) if parts is not None]

    @property
    def n_rows(self) -> int:
        """Rows of ``Sentences.values``: the attributes, and the places of parts of forms."""
        return len(self.by_attribute) + sum(parts.longest for parts in self._parts)

    @property
    def predicted(self) -> list[str]:
        """What a model predicts of words, by its name in PREDICTED: tags, and the lemma."""
        return [*self.tags, *([] if self.lemmas is None else ["lemma"])]

    def of_column(self, column: str) -> tuple[Vocabularies, np.ndarray]:
        """Those of the attributes that are read off one column.

        Args:
            column: an attribute of AttributeColumns.

        Returns:
            The vocabularies, and int64[rows]: which rows of ``Sentences.values``, and then of ``Sentences.unseen``, theirs are
            among those of all attributes.
        """
        # How far a word advances is 1 where there are no lattices, and the treebank is the same, whatever the form.
        columns = [
            {LENGTHS: "forms", TREEBANK: "forms"}.get(found, found)
            for found in (ATTRIBUTES[name].column for name in self.by_attribute)
        ]
        chosen = [row for row, found in enumerate(columns) if found == column]
        sets = [row for row, known in enumerate(self.by_attribute.values()) if isinstance(known, SetVocabulary)]
        by_attribute = dict(item for item, found in zip(self.by_attribute.items(), columns, strict=True) if found == column)
        of_forms = column == "forms"
        rows = [
            *chosen,
            *(range(len(self.by_attribute), self.n_rows) if of_forms else ()),
            *(self.n_rows + number for number, row in enumerate(sets) if row in chosen),
        ]
        of_column = Vocabularies(by_attribute)
        if of_forms:
            of_column.characters, of_column.subwords, of_column.pretrained = self.characters, self.subwords, self.pretrained
        of_column.treebank = self.treebank
        return of_column, np.array(rows, np.int64)

    def encode(self, sentences: Sequence[AttributeColumns]) -> Sentences:
        """Encodes the words of the sentences; unknown values become UNKNOWN (unknown_counts() counts them)."""
        offsets = _offsets(sentences)
        values = np.empty((self.n_rows + self.n_sets, offsets[-1]), np.int32)
        unseen = iter(values[self.n_rows :])
        for row, (attribute, vocabulary) in zip(values, self.by_attribute.items(), strict=False):
            numbers: list[int] = []
            columns = attribute_values(sentences, attribute, self.treebank)
            for column in columns:
                numbers.append(ROOT)
                numbers += vocabulary.encode(column)
            row[:] = numbers
            if isinstance(vocabulary, SetVocabulary):
                next(unseen)[:] = [new for column in columns for new in (False, *vocabulary.have_unseen(column))]
        first = len(self.by_attribute)
        for parts in self._parts:
            values[first : first + parts.longest] = parts.encode([sentence.forms for sentence in sentences])
            first += parts.longest
        return Sentences(values[: self.n_rows], offsets, unseen=values[self.n_rows :])

    def encode_tags(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        """int32[tags, total]: the columns that a tagger predicts, ROOT before each sentence, UNKNOWN for unknown values."""
        numbers = [
            [number for sentence in sentences for number in (ROOT, *known.encode_exactly(getattr(sentence, column)))]
            for column, known in self.tags.items()
        ]
        return np.array(numbers, np.int32).reshape(len(self.tags), _offsets(sentences)[-1])

    @property
    def n_sets(self) -> int:
        """Attributes whose values are sets: rows of ``Sentences.unseen``."""
        return sum(isinstance(vocabulary, SetVocabulary) for vocabulary in self.by_attribute.values())

    def unknown_counts(self, sentences: Sentences, places: Sequence[int] | slice = _EVERYWHERE) -> dict[str, int]:
        """By attribute: how many tokens have a value that training never saw; of a set, an element that it never saw.

        Args:
            sentences: as encode() makes them.
            places: the tokens that count, by their places among all.
        """
        assert sentences.unseen is not None
        unseen = iter(sentences.unseen[:, places])
        counts = {}
        for (name, vocabulary), values in zip(self.by_attribute.items(), sentences.values[:, places], strict=False):
            unknown = next(unseen) if isinstance(vocabulary, SetVocabulary) else values == UNKNOWN
            counts[name] = int(np.count_nonzero(unknown))
        return counts


def _offsets(sentences: Sequence[AttributeColumns]) -> np.ndarray:
    """int64[sentences + 1]: where the sentences begin, each with its root."""
    offsets = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum(np.array([len(sentence.forms) + 1 for sentence in sentences], np.int64), out=offsets[1:])
    return offsets
