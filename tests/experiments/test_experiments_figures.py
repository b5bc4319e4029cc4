"""Table 6 and figures 8 to 10: the commands on a tiny treebank, and their arithmetic against slow twins."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oracles
from experiments import figure8, figure9, figure10, table6, treebanks
from experiments.command import settings_of
from experiments.figures import read_csv
from oracles import Trees
from scripts.benchmarks.oracles import FROM_NOTHING
from scripts.benchmarks.walks import Batch, walk
from tests import brute_force
from tests.random_trees import chain, random_mildly_nonprojective_tree, random_projective_tree, random_tree, star
from tests.toy import ROOT, sentence, write_conllu


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder of treebanks that has the development part of hu alone, of toy sentences."""
    rng = random.Random(7)
    trees = [random_mildly_nonprojective_tree(rng, rng.randint(4, 14)) for _ in range(60)]
    one_root = [tree for tree in trees if tree.count(0) == 1]
    assert any(not brute_force.is_projective(tree) for tree in one_root)
    path = tmp_path_factory.mktemp("treebanks")
    (path / "UD_Hungarian-Szeged").mkdir()
    write_conllu(path / "UD_Hungarian-Szeged" / "hu_szeged-ud-dev.conllu", [sentence(tree) for tree in one_root])
    return path


def command(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(ROOT / "experiments" / name), *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("name", "more", "files"),
    [
        ("table6.py", ["repeats=1"], ["results.csv", "table.md"]),
        ("figure8.py", ["bin_width=4", "min_trees=1"], ["figure8.svg", "results.csv"]),
        ("figure9.py", ["sizes=[4,8]", "repeats=1"], ["figure9.svg", "results.csv", "table.md"]),
        ("figure10.py", ["walks=2", "min_sentences=1"], ["figure10.svg", "results.csv"]),
    ],
)
def test_the_commands(folder, tmp_path, name, more, files):
    done = command(name, "treebanks=[hu]", f"paths.treebanks={folder}", f"output={tmp_path}", *more)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    text = (tmp_path / "results.csv").read_text()
    assert text.startswith(f"# python experiments/{name}\n# trees: hu dev (")
    assert str(folder) not in text
    assert read_csv(tmp_path / "results.csv")


def test_pictures_are_the_same_twice(folder, tmp_path):
    for time in "ab":
        overrides = ["treebanks=[hu]", "min_trees=1", f"output={tmp_path / time}", f"paths.treebanks={folder}"]
        figure8.main(settings_of(figure8.Figure8, "figure8", overrides))
    for file in ("results.csv", "figure8.svg"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["seed"], "'seed' is not KEY=VALUE"),
        (["colour=red"], "--help shows the keys"),
        (["treebanks=[hu]", "paths.treebanks=nowhere"], "nowhere/UD_Hungarian-Szeged"),
        (["treebanks=[xx]"], "known: cu, da"),
    ],
)
def test_bad_settings_are_one_clear_message(arguments, message):
    done = command("figure8.py", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_says_how_to_run():
    done = command("figure10.py", "--help")
    assert done.returncode == 0
    assert "python experiments/figure10.py paths.treebanks=" in done.stdout
    assert "follow: 0.9" in done.stdout


def test_the_training_part_if_it_is_there_else_the_rest(folder, tmp_path):
    assert treebanks.read_train_or_rest("sample", "").label == "sample train"
    assert treebanks.read_train_or_rest("hu", str(folder)).label == "hu dev"
    with pytest.raises(ValueError, match="no part train"):
        treebanks.read("hu", str(folder), ("train",))


def test_edges_kept_are_those_counted_one_by_one():
    rng = random.Random(1)
    gold = [random_tree(rng, rng.randint(1, 6)) for _ in range(100)]
    row = table6.measure("toy", "all", Trees.from_heads(gold), repeats=1)
    assert row.words == sum(map(len, gold))
    assert row.nonprojective == sum(not brute_force.is_projective(tree) for tree in gold)
    assert row.optimal_kept == sum(brute_force.best_projective_trees(tree)[0] for tree in gold)
    assert row.lifting_kept == sum(brute_force.gold_edges(oracles.lift(tree), tree) for tree in gold)
    assert row.optimal_percent == pytest.approx(100 * row.optimal_kept / row.words)
    assert row.lifting_kept < row.optimal_kept


def test_the_table_of_projective_trees_divides_by_nothing():
    row = table6.measure("de", "dev", Trees.from_heads([chain(4), star(3)]), repeats=1)
    assert (row.nonprojective_percent, row.lifting_percent, row.optimal_percent) == (0, 100, 100)
    assert "| de | dev | 2 | 0.0 | (13) | 100.00 | 100.00 |  | 98.89 / 98.97 |" in table6.as_table([row])


def test_geometric_means_are_roots_of_products():
    rng = random.Random(2)
    gold = [tree for tree in (random_tree(rng, rng.randint(3, 6)) for _ in range(80)) if not brute_force.is_projective(tree)]
    numbers = {length: [] for length in range(3, 7)}
    for tree in gold:
        numbers[len(tree)].append(len(brute_force.best_projective_trees(tree)[1]))
    rows = figure8.bins("toy", figure8.counts(Trees.from_heads([*gold, chain(5)])), 1)
    assert [row.first_length for row in rows] == [row.last_length for row in rows] == [n for n in numbers if numbers[n]]
    for row in rows:
        found = numbers[row.first_length]
        assert row.trees == len(found)
        assert row.geometric_mean == pytest.approx(math.prod(found) ** (1 / len(found)))
        assert row.most == pytest.approx(max(found))


def test_bins_begin_at_one_and_end_inclusive():
    rows = figure8.bins("toy", [(1, 0.0), (5, math.log(4)), (6, math.log(3)), (12, 0.0)], 5)
    assert [(row.first_length, row.last_length, row.trees) for row in rows] == [(1, 5, 2), (6, 10, 1), (11, 15, 1)]
    assert rows[0].geometric_mean == pytest.approx(2)
    assert rows[0].mean_length == 3
    assert rows[0].low < 2 < rows[0].high
    assert math.isnan(rows[1].low)


def critical(heads: list[int], stack: list[int], front: int) -> set[int]:
    """By the definition: ends and inner nodes of gold paths in the buffer between nodes with gold edges to the stack."""
    gold = {(head, child) for child, head in enumerate(heads, 1)}

    def joined(a: int, b: int) -> bool:
        return (a, b) in gold or (b, a) in gold

    buffer = range(front, len(heads) + 1)
    ends = [b for b in buffer if any(joined(a, b) for a in stack)]

    def on_paths(path: list[int]) -> set[int]:
        found = set(path) if path[-1] in ends else set()
        return found.union(*(on_paths([*path, b]) for b in buffer if b not in path and joined(path[-1], b)))

    return set().union(*(on_paths([b]) for b in ends))


def test_critical_nodes_are_those_of_the_definition():
    rng = random.Random(3)
    trees = Trees.from_heads(random_projective_tree(rng, rng.randint(1, 12), rng.random()) for _ in range(60))
    guide = oracles.create("nederhof_linear").bind(trees)
    batches = walk(trees, guide, 0.5, seed=1)
    counted = iter(figure10.critical_counts(trees, batches))
    for batch in batches:
        for s, stack, size, front in zip(*batch.arguments, strict=True):
            found, k, m, kept, kept_here = next(counted)
            assert (found, k, m) == (s, size - 1, trees.lengths[s] + 1 - front)
            assert kept == len(critical(trees[int(s)], stack[:size].tolist(), int(front)))
            assert kept <= kept_here <= m
    assert next(counted, None) is None


def test_ancestors_above_all_paths_are_kept_here_but_not_critical():
    # 2 hangs from 3, that from 4, and that from 1, which is gone.
    trees = Trees.from_heads([[0, 3, 4, 1]])
    batch = Batch(*(np.array(entry, np.int32) for entry in ([0], [[0, 2]], [2], [3])))
    assert critical(trees[0], [0, 2], 3) == {3}
    assert figure10.critical_counts(trees, [batch]).tolist() == [[0, 1, 2, 1, 2]]


def test_means_by_size():
    # Columns: sentence, k, m, critical nodes by the definition, critical nodes as kept.
    counted = np.array([(0, 0, 3, 1, 1), (0, 1, 2, 2, 2), (0, 2, 1, 0, 1), (0, 0, 0, 0, 0), (1, 1, 0, 0, 0)])
    rows = [dict(zip(figure10.COLUMNS, row, strict=True)) for row in figure10.by_size(counted)]
    assert [(row["k_plus_m"], row["configurations"], row["sentences"]) for row in rows] == [(1, 1, 1), (3, 3, 1)]
    assert rows[1]["kept"] == pytest.approx((1 + 3 + 2) / 3)
    assert rows[1]["kept_here"] == pytest.approx((1 + 3 + 3) / 3)
    assert rows[1]["k"] == 1


def test_every_oracle_has_a_line():
    assert set(figure9.LINES) == {*oracles.names(), FROM_NOTHING} - {"static"}


def test_committed_figures_are_of_the_paper():
    rows = {row["treebank"]: row for row in read_csv(ROOT / "experiments" / "table6" / "results.csv")}
    for name in treebanks.WITH_TRAIN_PART:
        assert rows[name]["parts"] == "train"
        assert round(float(rows[name]["nonprojective_percent"])) == table6.PAPER_NONPROJECTIVE[name]
