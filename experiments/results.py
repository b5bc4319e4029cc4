"""The rows of an experiment: those published with this project, and your own beside them.

Published rows lie in the experiment's folder under experiments/ and are committed; your own are written under runs/, as
trainings end. A cell that has a row of either kind, made with today's settings, is not trained again. With
``fresh`` all are trained, and ``publish`` copies your own rows over the published ones, at the end.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from experiments.command import ROOT, Trainings, check_at_least
from experiments.jobs import Job, run_jobs
from experiments.rows import Keyed, read_rows, write_rows
from experiments.treebanks import paths

Key = tuple[str, ...]

FILE = "results.csv"


_LOCK = ".lock"


class Fingerprinted(Keyed, Protocol):
    """A row that says which settings made it."""

    @property
    def config(self) -> str:
        """The fingerprint of their training; empty if it is none of ours."""
        ...


RowT = TypeVar("RowT", bound=Fingerprinted)


@dataclass
class Results(Generic[RowT]):
    """Rows by key.

    Attributes:
        kind: the dataclass of a row.
        published_folder: where the published ones are; None: there are none.
        own_folder: where your own go.
        fresh: whether no row counts as there.
        published: rows that are committed.
        own: rows of your own.
    """

    kind: type[RowT]
    published_folder: Path | None
    own_folder: Path
    fresh: bool
    published: dict[Key, RowT]
    own: dict[Key, RowT]

    @classmethod
    def of(cls, kind: type[RowT], wanted: Trainings) -> Results[RowT]:
        """Reads what is there.

        Raises:
            ValueError: settings that cannot be together, or a file with other columns.
        """
        published_folder = None if wanted.published is None else ROOT / wanted.published
        if wanted.publish and published_folder is None:
            raise ValueError("publish=true has nowhere to publish to, with published=null; leave one of them out")
        published = {} if published_folder is None else read_rows(published_folder / FILE, kind)
        own_folder = Path(wanted.results)
        return cls(kind, published_folder, own_folder, wanted.fresh, published, read_rows(own_folder / FILE, kind))

    def missing(self, asked: Mapping[Key, str]) -> list[Key]:
        """The keys that are to be trained, and says so.

        Args:
            asked: the fingerprint that the row of each key should have.
        """
        if self.fresh:
            print(f"fresh=true: no row is taken, {len(asked)} to train", flush=True)
            return list(asked)
        own = [key for key, config in asked.items() if _made(self.own.get(key), config)]
        published = [key for key, config in asked.items() if key not in own and _made(self.published.get(key), config)]
        missing = [key for key in asked if key not in own and key not in published]
        yours = f", {len(own)} are rows of your own (under {self.own_folder})" if own else ""
        verb = "is a published row" if len(published) == 1 else "are published rows"
        hint = "; fresh=true trains them all again" if not missing else ""
        print(f"{_cells(len(published))} {verb}{yours}, {len(missing)} to train{hint}", flush=True)
        return missing

    def add(self, rows: Iterable[RowT]) -> None:
        """Takes new rows of your own, and writes them beside those that other processes have written since."""
        new = {row.key: row for row in rows}
        with _held(self.own_folder):
            self.own |= read_rows(self.own_folder / FILE, self.kind) | new
            write_rows(self.own_folder / FILE, self.kind, self.own)

    def run(self, jobs: list[Job[list[RowT]]], workers: int) -> None:
        """Runs jobs that make rows, and takes them as they end."""
        for made in run_jobs(jobs, workers):
            self.add(made)

    def shown(self, asked: Collection[Key]) -> dict[Key, RowT]:
        """The rows of a table: the published ones, or your own where these were asked for or have the same settings."""
        theirs = self.published
        mine = {k: row for k, row in self.own.items() if k in asked or k not in theirs or row.config == theirs[k].config}
        return theirs | mine

    def publish(self, asked: Mapping[Key, str]) -> list[Key]:
        """Copies your own rows of the asked keys, made with today's settings, over the published ones; returns their keys."""
        assert self.published_folder is not None
        new = {key: self.own[key] for key, config in asked.items() if _made(self.own.get(key), config)}
        with _held(self.own_folder):
            self.published |= read_rows(self.published_folder / FILE, self.kind) | new
            write_rows(self.published_folder / FILE, self.kind, self.published)
        print(f"{_cells(len(new))} published under {self.published_folder}")
        return list(new)

    def finish(
        self,
        name: str,
        page: Callable[[dict[Key, RowT]], str],
        asked: Mapping[Key, str],
        publish: bool,
        draw: Callable[[dict[Key, RowT], Path], None] | None = None,
    ) -> None:
        """Writes and prints the page of your own folder; publishes, if wanted, and writes the published page.

        Args:
            name: the file's.
            page: Markdown from rows.
            asked: see ``missing``.
            publish: whether the rows that were asked for are to be published.
            draw: draws the pictures of rows into a folder, if there are any.
        """
        text = page(self.shown(asked))
        write_page(self.own_folder / name, text)
        if draw is not None:
            draw(self.shown(asked), self.own_folder)
        if publish:
            self.publish(asked)
            assert self.published_folder is not None
            text = page(self.published)
            write_page(self.published_folder / name, text)
            if draw is not None:
                draw(self.published, self.published_folder)
        print(text, end="")


def write_page(path: Path, text: str) -> None:
    """Writes a page of tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _made(row: Fingerprinted | None, config: str) -> bool:
    return row is not None and row.config == config


def _cells(number: int) -> str:
    return f"{number} cell{'s' * (number != 1)}"


def check(wanted: Trainings, parts: Collection[str]) -> None:
    """Refuses numbers that are too small, unknown treebanks, and treebanks that lack one of the parts.

    Raises:
        ValueError: what is wrong.
    """
    check_numbers(wanted)
    for language in wanted.languages:
        where = paths(language, wanted.paths.treebanks)
        for part in parts:
            if not where[part].is_file():
                raise ValueError(
                    f"treebank {language!r} has no {part} part: {where[part]} is not there; set paths.treebanks=DIR, or leave "
                    "it out of languages="
                )


def check_numbers(wanted: Trainings) -> None:
    """Refuses numbers of seeds and workers that are too small, and no languages at all.

    Raises:
        ValueError: what is wrong.
    """
    check_at_least("seeds", wanted.seeds, 1)
    check_at_least("workers", wanted.workers, 1)
    if not wanted.languages:
        raise ValueError("languages=[] names no treebank; give names of configs/treebank")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lets one process at a time read the rows of a folder and write them again."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
