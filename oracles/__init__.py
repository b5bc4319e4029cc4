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

from oracles.interface import (
    N_STEPS,
    NOT_APPLICABLE,
    REDUCE_LEFT,
    REDUCE_RIGHT,
    SHIFT,
    BoundOracle,
    NonProjectiveGoldError,
    Oracle,
    StepScores,
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
    "BoundOracle",
    "NonProjectiveGoldError",
    "Oracle",
    "StepScores",
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
    "arc_standard": {
        "static": ("oracles.arc_standard.static", "Static"),
        "goldberg_tabular": ("oracles.arc_standard.goldberg_tabular", "GoldbergTabular"),
        "nederhof_cubic": ("oracles.arc_standard.nederhof_cubic", "NederhofCubic"),
        "nederhof_quadratic": ("oracles.arc_standard.nederhof_quadratic", "NederhofQuadratic"),
        "nederhof_linear": ("oracles.arc_standard.nederhof_linear", "NederhofLinear"),
        "context_rows": ("oracles.arc_standard.context_rows", "ContextRows"),
    },
    "attardi": {
        "attardi_search": ("oracles.attardi.search", "AttardiSearch"),
        "attardi_tabular": ("oracles.attardi.tabular", "AttardiTabular"),
        "attardi_static": ("oracles.attardi.static", "AttardiStatic"),
    },
}


def _load(name: str) -> type[Oracle]:
    known = {oracle: place for oracles in _REGISTRY.values() for oracle, place in oracles.items()}
    if name not in known:
        raise ValueError(f"unknown oracle {name!r}; known: {', '.join(known)}")
    module, cls = known[name]
    return getattr(import_module(module), cls)


def names(any_gold: bool = False, system: str = "arc_standard") -> list[str]:
    """The names that create() knows of a transition system; with ``any_gold`` only those that take any gold tree.

    Raises:
        ValueError: unknown system; the message lists the known ones.
    """
    if system not in _REGISTRY:
        raise ValueError(f"unknown transition system {system!r}; known: {', '.join(_REGISTRY)}")
    known = list(_REGISTRY[system])
    if not any_gold:
        return known
    return [name for name in known if not (_load(name).needs_projective_gold or _load(name).needs_parseable_gold)]


def create(name: str, strategy: Strategy | str | None = None, **options: int) -> Oracle:
    """The oracle of that name.

    Args:
        name: one of names(), of any system.
        strategy: which computations count; None = the oracle's default.
        options: keyword arguments of the oracle's class.

    Raises:
        ValueError: unknown name, or a strategy or an option that this oracle does not know; the message lists the known ones.
    """
    oracle = _load(name)
    known = [option for option in signature(oracle).parameters if option != "strategy"]
    for option in options:
        if option not in known:
            raise ValueError(f"oracle {name} has no option {option!r}; it has: {', '.join(known) or 'none'}")
    return oracle(strategy, **options)
