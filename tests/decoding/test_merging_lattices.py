"""Items of lattices that merge by signature, against all computations over all paths of small ones."""

from __future__ import annotations

import random

import numpy as np
import pytest

from parser.beam_settings import Beam, Merge, Scores
from parser.decoding.lattice.parser import LatticeParser
from parser.decoding.parsers import beam_parser_of
from parser.lattices.lattice import Arc, Lattice, SurfaceToken
from parser.model.model import Model
from tests.decoding.single_paths import parse_as_paths
from tests.decoding.slow_lattices import SlowSearch, lattice_model
from tests.lattices.made import drawn_lattice
from tests.random_models import random_static_model
from tests.toy import sentence

MERGE = Merge.SIGNATURE


def drawn_slots(rng: random.Random) -> dict[str, list[str]]:
    """Few slots, so that much is merged; often none of words on the stack, whose lengths and number may then differ."""
    below = ["s0", "s1", "s2", "s0.l1", "s0.r1", "s1.r2", "s1.l1.r1"]
    words = ["b0", "b1", *below] if rng.random() < 0.5 else ["b0", "b1"]
    return {
        "form": rng.sample(words, 2),
        "upos": rng.sample(words, 1),
        "length": rng.sample(words, 1),
        "deprel": rng.sample(below[3:], 1),
    }


def drawn_case(rng: random.Random, local: bool, single_root: bool) -> tuple[Model, Lattice, int, list[tuple]]:
    """A model, a lattice, the lookahead, and all computations with single_root or without."""
    while True:
        lookahead = rng.randint(1, 3)
        model = lattice_model(lookahead if rng.random() < 0.7 else None, min(lookahead, 2), slots=drawn_slots(rng))
        lattice = drawn_lattice(rng, rng.randint(2, 4), rng.randint(1, 2))
        computations = SlowSearch(model, lattice, lookahead, local, single_root).all()
        if len(computations) <= 3000:
            return model, lattice, lookahead, computations


def best_by_parse(computations: list[tuple]) -> dict[tuple, float]:
    """Every parse with the score of its best computation, best first."""
    best: dict[tuple, float] = {}
    for score, *parse in sorted(computations, reverse=True):
        best.setdefault(tuple(parse), score)
    return best


@pytest.mark.parametrize("seed", range(16))
def test_without_a_limit_the_best_parses_are_found_in_their_order(seed):
    rng = random.Random(seed)
    scores, single_root = rng.choice([*Scores]), rng.random() < 0.5
    model, lattice, lookahead, computations = drawn_case(rng, scores is Scores.LOCAL, single_root)
    best = best_by_parse(computations)
    parser = LatticeParser(model, Beam(1000, MERGE, scores), lookahead)
    (found,) = parser.k_best_of_lattices([lattice], model.vocabularies, 1000, single_root=single_root)
    assert len(found) == min(1000, len(best))
    np.testing.assert_allclose([one.score for one in found], [*best.values()][: len(found)], rtol=1e-4, atol=1e-4)
    for one in found:
        parse = tuple(map(tuple, (one.arcs.tolist(), one.heads.tolist(), one.relations.tolist())))
        assert one.score == pytest.approx(best[parse], rel=1e-4, abs=1e-4)


# By bounds of arcs: before an item begins, and in it, what is on the stack may differ in length, or in number.
LENGTHS = [(0, 2), (0, 1), (1, 2), (2, 4), (4, 5)]
NUMBERS = [(0, 1), (1, 2), (2, 3), (1, 3), (3, 4)]


@pytest.mark.parametrize(("arcs", "single_root", "seeds"), [(LENGTHS, True, 8), (NUMBERS, False, 2)])
def test_what_no_feature_sees_of_the_stack_is_told_apart(arcs, single_root, seeds):
    for seed in range(seeds):
        model = lattice_model(1, 1, slots={"form": ["b0"]}, seed=seed)
        rng = random.Random(seed)
        drawn = [Arc(start, end, f"w{rng.randrange(4)}", upos="NOUN") for start, end in arcs]
        lattice = Lattice.of(drawn, [SurfaceToken(0, drawn[-1].end, "t")])
        best = best_by_parse(SlowSearch(model, lattice, 1, True, single_root).all())
        parser = LatticeParser(model, Beam(1000, MERGE))
        (found,) = parser.k_best_of_lattices([lattice], model.vocabularies, 300, single_root=single_root)
        np.testing.assert_allclose([one.score for one in found], [*best.values()][:300], rtol=1e-4, atol=1e-4)


def test_output_is_a_path_with_a_tree():
    rng = random.Random(2)
    model = lattice_model(2)
    lattices = [drawn_lattice(rng, rng.randint(1, 8), 2) for _ in range(4)]
    parser = LatticeParser(model, Beam(4, MERGE), threads=2)
    best = parser.parse_lattices(lattices, model.vocabularies)
    several = parser.k_best_of_lattices(lattices, model.vocabularies, 6)
    for lattice, parse, parses in zip(lattices, best, several, strict=True):
        assert parse.score == parses[0].score
        assert [one.score for one in parses] == sorted((one.score for one in parses), reverse=True)
        for one in parses:
            assert lattice.is_path(one.arcs.tolist())
            np.testing.assert_array_equal(one.heads == 0, one.relations == model.system.root_relation)
    assert max(map(len, several)) > 4


@pytest.mark.parametrize("lookahead", [None, 4])
def test_a_single_path_is_plain_parsing(lookahead):
    rng = random.Random(5)
    sentences = [sentence([0] + [1] * (rng.randint(1, 9) - 1), rng) for _ in range(4)]
    model = random_static_model(sentences, {"form": 5, "deprel": 3}, "tanh")
    encoded = model.vocabularies.encode(sentences)
    for size in (1, 3):
        expected = beam_parser_of(model, Beam(size, MERGE)).parse(encoded)
        found = parse_as_paths(LatticeParser(model, Beam(size, MERGE), lookahead)._searcher, encoded)
        np.testing.assert_array_equal(found.heads, expected.heads)
        np.testing.assert_array_equal(found.relations, expected.relations)
