"""The engine of all experiments that train: it takes existing rows, trains and measures missing
cells, and writes the page.

A row is identified by its key, by the settings of its training that differ from the defaults, and
by the commit that made it. Rows with other settings do not count. Users judge whether changes since
a commit matter (``fresh=true`` measures again). Rows from before commits were recorded have the
commit that first published them.

Published rows are committed in the experiment's folder under experiments/results/; your own rows
are written under runs/ as training runs end. A cell with a row of either kind is not measured
again. ``publish`` copies your own rows over the published rows at the end.
"""

from __future__ import annotations

import io
import logging
import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, NoReturn, TextIO, TypeVar

from tqdm import tqdm

from experiments import command
from experiments.command import ROOT, Trainings, check_at_least
from experiments.tables import Key, Row, read_rows, write_page, write_rows
from experiments.treebanks import paths
from oracles.errors import OptimalStepError
from parser.storage import locked

FILE = "results.csv"
_LOCK = ".lock"

Result = TypeVar("Result")
S = TypeVar("S", bound=Trainings)


@dataclass(frozen=True)
class Job(Generic[Result]):
    """Work for a process: a function that can be pickled, and its name in the progress bar, such as
    ``hu column 3 seed 1``.
    """

    label: str
    work: Callable[[], Result]


@dataclass(frozen=True)
class Cell:
    """A requested row of the results.

    Attributes:
        key: the key of the row.
        settings: the settings of its training that differ from the defaults and are not in the key.
        group: the name of the job that measures all cells of the group.
    """

    key: Key
    settings: str
    group: str


# Measurements of some cells: by key, numbers by column.
Found = list[tuple[Key, dict[str, str]]]


@dataclass
class Results:
    """Rows by key: published rows, and your own.

    Attributes:
        columns: the columns of the files.
        n_keys: how many of the columns are the key.
        published_folder: the folder of the published rows; None: there are none.
        own_folder: the folder of your own rows.
        fresh: whether to measure all cells again.
    """

    columns: tuple[str, ...]
    n_keys: int
    published_folder: Path | None
    own_folder: Path
    fresh: bool

    def __post_init__(self) -> None:
        self.published: dict[Key, Row] = (
            {} if self.published_folder is None else self._read(self.published_folder)
        )
        self.own: dict[Key, Row] = self._read(self.own_folder)

    def _read(self, folder: Path) -> dict[Key, Row]:
        return read_rows(folder / FILE, self.columns, self.n_keys)

    def missing(
        self, asked: Iterable[Cell], completed: Callable[[list[Cell]], list[Cell]] = list
    ) -> list[Cell]:
        """Return the cells that must be measured, and print how many.

        Args:
            asked: the cells of the table.
            completed: adds cells without which some cannot be measured.
        """
        asked = list(asked)
        if self.fresh:
            print(f"fresh=true: existing rows are ignored, {len(asked)} to train", flush=True)
            return _with_more(asked, completed)
        measured = [cell for cell in asked if _made(self.own, cell)]
        published = [
            cell for cell in asked if not _made(self.own, cell) and _made(self.published, cell)
        ]
        missing = [
            cell for cell in asked if not (_made(self.own, cell) or _made(self.published, cell))
        ]
        yours = (
            f", {len(measured)} are rows of your own (under {self.own_folder})" if measured else ""
        )
        verb = "is a published row" if len(published) == 1 else "are published rows"
        hint = f"; fresh=true trains all {len(completed(asked))} again" if not missing else ""
        print(f"{_cells(len(published))} {verb}{yours}, {len(missing)} to train{hint}", flush=True)
        return _with_more(missing, completed)

    def add(self, rows: Iterable[Row]) -> None:
        """Take new rows of your own, and write them together with rows that other processes have
        written since.
        """
        new = {tuple(row[name] for name in self.columns[: self.n_keys]): row for row in rows}
        with _held(self.own_folder):
            self.own = dict(sorted((self.own | self._read(self.own_folder) | new).items()))
            write_rows(self.own_folder / FILE, self.columns, self.own)

    def shown(self, asked: Iterable[Cell]) -> list[Row]:
        """Return the rows of a table: published rows, except that your own rows with the settings
        of the cell or the row replace them.
        """
        theirs = self.published
        wanted = {key: row["settings"] for key, row in theirs.items()} | {
            cell.key: cell.settings for cell in asked
        }
        mine = {
            key: row
            for key, row in self.own.items()
            if row["settings"] == wanted.get(key, row["settings"])
        }
        return [row for _, row in sorted((theirs | mine).items())]

    def publish(self, asked: Iterable[Cell]) -> list[Key]:
        """Copy your own rows of the asked cells over the published ones; return their keys."""
        assert self.published_folder is not None
        new = {cell.key: self.own[cell.key] for cell in asked if _made(self.own, cell)}
        with _held(self.own_folder):
            self.published = dict(
                sorted((self.published | self._read(self.published_folder) | new).items())
            )
            write_rows(self.published_folder / FILE, self.columns, self.published)
        print(f"{_cells(len(new))} published under {self.published_folder}")
        return list(new)


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """An experiment: its measurements and its output.

    Attributes:
        name: the name of its file in configs/experiments.
        kind: the dataclass of the settings.
        key: the columns that identify a row.
        measured: the other columns of results.csv, except ``settings`` and ``commit``.
        cells: returns the cells that the settings ask for;
            raises OptimalStepError if the settings are wrong.
        measure: trains and measures the missing cells of a group, in its own process.
        page: returns Markdown of the rows.
        page_name: the file of the page; {recipe} is filled in.
        draw: writes pictures and other files of the rows into a folder.
        prepare: returns jobs that must be done before the missing cells are measured.
        complete: adds cells without which the missing cells cannot be measured.
        keep: writes further results of a group, besides its rows, in the process that writes the
            rows.
        own_page: returns Markdown of published rows and your own, if it is not simply ``page`` of
            the shown rows.
    """

    name: str
    kind: type[S]
    key: tuple[str, ...]
    measured: tuple[str, ...]
    cells: Callable[[S], list[Cell]]
    measure: Callable[[S, list[Cell]], Iterable[tuple[Key, dict[str, str]]]]
    page: Callable[[list[Row], S], str]
    page_name: str = "table.md"
    draw: Callable[[list[Row], S, Path], None] | None = None
    prepare: Callable[[S, list[Cell]], list[Job[Any]]] | None = None
    complete: Callable[[S, list[Cell]], list[Cell]] | None = None
    keep: Callable[[S, Found], None] | None = None
    own_page: Callable[[S, Results], str] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of results.csv."""
        return (
            *self.key,
            *self.measured,
            *(name for name in ("settings", "commit") if name not in self.key),
        )

    def run(self, doc: str | None) -> NoReturn:
        """Run the command line; see command.run()."""
        command.run(self.main, self.kind, self.name, doc)

    def results(self, wanted: Trainings) -> Results:
        """Return the existing rows.

        Raises:
            OptimalStepError: settings exclude one another, or a file has other columns.
        """
        folder = None if wanted.published is None else ROOT / wanted.published
        if wanted.publish and folder is None:
            raise OptimalStepError(
                "publish=true needs a folder to publish to, but published=null; "
                "leave out one of them"
            )
        return Results(self.columns, len(self.key), folder, Path(wanted.results), wanted.fresh)

    def main(self, wanted: S) -> None:
        """Measure the missing cells, then write the pages."""
        cells = self.cells(wanted)
        results = self.results(wanted)
        completed = list if self.complete is None else partial(self.complete, wanted)
        self.fill(wanted, results, results.missing(cells, completed))
        if not wanted.publish:
            page = None if self.own_page is None else self.own_page(wanted, results)
            text = self.write(wanted, results.shown(cells), results.own_folder, page)
        else:
            assert results.published_folder is not None
            results.publish(cells)
            text = self.write(wanted, [*results.published.values()], results.published_folder)
        print(text, end="")

    def fill(self, wanted: S, results: Results, missing: Sequence[Cell]) -> None:
        """Measure the missing cells, a job for each group; rows are written as jobs end."""
        if self.prepare is not None:
            for _ in run_jobs(self.prepare(wanted, list(missing)), wanted.workers):
                pass
        groups: dict[str, list[Cell]] = {}
        for cell in missing:
            groups.setdefault(cell.group, []).append(cell)
        jobs = [
            Job(label, partial(_measured, self.measure, wanted, cells))
            for label, cells in groups.items()
        ]
        settings = {cell.key: cell.settings for cell in missing}
        for rows in run_jobs(jobs, wanted.workers):
            results.add(
                self.row(key, settings[key], values) for key, values in rows if key in settings
            )
            if self.keep is not None:
                self.keep(wanted, rows)

    def row(self, key: Key, settings: str, values: dict[str, str]) -> Row:
        """Return a row as it is written."""
        fields = (
            {"settings": settings, "commit": commit()}
            | dict(zip(self.key, key, strict=True))
            | values
        )
        return {name: fields.get(name, "") for name in self.columns}

    def write(self, wanted: S, rows: list[Row], folder: Path, text: str | None = None) -> str:
        """Write the page (of the rows, unless ``text`` is given) and the pictures;
        return the page.
        """
        text = self.page(rows, wanted) if text is None else text
        write_page(folder / self.page_name.format(recipe=wanted.recipe), text)
        if self.draw is not None:
            self.draw(rows, wanted, folder)
        return text


def _measured(
    measure: Callable[[S, list[Cell]], Iterable[tuple[Key, dict[str, str]]]],
    wanted: S,
    cells: list[Cell],
) -> Found:
    logging.disable(logging.WARNING)
    return list(measure(wanted, cells))


@cache
def commit() -> str:
    """Return the commit of this code, with a + if files have changed since;
    empty if there is no repository.
    """
    git = ["git", "-C", str(ROOT)]
    try:
        result = subprocess.run(
            [*git, "rev-parse", "--short=7", "HEAD"],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        changed = subprocess.run(
            [*git, "status", "--porcelain", "-uno"],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return result.stdout.strip() + "+" * bool(changed.stdout)


def _with_more(missing: list[Cell], completed: Callable[[list[Cell]], list[Cell]]) -> list[Cell]:
    """Return the missing cells with those that they need, and print how many these are."""
    extended = completed(missing)
    if more := len(extended) - len(missing):
        print(f"{more} more to train, as they share a first pass with these", flush=True)
    return extended


def _made(rows: Mapping[Key, Row], cell: Cell) -> bool:
    return cell.key in rows and rows[cell.key]["settings"] == cell.settings


def _cells(number: int) -> str:
    return f"{number} cell{'s' * (number != 1)}"


def check(
    wanted: Trainings, parts: Collection[str], languages: Iterable[str] | None = None
) -> None:
    """Refuse numbers that are too small, unknown treebanks, and treebanks without one of the parts.

    Raises:
        OptimalStepError: the message names the fault.
    """
    check_at_least("seeds", wanted.seeds, 1)
    check_at_least("workers", wanted.workers, 1)
    if not wanted.languages:
        raise OptimalStepError("languages=[] names no treebank; give names of configs/treebank")
    for language in wanted.languages if languages is None else languages:
        where = paths(language, wanted.paths.treebanks)
        for part in parts:
            if not where[part].is_file():
                raise OptimalStepError(
                    f"treebank {language!r} has no {part} part: {where[part]} is not there; set "
                    "paths.treebanks=DIR, or leave it out of languages="
                )


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a folder, so that one process at a time reads its rows and writes them again."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / _LOCK, wait=True):
        yield


def run_jobs(jobs: Sequence[Job[Result]], workers: int) -> Iterator[Result]:
    """Run jobs, ``workers`` at a time, and yield their results in the order in which they end.

    The progress bar names the running jobs.

    Raises:
        OptimalStepError: a process died, as when the memory is full.
        whatever a job raises; all other jobs are stopped.
    """
    if not jobs:
        return
    # torch and numba do not survive a fork with threads
    context = multiprocessing.get_context("spawn")
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
        except BrokenProcessPool as error:
            raise OptimalStepError(
                "a process died; is there enough memory? Start again, with fewer workers="
            ) from error
        except BaseException:
            # also on a signal: the pool would otherwise finish all jobs, and drop their results
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


class _NoTerminal(io.TextIOWrapper):
    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream.buffer, encoding=stream.encoding, line_buffering=True)
        self._stream = stream  # keeps it alive: closing it would close the shared buffer

    def isatty(self) -> bool:
        return False


def _without_bars() -> None:
    """Hide the progress bars of training runs, which would overwrite one another and the bar of the
    jobs.
    """
    sys.stderr = _NoTerminal(sys.stderr)
