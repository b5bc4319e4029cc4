"""The beam that a parser searches with, from the options of optimal-step parse or from a model's
folder.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from numbers import Integral
from typing import Any

from oracles.errors import OptimalStepError, did_you_mean

# More items are never useful, and a step compares all pairs of items.
MAX_SIZE = 1024


class BeamError(OptimalStepError):
    """An invalid or unsupported search; the message says what to do."""


class Merge(StrEnum):
    """The items of a step that become one.

    * NONE: none, so the beam may have the same tree several times,
      with its arcs made in different orders.
    * CONFIGURATION: items with the same stack of the same trees; no tree is lost.
    * SIGNATURE: items that no feature will ever distinguish, with arc-standard; see
      decoding/beam/signature.py.
    """

    NONE = "none"
    CONFIGURATION = "configuration"
    SIGNATURE = "signature"


class Scores(StrEnum):
    """The score of a transition.

    * LOCAL: the logarithm of its probability among the applicable ones, for a classifier trained
      transition by transition.
    * GLOBAL: the classifier's score itself, for a classifier trained on whole computations.
    """

    LOCAL = "local"
    GLOBAL = "global"


@dataclass(frozen=True)
class Beam:
    """A beam: how many items it keeps after each step, which of them it merges,
    and how transitions are scored.

    With ``rerank``, the heads that the encoder predicts help to choose among its trees
    (decoding/beam/reranking.py).

    Raises:
        BeamError: the size is not a number from 1 to MAX_SIZE, merge or scores are unknown,
            or one tree is to be reranked.
    """

    size: int
    merge: Merge = Merge.CONFIGURATION
    scores: Scores = Scores.LOCAL
    rerank: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.size, Integral) and not isinstance(self.size, bool):
            object.__setattr__(self, "size", int(self.size))  # may be numpy's
        if type(self.size) is not int or not 1 <= self.size <= MAX_SIZE:
            raise BeamError(
                f"a beam of {self.size} items is not possible; "
                f"give a size from 1 (greedy) to {MAX_SIZE}"
            )
        if type(self.rerank) is not bool:
            raise BeamError(f"rerank={self.rerank} is not possible; it is true or false")
        if self.rerank and self.size == 1:
            raise BeamError(
                "reranking needs several trees, and without a beam there is one; "
                "give a beam size, such as 8"
            )
        for name, kind in {"merge": Merge, "scores": Scores}.items():
            value = getattr(self, name)
            if value not in [*kind]:
                near = did_you_mean(str(value), kind)
                raise BeamError(
                    f"{name}={value} is unknown to a beam{near}; known: {', '.join(kind)}"
                )
            object.__setattr__(self, name, kind(value))

    def without_signatures(self) -> Beam:
        """Return the beam for training and lattices:
        it merges equal configurations instead of equal signatures.
        """
        return replace(self, merge=Merge.CONFIGURATION) if self.merge is Merge.SIGNATURE else self

    def check_k_best(self, k: int) -> None:
        """Refuse to look for more trees than the beam has items.

        Raises:
            BeamError: the message says what to do.
        """
        if k < 1 or (k > self.size and self.merge is not Merge.SIGNATURE):
            raise BeamError(
                f"a beam of {self.size} cannot yield the {k} best trees; ask for 1 to {self.size}, "
                f"widen the beam, or let its items stand for many trees (merge={Merge.SIGNATURE})"
            )


def is_greedy(beam: Beam | None) -> bool:
    """Return whether a search with this beam is greedy parsing."""
    return beam is None or beam.size == 1


def searching(
    own: Beam | None, size: int | None = None, merge: Merge | None = None, rerank: bool = False
) -> Beam | None:
    """Return the beam to search with: the model's own, changed by the arguments.

    Args:
        own: the model's beam; None: greedy.
        size: how many items the beam has, 1 to parse greedily.
        rerank: whether its trees are reranked, even if the model's beam does not say so.

    Raises:
        BeamError: such a beam is impossible.
    """
    if size is None and merge is None and not rerank:
        return own
    beam = own or Beam(1)
    size = beam.size if size is None else size
    if merge is not None and size == 1:
        raise BeamError(
            f"merge={merge} needs a beam, and without one the parser is greedy; "
            "give a beam size, such as 8"
        )
    return replace(beam, size=size, merge=merge or beam.merge, rerank=rerank or beam.rerank)


def as_fields(beam: Beam) -> dict[str, Any]:
    """Return a beam as plain values, as a model's folder holds it:
    ``Beam(**as_fields(beam))`` is the beam.
    """
    return {name: value for name, value in asdict(beam).items() if name != "rerank" or value}
