"""Non-projective edges: which there are, and how many of them a parser finds.

An edge is non-projective if a node between head and child does not descend from the head (the artificial root, at the left, is
a node, and every node descends from it). Whether an edge is so depends on the rest of its tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class NonprojectiveEdges:
    """Counts of one part; relations do not matter.

    Attributes:
        predicted: non-projective edges of the parser's trees.
        predicted_right: those of them whose head is the gold one.
        gold: non-projective edges of the gold trees.
        gold_found: those of them that the parser has, too.
        trees: all trees.
        predicted_trees: the parser's trees with such an edge.
        gold_trees: the gold trees with such an edge.
    """

    predicted: int
    predicted_right: int
    gold: int
    gold_found: int
    trees: int
    predicted_trees: int
    gold_trees: int

    @property
    def precision(self) -> float:
        """Percentage of the predicted edges that are right; 0 if there is none."""
        return 100 * self.predicted_right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Percentage of the gold edges that are found; 0 if there is none."""
        return 100 * self.gold_found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def tree_percents(self) -> tuple[float, float]:
        """Percentage of the trees that are not projective, of the parser's and of the gold ones."""
        total = max(1, self.trees)
        return 100 * self.predicted_trees / total, 100 * self.gold_trees / total

    @classmethod
    def of(cls, gold: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]]) -> NonprojectiveEdges:
        """Counts over sentences, each a list of heads [h_1, ..., h_n].

        Raises:
            ValueError: the two have not the same words.
        """
        counts = [0, 0, 0, 0]
        trees = [0, 0]
        for s, (theirs, ours) in enumerate(zip(gold, predicted, strict=True)):
            if len(theirs) != len(ours):
                raise ValueError(
                    f"sentence {s} (counted from 0) has {len(theirs)} words in one part and {len(ours)} in the other"
                )
            for side, heads in enumerate((ours, theirs)):
                children = nonprojective_edges(heads)
                counts[2 * side] += len(children)
                counts[2 * side + 1] += sum(ours[i - 1] == theirs[i - 1] for i in children)
                trees[side] += bool(children)
        return cls(*[*counts, len(gold), *trees])


def nonprojective_edges(heads: Sequence[int]) -> list[int]:
    """The children, counted from 1, of the non-projective edges of a tree [h_1, ..., h_n]."""
    return [
        child
        for child, head in enumerate(heads, 1)
        if any(not _descends(heads, node, head) for node in range(min(head, child) + 1, max(head, child)))
    ]


def _descends(heads: Sequence[int], node: int, ancestor: int) -> bool:
    while node not in (0, ancestor):
        node = heads[node - 1]
    return node == ancestor
