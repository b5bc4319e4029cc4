"""The pointer system's oracle against all trees that go on from the heads made."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Query, Trees
from tests import random_trees
from tests.jit import COMPILED


class AllTrees:
    """The trees of n tokens, in the order of their heads, so that those that begin with the same heads are neighbours.

    What can be made in the end are all trees, or those in which 0 has one child; so a head that token i may get is one that
    some tree has, after the same heads of the tokens before, and what can still be gained is the best of all such trees.
    """

    def __init__(self, n: int, single_root: bool) -> None:
        trees = sorted(tree for tree in random_trees.all_trees(n) if not single_root or tree.count(0) == 1)
        self.heads = np.array(trees, np.int32).reshape(-1, n)
        made: list[list[int]] = []
        fronts: list[int] = []
        self._steps: list[tuple[np.ndarray, np.ndarray]] = []  # by token: where each prefix begins, and its configuration
        for i in range(n):
            new = np.ones(len(trees), bool)
            new[1:] = (self.heads[1:, : i + 1] != self.heads[:-1, : i + 1]).any(axis=1)
            before = np.ones(len(trees), bool)
            before[1:] = (self.heads[1:, :i] != self.heads[:-1, :i]).any(axis=1)
            starts = np.flatnonzero(new)
            self._steps.append((starts, len(fronts) + np.cumsum(before)[starts] - 1))
            for heads in self.heads[before, :i]:
                made.append([-1, *heads, *[-1] * (n - i)])
                fronts.append(i + 1)
        self.made, self.fronts = np.array(made, np.int32), np.array(fronts, np.int32)

    def query(self, sentence: int) -> Query:
        """All configurations of a sentence."""
        none = np.zeros((len(self.fronts), 1), np.int32)
        return Query(np.full(len(none), sentence, np.int32), none, none[:, 0] + 1, self.fronts, made=self.made)

    def scores(self, gold: Sequence[int]) -> np.ndarray:
        """int[configurations, n + 1]."""
        found = np.full(self.made.shape, NOT_APPLICABLE)
        gains = np.cumsum((self.heads == gold)[:, ::-1], axis=1)[:, ::-1]
        for i, (starts, configurations) in enumerate(self._steps):
            found[configurations, self.heads[starts, i]] = np.maximum.reduceat(gains[:, i], starts)
        return found


def compare(all_trees: AllTrees, golds: Sequence[Sequence[int]], single_root: bool) -> None:
    bound = oracles.create("pointer_cycles", single_root=single_root).bind(Trees.from_heads(golds))
    for s, gold in enumerate(golds):
        np.testing.assert_array_equal(bound.score_batch(all_trees.query(s)), all_trees.scores(gold), str(gold))


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.long), pytest.param(6, marks=pytest.mark.long)])
def test_it_is_exact_everywhere(n, single_root):
    golds = list(random_trees.all_trees(n))
    compare(AllTrees(n, single_root), golds if COMPILED else golds[::10], single_root)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [5, 6])
def test_it_is_exact_for_some_longer_trees(n, single_root):
    rng = random.Random(n)
    golds = [random_trees.random_any_tree(rng, n) for _ in range(20 if COMPILED else 1)]
    compare(AllTrees(n, single_root), golds, single_root)


def test_sentences_of_any_lengths_are_scored_together():
    """Each as if alone, and columns of no node are not applicable."""
    rng = random.Random(1)
    golds = [random_trees.random_any_tree(rng, n) for n in (3, 1, 7, 2, 7)]
    oracle = oracles.create("pointer_cycles")
    made = np.full((5, 8), -1, np.int32)
    fronts = np.array([1, 1, 3, 3, 7], np.int32)
    made[2, 1:3], made[3, 1:3], made[4, 1:7] = [2, 5], [2, 0], [7, 3, 0, 3, 4, 4]
    query = Query(np.arange(5, dtype=np.int32), made[:, :1], np.ones(5, np.int32), fronts, made=made)
    together = oracle.bind(Trees.from_heads(golds)).score_batch(query)
    assert together.shape == (5, 8)
    assert (together[3] == NOT_APPLICABLE).all()  # the buffer is empty
    for row, gold in enumerate(golds):
        n = len(gold)
        alone = oracle.step_scores(gold, range(n + 1), range(fronts[row], n + 1), made=made[row, 1 : fronts[row]].tolist())
        assert alone == {str(h): score for h, score in enumerate(together[row]) if score != NOT_APPLICABLE}
