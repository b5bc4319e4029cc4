"""Notices training that diverges: a loss that is not a number, or far above that of a classifier that guesses."""

from __future__ import annotations

import math

from torch import Tensor

from parser.settings import Settings

# An epoch whose mean loss is this many times that of guessing has diverged: its classifier is sure of what is wrong. The first
# updates can cost much and the later ones little; a whole epoch does not.
_TIMES_GUESSING = 10

# The highest values at which training is known to go well, by optimizer where they differ.
_USUAL_RATE = {"sgd": 1.0, "adam": 0.01, "adamw": 0.01}
_USUAL_MOMENTUM = 0.99
_USUAL_DECAY = 0.1


class DivergenceError(ValueError):
    """Training has diverged; the message says where, and which settings can be the cause."""


def check_losses(
    settings: Settings, n_outputs: int, where: str, mean: float, losses: list[float | Tensor], moves: float = 1.0
) -> None:
    """Refuses the losses of an epoch that has diverged.

    Args:
        settings: of the run.
        n_outputs: what the classifier chooses from.
        where: the pass and the epoch, for the message.
        mean: mean loss of the epoch, in nats per example.
        losses: mean loss of each update's batch.
        moves: of an example; with a teacher, the weight of what it says counts as this many more.

    Raises:
        DivergenceError: the mean is not finite, or too high.
    """
    guessing = moves * math.log(n_outputs)
    limit = _TIMES_GUESSING * guessing
    if mean <= limit:  # not so for NaN
        return
    values = [float(loss) for loss in losses]
    step = next((i for i, value in enumerate(values) if not value <= limit), len(values) - 1)
    raise DivergenceError(
        f"training diverged in the {where}: the loss of update {step + 1} of {len(values)} is {values[step]:.4g}, where "
        f"guessing costs {guessing:.2g}; lower {' or '.join(suspects(settings))}"
    )


def suspects(settings: Settings) -> list[str]:
    """The settings, with their values, that are higher than is usual; if none is, all that can make training diverge."""
    optimizer = settings.optimizer
    found = [
        (f"optimizer.learning_rate={optimizer.learning_rate:g}", optimizer.learning_rate, _USUAL_RATE[optimizer.name]),
        (f"optimizer.momentum={optimizer.momentum:g}", optimizer.momentum, _USUAL_MOMENTUM),
        (f"optimizer.weight_decay={optimizer.weight_decay:g}", optimizer.weight_decay, _USUAL_DECAY),
    ]
    unusual = [named for named, value, usual in found if value > usual]
    possible = [named for named, value, _ in found if value > 0]
    if settings.vectors.file is not None:
        possible.append(f"the numbers in vectors.file={settings.vectors.file}")
    return unusual or possible
