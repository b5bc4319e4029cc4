"""Probabilities that say how often a parser is right (Platt 1999): those of its steps are too sure of themselves.

The probability that an arc is right, head and relation, is taken to be a logistic function of the log odds of the step that
made it; its two parameters are fitted to a part that training did not learn from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Log odds beyond which a step is as sure as any.
_SUREST = 30.0
# Of Newton's method, which needs about six steps here; one that does not help is halved.
_STEPS = 50
_HALVINGS = 30
_PRECISE = 1e-9
# A little pull to the identity, so that parts in which all arcs are right or wrong have a solution, too.
_PRIOR = 1.0


@dataclass(frozen=True)
class Calibration:
    """From the probabilities of steps to those of arcs: logistic(slope * log odds + intercept); at first the identity.

    Raises:
        ValueError: a parameter is not finite, or the slope is not above 0.
    """

    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept) and self.slope > 0):
            raise ValueError(f"a calibration of slope {self.slope} and intercept {self.intercept} cannot be")

    def __call__(self, log_probabilities: np.ndarray) -> np.ndarray:
        """float64[n], 0 to 1, from the natural logarithms of the probabilities of steps."""
        return _logistic(self.slope * _log_odds(log_probabilities) + self.intercept)

    @classmethod
    def fit(cls, log_probabilities: np.ndarray, right: np.ndarray) -> Calibration:
        """The most likely one, given which arcs are right.

        Args:
            log_probabilities: float64[n], natural logarithms.
            right: bool[n].
        """
        inputs = np.stack([_log_odds(log_probabilities), np.ones(len(right))], axis=1)
        identity = np.array([1.0, 0.0])
        parameters = identity.copy()

        def cost(tried: np.ndarray) -> float:
            odds = inputs @ tried
            return float((np.logaddexp(0, odds) - right * odds).sum() + _PRIOR * ((tried - identity) ** 2).sum() / 2)

        for _ in range(_STEPS):
            found = _logistic(inputs @ parameters)
            gradient = inputs.T @ (found - right) + _PRIOR * (parameters - identity)
            curvature = (inputs * (found * (1 - found))[:, None]).T @ inputs + _PRIOR * np.eye(2)
            step = np.linalg.solve(curvature, gradient)
            lengths = 0.5 ** np.arange(_HALVINGS)
            length = next((length for length in lengths if cost(parameters - length * step) < cost(parameters)), 0.0)
            parameters = parameters - length * step
            if length * np.abs(step).max() < _PRECISE:
                break
        slope, intercept = (float(value) for value in parameters)
        usable = math.isfinite(slope) and math.isfinite(intercept) and slope > 0
        return cls(slope, intercept) if usable else cls()


def expected_calibration_error(probabilities: np.ndarray, right: np.ndarray, bins: int = 15) -> float:
    """How far probabilities are from the share of what is right, in percent: mean over bins of equal width (Guo et al. 2017).

    Args:
        probabilities: float64[n], 0 to 1.
        right: bool[n].
        bins: how many bins there are between 0 and 1.
    """
    if not len(right):
        return 0.0
    numbers = np.minimum((probabilities * bins).astype(int), bins - 1)
    differences = np.bincount(numbers, probabilities - right, bins)
    return 100 * float(np.abs(differences).sum()) / len(right)


def _log_odds(log_probabilities: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) from log p, neither end infinite."""
    with np.errstate(divide="ignore"):
        return np.clip(log_probabilities - np.log(-np.expm1(log_probabilities)), -_SUREST, _SUREST)


def _logistic(x: np.ndarray) -> np.ndarray:
    return (1 + np.tanh(x / 2)) / 2  # which does not overflow
