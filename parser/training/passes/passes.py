"""Training in two passes (Nederhof 2019, Section 8): on gold computations, then on the parser's own with an oracle's advice.

With beam=global or beam=exact, a third pass trains for whole computations (beam_pass.py).

With model=linear there is one pass, online (online.py).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parser.beam_settings import Beam, Merge, Search
from parser.data.background_vectors import BackgroundVectors
from parser.data.parses import NO_NODE
from parser.decoding.probabilities import ProbabilityParser
from parser.evaluation.gold_part import GoldPart
from parser.inference.calibration import Calibration, expected_calibration_error
from parser.model.model import Model
from parser.model_folder import MODEL, TOKENIZER
from parser.settings import Settings, SettingsError, given_models, training_files
from parser.text.segmenter_training import train_segmenter
from parser.text.tokenizer_training import train_tokenizer_apart
from parser.training import run_folder
from parser.training.build import fitter_of, new_model
from parser.training.checkpoint import restore_weights, trained_weights
from parser.training.checks.settings_check import check, check_files
from parser.training.examples.example_sources import ExampleSource, ExploredComputations, GoldComputations
from parser.training.examples.teacher import load_teachers
from parser.training.fitting.divergence import check_losses
from parser.training.fitting.fitter import Fitter
from parser.training.observers.console import EpochLog, ProgressBar
from parser.training.observers.observer import Metrics, Observer, Observers, SearchEnd, Update
from parser.training.observers.tensorboard import TensorBoard
from parser.training.passes.beam_pass import GlobalFitter, beam_fitter_of, beam_sentences
from parser.training.passes.online import OnlineRun
from parser.training.representation_settings import MODELS
from parser.training.run import Fitted, Pass, Run, Saved
from parser.training.run_folder import Manifest

log = logging.getLogger(__name__)

FIRST, SECOND, THIRD = PASSES = ("first_pass", "second_pass", "third_pass")


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
        manifest = Manifest.of(settings)
        if not settings.resume:
            run_folder.start_over(folder)
        elif (finished := run_folder.finished_metrics(folder, manifest)) is not None:
            log.info("%s: the run is finished; resume=false trains again", folder)
            return finished
        with Observers([TensorBoard(), ProgressBar(), EpochLog(), *observers]) as everyone:
            kind = _Passes if MODELS[settings.model].two_passes else OnlineRun
            run: Run = kind(settings, manifest, folder, everyone, vectors)
            run.train()
            metrics = run.metrics()
            metrics |= run.finish()
            run.model.save(folder / MODEL)
            if settings.tokenizer == "udpipe":
                target = folder / MODEL / TOKENIZER
                train_tokenizer_apart(training_files(settings), settings.treebank.dev, target)
                if settings.segmenter == "bilstm":
                    train_segmenter(training_files(settings), settings.treebank.dev, target, settings.seed)
            everyone.on_end(metrics)
        run_folder.write_results(folder, manifest, metrics)
    return metrics


class _Passes(Run):
    """A run that fits a classifier: to gold computations, then to exploration, then, if asked, to whole computations."""

    def _begin(self) -> None:
        settings = self.settings
        self.order = torch.Generator().manual_seed(settings.seed)
        torch.manual_seed(settings.seed)
        self._model = new_model(settings, self.corpus)
        self._model.classifier.to(settings.device)
        given = given_models(settings)
        for key, folder in given.items():
            self._model = _model_of_another_run(key, Path(folder), self._model, settings.device)
        gold = GoldComputations(self.corpus, self._model, settings, self.stopwatch)
        teachers = load_teachers(settings, self._model)
        self._sources: list[ExampleSource] = [gold]
        self._passes = [Pass(0, FIRST, settings.first_pass.epochs)]
        if settings.second_pass.trees is not None and "beam.training.start" not in given:
            self._sources.append(
                ExploredComputations(self.corpus, self._model, settings, gold, SECOND, self.stopwatch, self.observers, teachers)
            )
            self._passes.append(Pass(1, SECOND, settings.second_pass.epochs))
        if settings.beam.training is not None:
            self._passes.append(Pass(len(self._passes), THIRD, settings.beam.training.epochs))
        self._fitter: Fitter
        self._beam_fitter: GlobalFitter

    @property
    def model(self) -> Model:
        return self._model

    @property
    def passes(self) -> Sequence[Pass]:
        return self._passes

    @property
    def first_pass_is_given(self) -> bool:
        return bool(given_models(self.settings))

    def _begin_pass(self, number: int) -> None:
        if self._passes[number].name == THIRD:
            self._begin_third_pass()
            return
        source, done = self._sources[number], self.progress.epochs_done
        if number == 1 and not self.settings.second_pass.start_from_first_pass and not done:
            source.examples(0)  # what has been trained explores, before there are other weights
            self._put_weights(trained_weights(new_model(self.settings, self.corpus).classifier))
        self._fitter = fitter_of(self._model, self.corpus, self.settings, number, source.data)
        if saved := self.saved:
            source.restore(saved.get("source", {}), done)
            self._restore(saved, self._fitter)

    def _begin_third_pass(self) -> None:
        assert self.beam is not None, "see beam_check.py"
        self._model.beam = self.beam  # what observers draw is parsed with it
        if (embedded := self._model.classifier.embedded) is not None:
            # A resumed run has its weights row by row in memory, and products may have other last digits where they are not.
            embedded.weight.data = embedded.weight.data.contiguous()
        self._data = beam_sentences(self.corpus, self.beam)
        self._beam_fitter = beam_fitter_of(self._model, self.corpus, self.settings, self.beam, self._data)
        if self.saved:
            self._restore(self.saved, self._beam_fitter)

    def _restore(self, saved: Saved, fitter: Fitter | GlobalFitter) -> None:
        self._put_weights(saved["weights"])
        fitter.restore(saved.get("optimizer", {}))
        self.order.set_state(saved["generators"]["order"])
        torch.set_rng_state(saved["generators"]["global"])
        if "cuda" in saved["generators"]:
            torch.cuda.set_rng_state(saved["generators"]["cuda"], self.settings.device)

    def _beam_in(self, one: Pass) -> Search | None:
        return self.beam if one.name == THIRD else None

    def _fit(self, number: int, epoch: int) -> Fitted:
        if (name := self._passes[number].name) == THIRD:
            return self._fit_with_beam(epoch)
        source = self._sources[number]
        examples = source.examples(epoch)
        updates = _Updates(name, epoch, self.observers)
        with self.stopwatch(f"{name}_fit"):
            loss = self._fitter.fit_epoch(examples, epoch, self.order, updates)
        seconds = self.stopwatch.last
        where = f"{name.replace('_', ' ')}, epoch {epoch + 1}"
        moves = (
            1.0
            if examples.soft is None
            else 1.0 + self.settings.distillation.weight * self.settings.distillation.temperature**2
        )
        check_losses(self.settings, self._model.n_outputs, where, loss, updates.losses, moves)
        return Fitted(loss, updates.learning_rate, len(examples), int(source.data.sentences.lengths.sum()), seconds)

    def _fit_with_beam(self, epoch: int) -> Fitted:
        updates = _Updates(THIRD, epoch, self.observers)
        with self.stopwatch(f"{THIRD}_fit"):
            loss, report = self._beam_fitter.fit_epoch(epoch, self.order, updates)
        seconds, lengths = self.stopwatch.last, self._data.sentences.lengths
        n_outputs, moves = self._model.system.n_outputs, 2 * float(lengths.mean())
        check_losses(self.settings, n_outputs, f"third pass, epoch {epoch + 1}", loss, updates.losses, moves)
        self.observers.on_search(SearchEnd(THIRD, epoch, report))
        return Fitted(loss, updates.learning_rate, len(lengths), int(lengths.sum()), seconds)

    def finish(self) -> dict[str, Any]:
        """The model remembers its beams, and its calibration is fitted to the dev part, if there is one."""
        self._model.beam = self.beam
        if self.corpus.lattices:
            self._model.lattice_beam = self._lattice_beam(self.beam)
        if self.corpus.dev is None:
            return {}
        self._model.calibration = Calibration.fit(*self._arcs(self.corpus.dev))
        if self.corpus.test is None:
            return {}
        log_probabilities, right = self._arcs(self.corpus.test)
        error = expected_calibration_error(self._model.calibration(log_probabilities), right)
        return {"calibration_error_percent": error}

    def _arcs(self, gold: GoldPart) -> tuple[np.ndarray, np.ndarray]:
        """float64[words], log probabilities of the steps that made a part's arcs, and bool[words], which arcs are right."""
        parser = ProbabilityParser(self._model, self._model.beam)
        parses, probabilities = parser.parse(gold.sentences, single_root=self.settings.single_root)
        return probabilities.arcs[parses.heads != NO_NODE], gold.correct(parses)[1]

    def _measure(self, part: str, beam: Search | None = None) -> Metrics | None:
        """With lattices, what is found in them; besides, LAS on the gold paths."""
        scores = super()._measure(part, beam)
        if scores is None or part not in self.corpus.lattices:
            return scores
        searching = self._lattice_beam(beam)
        with self.stopwatch("evaluate"):
            found = self.corpus.lattices[part].scores(self._model, searching, single_root=self.settings.single_root)
        return found | {"gold_path_las": scores["las"]}

    def _lattice_beam(self, beam: Search | None) -> Beam:
        """How lattices are searched where other input is searched with a beam, or greedily."""
        searching = beam or Beam(self.settings.lattice.beam, Merge(str(self.settings.beam.merge)))
        assert isinstance(searching, Beam), "see beam_check.py"
        return searching

    def _tag_scores(self, gold: GoldPart) -> Metrics:
        return gold.tag_scores(self._model.classifier.tokens.tags_of(gold.sentences))

    def _state(self, number: int) -> Saved:
        third = self._passes[number].name == THIRD
        generators = {"order": self.order.get_state(), "global": torch.get_rng_state()}
        if torch.device(self.settings.device).type == "cuda":  # which draws dropout there
            generators["cuda"] = torch.cuda.get_rng_state(self.settings.device)
        return {
            "weights": self._weights(),
            "source": {} if third else self._sources[number].state(),
            "optimizer": self._beam_fitter.state() if third else self._fitter.state(),
            "generators": generators,
        }

    def _weights(self) -> dict[str, Tensor]:
        return trained_weights(self._model.classifier)

    def _put_weights(self, weights: Mapping[str, Tensor]) -> None:
        restore_weights(self._model.classifier, weights)


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


def _model_of_another_run(key: str, folder: Path, fresh: Model, device: str) -> Model:
    """Another run's model, which takes the place of passes of this run; ``fresh`` is what this run would train."""
    other = Model.load(folder)
    if not fresh.is_like(other):
        raise SettingsError(
            f"{key}={folder} has other features, vocabularies or layers than this run; they depend on the "
            "training part, on vectors.*, on classifier.* and on encoder.*"
        )
    other.classifier.to(device)  # made here: it draws numbers from the same generator as what follows
    # What was chosen and fitted for its weights is not for those that come.
    other.beam, other.lattice_beam, other.calibration = fresh.beam, fresh.lattice_beam, fresh.calibration
    return other
