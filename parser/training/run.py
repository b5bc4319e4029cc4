"""Training: a run prepares its corpus, builds a model and the passes that train it,
and runs them, epoch by epoch.

train(plan, folder)
  Corpus.new(plan)      the splits of the treebank, vocabularies, word vectors;
                        with start=, Corpus.continued()
  build(plan)           the model, and a pass for each plan: GoldPass, ExplorationPass, GlobalPass,
                        OnlinePass, StructuredPass
  STAGES (stages.py)
    passes              Run.train(): for each pass: begin; for each epoch: fit_epoch,
                        measure dev, save a checkpoint
    arithmetic          8 bits or single precision, with an encoder
    tasks               tasks that are learned after the parser, such as lemmas
    metrics             Run.metrics()
    calibration         Evaluation.set_beam_and_calibrate()
    folder              the model is saved
    text splitting      a tokenizer and a segmenter; with start=, the model's own are copied instead
    check               the saved model is loaded

For example, beam=global is a GlobalPlan. GlobalPass makes a BeamObjective of it. The Trainer draws
batches, the objective parses them with a beam and computes gradients, and the optimizer takes a
step (fitting/trainer.py).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from oracles.errors import OptimalStepError
from parser.beam_settings import Beam
from parser.data.word_vectors import BackgroundVectors
from parser.decoding.files.missing_columns import tags_read
from parser.model.trained_model import TrainedModel
from parser.model_folder import MODEL, ModelError
from parser.networks.classifier import check_device
from parser.settings.groups import SettingsError
from parser.settings.plan import Plan
from parser.storage import versions
from parser.training import run_folder
from parser.training.build import build
from parser.training.evaluation import Evaluation
from parser.training.example import example_sentence
from parser.training.examples.corpus import Corpus
from parser.training.memory import keep_freed_memory
from parser.training.observers import (
    EpochEnd,
    Metrics,
    Observer,
    Observers,
    PassEnd,
    PassStart,
    RunStart,
)
from parser.training.observers.console import EpochLog, ProgressBar
from parser.training.observers.tensorboard import TensorBoard
from parser.training.passes import RunContext, Saved, Stopwatch, TrainingPass
from parser.training.run_folder import CheckpointError, Manifest, Progress
from parser.training.stages import STAGES, check_saved, learn_splitting, without_tokenizer

log = logging.getLogger(__name__)


def train(
    plan: Plan,
    folder: Path,
    observers: Sequence[Observer] = (),
    vectors: BackgroundVectors | None = None,
) -> dict[str, Any]:
    """Train a parser into a run's folder: model/, metrics.json, TensorBoard events, and a
    checkpoint while it trains.

    Started again in the same folder with the same plan, an interrupted run resumes after its last
    epoch. A finished run is not repeated: its metrics are returned. ``resume=false`` trains again.

    Args:
        plan: what to train on and how; see parser/settings/plan.py.
        folder: the run's folder, created if needed.
        observers: further observers, besides TensorBoard, the progress bar and the log; see
            parser.training.observers.
        vectors: the run's word vectors, if another process is already training them;
            see data/word_vectors.py.

    Returns:
        The metrics, as written to metrics.json.

    Raises:
        SettingsError, TreebankError, CheckpointError, RunFolderError, DivergenceError: the message
            says how to fix it.
        ModelError: the saved model, or that of the finished run, cannot be loaded.
    """
    if plan.start is not None and Path(plan.start).resolve() in (
        folder.resolve(),
        (folder / MODEL).resolve(),
    ):
        raise SettingsError(
            f"start={plan.start}: this run would replace that model; choose another hydra.run.dir"
        )
    try:
        check_device(plan.device)
    except OptimalStepError as error:
        raise SettingsError(f"device={plan.device}: {error}") from None
    torch.set_num_threads(plan.threads)
    keep_freed_memory()
    with run_folder.held(folder):
        run_folder.check_unused(folder)
        manifest = Manifest.of(plan)
        if not plan.resume:
            run_folder.start_over(folder)
        elif (finished := run_folder.finished_metrics(folder, manifest)) is not None:
            _check_finished(folder)
            log.info("%s: the run is finished; resume=false trains again", folder)
            if without_tokenizer(plan, folder / MODEL):
                learn_splitting(plan, folder / MODEL)
            return finished
        with Observers([TensorBoard(), ProgressBar(), EpochLog(), *observers]) as everyone:
            run = Run(plan, manifest, folder, everyone, vectors)
            if plan.tokenizer and (tags := tags_read(run.model.vocabularies.by_attribute)):
                log.warning(
                    "tokenizer=characters: this model reads %s, which text does not have; "
                    "recipe=text needs none",
                    tags,
                )
            metrics: dict[str, Any] = {}
            for stage in STAGES:
                log.debug("stage: %s", stage.name)
                metrics |= stage.do(run)
            everyone.on_end(metrics)
        run_folder.write_results(folder, manifest, metrics)
    return metrics


def _check_finished(folder: Path) -> None:
    """Load the model of a finished run; if it is damaged, say what to do."""
    try:
        check_saved(folder / MODEL)
    except ModelError as error:
        raise ModelError(
            f"{folder}: the run is finished, but its model is damaged: {error}; "
            "resume=false trains it again"
        ) from error


class Run:
    """A run: its model, its progress, and the loop over passes and epochs.

    Args:
        manifest: the run's settings and files.
        folder: the run's folder.
        observers: the observers, which are told what happens.
        vectors: see Corpus.new().

    Attributes:
        folder: see above.
        plan: what is trained and how, adjusted to the size of the training split.
        corpus: the splits of the treebank.
        example: see example_sentence().
        evaluation: measures the model on dev and test.
        stopwatch: counts the time of each stage.
    """

    def __init__(
        self,
        plan: Plan,
        manifest: Manifest,
        folder: Path,
        observers: Observers,
        vectors: BackgroundVectors | None,
    ) -> None:
        self._manifest = manifest
        self.folder = folder
        self._observers = observers
        self._progress, self._saved = _last_state(folder, manifest)
        self.stopwatch = Stopwatch(self._progress.seconds)
        self._cpu_begun = _cpu_seconds() - self._progress.cpu_seconds
        with self.stopwatch("read"):
            start = None if plan.start is None else TrainedModel.load(Path(plan.start), int8=False)
            self.corpus = (
                Corpus.new(plan, vectors) if start is None else Corpus.continued(plan, start)
            )
            self.example = example_sentence(self.corpus.train, plan.files.train.paths)
        self.plan = plan = plan.for_words(self.corpus.train.n_words)
        context = RunContext(self.corpus, plan.system, observers, self.stopwatch, plan.seed)
        self.model, self._passes = build(plan, context)
        self._names = [pass_.name for pass_ in self._passes]
        lattice_beam = None if plan.lattices is None else Beam(plan.lattices.beam)
        self.evaluation = Evaluation(self.model, self.corpus, plan.single_root, lattice_beam)

    def train(self) -> None:
        """Run the passes; after an interruption, only the rest of them."""
        progress, passes = self._progress, self._passes
        is_given = passes[0].given and progress.pass_number == 0
        before = sum(pass_.epochs for pass_ in passes[: 1 if is_given else progress.pass_number])
        epochs, done = sum(pass_.epochs for pass_ in passes), before + progress.epochs_done
        start = RunStart(
            self.plan, self._manifest, self.folder, self.corpus, self.model, epochs, done
        )
        self._observers.on_start(start)
        del passes[: progress.pass_number]
        while passes:  # drops each finished pass: the examples of a big treebank take gigabytes
            self._train_pass(passes.pop(0))

    def _train_pass(self, pass_: TrainingPass[Any]) -> None:
        if not pass_.given:
            best = self._fit(pass_)
            if self.plan.keep_best and best:
                pass_.put_weights(best)
        search = self.plan.search if pass_.name == self._names[-1] else None
        if measured := [
            split for split in ("dev", "test") if getattr(self.corpus, split) is not None
        ]:
            log.info(
                "%s: parsing %s",
                "start" if pass_.given else pass_.name.replace("_", " "),
                " and ".join(measured),
            )
        end = PassEnd(pass_.name, self.measure("dev", search), self.measure("test", search))
        self._progress.end_pass(pass_.name, {"dev": end.dev, "test": end.test})
        self._observers.on_pass(end)

    def _fit(self, pass_: TrainingPass[Any]) -> dict[str, Tensor]:
        """Train the remaining epochs of a pass; return the weights of its best epoch,
        or nothing without a dev split.
        """
        progress, saved, done = self._progress, self._saved, self._progress.epochs_done
        best = saved.pop("best", {})
        if saved:
            pass_.restore(saved, done)
        else:
            log.info("%s: preparing the examples", pass_.name.replace("_", " "))
            pass_.begin()
        self._saved = {}
        number = self._names.index(pass_.name) + 1
        self._observers.on_pass_start(
            PassStart(number, pass_.name, pass_.epochs, done, pass_.expected_examples)
        )
        for epoch in range(done, pass_.epochs):
            fitted, fit_seconds = pass_.fit_epoch(epoch), self.stopwatch.last
            dev = self.measure("dev", pass_.search)
            # UAS if the dev split has no relations
            score = (dev or {}).get("las", (dev or {}).get("uas"))
            if score is not None and (progress.best_las is None or score > progress.best_las):
                progress.best_las = score
                best = pass_.weights()
            end = EpochEnd(
                pass_.name,
                epoch,
                pass_.epochs,
                dev=dev,
                words=pass_.data.n_words,
                fit_seconds=fit_seconds,
                **vars(fitted),
            )
            self._observers.on_epoch(end)
            progress.epochs_done = epoch + 1
            progress.cpu_seconds = _cpu_seconds() - self._cpu_begun
            run_folder.save_checkpoint(
                self.folder / run_folder.CHECKPOINT, progress, pass_.state() | {"best": best}
            )
        return best

    def measure(self, split: str, search: Beam | None, int8: bool = False) -> Metrics | None:
        """Return the metrics of a split, and count the time; see Evaluation.scores()."""
        with self.stopwatch("evaluate"):
            return self.evaluation.scores(split, search, int8)

    @property
    def scores(self) -> dict[str, Metrics | None]:
        """The scores of dev and test after the last pass, which later stages may change."""
        return self._progress.metrics[self._names[-1]]

    def metrics(self) -> dict[str, Any]:
        """Return the contents of metrics.json."""
        first, *between, last = (
            self._progress.metrics[name]
            for name in (self._names[0], *self._names[1:-1], self._names[-1])
        )
        test = self.corpus.test
        return {
            **self.plan.labels,
            "train": self.corpus.train.summary,
            "dev": last["dev"],
            "test": last["test"],
            "after_first_pass": first,
            **({"first_pass_given": True} if getattr(self.plan.passes[0], "given", False) else {}),
            **({"after_second_pass": between[0]} if between else {}),
            **(
                {}
                if self.plan.files.train.fold is None or test is None
                else {"test_part": test.counted_words()}
            ),
            **self.model.arithmetic,
            "seconds": {
                stage: round(seconds, 3) for stage, seconds in self._progress.seconds.items()
            },
            "cpu_seconds": round(_cpu_seconds() - self._cpu_begun, 3),
            "versions": versions(),
        }


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended,
    such as the one that trains word vectors.
    """
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _last_state(folder: Path, manifest: Manifest) -> tuple[Progress, Saved]:
    """Return the state of the run interrupted in this folder; a new run has no tensors."""
    path = folder / run_folder.CHECKPOINT
    if not path.exists():
        return Progress(manifest=asdict(manifest)), {}
    progress, tensors = run_folder.load_checkpoint(path)
    if (difference := Manifest(**progress.manifest).difference(manifest)) is not None:
        raise CheckpointError(
            f"{path}: a run with {difference} was interrupted in this folder; choose another "
            "hydra.run.dir, resume with the original ones, or start over with resume=false"
        )
    log.info(
        "resuming from %s, pass %d, epoch %d", path, progress.pass_number + 1, progress.epochs_done
    )
    return progress, tensors
