"""A frozen bidirectional LSTM layer: compiled, in one of the arithmetics of arithmetic.py."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parser.inference.arithmetic import SinglePrecision
from parser.kernels import kernel
from parser.kernels.interpreted import instead_of
from parser.kernels.processor import fused
from parser.kernels.products import multiply, width_of

# tanh as a quotient of polynomials, which compilers turn into vector instructions;
# from Eigen, generic_fast_tanh_float.
_BOUND = np.float32(7.90531110763549805)
_A1 = np.float32(4.89352455891786e-03)
_A3 = np.float32(6.37261928875436e-04)
_A5 = np.float32(1.48572235717979e-05)
_A7, _A9 = np.float32(5.12229709037114e-08), np.float32(-8.60467152213735e-11)
_A11, _A13 = np.float32(2.00018790482477e-13), np.float32(-2.76076847742355e-16)
_B0, _B2 = np.float32(4.89352518554385e-03), np.float32(2.26843463243900e-03)
_B4, _B6 = np.float32(1.18534705686654e-04), np.float32(1.19825839466702e-06)

_HALF = np.float32(0.5)


class FrozenLSTM:
    """Both directions of a layer.

    Args:
        forwards, backwards: the arrays of LSTM_PARAMETERS.
        arithmetic: how states are stored and multiplied.

    Attributes:
        hidden: units of one direction.
        inputs: float32[8 * hidden, width], the input weights, forwards and backwards.
        bias: float32[8 * hidden], the bias to add to the products.
    """

    def __init__(
        self,
        forwards: Mapping[str, np.ndarray],
        backwards: Mapping[str, np.ndarray],
        arithmetic: SinglePrecision,
    ) -> None:
        sides = forwards, backwards
        self.hidden = forwards["weight_hh_l0"].shape[1]
        self.inputs = np.concatenate([side["weight_ih_l0"] for side in sides])
        # weights of a forged model may be arbitrarily large
        with np.errstate(over="ignore", invalid="ignore"):
            self.bias = np.concatenate([side["bias_ih_l0"] + side["bias_hh_l0"] for side in sides])
        self._arithmetic = arithmetic
        self._recurrent = [arithmetic.panels(side["weight_hh_l0"]) for side in sides]

    def __call__(self, inputs: np.ndarray, rows: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the layer's outputs for the tokens, stored[tokens, 2 * hidden].

        Args:
            inputs: float32[rows, 8 * hidden], inputs times their weights, plus the bias.
            rows: int32[tokens], the row of each token.
            offsets: int64[sentences + 1], where sentences begin among the tokens.
        """
        lengths = np.diff(offsets)
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = offsets[:-1][order], lengths[order]
        # How many sentences have a token at each step.
        reached = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]
        forwards, backwards = self._recurrent
        # A state is as wide as the panels, which may have a few more columns than there are units.
        states = np.zeros((2, len(lengths), width_of(forwards)), self._arithmetic.stored)
        cells = np.zeros((2, len(lengths), self.hidden), np.float32)
        products = np.zeros((len(lengths), len(forwards.bias)), np.float32)
        gates = np.empty(4 * self.hidden, np.float32)
        outputs = np.empty((len(rows), 2 * self.hidden), self._arithmetic.stored)
        _read(
            reached,
            starts,
            lengths,
            inputs,
            rows,
            forwards,
            backwards,
            *self._arithmetic.storing,
            cells,
            products,
            gates,
            states,
            outputs,
        )
        return outputs


@kernel(fastmath={"contract"}, error_model="numpy", inline="always")
def tanh(x):
    """Return the hyperbolic tangent of a float32, accurate except for the last digits."""
    x = max(-_BOUND, min(_BOUND, x))
    y = x * x
    numerator = x * (_A1 + y * (_A3 + y * (_A5 + y * (_A7 + y * (_A9 + y * (_A11 + y * _A13))))))
    return numerator / (_B0 + y * (_B2 + y * (_B4 + y * _B6)))


@kernel()
def _read(
    reached,
    starts,
    lengths,
    inputs,
    rows,
    forwards,
    backwards,
    scale,
    zero,
    cells,
    products,
    gates,
    states,
    outputs,
):
    """Take all steps of both directions.

    Args:
        reached: int64[steps], how many sentences (the first ones) have a token at each step.
        starts, lengths: int64[sentences], where the sentences begin, and how many tokens they have.
        inputs, rows: see FrozenLSTM.
        forwards, backwards: the recurrent weights.
        scale, zero: float32, the factor and the term with which states are stored.
        cells: float32[2, sentences, hidden], zeros; this and the following arrays are overwritten.
        products: float32[sentences, >= 4 * hidden], zeros, the products of the first step.
        gates: float32[4 * hidden], workspace.
        states: stored[2, sentences, >= hidden].
        outputs: stored[tokens, 2 * hidden].
    """
    hidden = cells.shape[2]
    for t in range(len(reached)):
        for side in range(2):
            if t > 0:
                recurrent = backwards if side else forwards
                multiply(states[side], reached[t], recurrent, products)
            for s in range(reached[t]):
                token = starts[s] + (lengths[s] - 1 - t if side else t)
                from_below = inputs[rows[token], 4 * hidden * side : 4 * hidden * (side + 1)]
                _step(products[s], from_below, scale, zero, cells[side, s], gates)
                state, output = states[side, s], outputs[token, hidden * side :]
                for j in range(hidden):
                    state[j] = gates[j]
                for j in range(hidden):
                    output[j] = state[j]


@kernel(fastmath={"contract"}, error_model="numpy")
def _step(product, from_below, scale, zero, cell, gates):
    """Take a step of a sentence in one direction. No argument depends on how states are stored, so
    this is compiled only once.

    Args:
        product: float32[>= 4 * hidden], the state before the step times the recurrent weights.
        from_below: float32[4 * hidden], the input times its weights.
        scale, zero: see _read.
        cell: float32[hidden], changed.
        gates: float32[4 * hidden], overwritten: its first numbers are the new state, not stored
            yet.
    """
    hidden = len(cell)
    # Each loop reads few arrays, so that compilers vectorize it. The gates are in torch's order:
    # in, forget, new, out.
    for j in range(2 * hidden):
        gates[j] = _HALF + _HALF * tanh(_HALF * (product[j] + from_below[j]))
    for j in range(2 * hidden, 3 * hidden):
        gates[j] = tanh(product[j] + from_below[j])
    for j in range(3 * hidden, 4 * hidden):
        gates[j] = _HALF + _HALF * tanh(_HALF * (product[j] + from_below[j]))
    for j in range(hidden):
        cell[j] = gates[hidden + j] * cell[j] + gates[j] * gates[2 * hidden + j]
    for j in range(hidden):
        gates[j] = gates[3 * hidden + j] * tanh(cell[j]) * scale + zero


@instead_of(_step)
def _step_in_numpy(
    product: np.ndarray,
    from_below: np.ndarray,
    scale: np.float32,
    zero: np.float32,
    cell: np.ndarray,
    gates: np.ndarray,
) -> None:
    hidden = len(cell)
    sums = product[: 4 * hidden] + from_below
    new = slice(2 * hidden, 3 * hidden)
    gates[:] = fused(_HALF, _tanh_in_numpy(_HALF * sums), _HALF)
    gates[new] = _tanh_in_numpy(sums[new])
    cell[:] = fused(gates[hidden : 2 * hidden], cell, gates[:hidden] * gates[new])
    gates[:hidden] = fused(gates[3 * hidden :] * _tanh_in_numpy(cell), scale, zero)


def _tanh_in_numpy(x: np.ndarray) -> np.ndarray:
    x = np.clip(x, -_BOUND, _BOUND)
    y = x * x
    numerator, denominator = _A13, _B6
    for factor in (_A11, _A9, _A7, _A5, _A3, _A1):
        numerator = fused(y, numerator, factor)
    for factor in (_B4, _B2, _B0):
        denominator = fused(y, denominator, factor)
    return x * numerator / denominator
