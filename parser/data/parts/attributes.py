"""The attributes of words: a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parser.data.attributes import ATTRIBUTES, LENGTHS, TREEBANK, AttributeColumns, attribute_values
from parser.data.parts.part import Labels, WordPart
from parser.data.sentences import Sentences
from parser.data.similar import SIMILAR, SimilarVocabulary
from parser.data.vocabulary import ROOT, UNKNOWN, SetVocabulary, Vocabulary
from parser.network_spec import ClassifierSpec, Shapes

_EVERYWHERE = slice(None)


class Attributes(WordPart):
    """The values of attributes; unknown ones are UNKNOWN.

    Args:
        by_attribute: their vocabularies, in a fixed order.
        treebank: the treebank of sentences without one, in a model of several.
    """

    name = "attributes"

    def __init__(self, by_attribute: dict[str, Vocabulary], treebank: str) -> None:
        self.by_attribute, self.treebank = by_attribute, treebank
        self.rows = len(by_attribute)

    @property
    def sets(self) -> list[str]:
        """The attributes whose values are sets, in the order of ``Sentences.unseen``."""
        return [
            name
            for name, vocabulary in self.by_attribute.items()
            if isinstance(vocabulary, SetVocabulary)
        ]

    def encode(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        rows = np.empty(
            (self.rows, sum(len(sentence.forms) + 1 for sentence in sentences)), np.int32
        )
        for row, (attribute, vocabulary) in zip(rows, self.by_attribute.items(), strict=True):
            numbers: list[int] = []
            for column in attribute_values(sentences, attribute, self.treebank):
                numbers.append(ROOT)
                numbers += vocabulary.encode(column)
            row[:] = numbers
        return rows

    def unseen(self, sentences: Sequence[AttributeColumns]) -> list[list[bool]]:
        """Return bool[sets, tokens], whether the value has an element unseen in training."""
        unseen = []
        for attribute in self.sets:
            vocabulary = self.by_attribute[attribute]
            assert isinstance(vocabulary, SetVocabulary), "see sets"
            columns = attribute_values(sentences, attribute)
            unseen.append(
                [new for column in columns for new in (False, *vocabulary.have_unseen(column))]
            )
        return unseen

    def unknown_counts(
        self, sentences: Sentences, places: Sequence[int] | slice = _EVERYWHERE
    ) -> dict[str, int]:
        """Return, for each attribute, how many tokens have a value unseen in training; a set counts
        if it has an unseen element.

        Args:
            sentences: from Vocabularies.encode().
            places: the places of the tokens that count.
        """
        assert sentences.unseen is not None
        unseen = dict(zip(self.sets, sentences.unseen[:, places], strict=True))
        values = dict(zip(self.by_attribute, sentences.values[: self.rows, places], strict=True))
        return {
            name: int(np.count_nonzero(unseen.get(name, values[name] == UNKNOWN)))
            for name in self.by_attribute
        }

    def for_column(self, column: str) -> dict[str, Vocabulary]:
        """Return the vocabularies of attributes that read only one column."""
        # Advances (1 outside lattices) and the treebank are the same for all forms,
        # so they can be read with the forms.
        columns = {column, LENGTHS, TREEBANK} if column == "forms" else {column}
        return {
            name: vocabulary
            for name, vocabulary in self.by_attribute.items()
            if ATTRIBUTES[name].column in columns
        }

    def size(self, spec: ClassifierSpec) -> int:
        return sum(spec.embeddings[name].size for name in self.by_attribute)

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        return {
            f"inputs.vectors.{name}": (vocabulary.n_vectors, spec.embeddings[name].size)
            for name, vocabulary in self.by_attribute.items()
        }

    def labels(self) -> dict[str, Labels]:
        return {
            f"inputs.vectors.{name}": vocabulary.vector_labels
            for name, vocabulary in self.by_attribute.items()
        }

    def tables(self) -> dict[str, int]:
        return {name: len(vocabulary) for name, vocabulary in self.by_attribute.items()}

    def described(self) -> dict[str, Any]:
        similar = any(
            isinstance(vocabulary, SimilarVocabulary) for vocabulary in self.by_attribute.values()
        )
        symbols = {name: vocabulary.symbols for name, vocabulary in self.by_attribute.items()}
        return {self.name: symbols, **({SIMILAR: True} if similar else {})}
