"""The beam that a parser searches with: as given to optimal-step parse, and as stored in a model's folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from numbers import Integral
from typing import Any

# More items than any search is worth; a step compares each of them with each.
MAX_SIZE = 1024


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

    With ``rerank``, the heads that the encoder predicts help to choose among its trees (decoding/parsers.py).

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
        for name, known in {"merge": Merge, "scores": Scores}.items():
            value = getattr(self, name)
            if value not in [*known]:
                raise BeamError(f"{name}={value} is unknown to a beam; known: {', '.join(known)}")
            object.__setattr__(self, name, known(value))

    def without_signatures(self) -> Beam:
        """The same beam for training and for lattices: it merges equal configurations where it would merge by signature."""
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


def is_greedy(beam: Beam | None) -> bool:
    """Return whether a search with this beam is greedy parsing."""
    return beam is None or beam.size == 1


def searching(own: Beam | None, size: int | None = None, merge: Merge | None = None, rerank: bool = False) -> Beam | None:
    """Return the beam to search with: the one that a model remembers, except for what is given here.

    Args:
        own: what the model remembers; None: to parse greedily.
        size: items of the beam, 1 to parse greedily.
        merge: which items of the beam become one.
        rerank: whether its trees are reranked, even if the model remembers nothing of it.

    Raises:
        BeamError: there is no such beam.
    """
    if size is None and merge is None and not rerank:
        return own
    beam = own or Beam(1)
    size = beam.size if size is None else size
    if merge is not None and size == 1:
        raise BeamError(f"merge={merge} needs a beam, and without one the parser is greedy; give the size of a beam, such as 8")
    return replace(beam, size=size, merge=merge or beam.merge, rerank=rerank or beam.rerank)


def as_fields(beam: Beam) -> dict[str, Any]:
    """Return a beam as plain values, as a model's folder holds it: ``Beam(**as_fields(beam))`` is the beam."""
    return {name: value for name, value in asdict(beam).items() if name != "rerank" or value}
