"""Gold trees of which not all heads are known:
all exact oracles against searches that share nothing with them.

The searches count an arc if its head is the gold one,
and no head is equal to one that is not known.
"""

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

import oracles
from oracles import PROJECTIVIZATIONS, UNKNOWN_HEAD, PartialGoldError, Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles import searches
from tests.oracles.searches import Search, compare_everywhere

Gold = list[int]


def partial_trees(n: int) -> list[Gold]:
    """All trees of n tokens, with every subset of their heads hidden."""
    ways = (product(*((head, UNKNOWN_HEAD) for head in tree)) for tree in random_trees.all_trees(n))
    return [list(gold) for gold in sorted({gold for golds in ways for gold in golds})]


def random_partial_trees(n: int, count: int) -> list[Gold]:
    rng = random.Random(n)
    return [
        [
            UNKNOWN_HEAD if rng.random() < share else head
            for head in random_trees.random_any_tree(rng, n)
        ]
        for share in (rng.random() for _ in range(count))
    ]


# An oracle, its options, and those of the search.
Case = tuple[str, dict[str, Any], Callable[..., Search[Any]], dict[str, Any]]
STANDARD = ("context_rows", "nederhof_cubic")
NEAREST: list[dict[str, Any]] = [
    {"strategy": strategy, "ties": "nearest_ancestor"} for strategy in ("left_before_right", "any")
]
FAST: list[Case] = [
    *(
        (name, options, searches.ArcStandardSearch, {"strategy": options["strategy"]})
        for name in STANDARD
        for options in [*({"strategy": strategy} for strategy in oracles.Strategy), *NEAREST]
    ),
    (
        "nederhof_cubic",
        {"share_chart": False},
        searches.ArcStandardSearch,
        {"strategy": "left_before_right"},
    ),
    *(
        ("arc_hybrid_rows", {"single_root": root}, searches.ArcHybridSearch, {"single_root": root})
        for root in (False, True)
    ),
    *(
        ("attardi_search", kind, searches.AttardiSearch, kind)
        for kind in [
            {"degree": degree, "single_root": root}
            for degree in (1, 2, 3)
            for root in (False, True)
        ]
    ),
    ("lr_spine_chart", {}, searches.LrSpineSearch, {}),
    *(
        ("pointer_cycles", {"single_root": root}, searches.PointerSearch, {"single_root": root})
        for root in (False, True)
    ),
]
SLOW: list[Case] = [
    *(
        ("arc_eager_rows", kind, searches.ArcEagerSearch, kind)
        for kind in [
            {"single_root": root, "nonmonotonic": undoes} for root in (0, 1) for undoes in (0, 1)
        ]
    ),
    ("arc_eager_rows", {"ties": "commit"}, searches.ArcEagerSearch, {}),
    ("covington_loss", {}, searches.CovingtonSearch, {}),
    ("covington_loss", {"ties": "commit"}, searches.CovingtonSearch, {}),
]


def named(case: Case) -> str:
    return "-".join([case[0], *map(str, case[1].values())])


def compare(case: Case, golds: Sequence[Gold], most: int | None = None) -> None:
    name, options, search, search_options = case
    compare_everywhere(
        oracles.create(name, **options), [search(gold, **search_options) for gold in golds], most
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("case", [*FAST, *SLOW], ids=named)
def test_equals_search_everywhere(n, case):
    compare(case, partial_trees(n))


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize(
    "case", [*FAST, *(pytest.param(one, marks=pytest.mark.long) for one in SLOW)], ids=named
)
def test_equals_search_everywhere_with_four_tokens(case):
    compare(case, partial_trees(4))


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("case", FAST, ids=named)
def test_equals_search_in_samples(case, n):
    compare(case, random_partial_trees(n, 10), 20)


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize(("n", "trees"), [(4, 12), pytest.param(5, 10, marks=pytest.mark.long)])
@pytest.mark.parametrize("case", SLOW, ids=named)
def test_slow_searches_in_samples(case, n, trees):
    compare(case, random_partial_trees(n, trees), None if n < 5 else 20)


@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.skipif(not COMPILED, reason="slow"))]
)
def test_projective_is_what_is_part_of_a_projective_tree(n):
    golds = partial_trees(n) if n < 5 else random_partial_trees(n, 300)
    found = Trees.from_heads(golds, partial=True).projective
    able = [
        any(
            all(g in (UNKNOWN_HEAD, head) for g, head in zip(gold, tree, strict=True))
            for tree in brute_force.projective_trees(n)
        )
        for gold in golds
    ]
    assert found.tolist() == able


@pytest.mark.parametrize("choice", PROJECTIVIZATIONS)
@pytest.mark.parametrize("n", [3, 4, 5])
def test_projectivization_lifts_known_arcs_alone(n, choice):
    golds = partial_trees(n) if n < 5 else random_partial_trees(n, 100)
    made = oracles.projectivize_trees(Trees.from_heads(golds, partial=True), choice)
    assert made.projective.all()
    for s, gold in enumerate(golds):
        if UNKNOWN_HEAD not in gold:
            continue
        kept = sum(
            head == wanted
            for head, wanted in zip(made[s], gold, strict=True)
            if wanted != UNKNOWN_HEAD
        )
        assert kept == max(
            brute_force.gold_edges(tree, gold) for tree in brute_force.projective_trees(n)
        )
        for token, head in enumerate(made[s], 1):
            above = []
            node = token
            while node > 0 and (node := gold[node - 1]) != UNKNOWN_HEAD:
                above.append(node)
            assert head == UNKNOWN_HEAD or head in above
            assert head == UNKNOWN_HEAD or gold[token - 1] != UNKNOWN_HEAD


def test_oracles_that_need_all_heads_refuse_others_and_name_those_that_do_not():
    golds = Trees.from_heads([[0], [2, UNKNOWN_HEAD]], partial=True)
    refusing = [
        name for name in oracles.all_names() if not oracles.oracle_class(name).takes_partial_gold
    ]
    for name in refusing:
        able = ", ".join(oracles.oracle_class(name).alternatives)
        with pytest.raises(
            PartialGoldError, match=rf"oracle {name} .*sentence 1 .*{able or 'another system'}"
        ):
            oracles.create(name).bind(golds)
        assert all(
            oracles.oracle_class(other).takes_partial_gold
            for other in oracles.oracle_class(name).alternatives
        )
    assert {"static", "nederhof_linear", "arc_hybrid_local", "swap_dynamic", "attardi_tabular"} <= {
        *refusing
    }


@pytest.mark.parametrize(
    ("heads", "message"),
    [([2, 1, -1], "cycle"), ([-1, 4, -1], "outside"), ([-2, 0, -1], "outside")],
)
def test_what_is_no_part_of_a_tree_is_refused(heads, message):
    with pytest.raises(ValueError, match=rf"sentence 0.*{message}"):
        Trees.from_heads([heads], partial=True)
    with pytest.raises(ValueError, match="the head of token 1 is -1, outside"):
        Trees.from_heads([[-1, 0]])
