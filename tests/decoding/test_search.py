"""The table of searches: what it chooses does what was wished,
and what it refuses cannot be done.
"""

from dataclasses import replace
from itertools import product

import pytest

from oracles.errors import OptimalStepError
from parser import transitions
from parser.beam_settings import Beam, BeamError, Merge
from parser.decoding.given_arcs import GivenArcsError, has_exact_oracle
from parser.decoding.search import GREEDY, SEARCHES, Ability, SearchWish, search_for, searches
from parser.transitions.attardi import Attardi
from tests.forgery import small_linear_model, small_model

BEAMS = [
    GREEDY,
    Beam(2),
    Beam(2, Merge.NONE),
    Beam(2, Merge.SIGNATURE),
    Beam(2, rerank=True),
    Beam(2, Merge.SIGNATURE, rerank=True),
]
WISHES = [
    SearchWish(beam, 1, *flags)
    for beam, *flags in product(BEAMS, (False, True), (False, True), (False, True), (False, True))
]


@pytest.fixture(scope="module")
def models():
    """Return a model of every kind with every system, by kind and system."""
    found = {("linear", "arc_standard"): small_linear_model()}
    for kind in ("static", "text"):
        model = small_model(kind)
        for name in transitions.names():
            found[kind, name] = replace(
                model, system=transitions.create_for(model.relations, name, {})
            )
    return found


def can(model, wish: SearchWish) -> bool:
    """Whether a wish can be fulfilled, said in other words than the table's."""
    network, system = model.kind == "classifier", model.system
    searching = wish.k_best or wish.beam.size > 1 or wish.lattices
    if wish.lattices:
        possible = network and isinstance(system, Attardi) and not model.contextual
        return possible and not (
            wish.beam.merge is Merge.SIGNATURE
            or wish.beam.rerank
            or wish.keeps_arcs
            or wish.records
        )
    if wish.beam.rerank and not model.predicts_heads:
        return False
    if (
        searching
        and wish.beam.merge is Merge.SIGNATURE
        and not (network and system.name == "arc_standard")
    ):
        return False
    special = searching and (wish.beam.merge is Merge.SIGNATURE or wish.beam.rerank)
    if wish.keeps_arcs and (not network or special or not has_exact_oracle(system)):
        return False
    return not wish.records or (network and not searching)


def test_a_wish_is_refused_only_if_nothing_can_do_it(models):
    chosen = set()
    for model, wish in product(models.values(), WISHES):
        if not can(model, wish):
            with pytest.raises(OptimalStepError):
                searches(model, wish)
        else:
            first, *_ = searches(model, wish)
            chosen.add((first.parser, first.kind))
    assert chosen == {(one.parser, one.kind) for one in SEARCHES}, (
        "each row is the first for some wish"
    )


@pytest.mark.parametrize(
    ("kind", "system", "wish", "error", "message"),
    [
        (
            "static",
            "swap",
            SearchWish(keeps_arcs=True),
            GivenArcsError,
            "system=swap has no exact oracle; .*covington",
        ),
        (
            "linear",
            "arc_standard",
            SearchWish(keeps_arcs=True),
            GivenArcsError,
            "with model=linear; train with model=mlp",
        ),
        (
            "text",
            "arc_standard",
            SearchWish(BEAMS[4], keeps_arcs=True),
            BeamError,
            "parse greedily, or with another beam",
        ),
        ("static", "arc_standard", SearchWish(BEAMS[4]), BeamError, "parse without --rerank"),
        (
            "linear",
            "arc_standard",
            SearchWish(BEAMS[3]),
            BeamError,
            "not supported with model=linear; use merge=configuration",
        ),
        (
            "static",
            "attardi",
            SearchWish(BEAMS[3]),
            BeamError,
            "only with system=arc_standard, .* system=attardi; use merge=",
        ),
        (
            "text",
            "arc_standard",
            SearchWish(lattices=True),
            BeamError,
            "models with an encoder do not parse lattices",
        ),
        (
            "static",
            "arc_eager",
            SearchWish(lattices=True),
            BeamError,
            "lattices need system=arc_standard or attardi",
        ),
        (
            "linear",
            "arc_standard",
            SearchWish(lattices=True),
            BeamError,
            "model=linear does not parse lattices",
        ),
        (
            "static",
            "arc_standard",
            SearchWish(BEAMS[3], lattices=True),
            BeamError,
            "signature is not supported with lattices",
        ),
        (
            "linear",
            "arc_standard",
            SearchWish(records=True),
            OptimalStepError,
            "records the probabilities .* model=linear",
        ),
    ],
)
def test_a_refusal_names_what_is_missing(models, kind, system, wish, error, message):
    with pytest.raises(error, match=message):
        search_for(models[kind, system], wish)


def test_a_parser_that_cannot_search_is_not_asked_to():
    for one in SEARCHES:
        assert (Ability.GREEDY in one.can) != (Ability.BEAM in one.can)
