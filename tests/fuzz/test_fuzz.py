"""A few of the cases of run.py."""

from collections.abc import Iterator

import pytest
import torch

from tests.fuzz.targets import TARGETS, generator

CASES = {
    **{
        "parse": 1100,
        "gold": 10_400,
        "compressed": 2800,
        "model": 900,
        "output": 150,
        "checkpoint": 400,
        "settings": 190,
    },
    **{"text": 60, "lattice": 1400, "files": 2400, "overrides": 200},
}  # 20,000 in all, most where one takes least; of which make test tries the first twentieth


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny matrix products are slower with more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("part", [20, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_breaks_a_promise(target, part, tmp_path):
    for case in range(CASES[target] // part):
        try:
            TARGETS[target](generator(0, target, case), tmp_path)
        except BaseException as error:
            error.add_note(
                f"python tests/fuzz/run.py --target {target} --seed 0 --first {case} --cases 1"
            )
            raise
