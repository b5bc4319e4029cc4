"""Errors word by word: accuracy by relation, length, distance, depth and projectivity, and
confusion of relations. Intervals and tests over sentences.

Words count as in scores.py. A group's recall is over its gold words, its precision over its system
words; the system's own tree assigns system words to groups. So the groups of ``by`` sum up to the
LAS of evaluate_files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError, did_you_mean
from parser.conllu.checks import EMPTY, ConlluError
from parser.evaluation.evaluated_text import ROOT, UNKNOWN, EvaluatedText, align, read_text
from parser.evaluation.scores import NOT_ALIGNED, Score, nonprojective_edges, text_difference

SAMPLES = 2000  # samples of the bootstrap, and swaps of the randomization test
_NOTHING = "(none)"  # the relation of a gold word without an aligned system word
_MAX_BIN = 7  # longer distances and depths are in the same group


@dataclass(frozen=True)
class Comparison:
    """A comparison of a system's file with the gold one. Words are numbered over the whole file.

    Attributes:
        aligned: int64[gold words], the aligned system word, or NOT_ALIGNED.
        attached: bool[gold words], whether the aligned word has the right head.
        labelled: bool[gold words], whether it has the right head and relation, subtypes included.
        sentences: int64[gold words], the number of the word's sentence, from 0.
        system_sentences: int64[system words],
            the number of the gold sentence in which the word begins.
    """

    gold: EvaluatedText
    system: EvaluatedText
    aligned: np.ndarray
    attached: np.ndarray
    labelled: np.ndarray
    sentences: np.ndarray
    system_sentences: np.ndarray

    def las_counts(self) -> np.ndarray:
        """Return int64[sentences, 3]: for each gold sentence the number of right words,
        gold words and system words.
        """
        n = len(self.gold.sentences)
        right = np.bincount(self.sentences[self.labelled], minlength=n)
        return np.stack(
            [right, self.sentence_sizes(), np.bincount(self.system_sentences, minlength=n)], axis=1
        )

    def uas_counts(self) -> np.ndarray:
        """Return the same as las_counts(), but words with the right head count as right."""
        counts = self.las_counts()
        counts[:, 0] = np.bincount(self.sentences[self.attached], minlength=len(counts))
        return counts

    def by(self, what: str) -> dict[str, Score]:
        """Return LAS by group of words, in the groups' natural order,
        or the most frequent relation first.

        Args:
            what: one of GROUPINGS.

        Raises:
            OptimalStepError: no such grouping; the message lists them.
        """
        if what not in GROUPINGS:
            near = did_you_mean(what, GROUPINGS)
            raise OptimalStepError(
                f"words cannot be grouped by {what!r}{near}, only by {', '.join(GROUPINGS)}"
            )
        gold, system = GROUPINGS[what](self.gold), GROUPINGS[what](self.system)
        gold_counts, system_counts = Counter(gold), Counter(system)
        right = Counter(
            group for group, is_right in zip(gold, self.labelled.tolist(), strict=True) if is_right
        )
        is_aligned = Counter(
            group for group, word in zip(gold, self.aligned.tolist(), strict=True) if word >= 0
        )
        groups = sorted(gold_counts.keys() | system_counts.keys())
        if what == "relation":
            groups.sort(key=lambda group: -gold_counts[group])
        return {
            str(group[-1] if isinstance(group, tuple) else group): Score(
                right[group], gold_counts[group], system_counts[group], is_aligned[group]
            )
            for group in groups
        }

    def confusion(self) -> Counter[tuple[str, str]]:
        """Count the pairs of a gold relation and the system's relation,
        whether or not the head is right.
        """
        pairs: Counter[tuple[str, str]] = Counter()
        for g, s in enumerate(self.aligned.tolist()):
            pairs[self.gold.relations[g], self.system.relations[s] if s >= 0 else _NOTHING] += 1
        return pairs

    def sentence_sizes(self) -> np.ndarray:
        """Return int64[sentences], the number of words of each gold sentence."""
        return np.bincount(self.sentences, minlength=len(self.gold.sentences))

    def worst(self, most: int) -> list[int]:
        """Return the numbers, from 0, of the gold sentences with the most wrong words, at least one
        each, the worst first.
        """
        counts = self.las_counts()
        wrong = counts[:, 1] - counts[:, 0]
        order = np.argsort(-wrong, kind="stable")[:most]
        return [int(s) for s in order if wrong[s]]


def compare(gold: str | Path, system: str | Path) -> Comparison:
    """Compare a file of trees with the gold file; raise as evaluate_files() does."""
    gold_text, system_text = read_text(gold, partial=True), read_text(system)
    if UNKNOWN in gold_text.parents or EMPTY in gold_text.relations:
        fix = "give a gold file of complete trees, or omit --by and --confusion"
        raise ConlluError(
            f"{gold}: some HEAD or DEPREL is _, "
            f"but a comparison word by word needs complete trees; {fix}"
        )
    if gold_text.characters != system_text.characters:
        raise ConlluError(text_difference(gold_text, system_text))
    pairs = align(gold_text.spans, system_text.spans)
    gold_of = {s: g for g, s in pairs} | {ROOT: ROOT}
    n = len(gold_text.spans)
    aligned = np.full(n, NOT_ALIGNED, np.int64)
    attached, labelled = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for g, s in pairs:
        aligned[g] = s
        attached[g] = gold_of.get(system_text.parents[s], NOT_ALIGNED) == gold_text.parents[g]
        labelled[g] = attached[g] and gold_text.relations[g] == system_text.relations[s]
    starts = [start for start, _ in gold_text.sentences]

    def sentences(text: EvaluatedText) -> np.ndarray:
        return np.searchsorted(starts, text.spans.starts, side="right") - 1

    return Comparison(
        gold_text,
        system_text,
        aligned,
        attached,
        labelled,
        sentences(gold_text),
        sentences(system_text),
    )


def f1(counts: np.ndarray) -> np.ndarray:
    """Return float64[...], the F1 in percent for sums of las_counts() (int64[..., 3])."""
    return 200.0 * counts[..., 0] / np.maximum(1, counts[..., 1] + counts[..., 2])


def interval(counts: np.ndarray) -> tuple[float, float]:
    """Return the middle 95% of the F1 of samples of sentences, drawn with replacement (percentile
    bootstrap, Efron 1979).
    """
    n = len(counts)
    draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=SAMPLES)
    low, high = np.percentile(f1(draws @ counts), (2.5, 97.5))
    return float(low), float(high)


def randomization_test(one: np.ndarray, other: np.ndarray) -> float:
    """Return the two-sided p of paired approximate randomization (Noreen 1989; Yeh 2000).

    In a swap, the systems exchange their outputs on randomly chosen sentences. p is the share of
    swaps after which their F1 differ at least as much as before; the swap of nothing is one of
    them.

    Args:
        one, other: las_counts() or uas_counts() of two systems against the same gold file.
    """
    observed = abs(f1(one.sum(axis=0)) - f1(other.sum(axis=0)))
    swap = np.random.default_rng(0).integers(0, 2, size=(SAMPLES, len(one)))
    moved = swap @ (other - one)
    differences = np.abs(f1(one.sum(axis=0) + moved) - f1(other.sum(axis=0) - moved))
    return float((1 + (differences >= observed - 1e-12).sum()) / (1 + SAMPLES))


def _lengths(text: EvaluatedText) -> list[Any]:
    """Return, for each word, the length of its sentence in words, in groups of ten lengths."""
    bounds = np.searchsorted(text.spans.starts, [start for start, _ in text.sentences])
    sizes = np.diff([*bounds, len(text.spans)])
    groups: list[Any] = []
    for size in sizes.tolist():
        first = 10 * min((size - 1) // 10, 5) + 1
        groups += [(first, f"{first}-{first + 9}" if first < 51 else f"{first} or more")] * size
    return groups


def _distances(text: EvaluatedText) -> list[Any]:
    """Return how far each word's head is."""
    return [
        (0, "root") if head == ROOT else _binned(abs(head - word))
        for word, head in enumerate(text.parents)
    ]


def _depths(text: EvaluatedText) -> list[Any]:
    """Return how many arcs each word is below the artificial root."""
    depths: list[int] = [0] * len(text.parents)
    for word in range(len(depths)):
        path = []
        at = word
        while at != ROOT and not depths[at]:
            path.append(at)
            at = text.parents[at]
        base = depths[at] if at != ROOT else 0
        for step, node in enumerate(reversed(path), 1):
            depths[node] = base + step
    return [_binned(depth) for depth in depths]


def _projectivities(text: EvaluatedText) -> list[Any]:
    """Return whether each word's arc is projective, in O(words times their distance)."""
    # words from 1 on, ROOT as 0
    others = set(nonprojective_edges([1 + head for head in text.parents]))
    return [
        "not projective" if word in others else "projective"
        for word in range(1, 1 + len(text.parents))
    ]


def _binned(number: int) -> tuple[int, str]:
    return (number, str(number)) if number < _MAX_BIN else (_MAX_BIN, f"{_MAX_BIN} or more")


# By name of a grouping: a function that returns each word's group, a name or a tuple (order, name).
GROUPINGS: dict[str, Callable[[EvaluatedText], Sequence[Any]]] = {
    "relation": lambda text: text.relations,
    "length": _lengths,
    "distance": _distances,
    "depth": _depths,
    "projectivity": _projectivities,
}
