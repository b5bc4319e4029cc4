"""What runs of every kind of model have in common: passes of epochs, dev metrics, the best epoch kept, checkpoints, metrics."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from parser.beam_settings import EXACT, Beam, Exact, Merge, Scores, Search
from parser.data.background_vectors import BackgroundVectors
from parser.decoding.parsers import parser_with_beam
from parser.evaluation.gold_part import GoldPart
from parser.model.loading import AnyModel
from parser.settings import Settings
from parser.storage.versions import versions
from parser.training import checkpoint, run_folder
from parser.training.checkpoint import CheckpointError, Progress
from parser.training.examples.corpus import prepare
from parser.training.observers.observer import EpochEnd, Metrics, Observers, PassEnd, PassStart, RunStart
from parser.training.observers.stopwatch import Stopwatch
from parser.training.run_folder import Manifest

log = logging.getLogger(__name__)

Saved = dict[str, dict[str, Tensor]]
"""Named groups of named tensors, as a checkpoint holds them."""


@dataclass(frozen=True)
class Pass:
    """A pass: its number from 0, its name in settings and metrics, its epochs."""

    number: int
    name: str
    epochs: int


@dataclass(frozen=True)
class Fitted:
    """What an epoch of a pass says of itself; see EpochEnd."""

    loss: float
    learning_rate: float
    examples: int
    words: int
    fit_seconds: float


class Run(ABC):
    """A run: what it trains, how far it has come, and the loop over passes and epochs.

    Args:
        settings: of the run.
        manifest: what it is made from.
        folder: its folder.
        observers: who hears of it.
        vectors: see corpus.prepare().

    Attributes:
        progress: how far it has come.
        saved: what an interrupted process left, until the pass that it was in begins.
        corpus: what it trains and measures on.
        model: what it trains.
        passes: its passes.
        best: the weights of the best epoch of the pass so far.
        beam: how dev and test are searched at the end, and as the model remembers; None: it parses greedily.
    """

    def __init__(
        self, settings: Settings, manifest: Manifest, folder: Path, observers: Observers, vectors: BackgroundVectors | None
    ) -> None:
        self.settings = settings
        self._manifest = manifest
        self.folder = folder
        self.observers = observers
        self.progress, self.saved = _last_state(folder, manifest)
        self.stopwatch = Stopwatch(self.progress.seconds)
        self._cpu_begun = _cpu_seconds() - self.progress.cpu_seconds
        with self.stopwatch("read"):
            self.corpus = prepare(settings, vectors)
        self.best: dict[str, Tensor] = {}
        self.beam = _beam_of(settings)
        self._begin()

    @property
    @abstractmethod
    def model(self) -> AnyModel:
        """The model that is trained."""

    @property
    @abstractmethod
    def passes(self) -> Sequence[Pass]:
        """The passes."""

    @property
    def first_pass_is_given(self) -> bool:
        """Whether another run has done the first pass."""
        return False

    @abstractmethod
    def _begin(self) -> None:
        """Makes the model, and what trains it."""

    @abstractmethod
    def _begin_pass(self, number: int) -> None:
        """Makes ready for the epochs of a pass; if something is ``saved``, its state after the last epoch is put back."""

    @abstractmethod
    def _fit(self, number: int, epoch: int) -> Fitted:
        """Trains for an epoch of a pass."""

    @abstractmethod
    def _state(self, number: int) -> Saved:
        """What is needed to resume after an epoch of a pass, besides ``best``."""

    @abstractmethod
    def _weights(self) -> dict[str, Tensor]:
        """Copies of the weights that parse, on the CPU."""

    @abstractmethod
    def _put_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Puts back what _weights() gave."""

    def _tag_scores(self, gold: GoldPart) -> Metrics:
        """Of the tags that the model predicts, by column."""
        return {}

    def finish(self) -> dict[str, Any]:
        """What becomes of the model after training, before it is saved; returns what metrics.json holds of it."""
        return {}

    def train(self) -> None:
        """Trains through the passes, or through what an interrupted process left of them."""
        given = self.first_pass_is_given and self.progress.pass_number == 0
        before = sum(one.epochs for one in self.passes[: 1 if given else self.progress.pass_number])
        epochs, done = sum(one.epochs for one in self.passes), before + self.progress.epochs_done
        self.observers.on_start(RunStart(self.settings, self._manifest, self.folder, self.corpus, self.model, epochs, done))
        if given:
            self._end_pass(self.passes[0])
        for one in self.passes[self.progress.pass_number :]:
            self._train_pass(one)

    def _train_pass(self, one: Pass) -> None:
        done = self.progress.epochs_done
        self.best = self.saved.get("best", {})
        self._begin_pass(one.number)
        self.saved = {}
        self.observers.on_pass_start(PassStart(one.number + 1, one.name, one.epochs, done))
        for epoch in range(done, one.epochs):
            fitted = self._fit(one.number, epoch)
            dev = self._measure("dev", self._beam_in(one))
            if dev is not None and (self.progress.best_las is None or dev["las"] > self.progress.best_las):
                self.progress.best_las = dev["las"]
                self.best = self._weights()
            self.observers.on_epoch(EpochEnd(one.name, epoch, one.epochs, dev=dev, **vars(fitted)))
            self.progress.epochs_done = epoch + 1
            self.progress.cpu_seconds = self._cpu_seconds()
            state = self._state(one.number) | {"best": self.best}
            checkpoint.save(self.folder / run_folder.CHECKPOINT, self.progress, state)
        if self.settings.keep == "best" and self.best:
            self._put_weights(self.best)
        self._end_pass(one)

    def _end_pass(self, one: Pass) -> None:
        beam = self.beam if one == self.passes[-1] else None
        end = PassEnd(one.name, self._measure("dev", beam), self._measure("test", beam))
        self.progress.metrics[one.name] = {"dev": end.dev, "test": end.test}
        self.progress.pass_number, self.progress.epochs_done, self.progress.best_las = one.number + 1, 0, None
        self.best = {}
        self.observers.on_pass(end)

    def _measure(self, part: str, beam: Search | None = None) -> Metrics | None:
        gold: GoldPart | None = getattr(self.corpus, part)
        with self.stopwatch("evaluate"):
            if gold is None:
                return None
            parser = parser_with_beam(self.model, beam)
            scores = gold.scores(parser.parse(gold.sentences, single_root=self.settings.single_root))
            return scores | self._tag_scores(gold)

    def _beam_in(self, one: Pass) -> Search | None:
        """How dev is searched after the epochs of a pass; None: greedily."""
        return None

    def _cpu_seconds(self) -> float:
        return _cpu_seconds() - self._cpu_begun

    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        first, last = (self.progress.metrics[one.name] for one in (self.passes[0], self.passes[-1]))
        settings = self.settings
        return {
            "treebank": settings.treebank.name,
            "column": settings.column,
            "recipe": settings.recipe,
            "model": settings.model,
            "system": settings.system,
            "degree": settings.degree,
            "beam": settings.beam.name,
            "oracle": settings.oracle,
            "strategy": settings.strategy,
            "ties": settings.ties,
            "seed": settings.seed,
            "train": self.corpus.train.summary,
            "dev": last["dev"],
            "test": last["test"],
            "after_first_pass": first,
            **({"after_second_pass": self.progress.metrics[self.passes[1].name]} if len(self.passes) > 2 else {}),
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.progress.seconds.items()},
            "cpu_seconds": round(self._cpu_seconds(), 3),
            "versions": versions(),
        }


def _beam_of(settings: Settings) -> Search | None:
    beam = settings.beam
    if beam.name == "none":
        return None
    if beam.name == EXACT:
        return Exact(Scores.LOCAL if beam.training is None else Scores.GLOBAL)
    assert beam.size is not None, "see beam_check.py"
    assert beam.merge is not None
    return Beam(beam.size, Merge(beam.merge), Scores(beam.name))


def _cpu_seconds() -> float:
    """Of this process, and of those that it has started and that have ended (word vectors are trained in one)."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _last_state(folder: Path, manifest: Manifest) -> tuple[Progress, Saved]:
    """The state of a run that was interrupted in this folder, or of a new one, which has no tensors."""
    path = folder / run_folder.CHECKPOINT
    if not path.exists():
        return Progress(manifest=asdict(manifest)), {}
    progress, tensors = checkpoint.load(path)
    if (difference := Manifest(**progress.manifest).difference(manifest)) is not None:
        raise CheckpointError(
            f"{path}: a run with {difference} was interrupted in this folder; choose another hydra.run.dir, "
            "resume with the original ones, or start over with resume=false"
        )
    log.info("resuming from %s, pass %d, epoch %d", path, progress.pass_number + 1, progress.epochs_done)
    return progress, tensors
