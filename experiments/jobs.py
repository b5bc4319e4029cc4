"""Jobs in processes of their own, some at a time, and what they return as they end."""

from __future__ import annotations

import io
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Generic, TypeVar

from tqdm import tqdm

Result = TypeVar("Result")


@dataclass(frozen=True)
class Job(Generic[Result]):
    """Work for a process.

    Attributes:
        label: names it in the progress bar, such as ``hu column 3 seed 1``.
        work: a function that can be pickled, such as a partial of a module's function.
    """

    label: str
    work: Callable[[], Result]


def run_jobs(jobs: Sequence[Job[Result]], workers: int) -> Iterator[Result]:
    """Runs the jobs, ``workers`` at a time; what each returns, in the order in which they end.

    The progress bar names the jobs that are running.

    Raises:
        whatever a job raises; the others are stopped.
    """
    if not jobs:
        return
    context = multiprocessing.get_context("spawn")  # torch and numba do not survive a fork with threads
    with (
        ProcessPoolExecutor(workers, mp_context=context, initializer=_without_bars) as pool,
        tqdm(total=len(jobs), unit="job", disable=None) as bar,
    ):
        label_of = {pool.submit(job.work): job.label for job in jobs}
        labels = list(label_of.values())
        bar.set_postfix_str("; ".join(labels[:workers]))
        try:
            for ended in as_completed(list(label_of)):
                labels.remove(label_of[ended])
                bar.set_postfix_str("; ".join(labels[:workers]))  # jobs begin in their order
                bar.update()
                yield ended.result()
        except BaseException:  # a signal, too: else the pool would do all the others first, and nobody take their results
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


class _NoTerminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return False


def _without_bars() -> None:
    """Bars of the trainings, several at a time, would overwrite each other and the one that names them."""
    sys.stderr = _NoTerminal(sys.stderr.buffer, encoding=sys.stderr.encoding, line_buffering=True)
