"""The stages of a run: it trains, changes the model or its folder once more,
and reports its measurements.

The order matters: tasks such as lemmas are learned in the arithmetic that parsing will use; metrics
come after arithmetic and tasks, which change the scores of the last pass; a folder is checked when
complete.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from parser.data.treebank import language_of
from parser.linear.model import LinearModel
from parser.model.loading import load
from parser.model_folder import (
    EXAMPLE,
    MODEL,
    copy_text_files,
    find_model,
    has_tokenizer,
    treebank_text_folder,
)
from parser.settings.plan import NetworkPlan, Plan
from parser.storage import replacing
from parser.text.pipeline import TextPipeline
from parser.training.lemma_training import learn_task
from parser.training.text import NoRunningTextError, write_splitting

if TYPE_CHECKING:
    from parser.training.run import Run

log = logging.getLogger(__name__)

# A model parses in 8 bits if that costs its encoder at most this much LAS on dev.
_LOST_IN_8_BITS = 0.1


class Stage(NamedTuple):
    """A stage of a run.

    Attributes:
        name: its name in the log at level debug.
        do: the function that runs it, and returns entries of metrics.json.
    """

    name: str
    do: Callable[[Run], dict[str, Any]]


def _train(run: Run) -> dict[str, Any]:
    """Run the passes."""
    run.train()
    return {}


def _choose_arithmetic(run: Run) -> dict[str, Any]:
    """Let the encoder multiply in 8 bits if this costs little LAS on dev;
    the scores of the last pass are then for 8 bits.

    Without scores on dev, a model that is trained further multiplies as before. A resumed run
    chooses again, with the same result.
    """
    model, single = run.model, run.scores["dev"]
    if isinstance(model, LinearModel) or not model.contextual:
        return {}
    name = next((name for name in ("las", "uas") if single is not None and name in single), None)
    if single is None or name is None or run.plan.device != "cpu":
        model.int8 = model.int8_lost_las is not None and model.int8_lost_las <= _LOST_IN_8_BITS
        return {}
    dev = run.measure("dev", run.plan.search, int8=True)
    assert dev is not None, "there is a dev part"
    model.int8_lost_las = round(single[name] - dev[name], 4)
    model.int8 = model.int8_lost_las <= _LOST_IN_8_BITS
    used = "the model uses them" if model.int8 else "the model keeps single precision"
    log.info("8-bit products lose %.2f %s on dev; %s", model.int8_lost_las, name.upper(), used)
    if model.int8:
        run.scores.update({"dev": dev, "test": run.measure("test", run.plan.search, int8=True)})
    return {}


def _learn_tasks(run: Run) -> dict[str, Any]:
    """Learn the tasks that are learned after the parser; a resumed run does it again,
    with the same result.
    """
    model, plan = run.model, run.plan
    if isinstance(model, LinearModel):
        return {}
    assert isinstance(plan.model, NetworkPlan), "a network has the plan of one"
    for task in model.vocabularies.tasks:
        if not task.in_passes:
            log.info("learning %s", task.name)
            with run.stopwatch(task.name):
                epochs = plan.model.task_epochs[task.name]
                learn_task(
                    task, model, run.corpus.tagged, epochs, plan.seed, anew=plan.start is None
                )
            for split, scores in run.scores.items():
                if scores is not None:
                    run.scores[split] = scores | run.evaluation.task_scores(task, split)
    return {}


def _calibrate(run: Run) -> dict[str, Any]:
    """Store the beam in the model, and fit its calibration to dev."""
    log.info("saving" if run.corpus.dev is None else "calibrating on dev and saving")
    return run.evaluation.set_beam_and_calibrate(run.plan.search)


def _save(run: Run) -> dict[str, Any]:
    """Write the model's folder, with an example sentence."""
    folder = run.folder / MODEL
    run.model.save(folder)
    if run.example is not None:
        with replacing(folder / EXAMPLE) as temporary:
            temporary.write_text(run.example, encoding="utf-8", newline="\n")
    return {}


def learn_splitting(plan: Plan, folder: Path) -> None:
    """Give a model's folder a tokenizer and perhaps a segmenter, copied from the model of
    ``start`` or trained. A model that tells treebanks apart gets them for each treebank.

    Without running text in the training split, a warning says so, and the folder gets none.

    Raises:
        ConlluError: a file has changed, and is no longer CoNLL-U.
    """
    if plan.start is not None and plan.keeps_text:
        copy_text_files(find_model(Path(plan.start)), folder)
    for treebank in without_tokenizer(plan, folder):
        _write_splitting(plan, folder, treebank)


def without_tokenizer(plan: Plan, folder: Path) -> list[str | None]:
    """Return the treebanks for which a model's folder has no tokenizer, although the plan wants
    one; None stands for the treebank of a model that has only one.
    """
    names = _treebanks(dict.fromkeys(plan.files.train.names))
    return [name for name in names if plan.tokenizer and not has_tokenizer(folder, name)]


def _treebanks(names: Iterable[str]) -> list[str | None]:
    """Return the names of treebanks that are told apart; None alone if there is only one."""
    return [*names] or [None]


def _write_splitting(plan: Plan, folder: Path, treebank: str | None) -> None:
    """Train a tokenizer, and perhaps a segmenter, of one of several treebanks, or of all files."""
    files = plan.files.train
    target = folder if treebank is None else treebank_text_folder(folder, treebank)
    with TemporaryDirectory() as place:
        train, dev = files.as_files(plan.files.dev, Path(place), treebank)
        # by the original names: held-out splits are in other files
        language = language_of(files.of_treebank(treebank))
        try:
            write_splitting(
                train, dev, target, plan.seed, segmenter=plan.segmenter, language=language
            )
        except NoRunningTextError as error:
            log.warning(
                "no tokenizer is trained%s, so the model parses CoNLL-U but no text: %s",
                "" if treebank is None else f" for {treebank}",
                error,
            )


def _learn_splitting(run: Run) -> dict[str, Any]:
    learn_splitting(run.plan, run.folder / MODEL)
    return {}


def check_saved(folder: Path) -> None:
    """Load the model in a folder: this runs all checks of model folders.

    Raises:
        ModelError: a part is missing or damaged.
    """
    for treebank in _treebanks(load(folder).vocabularies.treebanks):
        if has_tokenizer(folder, treebank):
            TextPipeline.of_model(folder, treebank=treebank)


def _check(run: Run) -> dict[str, Any]:
    check_saved(run.folder / MODEL)
    return {}


STAGES = [
    Stage("passes", _train),
    Stage("arithmetic", _choose_arithmetic),
    Stage("tasks", _learn_tasks),
    Stage("metrics", lambda run: run.metrics()),
    Stage("calibration", _calibrate),
    Stage("folder", _save),
    Stage("text splitting", _learn_splitting),
    Stage("check", _check),
]
"""The stages of every run, in their order."""
