"""The benchmark of the oracles: that it measures what it says, and prints JSON. No speed is asserted."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import oracles
from scripts.benchmarks.oracles import growth
from scripts.benchmarks.walks import aligned_at, random_trees, walk

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data" / "sample" / "sample-ud-dev.conllu"


@pytest.fixture(scope="module")
def walked():
    trees = random_trees(20, 15, seed=3)
    return trees, walk(trees, oracles.create("context_rows").bind(trees), 0.9, seed=3)


def test_random_trees_are_trees_of_both_kinds():
    trees = random_trees(100, 40, seed=1)
    assert 0.5 < trees.projective.mean() < 1
    assert trees.lengths.max() <= 40
    assert [trees[s] for s in range(5)] == [random_trees(100, 40, seed=1)[s] for s in range(5)]


def test_a_walk_takes_all_steps_of_each_sentence(walked):
    trees, batches = walked
    visits = sum(np.bincount(batch.sentences, minlength=len(trees)) for batch in batches)
    np.testing.assert_array_equal(visits, 2 * trees.lengths)


def test_aligned_walks_reach_the_size_together_and_in_order(walked):
    trees, batches = walked
    size = 8
    before, at = aligned_at(batches, trees.lengths, size)
    sizes = [batch.stack_sizes - 1 + trees.lengths[batch.sentences] + 1 - batch.buffer_fronts for batch in before + at]
    assert all((k_m > size).all() for k_m in sizes[: len(before)])
    assert all((k_m == size).all() for k_m in sizes[len(before) :])
    assert sorted(at[0].sentences) == np.flatnonzero(trees.lengths >= size).tolist()
    found = sum(map(len, before + at))
    k_m = np.concatenate([b.stack_sizes - 1 + trees.lengths[b.sentences] + 1 - b.buffer_fronts for b in batches])
    assert found == (k_m >= size).sum()


def test_growth_is_found():
    assert growth({10: 3.0, 20: 12.0, 40: 48.0})["exponent"] == pytest.approx(2)
    assert growth({10: 2.0, 20: 4.0, 30: 8.0})["factor_per_10"] == pytest.approx(2)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow without compilation")
@pytest.mark.parametrize("files", [[], [str(SAMPLE)]], ids=["random", "sample"])
def test_the_command_prints_json_and_a_table(files):
    options = ["--sizes", "5", "10", "--repeats", "1", "--random-trees", "12", "--longest", "20"]
    command = [sys.executable, "scripts/benchmark.py", "oracles", *files, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    for kind in ("projectivized", "original"):
        figures = result[kind]["context_rows"]
        assert set(figures["by_size"]) == {"5", "10"}
        assert all(math.isfinite(x) and x > 0 for x in (figures["mean"], *figures["by_size"].values()))
    assert "nederhof_linear" in result["projectivized"]
    assert "nederhof_linear" not in result["original"]
    assert {"machine", "versions", "goals", "projectivization"} <= set(result)
    assert "goldberg_tabular" in done.stderr


def test_an_unknown_benchmark_and_a_missing_file_are_refused():
    for arguments, message in ((["speed"], "invalid choice"), (["oracles", "missing.conllu"], "missing.conllu")):
        command = [sys.executable, "scripts/benchmark.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert message in done.stderr
        assert "Traceback" not in done.stderr
