"""Training: a run prepares its corpus, builds a model and the passes that train it, and runs them, epoch by epoch.

train(plan, folder)
  Corpus.new(plan)      the parts of the treebank, vocabularies, word vectors; with start=, Corpus.continued()
  build(plan)           the model, and a pass for each plan: GoldPass, ExplorationPass, GlobalPass, OnlinePass, StructuredPass
  Run.train()           for each pass: begin; for each epoch: fit_epoch, measure dev, save a checkpoint
  Run.choose_arithmetic()  8 bits or single precision, with an encoder
  Run.learn_lemmas()    if the encoder predicts lemmas
  Evaluation.set_beam_and_calibrate()
  learn_splitting()     a tokenizer and a segmenter; with start=, those of the model are copied instead

For example, beam=global is a GlobalPlan. GlobalPass makes a BeamObjective of it. The Trainer draws batches, the objective
searches them and computes gradients, and the optimizer takes a step (fitting/trainer.py).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import category

import numpy as np
import torch
from torch import Tensor

from oracles.errors import OptimalStepError
from parser.beam_settings import Beam
from parser.conllu.checks import EMPTY, HEAD, LEMMA
from parser.data.lemmas import lemmatize
from parser.data.sentences import NO_NODE
from parser.data.treebank import Treebank, read_again
from parser.data.word_vectors import BackgroundVectors
from parser.decoding.files.missing_columns import tags_read
from parser.decoding.parse_options import ParseOptions, TagUse, predicted_tags
from parser.decoding.predictor import Prediction, Predictor
from parser.evaluation.gold_part import KNOWN_HEADS, GoldPart, counted_by
from parser.inference.calibration import Calibration, expected_calibration_error
from parser.linear.model import LinearModel
from parser.model.loading import load
from parser.model.trained_model import TrainedModel
from parser.model_folder import EXAMPLE, MODEL, copy_text_files, find_model, has_tokenizer
from parser.networks.classifier import check_device
from parser.settings.groups import SettingsError
from parser.settings.plan import NetworkPlan, Plan
from parser.storage import replacing, versions
from parser.text.abbreviations import language_of
from parser.text.pipeline import TextPipeline
from parser.text.tokens import conllu_lines, text_of
from parser.text.tokens import tokens_of as surface_tokens
from parser.training import run_folder
from parser.training.build import build
from parser.training.examples.corpus import Corpus
from parser.training.lemma_training import learn_lemmas
from parser.training.observers import EpochEnd, Metrics, Observer, Observers, PassEnd, PassStart, RunStart
from parser.training.observers.console import EpochLog, ProgressBar
from parser.training.observers.tensorboard import TensorBoard
from parser.training.passes import RunContext, Saved, Stopwatch, TrainingPass
from parser.training.run_folder import CheckpointError, Manifest, Progress
from parser.training.text import NoRunningTextError, write_splitting

log = logging.getLogger(__name__)

# The length in words of the example sentence in a model's folder.
_SHORT = range(4, 10)

# A model parses in 8 bits if that costs its encoder at most this much LAS on dev.
_LOST_IN_8_BITS = 0.1


def train(
    plan: Plan, folder: Path, observers: Sequence[Observer] = (), vectors: BackgroundVectors | None = None
) -> dict[str, Any]:
    """Train a parser into a run's folder: model/, metrics.json, TensorBoard events, and a checkpoint while it trains.

    Started again in the same folder with the same plan, an interrupted run resumes after its last epoch. A finished run is not
    repeated: its metrics are returned. ``resume=false`` trains again.

    Args:
        plan: what to train on and how; see parser/settings/plan.py.
        folder: the run's folder, created if needed.
        observers: further observers, besides TensorBoard, the progress bar and the log; see parser.training.observers.
        vectors: the run's word vectors, if another process is already training them; see data/word_vectors.py.

    Returns:
        The metrics, as written to metrics.json.

    Raises:
        SettingsError, TreebankError, CheckpointError, RunFolderError, DivergenceError: the message says the fix.
        ModelError: what was saved cannot be loaded.
    """
    if plan.start is not None and Path(plan.start).resolve() in (folder.resolve(), (folder / MODEL).resolve()):
        raise SettingsError(f"start={plan.start}: this run would replace that model; choose another hydra.run.dir")
    try:
        check_device(plan.device)
    except OptimalStepError as error:
        raise SettingsError(f"device={plan.device}: {error}") from None
    torch.set_num_threads(plan.threads)
    with run_folder.held(folder):
        manifest = Manifest.of(plan)
        if not plan.resume:
            run_folder.start_over(folder)
        elif (finished := run_folder.finished_metrics(folder, manifest)) is not None:
            log.info("%s: the run is finished; resume=false trains again", folder)
            if plan.tokenizer and not has_tokenizer(folder / MODEL):
                learn_splitting(plan, folder / MODEL)
            return finished
        with Observers([TensorBoard(), ProgressBar(), EpochLog(), *observers]) as everyone:
            run = Run(plan, manifest, folder, everyone, vectors)
            if plan.tokenizer and (tags := tags_read(run.model.vocabularies.by_attribute)):
                log.warning("tokenizer=characters: this model reads %s, which text lacks; recipe=text needs none", tags)
            run.train()
            run.choose_arithmetic()
            run.learn_lemmas()
            metrics = run.metrics()
            log.info("saving" if run.evaluation.corpus.dev is None else "calibrating on dev and saving")
            metrics |= run.evaluation.set_beam_and_calibrate(plan.search)
            run.model.save(folder / MODEL)
            if run.example is not None:
                with replacing(folder / MODEL / EXAMPLE) as temporary:
                    temporary.write_text(run.example, encoding="utf-8", newline="\n")
            learn_splitting(plan, folder / MODEL)
            load(folder / MODEL)  # runs all checks of model folders
            if has_tokenizer(folder / MODEL):
                TextPipeline.of_model(folder / MODEL)
            everyone.on_end(metrics)
        run_folder.write_results(folder, manifest, metrics)
    return metrics


def example_sentence(treebank: Treebank, paths: Sequence[str]) -> str | None:
    """Return the CoNLL-U of a short sentence without its tree, to try a model with; None if no sentence is short.

    It is the first short one that ends in punctuation, else the first, of those whose # text fits forms and SpaceAfter=No.

    Args:
        treebank: the training part.
        paths: the files that it was read from.
    """
    found = None
    for _, sentence in read_again((one for one in treebank if len(one) in _SHORT), paths):
        tokens = [*surface_tokens(sentence)]
        text = text_of(tokens)
        comment = f"# text = {text}"
        if text and all(line.rstrip() == comment for line in sentence.lines if line.startswith("# text =")):
            columns = [[*word[LEMMA:HEAD], *EMPTY * 3] for word in sentence.columns]
            example = "".join(f"{line}\n" for line in (comment, *conllu_lines(tokens, columns), ""))
            if category(text[-1])[0] == "P":
                return example
            found = found or example
    return found


def learn_splitting(plan: Plan, folder: Path) -> None:
    """Give a model's folder what splits text: that of the model of ``start``, or a tokenizer and a segmenter that are trained.

    Without running text in the training part, a warning says so, and the folder gets none.

    Raises:
        ConlluError: a file has changed, and is no longer CoNLL-U.
    """
    if plan.start is not None and plan.keeps_text:
        copy_text_files(find_model(Path(plan.start)), folder)
    if not plan.tokenizer or has_tokenizer(folder):
        return
    with TemporaryDirectory() as place:
        train, dev = plan.files.train.as_files(plan.files.dev, Path(place))
        language = language_of(plan.files.train.paths)  # before parts were held out
        try:
            write_splitting(train, dev, folder, plan.seed, segmenter=plan.segmenter, language=language)
        except NoRunningTextError as error:
            log.warning("no tokenizer is trained, so the model parses CoNLL-U but no text: %s", error)


class Run:
    """A run: its model, its progress, and the loop over passes and epochs.

    Args:
        plan: the plan of the run.
        manifest: the run's settings and files.
        folder: the run's folder.
        observers: told of what happens.
        vectors: see Corpus.new().

    Attributes:
        model: the model that is trained.
        example: see example_sentence().
        evaluation: measures the model on dev and test.
    """

    def __init__(
        self, plan: Plan, manifest: Manifest, folder: Path, observers: Observers, vectors: BackgroundVectors | None
    ) -> None:
        self._manifest = manifest
        self._folder = folder
        self._observers = observers
        self._progress, self._saved = _last_state(folder, manifest)
        self._stopwatch = Stopwatch(self._progress.seconds)
        self._cpu_begun = _cpu_seconds() - self._progress.cpu_seconds
        with self._stopwatch("read"):
            start = None if plan.start is None else TrainedModel.load(Path(plan.start), int8=False)
            self._corpus = Corpus.new(plan, vectors) if start is None else Corpus.continued(plan, start)
            self.example = example_sentence(self._corpus.train, plan.files.train.paths)
        self._plan = plan = plan.for_words(self._corpus.train.n_words)
        context = RunContext(self._corpus, plan.system, observers, self._stopwatch, plan.seed)
        self.model, self._passes = build(plan, context)
        self._names = [pass_.name for pass_ in self._passes]
        lattice_beam = None if plan.lattices is None else Beam(plan.lattices.beam)
        self.evaluation = Evaluation(self.model, self._corpus, plan.single_root, lattice_beam)

    def train(self) -> None:
        """Run the passes, or what an interrupted process left of them."""
        progress, passes = self._progress, self._passes
        given = passes[0].given and progress.pass_number == 0
        before = sum(pass_.epochs for pass_ in passes[: 1 if given else progress.pass_number])
        epochs, done = sum(pass_.epochs for pass_ in passes), before + progress.epochs_done
        start = RunStart(self._plan, self._manifest, self._folder, self._corpus, self.model, epochs, done)
        self._observers.on_start(start)
        del passes[: progress.pass_number]
        while passes:  # drops each finished pass: the examples of a big treebank take gigabytes
            self._train_pass(passes.pop(0))

    def choose_arithmetic(self) -> None:
        """Let the encoder multiply in 8 bits if dev loses little LAS by it; the scores of the last pass are then for 8 bits.

        Without scores of dev, a model that is trained further multiplies as before. A resumed run does it again, with the same
        result.
        """
        model, scores = self.model, self._progress.metrics[self._names[-1]]
        single = scores["dev"]
        if isinstance(model, LinearModel) or not model.contextual:
            return
        name = next((name for name in ("las", "uas") if single is not None and name in single), None)
        if single is None or name is None or self._plan.device != "cpu":
            model.int8 = model.int8_lost_las is not None and model.int8_lost_las <= _LOST_IN_8_BITS
            return
        dev = self._measure("dev", self._plan.search, int8=True)
        assert dev is not None, "there is a dev part"
        model.int8_lost_las = round(single[name] - dev[name], 4)
        model.int8 = model.int8_lost_las <= _LOST_IN_8_BITS
        used = "the model uses them" if model.int8 else "the model keeps single precision"
        log.info("8-bit products lose %.2f %s on dev; %s", model.int8_lost_las, name.upper(), used)
        if model.int8:
            scores |= {"dev": dev, "test": self._measure("test", self._plan.search, int8=True)}

    def learn_lemmas(self) -> None:
        """Learn lemmas, if the model predicts them; a resumed run does it again, with the same result."""
        if isinstance(self.model, LinearModel) or self.model.vocabularies.lemmas is None:
            return
        assert isinstance(self._plan.model, NetworkPlan), "a model with a classifier"
        log.info("learning lemmas")
        with self._stopwatch("lemmas"):
            anew = self._plan.start is None
            learn_lemmas(self.model, self._corpus.tagged, self._plan.model.lemma_epochs, self._plan.seed, anew)
        measured = self._progress.metrics[self._names[-1]]
        for part, scores in measured.items():
            if scores is not None and (score := self.evaluation.lemma_score(part)) is not None:
                measured[part] = scores | {"lemma": score}

    def _train_pass(self, pass_: TrainingPass[Any]) -> None:
        if not pass_.given:
            best = self._fit(pass_)
            if self._plan.keep_best and best:
                pass_.put_weights(best)
        search = self._plan.search if pass_.name == self._names[-1] else None
        if measured := [part for part in ("dev", "test") if getattr(self._corpus, part) is not None]:
            log.info("%s: parsing %s", "start" if pass_.given else pass_.name.replace("_", " "), " and ".join(measured))
        end = PassEnd(pass_.name, self._measure("dev", search), self._measure("test", search))
        self._progress.end_pass(pass_.name, {"dev": end.dev, "test": end.test})
        self._observers.on_pass(end)

    def _fit(self, pass_: TrainingPass[Any]) -> dict[str, Tensor]:
        """Train the remaining epochs of a pass; return the weights of its best epoch, none without a dev part."""
        progress, saved, done = self._progress, self._saved, self._progress.epochs_done
        best = saved.pop("best", {})
        if saved:
            pass_.restore(saved, done)
        else:
            log.info("%s: preparing the examples", pass_.name.replace("_", " "))
            pass_.begin()
        self._saved = {}
        number = self._names.index(pass_.name) + 1
        self._observers.on_pass_start(PassStart(number, pass_.name, pass_.epochs, done, pass_.expected_examples))
        for epoch in range(done, pass_.epochs):
            fitted, fit_seconds = pass_.fit_epoch(epoch), self._stopwatch.last
            dev = self._measure("dev", pass_.search)
            score = (dev or {}).get("las", (dev or {}).get("uas"))  # UAS if the dev part has no relations
            if score is not None and (progress.best_las is None or score > progress.best_las):
                progress.best_las = score
                best = pass_.weights()
            end = EpochEnd(
                pass_.name, epoch, pass_.epochs, dev=dev, words=pass_.data.n_words, fit_seconds=fit_seconds, **vars(fitted)
            )
            self._observers.on_epoch(end)
            progress.epochs_done = epoch + 1
            progress.cpu_seconds = _cpu_seconds() - self._cpu_begun
            run_folder.save_checkpoint(self._folder / run_folder.CHECKPOINT, progress, pass_.state() | {"best": best})
        return best

    def _measure(self, part: str, search: Beam | None, int8: bool = False) -> Metrics | None:
        with self._stopwatch("evaluate"):
            return self.evaluation.scores(part, search, int8)

    def metrics(self) -> dict[str, Any]:
        """Return the contents of metrics.json."""
        first, *between, last = (self._progress.metrics[name] for name in (self._names[0], *self._names[1:-1], self._names[-1]))
        test = self._corpus.test
        return {
            **self._plan.labels,
            "train": self._corpus.train.summary,
            "dev": last["dev"],
            "test": last["test"],
            "after_first_pass": first,
            **({"first_pass_given": True} if getattr(self._plan.passes[0], "given", False) else {}),
            **({"after_second_pass": between[0]} if between else {}),
            **({} if self._plan.files.train.fold is None or test is None else {"test_part": test.counted_words()}),
            **self.model.arithmetic,
            "seconds": {stage: round(seconds, 3) for stage, seconds in self._progress.seconds.items()},
            "cpu_seconds": round(_cpu_seconds() - self._cpu_begun, 3),
            "versions": versions(),
        }


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended, such as the one that trains word vectors."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _last_state(folder: Path, manifest: Manifest) -> tuple[Progress, Saved]:
    """Return the state of the run that was interrupted in this folder; a new run has no tensors."""
    path = folder / run_folder.CHECKPOINT
    if not path.exists():
        return Progress(manifest=asdict(manifest)), {}
    progress, tensors = run_folder.load_checkpoint(path)
    if (difference := Manifest(**progress.manifest).difference(manifest)) is not None:
        raise CheckpointError(
            f"{path}: a run with {difference} was interrupted in this folder; choose another hydra.run.dir, "
            "resume with the original ones, or start over with resume=false"
        )
    log.info("resuming from %s, pass %d, epoch %d", path, progress.pass_number + 1, progress.epochs_done)
    return progress, tensors


@dataclass(frozen=True)
class Evaluation:
    """Parses dev and test: after each epoch, and at the end of a run.

    Attributes:
        model: the model, which training changes.
        corpus: the corpus, with its dev and test parts.
        single_root: whether parses have exactly one child of the root.
        lattice_beam: the beam for lattices if all else is parsed greedily; None if there are no lattices.
    """

    model: TrainedModel | LinearModel
    corpus: Corpus
    single_root: bool
    lattice_beam: Beam | None

    def scores(self, part: str, search: Beam | None, int8: bool = False) -> Metrics | None:
        """Return the metrics of a part, searched like this; None if there is no such part.

        With lattices, the metrics are for the words found in them; LAS on the gold paths is added. ``int8``: with 8-bit
        products, which need an encoder.
        """
        gold: GoldPart | None = getattr(self.corpus, part)
        if gold is None:
            return None
        found = self._predicted(gold, search, predicted_tags(self.model), int8=int8)
        parses = found.parses
        scores: Metrics = gold.scores(parses) | gold.scores_by_treebank(parses) | gold.tag_scores(found.tags.numbers)
        if isinstance(self.model, LinearModel) or part not in self.corpus.lattices:
            return scores
        beam = self._beam_for_lattices(search)
        found_in_lattices = self.corpus.lattices[part].scores(self.model, beam, single_root=self.single_root)
        return found_in_lattices | {"gold_path_las": scores["las"]}

    def lemma_score(self, part: str) -> float | None:
        """Return the percentage of words of a part whose lemma is right, with the tags that the model predicts.

        None if the part has no gold lemma.
        """
        model, gold = self.model, getattr(self.corpus, part)
        assert isinstance(model, TrainedModel), "a model with a classifier"
        tags, rule_scores = model.classifier.tokens.tags_and_rules(gold.sentences)
        assert model.vocabularies.lemmas is not None, "the model predicts lemmas"
        assert rule_scores is not None, "the model predicts lemmas"
        symbols = {column: known.symbols for column, known in model.vocabularies.tags.items()}
        values = {column: [symbols[column][number] for number in numbers.tolist()] for column, numbers in tags.items()}
        forms = model.vocabularies.tokens_to_lemmatize(sentence.forms for sentence in gold.source)
        lemmas = lemmatize(model.vocabularies.lemmas, forms, values, rule_scores)
        found: float | None = gold.lemma_score([lemma for form, lemma in zip(forms, lemmas, strict=True) if form])
        return found

    def set_beam_and_calibrate(self, search: Beam | None) -> dict[str, Any]:
        """Store the beam in the model, and fit its calibration to the dev part, if there is one with enough arcs.

        Returns:
            The calibration's part of metrics.json.
        """
        model, corpus = self.model, self.corpus
        model.beam = search
        if isinstance(model, LinearModel):
            return {}
        if corpus.lattices:
            model.lattice_beam = self._beam_for_lattices(search)
        if corpus.dev is None:
            return {}
        if (fitted := Calibration.fit(*self._arcs(model, corpus.dev))) != Calibration():
            model.calibration = fitted
        if corpus.test is None or not corpus.test.labelled.any():
            return {}
        log_probabilities, right = self._arcs(model, corpus.test)
        return {"calibration_error_percent": expected_calibration_error(model.calibration(log_probabilities), right)}

    def _beam_for_lattices(self, search: Beam | None) -> Beam:
        beam = search or self.lattice_beam
        assert beam is not None, "a run with lattices has one"
        return beam.without_signatures()

    def _arcs(self, model: TrainedModel, gold: GoldPart) -> tuple[np.ndarray, np.ndarray]:
        """float64[words], log probabilities of the steps that made a part's arcs, and bool[words], which arcs are right."""
        found = self._predicted(gold, model.beam, steps=True)
        assert found.steps is not None, "the predictor was asked for steps"
        right = gold.correct(found.parses)[1][gold.labelled]
        return found.steps.arcs[found.parses.heads != NO_NODE][gold.labelled], right

    def _predicted(
        self, gold: GoldPart, search: Beam | None, tags: TagUse = TagUse.KEEP, *, steps: bool = False, int8: bool | None = None
    ) -> Prediction:
        """Return what the model predicts for a part now, searched like this; without lemmas."""
        model = self.model if isinstance(self.model, LinearModel) else self.model.frozen(int8)
        predictor = Predictor(model, ParseOptions(beam=search or Beam(1), tags=tags), steps=steps)
        return predictor.predict(gold.sentences, single_root=self.single_root)


def pool_folds(folds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the metrics.json of all folds: the test score is over every sentence of a small treebank.

    Args:
        folds: the metrics of at least two runs, each tested on its fold.

    Returns:
        The labels of the runs; ``train`` of the first run; ``dev``: the mean, if there is such a part; ``test``: the score
        over the sentences of all folds; ``test_mean`` and ``test_standard_deviation`` (of a sample) over folds; ``folds``: the
        ``test`` of each. A score that only some folds have, such as that of one of several treebanks, is over these folds.
    """
    first = folds[0]
    labels = {key: value for key, value in first.items() if value is None or isinstance(value, str | int)}
    tests = [fold["test"] for fold in folds]
    return labels | {
        "train": first["train"],
        "dev": first["dev"] and {key: fmean(scores) for key, scores in _by_key([fold["dev"] for fold in folds]).items()},
        "test": {key: _pooled(key, folds) for key in _by_key(tests)},
        "test_mean": {key: fmean(scores) for key, scores in _by_key(tests).items()},
        "test_standard_deviation": {key: stdev(scores) for key, scores in _by_key(tests).items() if len(scores) > 1},
        "folds": tests,
        "seconds": {"total": round(sum(sum(fold["seconds"].values()) for fold in folds), 3)},
        "versions": first["versions"],
    }


def _by_key(parts: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    """Return, by key, the scores of several parts."""
    found: dict[str, list[float]] = {}
    for part in parts:
        for key, score in part.items():
            found.setdefault(key, []).append(score)
    return found


def _pooled(key: str, folds: Sequence[dict[str, Any]]) -> float:
    """Return the percentage over the words of all folds; the sum for a count."""
    if key == KNOWN_HEADS:  # missing if all heads are known
        return sum(fold["test"].get(key, fold["test_part"]["words"]) for fold in folds)
    having = [fold for fold in folds if key in fold["test"]]
    weights = [fold["test_part"][counted_by(key)] for fold in having]
    return sum(fold["test"][key] * n for fold, n in zip(having, weights, strict=True)) / max(sum(weights), 1)
