"""Oracles by name, and by the transition system whose transitions they score."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any

from oracles.errors import OptimalStepError, did_you_mean
from oracles.interface import Oracle, Strategy

# By system and name. A module is imported only when its oracle is requested:
# loading the kernels of all would take seconds.
_ORACLES: dict[str, dict[str, tuple[str, str] | type[Oracle]]] = {
    "arc_standard": {
        "static": ("oracles.arc_standard.static", "ArcStandardStatic"),
        "goldberg_tabular": ("oracles.arc_standard.goldberg_tabular", "GoldbergTabular"),
        "nederhof_cubic": ("oracles.arc_standard.nederhof_cubic", "NederhofCubic"),
        "nederhof_quadratic": ("oracles.arc_standard.nederhof_projective", "NederhofQuadratic"),
        "nederhof_linear": ("oracles.arc_standard.nederhof_projective", "NederhofLinear"),
        "context_rows": ("oracles.arc_standard.context_rows", "ContextRows"),
        "arc_standard_tabular": ("oracles.arc_standard.tabular", "ArcStandardTabular"),
    },
    "arc_eager": {
        "arc_eager_rows": ("oracles.arc_eager.rows", "ArcEagerRows"),
        "arc_eager_local": ("oracles.arc_eager.local", "ArcEagerLocal"),
        "arc_eager_sums": ("oracles.arc_eager.local", "ArcEagerSums"),
        "arc_eager_static": ("oracles.arc_eager.static", "ArcEagerStatic"),
    },
    "arc_hybrid": {
        "arc_hybrid_rows": ("oracles.arc_hybrid.rows", "ArcHybridRows"),
        "arc_hybrid_local": ("oracles.arc_hybrid.local", "ArcHybridLocal"),
        "arc_hybrid_tabular": ("oracles.arc_hybrid.tabular", "ArcHybridTabular"),
    },
    "attardi": {
        "attardi_search": ("oracles.attardi.search", "AttardiSearch"),
        "attardi_tabular": ("oracles.attardi.tabular", "AttardiTabular"),
        "attardi_static": ("oracles.attardi.static", "AttardiStatic"),
    },
    "covington": {
        "covington_loss": ("oracles.covington.loss", "CovingtonLoss"),
    },
    "lr_spine": {
        "lr_spine_chart": ("oracles.lr_spine.chart", "LRSpineChart"),
        "lr_spine_tabular": ("oracles.lr_spine.tabular", "LRSpineTabular"),
        "lr_spine_partial": ("oracles.lr_spine.partial", "LRSpinePartial"),
    },
    "pointer": {
        "pointer_cycles": ("oracles.pointer.cycles", "PointerCycles"),
    },
    "swap": {
        "swap_dynamic": ("oracles.swap.dynamic", "SwapDynamic"),
        "swap_eager": ("oracles.swap.static", "SwapEager"),
        "swap_lazy": ("oracles.swap.static", "SwapLazy"),
    },
}


def register(oracle: type[Oracle]) -> None:
    """Register an oracle class under its ``name`` and its ``system``.

    Raises:
        OptimalStepError: the name is taken.
    """
    places = _places()
    if places.get(oracle.name, oracle) is not oracle:
        raise OptimalStepError(f"an oracle {oracle.name!r} already exists; give yours another name")
    _ORACLES.setdefault(oracle.system, {})[oracle.name] = oracle


def oracle_class(name: str) -> type[Oracle]:
    """Return the oracle class of that name.

    Raises:
        OptimalStepError: unknown name; the message lists the known ones.
    """
    places = _places()
    if name not in places:
        raise OptimalStepError(
            f"unknown oracle {name!r}{did_you_mean(name, places)}; known: {', '.join(places)}"
        )
    place = places[name]
    return place if isinstance(place, type) else getattr(import_module(place[0]), place[1])


def names(any_gold: bool = False, system: str = "arc_standard") -> list[str]:
    """Return the names of the oracles of a transition system; with ``any_gold``,
    only those that take any gold tree.

    Raises:
        OptimalStepError: unknown system; the message lists the known ones.
    """
    if system not in _ORACLES:
        near = did_you_mean(system, _ORACLES)
        raise OptimalStepError(
            f"unknown transition system {system!r}{near}; "
            f"there are oracles for: {', '.join(_ORACLES)}"
        )
    if not any_gold:
        return list(_ORACLES[system])
    classes = {name: oracle_class(name) for name in _ORACLES[system]}
    return [
        name
        for name, oracle in classes.items()
        if not (oracle.needs_projective_gold or oracle.needs_parseable_gold)
    ]


def all_names() -> list[str]:
    """Return the names of the oracles of all transition systems."""
    return list(_places())


def create(name: str, strategy: Strategy | str | None = None, **options: Any) -> Oracle:
    """Make the oracle of that name.

    Args:
        name: one of all_names().
        strategy: which computations count; None: the oracle's default.
        options: further keyword arguments of the oracle's class.

    Raises:
        OptimalStepError: unknown name, strategy or option; the message lists the known ones.
    """
    oracle = oracle_class(name)
    option_names = [option for option in signature(oracle).parameters if option != "strategy"]
    for option in options:
        if option not in option_names:
            near = did_you_mean(option, option_names)
            raise OptimalStepError(
                f"oracle {name} has no option {option!r}{near}; it has: "
                f"{', '.join(option_names) or 'none'}"
            )
    return oracle(strategy, **options)


def _places() -> dict[str, tuple[str, str] | type[Oracle]]:
    return {name: place for places in _ORACLES.values() for name, place in places.items()}
