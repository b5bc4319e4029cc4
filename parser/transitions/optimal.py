"""Which moves are optimal by an oracle's scores, and which of them a classifier likes best."""

from __future__ import annotations

import numpy as np

from oracles import NOT_APPLICABLE
from parser.data.parses import NO_NODE
from parser.transitions.system import Moves


def optimal_moves(scores: np.ndarray) -> np.ndarray:
    """bool[m, width]: the moves with the highest score of their configuration."""
    return (scores == scores.max(axis=1, keepdims=True)) & (scores != NOT_APPLICABLE)


def best_right_columns(outputs: np.ndarray, moves: Moves, scores: np.ndarray) -> np.ndarray:
    """int64[m]: the column of the right output (int32[m, width]) with the highest score (float32[feature rows, outputs])."""
    own = np.where(outputs == NO_NODE, -np.inf, scores[np.maximum(moves.rows, 0), np.maximum(outputs, 0)])
    return own.argmax(axis=1)
