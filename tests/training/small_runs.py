"""Runs that take a second, what they leave, and runs that are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from parser.settings.plan import Plan
from parser.training import run_folder
from parser.training.observers import Observer, SearchEnd
from parser.training.run import train
from tests.toy import planned

SMALL = [
    "classifier.hidden=32",
    "vectors.dimensions=16",
    "optimizer.batch_size=20",
    "first_pass.epochs=3",
    "second_pass.epochs=3",
]

# For recipe=text.
TEXT = [
    "recipe=text",
    "encoder.layers=2",
    "encoder.hidden=16",
    "encoder.characters.hidden=6",
    "encoder.characters.embedding=6",
    "encoder.tagger.size=4",
    "encoder.heads.size=7",
    "encoder.heads.relation_size=5",
    "encoder.lemmas.size=12",
    "classifier.hidden=24",
    "vectors.dimensions=8",
    "optimizer.batch_size=60",
    "first_pass.epochs=1",
    "second_pass.epochs=2",
]


def run(treebank: Path, *overrides: str):
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return planned("treebank.name=toy", *files, *SMALL, *overrides)


class KilledError(Exception):
    """Stands for the death of the process."""


def train_until_killed(plan: Plan, folder: Path, epochs: int) -> None:
    """Trains until so many epochs are in the checkpoint, then dies."""
    saved, save = 0, run_folder.save_checkpoint

    def save_and_die(*arguments) -> None:
        nonlocal saved
        save(*arguments)
        saved += 1
        if saved == epochs:
            raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "save_checkpoint", save_and_die)
        with pytest.raises(KilledError):
            train(plan, folder)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "model").rglob("*")) if path.is_file()}


class Searches(Observer):
    """Keeps what is told of searches."""

    def __init__(self) -> None:
        self.seen: list[SearchEnd] = []

    def on_search(self, search: SearchEnd) -> None:
        self.seen.append(search)
