"""Search settings, beam or exact: as given to optimal-step parse, and as stored in a model's folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from numbers import Integral
from typing import Any

# More items than any search is worth; a step compares each of them with each.
MAX_SIZE = 1024

# What takes the place of a number of items, and the name in a model's folder.
EXACT = "exact"

# The slots that a state of exact search determines; see check_exact().
_SLOT_OF_A_STATE = re.compile(r"(s0|b\d):token")


class BeamError(ValueError):
    """An invalid or unsupported search; the message says the fix."""


class Merge(StrEnum):
    """Which items of a step become one.

    * NONE: none, so the same tree may be there several times, as its arcs were made in several orders.
    * CONFIGURATION: those with the same stack of the same trees; nothing is lost by it.
    * SIGNATURE: those that no feature will ever tell apart, with arc-standard; see decoding/beam/signature.py.
    """

    NONE = "none"
    CONFIGURATION = "configuration"
    SIGNATURE = "signature"


class Scores(StrEnum):
    """What a transition costs.

    * LOCAL: the logarithm of its probability among the applicable ones, as the classifier is trained transition by transition.
    * GLOBAL: the classifier's score as it is, for one that is trained on whole computations.
    """

    LOCAL = "local"
    GLOBAL = "global"


@dataclass(frozen=True)
class Beam:
    """A beam: how many items it keeps after each step, which of them it merges, and what transitions cost.

    With ``rerank``, the heads that the encoder predicts help to choose among its trees (decoding/beam/reranking.py).

    Raises:
        BeamError: the size is not a number from 1 to MAX_SIZE, merge or scores are unknown, or one tree is to be reranked.
    """

    size: int
    merge: Merge = Merge.CONFIGURATION
    scores: Scores = Scores.LOCAL
    rerank: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.size, Integral) and not isinstance(self.size, bool):
            object.__setattr__(self, "size", int(self.size))  # of numpy's
        if type(self.size) is not int or not 1 <= self.size <= MAX_SIZE:
            raise BeamError(f"a beam of {self.size} items is not possible; give a size from 1 (greedy) to {MAX_SIZE}")
        if type(self.rerank) is not bool:
            raise BeamError(f"rerank={self.rerank} is not possible; it is true or false")
        if self.rerank and self.size == 1:
            raise BeamError("reranking needs several trees, and without a beam there is one; give a size of it, such as 8")
        _set_choices(self, {"merge": Merge, "scores": Scores})

    def for_training(self) -> Beam:
        """The same beam for many sentences: it merges equal configurations where it would merge by signature."""
        return replace(self, merge=Merge.CONFIGURATION) if self.merge is Merge.SIGNATURE else self

    def check_k_best(self, k: int) -> None:
        """Refuses to look for more trees than there are items at the end.

        Raises:
            BeamError: names the fix.
        """
        if k < 1 or (k > self.size and self.merge is not Merge.SIGNATURE):
            raise BeamError(
                f"a beam of {self.size} cannot yield the {k} best trees; ask for 1 to {self.size}, widen the beam, or "
                f"let its items stand for many trees (merge={Merge.SIGNATURE})"
            )


@dataclass(frozen=True)
class Exact:
    """Exact search, which finds the best of all computations (decoding/exact/exact.py), for the models of check_exact().

    Raises:
        BeamError: scores are unknown.
    """

    scores: Scores = Scores.LOCAL

    def __post_init__(self) -> None:
        _set_choices(self, {"scores": Scores})

    def check_k_best(self, k: int) -> None:
        """Refuses to look for more trees than the best one.

        Raises:
            BeamError: names the fix.
        """
        if k != 1:
            raise BeamError(f"exact search finds only the best tree, not {k}; search with a beam, such as {max(k, 8)}")


Search = Beam | Exact


def is_greedy(search: Search | None) -> bool:
    """Whether a search is greedy parsing."""
    return search is None or (isinstance(search, Beam) and search.size == 1)


def searching(
    own: Search | None, size: int | str | None = None, merge: Merge | None = None, rerank: bool = False
) -> Search | None:
    """How to search: as a model remembers, except for what is given here.

    Args:
        own: what the model remembers; None: to parse greedily.
        size: items of the beam, 1 to parse greedily, or EXACT.
        merge: which items of the beam become one.
        rerank: whether its trees are reranked, even if the model remembers nothing of it.

    Raises:
        BeamError: there is no such search.
    """
    if size is None and merge is None and not rerank:
        return own
    scores = Scores.LOCAL if own is None else own.scores
    if size == EXACT or (size is None and isinstance(own, Exact)):
        if merge is not None:
            raise BeamError(f"merge={merge} needs a beam, and exact search has none; leave it out, or give the size of a beam")
        if rerank:
            raise BeamError("reranking needs several trees, and exact search finds one; give the size of a beam, such as 8")
        return Exact(scores)
    if isinstance(size, str):
        raise BeamError(f"a beam of {size} is not possible; give a number of items, or {EXACT}")
    beam = own if isinstance(own, Beam) else Beam(1, scores=scores)
    size = beam.size if size is None else size
    if merge is not None and size == 1:
        raise BeamError(f"merge={merge} needs a beam, and without one the parser is greedy; give the size of a beam, such as 8")
    return replace(beam, size=size, merge=merge or beam.merge, rerank=rerank or beam.rerank)


def as_fields(search: Search) -> dict[str, Any]:
    """A search as plain values, as a model's folder holds it."""
    if isinstance(search, Exact):
        return {"search": EXACT, **asdict(search)}
    return {name: value for name, value in asdict(search).items() if name != "rerank" or value}


def of_fields(fields: dict[str, Any]) -> Search:
    """What as_fields() gave.

    Raises:
        BeamError, TypeError: it gave something else.
    """
    if "search" not in fields:
        return Beam(**fields)
    others = dict(fields)
    if (name := others.pop("search")) != EXACT:
        raise BeamError(f"unknown search {name!r}; known: {EXACT}, and beams")
    return Exact(**others)


def check_exact(system: str, contextual: bool, slots: Iterable[str]) -> None:
    """Refuses models whose transitions are not scored by s0 and b0 only, which exact search needs.

    Args:
        system: the name of the transition system.
        contextual: whether an encoder reads the sentence.
        slots: the feature slots, POSITION:ATTRIBUTE. What is read at b1 and after follows from b0.

    Raises:
        BeamError: names what is different, and the fix.
    """
    others = [slot for slot in slots if not _SLOT_OF_A_STATE.fullmatch(slot)]
    if system != "arc_hybrid":
        found, needed = f"system={system}", "system=arc_hybrid"
    elif not contextual:
        found, needed = "no encoder", "model=bilstm"
    elif others:
        found = f"features of more than s0 and b0 ({', '.join(others[:3])}{', ...' if len(others) > 3 else ''})"
        needed = "encoder.slots.token=[s0,b0] encoder.slots.deprel=[]"
    else:
        return
    raise BeamError(
        f"exact search needs system=arc_hybrid and model=bilstm with features of s0 and b0 only, and this parser has "
        f"{found}; train one with {needed}, or search with a beam"
    )


def _set_choices(search: Search, choices: dict[str, type[StrEnum]]) -> None:
    """Makes members of enumerations of fields that may be strings."""
    for name, known in choices.items():
        value = getattr(search, name)
        if value not in [*known]:
            raise BeamError(f"{name}={value} is unknown to a beam; known: {', '.join(known)}")
        object.__setattr__(search, name, known(value))
