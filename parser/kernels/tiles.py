"""Tiles of matrix products, the innermost loops of products.py and of training:
some rows of WIDTH columns (see llvm.py).

Each sum begins with the bias and adds its products in a fixed order, for any number of rows, so it
does not depend on other rows. Products are added one by one in the order of the inputs, or in
groups of four that are summed first. (Groups add in the order of an earlier kernel. If the length
of the vectors is a multiple of four, as in all recipes, trees are therefore the same to the last
byte.)

Compiled kernels call the tiles of tiles_in_llvm.py, interpreted ones the functions of this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parser.kernels.intrinsics import Intrinsic
from parser.kernels.processor import ROWS, WIDTH, fused

# Inputs of a group, whose products are summed before they are added to a sum;
# for 8-bit integers, by one instruction.
GROUP = 4


def _panel_tile(rows: int) -> Intrinsic:
    """Return the function for tiles of ``rows`` rows, from weights in panels."""

    def plain(vectors, row, weights, panel, start, scale, bias, products):
        columns = slice(panel * WIDTH, (panel + 1) * WIDTH)
        some = vectors[row : row + rows]
        if vectors.dtype == np.uint8:
            by_input = weights[panel].transpose(0, 2, 1).reshape(-1, WIDTH).astype(np.int32)
            sums = start[columns] + some.astype(np.int32) @ by_input
            products[row : row + rows, columns] = (
                sums.astype(np.float32) * scale[columns] + bias[columns]
            )
        else:
            products[row : row + rows, columns] = (
                some @ weights[panel].reshape(-1, WIDTH) + bias[columns]
            )

    def made() -> Any:
        from parser.kernels.tiles_in_llvm import panel_tile

        return panel_tile(rows)

    return Intrinsic(plain, made)


def _strided_tile(rows: int) -> Intrinsic:
    """Return a function like _panel_tile()'s for factors with any strides.

    In training the weights change with every batch; rearranging them as panels would take as long
    as multiplying by them.
    """

    def plain(a, a_start, a_row, a_step, b, b_start, b_step, steps, c, c_start, c_row):
        a, b, c = a.reshape(-1), b.reshape(-1), c.reshape(-1)
        step, row, column = np.arange(steps), np.arange(rows)[:, None], np.arange(WIDTH)
        left = a[a_start + row * a_row + step[:, None, None] * a_step]
        right = b[b_start + step[:, None, None] * b_step + column]
        sums: Any = np.zeros((rows, WIDTH), np.float32)
        for k in range(steps):
            sums = fused(left[k], right[k], sums)
        c[c_start + row * c_row + column] = sums

    def made() -> Any:
        from parser.kernels.tiles_in_llvm import strided_tile

        return strided_tile(rows)

    return Intrinsic(plain, made)


tile_of_rows, tile_of_one_row = _panel_tile(ROWS), _panel_tile(1)
strided_tile_of_rows, strided_tile_of_one_row = _strided_tile(ROWS), _strided_tile(1)

# The arguments start and scale of a kernel if the numbers are floats.
NO_START, NO_SCALE = np.zeros(0, np.int32), np.zeros(0, np.float32)
