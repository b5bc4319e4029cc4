"""Logistic regression over hashed features (text/decisions.py), learned by Adagrad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parser.kernels import kernel
from parser.text.decisions import key_of, packed


@kernel()
def _count(atoms, templates, counts):
    """Count, up to 255, how often each feature occurs, at the place that its key determines."""
    mask = np.uint64(len(counts) - 1)
    for row in range(len(atoms)):
        for number in range(len(templates)):
            key = key_of(atoms[row], templates, number)
            if key != 0:
                place = (key >> np.uint64(20)) & mask
                if counts[place] < 255:
                    counts[place] += 1


@kernel(forceinline=True)
def _slot(keys, key):
    mask = np.uint64(len(keys) - 1)
    place = key & mask
    while keys[place] != key and keys[place] != 0:
        place = (place + np.uint64(1)) & mask
    return np.int64(place)


@kernel()
def _enter(atoms, templates, counts, least, keys):
    """Enter the features that occur often enough into a table; return how many there are,
    or -1 if they do not fit.
    """
    mask = np.uint64(len(counts) - 1)
    n = 0
    for row in range(len(atoms)):
        for number in range(len(templates)):
            key = key_of(atoms[row], templates, number)
            if key != 0 and counts[(key >> np.uint64(20)) & mask] >= least:
                slot = _slot(keys, key)
                if keys[slot] == 0:
                    keys[slot] = key
                    n += 1
                    if 2 * n > len(keys):
                        return -1
    return n


@kernel()
def _epoch(atoms, gold, weights, templates, order, keys, values, rate, drop, seed, used):
    """Run an epoch of Adagrad.

    Args:
        atoms, gold, weights: uint64[examples, atoms], bool[examples], float32[examples].
        templates: int32[templates, most atoms].
        order: int64[examples].
        keys, values: the table of features: uint64[2^k], and float32[2^k, 2], the weight and the
            sum of squared gradients.
        rate, drop: the learning rate, and the share of features left out.
        seed: the seed of the choice of features left out.
        used: int64[templates], workspace.
    """
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    limit = np.uint64(drop * 2.0**32)
    scale = 1 / (1 - drop)
    for row in order:
        n = 0
        total = 0.0
        for number in range(len(templates)):
            key = key_of(atoms[row], templates, number)
            if key == 0:
                continue
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            if number > 0 and (state >> np.uint64(32)) < limit:
                continue
            slot = _slot(keys, key)
            if keys[slot] != 0:
                used[n] = slot
                n += 1
                total += values[slot, 0]
        likely = 1 / (1 + math.exp(-min(max(total * scale, -30.0), 30.0)))
        gradient = (likely - gold[row]) * weights[row]
        if abs(gradient) < 1e-4:
            continue
        for k in range(n):
            slot = used[k]
            values[slot, 1] += np.float32(gradient * gradient)
            values[slot, 0] -= np.float32(rate * gradient / math.sqrt(values[slot, 1]))


@dataclass(frozen=True)
class DecisionExamples:
    """Decisions with the right answer: uint64[examples, atoms], bool[examples]."""

    atoms: np.ndarray
    gold: np.ndarray


@dataclass(frozen=True)
class FeatureWeights:
    """Features and their weights: uint64[features], each once, and float32[features]."""

    keys: np.ndarray
    weights: np.ndarray

    def packed(self) -> np.ndarray:
        """Return the table of the features; see decisions.packed()."""
        return packed(self.keys, self.weights)


def mean_of(learned: Sequence[FeatureWeights]) -> FeatureWeights:
    """Return the mean weights of several trainings; a feature that one lacks has weight 0 there."""
    keys, places = np.unique(np.concatenate([one.keys for one in learned]), return_inverse=True)
    sums = np.zeros(len(keys))
    np.add.at(sums, places, np.concatenate([one.weights for one in learned]))
    return FeatureWeights(keys, (sums / len(learned)).astype(np.float32))


@dataclass(frozen=True)
class LogisticRegression:
    """How a decision is learned; the defaults were chosen on dev of vi, ko, got, pt, hu and en.

    Attributes:
        epochs: how often the examples are read.
        rate: the learning rate of Adagrad; it falls with the root of the share of epochs that are
            left.
        drop: the share of features that are left out of each example.
        least: how often a feature must occur in training.
    """

    epochs: int = 6
    rate: float = 0.2
    drop: float = 0.2
    least: int = 2

    def fitted(
        self,
        examples: Sequence[DecisionExamples],
        shares: Sequence[float],
        templates: np.ndarray,
        seed: int,
    ) -> FeatureWeights:
        """Return the weights learned from examples of several texts; ``shares`` says how much each
        text counts.
        """
        chosen = [
            (some, share)
            for some, share in zip(examples, shares, strict=True)
            if share > 0 and len(some.gold)
        ]
        if not chosen:
            return FeatureWeights(np.zeros(0, np.uint64), np.zeros(0, np.float32))
        atoms = np.concatenate([some.atoms for some, _ in chosen])
        gold = np.concatenate([some.gold for some, _ in chosen])
        weights = np.concatenate(
            [np.full(len(some.gold), share, np.float32) for some, share in chosen]
        )
        counts = np.zeros(1 << 24, np.uint8)
        _count(atoms, templates, counts)
        bits = int(4 * np.count_nonzero(counts >= self.least)).bit_length()
        while True:
            keys = np.zeros(1 << bits, np.uint64)
            if _enter(atoms, templates, counts, self.least, keys) >= 0:
                break
            bits += 1
        values = np.zeros((len(keys), 2), np.float32)
        values[:, 1] = 0.01
        random, used = np.random.default_rng(seed), np.empty(len(templates), np.int64)
        for epoch in range(self.epochs):
            rate = self.rate * math.sqrt(1 - epoch / self.epochs)
            _epoch(
                atoms,
                gold,
                weights,
                templates,
                random.permutation(len(gold)),
                keys,
                values,
                rate,
                self.drop,
                seed * 1000 + epoch + 1,
                used,
            )
        there = keys != 0
        return FeatureWeights(keys[there], values[there, 0])
