"""experiments/head_scorer.py: the maximum spanning tree with one root, against all trees."""

from itertools import product

import numpy as np
import pytest

from experiments.head_scorer import best_tree


def is_tree(heads: tuple[int, ...]) -> bool:
    """Whether heads of words 1..n make a tree with one root."""
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        steps = 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return True


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_the_best_tree_is_the_best_of_all(words):
    draw = np.random.default_rng(words)
    trees = [heads for heads in product(range(words + 1), repeat=words) if is_tree(heads)]
    for _ in range(20):
        scores = draw.normal(0, 3, (words + 1, words + 1, 2)).astype(np.float32)
        scores[:, 0] += 2  # so that several roots would often be best
        tree = best_tree(lambda word, head, scores=scores: scores[word, head], words + 1)
        totals = {
            heads: sum(scores[word, head].max() for word, head in enumerate(heads, 1))
            for heads in trees
        }
        assert tuple(tree.heads) == max(totals, key=totals.__getitem__)
        expected = [scores[word, head].argmax() for word, head in enumerate(tree.heads, 1)]
        assert tree.relations.tolist() == expected
