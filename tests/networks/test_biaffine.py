"""Heads as a further task of the encoder: its loss against plain loops."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from parser.network_spec import BiaffineSpec
from parser.networks.layers import Grid
from parser.networks.tasks import BiaffineScorer
from tests.networks.biaffine_loops import loss_by_loops
from tests.random_trees import random_tree

WIDTH, RELATIONS = 5, 4


@pytest.mark.parametrize("unknown", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_plain_loops(unknown):
    rng = random.Random(1)
    torch.manual_seed(1)
    scorer = BiaffineScorer(BiaffineSpec(6, 3, 0.5), WIDTH, [*map(str, range(RELATIONS))])
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
    scorer = BiaffineScorer(BiaffineSpec(6, 3, 0.5), WIDTH, [*map(str, range(RELATIONS))])
    dropped = scorer._dropped(torch.ones(4, 3, 8), dropping=True)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(dropped, dropped[:1].expand(4, 3, 8))
    assert not torch.equal(dropped[:, 0], dropped[:, 1])
