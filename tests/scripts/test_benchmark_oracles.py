"""The benchmark of the oracles: that it measures what it says, and prints JSON.
No speed is asserted.
"""

import json
import math
import random

import numpy as np
import pytest

import oracles
from oracles import Trees
from parser.data.treebank import read_treebank
from parser.model.trained_model import TrainedModel
from parser.training.run import train
from parser.transitions.decisions import best
from scripts.benchmarks import oracles as benchmark
from scripts.benchmarks.oracles import OF_SYSTEMS, batched, differing, explorations, growth
from scripts.benchmarks.random_computations import aligned_at, random_computations, random_trees
from tests.forked import script, works
from tests.jit import COMPILED
from tests.random_trees import random_projective_tree
from tests.toy import planned, sentence, write_conllu


@pytest.fixture(scope="module")
def computations():
    trees = random_trees(20, 15, seed=3)
    return trees, random_computations(
        trees, oracles.create("context_rows").bind(trees), 0.9, seed=3
    )


def test_random_trees_are_of_both_kinds_and_a_computation_takes_all_steps_of_each(computations):
    many = random_trees(100, 40, seed=1)
    assert 0.5 < many.projective.mean() < 1
    assert many.lengths.max() <= 40
    assert [many[s] for s in range(5)] == [random_trees(100, 40, seed=1)[s] for s in range(5)]
    trees, batches = computations
    visits = sum(np.bincount(batch.sentences, minlength=len(trees)) for batch in batches)
    np.testing.assert_array_equal(visits, 2 * trees.lengths)


def test_aligned_computations_reach_the_size_together_and_in_order(computations):
    trees, batches = computations

    def sizes(found) -> np.ndarray:
        return np.concatenate(
            [b.stack_sizes - 1 + trees.lengths[b.sentences] + 1 - b.buffer_fronts for b in found]
        )

    before, at = aligned_at(batches, trees.lengths, 8)
    assert (sizes(before) > 8).all()
    assert (sizes(at) == 8).all()
    assert sorted(at[0].sentences) == np.flatnonzero(trees.lengths >= 8).tolist()
    assert sum(map(len, before + at)) == (sizes(batches) >= 8).sum()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a treebank of projective trees,
    and the folder of a model that was trained on it for one epoch.
    """
    folder = tmp_path_factory.mktemp("trained")
    rng = random.Random(2)
    trees = [
        tree
        for tree in (random_projective_tree(rng, rng.randint(3, 9)) for _ in range(60))
        if tree.count(0) == 1
    ]
    path = write_conllu(folder / "toy.conllu", [sentence(tree, rng) for tree in trees])
    tiny = [
        "column=2",
        "first_pass.epochs=1",
        "classifier.hidden=8",
        "vectors.dimensions=8",
        "vectors.epochs=1",
    ]
    train(
        planned(f"treebank.train={path}", "treebank.dev=null", "treebank.test=null", *tiny), folder
    )
    return path, folder / "model"


def test_explorations_follow_the_predictions_one_by_one(trained):
    path, folder = trained
    model, sentences = TrainedModel.load(folder), read_treebank(path).sentences
    found = explorations(model, sentences)
    for number in (0, 5):
        encoded = model.vocabularies.encode([sentences[number]])
        scorer = model.scorer(encoded)
        now, row = model.system.initial(encoded.lengths), np.array([0])
        for stack, front in found[number]:
            assert (stack.tolist(), front) == (
                now.stacks[0, : now.stack_sizes[0]].tolist(),
                now.buffer_fronts[0],
            )
            transitions = model.system.transitions(now, row)
            scores = scorer(model.table.extract(now, row, encoded, row))
            model.system.apply(now, row, transitions, *best(model.system, scores, transitions))
        assert not len(model.system.unfinished(now))
        assert len(found[number]) == 2 * len(sentences[number])
    batches = batched([found[5], found[0], found[5]])
    for position, number in enumerate((5, 0, 5)):
        rows = [
            (batch, row) for batch in batches for row in np.flatnonzero(batch.sentences == position)
        ]
        configurations = [
            (b.stacks[r, : b.stack_sizes[r]].tolist(), b.buffer_fronts[r]) for b, r in rows
        ]
        assert configurations == [(stack.tolist(), front) for stack, front in found[number]]


def test_oracles_that_differ_are_told(computations):
    trees, batches = computations
    cubic = oracles.create("nederhof_cubic")
    total = sum(map(len, batches))
    assert differing(oracles.create("context_rows"), cubic, trees, batches) == {
        "configurations": total,
        "differing": 0,
    }
    # Without the restriction of the strategy, shifts may score more.
    assert (
        0
        < differing(oracles.create("context_rows", "any"), cubic, trees, batches)["differing"]
        < total
    )


def test_growth_is_found():
    assert growth({10: 3.0, 20: 12.0, 40: 48.0})["exponent"] == pytest.approx(2)
    assert growth({10: 2.0, 20: 4.0, 30: 8.0})["factor_per_10"] == pytest.approx(2)


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
def test_trees_that_a_search_gives_up_are_left_out_and_counted(monkeypatch):
    create = oracles.create
    name = "attardi_search, degree 2"
    monkeypatch.setattr(benchmark, "OF_SYSTEMS", {name: OF_SYSTEMS[name]})
    monkeypatch.setattr(
        oracles, "create", lambda *given, **options: create(*given, **options, max_states=25)
    )
    trees = random_trees(30, 12, seed=2)
    found = benchmark.measure_systems(trees, benchmark.How("any", 0.9, (), 1, 1))[name]
    assert 0 < found["left_out"] < 30
    assert found["configurations"] < 2 * trees.lengths.sum()
    result = {
        "strategy": "any",
        "systems": {name: found},
        "projectivized": {},
        "original": {},
        "projectivization": 1,
        "goals": 2,
    }
    assert f"without {found['left_out']} trees on which it gave up" in benchmark.as_table(result)


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
def test_the_tree_on_which_the_defaults_ended_with_an_error_is_not_drawn(monkeypatch):
    """A search of attardi_search over 106 tokens."""
    drawn: list[Trees] = []
    for name in ("measure", "projectivization"):
        monkeypatch.setattr(benchmark, name, lambda *_: {})
    monkeypatch.setattr(benchmark, "goals", lambda _: {})
    monkeypatch.setattr(benchmark, "measure_systems", lambda trees, how: drawn.append(trees) or {})
    benchmark.run()
    assert (len(drawn[0]), drawn[0].lengths.max()) == (1000, 60)


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
def test_the_command_prints_json_and_a_table():
    options = ["--sizes", "5", "10", "--repeats", "1", "--random-trees", "12", "--longest", "20"]
    done = works("scripts/benchmark.py", "oracles", *options)
    result = json.loads(done.stdout)
    for kind in ("projectivized", "original"):
        times = result[kind]["context_rows"]
        assert set(times["by_size"]) == {"5", "10"}
        assert all(math.isfinite(x) and x > 0 for x in (times["mean"], *times["by_size"].values()))
    assert "nederhof_linear" in result["projectivized"]
    assert "nederhof_linear" not in result["original"]
    assert set(result["systems"]) == set(OF_SYSTEMS)
    configurations = {name: entry["configurations"] for name, entry in result["systems"].items()}
    longer = configurations.pop("covington_loss")
    words = configurations.pop("pointer_cycles")
    assert set(configurations.values()) == {2 * words}  # two transitions a word, of pointer one
    assert longer > 2 * words
    assert all(
        math.isfinite(entry["mean"]) and entry["mean"] > 0 for entry in result["systems"].values()
    )
    assert "arc_eager_rows, nonmonotonic" in done.stderr
    assert {"machine", "versions", "goals", "projectivization"} <= set(result)
    assert "goldberg_tabular" in done.stderr


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
def test_the_command_explores_with_a_model_for_each_file(trained):
    path, folder = trained
    command = [
        "scripts/benchmark.py",
        "oracles",
        str(path),
        "--sizes",
        "4",
        "--repeats",
        "1",
        "--models",
    ]
    done = works(*command, folder)
    result = json.loads(done.stdout)
    assert result["optimal_probability"] is None
    assert result["projectivized"]["nederhof_linear"]["against_cubic"]["differing"] == 0
    done = script(*command, folder, folder)
    assert done.returncode != 0
    assert "--models has 2 folders for 1 files" in done.stderr


def test_an_unknown_benchmark_and_a_missing_file_are_refused():
    for arguments, message in (
        (["speed"], "invalid choice"),
        (["oracles", "missing.conllu"], "missing.conllu"),
    ):
        done = script("scripts/benchmark.py", *arguments)
        assert done.returncode != 0
        assert message in done.stderr
        assert "Traceback" not in done.stderr
