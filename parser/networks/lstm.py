"""One direction of a layer of LSTMs over sequences of any lengths, with its gradients, in the order of packed sequences.

The rows of a batch are the first tokens of all sequences, the longest sequence first, then their second tokens, and so on:
those of a step lie one after the other, and there is no padding. torch has the same order in its PackedSequence, but on a CPU
reads such a batch in a dozen small operations a step; for padded batches, which have more to compute, it has oneDNN. Here
products of a step are torch's, into matrices that are there already, and all else of it is one kernel; the large products, of
all steps at once, are oneDNN's. torch's own LSTM is the reference implementation, and what reads on other devices.
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

_HALF, _ONE = np.float32(0.5), np.float32(1)

Step = tuple[int, int, int, int]
"""The first row of a step, how many rows it has, the first row of the step before, and how many go on from there."""


@dataclass(frozen=True)
class Packing:
    """Where the elements of a batch of sequences lie in the order of packed sequences.

    Attributes:
        elements: int64[elements], the element in each row.
        rows: int64[elements], the row of each element.
        sequences: int64[elements], the sequence of each row.
        reversed: int64[elements], the row to read instead of each, to reverse the sequences.
        sizes: the rows of each step.
    """

    elements: Tensor
    rows: Tensor
    sequences: Tensor
    reversed: Tensor
    sizes: list[int]

    @classmethod
    def of(cls, lengths: np.ndarray, device: torch.device) -> Packing:
        """That of sequences of these lengths (int[sequences], each at least 1), one after the other."""
        lengths = lengths.astype(np.int64)
        starts, order = np.cumsum(lengths) - lengths, np.argsort(-lengths, kind="stable")
        steps, lengths = np.arange(lengths.max())[:, None], lengths[order]
        inside = steps < lengths
        elements = (starts[order] + steps)[inside]
        numbers = np.cumsum(inside).reshape(inside.shape) - 1
        from_end = np.take_along_axis(numbers, np.maximum(lengths - 1 - steps, 0), axis=0)[inside]
        arrays = elements, np.argsort(elements), np.broadcast_to(order, inside.shape)[inside], from_end
        of_elements, rows, sequences, turned = (torch.from_numpy(array).to(device) for array in arrays)
        return cls(of_elements, rows, sequences, turned, inside.sum(axis=1).tolist())


def read_sequences(layer: nn.Module, inputs: Tensor, packing: Packing, from_end: bool) -> Tensor:
    """float32[rows, hidden], the states of a layer of one direction.

    Args:
        layer: an nn.LSTM.
        inputs: float32[rows, width].
        packing: the order of the rows.
        from_end: whether it reads each sequence from its end.
    """
    if inputs.is_cpu:
        return _Direction.apply(inputs, *layer.parameters(), packing.sizes, from_end)
    return read_by_torch(layer, inputs, packing, from_end)


def read_by_torch(layer: nn.Module, inputs: Tensor, packing: Packing, from_end: bool) -> Tensor:
    """The reference implementation of read_sequences()."""
    read = inputs[packing.reversed] if from_end else inputs
    states = layer(PackedSequence(read, torch.tensor(packing.sizes)))[0].data
    return states[packing.reversed] if from_end else states


class _Direction(torch.autograd.Function):
    """Compute the states of read_sequences(), and their gradients, with kernels of the project."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        of_inputs: Tensor,
        of_states: Tensor,
        bias: Tensor,
        other_bias: Tensor,
        sizes: Sequence[int],
        from_end: bool,
    ) -> Tensor:
        gates = product(inputs, of_inputs, bias + other_bias)
        states, cells, squashed = (gates.new_empty(len(inputs), of_states.shape[1]) for _ in range(3))
        arrays = [tensor.numpy() for tensor in (gates, cells, squashed, states)]
        recurrent = of_states.t().contiguous()
        steps = _steps(sizes, from_end)
        for start, n, before, m in steps:
            if m:
                gates[start : start + m].addmm_(states[before : before + m], recurrent)
            _forward(start, n, before, m, *arrays)
        ctx.steps = steps
        ctx.save_for_backward(inputs, of_inputs, of_states, gates, cells, squashed, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_output: Tensor) -> tuple[Tensor | None, ...]:
        inputs, of_inputs, of_states, *computed = ctx.saved_tensors
        by_state, by_cell = by_output.clone(memory_format=torch.contiguous_format), torch.zeros_like(by_output)
        by_gate, earlier = torch.empty_like(computed[0]), torch.empty_like(by_state)
        arrays = [tensor.numpy() for tensor in (*computed, by_state, by_cell, by_gate, earlier)]
        for start, n, before, m in reversed(ctx.steps):
            _backward(start, n, before, m, *arrays)
            if m:
                by_state[before : before + m].addmm_(by_gate[start : start + m], of_states)
        by_bias = by_gate.sum(0)
        by_input = product(by_gate, of_inputs.t()) if ctx.needs_input_grad[0] else None
        return by_input, by_gate.t() @ inputs, by_gate.t() @ earlier, by_bias, by_bias, None, None


def _steps(sizes: Sequence[int], from_end: bool) -> list[Step]:
    starts = np.cumsum([0, *sizes]).tolist()
    steps, before, read = [], 0, 0
    for t in reversed(range(len(sizes))) if from_end else range(len(sizes)):
        steps.append((starts[t], sizes[t], before, min(read, sizes[t])))
        before, read = starts[t], sizes[t]
    return steps


@kernel(fastmath={"contract"}, error_model="numpy")
def _forward(start, n, before, m, gates, cells, squashed, states):
    """A step; loops over few arrays each, as compilers make vector instructions of no others.

    Args:
        start, n, before, m: see Step.
        gates: float[rows, 4 * hidden], what goes in, and what comes out; in torch's order: in, forget, new, out.
        cells, squashed, states: float[rows, hidden], overwritten: the cells, their hyperbolic tangents, what comes out.
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
def _backward(start, n, before, m, gates, cells, squashed, states, by_state, by_cell, by_gate, earlier):
    """The derivatives of a step, once those by its states and cells are known, but for what the recurrent weights hand on.

    Args:
        start, n, before, m: see Step.
        gates, cells, squashed, states: as _forward() has left them.
        by_state, by_cell: float[rows, hidden], by what comes out; of cells, those of the step before are overwritten.
        by_gate: float[rows, 4 * hidden], overwritten: by what goes in.
        earlier: float[rows, hidden], overwritten: the states before.
    """
    hidden = cells.shape[1]
    for row in range(start, start + n):
        gate, squash, of_state, of_cell = gates[row], squashed[row], by_state[row], by_cell[row]
        of_gate, state = by_gate[row], earlier[row]
        for j in range(hidden):
            out = gate[3 * hidden + j]
            of_gate[3 * hidden + j] = of_state[j] * squash[j] * out * (_ONE - out)
        for j in range(hidden):
            of_cell[j] += of_state[j] * gate[3 * hidden + j] * (_ONE - squash[j] * squash[j])
        for j in range(hidden):
            of_gate[j] = of_cell[j] * gate[2 * hidden + j] * gate[j] * (_ONE - gate[j])
        for j in range(hidden):
            new = gate[2 * hidden + j]
            of_gate[2 * hidden + j] = of_cell[j] * gate[j] * (_ONE - new * new)
        if row - start < m:
            one = before + row - start
            last, of_last, last_state = cells[one], by_cell[one], states[one]
            for j in range(hidden):
                forget = gate[hidden + j]
                of_gate[hidden + j] = of_cell[j] * last[j] * forget * (_ONE - forget)
            for j in range(hidden):
                of_last[j] = of_cell[j] * gate[hidden + j]
            for j in range(hidden):
                state[j] = last_state[j]
        else:
            of_gate[hidden : 2 * hidden] = 0
            state[:] = 0
