"""Projectivization against enumeration of all projective trees,
and the choice among the optimal ones.
"""

import random

import numpy as np
import pytest
from hypothesis import given

import oracles
from oracles import PROJECTIVIZATIONS, Trees
from oracles.projectivization.optimal import MAX_TOKENS_TO_PROJECTIVIZE
from tests import brute_force, forked, random_trees
from tests.jit import COMPILED

LARGEST = 3 if not COMPILED else 5


def faults(heads, tree) -> tuple[int, int, int]:
    """Return what nearest_ancestor makes small, in this order, of the words that lost their heads.

    New children of the root; heads that are no gold ancestors;
    how many ancestors nearer than the head were passed over.
    """
    to_root = to_others = passed_over = 0
    for token, (gold, head) in enumerate(zip(heads, tree, strict=True), 1):
        above = brute_force.ancestors(heads, token)
        if head == gold:
            continue
        if head == 0:
            to_root += 1
        elif head not in above:
            to_others += 1
        else:
            passed_over += above.index(head)
    return to_root, to_others, passed_over


def check_against_enumeration(heads):
    best, optimal = brute_force.best_projective_trees(heads)
    assert oracles.count_projectivizations(heads) == (best, len(optimal))
    assert tuple(oracles.projectivize(heads, "arbitrary")) in optimal
    nearest = oracles.projectivize(heads)
    assert tuple(nearest) in optimal
    assert faults(heads, nearest) == min(faults(heads, tree) for tree in optimal)


def test_all_small_trees():
    for n in range(1, LARGEST + 1):
        for heads in random_trees.all_trees(n):
            check_against_enumeration(heads)


@given(random_trees.trees(6, 7))
def test_random_trees(heads):
    check_against_enumeration(heads)


@given(random_trees.projective_trees(max_size=20))
def test_projective_trees_stay_as_they_are(heads):
    for choice in PROJECTIVIZATIONS:
        assert oracles.projectivize(heads, choice) == heads
    assert oracles.lift(heads) == heads
    assert oracles.count_projectivizations(heads) == (len(heads), 1)


def test_the_choice_is_deterministic_and_independent_of_the_batch():
    rng = random.Random(6)
    heads = [random_trees.random_any_tree(rng, rng.randint(1, 15)) for _ in range(50)]
    trees = Trees.from_heads(heads)
    for choice in PROJECTIVIZATIONS:
        together = oracles.projectivize_trees(trees, choice)
        assert [together[s] for s in range(len(trees))] == [
            oracles.projectivize(tree, choice) for tree in heads
        ]
        assert together.projective.all()
    # the given trees are left alone
    np.testing.assert_array_equal(trees.heads, Trees.from_heads(heads).heads)


def test_counts_are_exact_beyond_64_bits():
    heads = random_trees.random_tree(random.Random(3), 100 if COMPILED else 20)
    best, count = oracles.count_projectivizations(heads)
    assert brute_force.gold_edges(oracles.projectivize(heads), heads) == best
    assert type(best) is int
    assert type(count) is int
    if COMPILED:
        assert count > 2**64


@given(random_trees.trees(max_size=12))
def test_lifting_is_projective_attaches_to_ancestors_and_keeps_no_more_edges(heads):
    lifted = oracles.lift(heads)
    assert lifted == slow_lift(heads)  # the smallest arc is lifted first
    assert brute_force.is_projective(lifted)
    for token in range(1, len(heads) + 1):
        assert lifted[token - 1] in brute_force.ancestors(heads, token)
    assert brute_force.gold_edges(lifted, heads) <= brute_force.gold_edges(
        oracles.projectivize(heads), heads
    )


def slow_lift(heads: list[int]) -> list[int]:
    """Nivre and Nilsson 2005, Figure 3, word by word."""
    heads = list(heads)
    while True:
        crossing = [
            (abs(head - child), min(head, child), child)
            for child, head in enumerate(heads, 1)
            if any(
                head not in brute_force.ancestors(heads, x)
                for x in range(min(head, child) + 1, max(head, child))
            )
        ]
        if not crossing:
            return heads
        child = min(crossing)[2]
        heads[child - 1] = heads[heads[child - 1] - 1]


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
def test_a_thousand_tokens():
    heads = random_trees.random_mildly_nonprojective_tree(random.Random(8), 1000, rehung=20)
    assert not brute_force.is_projective(heads)
    for make in (oracles.projectivize, oracles.lift):
        assert Trees.from_heads([make(heads)]).projective[0]


def test_what_does_not_fit_is_no_tree_or_no_choice_is_refused():
    n = MAX_TOKENS_TO_PROJECTIVIZE + 1
    crossing = [*random_trees.chain(n - 3), 0, n - 3, n - 2]
    with pytest.raises(ValueError, match=rf"sentence 1 .*{n} tokens"):
        oracles.projectivize_trees(Trees.from_heads([[0], crossing]))
    assert oracles.projectivize(random_trees.chain(n)) == random_trees.chain(n)
    assert oracles.projectivize([]) == []
    for heads, choice, message in (
        ([0], "best", "nearest_ancestor, arbitrary"),
        ([2, 1], "arbitrary", "cycle"),
    ):
        with pytest.raises(ValueError, match=message):
            oracles.projectivize(heads, choice)


# The script.

NONPROJECTIVE = """# a comment\r
1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\r
1\ta\t_\tX\t_\t_\t3\tdep\t3:dep\tx\r
2\tb  b\t_\tX\t_\t_\t0\troot\t0:root\tGloss=a=b\r
2.1\te\t_\t_\t_\t_\t_\t_\t2:dep\t_\r
3\tc\t_\tX\t_\t_\t2\tdep\t2:dep\t_\r
\r
"""
PROJECTIVE = "1\ta\t_\t_\t_\t_\t0\troot\t0:root\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t1:dep\t_"


def test_the_script_changes_nothing_but_heads_and_deps_of_nonprojective_sentences(tmp_path):
    output = tmp_path / "output.conllu"
    without_words = "\n# a comment\n\n"
    given = (NONPROJECTIVE + without_words + PROJECTIVE).encode()
    done = forked.script("scripts/projectivize.py", "-", "-o", str(output), given=given)
    assert done.returncode == 0, done.stderr
    assert "2 sentences, 1 of them not projective; 80.00% of 5 heads kept" in done.stderr
    expected = (
        NONPROJECTIVE.replace("3\tdep\t3:dep", "2\tdep\t_")
        .replace("0:root", "_")
        .replace("2\tdep\t2:dep", "2\tdep\t_")
    )
    assert output.read_bytes().decode() == expected + without_words + PROJECTIVE


def test_the_script_counts():
    done = forked.script(
        "scripts/projectivize.py", "-", "--count", given=(NONPROJECTIVE + PROJECTIVE).encode()
    )
    assert done.stdout.splitlines() == ["sentence\twords\tkept\ttrees", "1\t3\t2\t2", "2\t2\t2\t1"]
