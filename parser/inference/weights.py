"""The weights of a frozen classifier for parsing, as numpy arrays: no torch,
whose import takes seconds.

They come from a torch classifier (Classifier.weights) or from a model folder (layouts.py), without
any torch module. Results are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.sentences import Sentences
from parser.data.tasks.task import FormScores
from parser.inference.arithmetic import SinglePrecision
from parser.inference.heads import FrozenHeadScorer
from parser.transitions.features import TOKEN, Slot

T = TypeVar("T")

# The largest number that rounding does not make infinite.
_LARGEST = 64_000


class Int8Error(OptimalStepError):
    """8-bit products are requested and not available; the message says why."""


def no_int8(folder: Path) -> Int8Error:
    """Return the error for a model without an encoder."""
    return Int8Error(
        f"{folder}: only models with an encoder (model=bilstm) have 8-bit products; omit --int8"
    )


def rounded(tensor: np.ndarray, fraction: int) -> np.ndarray:
    """Return a tensor in float16, keeping ``fraction`` of the 10 bits of each number's fraction and
    setting the rest to 0.

    Zeros compress well. Numbers too large for 16 bits become the largest possible ones.
    """
    bits = tensor.clip(-_LARGEST, _LARGEST).astype(np.float16).view(np.uint16).astype(np.uint32)
    dropped = 10 - fraction
    sign, size = bits & 0x8000, (bits & 0x7FFF) + (1 << dropped >> 1)
    return (sign | size >> dropped << dropped).astype(np.uint16).view(np.float16)


@dataclass(frozen=True)
class SlotLayout:
    """Which weights belong to which slot.

    Attributes:
        one_hot_columns: the one-hot slots.
        one_hot_starts: for each one-hot slot, its first row in the table of one-hot weights.
        one_hot_rows: rows of that table, at least one.
        embedded_columns: for each attribute that is read as a vector, the slots that read it. Their
            parts of the input are concatenated in this order.
        sizes: the length of a vector of each such attribute.
    """

    one_hot_columns: list[int]
    one_hot_starts: list[int]
    one_hot_rows: int
    embedded_columns: dict[str, list[int]]
    sizes: dict[str, int]

    @classmethod
    def of(
        cls, slots: Sequence[Slot], sizes: Mapping[str, int], n_values: Mapping[str, int]
    ) -> SlotLayout:
        """Return the layout of some slots.

        Args:
            sizes: the length of a vector of each attribute that is read as a vector; other
                attributes are one-hot.
            n_values: the number of values of each one-hot attribute, reserved ones included.
        """
        one_hot = [i for i, slot in enumerate(slots) if slot.attribute not in sizes]
        starts, filled = [], 0
        for column in one_hot:
            starts.append(filled)
            filled += n_values[slots[column].attribute]
        columns = {
            name: [i for i, slot in enumerate(slots) if slot.attribute == name] for name in sizes
        }
        return cls(one_hot, starts, max(1, filled), columns, dict(sizes))

    @property
    def sizes_of_slots(self) -> list[int]:
        """The lengths of the vectors in the order of the input."""
        return [
            self.sizes[name] for name, columns in self.embedded_columns.items() for _ in columns
        ]

    @property
    def width(self) -> int:
        """The length of the input."""
        return sum(self.sizes_of_slots)

    def parts(self, weights: np.ndarray) -> list[SlotWeights]:
        """Split float32[hidden, width] into the weights of the slots of each attribute,
        without copying.
        """
        parts, first = [], 0
        for name, columns in self.embedded_columns.items():
            if columns:
                size, n = self.sizes[name], len(columns)
                by_slot = (
                    weights[:, first : first + n * size]
                    .reshape(len(weights), n, size)
                    .swapaxes(0, 1)
                )
                parts.append(SlotWeights(name, columns, by_slot))
                first += n * size
        return parts


@dataclass(frozen=True)
class SlotWeights:
    """The weights of the slots that read one attribute as a vector.

    Attributes:
        attribute: the name of the attribute.
        columns: the slots.
        weights: float32[slots, hidden, size], the matrix from a vector to hidden activations,
            by slot; may be a view.
    """

    attribute: str
    columns: list[int]
    weights: np.ndarray


SettleTags = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""Changes the scores of tags, by column float32[tokens, values], so that tags fit given ones;
may return its argument.
"""


class SentenceEncoder(Protocol):
    """A frozen contextual token representation; thread-safe."""

    arithmetic: SinglePrecision
    """How the vectors of encode() are stored and multiplied."""

    def encode(self, sentences: Sentences) -> np.ndarray:
        """Return the stored vectors of all tokens, [tokens, size];
        computed now unless the sentences have them.
        """
        ...


class TaggingEncoder(SentenceEncoder, Protocol):
    """An encoder that may also predict tags."""

    def encode_with_tags(
        self, sentences: Sentences, settle: SettleTags | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, FormScores]]:
        """Return, for all tokens, the vectors of encode(), tags, and by task,
        functions that score forms, as for lemmas.

        Tags are, by predicted column, int32[tokens], the numbers of the most probable values.
        ``settle`` changes their scores.
        """
        ...


class SentenceReader(Protocol):
    """Reads whole sentences for a part of a word, such as a pretrained encoder; thread-safe."""

    def vectors(self, pieces: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return float16[tokens, layers, width] for pieces int32[longest, tokens];
        sentences begin at ``offsets``.
        """
        ...


@dataclass(frozen=True)
class ArcScores:
    """A biaffine scorer beside a classifier, if each feature row is an arc that a transition would
    make.

    Attributes:
        word, head: the slots that read the two ends of the arc.
    """

    scorer: FrozenHeadScorer
    word: int
    head: int


@dataclass(frozen=True)
class ClassifierWeights:
    """The weights of a classifier; Classifier computes scores from them.

    Attributes:
        activation: the name of the activation.
        layout: which weights belong to which slot.
        hidden_bias: float32[hidden].
        one_hot: float32[rows, hidden].
        embedded: the weights of the slots that read vectors.
        vectors: for each attribute that is read as a vector, float32[values, size], the vectors
            that do not depend on sentences.
        output: float32[outputs, hidden].
        output_bias: float32[outputs].
        encoder: computes the vectors of tokens, for a contextual representation;
            None for a static one.
        arcs: its log probabilities of arcs are added to the scores; None: nothing is added.
    """

    activation: str
    layout: SlotLayout
    hidden_bias: np.ndarray
    one_hot: np.ndarray
    embedded: list[SlotWeights]
    vectors: Mapping[str, np.ndarray]
    output: np.ndarray
    output_bias: np.ndarray
    encoder: SentenceEncoder | None = None
    arcs: ArcScores | None = None

    @property
    def contextual(self) -> bool:
        """Whether the vector of a token depends on its sentence."""
        return self.encoder is not None

    def rounded_by(self, arithmetic: SinglePrecision) -> ClassifierWeights:
        """Return the weights, with those of slots that read tokens rounded as the arithmetic rounds
        them.
        """
        embedded = [
            replace(part, weights=np.stack([arithmetic.rounded(matrix) for matrix in part.weights]))
            if part.attribute == TOKEN
            else part
            for part in self.embedded
        ]
        return replace(self, embedded=embedded)

    def vectors_in(self, sentences: Sentences) -> Mapping[str, np.ndarray]:
        """Return ``vectors``, with the vectors of the tokens of some sentences."""
        if self.encoder is None:
            return self.vectors
        tokens = self.encoder.arithmetic.floats(self.encoder.encode(sentences))
        return {**self.vectors, TOKEN: np.concatenate([self.vectors[TOKEN], tokens])}


def under(prefix: str, tensors: Mapping[str, T]) -> dict[str, T]:
    """Return the tensors whose names begin with a prefix, by the rest of the name."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
