"""Probabilities that say how often a parser is right: those of its steps are overconfident.

How often an arc is right, head and relation, is taken to be a function of the probability of the step that made it, one
that never falls: isotonic regression (Zadrozny & Elkan 2002) over groups of arcs of equal size, on a part that training did
not learn from, linear in the log odds between the groups. Steps without an alternative, such as the last one of a sentence,
have a share of their own, for their probability says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# Log odds beyond which a step is as sure as any.
_SUREST = 30.0
# Groups of arcs, and how many arcs a group has at least.
_GROUPS = 20
_FEWEST = 50


@dataclass(frozen=True)
class Calibration:
    """From the probabilities of steps to those of arcs; without groups, the identity.

    Attributes:
        log_odds: float[groups], of the steps of each group, ascending.
        shares: float[groups], between 0 and 1, of the arcs of each group that are right; they never fall.
        certain: the share of the arcs that are right where there was no other step; None: it is not known.

    Raises:
        ValueError: a value is not of this kind.
    """

    log_odds: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    certain: float | None = None

    def __post_init__(self) -> None:
        shares = np.array([*self.shares, *([] if self.certain is None else [self.certain])])
        increases = np.diff(self.log_odds)
        if (
            len(self.log_odds) != len(self.shares)
            or not np.isfinite([*self.log_odds, *shares]).all()
            or not ((increases > 0).all() and (np.diff(self.shares) >= 0).all() and (shares >= 0).all() and (shares <= 1).all())
        ):
            raise ValueError("a calibration needs ascending log odds, and a share between 0 and 1 for each that never falls")

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Calibration:
        """From JSON; also from the slope and intercept that an older version fitted (Platt 1999), closely.

        Raises:
            TypeError: an unknown field.
            ValueError: see above.
        """
        if set(fields) == {"slope", "intercept"}:
            odds = np.linspace(-_SUREST, _SUREST, 241)
            shares = _logistic(fields["slope"] * odds + fields["intercept"])
            return cls(tuple(odds.tolist()), tuple(shares.tolist()))
        known: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
        return cls(**known)

    def __call__(self, log_probabilities: np.ndarray) -> np.ndarray:
        """float64[n], 0 to 1, from the natural logarithms of the probabilities of steps."""
        odds = _log_odds(log_probabilities)
        found = np.interp(odds, self.log_odds, self.shares) if self.shares else _logistic(odds)
        return found if self.certain is None else np.where(log_probabilities == 0, self.certain, found)

    @classmethod
    def fit(cls, log_probabilities: np.ndarray, right: np.ndarray) -> Calibration:
        """That of a part; the identity where the part is too small to say more.

        Args:
            log_probabilities: float64[n], natural logarithms; NaN where one is not known, which is left out.
            right: bool[n].
        """
        known = ~np.isnan(log_probabilities)
        log_probabilities, right = log_probabilities[known], right[known]
        certain = log_probabilities == 0
        order = np.argsort(log_probabilities[~certain], kind="stable")
        odds, hits = _log_odds(log_probabilities[~certain][order]), right[~certain][order]
        groups = np.array_split(np.arange(len(odds)), min(_GROUPS, len(odds) // _FEWEST) or 1)
        if len(odds) < _FEWEST:
            return cls()
        rising = _rising([(float(odds[group].sum()), float(hits[group].sum()), len(group)) for group in groups])
        share = float(right[certain].mean()) if certain.sum() >= _FEWEST else None
        knots = {odds / size: hits / size for odds, hits, size in rising}
        return cls(tuple(knots), tuple(knots.values()), share)


def expected_calibration_error(probabilities: np.ndarray, right: np.ndarray, bins: int = 15) -> float:
    """How far probabilities are from the share of what is right, in percent: mean over bins of equal width (Guo et al. 2017).

    Args:
        probabilities: float64[n], 0 to 1; NaN where one is not known, which is left out.
        right: bool[n].
        bins: how many bins there are between 0 and 1.
    """
    known = ~np.isnan(probabilities)
    probabilities, right = probabilities[known], right[known]
    if not len(right):
        return 0.0
    numbers = np.minimum((probabilities * bins).astype(int), bins - 1)
    differences = np.bincount(numbers, probabilities - right, bins)
    return 100 * float(np.abs(differences).sum()) / len(right)


def _rising(groups: list[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    """Joins neighbouring groups, (sum of log odds, right arcs, arcs), until their shares rise (pool adjacent violators)."""
    joined: list[tuple[float, float, int]] = []
    for group in groups:
        joined.append(group)
        while len(joined) > 1 and joined[-2][1] * joined[-1][2] >= joined[-1][1] * joined[-2][2]:
            (odds, hits, size), (more_odds, more_hits, more) = joined.pop(-2), joined.pop()
            joined.append((odds + more_odds, hits + more_hits, size + more))
    return joined


def _log_odds(log_probabilities: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) from log p, neither end infinite."""
    with np.errstate(divide="ignore"):
        return np.clip(log_probabilities - np.log(-np.expm1(log_probabilities)), -_SUREST, _SUREST)


def _logistic(x: np.ndarray) -> np.ndarray:
    return (1 + np.tanh(x / 2)) / 2  # which does not overflow
