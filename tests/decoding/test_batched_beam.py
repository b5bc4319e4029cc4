"""The readable beam against all computations of short sentences, and against plain lists."""

import pytest

from parser import transitions
from parser.beam_settings import Beam, Merge, Scores
from parser.decoding.beam.batched import search_batched
from parser.decoding.sentence_parser import Tree, distinct
from parser.transitions.features import FeatureTable, Slot
from tests.decoding.computations import Space, all_computations, best_by_tree, hashing_scorer, plain_beam, sentence_of_tokens

TABLE = ["s0:form", "s1:form", "b0:form", "s0.l1:deprel"]


def searched(space: Space, n: int, beam: Beam):
    """The items of a search through a sentence of n tokens."""
    options = {"degree": space.degree} if space.system == "attardi" else {}
    system = transitions.create(space.system, space.n_relations, space.root_relation, **options)
    table, scorer = FeatureTable([Slot.parse(slot) for slot in TABLE], ["form"]), hashing_scorer(TABLE, system.n_outputs)
    return search_batched(sentence_of_tokens(n), system, table, scorer, beam, single_root=space.single_root)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize(
    ("system", "degree", "n", "n_relations"), [("arc_standard", 1, 4, 1), ("arc_standard", 1, 3, 2), ("attardi", 2, 3, 2)]
)
@pytest.mark.parametrize("scores", [*Scores])
def test_a_beam_with_room_for_all_finds_the_best_trees_in_their_order(system, degree, n, n_relations, single_root, scores):
    root_relation = 1 if n_relations > 1 else None
    space = Space(system, degree, n_relations, root_relation, single_root, scores is Scores.LOCAL, TABLE)
    computations = all_computations(space, n)
    expected = best_by_tree(computations)
    for merge in (Merge.NONE, Merge.CONFIGURATION):
        items = searched(space, n, Beam(1000, merge, scores))
        columns = zip(items.totals, items.now.heads[:, 1 : n + 1], items.now.relations[:, 1 : n + 1], strict=True)
        trees = distinct((Tree(float(total), heads, relations) for total, heads, relations in columns), 1000)
        assert merge is not Merge.NONE or len(items.totals) == len(computations)
        assert len(trees) == len(expected)
        for tree, ((heads, relations), total) in zip(trees, expected, strict=True):
            assert tree.score == pytest.approx(total, abs=1e-9)
            assert (tuple(tree.heads.tolist()), tuple(tree.relations.tolist())) == (heads, relations)


@pytest.mark.parametrize(("system", "degree"), [("arc_standard", 1), ("attardi", 2), ("attardi", 3)])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("size", [1, 4])
def test_a_beam_is_that_of_plain_lists(system, degree, single_root, scores, size):
    space = Space(system, degree, 2, 1, single_root, scores is Scores.LOCAL, TABLE)
    for merge in (Merge.NONE, Merge.CONFIGURATION):
        items = searched(space, 6, Beam(size, merge, scores))
        *_, expected = plain_beam(space, 6, size, merging=merge is Merge.CONFIGURATION)
        assert items.totals.tolist() == pytest.approx([total for total, _ in expected], abs=1e-9)
        for heads, relations, (_, state) in zip(items.now.heads, items.now.relations, expected, strict=True):
            assert dict(enumerate(zip(heads.tolist()[1:], relations.tolist()[1:], strict=True), 1)) == state.arcs
