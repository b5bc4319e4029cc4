"""Examples: configurations with the outputs that are right there; and those of gold computations, for the first pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from oracles import NOT_APPLICABLE, BoundOracle, Trees
from parser.data.parses import NO_NODE
from parser.data.vocabulary import Sentences
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import right
from parser.transitions.features import FeatureTable
from parser.transitions.system import TransitionSystem

# Sentences that advance together; bounds the memory of a pass over them, and is far above what fills a matrix product.
_LOCKSTEP = 4096


class Target(StrEnum):
    """What an example teaches where several moves are optimal.

    * OWN_BEST: the optimal output that the classifier scores highest (Nederhof 2019 leaves the choice open).
    * FIXED_ORDER: the first optimal move of the system's eager order: attach as soon as possible.
    * MARGINAL: the whole set; the loss is minus the logarithm of the total probability of the optimal outputs.
    """

    OWN_BEST = "own_best"
    FIXED_ORDER = "fixed_order"
    MARGINAL = "marginal"


@dataclass(frozen=True)
class TrainingSentences:
    """Encoded sentences with the trees to learn.

    Attributes:
        sentences: the attributes of the tokens.
        trees: the trees, sentence by sentence the same ones.
        relations: int32[total], gold relations at the places of ``trees.heads``.
    """

    sentences: Sentences
    trees: Trees
    relations: np.ndarray

    def __len__(self) -> int:
        return len(self.trees)


@dataclass(frozen=True)
class Examples:
    """What the classifier learns from.

    Attributes:
        features: int32[examples, slots].
        targets: int32[examples, targets]: the right outputs; NO_NODE fills up rows that have fewer.
        sentences: int32[examples], the number of the sentence that each is from.
    """

    features: np.ndarray
    targets: np.ndarray
    sentences: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    @classmethod
    def concatenate(cls, parts: list[Examples]) -> Examples:
        """All examples of the parts, in order."""
        width = max(part.targets.shape[1] for part in parts)
        targets = [
            np.pad(part.targets, ((0, 0), (0, width - part.targets.shape[1])), constant_values=NO_NODE) for part in parts
        ]
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate(targets),
            np.concatenate([part.sentences for part in parts]),
        )


class Batch:
    """Some of the sentences, advancing together. Iterating yields the rows that are not final, until none is left.

    Attributes:
        numbers: int32[batch], which of the sentences.
        now: their configurations.
        gold_heads, gold_relations: int32[batch, width]; NO_NODE for the roots and behind the ends of sentences.
    """

    def __init__(self, data: TrainingSentences, system: TransitionSystem, numbers: np.ndarray) -> None:
        self.numbers = numbers.astype(np.int32)
        self.now: Configurations = system.initial(data.trees.lengths[numbers])
        self.gold_heads = _by_row(data.trees.heads, data.trees.offsets, numbers)
        self.gold_relations = _by_row(data.relations, data.trees.offsets, numbers)
        self._system = system

    def __iter__(self) -> Iterator[np.ndarray]:
        while len(rows := self._system.unfinished(self.now)):
            yield rows

    def score(self, oracle: BoundOracle, rows: np.ndarray) -> np.ndarray:
        """int16[m, width]: the oracle's scores of the moves in the given rows."""
        now = self.now
        return oracle.score_batch(
            self.numbers[rows],
            now.stacks[rows],
            now.stack_sizes[rows],
            now.buffer_fronts[rows],
            now.children[rows] if oracle.needs_children else None,
            now.buffers[rows] if self._system.reorders_buffer else None,
        )


def batches(data: TrainingSentences, system: TransitionSystem) -> Iterator[Batch]:
    """All sentences in batches of like lengths, the order within a length kept."""
    order = np.argsort(data.trees.lengths, kind="stable")
    for start in range(0, len(order), _LOCKSTEP):
        yield Batch(data, system, order[start : start + _LOCKSTEP])


def gold_examples(data: TrainingSentences, oracle: BoundOracle, system: TransitionSystem, table: FeatureTable) -> Examples:
    """The configurations of gold computations and their outputs: of the optimal moves, the first in the eager order.

    Args:
        data: sentences with the trees that the oracle is bound to.
        oracle: a static one for trees that have a gold computation; or one that is exact for any tree, whose computations
            from the start lose the fewest gold arcs.
        system: the transition system.
        table: the features.
    """
    parts = []
    for batch in batches(data, system):
        for rows in batch:
            moves = system.moves(batch.now, rows)
            outputs = right(system, optimal_moves(batch.score(oracle, rows)), moves, batch.gold_relations, rows)
            columns = eager_columns(system, outputs)
            targets = np.take_along_axis(outputs, columns[:, None], axis=1)
            features = table.extract(batch.now, rows, data.sentences, batch.numbers)
            parts.append(Examples(features, targets, batch.numbers[rows]))
            children = moves.children[np.arange(len(rows)), columns]
            system.apply(batch.now, rows, moves, columns, batch.gold_relations[rows, children])
    return Examples.concatenate(parts)


def optimal_moves(scores: np.ndarray) -> np.ndarray:
    """bool[m, width]: the moves with the highest score of their configuration."""
    return (scores == scores.max(axis=1, keepdims=True)) & (scores != NOT_APPLICABLE)


def eager_columns(system: TransitionSystem, outputs: np.ndarray) -> np.ndarray:
    """int32[m]: of each row of right outputs (int32[m, width]), the column that comes first in the system's eager order."""
    order = system.eager_order
    return order[(outputs[:, order] != NO_NODE).argmax(axis=1)].astype(np.int32)


def choose_targets(system: TransitionSystem, outputs: np.ndarray, scores: np.ndarray, target: Target) -> np.ndarray:
    """int32[m, 1 or width]: the targets among the right outputs (int32[m, width], NO_NODE = not optimal)."""
    if target is Target.MARGINAL:
        return outputs
    if target is Target.FIXED_ORDER:
        return np.take_along_axis(outputs, eager_columns(system, outputs)[:, None], axis=1)
    return np.take_along_axis(outputs, best_right_columns(outputs, scores)[:, None], axis=1)


def best_right_columns(outputs: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """int64[m]: the column of the right output (int32[m, width]) with the highest score (float32[m, outputs])."""
    own = np.where(outputs == NO_NODE, -np.inf, np.take_along_axis(scores, np.maximum(outputs, 0), axis=1))
    return own.argmax(axis=1)


def _by_row(flat: np.ndarray, offsets: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """int32[batch, width]: the flat entries of each sentence as a row, NO_NODE behind its end; the root's is NO_NODE."""
    lengths = (offsets[numbers + 1] - offsets[numbers]).astype(np.int64)
    columns = np.arange(lengths.max(initial=1))
    inside = columns < lengths[:, None]
    places = np.where(inside, offsets[numbers][:, None] + columns, 0)
    rows = np.where(inside, flat[places], NO_NODE).astype(np.int32)
    rows[:, 0] = NO_NODE
    return rows
