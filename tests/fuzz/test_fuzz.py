"""A few of the cases of run.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.fuzz.targets import TARGETS, generator

CASES = {
    **{"parse": 400, "gold": 1000, "compressed": 400, "model": 500, "output": 150, "checkpoint": 200, "settings": 200},
    **{"text": 60, "lattice": 400},
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny matrix products are slower with more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_breaks_a_promise(target, tmp_path):
    for case in range(CASES[target]):
        try:
            TARGETS[target](generator(0, target, case), tmp_path)
        except BaseException as error:
            error.add_note(f"python tests/fuzz/run.py --target {target} --seed 0 --first {case} --cases 1")
            raise
