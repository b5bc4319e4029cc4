"""Oracle queries, the moves that are optimal by their scores, and the best of these by the classifier."""

from __future__ import annotations

import numpy as np

from oracles import NOT_APPLICABLE, Query
from parser.data.parses import NO_NODE
from parser.transitions.configurations import Configurations
from parser.transitions.system import Moves


def query(sentences: np.ndarray, now: Configurations, rows: np.ndarray | slice = slice(None)) -> Query:
    """The oracle query for some configurations; arrays that the oracle does not read are not copied.

    Args:
        sentences: int32[m], the numbers of their sentences among the trees that the oracle is bound to.
        now: the configurations.
        rows: int[m], which of them; all if not given, and then the query follows what is done to ``now`` in place.
    """
    return Query(
        sentences,
        now.stacks[rows],
        now.stack_sizes[rows],
        now.buffer_fronts[rows],
        children=lambda: now.children[rows],
        buffers=lambda: now.buffers[rows],
    )


def optimal_moves(scores: np.ndarray) -> np.ndarray:
    """bool[m, width]: the moves with the highest score of their configuration."""
    return (scores == scores.max(axis=1, keepdims=True)) & (scores != NOT_APPLICABLE)


def best_correct_columns(outputs: np.ndarray, moves: Moves, scores: np.ndarray) -> np.ndarray:
    """int64[m]: the column of the right output (int32[m, width]) with the highest score (float32[feature rows, outputs])."""
    own = np.where(outputs == NO_NODE, -np.inf, scores[np.maximum(moves.rows, 0), np.maximum(outputs, 0)])
    return own.argmax(axis=1)
