"""Trainings of the experiments: what they are made of, where they are put, and how their models parse."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from experiments.command import Trainings
from parser.settings import Settings
from parser.settings.overrides import training_settings
from parser.settings.paths import escaped, override
from parser.settings.plan import plan
from parser.training.run import train
from parser.training.run_folder import CheckpointError

# Settings that have left, by their beginnings: rows of such trainings are shown, and commit f3f2ff4a can make more of them.
GONE = ("beam=exact", "second_pass.target=marginal", "system=two_planar", "vectors.components=")


@dataclass(frozen=True)
class Training:
    """A training: one treebank, recipe, column and seed, and more settings on top.

    Attributes:
        treebanks: the folder of the treebanks.
        overrides: settings that a row is known by.
        files: settings that say where files lie, which it is not known by.
    """

    treebank: str
    recipe: str
    column: int
    seed: int
    treebanks: str
    overrides: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, wanted: Trainings, treebank: str, seed: int | str, overrides: list[str] | tuple[str, ...] = ()) -> Training:
        """That of an experiment whose trainings have the passes of column 5 unless their settings say otherwise."""
        return cls(treebank, wanted.recipe, 5, int(seed), wanted.paths.treebanks, tuple(overrides))

    @property
    def described(self) -> str:
        """For a row whose key does not have the recipe: the recipe and the settings on top, which must be understood."""
        self.check()
        return " ".join([f"recipe={self.recipe}", *self.overrides])

    @property
    def folder(self) -> str:
        """A name for its run folder beside those of other settings."""
        return hashlib.sha256(repr((self.recipe, self.column, self.overrides)).encode()).hexdigest()[:8]

    def check(self) -> None:
        """Raises what ``training_settings`` raises if the settings are not understood; before anything is trained."""
        _compose(self.recipe, self.column, self.overrides)

    def settings(self) -> Settings:
        """All settings."""
        return training_settings(
            [
                f"treebank={self.treebank}",
                f"recipe={self.recipe}",
                f"column={self.column}",
                f"seed={self.seed}",
                override("paths.treebanks", self.treebanks),
                *self.overrides,
                *self.files,
            ]
        )

    def part(self, name: str) -> Path:
        """The file of a part of the treebank."""
        return Path(str(getattr(self.settings().treebank, name)))

    def on_dev(self) -> Training:
        """The same on the dev part only, without a part that chooses the epoch."""
        return replace(self, files=(*self.files, override("treebank.train", self.part("dev")), "treebank.dev=null"))


def is_gone(settings: Iterable[str]) -> bool:
    """Return whether a training has a setting that has left, so that it cannot be repeated."""
    return any(setting.startswith(GONE) for setting in settings)


@cache
def _compose(recipe: str, column: int, overrides: tuple[str, ...]) -> None:
    Training("sample", recipe, column, 1, "any", overrides).settings()


def run_training(training: Training, folder: Path, first_pass: Path | None = None, fresh: bool = False) -> dict[str, Any]:
    """Trains into a run folder, unless that is done, and returns the metrics.

    Args:
        training: what to train.
        folder: the run folder.
        first_pass: a model to begin the second pass with.
        fresh: whether an interrupted run that left its checkpoint there starts over.
    """
    settings = training.settings()
    if first_pass is not None:
        settings.start = escaped(str(first_pass))
    settings.resume = not fresh
    try:
        return train(plan(settings), folder)
    except CheckpointError:  # what was interrupted there had other settings
        settings.resume = False
        return train(plan(settings), folder)


def folder_of(runs: str | Path, variant: str, training: Training, trained_on: str = "train") -> Path:
    """The run folder of a variant of a comparison."""
    return Path(runs) / variant.replace(" ", "_").replace(",", "") / f"{training.treebank}-{trained_on}-seed{training.seed}"


def formatted(scores: dict[str, Any] | None, *names: str) -> list[str]:
    """Scores of metrics with four decimals; empty where there are none."""
    return [f"{scores[name]:.4f}" if scores else "" for name in names]
