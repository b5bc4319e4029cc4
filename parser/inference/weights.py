"""The weights of a frozen classifier, as numpy arrays: what parsing needs of it, without torch, whose import takes seconds.

A torch classifier gives them (Classifier.weights), or a model folder (layouts.py): then no torch module is made at all. What is
computed from them is the same to the last bit either way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from parser.data.lemmas import RuleScores
from parser.data.sentences import Sentences
from parser.inference.arithmetic import SinglePrecision
from parser.inference.biaffine import FrozenBiaffineScorer
from parser.transitions.features import TOKEN, Slot

T = TypeVar("T")

# The largest number that no rounding makes infinite.
_LARGEST = 64_000


class Int8Error(ValueError):
    """Integers of 8 bits are requested where they are not available; the message says why."""


def no_int8(folder: Path) -> Int8Error:
    """The error for a model without an encoder."""
    return Int8Error(f"{folder}: 8-bit products are supported only for models with an encoder (model=bilstm); leave --int8 out")


def rounded(tensor: np.ndarray, fraction: int) -> np.ndarray:
    """Return a tensor in float16, with ``fraction`` of the 10 bits of each number's fraction, the others zero.

    Zeros compress well. Numbers too large for 16 bits become the largest ones.
    """
    bits = tensor.clip(-_LARGEST, _LARGEST).astype(np.float16).view(np.uint16).astype(np.uint32)
    dropped = 10 - fraction
    sign, size = bits & 0x8000, (bits & 0x7FFF) + (1 << dropped >> 1)
    return (sign | size >> dropped << dropped).astype(np.uint16).view(np.float16)


@dataclass(frozen=True)
class SlotLayout:
    """Which weights belong to which slot.

    Attributes:
        one_hot_columns: the slots that are one-hot.
        one_hot_starts: for each of them, the first of its rows in the table of one-hot weights.
        one_hot_rows: rows of that table; one at least.
        embedded_columns: by attribute that is read as a vector, the slots that read it. Their parts of the input lie side by
            side in this order.
        sizes: by such attribute, the length of a vector.
    """

    one_hot_columns: list[int]
    one_hot_starts: list[int]
    one_hot_rows: int
    embedded_columns: dict[str, list[int]]
    sizes: dict[str, int]

    @classmethod
    def of(cls, slots: Sequence[Slot], sizes: Mapping[str, int], n_values: Mapping[str, int]) -> SlotLayout:
        """That of some slots.

        Args:
            slots: the slots.
            sizes: by attribute that is read as a vector, the length of one; the others are one-hot.
            n_values: by attribute that is one-hot, how many values there are (reserved ones included).
        """
        one_hot = [i for i, slot in enumerate(slots) if slot.attribute not in sizes]
        starts, filled = [], 0
        for column in one_hot:
            starts.append(filled)
            filled += n_values[slots[column].attribute]
        columns = {name: [i for i, slot in enumerate(slots) if slot.attribute == name] for name in sizes}
        return cls(one_hot, starts, max(1, filled), columns, dict(sizes))

    @property
    def sizes_of_slots(self) -> list[int]:
        """The lengths of the vectors, as they lie side by side in the input."""
        return [self.sizes[name] for name, columns in self.embedded_columns.items() for _ in columns]

    @property
    def width(self) -> int:
        """Numbers in the input."""
        return sum(self.sizes_of_slots)

    def parts(self, weights: np.ndarray) -> list[SlotWeights]:
        """Of float32[hidden, width], the weights of all that is read as a vector, without copying them."""
        parts, first = [], 0
        for name, columns in self.embedded_columns.items():
            if columns:
                size, n = self.sizes[name], len(columns)
                by_slot = weights[:, first : first + n * size].reshape(len(weights), n, size).swapaxes(0, 1)
                parts.append(SlotWeights(name, columns, by_slot))
                first += n * size
        return parts


@dataclass(frozen=True)
class SlotWeights:
    """The weights of the slots that read one attribute as a vector.

    Attributes:
        attribute: its name.
        columns: the slots.
        weights: float32[slots, hidden, size]: by slot, what a vector is multiplied by to give hidden activations; may be a
            view of a larger array.
    """

    attribute: str
    columns: list[int]
    weights: np.ndarray


class SentenceEncoder(Protocol):
    """A frozen contextual token representation; thread-safe."""

    arithmetic: SinglePrecision
    """How the vectors of encode() are stored, and to be multiplied."""

    def encode(self, sentences: Sentences) -> np.ndarray:
        """The vectors of all tokens, [tokens, size], as the encoder stores them: made now, if it has not made them before."""
        ...


class TaggingEncoder(SentenceEncoder, Protocol):
    """One that may predict tags, too."""

    def encode_with_tags(self, sentences: Sentences) -> tuple[np.ndarray, dict[str, np.ndarray], RuleScores | None]:
        """Of all tokens, the vectors that encode() makes; tags; and scores of rules for lemmas, None where there are none.

        Tags are, by column that is predicted, int32[tokens], the numbers of the most probable values.
        """
        ...


class SentenceReader(Protocol):
    """What reads whole sentences for a part of them, such as a pretrained encoder; thread-safe."""

    def vectors(self, pieces: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """float16[tokens, layers, width], of int32[longest, tokens] pieces, in sentences with these int64[sentences + 1]."""
        ...


@dataclass(frozen=True)
class ArcScores:
    """A biaffine scorer beside a classifier, where each feature row is an arc that a transition would make.

    Attributes:
        scorer: the scorer.
        word, head: the slots that read these tokens.
    """

    scorer: FrozenBiaffineScorer
    word: int
    head: int


@dataclass(frozen=True)
class ClassifierWeights:
    """The weights of a classifier; see Classifier for how scores are made of them.

    Attributes:
        activation: the name of the activation.
        layout: which weights belong to which slot.
        hidden_bias: float32[hidden].
        one_hot: float32[rows, hidden].
        embedded: the weights of the slots that read vectors.
        vectors: by attribute that is read as a vector, float32[values, size]: the vectors that do not depend on sentences.
        output: float32[outputs, hidden].
        output_bias: float32[outputs].
        encoder: what makes the vectors of tokens, for a contextual representation; None for a static one.
        arcs: whose log probabilities of arcs are added to the scores; None: nothing is.
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
        """With the weights of the slots that read tokens as they are multiplied by."""
        embedded = [
            replace(part, weights=np.stack([arithmetic.rounded(of_slot) for of_slot in part.weights]))
            if part.attribute == TOKEN
            else part
            for part in self.embedded
        ]
        return replace(self, embedded=embedded)

    def vectors_in(self, sentences: Sentences) -> Mapping[str, np.ndarray]:
        """As ``vectors``, all that slots read in some sentences."""
        if self.encoder is None:
            return self.vectors
        tokens = self.encoder.arithmetic.floats(self.encoder.encode(sentences))
        return {**self.vectors, TOKEN: np.concatenate([self.vectors[TOKEN], tokens])}


def under(prefix: str, tensors: Mapping[str, T]) -> dict[str, T]:
    """The tensors whose names begin so, by the rest of the name."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
