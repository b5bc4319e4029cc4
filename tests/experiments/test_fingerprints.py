"""Fingerprints: what changes them, what does not, and that all committed rows are of today's settings."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from experiments.fingerprints import NEUTRAL, fingerprint, look_up, renamed
from experiments.migrate import Renaming, committed_files, known_trainings, parts_of
from experiments.trainings import Training

SETTINGS = {"a": 1, "b": {"c": 2, "d": None}, "seed": 7, "treebank": {"train": "f"}}


@pytest.fixture(scope="module")
def trainings() -> list[Training]:
    return list(dict.fromkeys(known_trainings()))


def test_seed_and_files_leave_it_alone_and_everything_else_changes_it():
    of_settings = fingerprint(SETTINGS)
    assert fingerprint(SETTINGS | {"seed": 8, "treebank": {"train": "g"}}) == of_settings
    assert fingerprint(SETTINGS | {"a": 2}) != of_settings
    assert fingerprint(SETTINGS | {"b": {"c": 3, "d": None}}) != of_settings
    assert fingerprint(SETTINGS | {"new": 0}) != of_settings


@pytest.mark.parametrize(("key", "value"), [("new", "as before"), ("b.new", None)])
def test_a_key_that_came_later_is_left_out_at_its_neutral_value_only(key, value):
    before, neutral = fingerprint(SETTINGS), {key: value}

    def later(new: object) -> dict:
        b: Any = SETTINGS["b"]
        return SETTINGS | ({"new": new} if key == "new" else {"b": b | {"new": new}})

    assert fingerprint(SETTINGS, neutral) == before
    assert fingerprint(later(value), neutral) == before
    assert fingerprint(later("another default"), neutral) != before


def test_neutral_values_are_those_of_the_recipes_that_have_rows():
    plain = Training("sample", "paper", 5, 1, "any", ()).plain_settings()
    read = {key: value for key, value in NEUTRAL.items() if not key.startswith(("encoder.", "beam.training."))}  # others' keys
    assert {key: look_up(plain, key) for key in read} == read
    ties = Training("sample", "paper", 5, 1, "any", ("ties=nearest_ancestor",))
    assert ties.fingerprint() != Training("sample", "paper", 5, 1, "any", ()).fingerprint()


def test_trainings_of_any_seed_and_folder_have_the_same():
    here = Training("hu", "paper", 2, 7, "here", ())
    there = Training("el", "paper", 2, 1, "there", ())
    assert here.fingerprint() == fingerprint(here.plain_settings()) == fingerprint(there.plain_settings())


def test_renaming_moves_values():
    assert renamed(SETTINGS, {"b.c": "b.e", "a": "b.f", "nothing": "x"}) == {
        "b": {"d": None, "e": 2, "f": 1},
        "seed": 7,
        "treebank": {"train": "f"},
    }
    assert SETTINGS["a"] == 1


def test_migration_maps_every_row_and_back(trainings, tmp_path):
    """As if second_pass.explore_every had been called walk_every until now."""
    renaming = Renaming.of({"second_pass.walk_every": "second_pass.explore_every"}, trainings)
    assert set(renaming.fingerprints).isdisjoint(renaming.fingerprints.values())
    old_of = {new: old for old, new in renaming.fingerprints.items()}
    for path in committed_files():
        with path.open(newline="", encoding="utf-8") as file:
            today = file.read()
        old = today.replace("second_pass.explore_every=", "second_pass.walk_every=")
        for new_print, old_print in old_of.items():
            old = old.replace(new_print, old_print)
        (tmp_path / "old.csv").write_text(old, encoding="utf-8")
        assert renaming.text(tmp_path / "old.csv") == today


def test_a_row_of_unknown_settings_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("treebank,config\nhu,12345678\n")
    with pytest.raises(ValueError, match=r"rows.csv, line 2: 12345678 is not the fingerprint of a known training"):
        Renaming({}, {}).text(tmp_path / "rows.csv")


def test_all_committed_rows_are_of_todays_settings(trainings):
    """So every published row counts, and none is trained again."""
    today = {(t.recipe, str(t.column), " ".join(t.overrides)): t.fingerprint() for t in trainings}
    seen = 0
    for path in committed_files():
        with path.open(newline="", encoding="utf-8") as file:
            lines = [line for line in csv.DictReader(file) if line["config"] and line.get("measure") is None]
        for line in lines:
            if "column" in line:
                expected = {today[line["recipe"], line["column"], ""]}
            elif "settings" in line:
                expected = {today[line["recipe"], "5", line["settings"]]}
            else:
                expected = set(today.values())
            assert expected.issuperset(parts_of(line["config"])), (path, line)
            seen += 1
    assert seen > 600
