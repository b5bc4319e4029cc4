"""What global training learns from a search: which loss, and at which step. It loads fast."""

from __future__ import annotations

from enum import StrEnum

from omegaconf import OmegaConf

from parser.settings import BeamTrainingSettings


class Objective(StrEnum):
    """The loss of a step: see compiled/beam_steps.py."""

    PERCEPTRON = "perceptron"
    CRF = "crf"
    RISK = "risk"


class UpdateStep(StrEnum):
    """The step of a search that is learned from.

    * EARLY: the first without a gold item in the beam; the last if there always is one (Collins and Roark 2004).
    * MAX_VIOLATION: the one with the highest loss (Huang, Fayong and Guo 2012).
    * LAST: the last, that of whole trees; not sound for beams that lose what is gold, but exact for those that hold everything.
    * EVERY_STEP: all of them, their losses added up (de La Clergerie 2013).
    """

    EARLY = "early"
    MAX_VIOLATION = "max_violation"
    LAST = "last"
    EVERY_STEP = "every_step"


def update_of(settings: BeamTrainingSettings) -> str | None:
    """The setting ``update``, by its name: as an attribute it is the method of a mapping."""
    found: str | None = OmegaConf.select(settings, "update")  # type: ignore[arg-type]
    return found
