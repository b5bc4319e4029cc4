"""LSTMs in the order of packed sequences, on a CPU, against torch's own."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from parser.networks.lstm import Packing, read_by_torch, read_sequences

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def plainly(layer: nn.LSTM, inputs: torch.Tensor, lengths: list[int], from_end: bool) -> torch.Tensor:
    """What torch's LSTM makes of one sequence after the other."""
    turned = [part.flip(0) if from_end else part for part in inputs.split(lengths)]
    states = [layer(part)[0] for part in turned]
    return torch.cat([part.flip(0) if from_end else part for part in states])


@pytest.mark.parametrize("read", [read_sequences, read_by_torch])
@settings(max_examples=20)
@given(LENGTHS, st.booleans(), st.integers(0, 1000))
def test_states_and_gradients_are_those_of_torchs_lstm(read, lengths, from_end, seed):
    torch.manual_seed(seed)
    layer, packing = nn.LSTM(5, 7), Packing.of(np.array(lengths), torch.device("cpu"))
    inputs, weights = torch.randn(sum(lengths), 5, requires_grad=True), torch.randn(sum(lengths), 7)
    found = read(layer, inputs[packing.elements], packing, from_end)[packing.rows]
    expected = plainly(layer, inputs, lengths, from_end)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    parameters = [inputs, *layer.parameters()]
    gradients = (torch.autograd.grad((states * weights).sum(), parameters) for states in (found, expected))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("from_end", [False, True])
def test_its_gradients_are_its_derivatives(from_end):
    torch.manual_seed(0)
    layer, packing = nn.LSTM(2, 3, dtype=torch.float64), Packing.of(np.array([2, 4, 1, 2]), torch.device("cpu"))
    inputs = torch.randn(9, 2, dtype=torch.float64, requires_grad=True)

    def states(read: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return read_sequences(layer, read, packing, from_end)

    assert torch.autograd.gradcheck(states, (inputs, *layer.parameters()), rtol=1e-4, atol=1e-6)


@given(LENGTHS)
def test_rows_are_the_first_elements_of_all_sequences_then_the_second_ones(lengths):
    packing = Packing.of(np.array(lengths), torch.device("cpu"))
    elements = [(s, t) for s, length in enumerate(lengths) for t in range(length)]
    by_row = sorted(elements, key=lambda at: (at[1], -lengths[at[0]], at[0]))
    assert [elements[number] for number in packing.elements] == by_row
    assert [by_row[row] for row in packing.rows] == elements
    assert packing.sequences.tolist() == [s for s, _ in by_row]
    assert [by_row[row] for row in packing.reversed] == [(s, lengths[s] - 1 - t) for s, t in by_row]
    assert packing.sizes == [sum(length > t for length in lengths) for t in range(max(lengths))]
