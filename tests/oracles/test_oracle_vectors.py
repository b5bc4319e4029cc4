"""The oracles and the projectivization against files of cases made elsewhere;
skipped where these are absent.

They are looked for in ``vectors/`` of the folder that OPTIMAL_STEP_SHARED names,
else of ``shared`` beside the repository.
"""

import json
from functools import cache

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, NonProjectiveGoldError, Strategy, Trees
from oracles.attardi.system import UnparseableGoldError
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.lattices.made import shared
from tests.oracles.exact import NAMES


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("name", NAMES)
def test_optimal_steps(name, strategy):
    chosen = [case for case in cases("optimal_step.jsonl") if case["strategy"] == strategy]
    oracle = oracles.create(name, strategy)
    if oracle.needs_projective_gold:
        chosen = [case for case in chosen if brute_force.is_projective(case["heads"])]
    assert chosen
    trees = Trees.from_heads(case["heads"] for case in chosen)
    batch = [
        (s, case["stack"], len(case["heads"]) + 1 - len(case["buffer"]))
        for s, case in enumerate(chosen)
    ]
    expected = [
        [NOT_APPLICABLE if score is None else score for score in case["scores"]] for case in chosen
    ]
    np.testing.assert_array_equal(
        oracle.bind(trees).score_batch(random_trees.query(batch)), expected
    )


def test_projectivizations():
    for case in cases("projectivize.jsonl"):
        heads, best = case["heads"], case["best_score"]
        assert oracles.count_projectivizations(heads) == (best, case["n_optimal"])
        for choice in oracles.PROJECTIVIZATIONS:
            tree = oracles.projectivize(heads, choice)
            assert brute_force.is_projective(tree)
            assert brute_force.gold_edges(tree, heads) == best


@pytest.mark.parametrize(
    ("file", "name", "options"),
    [
        ("arc_eager", "arc_eager_rows", ["single_root", "nonmonotonic"]),
        ("arc_hybrid", "arc_hybrid_rows", ["single_root"]),
        ("arc_hybrid", "arc_hybrid_tabular", []),
        ("attardi", "attardi_search", []),
        ("attardi", "attardi_tabular", []),
        ("covington", "covington_loss", []),
        ("lrspine", "lr_spine_chart", []),
        ("lrspine", "lr_spine_tabular", []),
        ("pointer", "pointer_cycles", ["single_root"]),
    ],
)
def test_gains_and_losses(file, name, options):
    compared = 0
    for case in cases(f"{file}.jsonl"):
        if case.get("single_root") and "single_root" not in options:
            continue
        n, oracle = (
            len(case["heads"]),
            oracles.create(name, **{option: case[option] for option in options}),
        )
        stack, buffer = (
            case.get("stack", [0]),
            case.get("buffer", range(case.get("next", 1), n + 1)),
        )
        try:
            scores = oracle.step_scores(
                case["heads"], stack, buffer, **{key: case[key] for key in ("made",) if key in case}
            )
        except (NonProjectiveGoldError, UnparseableGoldError):
            continue
        assert scores == case["gain"], case
        assert {
            transition: max(scores.values()) - score for transition, score in scores.items()
        } == case["loss"]
        compared += 1
    assert compared >= (150 if COMPILED else 5)


@cache
def cases(name: str) -> list[dict]:
    found = [
        json.loads(line)
        for line in shared(f"vectors/{name}").read_text(encoding="utf-8").splitlines()
    ]
    return found[::20] if not COMPILED else found
