"""How a beam searches: what parse.py is told, and what a model's folder remembers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

# More items than any search is worth; a step compares each of them with each.
MAX_SIZE = 1024


class BeamError(ValueError):
    """A beam that cannot be, or cannot do what is asked of it; the message says the fix."""


class Merge(StrEnum):
    """Which items of a step become one.

    * NONE: none, so the same tree may be there several times, as its arcs were made in several orders.
    * CONFIGURATION: those with the same stack of the same trees; nothing is lost by it.
    * SIGNATURE: those that no feature will ever tell apart, with arc-standard; see merging_search.py.
    """

    NONE = "none"
    CONFIGURATION = "configuration"
    SIGNATURE = "signature"


class Scores(StrEnum):
    """What a move costs.

    * LOCAL: the logarithm of its probability among the applicable ones, as the classifier is trained move by move.
    * GLOBAL: the classifier's score as it is, for one that is trained on whole computations.
    """

    LOCAL = "local"
    GLOBAL = "global"


@dataclass(frozen=True)
class Beam:
    """A beam: how many items it keeps after each step, which of them it merges, and what moves cost.

    Raises:
        BeamError: the size is no number from 1 to MAX_SIZE, or merge or scores are unknown.
    """

    size: int
    merge: Merge = Merge.CONFIGURATION
    scores: Scores = Scores.LOCAL

    def __post_init__(self) -> None:
        if type(self.size) is not int or not 1 <= self.size <= MAX_SIZE:
            raise BeamError(f"a beam of {self.size} items is not possible; give a size from 1 (greedy) to {MAX_SIZE}")
        for name, choices in (("merge", Merge), ("scores", Scores)):
            value = getattr(self, name)
            if value not in [*choices]:
                known = ", ".join(choices)
                raise BeamError(f"{name}={value} is not known to a beam; it can be: {known}")
            object.__setattr__(self, name, choices(value))

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
                f"the {k} best trees cannot come out of a beam of {self.size}; ask for 1 to {self.size}, widen the beam, or "
                f"let its items stand for many trees (merge={Merge.SIGNATURE})"
            )
