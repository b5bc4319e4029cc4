"""Beams: the compiled one against the readable one, and the readable one against all computations of short sentences."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
import torch

from parser import transitions
from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.classifier.activations import ACTIVATIONS
from parser.classifier.scorer import Scorer
from parser.data.parses import NO_NODE
from parser.data.vocabulary import ABSENT, N_RESERVED, Sentences
from parser.decoding import beam as beam_module
from parser.decoding.k_best import Tree, distinct
from parser.decoding.lockstep_beam import LockstepBeamParser, search_in_lockstep
from parser.decoding.parsers import beam_parser_of, parser_of
from parser.decoding.tree_stacks import NO_ROOM, TreeStacks, clear, find, read_trees, take_move, top_nodes
from parser.model import Model
from parser.transitions.attardi import MAX_DEGREE
from parser.transitions.features import FeatureTable, Slot, _program
from tests.decoding.computations import Space, all_computations, best_by_tree, hashed_scores, plain_beam
from tests.decoding.computations import find as find_slowly
from tests.decoding.test_greedy import random_model
from tests.forgery import KINDS, small_model
from tests.jit import COMPILED
from tests.toy import sentence
from tests.transitions.reference_systems import State, applicable, take

N_SENTENCES = 30 if COMPILED else 4
LONGEST = 20 if COMPILED else 6


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(5)
    return [sentence([0] + [1] * (rng.randint(1, LONGEST) - 1), rng) for _ in range(N_SENTENCES)]


def of_degree(model: Model, degree: int) -> Model:
    """A model with random weights and the slots of another, for Attardi's system."""
    return Model.new(model.vocabularies, model.relations, model.slots, model.shape, "attardi", {"degree": degree})


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("single_root", [True, False])
def test_one_item_is_greedy_parsing(sentences, single_root, activation):
    model = random_model(sentences, {"form": 5, "deprel": 3}, activation)
    encoded = model.vocabularies.encode(sentences)
    greedy = parser_of(model).parse(encoded, single_root=single_root)
    for merge, scores in product((Merge.NONE, Merge.CONFIGURATION), Scores):
        beam = Beam(1, merge, scores)
        found = beam_parser_of(model, beam).parse(encoded, single_root=single_root)
        np.testing.assert_array_equal(found.heads, greedy.heads)
        np.testing.assert_array_equal(found.relations, greedy.relations)
    slow = LockstepBeamParser(model.weights(), model.system, model.table, Beam(1))
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
    model = random_model(sentences, {"form": 5})
    if degree > 1:
        model = of_degree(model, degree)
    encoded = model.vocabularies.encode(sentences)
    for size in (2, 5):
        beam = Beam(size, merge, scores)
        fast = beam_parser_of(model, beam).k_best(encoded, size, single_root=single_root)
        slow = LockstepBeamParser(model.weights(), model.system, model.table, beam)
        expected = slow.k_best(encoded, size, single_root=single_root)
        for ours, theirs in zip(fast, expected, strict=True):
            np.testing.assert_allclose([t.score for t in ours], [t.score for t in theirs], rtol=1e-5, atol=1e-4)
            for tree, its_equal in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(tree.heads, its_equal.heads)
                np.testing.assert_array_equal(tree.relations, its_equal.relations)
        best = beam_parser_of(model, beam, threads=2).parse(encoded, single_root=single_root)
        for start, trees in zip(best.offsets, fast, strict=False):
            np.testing.assert_array_equal(best.heads[start + 1 : start + 1 + len(trees[0].heads)], trees[0].heads)


@pytest.mark.parametrize("system", ["arc_hybrid", "swap", "lr_spine"])
def test_other_systems_have_a_beam(sentences, system):
    model = random_model(sentences, {"form": 5})
    if system == "lr_spine":
        slots = [Slot.parse("c1:form"), Slot.parse("c2:upos"), Slot.parse("q1:form")]
        model = Model.new(model.vocabularies, model.relations, slots, model.shape, system)
    else:
        model = Model.new(model.vocabularies, model.relations, model.slots, model.shape, system)
    encoded = model.vocabularies.encode(sentences[:8])
    greedy = parser_of(model).parse(encoded)
    np.testing.assert_array_equal(beam_parser_of(model, Beam(1)).parse(encoded).heads, greedy.heads)
    wide = beam_parser_of(model, Beam(6)).k_best(encoded, 6)
    for own, n in zip(wide, encoded.lengths, strict=True):
        check_trees(own, int(n), model.system.root_relation)


def check_trees(trees: list[Tree], n: int, root_relation: int | None) -> None:
    """Distinct trees in the order of their scores, each of which has one root with its relation."""
    scores = [tree.score for tree in trees]
    assert scores == sorted(scores, reverse=True)
    assert len({(tree.heads.tobytes(), tree.relations.tobytes()) for tree in trees}) == len(trees) > 0
    for tree in trees:
        assert len(tree.heads) == n
        assert (tree.heads == 0).sum() == 1
        np.testing.assert_array_equal(tree.heads == 0, tree.relations == root_relation)
        for token in range(1, n + 1):
            seen = set()
            while token:
                assert token not in seen
                seen.add(token)
                token = int(tree.heads[token - 1])


@pytest.mark.parametrize("degree", [1, 3])
def test_trees_are_valid_and_in_order(sentences, degree):
    model = random_model(sentences, {"form": 5})
    if degree > 1:
        model = of_degree(model, degree)
    encoded = model.vocabularies.encode(sentences)
    for merge in (Merge.NONE, Merge.CONFIGURATION):
        for own, n in zip(beam_parser_of(model, Beam(7, merge)).k_best(encoded, 4), encoded.lengths, strict=True):
            check_trees(own, int(n), model.system.root_relation)
            assert len(own) <= 4


TABLE = ["s0:form", "s1:form", "b0:form", "s0.l1:deprel"]


def sentence_of_tokens(n: int) -> Sentences:
    """A sentence in which the attribute of token i is i + N_RESERVED."""
    return Sentences(np.arange(n + 1, dtype=np.int32)[None] + N_RESERVED, np.array([0, n + 1]))


def hashing_scorer(slots: list[str], n_outputs: int) -> Scorer:
    """computations.hashed_scores() of what the slots read in sentence_of_tokens()."""

    def score(features: np.ndarray) -> np.ndarray:
        read = np.where(features == ABSENT, NO_NODE, features - N_RESERVED)
        return np.array([hashed_scores(tuple(row), n_outputs) for row in read.tolist()], np.float32)

    return score


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize(
    ("system", "degree", "n", "n_relations"), [("arc_standard", 1, 4, 1), ("arc_standard", 1, 3, 2), ("attardi", 2, 3, 2)]
)
@pytest.mark.parametrize("scores", [*Scores])
def test_a_beam_with_room_for_all_finds_the_best_trees_in_their_order(system, degree, n, n_relations, single_root, scores):
    root_relation = 1 if n_relations > 1 else None
    options = {"degree": degree} if system == "attardi" else {}
    parsed_with = transitions.create(system, n_relations, root_relation, **options)
    table = FeatureTable([Slot.parse(slot) for slot in TABLE], ["form"])
    encoded, scorer = sentence_of_tokens(n), hashing_scorer(TABLE, parsed_with.n_outputs)
    local = scores is Scores.LOCAL
    computations = all_computations(Space(system, degree, n_relations, root_relation, single_root, local, TABLE), n)
    expected = best_by_tree(computations)
    for merge in (Merge.NONE, Merge.CONFIGURATION):
        beam = Beam(1000, merge, scores)
        items = search_in_lockstep(encoded, parsed_with, table, scorer, beam, single_root=single_root)
        trees = distinct(
            (
                Tree(float(total), items.now.heads[row, 1 : n + 1], items.now.relations[row, 1 : n + 1])
                for row, total in enumerate(items.totals)
            ),
            1000,
        )
        if merge is Merge.NONE:
            assert len(items.totals) == len(computations)
        assert len(trees) == len(expected)
        for tree, ((heads, relations), total) in zip(trees, expected, strict=True):
            assert tree.score == pytest.approx(total, abs=1e-9)
            assert (tuple(tree.heads.tolist()), tuple(tree.relations.tolist())) == (heads, relations)


@pytest.mark.parametrize(("system", "degree"), [("arc_standard", 1), ("attardi", 2), ("attardi", 3)])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("size", [1, 4])
def test_a_beam_is_that_of_plain_lists(system, degree, single_root, scores, size):
    n, n_relations, root_relation = 6, 2, 1
    parsed_with = transitions.create(system, n_relations, root_relation, **({"degree": degree} if system == "attardi" else {}))
    table = FeatureTable([Slot.parse(slot) for slot in TABLE], ["form"])
    encoded, scorer = sentence_of_tokens(n), hashing_scorer(TABLE, parsed_with.n_outputs)
    space = Space(system, degree, n_relations, root_relation, single_root, scores is Scores.LOCAL, TABLE)
    for merge in (Merge.NONE, Merge.CONFIGURATION):
        items = search_in_lockstep(encoded, parsed_with, table, scorer, Beam(size, merge, scores), single_root=single_root)
        expected = plain_beam(space, n, size, merging=merge is Merge.CONFIGURATION)
        assert items.totals.tolist() == pytest.approx([total for total, _ in expected], abs=1e-9)
        for heads, relations, (_, state) in zip(items.now.heads, items.now.relations, expected, strict=True):
            found = dict(enumerate(zip(heads.tolist()[1:], relations.tolist()[1:], strict=True), 1))
            assert found == state.arcs


@pytest.mark.parametrize("degree", [1, 3])
def test_stacks_that_share_their_parts_are_stacks(degree):
    rng = random.Random(degree)
    programs = [(address, _program(address)) for address in ("s0", "s1", "s2.r1", "s0.l1", "s0.l2", "s1.r1.r2", "s0.r1.l1")]
    elements, path, tops = np.empty(9, np.int32), np.empty(20, np.int32), np.empty(3, np.int32)
    for _ in range(60 if COMPILED else 10):
        n = rng.randint(1, 9)
        stacks = TreeStacks.room(n, 40 * n)
        cell, state = clear(stacks, n, 2 * n), State.initial(n)
        earlier = []
        while not state.final:
            column = rng.choice([c for c in range(1 + 2 * degree) if applicable("attardi", degree, state, c, False)])
            relation = rng.randrange(3)
            earlier.append((cell, dict(state.arcs)))
            cell = take_move(stacks, cell, n + 1 - len(state.buffer), column, relation, elements, path)
            take("attardi", degree, state, column, relation)
            top_nodes(stacks, cell, tops)
            for address, program in programs:
                node, its_relation = find(stacks, tops, program)
                token = NO_NODE if node == NO_NODE else int(stacks.nodes.keys[node, 0])
                assert (token, its_relation) == find_slowly(state, address)
        for of_step, arcs in [*earlier, (cell, state.arcs)]:  # a step leaves what was before as it is
            heads, relations = np.empty((2, n + 1), np.int32)
            read_trees(stacks, of_step, heads, relations, path)
            for token in range(1, n + 1):
                assert (heads[token], relations[token]) == arcs.get(token, (NO_NODE, NO_NODE))


def test_equal_stacks_have_one_number_and_a_full_room_says_so():
    stacks = TreeStacks.room(3, 9)
    elements, path = np.empty(9, np.int32), np.empty(4, np.int32)
    start = clear(stacks, 3, 3)
    three = start
    for token in (1, 2, 3):
        three = take_move(stacks, three, token, 0, 0, elements, path)
    # 2 becomes the head of 1 and 3, in both orders.
    left = take_move(stacks, take_move(stacks, three, 4, 1, 5, elements, path), 4, 2, 6, elements, path)
    two = take_move(stacks, take_move(stacks, start, 1, 0, 0, elements, path), 2, 0, 0, elements, path)
    right = take_move(stacks, take_move(stacks, two, 3, 2, 6, elements, path), 3, 0, 0, elements, path)
    assert left == take_move(stacks, right, 4, 1, 5, elements, path)
    for relation in range(100):
        if take_move(stacks, three, 4, 1, relation, elements, path) == NO_ROOM:
            break
    else:
        raise AssertionError("there was always room")


def test_a_search_that_lacks_room_gets_more(sentences, monkeypatch):
    model = of_degree(random_model(sentences, {"form": 5}), 3)
    encoded = model.vocabularies.encode(sentences)
    beam = Beam(4)
    expected = beam_parser_of(model, beam).parse(encoded)
    room = TreeStacks.room
    monkeypatch.setattr(TreeStacks, "room", lambda tokens, steps: room(tokens, steps // 16))
    found = beam_parser_of(model, beam).parse(encoded)
    np.testing.assert_array_equal(found.heads, expected.heads)
    assert len(beam_parser_of(model, beam).k_best(encoded, 2)) == len(sentences)


def test_a_search_that_makes_several_parts_in_a_step_gets_room_for_them(monkeypatch):
    sentences = [sentence([0] + [1] * (29 if COMPILED else 14))]
    model = of_degree(random_model(sentences * 2, {"form": 5}), MAX_DEGREE)
    with torch.no_grad():  # all tokens onto the stack, then the deepest arcs: each makes nine cells of the stack anew
        model.classifier.output.bias[0] += 1000
        model.classifier.output.bias[1 + 2 * (MAX_DEGREE - 1) * len(model.relations.symbols) :] += 500
    made, make_room = [], beam_module._Search._make_room

    def make_some_room(search):
        made.append(search)
        assert len(made) < 9, "the room is doubled again and again"
        make_room(search)

    monkeypatch.setattr(beam_module._Search, "_make_room", make_some_room)
    encoded = model.vocabularies.encode(sentences)
    found = beam_parser_of(model, Beam(3)).parse(encoded)
    expected = LockstepBeamParser(model.weights(), model.system, model.table, Beam(3)).parse(encoded)
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
    model = random_model(sentences, {"form": 5})
    with pytest.raises(BeamError, match="ask for 1 to 3"):
        beam_parser_of(model, Beam(3)).k_best(model.vocabularies.encode(sentences), 4)
