"""Published rows and one's own: which count, which are shown, which are published."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from functools import partial

import pytest

from experiments.command import Trainings
from experiments.jobs import Job, _without_bars, run_jobs
from experiments.results import Results
from experiments.rows import read_rows, write_rows


@dataclass(frozen=True)
class Row:
    name: str
    score: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        return (self.name,)


def settings_in(tmp_path, fresh: bool = False) -> Trainings:
    return Trainings(published=str(tmp_path / "published"), results=str(tmp_path / "own"), fresh=fresh, publish=False)


def results(tmp_path, fresh: bool = False) -> Results[Row]:
    """Published are a and b; one's own are b, of other settings, and c."""
    published = [Row("a", "1", "now"), Row("b", "2", "now")]
    own = [Row("b", "3", "other"), Row("c", "4", "now")]
    for folder, rows in (("published", published), ("own", own)):
        write_rows(tmp_path / folder / "results.csv", Row, {row.key: row for row in rows})
    return Results.of(Row, settings_in(tmp_path, fresh))


ASKED = {("a",): "now", ("b",): "now", ("c",): "now", ("d",): "now"}


def test_rows_of_todays_settings_count_whosever_they_are(tmp_path, capsys):
    assert results(tmp_path).missing(ASKED) == [("d",)]
    assert "2 cells are published rows, 1 are rows of your own" in capsys.readouterr().out
    assert results(tmp_path).missing({("b",): "other", ("a",): "newest"}) == [("a",)]
    assert results(tmp_path, fresh=True).missing(ASKED) == list(ASKED)


def test_ones_own_are_shown_where_they_were_asked_for_or_are_of_the_same_settings(tmp_path):
    shown = results(tmp_path).shown
    assert {row.name: row.score for row in shown([]).values()} == {"a": "1", "b": "2", "c": "4"}
    assert {row.name: row.score for row in shown([("b",)]).values()} == {"a": "1", "b": "3", "c": "4"}


def test_publishing_takes_rows_that_were_asked_for_and_are_of_todays_settings(tmp_path):
    found = results(tmp_path)
    found.finish("page.md", lambda rows: f"{sorted(row.score for row in rows.values())}\n", ASKED, publish=True)
    rows = read_rows(tmp_path / "published" / "results.csv", Row)
    assert {row.name: row.score for row in rows.values()} == {"a": "1", "b": "2", "c": "4"}
    assert (tmp_path / "published" / "page.md").read_text() == "['1', '2', '4']\n"


def test_processes_beside_each_other_keep_each_others_rows(tmp_path):
    one, other = results(tmp_path), Results.of(Row, settings_in(tmp_path))
    one.add([Row("d", "5", "now")])
    other.add([Row("e", "6", "now"), Row("c", "7", "now")])
    one.add([Row("f", "8", "now")])
    rows = read_rows(tmp_path / "own" / "results.csv", Row)
    assert {row.name: row.score for row in rows.values()} == {"b": "3", "c": "7", "d": "5", "e": "6", "f": "8"}
    one.publish({("d",): "now"})
    other.publish({("e",): "now"})
    assert {row.name for row in read_rows(tmp_path / "published" / "results.csv", Row).values()} == {*"abde"}


def test_without_publishing_what_is_published_stays(tmp_path):
    found = results(tmp_path)
    before = (tmp_path / "published" / "results.csv").read_bytes()
    found.add([Row("a", "9", "now")])
    found.finish("page.md", lambda rows: f"{len(rows)} rows\n", ASKED, publish=False)
    assert (tmp_path / "published" / "results.csv").read_bytes() == before
    assert not (tmp_path / "published" / "page.md").exists()
    assert (tmp_path / "own" / "page.md").read_text() == "3 rows\n"
    assert read_rows(tmp_path / "own" / "results.csv", Row)[("a",)].score == "9"


def test_a_file_with_other_columns_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("name,config\na,now\n")
    with pytest.raises(ValueError, match=r"rows.csv has the columns name,config"):
        read_rows(tmp_path / "rows.csv", Row)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_bar_names_the_jobs_that_run(monkeypatch):
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    jobs = [Job(f"hu column {number} seed 1", partial(abs, -number)) for number in (1, 2)]
    assert sorted(run_jobs(jobs, 1)) == [1, 2]
    assert "hu column 1 seed 1" in terminal.getvalue()
    assert "hu column 2 seed 1" in terminal.getvalue()


def test_a_job_that_fails_stops_the_others(tmp_path):
    """Also those that are under way, such as one that waits for a writer; without, this test would not end."""
    os.mkfifo(tmp_path / "pipe")
    waiting = Job("waits", partial(open, tmp_path / "pipe"))
    with pytest.raises(ValueError, match="invalid literal"):
        list(run_jobs([waiting, Job("fails", partial(int, "x")), waiting], 2))


def test_trainings_beside_each_other_draw_no_bars(monkeypatch):
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal(io.BytesIO(), encoding="utf-8"))
    _without_bars()
    assert not sys.stderr.isatty()
