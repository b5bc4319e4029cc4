"""Word dropout: who is dropped, how often, and what stays."""

from __future__ import annotations

import numpy as np
import torch

from parser.data.vocabulary import ABSENT, ROOT, UNKNOWN
from parser.training.fitting.sentence_batches import WordDropout, unknown_rates

NOTHING = np.zeros(0, np.float32)


def test_the_rate_falls_with_the_count_and_is_zero_for_reserved_values():
    np.testing.assert_allclose(unknown_rates(np.array([5, 0, 3, 1, 3, 0]), 0.25), [0, 0, 0, 0.2, 0.25 / 3.25, 1.0])


def test_values_are_dropped_as_often_as_their_rates_say_and_other_slots_stay():
    torch.manual_seed(0)
    rates = np.array([0, 0, 0, 0.5, 0.0, 0.1], np.float32)
    features = torch.tensor([[3, 3, 4, 5]] * 20_000, dtype=torch.int32)
    dropped = WordDropout([rates, NOTHING, rates, rates], torch.device("cpu"))(features)
    assert dropped.dtype == torch.int32
    shares = [float((dropped[:, c] == UNKNOWN).double().mean()) for c in range(4)]
    np.testing.assert_allclose(shares, [0.5, 0.0, 0.0, 0.1], atol=0.02)
    assert (dropped[:, 1] == 3).all()
    assert ((dropped == UNKNOWN) | (dropped == features)).all()


def test_reserved_values_stay_and_the_same_seed_drops_the_same():
    rates = unknown_rates(np.full(9, 1), 3.0)
    features = torch.randint(0, 9, (50, 2), dtype=torch.int32)
    dropout = WordDropout([rates, rates], torch.device("cpu"))
    torch.manual_seed(3)
    first = dropout(features)
    torch.manual_seed(3)
    assert torch.equal(first, dropout(features))
    reserved = (features == ABSENT) | (features == ROOT)
    assert torch.equal(first[reserved], features[reserved])


def test_where_nothing_can_be_dropped_everything_stays():
    features = torch.randint(0, 9, (5, 2), dtype=torch.int32)
    assert torch.equal(WordDropout([NOTHING, NOTHING], torch.device("cpu"))(features), features)
