"""A bidirectional LSTM layer whose weights stay as they are: all sentences step by step, without padding and gradients.

The longest sentences come first, so that those which have a token left at a step are always the first ones: a step multiplies
their states by the recurrent weights, and a compiled loop does the rest for both directions. What goes into the layer has been
multiplied by its weights before, for all tokens at once, or once for each word type. torch.nn.LSTM is the reference
implementation; the tests compare.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from torch import Tensor, nn

from parser.classifier.resting_matrices import Arithmetic
from parser.kernels import kernel

# tanh as a quotient of polynomials of x, which compilers turn into vector instructions: Eigen's, generic_fast_tanh_float.
_BOUND = np.float32(7.90531110763549805)
_A1, _A3, _A5 = np.float32(4.89352455891786e-03), np.float32(6.37261928875436e-04), np.float32(1.48572235717979e-05)
_A7, _A9 = np.float32(5.12229709037114e-08), np.float32(-8.60467152213735e-11)
_A11, _A13 = np.float32(2.00018790482477e-13), np.float32(-2.76076847742355e-16)
_B0, _B2 = np.float32(4.89352518554385e-03), np.float32(2.26843463243900e-03)
_B4, _B6 = np.float32(1.18534705686654e-04), np.float32(1.19825839466702e-06)

_HALF = np.float32(0.5)

# States are multiplied in numbers that are multiples of this.
_TOGETHER = 8


class RestingLSTM:
    """Both directions of a layer.

    Args:
        forwards, backwards: the layers of torch.
        arithmetic: how states are stored and multiplied.

    Attributes:
        hidden: units of a direction.
        inputs: float32[8 * hidden, width], what a token's input is multiplied by, forwards and backwards.
        bias: float32[8 * hidden], to be added.
    """

    def __init__(self, forwards: nn.LSTM, backwards: nn.LSTM, arithmetic: Arithmetic) -> None:
        sides = [{name: _array(weight) for name, weight in side.named_parameters()} for side in (forwards, backwards)]
        self.hidden = forwards.hidden_size
        self.inputs = np.concatenate([side["weight_ih_l0"] for side in sides])
        with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
            self.bias = np.concatenate([side["bias_ih_l0"] + side["bias_hh_l0"] for side in sides])
        self._arithmetic = arithmetic
        self._recurrent = [arithmetic.matrix(side["weight_hh_l0"]) for side in sides]

    def __call__(self, inputs: np.ndarray, rows: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """What the layer makes of the tokens, stored[tokens, 2 * hidden].

        Args:
            inputs: float32[rows, 8 * hidden], inputs times their weights, the bias added.
            rows: int32[tokens], the row of each token.
            offsets: int64[sentences + 1], where sentences begin among the tokens.
        """
        lengths = np.diff(offsets)
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = offsets[:-1][order], lengths[order]
        # Sentences that have a token at each step.
        reached = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]
        stored = self._arithmetic.stored
        # A little more states than sentences are multiplied: for each new number of them, the libraries make themselves ready.
        states = np.zeros((2, _rounded_up(len(lengths)), self.hidden), stored)
        cells = np.zeros((2, len(lengths), self.hidden), np.float32)
        outputs = np.empty((len(rows), 2 * self.hidden), stored)
        forwards = backwards = np.zeros((len(lengths), 4 * self.hidden), np.float32)
        scale, zero = self._arithmetic.storing
        for t, n in enumerate(reached.tolist()):
            if t:
                some = states[:, : _rounded_up(n)]
                forwards, backwards = (matrix(of_side) for matrix, of_side in zip(self._recurrent, some, strict=True))
            _step(t, n, starts, lengths, inputs, rows, forwards, backwards, scale, zero, cells, states, outputs)
        return outputs


@kernel(fastmath={"contract"}, error_model="numpy", inline="always")
def _tanh(x):
    x = max(-_BOUND, min(_BOUND, x))
    y = x * x
    numerator = x * (_A1 + y * (_A3 + y * (_A5 + y * (_A7 + y * (_A9 + y * (_A11 + y * _A13))))))
    return numerator / (_B0 + y * (_B2 + y * (_B4 + y * _B6)))


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def _step(t, n, starts, lengths, inputs, rows, forwards, backwards, scale, zero, cells, states, outputs):
    """Step t of the first n sentences in both directions.

    Args:
        t, n: the number of the step, and the sentences that have a token there.
        starts, lengths: int64[sentences], where the sentences begin, and how many tokens they have.
        inputs, rows: see RestingLSTM.
        forwards, backwards: float32[n or more, 4 * hidden], the states before the step times the recurrent weights.
        scale, zero: float32, what a state is multiplied by, and what is added, when it is stored.
        cells: float32[2, sentences, hidden], overwritten, as what follows.
        states: stored[2, sentences or more, hidden].
        outputs: stored[tokens, 2 * hidden].
    """
    hidden = cells.shape[2]
    gates = np.empty(4 * hidden, np.float32)
    for side in range(2):
        products = backwards if side else forwards
        for s in range(n):
            token = starts[s] + (lengths[s] - 1 - t if side else t)
            of_state, cell, state = products[s], cells[side, s], states[side, s]
            of_input = inputs[rows[token], 4 * hidden * side : 4 * hidden * (side + 1)]
            output = outputs[token, hidden * side : hidden * (side + 1)]
            # Loops over few arrays each: compilers make vector instructions of no others. torch's order: in, forget, new, out.
            for j in range(2 * hidden):
                gates[j] = _HALF + _HALF * _tanh(_HALF * (of_state[j] + of_input[j]))
            for j in range(2 * hidden, 3 * hidden):
                gates[j] = _tanh(of_state[j] + of_input[j])
            for j in range(3 * hidden, 4 * hidden):
                gates[j] = _HALF + _HALF * _tanh(_HALF * (of_state[j] + of_input[j]))
            for j in range(hidden):
                cell[j] = gates[hidden + j] * cell[j] + gates[j] * gates[2 * hidden + j]
            for j in range(hidden):
                state[j] = gates[3 * hidden + j] * _tanh(cell[j]) * scale + zero
            for j in range(hidden):
                output[j] = state[j]


def _rounded_up(n: int) -> int:
    return -(-n // _TOGETHER) * _TOGETHER


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()
