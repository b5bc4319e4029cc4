"""The readable beam against all computations of short sentences, and against plain lists."""

from __future__ import annotations

import pytest

from parser import transitions
from parser.beam_settings import Beam, Merge, Scores
from parser.decoding.beam.batched import search_batched
from parser.decoding.sentence_parser import Tree, distinct
from parser.transitions.features import FeatureTable, Slot
from tests.decoding.computations import Space, all_computations, best_by_tree, plain_beam
from tests.decoding.drawn_scores import hashing_scorer, sentence_of_tokens

TABLE = ["s0:form", "s1:form", "b0:form", "s0.l1:deprel"]


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
        items = search_batched(encoded, parsed_with, table, scorer, beam, single_root=single_root)
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
        items = search_batched(encoded, parsed_with, table, scorer, Beam(size, merge, scores), single_root=single_root)
        *_, expected = plain_beam(space, n, size, merging=merge is Merge.CONFIGURATION)
        assert items.totals.tolist() == pytest.approx([total for total, _ in expected], abs=1e-9)
        for heads, relations, (_, state) in zip(items.now.heads, items.now.relations, expected, strict=True):
            found = dict(enumerate(zip(heads.tolist()[1:], relations.tolist()[1:], strict=True), 1))
            assert found == state.arcs
