"""Scores of the oracles of Attardi's system beside those of attardi_brute_force.py."""

from __future__ import annotations

import os
import random

import numpy as np

from oracles import NOT_APPLICABLE, Trees
from tests import random_trees
from tests.jit import COMPILED
from tests.oracles import attardi_brute_force

# Exhaustive up to this many tokens; five take minutes.
LARGEST = min(int(os.environ.get("OPTIMAL_STEP_EXHAUSTIVE", "4" if COMPILED else "3")), 5)

DEGREES = (1, 2, 3)


Case = tuple[int, attardi_brute_force.Configuration]  # the sentence, and a configuration of it


def scores_of(bound, found: list[Case]) -> np.ndarray:
    return bound.score_batch(random_trees.query([(s, *configuration) for s, configuration in found]))


def by_name(oracle, row: np.ndarray) -> dict[str, int]:
    return {name: int(score) for name, score in zip(oracle.transition_names, row, strict=True) if score != NOT_APPLICABLE}


def assert_equals_brute_force(oracle, heads: list[list[int]], found: list[Case]) -> None:
    searches = [attardi_brute_force.TransitionScores(tree, oracle.degree) for tree in heads]
    scores = scores_of(oracle.bind(Trees.from_heads(heads)), found)
    assert scores.dtype == np.int16
    assert scores.shape == (len(found), 1 + 2 * oracle.degree)
    wrong = [
        f"{heads[s]} {configuration}: {answer}, not {expected}"
        for (s, configuration), row in zip(found, scores, strict=True)
        if (answer := by_name(oracle, row)) != (expected := searches[s](configuration))
    ]
    assert not wrong, f"{len(wrong)} of {len(found)}; first: {wrong[0]}"


def random_computations(rng: random.Random, heads: list[list[int]], degree: int) -> list[Case]:
    return [(s, now) for s, tree in enumerate(heads) for now in attardi_brute_force.random_computation(rng, len(tree), degree)]
