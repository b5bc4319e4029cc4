"""Trainings of the experiments; the cells of Table 7, their rows of results.csv, and their counts by sentence."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from parser.atomic import write_json
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation.gold_part import GoldPart
from parser.model import Model
from parser.settings import Settings, register
from parser.training.checkpoint import CheckpointError
from parser.training.passes import train

CONFIGS = Path(__file__).resolve().parent.parent / "configs"

_VERSIONS = ("torch", "numpy", "gensim")  # of what the figures depend on


class Made(Protocol):
    """A row that says which settings made it."""

    @property
    def config(self) -> str:
        """The fingerprint of their training."""
        ...


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
    def key(self) -> tuple[str, ...]:
        """The key of its row in the results of Table 7."""
        return self.treebank, self.recipe, str(self.column), str(self.seed)

    def settings(self) -> Settings:
        """Its settings."""
        register()
        overrides = [
            f"treebank={self.treebank}",
            f"recipe={self.recipe}",
            f"column={self.column}",
            f"seed={self.seed}",
            f"paths.treebanks={self.treebanks}",
            *self.overrides,
        ]
        GlobalHydra.instance().clear()  # of the command that asks; hydra composes for one at a time
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            return compose("train", overrides=overrides)  # type: ignore[return-value]

    def fingerprint(self) -> str:
        """Eight digits that change with every setting but the seed and the files' place: rows of old settings are stale."""
        plain: Any = OmegaConf.to_container(self.settings(), resolve=True)
        for key in ("seed", "paths", "treebank", "resume", "table7"):
            del plain[key]
        if plain["ties"] is None:  # rows are older than this setting
            del plain["ties"]
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]

    def made(self, row: Made | None) -> bool:
        """Whether the row is there, made with today's settings."""
        return row is not None and row.config == self.fingerprint()

    def has_train_part(self) -> bool:
        """Whether the treebank can be trained on here."""
        return Path(str(self.settings().treebank.train)).exists()


def run_training(training: Training, folder: Path, first_pass: Path | None = None) -> dict[str, Any]:
    """Trains into a run folder and returns the metrics; ``first_pass`` is a model to begin the second pass with."""
    settings = training.settings()
    if first_pass is not None:
        settings.first_pass.model = str(first_pass)
    try:
        return train(settings, folder)
    except CheckpointError:  # what was interrupted there had other settings
        settings.resume = False
        return train(settings, folder)


def run_folder(runs: Path, key: Sequence[str]) -> Path:
    """The run folder of the training or row with that key."""
    treebank, recipe, column, seed = key
    return runs / recipe / f"{treebank}-column{column}-seed{seed}"


def run_family(trainings: list[Training], runs: Path) -> list[Row]:
    """Trains cells that share a first pass, the first of which trains it. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    rows = []
    for training in trainings:
        folder = run_folder(runs, training.key)
        first_pass = None if training is trainings[0] else run_folder(runs, trainings[0].key) / "model"
        metrics = run_training(training, folder, first_pass)
        settings = training.settings()
        _write_counts(folder, str(settings.treebank.test), settings.single_root)
        rows.append(_row(training, metrics))
    return rows


def _row(training: Training, metrics: dict[str, Any]) -> Row:
    first = metrics["after_first_pass"]["test"]
    scores = [metrics["test"]["las"], metrics["test"]["uas"], first["las"], first["uas"]]
    las, uas, las_first, uas_first = (f"{score:.4f}" for score in scores)
    seconds = f"{sum(metrics['seconds'].values()):.1f}"
    versions = " ".join(f"{name}={metrics['versions'][name]}" for name in _VERSIONS)
    return Row(*training.key, las, uas, las_first, uas_first, seconds, training.fingerprint(), versions)


def _write_counts(folder: Path, test: str, single_root: bool) -> None:
    """Words, and words with the right head and with the right head and relation too, by sentence of the test part."""
    model = Model.load(folder / "model")
    gold = GoldPart.of(read_treebank(test).sentences, model.vocabularies, model.relations)
    attached, labelled = gold.correct(parser_of(model).parse(gold.sentences, single_root=single_root))
    starts = np.concatenate([[0], np.cumsum(gold.sentences.lengths)[:-1]])
    counts = {
        "words": gold.sentences.lengths,
        "uas": np.add.reduceat(attached, starts),
        "las": np.add.reduceat(labelled, starts),
    }
    write_json(folder / "counts.json", {name: values.tolist() for name, values in counts.items()})


def read_counts(folder: Path) -> dict[str, np.ndarray] | None:
    """What a run wrote of its sentences: int64[sentences] under "words", "uas" and "las"; None if the run folder is gone."""
    path = folder / "counts.json"
    if not path.exists():
        return None
    return {name: np.array(values) for name, values in json.loads(path.read_text()).items()}
