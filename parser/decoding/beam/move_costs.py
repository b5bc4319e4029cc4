"""What the moves of a configuration add to the score of a beam's item; beam_scores.py has the compiled twin."""

from __future__ import annotations

import numpy as np

from parser.beam_settings import Scores

LOWEST, HIGHEST = np.float32(np.finfo(np.float32).min), np.float32(np.finfo(np.float32).max)


def finite(scores: np.ndarray) -> np.ndarray:
    """Scores of a classifier, float32[outputs], as float64 without infinities; NaN counts as the lowest number."""
    lowest = float(LOWEST)
    return np.nan_to_num(scores.astype(np.float64), nan=lowest, posinf=float(HIGHEST), neginf=lowest)


def normalizer(scores: np.ndarray, scored: Scores) -> float:
    """What is subtracted from each of these scores, float64[applicable outputs]: see Scores."""
    if scored is Scores.GLOBAL:
        return 0.0
    return float(scores.max() + np.log(np.exp(scores - scores.max()).sum()))
