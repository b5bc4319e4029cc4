"""Beams: the readable one against plain lists, also of all computations of short sentences; the
compiled one against it.
"""

import sys
from itertools import product

import numpy as np
import pytest
import torch

from parser import transitions
from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.decoding.beam import compiled as beam_module
from parser.decoding.beam.batched import BatchedBeamParser, search_batched
from parser.decoding.beam.tree_stacks import TreeStacks
from parser.model.trained_model import TrainedModel
from parser.networks.layers import ACTIVATIONS
from parser.transitions.attardi import MAX_DEGREE
from parser.transitions.features import FeatureTable, Slot
from tests.decoding.computations import (
    Space,
    check_trees,
    hashed_space,
    hashing_scorer,
    plain_beam,
    sentence_of_tokens,
)
from tests.forgery import KINDS, small_model
from tests.jit import COMPILED
from tests.random_models import STATIC_SLOTS, random_static_model
from tests.searches import beam_parser_of, parser_of, parser_with_beam
from tests.toy import assert_same_trees, drawn_sentences, flat_sentences
from tests.transition_systems import systems

TABLE = ["s0:form", "s1:form", "b0:form", "s0.l1:deprel"]


def searched(space: Space, n: int, beam: Beam):
    """Return the items of a search through a sentence of n tokens."""
    system = transitions.create(
        "attardi", space.n_relations, space.root_relation, degree=space.degree
    )
    table, scorer = (
        FeatureTable([Slot.parse(slot) for slot in TABLE], ["form"]),
        hashing_scorer(system.n_outputs),
    )
    return search_batched(
        sentence_of_tokens(n), system, table, scorer, beam, single_root=space.single_root
    )


@pytest.mark.parametrize(
    ("degree", "n_relations", "n", "size"),
    # 1000: room for all
    [*product((1, 2, 3), (2,), (6,), (1, 4)), (1, 1, 4, 1000), (1, 2, 3, 1000), (2, 2, 3, 1000)],
)
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scores", [*Scores])
def test_a_beam_is_that_of_plain_lists(degree, n_relations, n, size, single_root, scores):
    root_relation = 1 if n_relations > 1 else None
    space = hashed_space(
        degree, n_relations, root_relation, single_root, scores is Scores.LOCAL, TABLE
    )
    for merge in (Merge.NONE, Merge.CONFIGURATION):
        items = searched(space, n, Beam(size, merge, scores))
        *_, expected = plain_beam(space, n, size, merging=merge is Merge.CONFIGURATION)
        assert items.totals.tolist() == pytest.approx([total for total, _ in expected], abs=1e-9)
        for heads, relations, (_, state) in zip(
            items.now.heads, items.now.relations, expected, strict=True
        ):
            assert (
                dict(enumerate(zip(heads.tolist()[1:], relations.tolist()[1:], strict=True), 1))
                == state.arcs
            )


# Children of children, which are found in stacks that share their parts.
DEEP_SLOTS = STATIC_SLOTS | {
    "upos": ["s0", "s2.r1", "b0"],
    "deprel": ["s0.l1", "s0.l2", "s1.r1.r2", "s0.r1.l1"],
}

BEAMS = [None, *(Beam(3, merge) for merge in Merge)]


@pytest.fixture(scope="module")
def sentences():
    return drawn_sentences(5, *((30, 20) if COMPILED else (4, 6)))


def of_degree(model: TrainedModel, degree: int) -> TrainedModel:
    """Return a model with random weights and the slots of another, for Attardi's system."""
    return TrainedModel.new(
        model.vocabularies, model.relations, model.slots, model.spec, "attardi", {"degree": degree}
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("single_root", [True, False])
def test_one_item_is_greedy_parsing(sentences, single_root, activation):
    model = random_static_model(sentences, {"form": 5, "deprel": 3}, activation)
    encoded = model.vocabularies.encode(sentences)
    greedy = parser_of(model).parse(encoded, single_root=single_root)
    for merge, scores in product((Merge.NONE, Merge.CONFIGURATION), Scores):
        beam = Beam(1, merge, scores)
        assert_same_trees(
            beam_parser_of(model, beam).parse(encoded, single_root=single_root), greedy
        )
    slow = BatchedBeamParser.with_weights(
        model.frozen().weights, model.system, model.table, Beam(1)
    )
    np.testing.assert_array_equal(slow.parse(encoded, single_root=single_root).heads, greedy.heads)


@pytest.mark.parametrize("kind", KINDS)
def test_one_item_is_greedy_parsing_with_any_kind_of_model(kind):
    model = small_model(kind)
    encoded = model.vocabularies.encode(flat_sentences([1, 2, 5, 9], seed=2))
    assert_same_trees(
        beam_parser_of(model, Beam(1)).parse(encoded), parser_of(model).parse(encoded)
    )


@pytest.mark.parametrize(
    ("degree", "merge", "scores"),
    [(1, "none", "local"), (1, "configuration", "global"), (3, "configuration", "local")],
)
@pytest.mark.parametrize("single_root", [True, False])
def test_the_compiled_beam_is_the_readable_one(sentences, degree, merge, scores, single_root):
    model = random_static_model(sentences, {"form": 5}, slots=DEEP_SLOTS)
    if degree > 1:
        model = of_degree(model, degree)
    encoded = model.vocabularies.encode(sentences)
    for size in (2, 5):
        beam = Beam(size, merge, scores)
        fast = beam_parser_of(model, beam).k_best(encoded, size, single_root=single_root)
        slow = BatchedBeamParser.with_weights(
            model.frozen().weights, model.system, model.table, beam
        )
        expected = slow.k_best(encoded, size, single_root=single_root)
        for ours, theirs in zip(fast, expected, strict=True):
            np.testing.assert_allclose(
                [t.score for t in ours], [t.score for t in theirs], rtol=1e-5, atol=1e-4
            )
            for tree, its_equal in zip(ours, theirs, strict=True):
                assert_same_trees(tree, its_equal)
        best = beam_parser_of(model, beam, threads=2).parse(encoded, single_root=single_root)
        for start, trees in zip(best.offsets, fast, strict=False):
            np.testing.assert_array_equal(
                best.heads[start + 1 : start + 1 + len(trees[0].heads)], trees[0].heads
            )


@pytest.mark.parametrize("system", systems("arc_standard", "attardi"))  # which the tests above try
def test_other_systems_have_a_beam(sentences, system):
    model = random_static_model(sentences, {"form": 5})
    candidates = [Slot.parse("c1:form"), Slot.parse("c2:upos"), Slot.parse("q1:form")]
    slots = (
        candidates
        if {"c1", "c2", "q1"} <= {*transitions.system_class(system).candidate_positions}
        else model.slots
    )
    model = TrainedModel.new(model.vocabularies, model.relations, slots, model.spec, system)
    encoded = model.vocabularies.encode(sentences[:8])
    greedy = parser_of(model).parse(encoded)
    np.testing.assert_array_equal(beam_parser_of(model, Beam(1)).parse(encoded).heads, greedy.heads)
    wide = beam_parser_of(model, Beam(6)).k_best(encoded, 6)
    for own, n in zip(wide, encoded.lengths, strict=True):
        check_trees(own, int(n), model.system.root_relation)


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
    sentences = flat_sentences([30 if COMPILED else 15])
    model = of_degree(random_static_model(sentences * 2, {"form": 5}), MAX_DEGREE)
    # all tokens onto the stack, then the deepest arcs: each makes nine cells of the stack anew
    with torch.no_grad():
        model.classifier.output.bias[0] += 1000
        model.classifier.output.bias[1 + 2 * (MAX_DEGREE - 1) * len(model.relations.symbols) :] += (
            500
        )
    made, allocate = [], beam_module.BeamSearch._allocate

    def allocate_and_count(search, times):
        made.append(search)
        assert len(made) < 9, "the workspace is doubled again and again"
        allocate(search, times)

    monkeypatch.setattr(beam_module.BeamSearch, "_allocate", allocate_and_count)
    encoded = model.vocabularies.encode(sentences)
    found = beam_parser_of(model, Beam(3)).parse(encoded)
    expected = BatchedBeamParser.with_weights(
        model.frozen().weights, model.system, model.table, Beam(3)
    ).parse(encoded)
    np.testing.assert_array_equal(found.heads, expected.heads)
    assert made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0,), "size from 1"),
        ((2, "all"), "merge=all.*none, configuration, signature"),
        ((2, "none", "log"), "scores=log"),
    ],
)
def test_beams_that_cannot_be(given, said):
    with pytest.raises(BeamError, match=said):
        Beam(*given)


@pytest.mark.parametrize("extreme", ["min", "max"])
@pytest.mark.parametrize(
    "beam", BEAMS, ids=[f"beam merge={beam.merge}" if beam else "greedy" for beam in BEAMS]
)
def test_trees_do_not_depend_on_what_memory_held(beam, extreme, monkeypatch):
    """Workspaces are not cleared before they are used."""
    sentences = flat_sentences([1, 2, 5, 8], seed=7)
    model = random_static_model(sentences, {"form": 5, "deprel": 3})
    encoded = model.vocabularies.encode(sentences)
    expected = parser_with_beam(model, beam).parse(encoded)
    empty = np.empty  # kernels are compiled by now; they have one of their own

    def dirty(shape, dtype=float, **options):
        made = empty(shape, dtype, **options)
        if sys._getframe(1).f_globals["__name__"].startswith("parser."):
            numbers = np.issubdtype(made.dtype, np.integer)
            made.fill(
                getattr(np.iinfo(made.dtype), extreme)
                if numbers
                else extreme == "min"
                if made.dtype == bool
                else np.nan
            )
        return made

    monkeypatch.setattr(np, "empty", dirty)
    assert_same_trees(parser_with_beam(model, beam).parse(encoded), expected)
