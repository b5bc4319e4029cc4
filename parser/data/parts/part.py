"""What an encoder reads of a word: a list of parts, each some rows of ``Sentences.values``.

A part knows its rows, the shapes of its parameters, what a model's folder holds of it, and what other sentences add to it. Two
functions know what is made of its rows: ``module_of`` (networks/parts.py) in training, ``frozen`` (inference/parts.py), without
torch, in parsing. docs/adding_an_input.md adds one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from parser.data.attributes import AttributeColumns
from parser.data.vocabulary import ABSENT, ROOT
from parser.model_folder import Contents
from parser.network_spec import ClassifierSpec, Shapes

Labels = Sequence[Hashable]
"""What the rows of a tensor belong to."""


class PretrainedWish(Protocol):
    """How a pretrained encoder is wanted; settings.groups.PretrainedSettings."""

    tune: bool
    """Whether training changes it."""
    save: bool
    """Whether a model's folder holds it."""


class PartWishes(Protocol):
    """What a plan says of parts; settings.plan.NetworkPlan."""

    @property
    def spec(self) -> ClassifierSpec:
        """The network."""

    @property
    def subwords(self) -> str | None:
        """The folder that vectors of subwords come from."""

    @property
    def pretrained_encoder(self) -> str | None:
        """Where a new pretrained encoder is."""

    @property
    def pretrained(self) -> PretrainedWish | None:
        """How a pretrained encoder is wanted."""


class WordPart(ABC):
    """What is read of the words of sentences.

    Attributes:
        name: of the part, and of its module of torch.
        in_sentences: whether its vector of a word depends on the other words of the sentence.
        column: what its rows depend on alone, of AttributeColumns.
        half: the names of its parameters that a model's folder holds in 16 bits.
        rows: its rows of ``Sentences.values``.
    """

    name: ClassVar[str]
    in_sentences: ClassVar[bool] = False
    column: ClassVar[str] = "forms"
    half: ClassVar[tuple[str, ...]] = ()
    rows: int

    @classmethod
    def new(cls, wanted: PartWishes, sentences: Sequence[AttributeColumns]) -> Self | None:
        """That of training sentences; None if it is not wanted."""
        return None

    @abstractmethod
    def encode(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        """int32[rows, tokens]: the words of the sentences, a root before each."""

    @abstractmethod
    def size(self, spec: ClassifierSpec) -> int:
        """The length of its vectors."""

    @abstractmethod
    def shapes(self, spec: ClassifierSpec) -> Shapes:
        """Those of its parameters, by their names in the encoder."""

    def labels(self) -> dict[str, Labels]:
        """By name of a parameter, what its rows belong to, where it has one for each value; these are kept as values grow."""
        return {}

    def tables(self) -> dict[str, int]:
        """By name in ``ClassifierSpec.embeddings``: of tables of vectors that it reads, how many rows they have."""
        return {}

    def vectors(self) -> dict[str, np.ndarray]:
        """By name of a table, float[rows, size], the vectors that training begins with; those of others are drawn."""
        return {}

    def completed(self, spec: ClassifierSpec) -> ClassifierSpec:
        """A spec with what only the part knows, such as the size of vectors that were read."""
        return spec

    def extended(
        self, wanted: PartWishes, sentences: Sequence[AttributeColumns], tensors: Mapping[str, np.ndarray]
    ) -> WordPart | None:
        """With what is new in some sentences; None if the plan does not read it.

        Args:
            wanted: what the plan says of the training that goes on.
            sentences: what it learns from.
            tensors: the weights that it begins with, by their names in the encoder.
        """
        return self

    @property
    def symbols(self) -> list[str]:
        """What it tells apart and may grow, to say how much is new."""
        return []

    def described(self) -> dict[str, Any]:
        """What vocabularies.json says of it."""
        return {}

    def save(self, folder: Path, reader: Any) -> dict[str, Any]:
        """Writes files of its own into a model's folder; returns what settings.json says of it.

        Args:
            folder: of the model.
            reader: what reads sentences for it, where it is ``in_sentences``.
        """
        return {}

    @classmethod
    def read(cls, contents: Contents) -> Self | None:
        """That of a model's folder; None if the model does not read it.

        Raises:
            ModelError: something is missing or damaged.
        """
        return None


class FormPart(WordPart):
    """Some numbers of parts of a form, such as its characters; after the last one is ABSENT."""

    @abstractmethod
    def numbers_of(self, form: str) -> list[int]:
        """The numbers of a form, at least one and at most ``rows``."""

    def encode(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        return self.encode_forms([sentence.forms for sentence in sentences])

    def encode_forms(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """int32[rows, tokens]: the numbers of forms, by sentence, each asked for once; a root has only the number ROOT."""
        numbers: dict[str, list[int]] = {}
        found = []
        for forms in sentences:
            found.append([ROOT])
            for form in forms:
                if (known := numbers.get(form)) is None:
                    known = numbers[form] = self.numbers_of(form)
                found.append(known)
        encoded = np.full((len(found), self.rows), ABSENT, np.int32)
        lengths = np.fromiter(map(len, found), np.int64, len(found))
        encoded[np.arange(self.rows) < lengths[:, None]] = list(chain.from_iterable(found))
        return np.ascontiguousarray(encoded.T)
