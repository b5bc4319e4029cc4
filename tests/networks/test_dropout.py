"""Dropout masks: shares, means, independence, the generator that they hang on."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from parser.networks.layers import dropout_mask

_64 = 2**64


def splitmix64(seed: int, number: int) -> int:
    """Output ``number`` of the generator, as published, in Python's integers."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) % _64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % _64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % _64
    return z ^ (z >> 31)


@given(st.integers(1, 40), st.integers(1, 3), st.floats(0.01, 0.99), st.integers(0, 99))
def test_a_mask_is_what_the_published_generator_says(rows, columns, share, seed):
    torch.manual_seed(seed)
    mask = dropout_mask(torch.zeros(rows, columns), share)
    torch.manual_seed(seed)
    key = int(torch.randint(2**63 - 1, ()))
    half = rows * columns // 2
    bits = [splitmix64(key, i) for i in range(half + 1)]
    halves = [b >> 32 for b in bits[:half]] + [b % 2**32 for b in bits[:half]] + [bits[half] >> 32] * (rows * columns % 2)
    expected = [0.0 if number < round(share * 2**32) else 1 / (1 - share) for number in halves]
    np.testing.assert_allclose(mask.flatten().numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9])
def test_the_share_is_dropped_and_the_mean_kept(share):
    torch.manual_seed(0)
    masks = torch.stack([dropout_mask(torch.zeros(100, 200), share) for _ in range(50)])
    draws = masks.numel()
    deviation = (share * (1 - share) / draws) ** 0.5
    assert float((masks == 0).double().mean()) == pytest.approx(share, abs=5 * deviation)
    assert masks.unique().tolist() == pytest.approx([0.0, 1 / (1 - share)])
    # Neighbours, the two halves that share a hash, and masks in a row know nothing of each other.
    kept = (masks > 0).double().numpy().reshape(50, -1)
    for one, other in ((kept[:, 1:], kept[:, :-1]), (kept[:, :10_000], kept[:, 10_000:]), (kept[1:], kept[:-1])):
        correlation = np.corrcoef(one.reshape(-1), other.reshape(-1))[0, 1]
        assert abs(correlation) < 5 / one.size**0.5


def test_the_same_seed_gives_the_same_masks():
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append([dropout_mask(torch.zeros(5, 9), 0.5) for _ in range(2)])
    assert all(torch.equal(a, b) for a, b in zip(masks[0], masks[1], strict=True))
    assert not torch.equal(masks[0][0], masks[2][0])
    assert not torch.equal(masks[0][0], masks[0][1])


def test_no_mask_where_nothing_is_dropped():
    before = torch.get_rng_state()
    assert dropout_mask(torch.zeros(2, 2), 0.0) is None
    assert torch.equal(torch.get_rng_state(), before)
