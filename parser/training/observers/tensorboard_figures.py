"""Figures of a dev part for TensorBoard: LAS by distance of the head and by relation, and which relations are taken for others.

They are drawn by matplotlib, which the extra ``experiments`` brings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from parser.data.sentences import Parses
from parser.evaluation.gold_part import GoldPart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 20  # relations in a figure
_FURTHEST = 10  # distances from here on are one


def figures(gold: GoldPart, parses: Parses, relations: Sequence[str]) -> dict[str, Figure]:
    """The figures by name.

    Args:
        gold: the dev part.
        parses: what the parser makes of it.
        relations: the parser's relations, by number.
    """
    deprels = list(chain.from_iterable(sentence.deprels for sentence in gold.source))
    correct = gold.correct(parses)[1].astype(bool)
    by_relation = _shares(deprels, correct)
    common = dict(sorted(by_relation.items(), key=lambda item: -item[1][1])[:_MOST])
    words = np.ones(len(parses.heads), np.bool_)
    words[parses.offsets[:-1]] = False
    found = [relations[number] for number in parses.relations[words].tolist()]
    return {
        "dev/las_by_distance": _bars(_shares(_distances(gold), correct), "words from the head (0: the root)"),
        "dev/las_by_relation": _bars(common, "gold relation"),
        "dev/confusion": _confusion(Counter(zip(deprels, found, strict=True)), list(map(str, common))),
    }


def _distances(gold: GoldPart) -> list[int]:
    numbers = chain.from_iterable(range(1, len(sentence) + 1) for sentence in gold.source)
    pairs = zip(numbers, gold.heads.tolist(), strict=True)
    return [min(abs(head - number), _FURTHEST) if head else 0 for number, head in pairs]


def _shares(groups: Sequence[Hashable], correct: np.ndarray) -> dict[Hashable, tuple[float, int]]:
    """By group, in order: the percentage of its words that are right, and how many it has."""
    totals, right = Counter(groups), Counter(group for group, is_right in zip(groups, correct, strict=True) if is_right)
    return {
        group: (100 * right[group] / total, total) for group, total in sorted(totals.items(), key=lambda item: str(item[0]))
    }


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure  # slow to load, and an extra

    return Figure(figsize=(width, height), layout="constrained")


def _bars(shares: Mapping[Hashable, tuple[float, int]], title: str) -> Figure:
    names = list(shares)
    if all(isinstance(name, int) for name in names):
        names.sort(key=lambda name: int(str(name)))
    figure = _figure(7, 0.8 + 0.28 * len(names))
    axes = figure.add_subplot()
    places = range(len(names))
    axes.barh(places, [shares[name][0] for name in names], color="#8fb3d9")
    for place, name in zip(places, names, strict=True):
        axes.text(1, place, f"{shares[name][0]:.1f}  ({shares[name][1]:,} words)", va="center", fontsize=8)
    labels = [f"{name} or more" if name == _FURTHEST else str(name) for name in names]
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("LAS")
    axes.set_ylabel(title)
    return figure


def _confusion(counts: Counter[tuple[str, str]], names: list[str]) -> Figure:
    matrix = np.array([[counts[gold, system] for system in names] for gold in names], float)
    totals = Counter[str]()
    for (gold, _), n in counts.items():
        totals[gold] += n
    shares = matrix / np.array([[totals[gold]] for gold in names])
    figure = _figure(1.5 + 0.38 * len(names), 1.2 + 0.38 * len(names))
    axes = figure.add_subplot()
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)  # the root, so that rare errors are to be seen
    for row, column in zip(*np.nonzero(matrix), strict=True):
        color = "white" if shares[row, column] > 0.4 else "black"
        axes.text(column, row, f"{matrix[row, column]:.0f}", ha="center", va="center", fontsize=6, color=color)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("parser")
    axes.set_ylabel("gold")
    return figure
