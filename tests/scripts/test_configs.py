"""Every configuration composes, passes the checks, and explains its keys."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from parser import transitions
from parser.settings.plan import plan
from tests.toy import CONFIGS, composed, settings

TREEBANKS = sorted(path.stem for path in (CONFIGS / "treebank").glob("*.yaml"))
RECIPES = sorted(path.stem for path in (CONFIGS / "recipe").glob("*.yaml"))
SYSTEMS = sorted(path.stem for path in (CONFIGS / "system").glob("*.yaml"))


def test_the_treebanks_of_the_contract_are_there():
    assert {"sample", "hu", "el", "cu", "got", "da", "eu", "de"} <= set(TREEBANKS)


@pytest.mark.parametrize(
    "treebank", [pytest.param(name, marks=[] if name == "sample" else pytest.mark.long) for name in TREEBANKS]
)
@pytest.mark.parametrize(("recipe", "column"), list(product(RECIPES, range(1, 7))))
def test_they_compose(treebank, recipe, column):
    made = settings(f"treebank={treebank}", f"recipe={recipe}", f"column={column}", "paths.treebanks=there")
    plan(made)
    assert not OmegaConf.missing_keys(made)
    assert (made.treebank.name, made.recipe, made.column) == (treebank, recipe, column)


@pytest.mark.parametrize(("system", "recipe"), list(product(SYSTEMS, RECIPES)))
def test_every_transition_system_composes_with_every_recipe(system, recipe):
    made = settings(f"system={system}", f"recipe={recipe}")
    plan(made)
    assert (made.system, made.recipe) == (system, recipe)


def test_every_transition_system_has_a_file():
    assert set(SYSTEMS) == {name for name in transitions.names() if not name.startswith("toy_")}  # another test's


@pytest.mark.parametrize(
    "overrides",
    [
        ["column=3", "oracle=static", "second_pass.trees=projectivized", "features.form=[s0,b0]", "seed=2"],
        ["treebank=hu", "treebank.train=[a,b]", "recipe=text", "+features.x=[s0]", "system=attardi", "degree=3"],
    ],
)
def test_tests_have_the_settings_that_hydra_composes(overrides):
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        expected = compose("train", overrides=overrides)
    assert OmegaConf.to_yaml(composed(*overrides)) == OmegaConf.to_yaml(expected)


def test_columns_are_those_of_table_7():
    passes = [(made.first_pass.trees, made.second_pass.trees) for made in (settings(f"column={c}") for c in range(1, 6))]
    assert passes == [
        ("projective_subset", None),
        ("projectivized", None),
        ("projective_subset", "projective_subset"),
        ("projectivized", "projectivized"),
        ("projectivized", "original"),
    ]


def test_column_6_is_5_with_ties():
    five, six = settings("column=5"), settings("column=6")
    assert (five.ties, six.ties) == (None, "nearest_ancestor")
    five.ties, five.column = six.ties, six.column
    assert five == six


def test_what_is_given_wins_over_the_column():
    made = settings("column=3", "oracle=static", "second_pass.trees=projectivized")
    assert (made.oracle, made.second_pass.trees, made.first_pass.trees) == ("static", "projectivized", "projective_subset")


@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.yaml")), ids=lambda path: path.name)
def test_they_name_nothing_to_call(path):
    assert "_target_" not in path.read_text()


def test_every_run_and_every_sweep_has_a_folder_of_its_own():
    """Also where two are started in the same second."""
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        made = [compose("train", return_hydra_config=True).hydra for _ in range(2)]
    for one, other in ((made[0].run.dir, made[1].run.dir), (made[0].sweep.dir, made[1].sweep.dir)):
        assert re.search(r"\d\d-\d\d-\d\d-\d{6}$", one)
        assert one != other


def test_every_key_of_the_main_file_is_commented():
    for line in (CONFIGS / "train.yaml").read_text().splitlines():
        if line.startswith("hydra:"):
            break
        is_setting = ":" in line and not line.strip().startswith(("#", "-")) and line.partition(":")[2].strip()
        assert not is_setting or "#" in line, line
