"""Batches of configurations, as BoundOracle.score_batch takes them."""

from __future__ import annotations

import numpy as np

from tests import brute_force

ConfigurationBatch = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def all_configurations(trees: list[list[int]]) -> ConfigurationBatch:
    """Every configuration of every sentence: a subset of 0..b-1 that contains 0, and the buffer b..n."""
    found = [(s, stack, front) for s, heads in enumerate(trees) for stack, front in brute_force.configurations(len(heads))]
    width = max(len(stack) for _, stack, _ in found)
    stacks = np.zeros((len(found), width), np.int32)
    for row, (_, stack, _) in enumerate(found):
        stacks[row, : len(stack)] = stack
    sizes = np.array([len(stack) for _, stack, _ in found], np.int32)
    sentences = np.array([s for s, _, _ in found], np.int32)
    return sentences, stacks, sizes, np.array([front for _, _, front in found], np.int32)
