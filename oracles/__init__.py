"""Optimal transitions for shift-reduce dependency parsing: from integer arrays to integer arrays,
independent of any parser.

import oracles
oracle = oracles.create("nederhof_cubic", strategy="left_before_right")
oracle.step_scores(heads=[2, 0, 2], stack=[0, 1], buffer=[2, 3])      # -> (3, 2, None)
# For a batch, as training does:
scores = oracle.bind(oracles.Trees.from_heads(many_heads)).score_batch(...)
"""

from __future__ import annotations

from pathlib import Path

from oracles.kernel_cache import forget_stale_kernels  # before numba is imported

# isort: split

from oracles.edge_weights import TIES
from oracles.errors import OptimalStepError
from oracles.interface import (
    N_TRANSITIONS,
    NO_NODE,
    NOT_APPLICABLE,
    REDUCE_LEFT,
    REDUCE_RIGHT,
    SHIFT,
    BoundLossless,
    BoundOracle,
    NonProjectiveGoldError,
    Oracle,
    PartialGoldError,
    Query,
    Strategy,
    TransitionScores,
)
from oracles.projectivization.lifting import lift, lift_trees
from oracles.projectivization.optimal import (
    PROJECTIVIZATIONS,
    count_projectivizations,
    projectivize,
    projectivize_trees,
)
from oracles.registry import all_names, create, names, oracle_class, register
from oracles.trees import UNKNOWN_HEAD, Trees

__all__ = [
    "NOT_APPLICABLE",
    "NO_NODE",
    "N_TRANSITIONS",
    "PROJECTIVIZATIONS",
    "REDUCE_LEFT",
    "REDUCE_RIGHT",
    "SHIFT",
    "TIES",
    "UNKNOWN_HEAD",
    "BoundLossless",
    "BoundOracle",
    "NonProjectiveGoldError",
    "OptimalStepError",
    "Oracle",
    "PartialGoldError",
    "Query",
    "Strategy",
    "TransitionScores",
    "Trees",
    "all_names",
    "count_projectivizations",
    "create",
    "lift",
    "lift_trees",
    "names",
    "oracle_class",
    "projectivize",
    "projectivize_trees",
    "register",
]

forget_stale_kernels(Path(__file__).parent)
