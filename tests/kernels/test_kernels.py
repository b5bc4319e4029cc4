"""Kernels count no references, and what they are given is there when they are done."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numba.core.errors import NumbaError
from numba.core.options import DefaultOptions

from parser.kernels import assign, highest, kernel, lowest
from tests.jit import COMPILED


def test_assign():
    target, source = np.zeros(3, np.int32), np.arange(5, dtype=np.int64)
    assign(target, source)
    assert target.tolist() == [0, 1, 2]


def test_the_highest_and_the_lowest_value():
    values = np.array([3.5, -2.0, 7.25, 7.25])
    assert (highest(values), lowest(values), highest(values[1:2])) == (7.25, -2.0, -2.0)


def test_arrays_are_held_by_those_who_have_them():
    array = np.zeros(4, np.float32)
    before = sys.getrefcount(array)
    for _ in range(3):
        assign(array[1:], np.ones(3, np.float32))
    assert sys.getrefcount(array) == before
    assert array.tolist() == [0, 1, 1, 1]


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_kernel_that_makes_an_array_is_refused():
    @kernel()
    def makes_one(n):
        return np.empty(n)[0]

    if hasattr(DefaultOptions, "_nrt"):
        with pytest.raises(NumbaError):
            makes_one(3)
