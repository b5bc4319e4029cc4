"""The training runs of the experiments: their settings and run folders."""

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

# Prefixes of settings that have been removed. Rows of training runs with them are still shown, and
# commit f3f2ff4a can still make such runs.
GONE = ("beam=exact", "second_pass.target=marginal", "system=two_planar", "vectors.components=")


@dataclass(frozen=True)
class Training:
    """A training run: one treebank, recipe, column and seed, and more settings on top.

    Attributes:
        treebanks: the folder of the treebanks.
        overrides: settings that identify a row.
        files: settings that name files, which do not identify a row.
    """

    treebank: str
    recipe: str
    column: int
    seed: int
    treebanks: str
    overrides: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        wanted: Trainings,
        treebank: str,
        seed: int | str,
        overrides: list[str] | tuple[str, ...] = (),
    ) -> Training:
        """Return a training run with the passes of column 5, unless its settings say otherwise."""
        return cls(treebank, wanted.recipe, 5, int(seed), wanted.paths.treebanks, tuple(overrides))

    @property
    def described(self) -> str:
        """The recipe and the settings on top, for rows whose key does not have the recipe; the
        settings are checked.
        """
        self.check()
        return " ".join([f"recipe={self.recipe}", *self.overrides])

    @property
    def folder(self) -> str:
        """A name for its run folder that depends on the settings."""
        return hashlib.sha256(
            repr((self.recipe, self.column, self.overrides)).encode()
        ).hexdigest()[:8]

    def check(self) -> None:
        """Refuse invalid settings, as ``training_settings`` does, before anything is trained."""
        _compose(self.recipe, self.column, self.overrides)

    def settings(self) -> Settings:
        """Return all settings."""
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
        """Return the file of a part of the treebank."""
        return Path(str(getattr(self.settings().treebank, name)))

    def on_dev(self) -> Training:
        """Return the same training run, but on the dev part, so that no part is left to choose the
        epoch on.
        """
        return replace(
            self,
            files=(*self.files, override("treebank.train", self.part("dev")), "treebank.dev=null"),
        )


def is_gone(settings: Iterable[str]) -> bool:
    """Return whether a training has a removed setting, so that it cannot be repeated."""
    return any(setting.startswith(GONE) for setting in settings)


@cache
def _compose(recipe: str, column: int, overrides: tuple[str, ...]) -> None:
    Training("sample", recipe, column, 1, "any", overrides).settings()


def run_training(
    training: Training, folder: Path, first_pass: Path | None = None, fresh: bool = False
) -> dict[str, Any]:
    """Train a model into a run folder, unless it has already been trained, and return the metrics.

    Args:
        training: what to train.
        folder: the run folder.
        first_pass: a model to begin the second pass with.
        fresh: whether to start over instead of resuming an interrupted run in the folder.
    """
    settings = training.settings()
    if first_pass is not None:
        settings.start = escaped(str(first_pass))
    settings.resume = not fresh
    try:
        return train(plan(settings), folder)
    except CheckpointError:  # the interrupted run had other settings
        settings.resume = False
        return train(plan(settings), folder)


def folder_of(
    runs: str | Path, variant: str, training: Training, trained_on: str = "train"
) -> Path:
    """Return the run folder of a variant of a comparison."""
    return (
        Path(runs)
        / variant.replace(" ", "_").replace(",", "")
        / f"{training.treebank}-{trained_on}-seed{training.seed}"
    )


def formatted(scores: dict[str, Any] | None, *names: str) -> list[str]:
    """Return scores of metrics with four decimals; empty if there are no scores."""
    return [f"{scores[name]:.4f}" if scores else "" for name in names]
