"""Sentences for classifiers that read characters."""

from __future__ import annotations

import random

import pytest

from tests.toy import sentence


@pytest.fixture(scope="module")
def sentences():
    """Twenty of up to 12 forms, with one letter beyond ASCII."""
    rng = random.Random(0)
    made = [sentence([0] + [1] * (rng.randint(1, 12) - 1), rng) for _ in range(20)]
    for one in made:
        one.forms = ["".join(rng.choice("abcé") for _ in range(rng.randint(1, 7))) for _ in one.forms]
    return made
