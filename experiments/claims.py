"""The claims of the paper's Section 8.3, and a question of ours, tested on the rows of Table 7.

Section 8.3 says that accuracy is generally higher if training can benefit from all trees: column 2 over 1, 4 over 3, 5 over
3; and that using the original trees is slightly better in a few cases: 5 over 4, which an open difference does not
contradict. Whether a second pass helps, 3 over 1 and 4 over 2, is our question, not a claim of the paper.

Each line says that one column is better than another. The difference of their LAS is estimated per treebank and over all,
with intervals from a paired bootstrap: sentences of the test part and seeds are drawn with replacement, the same ones for both
columns (which share the first pass of a seed where Table 7 lets them), 2,000 times; the interval holds the middle 95% of the
differences. What it is computed from is in RECIPE_counts.csv beside the rows (see counts.py), what came out in claims.csv.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from experiments.counts import AllCounts
from experiments.trainings import Row

# (better, worse) columns. Nederhof (2019), Section 8.3: training benefits from all trees; then, "in a few cases" only,
# original trees.
CLAIMS = ((2, 1), (4, 3), (5, 3), (5, 4))

# Our question, which the paper claims nothing about: whether a second pass helps.
SECOND_PASS = ((3, 1), (4, 2))

_DRAWS = 2000

Key = tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """LAS of one column minus that of another, in points: the mean, and the middle 95% of the bootstrap."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"

    @property
    def verdict(self) -> str:
        """What the interval says of the claim that the difference is positive."""
        return "holds" if self.low > 0 else "the opposite holds" if self.high < 0 else "open"


@dataclass(frozen=True)
class Claim:
    """A line of claims.csv: a claim tested on some treebanks together."""

    recipe: str
    treebanks: str
    better: str
    worse: str
    mean: str
    low: str
    high: str

    @property
    def key(self) -> Key:
        """What there is one line for."""
        return self.recipe, self.treebanks, self.better, self.worse

    @property
    def difference(self) -> Difference:
        """What was found."""
        return Difference(float(self.mean), float(self.low), float(self.high))


def counted(counts: AllCounts, rows: Mapping[Key, Row], recipe: str) -> AllCounts:
    """The counts of rows of a recipe that are there, made with the same settings."""
    found = {(row.treebank, int(row.column), int(row.seed)): row.config for row in rows.values() if row.recipe == recipe}
    return {key: of_one for key, of_one in counts.items() if found.get(key) == of_one.config}


def claims_from(counts: AllCounts, recipe: str, treebanks: Sequence[str], before: Mapping[Key, Claim]) -> dict[Key, Claim]:
    """The claims of each treebank, and of all together.

    Args:
        counts: of the trainings to test them on.
        recipe: of these trainings.
        treebanks: in the order of the table.
        before: what came out earlier; it stays where there are no counts to compute it from.
    """
    claims = {key: claim for key, claim in before.items() if key[0] == recipe}
    trained = [treebank for treebank in treebanks if any(key[0] == treebank for key in counts)]
    for names in {(name,): None for name in trained} | {tuple(trained): None}:
        for better, worse in (*CLAIMS, *SECOND_PASS):
            found = difference(counts, names, better, worse) if names else None
            if found is not None:
                numbers = (f"{number:.4f}" for number in (found.mean, found.low, found.high))
                claim = Claim(recipe, " ".join(names), str(better), str(worse), *numbers)
                claims[claim.key] = claim
    return claims


def as_table(claims: Iterable[Claim], pairs: Sequence[tuple[int, int]], treebanks: Sequence[str], label: str = "") -> list[str]:
    """Lines of Markdown, without the head; a line for each treebank that there are claims of, and each set of them.

    Args:
        claims: of one recipe.
        pairs: the columns (better, worse) that the table is about.
        treebanks: in the order of the table.
        label: is put after the treebank's name.
    """
    by_names: dict[tuple[str, ...], dict[tuple[int, int], Claim]] = {}
    for claim in claims:
        by_names.setdefault(tuple(claim.treebanks.split()), {})[int(claim.better), int(claim.worse)] = claim
    order = {name: number for number, name in enumerate(treebanks)}
    lines = []
    for names in sorted(by_names, key=lambda names: (len(names), [order.get(name, len(order)) for name in names])):
        found = (by_names[names].get(pair) for pair in pairs)
        cells = ["no counts" if c is None else f"{c.difference}, {c.difference.verdict}" for c in found]
        name = names[0] if len(names) == 1 else f"{', '.join(names)} together"
        lines.append(f"| {name}{label} | " + " | ".join(cells) + " |")
    return lines


def difference(counts: AllCounts, languages: Sequence[str], better: int, worse: int) -> Difference | None:
    """LAS of a column minus LAS of another, the mean over treebanks; None if a treebank has no seed with both."""
    gains, words = [], []
    for language in languages:
        seeds = sorted(s for t, c, s in counts if t == language and c == better and (language, worse, s) in counts)
        if not seeds:
            return None
        words.append(counts[language, better, seeds[0]].words)
        gains.append(np.stack([counts[language, better, s].las - counts[language, worse, s].las for s in seeds]))
    means = [100 * gain.sum(axis=1).mean() / of_one.sum() for gain, of_one in zip(gains, words, strict=True)]
    samples = _samples(tuple(gain.shape for gain in gains), _DRAWS)
    draws = [_draws(gain, of_one, *drawn) for gain, of_one, drawn in zip(gains, words, samples, strict=True)]
    low, high = np.percentile(np.mean(draws, axis=0), [2.5, 97.5])
    return Difference(float(np.mean(means)), float(low), float(high))


@cache
def _samples(shapes: tuple[tuple[int, int], ...], draws: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """What is drawn with replacement from this many seeds and sentences, of each treebank; the same for all pairs of columns.

    Returns:
        int64[draws, seeds], the seeds, and int16[draws, sentences], how often each sentence was drawn.
    """
    rng = np.random.default_rng(0)
    found = []
    for seeds, sentences in shapes:
        chosen, times = np.empty((draws, seeds), np.int64), np.empty((draws, sentences), np.int16)
        for i in range(draws):
            times[i] = rng.multinomial(sentences, np.full(sentences, 1 / sentences))
            chosen[i] = rng.integers(0, seeds, seeds)
        found.append((chosen, times))
    return found


def _draws(gain: np.ndarray, words: np.ndarray, seeds: np.ndarray, times: np.ndarray) -> np.ndarray:
    """float64[draws], the differences in points of what was drawn; ``gain`` is int64[seeds, sentences]."""
    shares = np.stack([np.bincount(drawn, minlength=len(gain)) for drawn in seeds]) / seeds.shape[1]
    return 100 * ((times @ gain.T) * shares).sum(axis=1) / (times @ words)
