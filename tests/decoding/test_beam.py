"""Beams: the compiled one against the readable one."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.decoding.beam import compiled as beam_module
from parser.decoding.beam.batched import BatchedBeamParser
from parser.decoding.beam.tree_stacks import TreeStacks
from parser.decoding.parsers import beam_parser_of, parser_of
from parser.model.model import Model
from parser.networks.layers import ACTIVATIONS
from parser.transitions.attardi import MAX_DEGREE
from parser.transitions.features import Slot
from tests.decoding.drawn_scores import check_trees
from tests.forgery import KINDS, small_model
from tests.jit import COMPILED
from tests.random_models import random_static_model
from tests.toy import sentence

N_SENTENCES = 30 if COMPILED else 4
LONGEST = 20 if COMPILED else 6


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(5)
    return [sentence([0] + [1] * (rng.randint(1, LONGEST) - 1), rng) for _ in range(N_SENTENCES)]


def of_degree(model: Model, degree: int) -> Model:
    """A model with random weights and the slots of another, for Attardi's system."""
    return Model.new(model.vocabularies, model.relations, model.slots, model.spec, "attardi", {"degree": degree})


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("single_root", [True, False])
def test_one_item_is_greedy_parsing(sentences, single_root, activation):
    model = random_static_model(sentences, {"form": 5, "deprel": 3}, activation)
    encoded = model.vocabularies.encode(sentences)
    greedy = parser_of(model).parse(encoded, single_root=single_root)
    for merge, scores in product((Merge.NONE, Merge.CONFIGURATION), Scores):
        beam = Beam(1, merge, scores)
        found = beam_parser_of(model, beam).parse(encoded, single_root=single_root)
        np.testing.assert_array_equal(found.heads, greedy.heads)
        np.testing.assert_array_equal(found.relations, greedy.relations)
    slow = BatchedBeamParser.with_weights(model.weights(), model.system, model.table, Beam(1))
    np.testing.assert_array_equal(slow.parse(encoded, single_root=single_root).heads, greedy.heads)


@pytest.mark.parametrize("kind", KINDS)
def test_one_item_is_greedy_parsing_with_any_kind_of_model(kind):
    rng = random.Random(2)
    model = small_model(kind)
    encoded = model.vocabularies.encode([sentence([0] + [1] * (n - 1), rng) for n in (1, 2, 5, 9)])
    greedy, found = parser_of(model).parse(encoded), beam_parser_of(model, Beam(1)).parse(encoded)
    np.testing.assert_array_equal(found.heads, greedy.heads)
    np.testing.assert_array_equal(found.relations, greedy.relations)


@pytest.mark.parametrize(
    ("degree", "merge", "scores"), [(1, "none", "local"), (1, "configuration", "global"), (2, "configuration", "local")]
)
@pytest.mark.parametrize("single_root", [True, False])
def test_the_compiled_beam_is_the_readable_one(sentences, degree, merge, scores, single_root):
    model = random_static_model(sentences, {"form": 5})
    if degree > 1:
        model = of_degree(model, degree)
    encoded = model.vocabularies.encode(sentences)
    for size in (2, 5):
        beam = Beam(size, merge, scores)
        fast = beam_parser_of(model, beam).k_best(encoded, size, single_root=single_root)
        slow = BatchedBeamParser.with_weights(model.weights(), model.system, model.table, beam)
        expected = slow.k_best(encoded, size, single_root=single_root)
        for ours, theirs in zip(fast, expected, strict=True):
            np.testing.assert_allclose([t.score for t in ours], [t.score for t in theirs], rtol=1e-5, atol=1e-4)
            for tree, its_equal in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(tree.heads, its_equal.heads)
                np.testing.assert_array_equal(tree.relations, its_equal.relations)
        best = beam_parser_of(model, beam, threads=2).parse(encoded, single_root=single_root)
        for start, trees in zip(best.offsets, fast, strict=False):
            np.testing.assert_array_equal(best.heads[start + 1 : start + 1 + len(trees[0].heads)], trees[0].heads)


OTHERS = ["arc_eager", "arc_hybrid", "covington", "swap", "lr_spine", "pointer"]


@pytest.mark.parametrize("system", OTHERS)
def test_other_systems_have_a_beam(sentences, system):
    model = random_static_model(sentences, {"form": 5})
    if system in ("lr_spine", "pointer"):
        slots = [Slot.parse("c1:form"), Slot.parse("c2:upos"), Slot.parse("q1:form")]
        model = Model.new(model.vocabularies, model.relations, slots, model.spec, system)
    else:
        model = Model.new(model.vocabularies, model.relations, model.slots, model.spec, system)
    encoded = model.vocabularies.encode(sentences[:8])
    greedy = parser_of(model).parse(encoded)
    np.testing.assert_array_equal(beam_parser_of(model, Beam(1)).parse(encoded).heads, greedy.heads)
    wide = beam_parser_of(model, Beam(6)).k_best(encoded, 6)
    for own, n in zip(wide, encoded.lengths, strict=True):
        check_trees(own, int(n), model.system.root_relation)


@pytest.mark.parametrize("degree", [1, 3])
def test_trees_are_valid_and_in_order(sentences, degree):
    model = random_static_model(sentences, {"form": 5})
    if degree > 1:
        model = of_degree(model, degree)
    encoded = model.vocabularies.encode(sentences)
    for merge in (Merge.NONE, Merge.CONFIGURATION):
        for own, n in zip(beam_parser_of(model, Beam(7, merge)).k_best(encoded, 4), encoded.lengths, strict=True):
            check_trees(own, int(n), model.system.root_relation)
            assert len(own) <= 4


def test_a_workspace_that_is_too_small_grows(sentences, monkeypatch):
    model = of_degree(random_static_model(sentences, {"form": 5}), 3)
    encoded = model.vocabularies.encode(sentences)
    beam = Beam(4)
    expected = beam_parser_of(model, beam).parse(encoded)
    allocate = TreeStacks.allocate
    monkeypatch.setattr(TreeStacks, "allocate", lambda tokens, steps: allocate(tokens, steps // 16))
    found = beam_parser_of(model, beam).parse(encoded)
    np.testing.assert_array_equal(found.heads, expected.heads)
    assert len(beam_parser_of(model, beam).k_best(encoded, 2)) == len(sentences)


def test_a_workspace_grows_where_a_step_makes_several_parts(monkeypatch):
    sentences = [sentence([0] + [1] * (29 if COMPILED else 14))]
    model = of_degree(random_static_model(sentences * 2, {"form": 5}), MAX_DEGREE)
    with torch.no_grad():  # all tokens onto the stack, then the deepest arcs: each makes nine cells of the stack anew
        model.classifier.output.bias[0] += 1000
        model.classifier.output.bias[1 + 2 * (MAX_DEGREE - 1) * len(model.relations.symbols) :] += 500
    made, allocate = [], beam_module.BeamSearch._allocate

    def allocate_and_count(search, times):
        made.append(search)
        assert len(made) < 9, "the workspace is doubled again and again"
        allocate(search, times)

    monkeypatch.setattr(beam_module.BeamSearch, "_allocate", allocate_and_count)
    encoded = model.vocabularies.encode(sentences)
    found = beam_parser_of(model, Beam(3)).parse(encoded)
    expected = BatchedBeamParser.with_weights(model.weights(), model.system, model.table, Beam(3)).parse(encoded)
    np.testing.assert_array_equal(found.heads, expected.heads)
    assert made


@pytest.mark.parametrize(
    ("given", "said"),
    [((0,), "size from 1"), ((2, "all"), "merge=all.*none, configuration, signature"), ((2, "none", "log"), "scores=log")],
)
def test_beams_that_cannot_be(given, said):
    with pytest.raises(BeamError, match=said):
        Beam(*given)


def test_more_trees_than_items(sentences):
    model = random_static_model(sentences, {"form": 5})
    with pytest.raises(BeamError, match="ask for 1 to 3"):
        beam_parser_of(model, Beam(3)).k_best(model.vocabularies.encode(sentences), 4)
