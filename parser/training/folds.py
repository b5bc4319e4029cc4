"""An honest score for a small treebank: a run for each fold of its sentences, tested on that fold, and all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any


def together(folds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What metrics.json holds of the runs of all folds.

    Args:
        folds: the metrics of each run, at least two.

    Returns:
        The labels of the runs; ``train`` of the first one; ``dev``: the mean, if there is such a part; ``test``: of the
        sentences of all folds together; ``test_mean`` and ``test_standard_deviation`` (of a sample) over folds; ``folds``: the
        ``test`` of each.
    """
    first = folds[0]
    labels = {key: value for key, value in first.items() if value is None or isinstance(value, str | int)}
    tests = [fold["test"] for fold in folds]
    return labels | {
        "train": first["train"],
        "dev": first["dev"] and {key: fmean(fold["dev"][key] for fold in folds) for key in first["dev"]},
        "test": {key: _together(key, folds) for key in tests[0]},
        "test_mean": {key: fmean(test[key] for test in tests) for key in tests[0]},
        "test_standard_deviation": {key: stdev(test[key] for test in tests) for key in tests[0]},
        "folds": tests,
        "seconds": {"total": round(sum(sum(fold["seconds"].values()) for fold in folds), 3)},
        "versions": first["versions"],
    }


def _together(key: str, folds: Sequence[dict[str, Any]]) -> float:
    """A percentage of the words of all folds."""
    counted = "words_nopunct" if key.endswith("_nopunct") else "words"
    weights = [fold["test_part"][counted] for fold in folds]
    return sum(fold["test"][key] * n for fold, n in zip(folds, weights, strict=True)) / max(sum(weights), 1)
