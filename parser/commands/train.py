"""Trains a parser: optimal-step train [treebank=hu] [column=5] [recipe=paper] [KEY=VALUE ...];
--help shows all keys.

-m runs a sweep over all combinations, and ends with a table of its jobs: optimal-step train -m
treebank=hu,el column=1,5.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import hydra
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from oracles.errors import OptimalStepError
from parser import failures
from parser.commands import command_line
from parser.commands.settings_help import settings_help
from parser.data.word_vectors import background_vectors
from parser.model_folder import (
    MODEL,
    VOCABULARIES,
    find_model,
    has_tokenizer,
    predicted_columns,
    read_json,
)
from parser.settings import Settings, register
from parser.settings.files import CONFIGS, completed, treebank_changes
from parser.settings.given import NOTHING_GIVEN, Given
from parser.settings.overrides import explained, read_command
from parser.settings.paths import is_sweep, shell_command, unresolved
from parser.settings.plan import Plan, plans
from parser.settings.started import started
from parser.storage import LockedError, locked, write_json
from parser.training.observers import Observer, RunStart, Update
from parser.training.sweeps import JobError, JobFolders, SweepJob, read_jobs, table

log = logging.getLogger(__name__)
# configs/train.yaml sends it only to train.log; the results are also printed
results = logging.getLogger("results")

# Printed after a run of the default recipe, which is not the most accurate.
_REPRODUCTION = (
    "recipe=paper reproduces Nederhof (2019); for a more accurate parser choose recipe=accurate "
    "(input with tags) or recipe=text (input without tags)"
)

# Hydra's list of settings that tell no job of a sweep apart: those with one value.
_FIXED = "hydra.job.config.override_dirname.exclude_keys"
# Settings that the name of every run's folder has already.
_NAMED = ("treebank", "treebank.name", "treebank.train", "column", "system", "recipe", "seed")
_DRY_RUN = "--dry-run"

register()


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="train")
def _job(settings: Settings) -> float | None:
    """Train into hydra's run folder and print the final metrics; return dev LAS,
    which a sweeper can search with.
    """
    try:
        return run(settings)
    except JobError:
        raise
    except Exception as error:  # main() would take it for an error of hydra's
        command_line.fail(error)


def run(settings: Settings, observers: Sequence[Observer] = ()) -> float | None:
    """Train within a job of hydra; ``observers`` are told about the run.

    Raises:
        JobError: an error in a sweep, which continues with its next job; a single run exits with
            the message of bad input.
    """
    job = HydraConfig.get()
    folder, given = Path(unresolved(job.runtime, "output_dir")), _given(job)
    if job.mode is not RunMode.MULTIRUN:
        try:
            return _las(_train(settings, given, folder, observers), "dev")
        except Exception as error:
            if failures.refusal(error) is None:
                raise
            log.debug("traceback", exc_info=True)
            _remove_if_unused(folder, {f"{job.job.name}.log", ".lock"})
            command_line.fail(error)

    for handler in logging.getLogger().handlers:  # hydra makes them anew for each job
        formatter = handler.formatter or logging.Formatter()
        handler.setFormatter(logging.Formatter(f"[job {int(job.job.num)}]{formatter._fmt}"))
    begun, number = time.perf_counter(), int(job.job.num)
    try:
        metrics = _train(settings, given, folder, observers)
    except Exception as error:
        message = failures.told(error)
        SweepJob(number, [*given.words], error=message).write(folder)
        shown = failures.has_traceback(error)
        log.error(
            "job %d failed; the table at the end says why",
            number,
            exc_info=error if shown else None,
        )
        raise JobError(message) from error
    SweepJob(
        number,
        [*given.words],
        _las(metrics, "dev"),
        _las(metrics, "test"),
        time.perf_counter() - begun,
    ).write(folder)
    return _las(metrics, "dev")


def _remove_if_unused(folder: Path, not_ours: set[str]) -> None:
    """Remove the folders that hydra has made for a run or a sweep that never began;
    older folders stay.

    ``not_ours``: names of files that may be removed with a folder.
    """
    written = {path.name for path in folder.rglob("*") if not path.is_dir()} - not_ours
    if written or folder not in JobFolders.new or _is_held(folder / ".lock"):
        return
    for handler in logging.getLogger().handlers:
        handler.close()  # Windows removes no open file
    shutil.rmtree(folder, ignore_errors=True)
    for above in JobFolders.new[1:]:
        if any(above.iterdir()):
            return
        above.rmdir()


def _is_held(lock: Path) -> bool:
    """Return whether another process, which began at the same time, trains in the folder."""
    if not lock.exists():
        return False
    try:
        with locked(lock, wait=False):
            return False
    except LockedError:
        return True


def _given(job: HydraConf) -> Given:
    """Return the settings given by hand for a job."""
    return Given(unresolved(job.overrides, "task"))


def _train(
    settings: Settings, given: Given, folder: Path, observers: Sequence[Observer]
) -> dict[str, Any]:
    job = HydraConfig.get()
    place = Path(unresolved(job.runtime, "cwd"))
    settings = started(settings, given, place)
    planned = [replace(plan, swept=tuple(swept(job))) for plan in plans(settings, given, place)]
    planned[0].files.check()
    if JobFolders.is_dry:
        print(_outline(planned[-1], folder))
        _remove_if_unused(folder, {f"{job.job.name}.log"})
        sys.exit()
    logging.getLogger("gensim").setLevel(logging.WARNING)  # a dozen lines about each word2vec model
    several = len(planned) > 1
    if several:  # their metrics would replace the metrics of a run without folds
        from parser.training.run_folder import CHECKPOINT, MANIFEST

        if any((folder / name).exists() for name in (CHECKPOINT, MANIFEST, MODEL)):
            raise OptimalStepError(
                f"{folder} holds a run without folds; choose another hydra.run.dir"
            )
    runs = []
    for number, plan in enumerate(planned, 1):
        run_folder, how, fold = folder, [*given.words], None
        if several:
            log.info("fold %d of %d", number, len(planned))
            run_folder = folder / f"fold-{number}"
            how = [*how, f"treebank.fold={number}"]
            fold = number
        files = _HydraFiles(job, completed(settings, given, place, fold))
        runs.append(_train_one(plan, run_folder, [files, *observers], how))

    from parser.training.folds import pool_folds
    from parser.training.observers.console import final_table
    from parser.training.run_folder import METRICS

    metrics, written = runs[0], "model, metrics.json and TensorBoard events"
    if several:
        metrics = pool_folds(runs)
        written = "metrics.json, and a folder for each fold, with its model"
        write_json(folder / METRICS, metrics)
    has_model = not several and (folder / MODEL / VOCABULARIES).is_file()
    shown = final_table(metrics, predicted_columns(folder / MODEL) if has_model else ())
    results.debug("\n%s", shown)
    print(f"\n{shown}\n\n{written}: {folder}")
    if not several and job.mode is not RunMode.MULTIRUN:
        print(_first_commands(folder))
    if planned[0].labels["recipe"] == "paper" and job.mode is not RunMode.MULTIRUN:
        print(_REPRODUCTION)
    return metrics


def _outline(plan: Plan, folder: Path) -> str:
    """Return the outline of a run into the folder: files, models and passes, a line for each."""
    models = {key: find_model(Path(model)) for key, model in plan.files.models.items()}
    trained = [pass_plan for pass_plan in plan.passes if not getattr(pass_plan, "given", False)]
    passes = {
        pass_plan.name: f"{pass_plan.epochs} epochs, {pass_plan.trees} trees"
        for pass_plan in trained
    }
    parts = {
        **plan.labels,
        **plan.files.named,
        "held out": plan.files.train.held_out,
        **models,
        **passes,
        "folder": folder,
    }
    return "\n".join(
        f"{name:<24}{value}" for name, value in parts.items() if value not in (None, (0.0, 0.0))
    )


def _first_commands(folder: Path) -> str:
    from parser.decoding.files.missing_columns import tags_read

    reads_text = has_tokenizer(folder / MODEL) and not tags_read(
        read_json(folder / MODEL, VOCABULARIES)["attributes"]
    )
    input_options = "text.txt --text" if reads_text else "input.conllu"
    parse = (
        f"{shell_command(['optimal-step', 'parse', str(folder)])} {input_options} -o trees.conllu"
    )
    return f"to parse, and to look at the trees:\n  {parse}\n  optimal-step draw trees.conllu"


def _train_one(
    plan: Plan, folder: Path, observers: Sequence[Observer], overrides: Sequence[str]
) -> dict[str, Any]:
    """Train into a folder, and return the metrics; ``overrides`` are the settings in the card's
    command.
    """
    try:
        with background_vectors(plan.vector_request) as vectors:
            # These import torch, which takes a second or two,
            # while the word vectors are being trained.
            from parser.training.model_card import ModelCard
            from parser.training.run import train

            card = ModelCard(shell_command(["optimal-step", "train", *overrides]))
            return train(plan, folder, [card, *observers, _Interruptible()], vectors)
    except KeyboardInterrupt as stop:
        job = HydraConfig.get()
        key, place = "hydra.run.dir", unresolved(job.runtime, "output_dir")
        if job.mode is RunMode.MULTIRUN:
            key, place = "hydra.sweep.dir", job.sweep.dir
        stop.add_note(
            "interrupted; to resume, start the same command here with "
            f"{shell_command([], {key: place})}"
        )
        raise


class _HydraFiles(Observer):
    """A writer of .hydra/, which writes as hydra would,
    but only once the run has locked its folder.
    """

    def __init__(self, job: HydraConf, settings: Settings) -> None:
        self._job, self._settings = job, settings

    def on_start(self, start: RunStart) -> None:
        """Write the files."""
        folder = start.folder / ".hydra"
        folder.mkdir(exist_ok=True)
        parts = {
            "config": self._settings,
            "hydra": {"hydra": self._job},
            "overrides": self._job.overrides.task,
        }
        for name, part in parts.items():
            OmegaConf.save(part, folder / f"{name}.yaml")


class _Interruptible(Observer):
    """Ends the run at its next update if SIGTERM was received."""

    def on_update(self, update: Update) -> None:
        """Raise Terminated."""
        command_line.raise_again()


def _run_name(*, _root_: DictConfig) -> str:
    """Return the name of a run's folder, in letters and digits of any script: treebank,
    column or system, recipe, seed.
    """
    run, given = _root_, _given(_root_.hydra)
    name = OmegaConf.select(run, "treebank.name", default=None)
    with suppress(ValueError, OmegaConfBaseException):  # the run itself reports the error
        name = treebank_changes(run.treebank, given).get("name", name)
    # file systems have room for 255 bytes
    short = _safe(name or "").encode()[:100].decode(errors="ignore") or "unnamed"
    has_column = run.column is not None and (
        "column" in given.names or "treebank.train" not in given.names
    )
    name = (
        f"{short}-{f'column{run.column}' if has_column else run.system}-{run.recipe}-seed{run.seed}"
    )
    others = "".join(
        f"-{key}={_safe(value)}" for key, value in swept(_root_.hydra).items() if key not in _NAMED
    )
    return name + others.encode()[:90].decode(errors="ignore").rstrip("-_.=")


def _safe(text: str) -> str:
    """Return a text as a part of a folder's name: letters and digits of any script,
    and a few signs.
    """
    return re.sub(
        "_+",
        "_",
        "".join(
            character if character in "+.-" or f"a{character}".isidentifier() else "_"
            for character in text
        ),
    ).strip("._-+")


def swept(hydra: HydraConf) -> dict[str, str]:
    """Return the settings in which a job of a sweep may differ from others, and its values;
    nothing outside a sweep.
    """
    if hydra.mode is not RunMode.MULTIRUN:
        return {}
    fixed = {*hydra.job.config.override_dirname.exclude_keys}
    return {
        setting.name: setting.text
        for setting in _given(hydra).settings
        if setting.name not in fixed and not setting.is_deleted
    }


def with_fixed(given: Given) -> list[str]:
    """Return the words of a sweep, and for hydra the settings among them that have one value;
    see swept().
    """
    fixed = [
        setting.name
        for setting in given.settings
        if not (setting.read is None or setting.is_sweep or setting.name.startswith("hydra"))
    ]
    words = given.words
    place = next(
        (number for number, word in enumerate(words) if "=" in word and not word.startswith("-")),
        len(words),
    )
    # Beside the other settings: hydra takes no KEY=VALUE on both sides of an option.
    return [*words[:place], f"{_FIXED}=[{','.join(dict.fromkeys(fixed))}]", *words[place:]]


# configs/train.yaml names folders with it
OmegaConf.register_new_resolver("run_name", _run_name, replace=True)


def _las(metrics: dict[str, Any], split: str) -> float | None:
    return (metrics[split] or {}).get("las")


def main() -> None:
    """Train as the command line says, or explain the settings."""
    if {"-h", "--help"} & set(sys.argv):
        print(
            settings_help(
                [word for word in sys.argv[1:] if "=" in word and not word.startswith("-")]
            )
        )
        return
    # hydra then raises errors instead of printing a traceback
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    # an earlier command of this process may have been a sweep
    JobFolders.sweep, JobFolders.is_dry = None, _DRY_RUN in sys.argv
    words, given = [word for word in sys.argv[1:] if word != _DRY_RUN], NOTHING_GIVEN
    words.sort(key=lambda word: not is_sweep([word]))  # hydra refuses -m between settings
    sweep = is_sweep(words)
    try:
        if JobFolders.is_dry and sweep:
            raise OptimalStepError(f"{_DRY_RUN} prints the plan of one run; leave out -m")
        if not {"-sc", "--shell-completion"} & {*words}:  # a shell asks hydra to complete a line
            given = read_command(words, sweep=sweep)
            words = with_fixed(given) if sweep else [*given.words]
        sys.argv[1:] = words
        _job()
    except JobError:
        pass  # the table names the error
    except Exception as error:
        if (told := explained(error, given)) is None:
            raise
        raise told from error
    if JobFolders.sweep is not None:
        jobs = read_jobs(JobFolders.sweep)
        if not jobs:
            _remove_if_unused(JobFolders.sweep, {"multirun.yaml"})
            raise OptimalStepError(
                "this sweep has no jobs: glob() matches no name, or its key is not a group; "
                "give KEY=A,B instead"
            )
        print(f"\n{table(jobs)}\n\nrun folders: {JobFolders.sweep}")
        if any(job.error is not None for job in jobs):
            sys.exit(1)
