"""Settings that are given, but that the run would not read."""

from __future__ import annotations

import logging

import pytest

from parser.settings import SettingsError
from parser.training.checks.settings_check import check
from parser.training.checks.unread_settings import check_overrides
from tests.toy import settings


@pytest.mark.parametrize(
    ("model", "override"),
    [
        ("linear", "classifier.hidden=9"),
        ("linear", "column=2"),
        ("linear", "recipe=accurate"),
        ("linear", "beam.training.learning_rate=0.01"),
        ("linear", "beam.training.batch_sentences=4"),
        ("mlp", "+online.mode=static"),
    ],
)
def test_settings_that_the_model_does_not_read(model, override):
    with pytest.raises(SettingsError, match=f"model={model} does not read .*; leave it out, or choose model="):
        check_overrides(settings(f"model={model}"), ["seed=1", f"model={model}", override])


@pytest.mark.parametrize(
    ("read_if", "override"),
    [
        ("vectors.file=vectors.vec", "vectors.limit=10"),
        ("vectors.file=vectors.vec", "vectors.restrict=true"),
        ("optimizer.name=sgd", "optimizer.momentum=0.9"),
        ("second_pass.policy=mixed", "second_pass.follow=0.5"),
        ("beam=local", "beam.merge=none"),
        ("lattice.train=a.conllul", "lattice.lookahead=2"),
        ("lattice.train=a.conllul", "lattice.gold=skip"),
        ("lattice.train=a.conllul", "lattice.max_arcs=9"),
        ("lattice.train=a.conllul", "lattice.choices=false"),
        ("lattice.train=a.conllul", "lattice.beam=4"),
    ],
)
def test_settings_that_another_one_makes_read(read_if, override):
    with pytest.raises(SettingsError, match=f"{override} is read only with .*; leave it out, or add that"):
        check_overrides(settings("recipe=accurate", override), [override])
    check_overrides(settings("recipe=accurate", read_if, override), [read_if, override])


def test_what_is_read_may_be_given():
    given = ["system=attardi", "degree=3", "oracle=attardi_search", "keep=last", "tensorboard.examples=2"]
    check_overrides(settings("model=linear"), given)


GLOBAL = ["recipe=accurate", "beam=global", "beam.training.start=runs/some"]


@pytest.mark.parametrize(
    "override",
    ["second_pass.epochs=3", "oracle=static", "ties=nearest_ancestor", "strategy=any", "optimizer.learning_rate=0.5"],
)
def test_settings_of_passes_that_another_run_had(override):
    with pytest.raises(SettingsError, match=rf"{override} is for the first and second pass, and with beam\.training\.start "):
        check_overrides(settings(*GLOBAL), [*GLOBAL, override])


def test_a_teacher_has_no_pass_to_teach_in():
    with pytest.raises(SettingsError, match=r"distillation\.teacher=.* is not supported with beam\.training\.start"):
        check(settings(*GLOBAL, "distillation.teacher=runs/taught"))


@pytest.mark.parametrize("override", ["oracle=nederhof_cubic", "strategy=any", "second_pass.policy=sample"])
def test_what_is_of_a_second_pass_is_told_where_there_is_none(caplog, override):
    """A sweep over column= has such jobs."""
    with caplog.at_level(logging.WARNING):
        check_overrides(settings("column=5", override), ["column=5", override])
        assert not caplog.messages
        check_overrides(settings("column=1", override), ["column=1", override])
    assert caplog.messages == [f"{override} is not read: this run has no second pass (column=3 to 6 have one)"]


def test_ties_are_of_some_oracles_alone():
    with pytest.raises(SettingsError, match="ties=nearest_ancestor is not known to oracle=attardi_search; leave ties= out, or"):
        check(settings("system=attardi", "degree=2", "column=null", "ties=nearest_ancestor"))


def test_lattices_hold_no_sentences_out():
    given = ["lattice.train=a.conllul", "treebank.held_out=0.1", "treebank.dev=null"]
    with pytest.raises(SettingsError, match=r"treebank\.held_out=0\.1 is not supported with lattices; give treebank\.dev"):
        check(settings(*given))


def test_training_of_vectors_that_are_read_from_a_file_is_told(caplog):
    """And not refused: a sweep over vectors.file has such jobs."""
    given = ["vectors.file=vectors.vec", "vectors.window=5", "vectors.limit=9"]
    check_overrides(settings("recipe=accurate", *given), given)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["vectors.window=5 is not read"]
    check_overrides(settings("recipe=accurate", "vectors.window=5"), ["vectors.window=5"])
    assert len(caplog.records) == 1
