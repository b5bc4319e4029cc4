"""The interface of parts: an encoder reads a word as a list of parts,
each with some rows of ``Sentences.values``.

A part has rows, shapes of parameters, files in a model's folder, and new values from further
sentences. Two functions make vectors of its rows: ``module_of`` (networks/parts.py) in training,
and ``frozen`` (inference/parts.py) in parsing, without torch. docs/adding_an_input.md shows how to
add a part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from parser.data.attributes import AttributeColumns
from parser.data.vocabulary import ABSENT, ROOT
from parser.model_folder import Contents
from parser.network_spec import ClassifierSpec, Shapes

Labels = Sequence[Hashable]
"""The values that the rows of a tensor belong to."""


class PretrainedWish(Protocol):
    """The settings of a pretrained encoder; settings.groups.PretrainedSettings."""

    tune: bool
    """Whether training changes it."""
    save: bool
    """Whether a model's folder holds it."""
    cache: str | None
    """The folder of its vectors of training sentences."""
    layers: int | None
    """How many of its layers are computed, from the first one on; None: all."""
    pieces: int | None
    """How many pieces of its vocabulary are kept if training changes it; None:
    all of the training part's scripts.
    """
    learning_rate: float
    """The learning rate of its parameters."""
    warmup: int
    """The number of updates in which the learning rate rises."""


class PartWishes(Protocol):
    """The settings of parts in a plan; settings.plan.NetworkPlan."""

    @property
    def spec(self) -> ClassifierSpec:
        """The network."""

    @property
    def subwords(self) -> str | None:
        """The folder that vectors of subwords come from."""

    @property
    def similar(self) -> bool:
        """Whether unknown forms and characters count as similar known ones."""

    @property
    def pretrained_encoder(self) -> str | None:
        """The folder or name of a new pretrained encoder."""

    @property
    def pretrained(self) -> PretrainedWish | None:
        """The settings of a pretrained encoder."""


class PartTuning(NamedTuple):
    """How training changes parameters of a part that were trained elsewhere.

    Attributes:
        prefix: the prefix of their names in the encoder.
        learning_rate: the learning rate of these parameters.
        warmup: the number of updates in which it rises from 0.
    """

    prefix: str
    learning_rate: float
    warmup: int


class WordPart(ABC):
    """A part of words that an encoder reads.

    Attributes:
        name: the name of the part, and of its module of torch.
        in_sentences: whether its vector of a word depends on the rest of the sentence.
        column: the only column (of AttributeColumns) that its rows depend on.
        half: the names of its parameters that a model's folder holds in 16 bits.
        setting: the setting that names the folder that a new part is made from;
            a model that is trained further keeps its own part.
        incidental: settings that change no result; a run may be resumed with other values of them.
        rows: how many rows of ``Sentences.values`` it has.
    """

    name: ClassVar[str]
    in_sentences: ClassVar[bool] = False
    column: ClassVar[str] = "forms"
    half: ClassVar[tuple[str, ...]] = ()
    setting: ClassVar[str | None] = None
    incidental: ClassVar[tuple[str, ...]] = ()
    rows: int

    @classmethod
    def new(cls, wanted: PartWishes, sentences: Sequence[AttributeColumns]) -> Self | None:
        """Return the part for training sentences; None if the plan does not want it."""
        return None

    @classmethod
    def files(cls, named: str) -> dict[str, Path]:
        """Return the files that a new part reads from the folder named by ``setting``, by their
        names.
        """
        return {}

    @classmethod
    def refuse_start(cls, wanted: PartWishes, known: WordPart | None) -> str | None:
        """Return why the settings do not fit a model that is trained further; None if they fit.

        ``known`` is the part of that model; None if it has none.
        """
        return None

    @property
    def fixed(self) -> bool:
        """Whether its vectors of training sentences are computed once, before training; see
        ``prepare`` (networks/parts.py).
        """
        return False

    def tuning(self, wanted: PartWishes) -> PartTuning | None:
        """Return how training changes parameters that were trained elsewhere;
        None if there are none, or they stay.
        """
        return None

    @abstractmethod
    def encode(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        """Return int32[rows, tokens]: the words of the sentences, a root before each."""

    @abstractmethod
    def size(self, spec: ClassifierSpec) -> int:
        """Return the length of its vectors."""

    @abstractmethod
    def shapes(self, spec: ClassifierSpec) -> Shapes:
        """Return the shapes of its parameters, by their names in the encoder."""

    def labels(self) -> dict[str, Labels]:
        """Return the values of the rows of each parameter that has a row for each value, by name of
        the parameter. These rows are kept when new values extend the parameter.
        """
        return {}

    def tables(self) -> dict[str, int]:
        """Return, by name in ``ClassifierSpec.embeddings``, the number of rows of each table of
        vectors that it reads.
        """
        return {}

    def vectors(self) -> dict[str, np.ndarray]:
        """Return, for each table with such vectors, float[rows, size], the vectors that training
        starts from, by the table's name; other tables start from random vectors.
        """
        return {}

    def completed(self, spec: ClassifierSpec) -> ClassifierSpec:
        """Return a spec completed by values that only the part knows,
        such as the size of vectors that were read.
        """
        return spec

    def extended(
        self,
        wanted: PartWishes,
        sentences: Sequence[AttributeColumns],
        tensors: Mapping[str, np.ndarray],
    ) -> WordPart | None:
        """Return the part extended by new values; None if the plan does not read it.

        Args:
            wanted: the plan's settings of parts.
            sentences: the training sentences.
            tensors: the weights at the start, by their names in the encoder.
        """
        return self

    @property
    def symbols(self) -> list[str]:
        """The values that may be extended, so that a log line can say how many are new."""
        return []

    def described(self) -> dict[str, Any]:
        """Return the part's entries in vocabularies.json."""
        return {}

    def save(self, folder: Path, reader: Any) -> dict[str, Any]:
        """Write the part's files into a model's folder; return its entries in settings.json.

        Args:
            folder: the model's folder.
            reader: the part's reader of sentences, if it is ``in_sentences``.
        """
        return {}

    @classmethod
    def packed(cls, model: Path) -> list[str]:
        """Return the names of the part's files in folders within a model's folder, ``FOLDER/FILE``.

        Raises:
            OptimalStepError: the model needs files that it does not hold.
        """
        return []

    @classmethod
    def read(cls, contents: Contents) -> Self | None:
        """Return the part of a model's folder; None if the model does not have it.

        Raises:
            ModelError: something is missing or damaged.
        """
        return None


class FormPart(WordPart):
    """A part that reads numbers of pieces of a form, such as its characters;
    ABSENT fills up rows.
    """

    @abstractmethod
    def numbers_of(self, form: str) -> list[int]:
        """Return the numbers of a form, at least one and at most ``rows``."""

    def encode(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        return self.encode_forms([sentence.forms for sentence in sentences])

    def encode_forms(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Return int32[rows, tokens]: the numbers of forms, by sentence, each computed once;
        a root has only ROOT.
        """
        numbers: dict[str, list[int]] = {}
        by_token = []
        for forms in sentences:
            by_token.append([ROOT])
            for form in forms:
                if (form_numbers := numbers.get(form)) is None:
                    form_numbers = numbers[form] = self.numbers_of(form)
                by_token.append(form_numbers)
        encoded = np.full((len(by_token), self.rows), ABSENT, np.int32)
        lengths = np.fromiter(map(len, by_token), np.int64, len(by_token))
        encoded[np.arange(self.rows) < lengths[:, None]] = list(chain.from_iterable(by_token))
        return np.ascontiguousarray(encoded.T)
