"""The scores of a treebank that is tested fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from parser.evaluation.gold_split import KNOWN_HEADS, counted_by


def pool_folds(folds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return metrics for all folds, in the form of metrics.json: the test score is over every
    sentence of a small treebank.

    Args:
        folds: the metrics of at least two runs, each tested on its fold.

    Returns:
        The labels of the runs; ``train`` of the first run; ``dev``: the mean, if there is such a
        split; ``test``: the score over the sentences of all folds; ``test_mean`` and
        ``test_standard_deviation`` (of a sample) over folds; ``folds``: the ``test`` of each. If
        only some folds have a score, such as that of one of several treebanks, it is over these
        folds.
    """
    first = folds[0]
    labels = {
        key: value for key, value in first.items() if value is None or isinstance(value, str | int)
    }
    tests = [fold["test"] for fold in folds]
    return labels | {
        "train": first["train"],
        "dev": first["dev"]
        and {
            key: fmean(scores) for key, scores in _by_key([fold["dev"] for fold in folds]).items()
        },
        "test": {key: _pooled(key, folds) for key in _by_key(tests)},
        "test_mean": {key: fmean(scores) for key, scores in _by_key(tests).items()},
        "test_standard_deviation": {
            key: stdev(scores) for key, scores in _by_key(tests).items() if len(scores) > 1
        },
        "folds": tests,
        "seconds": {"total": round(sum(sum(fold["seconds"].values()) for fold in folds), 3)},
        "versions": first["versions"],
    }


def _by_key(measurements: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    """Return the scores of several measurements by key."""
    scores: dict[str, list[float]] = {}
    for measurement in measurements:
        for key, score in measurement.items():
            scores.setdefault(key, []).append(score)
    return scores


def _pooled(key: str, folds: Sequence[dict[str, Any]]) -> float:
    """Return the percentage over the words of all folds, or the sum if the score is a count."""
    if key == KNOWN_HEADS:  # missing if all heads are known
        return sum(fold["test"].get(key, fold["test_part"]["words"]) for fold in folds)
    having = [fold for fold in folds if key in fold["test"]]
    weights = [fold["test_part"][counted_by(key)] for fold in having]
    return sum(fold["test"][key] * n for fold, n in zip(having, weights, strict=True)) / max(
        sum(weights), 1
    )
