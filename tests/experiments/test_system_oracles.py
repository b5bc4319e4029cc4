"""What the oracles of the other transition systems cost: the command on a tiny treebank, and the sizes of the table."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from experiments import system_oracles
from experiments.figures import read_csv
from oracles import Trees
from scripts.benchmarks.oracles import OF_SYSTEMS
from tests.forked import script
from tests.random_trees import random_mildly_nonprojective_tree, random_projective_tree
from tests.toy import sentence, write_conllu

# Whose systems take two transitions for each word, and others that make no arc.
LONGER = ("covington_loss",)


def test_the_command_writes_what_it_measures(tmp_path):
    rng = random.Random(5)
    trees = [random_mildly_nonprojective_tree(rng, rng.randint(3, 9)) for _ in range(12)]
    trees = [tree for tree in trees if tree.count(0) == 1]
    part = Path(tmp_path / "UD_Hungarian-Szeged" / "hu_szeged-ud-dev.conllu")
    part.parent.mkdir()
    write_conllu(part, [sentence(tree) for tree in trees])
    words = sum(map(len, trees))
    given = [f"paths.treebanks={tmp_path}", "treebanks=[hu]", f"output={tmp_path / 'out'}", "min_configurations=1"]
    done = script("experiments/system_oracles.py", *given)
    assert done.returncode == 0, done.stderr
    rows = read_csv(tmp_path / "out" / "results.csv")
    assert [row["oracle"] for row in rows] == list(OF_SYSTEMS)
    by_words = {row["oracle"]: int(row["configurations"]) / words for row in rows}
    assert by_words.pop("pointer_cycles") == 1
    assert all(by_words.pop(name) > 2 for name in LONGER)
    assert set(by_words.values()) == {2}
    assert all(float(row["mean"]) > 0 and float(row["percentile_999"]) > 0 for row in rows)
    by_oracle = {row["oracle"] for row in read_csv(tmp_path / "out" / "sizes.csv")}
    assert by_oracle == {*OF_SYSTEMS, system_oracles.TABLE}
    assert {"times.svg", "table_sizes.svg", "table.md"} <= {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize("name", OF_SYSTEMS)
def test_sizes_are_those_of_stack_and_buffer(name):
    measured = system_oracles.cost(Trees.from_heads([[2, 0, 2], [0]]), name, 1.0, 1)
    # Sentences of 3 tokens and of 1: k + m begins with these, and each attachment makes it one less, but pointer's do not.
    assert sorted(set(measured.sizes.tolist())) == ([1, 3] if name == "pointer_cycles" else [1, 2, 3])
    assert len(measured.calls) == len(measured.sizes)
    assert len(measured.sizes) > 8 if name in LONGER else len(measured.sizes) == (4 if name == "pointer_cycles" else 8)


def test_the_table_begins_with_the_top_alone():
    rng = random.Random(2)
    trees = Trees.from_heads([random_projective_tree(rng, 6) for _ in range(10)])
    sizes = system_oracles.table_sizes(trees, 0.9, 1)
    assert sizes[1] == [1] * (10 * 12)  # T[1,1] of every configuration holds the spines of the top
    assert max(sizes) > 3
