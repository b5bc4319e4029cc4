"""Sentences of numbered tokens with scores that look random, and what holds of the trees of every search."""

from __future__ import annotations

import numpy as np

from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.decoding.sentence_parser import Tree
from parser.inference.precomputed import Scorer
from tests.decoding.computations import hashed_scores


def sentence_of_tokens(n: int) -> Sentences:
    """A sentence in which the attribute of token i is i + N_RESERVED."""
    return Sentences(np.arange(n + 1, dtype=np.int32)[None] + N_RESERVED, np.array([0, n + 1]))


def hashing_scorer(slots: list[str], n_outputs: int) -> Scorer:
    """computations.hashed_scores() of what the slots read in sentence_of_tokens()."""

    def score(features: np.ndarray) -> np.ndarray:
        read = np.where(features == ABSENT, NO_NODE, features - N_RESERVED)
        return np.array([hashed_scores(tuple(row), n_outputs) for row in read.tolist()], np.float32)

    return score


def check_trees(trees: list[Tree], n: int, root_relation: int | None) -> None:
    """Distinct trees in the order of their scores, each of which has one root with its relation."""
    scores = [tree.score for tree in trees]
    assert scores == sorted(scores, reverse=True)
    assert len({(tree.heads.tobytes(), tree.relations.tobytes()) for tree in trees}) == len(trees) > 0
    for tree in trees:
        assert len(tree.heads) == n
        assert (tree.heads == 0).sum() == 1
        np.testing.assert_array_equal(tree.heads == 0, tree.relations == root_relation)
        for token in range(1, n + 1):
            seen = set()
            while token:
                assert token not in seen
                seen.add(token)
                token = int(tree.heads[token - 1])
