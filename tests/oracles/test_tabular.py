"""The generic tabular algorithm: the paper's tables over every semiring (Nederhof 2019, Section 3), and grammars of others."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from oracles import Strategy
from oracles.arc_standard.nederhof_cubic import NederhofCubic
from oracles.arc_standard.tabular import ArcStandardGrammar
from oracles.tabular import (
    ARC_STANDARD,
    MAX_PLUS,
    PROJECTIVE_TREES,
    Configuration,
    Semiring,
    SplitGrammar,
    parse,
    transition_scores,
)
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.searches import ArcHybridSearch, ArcStandardSearch, compare_everywhere

# Whether there is a derivation.
BOOLEAN: Semiring[bool] = Semiring(
    zero=False, one=True, plus=lambda a, b: a or b, times=lambda a, b: a and b, edge=lambda score, head, child: True
)

# How many derivations there are.
COUNTING: Semiring[int] = Semiring(
    zero=0, one=1, plus=lambda a, b: a + b, times=lambda a, b: a * b, edge=lambda score, head, child: 1
)


def _better_score_and_count(a: tuple[float, int], b: tuple[float, int]) -> tuple[float, int]:
    if a[0] == b[0]:
        return a[0], a[1] + b[1]
    return max(a, b)


# The best score, and how many derivations have it. Counts are Python's integers: exact however large.
SCORE_AND_COUNT: Semiring[tuple[float, int]] = Semiring(
    zero=(-math.inf, 0),
    one=(0, 1),
    plus=_better_score_and_count,
    times=lambda a, b: (a[0] + b[0], a[1] * b[1]),
    edge=lambda score, head, child: (score, 1),
)

# The best score, and a derivation that has it (of several the one found first), as nested pairs with edges at the leaves.
# Only up to the choice among equals is this a semiring. ``edges_of`` reads the derivation.
BEST_DERIVATION: Semiring[tuple[float, Any]] = Semiring(
    zero=(-math.inf, None),
    one=(0, None),
    plus=lambda a, b: b if b[0] > a[0] else a,
    times=lambda a, b: (a[0] + b[0], (a[1], b[1])),
    edge=lambda score, head, child: (score, _Edge(head, child)),
)


@dataclass(frozen=True)
class _Edge:
    head: int
    child: int


def edges_of(derivation: Any) -> list[tuple[int, int]]:
    """The edges (head, child) of the second part of a weight of BEST_DERIVATION, by child."""
    edges = []
    agenda = [derivation]
    while agenda:
        part = agenda.pop()
        if isinstance(part, _Edge):
            edges.append((part.head, part.child))
        elif part is not None:
            agenda.extend(part)
    return sorted(edges, key=lambda edge: edge[1])


def over_sentence(heads, semiring):
    """The weight of the artificial root and the tokens under the grammar of Table 3."""

    def edge(head, child):
        return semiring.edge(int(child > 0 and heads[child - 1] == head), head, child)

    return parse(PROJECTIVE_TREES, "a" * (len(heads) + 1), edge, semiring)


@pytest.mark.parametrize("n", range(1, 8))
def test_table_3_derives_each_projective_tree_once(n):
    assert over_sentence([0] * n, COUNTING) == len(brute_force.projective_trees(n))


@given(random_trees.trees(max_size=7))
def test_table_3_over_every_semiring(heads):
    best, optimal = brute_force.best_projective_trees(heads)
    assert over_sentence(heads, BOOLEAN) is True
    assert over_sentence(heads, MAX_PLUS) == best
    assert over_sentence(heads, SCORE_AND_COUNT) == (best, len(optimal))
    score, derivation = over_sentence(heads, BEST_DERIVATION)
    edges = edges_of(derivation)
    assert score == best
    assert [child for _, child in edges] == list(range(1, len(heads) + 1))
    assert tuple(head for head, _ in edges) in optimal


def test_the_fast_projectivization_equals_its_reference_on_longer_sentences():
    rng = random.Random(1)
    for n in (12, 20):
        for heads in (random_trees.random_tree(rng, n), random_trees.random_mildly_nonprojective_tree(rng, n, 4)):
            assert over_sentence(heads, SCORE_AND_COUNT) == oracles.count_projectivizations(heads)


@pytest.mark.parametrize("semiring", [MAX_PLUS, BOOLEAN, COUNTING, SCORE_AND_COUNT])
def test_the_laws_of_semirings(semiring):
    weights = [
        semiring.zero,
        semiring.one,
        semiring.edge(1, 0, 1),
        semiring.times(semiring.edge(1, 0, 1), semiring.edge(0, 1, 2)),
    ]
    plus, times = semiring.plus, semiring.times
    for a, b, c in product(weights, repeat=3):
        assert plus(a, b) == plus(b, a)
        assert plus(plus(a, b), c) == plus(a, plus(b, c))
        assert times(times(a, b), c) == times(a, times(b, c))
        assert times(a, plus(b, c)) == plus(times(a, b), times(a, c))
        assert times(plus(a, b), c) == plus(times(a, c), times(b, c))
    for a in weights:
        assert plus(a, semiring.zero) == a
        assert times(a, semiring.one) == times(semiring.one, a) == a
        assert times(a, semiring.zero) == times(semiring.zero, a) == semiring.zero


def reachable_trees(stack: tuple[int, ...], front: int, n: int) -> set[frozenset[tuple[int, int]]]:
    """The sets of edges that arc-standard computations can still make."""
    if front > n and len(stack) == 1:
        return {frozenset()}
    found: set[frozenset[Any]] = set()
    for step in random_trees.applicable_steps(stack, front, n):
        edge = {1: stack[-2:], 2: stack[:-3:-1]}.get(step)
        for rest in reachable_trees(*random_trees.apply_step(stack, front, step), n):
            found.add(rest | {edge} if edge else rest)
    return found


@pytest.mark.parametrize("n", range(1, 5))
def test_table_4_derives_what_the_parser_can_make_each_tree_once(n):
    for stack, front in brute_force.configurations(n):
        string = ArcStandardGrammar().terminals(Configuration(stack, tuple(range(front, n + 1))))
        made = parse(ARC_STANDARD, string, lambda head, child: 1, COUNTING)
        assert made == len(reachable_trees(stack, front, n))


@pytest.mark.parametrize("strategy", Strategy)
def test_arc_standard_equals_brute_force(strategy):
    for n in (1, 2, 3):
        searches = [ArcStandardSearch(tree, strategy) for tree in random_trees.all_trees(n)]
        compare_everywhere(oracles.create("arc_standard_tabular", strategy), searches)
    rng = random.Random(1)
    searches = [ArcStandardSearch(random_trees.random_tree(rng, n), strategy) for n in (4, 5, 5)]
    compare_everywhere(oracles.create("arc_standard_tabular", strategy), searches)


@given(random_trees.trees_with_configuration(random_trees.trees(5, 10)), st.sampled_from(Strategy))
def test_the_fast_kernels_equal_their_reference(case, strategy):
    heads, stack, front = case
    scores = transition_scores(ArcStandardGrammar(strategy), heads, Configuration(stack, tuple(range(front, len(heads) + 1))))
    for options in ({}, {"share_chart": False}):
        found = NederhofCubic(strategy, **options).step_scores(heads, stack, range(front, len(heads) + 1))
        assert found == tuple(scores.get(name) for name in ("shift", "reduce_left", "reduce_right"))


@pytest.mark.parametrize("n", range(1, 5))
def test_a_grammar_for_arc_hybrid_gives_its_oracle(n):
    trees = list(random_trees.all_trees(n))[:: 1 if n < 4 else 7]
    compare_everywhere(oracles.create("arc_hybrid_tabular"), [*map(ArcHybridSearch, trees)])


def test_what_cannot_be_derived_weighs_zero():
    assert parse(ARC_STANDARD, "pp", lambda head, child: 0, MAX_PLUS) == -math.inf
    assert parse(ARC_STANDARD, "pp", lambda head, child: 1, COUNTING) == 0
    assert parse(ARC_STANDARD, "ss", lambda head, child: BOOLEAN.zero, BOOLEAN) is False


@pytest.mark.parametrize("rule", ["S -> S", "(S,_) -> S (_,S)", "(S,_) -> s", "S ->"])
def test_no_rule_of_a_split_grammar_is_refused(rule):
    with pytest.raises(ValueError, match="not a rule"):
        SplitGrammar.parse("S", rule)


def test_a_second_rule_for_a_terminal_is_refused():
    with pytest.raises(ValueError, match="second rule"):
        SplitGrammar.parse("S", "(S,S) -> a\n(P,S) -> a")


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
def test_deep_derivations_are_read_without_recursion():
    score, derivation = over_sentence(random_trees.chain(40), BEST_DERIVATION)
    assert score == 40
    assert edges_of(derivation) == [(token - 1, token) for token in range(1, 41)]
