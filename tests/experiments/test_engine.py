"""Published rows and one's own: which count, which are shown, which are published;
jobs side by side.
"""

import gc
import io
import os
import sys
from dataclasses import fields
from functools import partial

import pytest

from experiments.command import Trainings
from experiments.engine import Cell, Experiment, Job, Results, _without_bars, commit, run_jobs
from experiments.tables import read_rows, write_rows

COLUMNS = ("name", "score", "settings", "commit")


def row(name: str, score: str, settings: str) -> dict[str, str]:
    return dict(zip(COLUMNS, (name, score, settings, "0123456"), strict=True))


def written(folder) -> dict[str, str]:
    return {
        name: row["score"] for (name,), row in read_rows(folder / "results.csv", COLUMNS, 1).items()
    }


def results(tmp_path) -> Results:
    """Return results of which a and b are published; one's own are b, of other settings, and c."""
    published = [row("a", "1", "x=1"), row("b", "2", "x=1")]
    own = [row("b", "3", "x=2"), row("c", "4", "x=1")]
    for folder, rows in (("published", published), ("own", own)):
        write_rows(
            tmp_path / folder / "results.csv", COLUMNS, {(one["name"],): one for one in rows}
        )
    return again(tmp_path)


def again(tmp_path) -> Results:
    return Results(COLUMNS, 1, tmp_path / "published", tmp_path / "own", fresh=False)


def cells(settings: dict[str, str]) -> list[Cell]:
    return [Cell((name,), of_one, f"group of {name}") for name, of_one in settings.items()]


ASKED = cells(dict.fromkeys("abcd", "x=1"))


def test_rows_of_the_same_settings_count_whosever_they_are(tmp_path, capsys):
    assert results(tmp_path).missing(ASKED) == ASKED[3:]
    assert "2 cells are published rows, 1 are rows of your own" in capsys.readouterr().out
    assert results(tmp_path).missing(cells({"b": "x=2", "a": "x=3"})) == cells({"a": "x=3"})


def test_ones_own_are_shown_where_they_have_the_settings_that_were_asked_for_or_are_published(
    tmp_path,
):
    shown = results(tmp_path).shown
    assert {row["name"]: row["score"] for row in shown([])} == {"a": "1", "b": "2", "c": "4"}
    assert {row["name"]: row["score"] for row in shown(ASKED[1:2])} == {
        "a": "1",
        "b": "2",
        "c": "4",
    }
    assert {row["name"]: row["score"] for row in shown(cells({"b": "x=2"}))} == {
        "a": "1",
        "b": "3",
        "c": "4",
    }


def test_processes_beside_each_other_keep_each_others_rows(tmp_path):
    one = results(tmp_path)
    other = again(tmp_path)
    one.add([row("d", "5", "x=1")])
    other.add([row("e", "6", "x=1"), row("c", "7", "x=1")])
    one.add([row("f", "8", "x=1")])
    assert written(tmp_path / "own") == {"b": "3", "c": "7", "d": "5", "e": "6", "f": "8"}
    one.publish(cells({"d": "x=1"}))
    other.publish(cells({"e": "x=1"}))
    assert set(written(tmp_path / "published")) == {*"abde"}


def _measure(wanted: Trainings, group: list[Cell]):
    """Of whichever cells are asked for, more than these;
    the score is how many are measured together.
    """
    return [((name,), {"score": str(len(group)), "more": "x"}) for name in "abcdz"]


def trainings(tmp_path, **settings) -> Trainings:
    known = {
        "published": str(tmp_path / "published"),
        "results": str(tmp_path / "own"),
        "workers": 1,
        "recipe": "r",
    }
    given = {"fresh": False, "publish": False} | known | settings
    return Trainings(**{field.name: given.get(field.name) for field in fields(Trainings)})  # type: ignore[arg-type]


EXPERIMENT = Experiment(
    *("experiment", Trainings, ("name",), ("score",), lambda wanted: ASKED, _measure),
    page=lambda rows, wanted: f"{sorted(row['score'] for row in rows)}\n",
)


def test_what_is_missing_is_measured_and_without_publishing_what_is_published_stays(tmp_path):
    results(tmp_path)
    before = (tmp_path / "published" / "results.csv").read_bytes()
    EXPERIMENT.main(trainings(tmp_path))
    made = read_rows(tmp_path / "own" / "results.csv", COLUMNS, 1)["d",]
    assert made == {"name": "d", "score": "1", "settings": "x=1", "commit": commit()}
    assert set(written(tmp_path / "own")) == {*"bcd"}  # nothing that was not missing
    assert (tmp_path / "published" / "results.csv").read_bytes() == before
    assert not (tmp_path / "published" / "table.md").exists()
    assert (tmp_path / "own" / "table.md").read_text() == "['1', '1', '2', '4']\n"


def test_publishing_takes_rows_that_were_asked_for_and_are_of_the_same_settings(tmp_path):
    results(tmp_path)
    EXPERIMENT.main(trainings(tmp_path, publish=True))
    assert written(tmp_path / "published") == {"a": "1", "b": "2", "c": "4", "d": "1"}
    assert (tmp_path / "published" / "table.md").read_text() == "['1', '1', '2', '4']\n"
    with pytest.raises(ValueError, match="publish=true"):
        EXPERIMENT.main(trainings(tmp_path, publish=True, published=None))


def test_a_file_with_other_columns_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("name,settings\na,now\n")
    with pytest.raises(ValueError, match=r"rows.csv has the columns name,settings"):
        read_rows(tmp_path / "rows.csv", COLUMNS, 1)


def test_the_progress_bar_names_the_jobs_that_run(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    jobs = [Job(f"hu column {number} seed 1", partial(abs, -number)) for number in (1, 2)]
    assert sorted(run_jobs(jobs, 1)) == [1, 2]
    assert "hu column 1 seed 1" in terminal.getvalue()
    assert "hu column 2 seed 1" in terminal.getvalue()


@pytest.mark.posix
def test_a_job_that_fails_stops_the_others(tmp_path):
    """Also those that are under way, such as one that waits for a writer; without,
    this test would not end.
    """
    os.mkfifo(tmp_path / "pipe")
    waiting = Job("waits", partial(open, tmp_path / "pipe"))
    with pytest.raises(ValueError, match="invalid literal"):
        list(run_jobs([waiting, Job("fails", partial(int, "x")), waiting], 2))


def test_trainings_beside_each_other_draw_no_bars_and_the_rest_is_still_shown(monkeypatch):
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal(io.BytesIO(), encoding="utf-8"))
    _without_bars()
    assert not sys.stderr.isatty()
    gc.collect()
    print("compiling", file=sys.stderr)
    assert sys.stderr.buffer.getvalue() == b"compiling\n"
