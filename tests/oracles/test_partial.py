"""Gold trees of which not all heads are known: all exact oracles against searches that share nothing with them.

The searches count an arc if its head is the gold one, and no head is equal to one that is not known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, PROJECTIVIZATIONS, UNKNOWN_HEAD, PartialGoldError, Query, Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles import (
    attardi_brute_force,
    lr_spine_search,
    test_arc_eager,
    test_arc_hybrid,
    test_covington,
    test_pointer,
)
from tests.oracles.arc_eager_search import ArcEagerSearch
from tests.oracles.covington_search import CovingtonSearch

Gold = list[int]
ScoresOf = Callable[[Any], dict[str, int]]
SearchOf = Callable[[Gold], tuple[Callable[[], Iterable[Any]], ScoresOf]]
"""From a gold tree to what finds all configurations, and to what scores the transitions of one."""


def hidden_in_all_ways(tree: Sequence[int]) -> set[tuple[int, ...]]:
    choices = [(head, UNKNOWN_HEAD) for head in tree]
    return set(product(*choices))


def partial_trees(n: int) -> list[Gold]:
    """All trees of n tokens, with every subset of their heads hidden."""
    return [list(gold) for gold in sorted(set().union(*map(hidden_in_all_ways, random_trees.all_trees(n))))]


def random_partial_trees(n: int, count: int) -> list[Gold]:
    rng = random.Random(n)
    return [
        [UNKNOWN_HEAD if rng.random() < share else head for head in random_trees.random_any_tree(rng, n)]
        for share in (rng.random() for _ in range(count))
    ]


@dataclass
class Searched:
    """An oracle, and a search that scores the transitions of its system."""

    oracle: str
    options: dict[str, Any]
    search: SearchOf
    query: Callable[[int, list[tuple[int, Any]]], Query]
    read: Callable[[Any, np.ndarray], dict[str, int]] | None = None

    def __str__(self) -> str:
        return "-".join([self.oracle, *map(str, self.options.values())])

    def compare(self, golds: Sequence[Gold]) -> None:
        oracle, rng = oracles.create(self.oracle, **self.options), random.Random(0)
        names = oracle.transition_names or ("sh", "rl", "rr")
        everywhere: dict[int, list[Any]] = {}  # by length; the same for all gold trees
        for gold in golds:
            configurations, scores = self.search(gold)
            if len(gold) not in everywhere:
                everywhere[len(gold)] = sorted(configurations())
            some = everywhere[len(gold)] if len(gold) < 5 else rng.sample(everywhere[len(gold)], 20)
            bound = oracle.bind(Trees.from_heads([gold], partial=True))
            rows = bound.score_batch(self.query(len(gold), [(0, now) for now in some]))
            for now, row in zip(some, np.where(rows == NOT_APPLICABLE, rows, rows // bound.gold_weight), strict=True):
                found = oracles.interface.by_name(names, row) if self.read is None else self.read(now, row)
                assert found == scores(now), (gold, now)


def plain_query(n: int, cases: list[tuple[int, Any]]) -> Query:
    return random_trees.query([(s, *now) for s, now in cases])


def arc_standard(strategy: str) -> SearchOf:
    def search(gold: Gold) -> tuple[Callable[[], Iterable[Any]], ScoresOf]:
        steps = brute_force.StepScores(gold, strategy)

        def scores(now: Any) -> dict[str, int]:
            return {name: score for name, score in zip(("sh", "rl", "rr"), steps(*now), strict=True) if score is not None}

        return lambda: brute_force.configurations(len(gold)), scores

    return search


def arc_hybrid(gold: Gold, single_root: bool = False) -> tuple[Callable[[], Iterable[Any]], ScoresOf]:
    found = test_arc_hybrid.brute_force_scores(tuple(gold), single_root)
    return lambda: brute_force.configurations(len(gold)), lambda now: found(*now)


def attardi(degree: int) -> SearchOf:
    return lambda gold: (lambda: brute_force.configurations(len(gold)), attardi_brute_force.TransitionScores(gold, degree))


def reached(search: Any) -> tuple[Callable[[], Iterable[Any]], ScoresOf]:
    return search.reachable, search.scores


def by_chart(gold: Gold) -> tuple[Callable[[], Iterable[Any]], ScoresOf]:
    return lambda: lr_spine_search.configurations(len(gold)), lr_spine_search.TransitionScores(gold)


def with_options(search: Callable[..., Any]) -> Callable[..., SearchOf]:
    """From options to what searches with them."""
    return lambda **options: lambda gold: reached(search(gold, **options))


STANDARD = ("context_rows", "nederhof_cubic")
FAST = [
    *(Searched(name, {"strategy": s}, arc_standard(s), plain_query) for name in STANDARD for s in oracles.Strategy),
    *(
        Searched(name, {"strategy": s, "ties": "nearest_ancestor"}, arc_standard(s), plain_query)
        for name in STANDARD
        for s in ("left_before_right", "any")
    ),
    Searched("nederhof_cubic", {"share_chart": False}, arc_standard("left_before_right"), plain_query),
    *(
        Searched("arc_hybrid_rows", {"single_root": root}, partial(arc_hybrid, single_root=root), plain_query)
        for root in (False, True)
    ),
    *(Searched("attardi_search", {"degree": degree}, attardi(degree), plain_query) for degree in (1, 2, 3)),
    Searched(
        "lr_spine_chart",
        {},
        by_chart,
        lambda n, cases: lr_spine_search.query(cases, n),
        lambda now, row: lr_spine_search.by_name(now, row, NOT_APPLICABLE),
    ),
]
SLOW = [
    *(
        Searched("arc_eager_rows", kind, with_options(ArcEagerSearch)(**kind), test_arc_eager.query)
        for kind in [{"single_root": root, "nonmonotonic": undoes} for root in (0, 1) for undoes in (0, 1)]
    ),
    Searched("arc_eager_rows", {"ties": "commit"}, with_options(ArcEagerSearch)(), test_arc_eager.query),
    Searched("covington_loss", {}, with_options(CovingtonSearch)(), test_covington.query),
    Searched("covington_loss", {"ties": "commit"}, with_options(CovingtonSearch)(), test_covington.query),
]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("searched", [*FAST, *SLOW], ids=str)
def test_equals_search_everywhere(n, searched):
    searched.compare(partial_trees(n))


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize("searched", [*FAST, *(pytest.param(one, marks=pytest.mark.long) for one in SLOW)], ids=str)
def test_equals_search_everywhere_with_four_tokens(searched):
    searched.compare(partial_trees(4))


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("searched", FAST, ids=str)
def test_equals_search_in_samples(searched, n):
    searched.compare(random_partial_trees(n, 10))


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize(("n", "trees"), [(4, 12), pytest.param(5, 10, marks=pytest.mark.long)])
@pytest.mark.parametrize("searched", SLOW, ids=str)
def test_slow_searches_in_samples(searched, n, trees):
    searched.compare(random_partial_trees(n, trees))


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_pointer_equals_all_trees(n, single_root):
    all_trees = test_pointer.AllTrees(n, single_root)
    golds = partial_trees(n) if n < 5 else random_partial_trees(n, 20)
    bound = oracles.create("pointer_cycles", single_root=single_root).bind(Trees.from_heads(golds, partial=True))
    for s, gold in enumerate(golds if COMPILED else golds[::10]):
        np.testing.assert_array_equal(bound.score_batch(all_trees.query(s)), all_trees.scores(gold), str(gold))


def is_part_of(gold: Sequence[int], tree: Sequence[int]) -> bool:
    return all(g in (UNKNOWN_HEAD, head) for g, head in zip(gold, tree, strict=True))


@pytest.mark.parametrize("n", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.skipif(not COMPILED, reason="slow"))])
def test_projective_is_what_is_part_of_a_projective_tree(n):
    golds = partial_trees(n) if n < 5 else random_partial_trees(n, 300)
    found = Trees.from_heads(golds, partial=True).projective
    assert found.tolist() == [any(is_part_of(gold, tree) for tree in brute_force.projective_trees(n)) for gold in golds]


@pytest.mark.parametrize("choice", PROJECTIVIZATIONS)
@pytest.mark.parametrize("n", [3, 4, 5])
def test_projectivization_lifts_known_arcs_alone(n, choice):
    golds = partial_trees(n) if n < 5 else random_partial_trees(n, 100)
    made = oracles.projectivize_trees(Trees.from_heads(golds, partial=True), choice)
    assert made.projective.all()
    for s, gold in enumerate(golds):
        if UNKNOWN_HEAD not in gold:
            continue
        kept = sum(head == wanted for head, wanted in zip(made[s], gold, strict=True) if wanted != UNKNOWN_HEAD)
        assert kept == max(brute_force.gold_edges(tree, gold) for tree in brute_force.projective_trees(n))
        for token, head in enumerate(made[s], 1):
            above = []
            node = token
            while node > 0 and (node := gold[node - 1]) != UNKNOWN_HEAD:
                above.append(node)
            assert head == UNKNOWN_HEAD or head in above
            assert head == UNKNOWN_HEAD or gold[token - 1] != UNKNOWN_HEAD


def test_oracles_that_need_all_heads_refuse_others_and_name_those_that_do_not():
    golds = Trees.from_heads([[0], [2, UNKNOWN_HEAD]], partial=True)
    refusing = [name for name in oracles.all_names() if not oracles.oracle_class(name).takes_partial_gold]
    for name in refusing:
        able = ", ".join(oracles.oracle_class(name).alternatives)
        with pytest.raises(PartialGoldError, match=rf"oracle {name} .*sentence 1 .*{able or 'another system'}"):
            oracles.create(name).bind(golds)
        assert all(oracles.oracle_class(other).takes_partial_gold for other in oracles.oracle_class(name).alternatives)
    assert {"static", "nederhof_linear", "arc_hybrid_local", "swap_dynamic", "attardi_tabular"} <= {*refusing}


@pytest.mark.parametrize(("heads", "message"), [([2, 1, -1], "cycle"), ([-1, 4, -1], "outside"), ([-2, 0, -1], "outside")])
def test_what_is_no_part_of_a_tree_is_refused(heads, message):
    with pytest.raises(ValueError, match=rf"sentence 0.*{message}"):
        Trees.from_heads([heads], partial=True)
    with pytest.raises(ValueError, match="the head of token 1 is -1, outside"):
        Trees.from_heads([[-1, 0]])
