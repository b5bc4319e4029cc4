"""Trainings of the experiments; the cells of Table 7, their rows of results.csv, and their counts by sentence."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from experiments.counts import Counts, counts_file, read_counts, write_counts
from experiments.fingerprints import fingerprint
from experiments.jobs import Job, run_jobs
from experiments.results import Results
from parser.commands.configs import training_settings
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation.gold_part import GoldPart
from parser.model import loading as models
from parser.settings import Settings
from parser.training.checkpoint import CheckpointError
from parser.training.run import train

_VERSIONS = ("torch", "numpy", "gensim")  # of what the numbers depend on


@dataclass(frozen=True)
class Row:
    """A line of results.csv. Scores are percentages on the test part, all words, full relations."""

    treebank: str
    recipe: str
    column: str
    seed: str
    las: str
    uas: str
    las_first_pass: str
    uas_first_pass: str
    seconds: str
    config: str
    versions: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.treebank, self.recipe, self.column, self.seed


@dataclass(frozen=True)
class Training:
    """A training: one treebank, recipe, column and seed, and more settings on top."""

    treebank: str
    recipe: str
    column: int
    seed: int
    treebanks: str
    overrides: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of its row in the results of Table 7."""
        return self.treebank, self.recipe, str(self.column), str(self.seed)

    @property
    def label(self) -> str:
        """For progress bars."""
        return " ".join([self.treebank, f"column {self.column}", f"seed {self.seed}", *self.overrides])

    def settings(self) -> Settings:
        """Its settings."""
        overrides = [
            f"treebank={self.treebank}",
            f"recipe={self.recipe}",
            f"column={self.column}",
            f"seed={self.seed}",
            f"paths.treebanks={self.treebanks}",
            *self.overrides,
        ]
        return training_settings(overrides)

    def on_dev(self) -> Training:
        """The same on the dev part only, without a part that chooses the epoch."""
        dev = self.settings().treebank.dev
        return replace(self, overrides=(*self.overrides, f"treebank.train={dev}", "treebank.dev=null"))

    def plain_settings(self) -> dict[str, Any]:
        """The same in plain dictionaries, composed once; not to be changed."""
        return _plain_settings(self)

    def fingerprint(self) -> str:
        """Changes with every setting but the seed and the files' place: rows of old settings are stale."""
        return _fingerprint(self.recipe, self.column, self.overrides)


@cache
def _plain_settings(training: Training) -> dict[str, Any]:
    return OmegaConf.to_container(training.settings(), resolve=True)  # type: ignore[return-value]


@cache
def _fingerprint(recipe: str, column: int, overrides: tuple[str, ...]) -> str:
    return fingerprint(Training("sample", recipe, column, 1, "any", overrides).plain_settings())


def run_training(training: Training, folder: Path, first_pass: Path | None = None, fresh: bool = False) -> dict[str, Any]:
    """Trains into a run folder and returns the metrics.

    Args:
        training: what to train.
        folder: the run folder.
        first_pass: a model to begin the second pass with.
        fresh: whether an interrupted run that left its checkpoint there starts over.
    """
    settings = training.settings()
    if first_pass is not None:
        settings.first_pass.model = str(first_pass)
    settings.resume = not fresh
    try:
        return train(settings, folder)
    except CheckpointError:  # what was interrupted there had other settings
        settings.resume = False
        return train(settings, folder)


def run_folder(runs: Path, key: Sequence[str]) -> Path:
    """The run folder of the training or row with that key."""
    treebank, recipe, column, seed = key
    return runs / recipe / f"{treebank}-column{column}-seed{seed}"


def system_folder(runs: Path, system: str, training: Training) -> Path:
    """The run folder of a system of experiments/accurate.py."""
    return runs / _as_folder(system) / f"{training.treebank}-seed{training.seed}"


def variant_folder(runs: Path, variant: str, treebank: str, trained_on: str, seed: int) -> Path:
    """The run folder of a variant of a comparison."""
    return runs / _as_folder(variant) / f"{treebank}-{trained_on}-seed{seed}"


def _as_folder(name: str) -> str:
    return name.replace(" ", "_").replace(",", "")


def run_family(trainings: list[Training], runs: Path, fresh: bool = False) -> list[tuple[Row, Counts]]:
    """Trains cells that share a first pass, the first of which trains it. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    made = []
    for training in trainings:
        folder = run_folder(runs, training.key)
        first_pass = None if training is trainings[0] else run_folder(runs, trainings[0].key) / "model"
        metrics = run_training(training, folder, first_pass, fresh)
        made.append((_row(training, metrics), _counts(training, folder)))
    return made


def run_families(jobs: Sequence[Job[list[tuple[Row, Counts]]]], workers: int, results: Results[Row], recipe: str) -> None:
    """Runs jobs of run_family(); rows, and the counts of a recipe beside them, are written as they end."""
    path = results.own_folder / counts_file(recipe)
    counts = read_counts(path)
    for made in run_jobs(jobs, workers):
        results.add(row for row, _ in made)
        counts |= {(row.treebank, int(row.column), int(row.seed)): of_row for row, of_row in made}
        write_counts(path, counts)


def _row(training: Training, metrics: dict[str, Any]) -> Row:
    first = metrics["after_first_pass"]["test"]
    scores = [metrics["test"]["las"], metrics["test"]["uas"], first["las"], first["uas"]]
    las, uas, las_first, uas_first = (f"{score:.4f}" for score in scores)
    treebank, recipe, column, seed = training.key
    seconds = f"{sum(metrics['seconds'].values()):.1f}"
    versions = " ".join(f"{name}={metrics['versions'][name]}" for name in _VERSIONS)
    config = training.fingerprint()
    return Row(treebank, recipe, column, seed, las, uas, las_first, uas_first, seconds, config, versions)


def _counts(training: Training, folder: Path) -> Counts:
    """Words that the model of a run folder has right, by sentence of the test part."""
    settings = training.settings()
    model = models.load(folder / "model")
    gold = GoldPart.of(read_treebank(str(settings.treebank.test)).sentences, model.vocabularies, model.relations)
    attached, labelled = gold.correct(parser_of(model).parse(gold.sentences, single_root=settings.single_root))
    lengths = np.asarray(gold.sentences.lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    right = (np.add.reduceat(correct, starts) for correct in (attached, labelled))
    return Counts(training.fingerprint(), lengths, *right)
