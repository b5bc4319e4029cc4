"""Training in two passes (Nederhof 2019, Section 8): on gold computations, then on the parser's own with an oracle's advice."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from parser.classifier.calibration import Calibration
from parser.data.background_vectors import BackgroundVectors
from parser.data.parses import NO_NODE
from parser.decoding.lockstep import LockstepParser, StepProbabilities
from parser.decoding.parsers import parser_of
from parser.evaluation.gold_part import GoldPart
from parser.model import Model
from parser.settings import Settings, SettingsError
from parser.text.tokenizer import TOKENIZER, train_tokenizer
from parser.training import checkpoint, run_folder
from parser.training.build import fitter_of, new_model
from parser.training.checkpoint import CheckpointError, Progress, restore_weights, trained_weights
from parser.training.console import EpochLog, ProgressBar
from parser.training.corpus import prepare
from parser.training.divergence import check_losses
from parser.training.example_sources import ExampleSource, ExploredComputations, GoldComputations
from parser.training.fitter import Fitter
from parser.training.observer import EpochEnd, Metrics, Observer, Observers, PassEnd, PassStart, RunStart, Update
from parser.training.run_folder import Origin
from parser.training.settings_check import check, check_files
from parser.training.stopwatch import Stopwatch
from parser.training.tensorboard import TensorBoard
from parser.versions import versions

log = logging.getLogger(__name__)

PASSES = ("first_pass", "second_pass")


def train(
    settings: Settings, folder: Path, observers: Sequence[Observer] = (), vectors: BackgroundVectors | None = None
) -> dict[str, Any]:
    """Trains a parser into a run's folder: model/, metrics.json, TensorBoard events, and a checkpoint while it trains.

    An interrupted run is resumed after its last epoch when it is started again in the same folder with the same settings; of a
    finished one the metrics are returned. ``resume=false`` trains again.

    Args:
        settings: what to train on and how.
        folder: the run's folder; made if it is not there.
        observers: who else hears of the run, besides TensorBoard, the progress bar and the log; see observer.py.
        vectors: the run's word vectors, if another process trains them already; see background_vectors.py.

    Returns:
        The metrics, as written to metrics.json.

    Raises:
        SettingsError, TreebankError, CheckpointError, RunFolderError, DivergenceError: the message says the fix.
    """
    check(settings)
    check_files(settings)
    torch.set_num_threads(settings.threads)
    with run_folder.held(folder):
        origin = Origin.of(settings)
        if not settings.resume:
            run_folder.start_over(folder)
        elif (finished := run_folder.finished_metrics(folder, origin)) is not None:
            log.info("%s: the run is finished; resume=false trains again", folder)
            return finished
        with Observers([TensorBoard(), ProgressBar(), EpochLog(), *observers]) as everyone:
            run = _Run(settings, origin, folder, everyone, vectors)
            run.train()
            metrics = run.metrics()
            run.calibrate()
            run.model.save(folder / run_folder.MODEL)
            if settings.tokenizer == "udpipe":
                files = settings.treebank
                train_tokenizer(str(files.train), files.dev, folder / run_folder.MODEL / TOKENIZER)
            everyone.on_end(metrics)
        run_folder.write_results(folder, origin, metrics)
    return metrics


@dataclass(frozen=True)
class _Pass:
    """A pass: its number, its name in settings and metrics, its epochs, and where its examples come from."""

    number: int
    name: str
    epochs: int
    source: ExampleSource


class _Run:
    """A run: what it trains, how far it has come, and the loop over passes and epochs."""

    def __init__(
        self, settings: Settings, origin: Origin, folder: Path, observers: Observers, vectors: BackgroundVectors | None
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.observers = observers
        self.progress, self.saved = _last_state(folder, origin)
        self.stopwatch = Stopwatch(self.progress.seconds)
        with self.stopwatch("read"):
            self.corpus = prepare(settings, vectors)
        self.order = torch.Generator().manual_seed(settings.seed)
        torch.manual_seed(settings.seed)
        self.model = new_model(settings, self.corpus)
        self.model.classifier.to(settings.device)
        if settings.first_pass.model is not None:
            self.model = _model_of_first_pass(Path(settings.first_pass.model), self.model, settings.device)
        self.passes = self._passes()
        self.best: dict[str, Tensor] = {}

    def train(self) -> None:
        """Trains through the passes, or through what an interrupted process left of them."""
        given = self.settings.first_pass.model is not None and self.progress.pass_number == 0
        before = sum(one.epochs for one in self.passes[: 1 if given else self.progress.pass_number])
        epochs, done = sum(one.epochs for one in self.passes), before + self.progress.epochs_done
        self.observers.on_start(RunStart(self.settings, self.folder, self.corpus, self.model, epochs, done))
        if given:
            self._end_pass(self.passes[0])
        for one in self.passes[self.progress.pass_number :]:
            self._train_pass(one)

    def _train_pass(self, one: _Pass) -> None:
        done = self.progress.epochs_done
        if one.number == 1 and not self.settings.second_pass.start_from_first_pass and not done:
            restore_weights(self.model.classifier, trained_weights(new_model(self.settings, self.corpus).classifier))
        fitter = fitter_of(self.model, self.corpus, self.settings, one.number, one.source.data)
        if self.saved:
            self._restore(one, fitter)
        self.observers.on_pass_start(PassStart(one.number + 1, one.name, one.epochs, done))
        for epoch in range(done, one.epochs):
            end = self._train_epoch(one, fitter, epoch)
            if end.dev is not None and (self.progress.best_las is None or end.dev["las"] > self.progress.best_las):
                self.progress.best_las = end.dev["las"]
                self.best = trained_weights(self.model.classifier)
            self.observers.on_epoch(end)
            self.progress.epochs_done = epoch + 1
            self._save(one, fitter)
        if self.settings.keep == "best" and self.best:
            restore_weights(self.model.classifier, self.best)
        self._end_pass(one)

    def _train_epoch(self, one: _Pass, fitter: Fitter, epoch: int) -> EpochEnd:
        examples = one.source.examples(epoch)
        updates = _Updates(one.name, epoch, self.observers)
        with self.stopwatch(f"{one.name}_fit"):
            loss = fitter.fit_epoch(examples, epoch, self.order, updates)
        seconds = self.stopwatch.last
        where = f"{one.name.replace('_', ' ')}, epoch {epoch + 1}"
        check_losses(self.settings, self.model.system.n_outputs, where, loss, updates.losses)
        words = int(one.source.data.sentences.lengths.sum())
        dev = self._measure("dev")
        return EpochEnd(one.name, epoch, one.epochs, loss, dev, updates.learning_rate, len(examples), words, seconds)

    def _end_pass(self, one: _Pass) -> None:
        end = PassEnd(one.name, self._measure("dev"), self._measure("test"))
        self.progress.metrics[one.name] = {"dev": end.dev, "test": end.test}
        self.progress.pass_number, self.progress.epochs_done, self.progress.best_las = one.number + 1, 0, None
        self.best = {}
        self.observers.on_pass(end)

    def _measure(self, part: str) -> Metrics | None:
        gold: GoldPart | None = getattr(self.corpus, part)
        with self.stopwatch("evaluate"):
            if gold is None:
                return None
            scores = gold.scores(parser_of(self.model).parse(gold.sentences, single_root=self.settings.single_root))
            return scores | gold.tag_scores(self.model.classifier.tokens.tags_of(gold.sentences))

    def _passes(self) -> list[_Pass]:
        settings, corpus, model = self.settings, self.corpus, self.model
        gold = GoldComputations(corpus, model, settings, self.stopwatch)
        passes = [_Pass(0, PASSES[0], settings.first_pass.epochs, gold)]
        if settings.second_pass.trees is not None:
            explored = ExploredComputations(corpus, model, settings, gold, PASSES[1], self.stopwatch, self.observers)
            passes.append(_Pass(1, PASSES[1], settings.second_pass.epochs, explored))
        return passes

    def _save(self, one: _Pass, fitter: Fitter) -> None:
        checkpoint.save(
            self.folder / run_folder.CHECKPOINT,
            self.progress,
            {
                "weights": trained_weights(self.model.classifier),
                "source": one.source.state(),
                "best": self.best,
                "optimizer": fitter.state(),
                "generators": {"order": self.order.get_state(), "global": torch.get_rng_state()},
            },
        )

    def _restore(self, one: _Pass, fitter: Fitter) -> None:
        """Puts back what _save() wrote at the end of the last epoch of this pass."""
        saved, self.saved = self.saved, {}
        self.best = saved.get("best", {})
        one.source.restore(saved.get("source", {}), self.progress.epochs_done)
        restore_weights(self.model.classifier, saved["weights"])
        fitter.restore(saved.get("optimizer", {}))
        self.order.set_state(saved["generators"]["order"])
        torch.set_rng_state(saved["generators"]["global"])

    def calibrate(self) -> None:
        """Fits the model's calibration to the dev part, if there is one."""
        gold = self.corpus.dev
        if gold is None:
            return
        model, single_root = self.model, self.settings.single_root
        probabilities = StepProbabilities.room_for(gold.sentences)
        parser = LockstepParser(model.weights(), model.system, model.table)
        parses = parser.parse(gold.sentences, single_root=single_root, probabilities=probabilities)
        _, right = gold.correct(parses)
        model.calibration = Calibration.fit(probabilities.arcs[parses.heads != NO_NODE], right)

    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds."""
        first, last = self.progress.metrics[PASSES[0]], self.progress.metrics[self.passes[-1].name]
        settings = self.settings
        return {
            "treebank": settings.treebank.name,
            "column": settings.column,
            "recipe": settings.recipe,
            "model": settings.model,
            "system": settings.system,
            "degree": settings.degree,
            "beam": "none",
            "oracle": settings.oracle,
            "strategy": settings.strategy,
            "ties": settings.ties,
            "seed": settings.seed,
            "train": self.corpus.train.summary,
            "dev": last["dev"],
            "test": last["test"],
            "after_first_pass": first,
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.progress.seconds.items()},
            "versions": versions(),
        }


class _Updates:
    """Keeps what there is to know of the updates of an epoch, and tells the observers of each."""

    def __init__(self, pass_name: str, epoch: int, observer: Observer) -> None:
        self._observer = observer
        self._update = partial(Update, pass_name, epoch)
        self.losses: list[float | Tensor] = []
        self.learning_rate = 0.0

    def __call__(self, loss: Tensor | float, examples: int, rate: float) -> None:
        self._observer.on_update(self._update(len(self.losses), loss, examples, rate))
        self.losses.append(loss)
        self.learning_rate = rate


def _last_state(folder: Path, origin: Origin) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
    """The state of a run that was interrupted in this folder, or of a new one, which has no tensors."""
    path = folder / run_folder.CHECKPOINT
    if not path.exists():
        return Progress(origin=asdict(origin)), {}
    progress, tensors = checkpoint.load(path)
    if (difference := Origin(**progress.origin).difference(origin)) is not None:
        raise CheckpointError(
            f"{path}: a run with {difference} was interrupted in this folder; choose another hydra.run.dir, "
            "resume with what it was made from, or start over with resume=false"
        )
    log.info("resuming from %s, pass %d, epoch %d", path, progress.pass_number + 1, progress.epochs_done)
    return progress, tensors


def _model_of_first_pass(folder: Path, fresh: Model, device: str) -> Model:
    """Another run's model, whose first pass takes the place of this run's own; ``fresh`` is what this run would train."""
    other = Model.load(folder)
    if not fresh.is_like(other):
        raise SettingsError(
            f"first_pass.model={folder} has other features, vocabularies or layers than this run; they depend on the "
            "training part, on vectors.* and on classifier.*"
        )
    other.classifier.to(device)  # made here: it draws numbers from the same generator as what follows
    return other
