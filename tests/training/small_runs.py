"""Runs that take a second, what they leave, and runs that are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from parser.settings import Settings
from parser.training import checkpoint
from parser.training.run import train
from tests.toy import settings

SMALL = [
    "classifier.hidden=32",
    "vectors.dimensions=16",
    "optimizer.batch_size=20",
    "first_pass.epochs=3",
    "second_pass.epochs=3",
]


def run(treebank: Path, *overrides: str):
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return settings("treebank.name=toy", *files, *SMALL, *overrides)


class KilledError(Exception):
    """Stands for the death of the process."""


def train_until_killed(settings: Settings, folder: Path, epochs: int) -> None:
    """Trains until so many epochs are in the checkpoint, then dies."""
    saved, save = 0, checkpoint.save

    def save_and_die(*arguments) -> None:
        nonlocal saved
        save(*arguments)
        saved += 1
        if saved == epochs:
            raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "save", save_and_die)
        with pytest.raises(KilledError):
            train(settings, folder)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "model").iterdir())}
