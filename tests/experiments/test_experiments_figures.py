"""Table 6, figures 8 to 10 and the oracles' costs: commands on a tiny treebank, and arithmetic
against slow references.
"""

import math
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import oracles
from experiments import figure8, figure9, figure10, system_oracles, table6, treebanks
from experiments.command import settings_of
from experiments.figures import read_csv
from oracles import Query, Trees
from scripts.benchmarks.oracles import FROM_NOTHING, NOT_TIMED, OF_SYSTEMS
from scripts.benchmarks.random_computations import random_computations
from tests import brute_force
from tests.forked import works
from tests.random_trees import (
    chain,
    random_mildly_nonprojective_tree,
    random_projective_tree,
    random_tree,
)
from tests.toy import ROOT, sentence, write_conllu


def write_dev_part(folder: Path, seed: int, count: int, longest: int) -> list[list[int]]:
    """Write the development part of hu, with drawn trees that have one root."""
    rng = random.Random(seed)
    trees = [random_mildly_nonprojective_tree(rng, rng.randint(3, longest)) for _ in range(count)]
    one_root = [tree for tree in trees if tree.count(0) == 1]
    (folder / "UD_Hungarian-Szeged").mkdir()
    write_conllu(
        folder / "UD_Hungarian-Szeged" / "hu_szeged-ud-dev.conllu",
        [sentence(tree) for tree in one_root],
    )
    return one_root


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder of treebanks that has the development part of hu alone, of toy sentences."""
    path = tmp_path_factory.mktemp("treebanks")
    assert not all(map(brute_force.is_projective, write_dev_part(path, 7, 60, 14)))
    return path


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "more", "files"),
    [
        ("table6.py", ["repeats=1"], ["results.csv", "table.md"]),
        (
            "figure8.py",
            ["bin_width=4", "min_trees=1"],
            ["figure8.svg", "results.csv", "table.md", "trees.csv"],
        ),
        (
            "figure9.py",
            ["sizes=[4,8]", "repeats=1"],
            ["figure9.svg", "results.csv", "table.md", "whole.csv"],
        ),
        ("figure10.py", ["computations=2", "min_sentences=1"], ["figure10.svg", "results.csv"]),
    ],
)
def test_the_commands(folder, tmp_path, name, more, files):
    works(
        f"experiments/{name}",
        "treebanks=[hu]",
        f"paths.treebanks={folder}",
        f"output={tmp_path}",
        *more,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    text = (tmp_path / "results.csv").read_text()
    assert text.startswith(f"# python experiments/{name}\n# trees: hu dev (")
    assert str(folder) not in text
    assert read_csv(tmp_path / "results.csv")


def test_pictures_are_the_same_twice(folder, tmp_path):
    for time in "ab":
        overrides = [
            "treebanks=[hu]",
            "min_trees=1",
            f"output={tmp_path / time}",
            f"paths.treebanks={folder}",
        ]
        figure8.EXPERIMENT.main(settings_of(figure8.Figure8, "figure8", overrides))
    for file in ("results.csv", "figure8.svg"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_the_training_part_if_it_is_there_else_the_rest(folder, tmp_path):
    assert treebanks.read_train_or_rest("sample", "").label == "sample train"
    assert treebanks.read_train_or_rest("hu", str(folder)).label == "hu dev"
    with pytest.raises(ValueError, match="no part train"):
        treebanks.read("hu", str(folder), ("train",))


def test_edges_kept_are_those_counted_one_by_one():
    rng = random.Random(1)
    gold = [random_tree(rng, rng.randint(1, 6)) for _ in range(100)]
    row = dict(
        zip(
            table6.COLUMNS,
            table6.line("toy", "all", Trees.from_heads(gold), repeats=1),
            strict=True,
        )
    )
    assert row["words"] == sum(map(len, gold))
    assert row["nonprojective"] == sum(not brute_force.is_projective(tree) for tree in gold)
    assert row["optimal_kept"] == sum(brute_force.best_projective_trees(tree)[0] for tree in gold)
    assert row["lifting_kept"] == sum(
        brute_force.gold_edges(oracles.lift(tree), tree) for tree in gold
    )
    assert row["optimal_percent"] == pytest.approx(100 * row["optimal_kept"] / row["words"])
    assert row["lifting_kept"] < row["optimal_kept"]


def bins(found: list[tuple[int, float]], width: int) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(**dict(zip(figure8.BIN_COLUMNS, line, strict=True)))
        for line in figure8.bins("toy", found, width)
    ]


def test_geometric_means_are_roots_of_products():
    rng = random.Random(2)
    gold = [
        tree
        for tree in (random_tree(rng, rng.randint(3, 6)) for _ in range(80))
        if not brute_force.is_projective(tree)
    ]
    numbers = {length: [] for length in range(3, 7)}
    for tree in gold:
        numbers[len(tree)].append(len(brute_force.best_projective_trees(tree)[1]))
    counted = figure8.counts(Trees.from_heads([*gold, chain(5)]))
    written = [
        dict(zip(figure8.COLUMNS, map(str, ("toy", *key, number)), strict=True))
        for key, number in counted.items()
    ]
    pairs = figure8.by_treebank(written)
    assert pairs["toy"] == pairs["all"]
    rows = bins(pairs["toy"], 1)
    assert (
        [row.first_length for row in rows]
        == [row.last_length for row in rows]
        == [n for n in numbers if numbers[n]]
    )
    for row in rows:
        found = numbers[row.first_length]
        assert row.trees == len(found)
        assert row.geometric_mean == pytest.approx(math.prod(found) ** (1 / len(found)))
        assert row.most == pytest.approx(max(found))


def test_growth_is_exponential_or_a_power_as_it_was_made():
    lengths = [3, 5, 8, 8, 13, 21, 34]
    exponential = figure8.growth([(n, 0.2 + n * math.log(1.5) / 10) for n in lengths])
    factor, low, high, of_exponential, of_power = exponential
    assert factor == pytest.approx(1.5)
    assert low == pytest.approx(high)
    assert of_exponential == pytest.approx(1)
    assert of_power < 0.99
    *_, of_exponential, of_power = figure8.growth([(n, 3 * math.log(n)) for n in lengths])
    assert of_power == pytest.approx(1)
    assert of_exponential < 0.99
    rng = random.Random(4)
    _, low, high, *_ = figure8.growth(
        [(n, n * math.log(1.5) / 10 + rng.gauss(0, 0.1)) for n in lengths * 50]
    )
    assert low < 1.5 < high < 1.6


def test_bins_begin_at_one_and_end_inclusive():
    rows = bins([(1, 0.0), (5, math.log(4)), (6, math.log(3)), (12, 0.0)], 5)
    assert [(row.first_length, row.last_length, row.trees) for row in rows] == [
        (1, 5, 2),
        (6, 10, 1),
        (11, 15, 1),
    ]
    assert rows[0].geometric_mean == pytest.approx(2)
    assert rows[0].mean_length == 3
    assert rows[0].low < 2 < rows[0].high
    assert math.isnan(rows[1].low)


def critical(heads: list[int], front: int) -> set[int]:
    """Nederhof 2019, Section 5: the nodes of the buffer with a gold descendant or their gold parent
    outside of it.
    """
    buffer = set(range(front, len(heads) + 1))
    outside = set(range(1, front))
    above_outside = {
        ancestor for node in outside for ancestor in brute_force.ancestors(heads, node)
    }
    return {b for b in buffer if b in above_outside or heads[b - 1] not in buffer}


def kept(heads: list[int], stack: list[int], front: int) -> set[int]:
    """Return the nodes of the buffer with a gold edge to a stack element,
    and those in the buffer above the gold heads of such.
    """
    buffer = set(range(front, len(heads) + 1))
    found = {b for b in buffer if heads[b - 1] in stack}
    for element in stack[1:]:
        above = brute_force.ancestors(heads, element)
        outside = [depth for depth, node in enumerate(above) if node not in buffer]
        found |= set(above[: outside[0]])
    return found


def test_critical_nodes_are_those_of_the_definition():
    rng = random.Random(3)
    trees = Trees.from_heads(
        random_projective_tree(rng, rng.randint(1, 12), rng.random()) for _ in range(60)
    )
    guide = oracles.create("nederhof_linear").bind(trees)
    batches = random_computations(trees, guide, 0.5, seed=1)
    counted = iter(figure10.critical_counts(trees, batches))
    fewer = 0
    for batch in batches:
        for s, stack, size, front in zip(*batch.arrays, strict=True):
            found, k, m, by_the_paper, here = next(counted)
            assert (found, k, m) == (s, size - 1, trees.lengths[s] + 1 - front)
            expected = critical(trees[int(s)], int(front))
            expected_here = kept(trees[int(s)], stack[:size].tolist(), int(front))
            assert (by_the_paper, here) == (len(expected), len(expected_here))
            assert expected_here <= expected
            fewer += expected_here < expected
    assert next(counted, None) is None
    assert fewer


@pytest.mark.parametrize(
    ("heads", "stack", "front", "by_definition", "here"),
    [
        # 2 and 4 hang from 1, which is gone; 3 hangs from 2, and 5 from the root: what hangs from
        # removed nodes alone goes.
        ([0, 1, 2, 1, 0], [0], 2, {2, 4, 5}, {5}),
        # 2 hangs from 3, that from 4, and that from 1, which is gone:
        # ancestors of critical nodes are critical.
        ([0, 3, 4, 1], [0, 2], 3, {3, 4}, {3, 4}),
    ],
)
def test_critical_nodes_by_hand(heads, stack, front, by_definition, here):
    assert (critical(heads, front), kept(heads, stack, front)) == (by_definition, here)
    counts = [0, len(stack) - 1, len(heads) + 1 - front, len(by_definition), len(here)]
    assert figure10.critical_counts(
        Trees.from_heads([heads]), [Query.single(stack, front)]
    ).tolist() == [counts]


def test_means_by_size():
    # Columns: sentence, k, m, critical nodes by the definition, nodes kept here.
    counted = np.array(
        [(0, 0, 3, 1, 1), (0, 1, 2, 2, 2), (0, 2, 1, 0, 1), (0, 0, 0, 0, 0), (1, 1, 0, 0, 0)]
    )
    rows = [dict(zip(figure10.COLUMNS, row, strict=True)) for row in figure10.by_size(counted)]
    assert [(row["k_plus_m"], row["configurations"], row["sentences"]) for row in rows] == [
        (1, 1, 1),
        (3, 3, 1),
    ]
    assert rows[1]["kept"] == pytest.approx((1 + 3 + 2) / 3)
    assert rows[1]["kept_here"] == pytest.approx((1 + 3 + 3) / 3)
    assert rows[1]["k"] == 1


def test_the_page_says_how_much_longer_context_rows_take():
    folder = ROOT / "experiments" / "results" / "figure9"
    rows = [row for row in read_csv(folder / "results.csv") if row["trees"] == "projectivized"]
    time = {(row["oracle"], row["k_plus_m"]): float(row["microseconds"]) for row in rows}
    lines = (folder / "table.md").read_text().splitlines()
    whole = [
        float(next(line for line in lines if line.startswith(name)).split("|")[-2])
        for name in ("| context", "| linear")
    ]
    ratios = [whole[0] / whole[1], time["context_rows", "100"] / time["nederhof_linear", "100"]]
    page = " ".join((ROOT / "docs" / "oracles_and_systems.md").read_text().split())
    overall, at_100 = (f"{ratio:.1f} times" for ratio in ratios)
    assert (
        f"takes {overall} as long as the linear oracle over whole sentences, and {at_100} as long "
        "with 100 words" in page
    )


def test_the_page_says_how_much_longer_the_cubic_algorithm_takes_and_how_many_trees_are_optimal():
    page = (ROOT / "experiments" / "trees_and_time.md").read_text(encoding="utf-8")
    for file, along in (
        ("explorations.csv", "along explorations"),
        ("results.csv", "along random computations"),
    ):
        rows = read_csv(ROOT / "experiments" / "results" / "figure9" / file)
        time = {
            (row["trees"], row["oracle"], int(row["k_plus_m"])): float(row["microseconds"])
            for row in rows
        }
        cubic, linear = (
            time["projectivized", name, figure9.PAPER_SIZE]
            for name in ("nederhof_cubic", "nederhof_linear")
        )
        assert f"{cubic / linear:.1f} times {along}" in page
    lines = (ROOT / "experiments" / "results" / "figure8" / "table.md").read_text().splitlines()
    cells = {
        line.split(" | ")[0].strip("| "): line.split(" | ")
        for line in lines
        if line.startswith("| ")
    }
    assert f"by a factor of {cells['all'][2]} in ten words" in page
    for name, text in (
        ("grc", "{} for grc"),
        ("de", "{} for de"),
        ("el", "{} (el)"),
        ("eu", "{} (eu)"),
    ):
        assert text.format(cells[name][2].split(" ")[0]) in page


def test_committed_figures_are_of_the_paper_and_every_oracle_has_a_line():
    assert set(figure9.LINES) == {*oracles.names(), FROM_NOTHING} - {*NOT_TIMED}
    rows = {
        row["treebank"]: row
        for row in read_csv(ROOT / "experiments" / "results" / "table6" / "results.csv")
    }
    for name in ("got", "cu", "hu", "el"):
        assert rows[name]["parts"] == "train"
        assert round(float(rows[name]["nonprojective_percent"])) == table6.PAPER_NONPROJECTIVE[name]


# Whose systems take two transitions for each word, and others that make no arc.
LONGER = ("covington_loss",)


def test_the_command_writes_what_it_measures(tmp_path):
    words = sum(map(len, write_dev_part(tmp_path, 5, 12, 9)))
    given = [
        f"paths.treebanks={tmp_path}",
        "treebanks=[hu]",
        f"output={tmp_path / 'out'}",
        "min_configurations=1",
    ]
    works("experiments/system_oracles.py", *given)
    rows = read_csv(tmp_path / "out" / "results.csv")
    assert [row["oracle"] for row in rows] == list(OF_SYSTEMS)
    by_words = {row["oracle"]: int(row["configurations"]) / words for row in rows}
    assert by_words.pop("pointer_cycles") == 1
    assert all(by_words.pop(name) > 2 for name in LONGER)
    assert set(by_words.values()) == {2}
    assert all(float(row["mean"]) > 0 and float(row["percentile_999"]) > 0 for row in rows)
    by_oracle = {row["oracle"] for row in read_csv(tmp_path / "out" / "sizes.csv")}
    assert by_oracle == {*OF_SYSTEMS, system_oracles.TABLE}
    assert {"times.svg", "table_sizes.svg", "table.md"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }


@pytest.mark.parametrize("name", OF_SYSTEMS)
def test_sizes_are_those_of_stack_and_buffer(name):
    measured = system_oracles.cost(Trees.from_heads([[2, 0, 2], [0]]), name, 1.0, 1)
    # Sentences of 3 tokens and of 1: k + m begins with these, and each attachment makes it one
    # less, but pointer's do not.
    assert sorted(set(measured.sizes.tolist())) == (
        [1, 3] if name == "pointer_cycles" else [1, 2, 3]
    )
    assert len(measured.calls) == len(measured.sizes)
    assert (
        len(measured.sizes) > 8
        if name in LONGER
        else len(measured.sizes) == (4 if name == "pointer_cycles" else 8)
    )


def test_the_table_begins_with_the_top_alone():
    rng = random.Random(2)
    trees = Trees.from_heads([random_projective_tree(rng, 6) for _ in range(10)])
    sizes = system_oracles.table_sizes(trees, 0.9, 1)
    assert sizes[1] == [1] * (10 * 12)  # T[1,1] of every configuration holds the spines of the top
    assert max(sizes) > 3
