"""Optimal steps for shift-reduce dependency parsing. Integer arrays in, integer arrays out; knows nothing of any parser.

import oracles
oracle = oracles.create("nederhof_cubic", strategy="left_before_right")
oracle.step_scores(heads=[2, 0, 2], stack=[0, 1], buffer=[2, 3])      # -> (3, 2, None)
scores = oracle.bind(oracles.Trees.from_heads(many_heads)).score_batch(...)   # for a batch, as training does
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from oracles.edge_weights import TIES
from oracles.interface import (
    N_STEPS,
    NOT_APPLICABLE,
    REDUCE_LEFT,
    REDUCE_RIGHT,
    SHIFT,
    BoundOracle,
    NonProjectiveGoldError,
    Oracle,
    Strategy,
)
from oracles.kernel_cache import forget_stale_kernels
from oracles.projectivization.lifting import lift, lift_trees
from oracles.projectivization.optimal import PROJECTIVIZATIONS, count_projectivizations, projectivize, projectivize_trees
from oracles.trees import Trees

__all__ = [
    "NOT_APPLICABLE",
    "N_STEPS",
    "PROJECTIVIZATIONS",
    "REDUCE_LEFT",
    "REDUCE_RIGHT",
    "SHIFT",
    "TIES",
    "BoundOracle",
    "NonProjectiveGoldError",
    "Oracle",
    "Strategy",
    "Trees",
    "count_projectivizations",
    "create",
    "lift",
    "lift_trees",
    "names",
    "projectivize",
    "projectivize_trees",
]

forget_stale_kernels(Path(__file__).parent)

# A module is imported when its oracle is asked for: loading the compiled kernels of all of them would cost seconds.
_REGISTRY = {
    "static": ("oracles.arc_standard.static", "Static"),
    "goldberg_tabular": ("oracles.arc_standard.goldberg_tabular", "GoldbergTabular"),
    "nederhof_cubic": ("oracles.arc_standard.nederhof_cubic", "NederhofCubic"),
    "nederhof_quadratic": ("oracles.arc_standard.nederhof_quadratic", "NederhofQuadratic"),
    "nederhof_linear": ("oracles.arc_standard.nederhof_linear", "NederhofLinear"),
    "context_rows": ("oracles.arc_standard.context_rows", "ContextRows"),
}


def _load(name: str) -> type[Oracle]:
    if name not in _REGISTRY:
        raise ValueError(f"unknown oracle {name!r}; known: {', '.join(_REGISTRY)}")
    module, cls = _REGISTRY[name]
    return getattr(import_module(module), cls)


def names(any_gold: bool = False) -> list[str]:
    """The names that create() knows; with ``any_gold`` only those that do not need projective gold trees."""
    return [name for name in _REGISTRY if not (any_gold and _load(name).needs_projective_gold)]


def create(name: str, strategy: Strategy | str | None = None, **options: Any) -> Oracle:
    """The oracle of that name.

    Args:
        name: see ``names``.
        strategy: which computations count; None: left_before_right.
        options: what else the oracle knows, by name, such as ties="nearest_ancestor"; its class explains them.

    Raises:
        ValueError: unknown name, or a strategy or option that this oracle does not know; the message lists the known ones.
    """
    oracle = _load(name)
    known = [option for option in signature(oracle).parameters if option != "strategy"]
    for option in options:
        if option not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"oracle {name} does not know the option {option!r}; it knows: {listed}")
    return oracle(Strategy.LEFT_BEFORE_RIGHT if strategy is None else strategy, **options)
