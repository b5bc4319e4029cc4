"""Heads as a further task of the encoder: its loss against plain loops."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import nn

from parser.network_spec import BiaffineSpec
from parser.networks.layers import Grid
from parser.networks.tasks import BiaffineScorer
from tests.random_trees import random_tree

WIDTH, RELATIONS = 5, 4


@torch.no_grad()
def loss_by_loops(
    scorer: BiaffineScorer, sentences: list[torch.Tensor], heads: list[list[int]], relations: list[list[int]]
) -> float:
    """Word by word, head by head; index 0 of each list is the artificial root."""

    def vector(layer: nn.Module, token: torch.Tensor) -> torch.Tensor:
        return nn.functional.leaky_relu(layer(token), 0.1)

    of_heads, of_relations = [], []
    for tokens, heads_of_sentence, relations_of_sentence in zip(sentences, heads, relations, strict=True):
        for word in range(1, len(tokens)):
            dependent, head = vector(scorer.arc_dependent, tokens[word]), heads_of_sentence[word]
            scores = []
            for candidate in tokens:
                other = vector(scorer.arc_head, candidate)
                scores.append(dependent @ scorer.arc_product @ other + other @ scorer.arc_bias)
            of_heads.append(-torch.stack(scores).log_softmax(0)[head])
            if relations_of_sentence[word] >= 0:
                one = torch.ones(1)
                pair = [
                    torch.cat([vector(scorer.relation_dependent, tokens[word]), one]),
                    torch.cat([vector(scorer.relation_head, tokens[head]), one]),
                ]
                products = (
                    torch.einsum("i,rij,j->r", pair[0], scorer.relation_product.weight, pair[1]) + scorer.relation_product.bias
                )
                of_relations.append(-products.log_softmax(0)[relations_of_sentence[word]])
    return float(torch.stack(of_heads).mean() + (torch.stack(of_relations).mean() if of_relations else 0))


@pytest.mark.parametrize("unknown", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_plain_loops(unknown):
    rng = random.Random(1)
    torch.manual_seed(1)
    scorer = BiaffineScorer(BiaffineSpec(6, 3, 0.5), WIDTH, RELATIONS)
    nn.init.normal_(scorer.arc_bias)
    heads = [[-1, *random_tree(rng, n)] for n in (3, 1, 7, 2)]
    relations = [[-1] + [-2 if rng.random() < unknown else rng.randrange(RELATIONS) for _ in some[1:]] for some in heads]
    sentences = [torch.randn(len(some), WIDTH) for some in heads]
    grid = Grid.of(np.array([len(some) for some in heads]), torch.device("cpu"))
    flat = [torch.tensor([number for some in numbers for number in some]) for numbers in (heads, relations)]
    found = scorer.loss(torch.cat(sentences), grid, *flat, dropping=False)
    assert found.item() == pytest.approx(loss_by_loops(scorer, sentences, heads, relations), rel=1e-5)
    assert scorer.loss(torch.cat(sentences), grid, *flat).item() != pytest.approx(found.item(), rel=1e-3)  # with dropout


def test_what_is_dropped_is_dropped_all_through_a_sentence():
    torch.manual_seed(0)
    scorer = BiaffineScorer(BiaffineSpec(6, 3, 0.5), WIDTH, RELATIONS)
    dropped = scorer._dropped(torch.ones(4, 3, 8), dropping=True)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(dropped, dropped[:1].expand(4, 3, 8))
    assert not torch.equal(dropped[:, 0], dropped[:, 1])
