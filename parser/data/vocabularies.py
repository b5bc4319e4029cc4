"""The vocabularies of a model, which make sentences into numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parser.data.attributes import ATTRIBUTES, LENGTHS, AttributeColumns, attribute_values
from parser.data.characters import Characters
from parser.data.sentences import Sentences
from parser.data.set_vocabulary import SetVocabulary
from parser.data.vocabulary import ROOT, UNKNOWN, Vocabulary

_EVERYWHERE = slice(None)


class Vocabularies:
    """The vocabularies of all attributes, ``by_attribute`` in a fixed order.

    Args:
        by_attribute: what is read of a word.
        characters: those of forms, where they are read.
        tags: by column of gold data that a tagger predicts (upos, xpos, feats), its values; input need not have them.
    """

    def __init__(
        self,
        by_attribute: dict[str, Vocabulary],
        characters: Characters | None = None,
        tags: dict[str, Vocabulary] | None = None,
    ) -> None:
        self.by_attribute = by_attribute
        self.characters = characters
        self.tags = tags or {}

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes, in the order of ``Sentences.values``."""
        return list(self.by_attribute)

    @property
    def n_rows(self) -> int:
        """Rows of ``Sentences.values``: the attributes, and the places of characters."""
        return len(self.by_attribute) + (0 if self.characters is None else self.characters.longest)

    def of_column(self, column: str) -> tuple[Vocabularies, np.ndarray]:
        """Those of the attributes that are read off one column.

        Args:
            column: an attribute of AttributeColumns.

        Returns:
            The vocabularies, and int64[rows]: which rows of ``Sentences.values``, and then of ``Sentences.unseen``, theirs are
            among those of all attributes.
        """
        # How far a word advances is 1 where there are no lattices, whatever the form.
        columns = [{LENGTHS: "forms"}.get(found, found) for found in (ATTRIBUTES[name].column for name in self.by_attribute)]
        chosen = [row for row, found in enumerate(columns) if found == column]
        sets = [row for row, known in enumerate(self.by_attribute.values()) if isinstance(known, SetVocabulary)]
        by_attribute = dict(item for item, found in zip(self.by_attribute.items(), columns, strict=True) if found == column)
        characters = self.characters if column == "forms" else None
        rows = [
            *chosen,
            *([] if characters is None else range(len(self.by_attribute), self.n_rows)),
            *(self.n_rows + number for number, row in enumerate(sets) if row in chosen),
        ]
        return Vocabularies(by_attribute, characters), np.array(rows, np.int64)

    def encode(self, sentences: Sequence[AttributeColumns]) -> Sentences:
        """Encodes the words of the sentences; unknown values become UNKNOWN (unknown_counts() counts them)."""
        offsets = _offsets(sentences)
        values = np.empty((self.n_rows + self.n_sets, offsets[-1]), np.int32)
        unseen = iter(values[self.n_rows :])
        for row, (attribute, vocabulary) in zip(values, self.by_attribute.items(), strict=False):
            numbers: list[int] = []
            columns = attribute_values(sentences, attribute)
            for column in columns:
                numbers.append(ROOT)
                numbers += vocabulary.encode(column)
            row[:] = numbers
            if isinstance(vocabulary, SetVocabulary):
                next(unseen)[:] = [new for column in columns for new in (False, *vocabulary.have_unseen(column))]
        if self.characters is not None:
            of_characters = values[len(self.by_attribute) : self.n_rows]
            of_characters[:] = self.characters.encode([sentence.forms for sentence in sentences])
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
