"""Learning curves are those of the run folders."""

from __future__ import annotations

import random

import numpy as np
import pytest

from experiments import curves
from experiments.columns import run_folder
from experiments.command import settings_of
from experiments.figures import read_csv
from parser.training.run import train
from tests.random_trees import random_projective_tree
from tests.toy import sentence, settings, write_conllu

EPOCHS = 2
TINY = [
    "classifier.hidden=8",
    "vectors.dimensions=4",
    "vectors.epochs=1",
    f"first_pass.epochs={EPOCHS}",
    f"second_pass.epochs={EPOCHS}",
    "keep=last",
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    rng = random.Random(0)
    trees = []
    while len(trees) < 8:
        heads = random_projective_tree(rng, 5)
        if heads.count(0) == 1:
            trees.append(heads)
    file = write_conllu(folder / "toy.conllu", [sentence(heads, rng) for heads in trees])
    metrics = {}
    for column in range(1, 6):
        for seed in (1, 2):
            run = settings(
                "treebank.name=toy",
                *(f"treebank.{part}={file}" for part in ("train", "dev", "test")),
                *TINY,
                f"column={column}",
                f"seed={seed}",
            )
            metrics[column, seed] = train(run, run_folder(folder, ("toy", "paper", str(column), str(seed))))
    return folder, metrics


def test_curves_end_where_the_runs_ended(runs, tmp_path):
    folder, metrics = runs
    curves.EXPERIMENT.main(
        settings_of(curves.Curves, "curves", ["treebanks=[toy]", "seeds=2", f"runs={folder}", f"output={tmp_path}"])
    )
    rows = read_csv(tmp_path / "paper.csv")
    assert (tmp_path / "paper.svg").exists()
    for column in range(1, 6):
        mine = [row for row in rows if row["column"] == str(column)]
        first = 1 if column <= 2 else EPOCHS + 1
        assert [int(row["epoch"]) for row in mine] == [first, first + 1]
        mean = np.mean([metrics[column, seed]["dev"]["las"] for seed in (1, 2)])
        assert float(mine[-1]["dev_las"]) == pytest.approx(mean, abs=1e-3)


def test_a_missing_run_is_named(runs, tmp_path):
    folder, _ = runs
    with pytest.raises(ValueError, match=r"toy-column1-seed3.*table7.py"):
        curves.EXPERIMENT.main(
            settings_of(curves.Curves, "curves", ["treebanks=[toy]", "seeds=3", f"runs={folder}", f"output={tmp_path}"])
        )
