"""One direction of an LSTM layer over sequences of any lengths, with its gradients,
in the order of packed sequences.

The rows of a batch are the first tokens of all sequences, the longest sequence first, then their
second tokens, and so on. So the rows of a step are adjacent, and there is no padding. torch's
PackedSequence has the same order, but on a CPU torch reads it in a dozen small operations a step;
its oneDNN reads only padded batches, which are larger. Here torch computes the products of a step,
into allocated matrices, and one kernel computes the rest; oneDNN computes the large products over
all steps. torch's own LSTM is the reference implementation; on other devices, it reads the
sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence

from parser.inference.lstm import tanh
from parser.kernels import kernel
from parser.kernels.torch_products import product
from parser.networks.layers import to_device

_HALF, _ONE = np.float32(0.5), np.float32(1)

Step = tuple[int, int, int, int]
"""The first row of a step, how many rows it has, the first row of the previous step, and how many
sequences go on from that step.
"""


@dataclass(frozen=True)
class Packing:
    """The places of the elements of a batch of sequences in the order of packed sequences.

    Attributes:
        elements: int64[elements], the element in each row.
        rows: int64[elements], the row of each element.
        sequences: int64[elements], the sequence of each row.
        reversed: int64[elements], for each row,
            the row to read in its place to reverse the sequences.
        sizes: the rows of each step.
    """

    elements: Tensor
    rows: Tensor
    sequences: Tensor
    reversed: Tensor
    sizes: list[int]

    @classmethod
    def of(cls, lengths: np.ndarray, device: torch.device) -> Packing:
        """Return the packing of sequences of these lengths (int[sequences], each at least 1),
        one after the other.
        """
        lengths = lengths.astype(np.int64)
        starts, order = np.cumsum(lengths) - lengths, np.argsort(-lengths, kind="stable")
        steps, lengths = np.arange(lengths.max())[:, None], lengths[order]
        inside = steps < lengths
        elements = (starts[order] + steps)[inside]
        numbers = np.cumsum(inside).reshape(inside.shape) - 1
        from_end = np.take_along_axis(numbers, np.maximum(lengths - 1 - steps, 0), axis=0)[inside]
        arrays = (
            elements,
            np.argsort(elements),
            np.broadcast_to(order, inside.shape)[inside],
            from_end,
        )
        packed, rows, sequences, turned = (to_device(array, device) for array in arrays)
        return cls(packed, rows, sequences, turned, inside.sum(axis=1).tolist())


def read_sequences(layer: nn.Module, inputs: Tensor, packing: Packing, from_end: bool) -> Tensor:
    """Return float32[rows, hidden], the states of a layer of one direction.

    Args:
        layer: an nn.LSTM.
        inputs: float32[rows, width].
        packing: the order of the rows.
        from_end: whether the layer reads sequences from their ends.
    """
    if inputs.is_cpu:
        return _Direction.apply(inputs, *layer.parameters(), packing.sizes, from_end)
    return read_by_torch(layer, inputs, packing, from_end)


def read_by_torch(layer: nn.Module, inputs: Tensor, packing: Packing, from_end: bool) -> Tensor:
    """Return the states as read_sequences() does, by torch's own layer:
    the reference implementation.
    """
    ordered_inputs = inputs[packing.reversed] if from_end else inputs
    states = layer(PackedSequence(ordered_inputs, torch.tensor(packing.sizes)))[0].data
    return states[packing.reversed] if from_end else states


class _Direction(torch.autograd.Function):
    """Compute the states of read_sequences(), and their gradients, with kernels of the project."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        input_weights: Tensor,
        state_weights: Tensor,
        bias: Tensor,
        other_bias: Tensor,
        sizes: Sequence[int],
        from_end: bool,
    ) -> Tensor:
        gates = product(inputs, input_weights, bias + other_bias)
        states, cells, squashed = (
            gates.new_empty(len(inputs), state_weights.shape[1]) for _ in range(3)
        )
        arrays = [tensor.numpy() for tensor in (gates, cells, squashed, states)]
        recurrent = state_weights.t().contiguous()
        steps = _steps(sizes, from_end)
        for start, n, before, m in steps:
            if m:
                gates[start : start + m].addmm_(states[before : before + m], recurrent)
            _forward(start, n, before, m, *arrays)
        ctx.steps = steps
        ctx.save_for_backward(inputs, input_weights, state_weights, gates, cells, squashed, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_output: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weights, state_weights, *computed = ctx.saved_tensors
        by_state = by_output.clone(memory_format=torch.contiguous_format)
        by_cell = torch.zeros_like(by_output)
        by_gate, earlier = torch.empty_like(computed[0]), torch.empty_like(by_state)
        arrays = [tensor.numpy() for tensor in (*computed, by_state, by_cell, by_gate, earlier)]
        for start, n, before, m in reversed(ctx.steps):
            _backward(start, n, before, m, *arrays)
            if m:
                by_state[before : before + m].addmm_(by_gate[start : start + m], state_weights)
        by_bias = by_gate.sum(0)
        by_input = product(by_gate, input_weights.t()) if ctx.needs_input_grad[0] else None
        return by_input, by_gate.t() @ inputs, by_gate.t() @ earlier, by_bias, by_bias, None, None


def _steps(sizes: Sequence[int], from_end: bool) -> list[Step]:
    starts = np.cumsum([0, *sizes]).tolist()
    steps, before, previous_size = [], 0, 0
    for t in reversed(range(len(sizes))) if from_end else range(len(sizes)):
        steps.append((starts[t], sizes[t], before, min(previous_size, sizes[t])))
        before, previous_size = starts[t], sizes[t]
    return steps


@kernel(fastmath={"contract"}, error_model="numpy")
def _forward(start, n, before, m, gates, cells, squashed, states):
    """Compute a step, in loops over few arrays each, because compilers vectorize only such loops.

    Args:
        start, n, before, m: see Step.
        gates: float[rows, 4 * hidden], the inputs, replaced by the outputs; in torch's order:
            in, forget, new, out.
        cells, squashed, states: float[rows, hidden], overwritten: the cells,
            their hyperbolic tangents, the outputs.
    """
    hidden = cells.shape[1]
    for row in range(start, start + n):
        gate, cell, squash, state = gates[row], cells[row], squashed[row], states[row]
        for j in range(2 * hidden):
            gate[j] = _HALF + _HALF * tanh(_HALF * gate[j])
        for j in range(2 * hidden, 3 * hidden):
            gate[j] = tanh(gate[j])
        for j in range(3 * hidden, 4 * hidden):
            gate[j] = _HALF + _HALF * tanh(_HALF * gate[j])
        for j in range(hidden):
            cell[j] = gate[j] * gate[2 * hidden + j]
        if row - start < m:
            last = cells[before + row - start]
            for j in range(hidden):
                cell[j] += gate[hidden + j] * last[j]
        for j in range(hidden):
            squash[j] = tanh(cell[j])
        for j in range(hidden):
            state[j] = gate[3 * hidden + j] * squash[j]


@kernel(fastmath={"contract"}, error_model="numpy")
def _backward(
    start, n, before, m, gates, cells, squashed, states, by_state, by_cell, by_gate, earlier
):
    """Compute the derivatives with respect to a step's gates from those with respect to its states
    and cells; without the product with the recurrent weights.

    Args:
        start, n, before, m: see Step.
        gates, cells, squashed, states: as _forward() has left them.
        by_state, by_cell: float[rows, hidden], derivatives with respect to the states and the
            cells; the previous step's rows of ``by_cell`` are overwritten.
        by_gate: float[rows, 4 * hidden], overwritten: derivatives with respect to the inputs of the
            gates.
        earlier: float[rows, hidden], overwritten: the previous states.
    """
    hidden = cells.shape[1]
    for row in range(start, start + n):
        gate, squash, d_state, d_cell = gates[row], squashed[row], by_state[row], by_cell[row]
        d_gate, state = by_gate[row], earlier[row]
        for j in range(hidden):
            out = gate[3 * hidden + j]
            d_gate[3 * hidden + j] = d_state[j] * squash[j] * out * (_ONE - out)
        for j in range(hidden):
            d_cell[j] += d_state[j] * gate[3 * hidden + j] * (_ONE - squash[j] * squash[j])
        for j in range(hidden):
            d_gate[j] = d_cell[j] * gate[2 * hidden + j] * gate[j] * (_ONE - gate[j])
        for j in range(hidden):
            new = gate[2 * hidden + j]
            d_gate[2 * hidden + j] = d_cell[j] * gate[j] * (_ONE - new * new)
        if row - start < m:
            previous_row = before + row - start
            last = cells[previous_row]
            d_last = by_cell[previous_row]
            last_state = states[previous_row]
            for j in range(hidden):
                forget = gate[hidden + j]
                d_gate[hidden + j] = d_cell[j] * last[j] * forget * (_ONE - forget)
            for j in range(hidden):
                d_last[j] = d_cell[j] * gate[hidden + j]
            for j in range(hidden):
                state[j] = last_state[j]
        else:
            d_gate[hidden : 2 * hidden] = 0
            state[:] = 0
