"""Calibrated probabilities, which say how often a parser is right;
the probabilities of its steps are overconfident.

The share of arcs that are right (head and relation) is modelled as a nondecreasing function of the
probability of the step that made the arc. It is found by isotonic regression (Zadrozny & Elkan
2002) over equally large groups of arcs, on data that training did not learn from. Between the
groups it is linear in the log odds. Steps without an alternative, such as the last one of a
sentence, have their own share, because their probability is always 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError

# Log odds are cut off here.
_SUREST = 30.0
# The number of groups of arcs, and the fewest arcs of a group.
_GROUPS = 20
_FEWEST = 50


@dataclass(frozen=True)
class Calibration:
    """Maps the probabilities of steps to those of arcs; without groups, the identity.

    Attributes:
        log_odds: float[groups], the mean log odds of the steps of each group, ascending.
        shares: float[groups], 0 to 1, the share of each group's arcs that are right; nondecreasing.
        certain: the share of the arcs that are right if there was no other step; None: not known.

    Raises:
        OptimalStepError: the values are invalid.
    """

    log_odds: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    certain: float | None = None

    def __post_init__(self) -> None:
        shares = np.array([*self.shares, *([] if self.certain is None else [self.certain])])
        increases = np.diff(self.log_odds)
        is_paired = (
            len(self.log_odds) == len(self.shares) and np.isfinite([*self.log_odds, *shares]).all()
        )
        is_ascending = (increases > 0).all() and (np.diff(self.shares) >= 0).all()
        if not (is_paired and is_ascending and (shares >= 0).all() and (shares <= 1).all()):
            raise OptimalStepError(
                "a calibration needs ascending log odds, "
                "and for each a share from 0 to 1 that never falls"
            )

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Calibration:
        """Make a calibration from JSON; approximate the slope and intercept of an older version
        (Platt 1999).

        Raises:
            TypeError: an unknown field.
            OptimalStepError: the values are invalid.
        """
        if set(fields) == {"slope", "intercept"}:
            odds = np.linspace(-_SUREST, _SUREST, 241)
            shares = _logistic(fields["slope"] * odds + fields["intercept"])
            return cls(tuple(odds.tolist()), tuple(shares.tolist()))
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
        }
        return cls(**values)

    def __call__(self, log_probabilities: np.ndarray) -> np.ndarray:
        """Return float64[n], 0 to 1, from the natural logarithms of the probabilities of steps."""
        odds = _log_odds(log_probabilities)
        shares = np.interp(odds, self.log_odds, self.shares) if self.shares else _logistic(odds)
        return (
            shares
            if self.certain is None
            else np.where(log_probabilities == 0, self.certain, shares)
        )

    @classmethod
    def fit(cls, log_probabilities: np.ndarray, right: np.ndarray) -> Calibration:
        """Fit a calibration to some arcs; return the identity if there are too few.

        Args:
            log_probabilities: float64[n], natural logarithms of the steps' probabilities;
                NaN (unknown) is left out.
            right: bool[n], whether each arc is right.
        """
        is_known = ~np.isnan(log_probabilities)
        log_probabilities, right = log_probabilities[is_known], right[is_known]
        certain = log_probabilities == 0
        order = np.argsort(log_probabilities[~certain], kind="stable")
        odds, hits = _log_odds(log_probabilities[~certain][order]), right[~certain][order]
        groups = np.array_split(np.arange(len(odds)), min(_GROUPS, len(odds) // _FEWEST) or 1)
        if len(odds) < _FEWEST:
            return cls()
        rising = _rising(
            [(float(odds[group].sum()), float(hits[group].sum()), len(group)) for group in groups]
        )
        share = float(right[certain].mean()) if certain.sum() >= _FEWEST else None
        knots = {odds / size: hits / size for odds, hits, size in rising}
        return cls(tuple(knots), tuple(knots.values()), share)


def expected_calibration_error(
    probabilities: np.ndarray, right: np.ndarray, bins: int = 15
) -> float:
    """Return how far probabilities are from the share of right arcs, in percent:
    mean over equal bins (Guo et al. 2017).

    Args:
        probabilities: float64[n], 0 to 1; NaN (unknown) is left out.
        right: bool[n], whether each arc is right.
        bins: the number of bins of equal width between 0 and 1.
    """
    is_known = ~np.isnan(probabilities)
    probabilities, right = probabilities[is_known], right[is_known]
    if not len(right):
        return 0.0
    numbers = np.minimum((probabilities * bins).astype(int), bins - 1)
    differences = np.bincount(numbers, probabilities - right, bins)
    return 100 * float(np.abs(differences).sum()) / len(right)


def _rising(groups: list[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    """Join neighbouring groups, (sum of log odds, right arcs, arcs),
    until their shares rise (pool adjacent violators).
    """
    joined: list[tuple[float, float, int]] = []
    for group in groups:
        joined.append(group)
        while len(joined) > 1 and joined[-2][1] * joined[-1][2] >= joined[-1][1] * joined[-2][2]:
            (odds, hits, size), (more_odds, more_hits, more) = joined.pop(-2), joined.pop()
            joined.append((odds + more_odds, hits + more_hits, size + more))
    return joined


def _log_odds(log_probabilities: np.ndarray) -> np.ndarray:
    """Return log(p / (1 - p)) from log p, cut off to finite values."""
    with np.errstate(divide="ignore"):
        return np.clip(log_probabilities - np.log(-np.expm1(log_probabilities)), -_SUREST, _SUREST)


def _logistic(x: np.ndarray) -> np.ndarray:
    return (1 + np.tanh(x / 2)) / 2  # does not overflow
