"""Jobs in processes of their own, some at a time, and what they return as they end."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from rows import RowT, write_rows

Result = TypeVar("Result")


def run_jobs(jobs: Sequence[Callable[[], Result]], workers: int) -> Iterator[Result]:
    """Runs the jobs, ``workers`` at a time; what each returns, in the order in which they end.

    Args:
        jobs: functions that can be pickled, such as a partial of a module's function.
        workers: processes side by side.

    Raises:
        whatever a job raises.
    """
    context = multiprocessing.get_context("spawn")  # torch and numba do not survive a fork with threads
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        running = [pool.submit(job) for job in jobs]
        for job in tqdm(as_completed(running), total=len(running), unit="job", disable=None):
            yield job.result()


def make_rows(
    jobs: Sequence[Callable[[], Sequence[RowT]]],
    workers: int,
    rows: dict[tuple[str, ...], RowT],
    path: Path,
    kind: type[RowT],
) -> None:
    """Runs jobs that return rows. Theirs join ``rows``, and all are written to the file whenever a job ends."""
    for made in run_jobs(jobs, workers):
        rows |= {row.key: row for row in made}
        write_rows(path, kind, rows)
