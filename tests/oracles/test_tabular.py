"""The generic tabular algorithm: the paper's tables over semirings (Nederhof 2019, Section 3),
and grammars of others.
"""

import math
import random
from typing import Any

import pytest
from hypothesis import given

import oracles
from oracles import Strategy
from oracles.arc_standard.tabular import ArcStandardGrammar
from oracles.tabular import (
    ARC_STANDARD,
    MAX_PLUS,
    PROJECTIVE_TREES,
    Configuration,
    Semiring,
    SplitGrammar,
    parse,
)
from tests import brute_force, random_trees
from tests.oracles.searches import ArcHybridSearch, ArcStandardSearch, compare_everywhere

# How many derivations there are.
COUNTING: Semiring[int] = Semiring(
    zero=0,
    one=1,
    plus=lambda a, b: a + b,
    times=lambda a, b: a * b,
    edge=lambda score, head, child: 1,
)


# The best score, and how many derivations have it. Counts are Python's integers:
# exact however large.
SCORE_AND_COUNT: Semiring[tuple[float, int]] = Semiring(
    zero=(-math.inf, 0),
    one=(0, 1),
    plus=lambda a, b: (a[0], a[1] + b[1]) if a[0] == b[0] else max(a, b),
    times=lambda a, b: (a[0] + b[0], a[1] * b[1]),
    edge=lambda score, head, child: (score, 1),
)


def over_sentence(heads, semiring):
    """Return the weight of the artificial root and the tokens under the grammar of Table 3."""

    def edge(head, child):
        return semiring.edge(int(child > 0 and heads[child - 1] == head), head, child)

    return parse(PROJECTIVE_TREES, "a" * (len(heads) + 1), edge, semiring)


@pytest.mark.parametrize("n", range(1, 8))
def test_table_3_derives_each_projective_tree_once(n):
    assert over_sentence([0] * n, COUNTING) == len(brute_force.projective_trees(n))


@given(random_trees.trees(max_size=7))
def test_table_3_finds_the_best_score_and_how_many_trees_have_it(heads):
    best, optimal = brute_force.best_projective_trees(heads)
    assert over_sentence(heads, MAX_PLUS) == best
    assert over_sentence(heads, SCORE_AND_COUNT) == (best, len(optimal))


def test_the_fast_projectivization_equals_its_reference_on_longer_sentences():
    rng = random.Random(1)
    for n in (12, 20):
        for heads in (
            random_trees.random_tree(rng, n),
            random_trees.random_mildly_nonprojective_tree(rng, n, 4),
        ):
            assert over_sentence(heads, SCORE_AND_COUNT) == oracles.count_projectivizations(heads)


def reachable_trees(stack: tuple[int, ...], front: int, n: int) -> set[frozenset[tuple[int, int]]]:
    """Return the sets of edges that arc-standard computations can still make."""
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


@pytest.mark.parametrize("n", range(1, 5))
def test_a_grammar_for_arc_hybrid_gives_its_oracle(n):
    trees = list(random_trees.all_trees(n))[:: 1 if n < 4 else 7]
    compare_everywhere(oracles.create("arc_hybrid_tabular"), [*map(ArcHybridSearch, trees)])


def test_what_cannot_be_derived_weighs_zero():
    assert parse(ARC_STANDARD, "pp", lambda head, child: 0, MAX_PLUS) == -math.inf
    assert parse(ARC_STANDARD, "pp", lambda head, child: 1, COUNTING) == 0


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        *((rule, "not a rule") for rule in ("S -> S", "(S,_) -> S (_,S)", "(S,_) -> s", "S ->")),
        ("(S,S) -> a\n(P,S) -> a", "second rule"),
    ],
)
def test_what_is_no_split_grammar_is_refused(rules, message):
    with pytest.raises(ValueError, match=message):
        SplitGrammar.parse("S", rules)
