"""Training in two passes (Nederhof 2019, Section 8): on gold computations, then on the parser's own with an oracle's advice."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from torch import Tensor

import oracles
from oracles import BoundOracle
from parser.atomic import write_json
from parser.classifier.precomputed_scorer import precomputed_scorer
from parser.data.background_vectors import VectorsAhead
from parser.evaluation.held_out import HeldOut
from parser.model import Model
from parser.settings import ExampleUse, Settings, SettingsError, TrainingTrees
from parser.training import checkpoint
from parser.training.build import fitter_of, new_model
from parser.training.checkpoint import CheckpointError, Progress, restore_weights, trained_weights
from parser.training.corpus import prepare
from parser.training.exploration import Examples, Policy, Target, TrainingSentences, Walk, explore, gold_examples
from parser.training.fitter import Fitter
from parser.training.settings_check import check
from parser.training.tensorboard import Figures, Tracker
from parser.versions import versions

log = logging.getLogger(__name__)

PASSES = ("first_pass", "second_pass")

_CHECKPOINT = "checkpoint.safetensors"


def train(settings: Settings, folder: Path, vectors: VectorsAhead | None = None) -> dict[str, Any]:
    """Trains a parser into a run's folder: model/, metrics.json, TensorBoard events, and a checkpoint while it goes.

    A run that was killed goes on from its last epoch when it is started again in the same folder with the same settings.

    Args:
        settings: what to train on and how.
        folder: the run's folder; made if it is not there.
        vectors: the run's word vectors, if somebody began to train them before; see vectors_ahead.py.

    Returns:
        The metrics, as written to metrics.json.

    Raises:
        SettingsError, TreebankError, CheckpointError: the message says what to mend.
    """
    check(settings)
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(settings.threads)
    run = _Run(settings, folder, vectors)
    passes = PASSES if settings.second_pass.trees is not None else PASSES[:1]
    with Tracker(folder, run.epochs_done(passes)) as tracker:
        for number in range(run.progress.pass_number, len(passes)):
            run.do_pass(number, passes[number], tracker)
        metrics = run.metrics()
        run.model.save(folder / "model")
        write_json(folder / "metrics.json", metrics)
        tracker.finish(run.plain_settings, metrics)
    (folder / _CHECKPOINT).unlink(missing_ok=True)
    return metrics


class _Run:
    """The state of one run: what it trains, and how far it has come."""

    def __init__(self, settings: Settings, folder: Path, vectors: VectorsAhead | None) -> None:
        self.settings = settings
        self.plain_settings: dict[str, Any] = OmegaConf.to_container(settings, resolve=True)  # type: ignore[assignment]
        self.checkpoint_path = folder / _CHECKPOINT
        self.progress, self._tensors = self._last_state()
        with self._timed("read"):
            self.corpus = prepare(settings, vectors)
        self._check_oracle()
        self.order = torch.Generator().manual_seed(settings.seed)
        self.best: dict[str, Tensor] = {}
        torch.manual_seed(settings.seed)
        self.model = new_model(settings, self.corpus)
        self.model.classifier.to(settings.device)
        if settings.first_pass.model is not None:
            self._take_first_pass(Path(settings.first_pass.model))
        self.walk_weights: dict[str, Tensor] = {}
        self.gold: Examples | None = None

    def epochs_done(self, passes: Sequence[str]) -> int:
        """Epochs behind us, those of finished passes included."""
        whole = sum(getattr(self.settings, name).epochs for name in passes[: self.progress.pass_number])
        return whole + self.progress.epochs_done

    def do_pass(self, number: int, name: str, tracker: Tracker) -> None:
        """Trains through one pass, or through what a killed run left of it, and measures its outcome."""
        settings = self.settings.first_pass if number == 0 else self.settings.second_pass
        if number == 1 and not self.settings.second_pass.start_from_first_pass and not self.progress.epochs_done:
            restore_weights(self.model.classifier, trained_weights(new_model(self.settings, self.corpus).classifier))
        with self._timed("projectivize"):
            data = self._first_pass_data if number == 0 else self._second_pass_data[0]
        fitter = fitter_of(self.model, self.corpus, self.settings, number, data.sentences)
        examples = self._restore(number, fitter) if self._tensors else None
        tracker.begin_pass(name, settings.epochs, self.progress.epochs_done)
        for epoch in range(self.progress.epochs_done, settings.epochs):
            if examples is None or (number == 1 and self._walks_before(epoch)):
                examples = self._examples(number, epoch, tracker)
            with self._timed(f"{name}_fit"):
                loss = fitter.fit_epoch(examples, epoch, self.order)
            if not math.isfinite(loss):
                rate = self.settings.optimizer.learning_rate
                raise SettingsError(f"optimizer.learning_rate={rate} is too high: the loss became {loss} in epoch {epoch + 1}")
            dev = self._measure("dev")
            if dev is not None and (self.progress.best_las is None or dev["las"] > self.progress.best_las):
                self.progress.best_las = dev["las"]
                self.best = trained_weights(self.model.classifier)
            tracker.epoch(name, loss, dev)
            self.progress.epochs_done = epoch + 1
            self._save(fitter)
        if self.settings.keep == "best" and self.best:
            restore_weights(self.model.classifier, self.best)
        self._end_pass(number)

    def _take_first_pass(self, folder: Path) -> None:
        """Takes the outcome of another run's first pass for one's own."""
        other = Model.load(folder, self.settings.device)
        if not self.model.is_like(other):
            raise SettingsError(
                f"first_pass.model={folder} has other features, vocabularies or layers than this run; they depend on the "
                "training part, on vectors.* and on classifier.*"
            )
        self.model = other
        if self.progress.pass_number == 0:
            self._end_pass(0)

    def _end_pass(self, number: int) -> None:
        self.progress.figures[PASSES[number]] = {part: self._measure(part) for part in ("dev", "test")}
        self.progress.pass_number, self.progress.epochs_done, self.progress.best_las = number + 1, 0, None
        self.best = {}

    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        first, last = (self.progress.figures[name] for name in (PASSES[0], list(self.progress.figures)[-1]))
        settings, train = self.settings, self.corpus.train
        return {
            "treebank": settings.treebank.name,
            "column": settings.column,
            "recipe": settings.recipe,
            "model": settings.model,
            "oracle": settings.oracle,
            "strategy": settings.strategy,
            "seed": settings.seed,
            "train": train.summary,
            "dev": last["dev"],
            "test": last["test"],
            "after_first_pass": first,
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.progress.seconds.items()},
            "versions": versions(),
        }

    def _check_oracle(self) -> None:
        """Fails now, not after the first pass, if the oracle cannot work on the trees of the second."""
        if self.settings.second_pass.trees == TrainingTrees.ORIGINAL:
            oracle = oracles.create(self.settings.oracle, self.settings.strategy)
            if oracle.needs_projective_gold and not self.corpus.train.trees.projective.all():
                oracle.bind(self.corpus.train.trees)

    def _walks_before(self, epoch: int) -> bool:
        every = self.settings.second_pass.walk_every
        return epoch == 0 or (every > 0 and epoch % every == 0)

    def _examples(self, number: int, epoch: int, tracker: Tracker) -> Examples:
        """The examples that the epoch learns from."""
        if number == 0:
            self.gold = self.gold or self._gold_examples()
            return self.gold
        self.walk_weights = trained_weights(self.model.classifier)
        return self._walk(epoch, tracker)

    def _gold_examples(self) -> Examples:
        with self._timed("gold_computations"):
            data = self._first_pass_data
            return gold_examples(data, oracles.create("static").bind(data.trees), self.model.system, self.model.table)

    def _walk(self, epoch: int, tracker: Tracker | None) -> Examples:
        """The examples of a walk before the given epoch of the second pass."""
        second = self.settings.second_pass
        walk = Walk(Policy(second.policy), second.follow)
        generator = np.random.default_rng([self.settings.seed, epoch])
        data, oracle = self._second_pass_data
        with self._timed("second_pass_walk"):
            scorer = precomputed_scorer(self.model.classifier, self.model.table, data.sentences)
            examples, report = explore(
                data, oracle, self.model.system, self.model.table, scorer, Target(second.target), walk, generator
            )
        if tracker is not None:
            tracker.walk(PASSES[1], report)
        if second.examples == ExampleUse.JOIN:
            self.gold = self.gold or self._gold_examples()
            examples = self.gold.join(examples)
        return examples

    @cached_property
    def _first_pass_data(self) -> TrainingSentences:
        return self.corpus.training_sentences(TrainingTrees(self.settings.first_pass.trees))

    @cached_property
    def _second_pass_data(self) -> tuple[TrainingSentences, BoundOracle]:
        data = self.corpus.training_sentences(TrainingTrees(str(self.settings.second_pass.trees)))
        return data, oracles.create(self.settings.oracle, self.settings.strategy).bind(data.trees)

    def _measure(self, part: str) -> Figures | None:
        held_out: HeldOut | None = getattr(self.corpus, part)
        with self._timed("evaluate"):
            return None if held_out is None else held_out.measure(self.model, self.settings.single_root)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds = self.progress.seconds
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start

    def _last_state(self) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
        """The state of a run that was killed in this folder, or of a new one."""
        if not (self.settings.resume and self.checkpoint_path.exists()):
            return Progress(settings=self.plain_settings), {}
        progress, tensors = checkpoint.load(self.checkpoint_path)
        if progress.settings != self.plain_settings:
            raise CheckpointError(
                f"{self.checkpoint_path}: a run with other settings was interrupted in this folder; choose another "
                "hydra.run.dir, go on with the same settings, or start over with resume=false"
            )
        log.info("going on from %s, pass %d, epoch %d", self.checkpoint_path, progress.pass_number + 1, progress.epochs_done)
        return progress, tensors

    def _save(self, fitter: Fitter) -> None:
        generators = {"order": self.order.get_state(), "global": torch.get_rng_state()}
        checkpoint.save(
            self.checkpoint_path,
            self.progress,
            {
                "weights": trained_weights(self.model.classifier),
                "walk_weights": self.walk_weights,
                "best": self.best,
                "optimizer": fitter.state(),
                "generators": generators,
            },
        )

    def _restore(self, number: int, fitter: Fitter) -> Examples | None:
        """Puts a killed run's state back; returns the examples that it was learning from."""
        tensors, self._tensors = self._tensors, {}
        self.best = tensors.get("best", {})
        self.walk_weights = tensors.get("walk_weights", {})
        examples = None
        if number == 1 and self.walk_weights:
            restore_weights(self.model.classifier, self.walk_weights)
            last_walk = max(epoch for epoch in range(self.progress.epochs_done) if self._walks_before(epoch))
            examples = self._walk(last_walk, tracker=None)
        restore_weights(self.model.classifier, tensors["weights"])
        fitter.restore(tensors.get("optimizer", {}))
        self.order.set_state(tensors["generators"]["order"])
        torch.set_rng_state(tensors["generators"]["global"])
        return examples
