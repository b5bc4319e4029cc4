"""Heads and relations predicted from the vectors of two tokens, as a task of the encoder that only training asks for.

A biaffine classifier finds each word's head, another the relation to it (Dozat and Manning 2017, Section 2.2). They need to
know the same about words as the parser, and learn it from all pairs of words, not only from the configurations that the
parser visits. Greedy parsing does not ask them; a beam may, to choose among its trees (resting_heads.py).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from parser.inference.shape import SLOPE, HeadScorerShape
from parser.networks.dropout import bernoulli_mask
from parser.networks.padding import Grid


class HeadScorer(nn.Module):
    """Scores of heads, and of relations to given heads.

    Args:
        shape: its sizes.
        width: the length of the vectors of tokens.
        n_relations: relations that are told apart.
    """

    def __init__(self, shape: HeadScorerShape, width: int, n_relations: int) -> None:
        super().__init__()
        self.shape = shape
        self.arc_dependent, self.arc_head = nn.Linear(width, shape.size), nn.Linear(width, shape.size)
        self.arc_product = nn.Parameter(torch.empty(shape.size, shape.size))
        nn.init.normal_(self.arc_product, std=0.5 * shape.size**-0.5)
        self.arc_bias = nn.Parameter(torch.zeros(shape.size))
        self.relation_dependent = nn.Linear(width, shape.relation_size)
        self.relation_head = nn.Linear(width, shape.relation_size)
        self.relation_product = nn.Bilinear(shape.relation_size + 1, shape.relation_size + 1, n_relations)

    def loss(self, tokens: Tensor, grid: Grid, heads: Tensor, relations: Tensor, dropping: bool = True) -> Tensor:
        """Minus the logarithms of the probabilities of the gold head and of the gold relation to it, mean over the words.

        Args:
            tokens: float32[tokens, width], the vectors, sentence by sentence; the artificial root is the first of each.
            grid: where the tokens are in their sentences.
            heads: int64[tokens], the positions of the heads in the sentences; negative where there is none.
            relations: int64[tokens], relations; negative where there is none to learn.
            dropping: whether dropout is in force.
        """
        read = self._dropped(tokens[grid.elements], dropping)
        columns = grid.cells % read.shape[1]
        arc_scores = self._arc_scores(read, grid, dropping)
        words = heads >= 0
        arc_loss = nn.functional.cross_entropy(arc_scores.flatten(0, 1)[grid.cells[words]], heads[words])

        known = relations >= 0
        if not known.any():
            return arc_loss
        dependent = self._vectors(self.relation_dependent, read, dropping).flatten(0, 1)[grid.cells[known]]
        head = self._vectors(self.relation_head, read, dropping)[heads[known], columns[known]]
        relation_scores = self.relation_product(_with_one(dependent), _with_one(head))
        return arc_loss + nn.functional.cross_entropy(relation_scores, relations[known])

    def _arc_scores(self, read: Tensor, grid: Grid, dropping: bool) -> Tensor:
        """float32[longest, sentences, longest]: of each token the scores of the tokens of its sentence as its head."""
        dependents = self._vectors(self.arc_dependent, read, dropping).transpose(0, 1)
        heads = self._vectors(self.arc_head, read, dropping).transpose(0, 1)
        scores = dependents @ self.arc_product @ heads.transpose(1, 2) + (heads @ self.arc_bias)[:, None]
        outside = torch.ones(read.shape[:2], dtype=torch.bool, device=read.device).flatten().index_fill(0, grid.cells, False)
        return scores.masked_fill(outside.view(read.shape[:2]).t()[:, None], -torch.inf).transpose(0, 1)

    def _vectors(self, layer: nn.Module, read: Tensor, dropping: bool) -> Tensor:
        """float32[longest, sentences, size]."""
        return self._dropped(nn.functional.leaky_relu(layer(read), SLOPE), dropping)

    def _dropped(self, read: Tensor, dropping: bool) -> Tensor:
        """With the same numbers dropped all through a sentence."""
        return read * bernoulli_mask(read[:1], self.shape.dropout) if dropping and self.shape.dropout else read


def _with_one(vectors: Tensor) -> Tensor:
    """float32[m, size + 1]: a 1 at the end, so that the bilinear form has linear terms, too."""
    return torch.cat([vectors, vectors.new_ones(len(vectors), 1)], dim=1)
