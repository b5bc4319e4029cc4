"""The loops of an update that are not matrix products: rows of tables looked up and their gradients, and the new weights.

torch has an operator for each, but the network is small: calling one costs as much as its work, and most of them go through
more memory than they need. The reference implementations are autograd and torch.optim; the tests compare.

A table (one-hot weights, word vectors) is used by few of its rows in a batch, so its gradient is kept as *values* and *used*:
the rows that ``used`` (bool[rows]) marks hold numbers, the others are zero whatever stands there.
"""

from __future__ import annotations

import numpy as np

from parser.kernels import kernel


@kernel()
def copy_rows(table, features, columns, scale, first, inputs):
    """Copies the rows of slots side by side into ``inputs`` (float32[batch, width]), from column ``first`` on.

    Args:
        table: float32[rows, table's width].
        features: int32[batch, slots].
        columns: the slots that the table serves.
        scale: float32[batch, len(columns) or more], what the row of each slot is multiplied by.
        first: a column of ``inputs``.
        inputs: what is filled in.
    """
    width = table.shape[1]
    for r in range(len(features)):
        for c in range(len(columns)):
            row = features[r, columns[c]]
            if not 0 <= row < len(table):
                raise IndexError("a feature has a value that the classifier has no vector for")
            source, factor = table[row], scale[r, c]
            target = inputs[r, first + c * width : first + (c + 1) * width]
            for j in range(width):
                target[j] = factor * source[j]


@kernel()
def add_rows(table, features, columns, starts, total):
    """Adds to each example's ``total`` (float32[batch, width]) the rows of its slots; slot c begins at row ``starts[c]``."""
    for r in range(len(features)):
        target = total[r]
        for c in range(len(columns)):
            value = features[r, columns[c]]
            row = starts[c] + value
            if value < 0 or row >= len(table):
                raise IndexError("a feature has a value that the classifier has no row for")
            source = table[row]
            for j in range(len(target)):
                target[j] += source[j]


@kernel()
def collect_rows(by_input, features, columns, starts, scale, first, stride, values, used):
    """The gradient of a table from that of what its rows went into: the reverse of copy_rows and of add_rows.

    Args:
        by_input: float32[batch, width], derivatives by the inputs.
        features: int32[batch, slots].
        columns: the slots that the table serves.
        starts: the row that each of them begins at.
        scale: float32[batch, len(columns) or more], what each row was multiplied by; 0 leaves it out.
        first: the column of ``by_input`` that the first of them went into.
        stride: how far the next one went from there: the table's width if rows were put side by side, 0 if added up.
        values: float32[rows, table's width], the gradient.
        used: bool[rows], its rows that hold numbers; overwritten.
    """
    used[:] = False
    width = values.shape[1]
    for r in range(len(features)):
        for c in range(len(columns)):
            factor = scale[r, c]
            if factor == np.float32(0):
                continue
            row = starts[c] + features[r, columns[c]]
            source = by_input[r, first + c * stride : first + c * stride + width]
            target = values[row]
            if used[row]:
                for j in range(width):
                    target[j] += factor * source[j]
            else:
                used[row] = True
                for j in range(width):
                    target[j] = factor * source[j]


@kernel()
def sum_elements(vectors, features, columns, starts, elements, sums, used):
    """Fills in the vectors of those sets that the slots ``columns`` hold, as sums of the vectors of their elements.

    Args:
        vectors: float32[elements, width].
        features: int32[batch, slots].
        columns: the slots whose values are sets.
        starts: int64[sets + 1], set s has those elements from ``starts[s]`` to before ``starts[s + 1]``.
        elements: their numbers.
        sums: float32[sets, width], the vectors of the sets.
        used: bool[sets], those that are filled in.
    """
    used[:] = False
    for r in range(len(features)):
        for c in range(len(columns)):
            value = features[r, columns[c]]
            if not 0 <= value < len(sums):
                raise IndexError("a feature has a value that the classifier has no vector for")
            if used[value]:
                continue
            used[value] = True
            target = sums[value]
            target[:] = 0
            for i in range(starts[value], starts[value + 1]):
                source = vectors[elements[i]]
                for j in range(len(target)):
                    target[j] += source[j]


@kernel()
def collect_elements(by_sum, used_sums, starts, elements, values, used):
    """The gradient of the vectors of elements, ``values`` and ``used``, from that of the sets': the reverse of sum_elements."""
    used[:] = False
    for value in range(len(by_sum)):
        if used_sums[value]:
            source = by_sum[value]
            for i in range(starts[value], starts[value + 1]):
                target = values[elements[i]]
                if used[elements[i]]:
                    for j in range(len(target)):
                        target[j] += source[j]
                else:
                    used[elements[i]] = True
                    for j in range(len(target)):
                        target[j] = source[j]


@kernel()
def column_sums(matrix, sums):
    """Fills in ``sums`` (float32[columns]) of float32[rows, columns]."""
    sums[:] = 0
    for r in range(len(matrix)):
        row = matrix[r]
        for j in range(len(sums)):
            sums[j] += row[j]


@kernel()
def sgd(weights, gradient, used, velocity, rate, momentum, decay):
    """A step of torch.optim.SGD with Nesterov's momentum, in place.

    Args:
        weights: float32[rows, width].
        gradient: float32[rows, width].
        used: bool[rows], the rows of ``gradient`` that hold numbers.
        velocity: float32[rows, width], or with no rows if ``momentum`` is 0.
        rate: float32, as the two that follow.
        momentum: 0 for none.
        decay: of the weights.
    """
    zero = np.float32(0)
    for r in range(len(weights)):
        w, g = weights[r], gradient[r]
        if momentum != zero:
            v, on = velocity[r], used[r]
            for j in range(len(w)):
                slope = (g[j] if on else zero) + decay * w[j]
                v[j] = momentum * v[j] + slope
                w[j] -= rate * (slope + momentum * v[j])
        elif used[r]:
            for j in range(len(w)):
                w[j] -= rate * (g[j] + decay * w[j])
        elif decay != zero:
            for j in range(len(w)):
                w[j] -= rate * (decay * w[j])


@kernel(error_model="numpy")
def adam(weights, gradient, used, mean, square, rate, correction, shrink, decay, beta1, beta2, epsilon):
    """A step of torch.optim.Adam or AdamW, in place.

    Args:
        weights: float32[rows, width].
        gradient: float32[rows, width].
        used: bool[rows], the rows of ``gradient`` that hold numbers.
        mean: float32[rows, width], the running mean of the gradient.
        square: float32[rows, width], that of its square.
        rate: float32, as all that follow: the learning rate over 1 - beta1^step.
        correction: the root of 1 - beta2^step.
        shrink: AdamW's factor of the weights, 1 for Adam.
        decay: Adam's decay of the weights, 0 for AdamW.
        beta1: share of the mean that is kept.
        beta2: share of the square that is kept.
        epsilon: keeps the divisor from zero.
    """
    new1, new2 = np.float32(1) - beta1, np.float32(1) - beta2
    for r in range(len(weights)):
        w, m, s, g = weights[r], mean[r], square[r], gradient[r]
        if used[r]:
            for j in range(len(w)):
                slope = g[j] + decay * w[j]
                m[j] += new1 * (slope - m[j])
                s[j] = beta2 * s[j] + new2 * slope * slope
                w[j] = shrink * w[j] - rate * m[j] / (np.sqrt(s[j]) / correction + epsilon)
        else:
            for j in range(len(w)):
                slope = decay * w[j]
                m[j] += new1 * (slope - m[j])
                s[j] = beta2 * s[j] + new2 * slope * slope
                w[j] = shrink * w[j] - rate * m[j] / (np.sqrt(s[j]) / correction + epsilon)
