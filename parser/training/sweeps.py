"""Sweeps: each job writes its result to its run folder. A table is made from these files,
wherever the jobs ran.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, ClassVar

from hydra.experimental.callback import Callback
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from oracles.errors import OptimalStepError
from parser.storage import from_json, write_json

_JOB = "job.json"


class JobError(OptimalStepError):
    """A job of a sweep has failed; the message is the job's own."""


@dataclass(frozen=True)
class SweepJob:
    """The result of a job.

    Attributes:
        number: the job's number in the sweep, from 0.
        overrides: the job's settings, as on a command line.
        dev_las, test_las: percentages; None if there is no such split, or the job failed.
        seconds: wall-clock time.
        error: why the job failed; None if it did not.
    """

    number: int
    overrides: list[str]
    dev_las: float | None = None
    test_las: float | None = None
    seconds: float | None = None
    error: str | None = None

    def write(self, folder: Path) -> None:
        """Write the result to the job's run folder."""
        write_json(folder / _JOB, asdict(self))


class JobFolders(Callback):
    """Records the folders that hydra chose for the command of this process.

    Attributes:
        sweep: the folder of the sweep; None if this is no sweep.
        new: the folders that hydra creates for the run or sweep, the innermost first.
        is_dry: whether the command only shows its plan.
    """

    sweep: ClassVar[Path | None] = None
    new: ClassVar[list[Path]] = []
    is_dry: ClassVar[bool] = False

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Note the folder of the sweep."""
        JobFolders.sweep = _noted(config.hydra.sweep)

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Note which folders do not exist yet."""
        with suppress(OmegaConfBaseException):  # hydra reports it
            _noted(config.hydra.run)


def _noted(place: DictConfig) -> Path:
    folder = Path(os.path.abspath(place.dir))
    JobFolders.new = list(
        takewhile(lambda parent: not os.path.lexists(parent), (folder, *folder.parents))
    )
    return folder


def read_jobs(sweep: Path) -> list[SweepJob]:
    """Return the jobs of a sweep in their order, read from the folders below its own, at any depth.

    A job has failed if its folder, whose name begins with a number, has no result.
    """
    results = list(sweep.rglob(_JOB))
    jobs = list(map(_read_job, results))
    told = {above for result in results for above in result.parents}
    for folder in sweep.iterdir():
        if folder not in told and folder.is_dir() and (number := re.match(r"\d{1,9}", folder.name)):
            jobs.append(SweepJob(int(number[0]), [folder.name], error="it ended without a result"))
    return sorted(jobs, key=lambda job: job.number)


def _read_job(path: Path) -> SweepJob:
    try:
        job = SweepJob(**from_json(path.read_bytes()))
        if isinstance(job.number, int) and isinstance(job.overrides, list):
            return job
    except (ValueError, TypeError):
        pass
    number = re.match(r"\d{1,9}", path.parent.name)
    return SweepJob(
        int(number[0]) if number else -1, [path.parent.name], error=f"{path}: this file is damaged"
    )


def table(jobs: list[SweepJob]) -> str:
    """Return a line for each job: its number, the settings in which jobs differ, dev and test LAS,
    and seconds; or why it failed.

    For jobs that differ only in their seeds, a line with mean and standard deviation follows.
    """
    common = set.intersection(*(set(job.overrides) for job in jobs)) if len(jobs) > 1 else set()
    settings = [
        " ".join(override for override in job.overrides if override not in common) for job in jobs
    ]
    width = max([len("settings"), *map(len, settings)])
    lines = [f"{'job':>4}  {'settings':{width}}  {'dev LAS':>8}  {'test LAS':>8}  {'seconds':>8}"]
    for job, job_settings in zip(jobs, settings, strict=True):
        scores = f"{_shown(job.dev_las, 2)}  {_shown(job.test_las, 2)}  {_shown(job.seconds, 1)}"
        lines.append(
            f"{job.number:>4}  {job_settings:{width}}  "
            + (scores if job.error is None else f"failed: {job.error}")
        )
    return "\n".join([*lines, *_over_seeds(jobs, common)])


def _over_seeds(jobs: list[SweepJob], common: set[str]) -> list[str]:
    """Return a line for each group of jobs that differ only in their seeds."""
    groups: dict[str, list[SweepJob]] = {}
    for job in jobs:
        if job.error is None:
            others = [
                override
                for override in job.overrides
                if override not in common and not override.startswith("seed=")
            ]
            groups.setdefault(" ".join(others), []).append(job)
    lines = []
    for job_settings, group in groups.items():
        splits = {"dev": [job.dev_las for job in group], "test": [job.test_las for job in group]}
        scores_by_split = {
            split: [score for score in scores if score is not None]
            for split, scores in splits.items()
        }
        shown = "".join(
            f"; {split} LAS {fmean(scores):.2f} ± {stdev(scores):.2f}"
            for split, scores in scores_by_split.items()
            if len(scores) > 1
        )
        if shown:
            lines.append(f"{job_settings or 'all jobs'}: {len(group)} seeds{shown}")
    return ["", *lines] if lines else []


def _shown(number: float | None, digits: int) -> str:
    return f"{'-':>8}" if number is None else f"{number:>8.{digits}f}"
