"""The characters of forms, which an LSTM reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.attributes import AttributeColumns
from parser.data.parts.part import FormPart, Labels, PartWishes
from parser.data.similar import SIMILAR, SimilarCharacters, looks_up_similar
from parser.data.vocabulary import UNKNOWN, Vocabulary
from parser.model_folder import Contents
from parser.network_spec import CharacterSpec, ClassifierSpec, Shapes, prefixed
from parser.stored_values import checked

# Rarer characters count as unknown, so that a model learns to handle characters unseen in training.
_MIN_COUNT = 2


class Characters(FormPart):
    """A vocabulary of characters. The row of a character is its place in the form.

    Args:
        symbols: the known characters.
        longest: how many characters of a form are read; in a longer form, the first and the last
            ones, which include affixes.
        similar: whether unknown characters count as similar known ones (similar.py).

    Raises:
        OptimalStepError: a character is repeated, or a symbol is not a single character.
    """

    name = "characters"

    def __init__(self, symbols: Iterable[str], longest: int, similar: bool = False) -> None:
        self.vocabulary = SimilarCharacters(symbols) if similar else Vocabulary(symbols)
        self._similar = similar
        if odd := [symbol for symbol in self.vocabulary.symbols if len(symbol) != 1]:
            raise OptimalStepError(f"{odd[0][:20]!r} is not one character")
        self.rows = longest

    @classmethod
    def new(cls, wanted: PartWishes, sentences: Sequence[AttributeColumns]) -> Characters | None:
        spec = _spec(wanted.spec)
        return (
            None
            if spec is None
            else cls([], spec.longest, wanted.similar).extended(wanted, sentences, {})
        )

    def extended(
        self,
        wanted: PartWishes,
        sentences: Sequence[AttributeColumns],
        tensors: Mapping[str, np.ndarray],
    ) -> Characters | None:
        if _spec(wanted.spec) is None:
            return None
        forms = chain.from_iterable(sentence.forms for sentence in sentences)
        symbols = self.vocabulary.extended(chain.from_iterable(forms), _MIN_COUNT)
        return Characters(symbols, self.rows, self._similar)

    def __len__(self) -> int:
        """Return the number of characters, reserved numbers included."""
        return len(self.vocabulary)

    @property
    def symbols(self) -> list[str]:
        return self.vocabulary.symbols

    def numbers_of(self, form: str) -> list[int]:
        """Return the numbers of a form's characters; UNKNOWN for an empty form."""
        return self.vocabulary.encode(self._ends(form)) or [UNKNOWN]

    def _ends(self, form: str) -> str:
        """Return the characters that are read."""
        if len(form) <= self.rows:
            return form
        first = self.rows // 2
        return form[:first] + form[len(form) - (self.rows - first) :]

    def size(self, spec: ClassifierSpec) -> int:
        return _known(spec).size

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        return prefixed(f"{self.name}.", _known(spec).shapes(len(self)))

    def labels(self) -> dict[str, Labels]:
        return {f"{self.name}.vectors": self.vocabulary.vector_labels}

    def described(self) -> dict[str, Any]:
        return {self.name: self.symbols, **({SIMILAR: True} if self._similar else {})}

    @classmethod
    def read(cls, contents: Contents) -> Characters | None:
        if (spec := _spec(contents.spec)) is None:
            return None
        with contents.errors_in_vocabularies():
            similar = looks_up_similar(contents.vocabularies)
            return cls(
                checked(contents.vocabularies[cls.name], list[str], cls.name), spec.longest, similar
            )


def _spec(spec: ClassifierSpec | None) -> CharacterSpec | None:
    return None if spec is None or spec.encoder is None else spec.encoder.characters


def _known(spec: ClassifierSpec) -> CharacterSpec:
    characters = _spec(spec)
    assert characters is not None, "characters are read"
    return characters
