"""The oracles and the projectivization against files of cases made elsewhere; skipped where these are absent.

They are looked for in ``vectors/`` of the folder that OPTIMAL_STEP_SHARED names, else of ``shared`` beside the repository.
"""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Strategy, Trees
from tests import brute_force, random_trees
from tests.oracles.vectors import cases


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("name", [name for name in oracles.names() if name not in ("static", "arc_standard_tabular")])
def test_optimal_steps(name, strategy):
    chosen = [case for case in cases("optimal_step.jsonl") if case["strategy"] == strategy]
    oracle = oracles.create(name, strategy)
    if oracle.needs_projective_gold:
        chosen = [case for case in chosen if brute_force.is_projective(case["heads"])]
    assert chosen
    trees = Trees.from_heads(case["heads"] for case in chosen)
    batch = [(s, case["stack"], len(case["heads"]) + 1 - len(case["buffer"])) for s, case in enumerate(chosen)]
    expected = [[NOT_APPLICABLE if score is None else score for score in case["scores"]] for case in chosen]
    np.testing.assert_array_equal(oracle.bind(trees).score_batch(random_trees.query(batch)), expected)


def test_projectivizations():
    for case in cases("projectivize.jsonl"):
        heads, best = case["heads"], case["best_score"]
        assert oracles.count_projectivizations(heads) == (best, case["n_optimal"])
        for choice in oracles.PROJECTIVIZATIONS:
            tree = oracles.projectivize(heads, choice)
            assert brute_force.is_projective(tree)
            assert brute_force.gold_edges(tree, heads) == best


@pytest.mark.parametrize("name", [name for name in oracles.names(system="lr_spine") if name != "lr_spine_partial"])
def test_lr_spine(name):
    oracle = oracles.create(name)
    compared = 0
    for case in cases("lrspine.jsonl"):
        if oracle.needs_projective_gold and not brute_force.is_projective(case["heads"]):
            continue
        scores = oracle.step_scores(case["heads"], case["stack"], case["buffer"])
        assert scores == case["gain"]
        assert {transition: max(scores.values()) - score for transition, score in scores.items()} == case["loss"]
        compared += 1
    assert compared
