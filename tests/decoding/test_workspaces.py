"""Workspaces are not cleared before they are used, so what memory held before must not matter."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from parser.beam_settings import Beam, Merge
from parser.decoding.parsers import parser_with_beam
from tests.random_models import random_static_model
from tests.toy import sentence

BEAMS = [None, *(Beam(3, merge) for merge in Merge)]


@pytest.mark.parametrize("extreme", ["min", "max"])
@pytest.mark.parametrize("beam", BEAMS, ids=[f"beam merge={beam.merge}" if beam else "greedy" for beam in BEAMS])
def test_trees_do_not_depend_on_what_memory_held(beam, extreme, monkeypatch):
    rng = random.Random(7)
    sentences = [sentence([0] + [1] * (n - 1), rng) for n in (1, 2, 5, 8)]
    model = random_static_model(sentences, {"form": 5, "deprel": 3})
    encoded = model.vocabularies.encode(sentences)
    expected = parser_with_beam(model, beam).parse(encoded)
    empty = np.empty  # kernels are compiled by now; they have one of their own

    def dirty(shape, dtype=float, **options):
        made = empty(shape, dtype, **options)
        if sys._getframe(1).f_globals["__name__"].startswith("parser."):
            numbers = np.issubdtype(made.dtype, np.integer)
            made.fill(getattr(np.iinfo(made.dtype), extreme) if numbers else extreme == "min" if made.dtype == bool else np.nan)
        return made

    monkeypatch.setattr(np, "empty", dirty)
    found = parser_with_beam(model, beam).parse(encoded)
    np.testing.assert_array_equal(found.heads, expected.heads)
    np.testing.assert_array_equal(found.relations, expected.relations)
