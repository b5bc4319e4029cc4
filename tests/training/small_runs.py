"""Runs that take a second, what they leave, and runs that are killed."""

from pathlib import Path
from typing import Any

import pytest

from parser.beam_settings import Beam
from parser.data.treebank import read_treebank
from parser.evaluation.gold_split import GoldSplit
from parser.model.loading import load
from parser.settings.plan import Plan
from parser.training import run_folder
from parser.training.observers import Observer
from parser.training.run import train
from tests.searches import parser_with_beam
from tests.toy import planned

SMALL = [
    "classifier.hidden=32", "vectors.dimensions=16", "optimizer.batch_size=20",
    "first_pass.epochs=3", "second_pass.epochs=3",
]  # fmt: skip

BILSTM = [
    "recipe=accurate",
    "model=bilstm",
    "encoder.layers=1",
    "encoder.hidden=8",
    "classifier.hidden=8",
]

GLOBAL = [
    "beam=global", "beam.size=4", "beam.training.epochs=3", "beam.training.batch_sentences=5",
    "beam.training.learning_rate=0.05", "first_pass.epochs=1", "second_pass.epochs=1",
]  # fmt: skip

# For recipe=text.
TEXT = [
    "recipe=text", "encoder.layers=2", "encoder.hidden=16", "encoder.characters.hidden=6",
    "encoder.characters.embedding=6", "encoder.tagger.size=4", "encoder.heads.size=7",
    "encoder.heads.relation_size=5", "encoder.lemmas.size=12", "classifier.hidden=24",
    "vectors.dimensions=8", "optimizer.batch_size=60", "first_pass.epochs=1",
    "second_pass.epochs=2",
]  # fmt: skip


def run(treebank: Path, *overrides: str) -> Plan:
    """On a file that is all three parts."""
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return planned("treebank.name=toy", *files, *SMALL, *overrides)


def run_alone(treebank: Path | str, *overrides: str) -> Plan:
    """On a file, or a list of files, without a dev or test part; of sizes by default."""
    return planned(
        f"treebank.train={treebank}", "treebank.dev=null", "treebank.test=null", *overrides
    )


class Heard(Observer):
    """Keeps what it hears, and how often it was closed."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.closed = 0

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def close(self) -> None:
        self.closed += 1


for name in vars(Observer):
    if name.startswith("on_"):
        setattr(Heard, name, lambda self, event: self.events.append(event))


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
    assert not (folder / "model").exists()


def check_resumes(
    plan: Plan, folder: Path, epochs: int, whole: Path | None = None
) -> dict[str, Any]:
    """Check that a run that is killed after so many epochs, and resumed, ends as one that nobody
    kills, which may be there already.

    Returns:
        The metrics of the resumed run.
    """
    train_until_killed(plan, folder / "killed", epochs)
    metrics = train(plan, folder / "killed")
    if whole is None:
        whole = folder / "whole"
        train(plan, whole)
    assert files_of(folder / "killed") == files_of(whole)
    return metrics


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted((folder / "model").rglob("*"))
        if path.is_file()
    }


def check_measured(
    treebank: Path, folder: Path, scores: dict[str, float], beam: Beam | None
) -> None:
    """Check that the model of a run has these scores on the treebank with this beam."""
    model = load(folder)
    gold = GoldSplit.of(read_treebank(str(treebank)).sentences, model.vocabularies, model.relations)
    assert scores == gold.scores(parser_with_beam(model, beam).parse(gold.sentences))
