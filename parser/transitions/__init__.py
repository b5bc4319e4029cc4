"""Transition systems behind one interface (system.py), one file for each system and its variants,
and the features of their configurations.

    system = transitions.create("attardi", n_relations=40, degree=2)

A system of your own is a subclass of TransitionSystem and a call of ``register``;
see CONTRIBUTING.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from oracles.errors import OptimalStepError, did_you_mean
from parser.data.vocabulary import UD_ROOT, Vocabulary
from parser.transitions.system import Transitions, TransitionSystem

__all__ = [
    "TransitionSystem",
    "Transitions",
    "create",
    "create_for",
    "names",
    "register",
    "registered",
    "system_class",
]

# A module is imported only when its system is requested:
# loading the kernels of all systems would take time.
_SYSTEMS: dict[str, tuple[str, str] | type[TransitionSystem]] = {
    "arc_standard": ("parser.transitions.attardi", "ArcStandard"),
    "attardi": ("parser.transitions.attardi", "Attardi"),
    "arc_eager": ("parser.transitions.arc_eager", "ArcEager"),
    "arc_hybrid": ("parser.transitions.arc_hybrid", "ArcHybrid"),
    "covington": ("parser.transitions.covington", "Covington"),
    "swap": ("parser.transitions.swap", "Swap"),
    "lr_spine": ("parser.transitions.lr_spine", "LRSpine"),
    "pointer": ("parser.transitions.pointer", "Pointer"),
}


def register(system: type[TransitionSystem]) -> None:
    """Register a transition system under its name,
    for settings (``system=NAME``) and for models trained with it.

    Raises:
        OptimalStepError: the name is taken.
    """
    if _SYSTEMS.get(system.name, system) is not system:
        raise OptimalStepError(
            f"a transition system {system.name!r} already exists; give yours another name"
        )
    _SYSTEMS[system.name] = system


def names() -> list[str]:
    """Return the names of all transition systems."""
    return list(_SYSTEMS)


def registered() -> dict[str, type[TransitionSystem]]:
    """Return all transition systems by name; their modules are imported."""
    return {name: system_class(name) for name in _SYSTEMS}


def system_class(name: str) -> type[TransitionSystem]:
    """Return the transition system class of that name.

    Raises:
        OptimalStepError: unknown name; the message lists the known ones.
    """
    if name not in _SYSTEMS:
        near = did_you_mean(name, _SYSTEMS)
        raise OptimalStepError(
            f"unknown transition system {name!r}{near}; known: {', '.join(_SYSTEMS)}"
        )
    place = _SYSTEMS[name]
    return place if isinstance(place, type) else getattr(import_module(place[0]), place[1])


def create(
    name: str, n_relations: int, root_relation: int | None = None, **options: int
) -> TransitionSystem:
    """Make the transition system of that name over ``n_relations`` relations; see TransitionSystem.

    Raises:
        OptimalStepError: unknown name, or an unknown option or value of an option.
    """
    cls = system_class(name)
    try:
        return cls(n_relations, root_relation, **options)
    except TypeError as error:
        arguments = ", ".join(f"{key}={value}" for key, value in options.items())
        raise OptimalStepError(f"transition system {name!r} does not take {arguments}") from error


def create_for(relations: Vocabulary, name: str, options: Mapping[str, int]) -> TransitionSystem:
    """Make the transition system of that name over these relations; see create()."""
    root_relation = relations.symbols.index(UD_ROOT) if UD_ROOT in relations else None
    return create(name, len(relations.symbols), root_relation, **options)
