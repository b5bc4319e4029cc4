"""The plans that settings come to."""

import copy
from dataclasses import fields
from pathlib import Path

import pytest

from parser.beam_settings import Beam, Merge, Scores
from parser.settings.given import Given
from parser.settings.groups import Settings, TrainingTrees
from parser.settings.plan import GlobalPlan, NetworkPlan, Plan, Span, plan, plans
from tests.forked import new_python
from tests.toy import settings


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        ([], "first_pass second_pass"),
        (["column=1"], "first_pass"),
        (["beam=local"], "first_pass second_pass"),
        (["beam=global"], "first_pass second_pass third_pass"),
        (["model=linear"], "online"),
        (["model=linear", "beam=global"], "online beam"),
        (["start=runs/x"], "(first_pass) second_pass"),
        (["start=runs/x", "column=1"], "first_pass"),
        (["start=runs/x", "beam=global"], "(first_pass) third_pass"),
    ],
)
def test_passes(overrides, names):
    """A model to begin with goes through the last pass alone:
    the result of one in parentheses is given.
    """
    passes = plan(settings(*overrides)).passes
    assert (
        " ".join(f"({one.name})" if getattr(one, "given", False) else one.name for one in passes)
        == names
    )


def test_where_arcs_can_be_undone_transitions_that_undo_none_are_preferred():
    eager = ["system=arc_eager", "nonmonotonic=true"]
    assert plan(settings(*eager)).oracle.options == {"nonmonotonic": 1, "ties": "monotonic"}
    assert plan(settings(*eager, "ties=commit")).oracle.options == {
        "nonmonotonic": 1,
        "ties": "commit",
    }
    assert plan(settings(*eager, "oracle=arc_eager_sums")).oracle.options == {"nonmonotonic": 1}
    assert plan(settings("system=arc_eager")).oracle.options == {}


def test_schedules_span_passes_or_runs():
    epochs = ["first_pass.epochs=3", "second_pass.epochs=5"]
    spans = {
        over: [
            one.optimizer.span
            for one in plan(settings(*epochs, f"optimizer.schedule_over={over}")).passes
        ]
        for over in ("pass", "run")
    }
    assert spans == {"pass": [Span(0, 3), Span(0, 5)], "run": [Span(0, 8), Span(3, 8)]}


@pytest.mark.parametrize(("words", "epochs"), [(1, 5), (20, 5), (21, 4), (40, 2), (101, 1), (0, 5)])
@pytest.mark.parametrize("over", ["pass", "run"])
def test_many_words_have_a_shorter_second_pass_with_all_of_its_schedule(over, words, epochs):
    shared = ["first_pass.epochs=3", f"optimizer.schedule_over={over}"]
    made = plan(settings(*shared, "second_pass.epochs=5", "second_pass.most_words=100")).for_words(
        words
    )
    expected = plan(settings(*shared, f"second_pass.epochs={epochs}"))
    assert [one.epochs for one in made.passes] == [one.epochs for one in expected.passes]
    assert [one.optimizer for one in made.passes] == [one.optimizer for one in expected.passes]


def test_a_pass_has_all_its_epochs_unless_words_are_counted():
    made = plan(settings("second_pass.epochs=5"))
    assert made.for_words(10**9).passes[1].epochs == 5
    assert [one.name for one in plan(settings("column=1")).for_words(10).passes] == ["first_pass"]


def test_searches_and_the_third_pass():
    found = {name: plan(settings(f"beam={name}")).search for name in ("none", "local", "global")}
    beam = Beam(8, Merge.CONFIGURATION)
    assert found == {
        "none": None,
        "local": beam,
        "global": Beam(8, Merge.CONFIGURATION, Scores.GLOBAL),
    }
    third = plan(settings("recipe=paper", "beam=global")).passes[-1]
    assert isinstance(third, GlobalPlan)
    assert (third.optimizer.name, third.optimizer.rate_key) == (
        "adam",
        "beam.training.learning_rate",
    )
    assert third.trees == TrainingTrees.original


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        (["treebank.train=x/a.conllu", "treebank.folds=3"], "a"),
        (
            ["treebank.train=[a.conllu,b.conllu]", "recipe=text", "encoder.pretrained=some/model"],
            "a+b",
        ),
        (["treebank.test=null", "treebank.folds=3", "treebank.fold=2", "start=nowhere"], "sample"),
    ],
)
def test_a_plan_changes_no_settings(overrides, name, tmp_path):
    """It has names, absolute paths and folds of its own,
    so that the same settings can be planned again.
    """
    made, given = settings(*overrides), Given(overrides)
    before = copy.deepcopy(made)
    found = plans(made, given, tmp_path)
    assert made == before
    assert plans(made, given, tmp_path) == found
    assert {one.labels["treebank"] for one in found} == {name}
    assert all(Path(path).is_absolute() for one in found for path in one.files.train.paths)


def test_each_fold_has_its_own_plan(tmp_path):
    overrides = ["treebank.train=x/a.conllu", "treebank.folds=3"]
    made, given = settings(*overrides), Given(overrides)
    assert plans(made, given, tmp_path) == [
        plan(made, given, tmp_path, fold=number) for number in (1, 2, 3)
    ]


def test_what_a_plan_takes_over_is_taken_over_as_it_is():
    changed = [
        "seed=7",
        "threads=3",
        "resume=false",
        "single_root=false",
        "projectivization=arbitrary",
        "tensorboard.trees=1",
    ]
    made = settings("recipe=text", *changed, "segmenter=none")
    found, declared = plan(made), {one.name: one.type for one in fields(Settings)}
    same = {one.name for one in fields(Plan) if declared.get(one.name) == one.type}
    assert same >= {change.partition("=")[0].partition(".")[0] for change in changed}
    for name in same:
        value = getattr(found, name)
        assert (vars(value) if name == "tensorboard" else value) == getattr(made, name), name


def test_a_network_has_its_groups_of_settings_as_they_are():
    text = plan(
        settings("recipe=text", "encoder.heads.weight=0.5", "encoder.lemmas.epochs=3")
    ).model
    assert isinstance(text, NetworkPlan)
    assert text.encoder is not None
    assert text.encoder.tagger is not None
    assert text.task_weights == {**text.encoder.tagger.weights, "heads": 0.5}
    assert (text.task_epochs, text.augment) == ({"lemmas": 3}, text.encoder.augment)
    for none in (
        ["recipe=accurate"],
        ["recipe=text", *(f"encoder.{name}=null" for name in ("tagger", "heads", "lemmas"))],
    ):
        model = plan(settings(*none)).model
        assert isinstance(model, NetworkPlan)
        assert (model.task_weights, model.task_epochs) == ({}, {})


def test_a_plan_is_made_without_torch(tmp_path):
    """So that what is wrong with settings is said at once, also by a dry run."""
    code = """
import sys
from parser.commands import train
for words in (["--dry-run", "recipe=text"], ["--dry-run", "first_pass.epochs=0"]):
    sys.argv[1:] = [*words, "hydra.run.dir=" + sys.argv[-1]]
    try:
        train.main()
    except SystemExit as ended:
        print(ended.code)
assert "torch" not in sys.modules
"""
    said = new_python(code, tmp_path)
    assert "second_pass" in said
    assert "first_pass.epochs=0 is out of range" in said
