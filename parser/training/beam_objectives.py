"""What global training learns from a search: which loss, and at which step. It loads fast."""

from __future__ import annotations

from enum import StrEnum


class Objective(StrEnum):
    """The loss of a step: see compiled/beam_steps.py."""

    PERCEPTRON = "perceptron"
    CRF = "crf"


class UpdateStep(StrEnum):
    """The step of a search that is learned from.

    * EARLY: the first without a gold item in the beam; the last if there always is one (Collins and Roark 2004).
    * MAX_VIOLATION: the one with the highest loss (Huang, Fayong and Guo 2012).
    * LAST: the last, that of whole trees; not sound for beams that lose what is gold, but exact for those that hold everything.
    """

    EARLY = "early"
    MAX_VIOLATION = "max_violation"
    LAST = "last"
