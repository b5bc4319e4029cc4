"""A system that changes the transitions of another one is parsed with them, not with what is
compiled for the other.
"""

import random

import numpy as np
import pytest

from parser.beam_settings import Beam, BeamError, Merge
from parser.data.sentences import NO_NODE
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.lattice.parser import lattice_parser
from parser.model.trained_model import TrainedModel
from parser.transitions.attardi import ArcStandard
from parser.transitions.configurations import Configurations
from parser.transitions.system import Transitions
from tests.forgery import small_model
from tests.searches import beam_parser_of, parser_of
from tests.toy import sentence

SHIFT, FIRST_REDUCTION = 0, 1


class Hasty(ArcStandard):
    """Shifts only where it cannot reduce."""

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        transitions = super().transitions(now, rows, single_root)
        transitions.rows[(transitions.rows[:, FIRST_REDUCTION:] != NO_NODE).any(axis=1), SHIFT] = (
            NO_NODE
        )
        return transitions


@pytest.fixture
def model() -> TrainedModel:
    model = small_model("static")
    model.system = Hasty(len(model.relations.symbols), root_relation=1)
    return model


def test_it_is_parsed_with_its_own_transitions(model):
    rng = random.Random(1)
    encoded = model.vocabularies.encode(
        [sentence([0] + [1] * rng.randint(1, 12), rng) for _ in range(20)]
    )
    expected = parse_batched(encoded, model.system, model.table, model.scorer())
    found = parser_of(model).parse(encoded)
    np.testing.assert_array_equal(found.heads, expected.heads)
    assert found.heads.tolist() != parser_of(small_model("static")).parse(encoded).heads.tolist()
    np.testing.assert_array_equal(
        beam_parser_of(model, Beam(1)).parse(encoded).heads, expected.heads
    )


def test_what_is_of_arc_standard_alone_refuses_it(model):
    with pytest.raises(BeamError, match="only with system=arc_standard"):
        beam_parser_of(model, Beam(2, Merge.SIGNATURE))
    with pytest.raises(BeamError, match="lattices need system=arc_standard or attardi"):
        lattice_parser(model, Beam(2))
