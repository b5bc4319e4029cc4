"""Every committed page and picture comes out of the committed rows, and every row is of settings
that can be asked for.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from experiments import front, speed, text
from experiments.command import settings_of
from experiments.tables import read_rows
from experiments.trainings import GONE, Training, is_gone
from parser.settings.overrides import training_settings
from parser.settings.plan import plan
from tests.toy import ROOT

# Module, configuration, and what its command was given.
TRAINED = [
    ("comparison", "accurate", []),
    ("comparison", "unseen", []),
    ("beam", "beam", []),
    ("choices", "choices", []),
    ("choices", "ablation", []),
    ("choices", "paper_literal", ["languages=[hu,got]"]),
    ("front", "front", []),
    ("lattices", "lattices", []),
    ("comparison", "online", []),
    ("peers", "peers", []),
    ("comparison", "systems", []),
    ("comparison", "systems_bilstm", []),
    ("comparison", "systems_text", []),
    ("comparison", "subwords", []),
    ("comparison", "pretrained", []),
    *(
        ("table7", "table7", [f"recipe={recipe}"])
        for recipe in ("paper", "paper_literal", "paper_tuned")
    ),
    ("text", "text", []),
]
DRAWN = [
    *((name, []) for name in ("figure8", "figure9", "figure10", "system_oracles", "table6")),
    ("figure9", ["+models={hu: RUN_FOLDER/model}"]),
]

# Systems of rows whose settings are no more (measured at 1d239c4 or before; exact search at
# f3f2ff4a or before; UDPipe's tokenizer at c2a89270 or before).
GONE_SYSTEMS = (
    "accurate, early",
    "accurate, perceptron",
    "accurate, risk",
    "arc_hybrid, bilstm, exact",
    *text.GONE,
)


# A number of a page where the row, rounded to six digits, lies halfway to the next.
HALFWAY = {"explorations.md": ("| 389.94 |", "| 389.93 |")}


def same(written: Path, published: Path, near: bool = False) -> None:
    """Assert that files are the committed ones; ``near``:
    coordinates may differ by what a CSV file rounds off.
    """
    files = sorted(path for path in written.rglob("*") if path.is_file())
    assert files
    for file in files:
        ours, theirs = (
            file.read_text(encoding="utf-8"),
            (published / file.name).read_text(encoding="utf-8"),
        )
        ours = ours.replace(*HALFWAY.get(file.name, ("", "")))
        if file.suffix == ".csv":  # its head names versions
            ours, theirs = (
                re.sub("^#.*\n", "", text, flags=re.MULTILINE) for text in (ours, theirs)
            )
        if near and file.suffix == ".svg":
            coordinates = [
                [float(n) for n in re.findall(r"-?\d+\.\d+", text)] for text in (ours, theirs)
            ]
            assert coordinates[0] == pytest.approx(coordinates[1], abs=0.003)
            ours, theirs = (
                re.sub(r"-?\d+\.\d+|#?[mp][0-9a-f]{10}", "", text) for text in (ours, theirs)
            )
        assert ours == theirs, file.name


@pytest.mark.parametrize(("module", "overrides"), DRAWN)
def test_pages_of_measurements_are_those_of_the_rows(module, overrides, tmp_path):
    experiment: Any = import_module(f"experiments.{module}").EXPERIMENT
    settings = settings_of(experiment.kind, module, overrides)
    folder = ROOT / settings.published
    experiment.write(experiment.read(settings, folder), settings, tmp_path)
    same(tmp_path, folder, near=True)


def test_the_plot_of_speeds_is_that_of_the_rows(tmp_path):
    speed.main(settings_of(speed.Speed, "speed", ["what=beams", f"output={tmp_path}/beams.svg"]))
    same(tmp_path, speed.FOLDER)


# What else is to be asked for, so that all committed rows are.
EVERYTHING = {
    "beam": ["merges=[none,configuration,signature]"],
    "lattices": ["lookaheads=[1,3]", "lemmas=[true,false]"],
    "table7": ["columns=[1,2,3,4,5,6]"],
}


@pytest.mark.parametrize(("module", "config", "overrides"), TRAINED)
def test_pages_are_those_of_the_rows_and_whoever_asks_for_these_trains_nothing(
    module, config, overrides, monkeypatch, tmp_path
):
    """Each row has the settings of a variant, and a commit."""
    monkeypatch.setattr(
        "experiments.engine.paths",
        lambda *_: dict.fromkeys(("train", "dev", "test"), ROOT / "README.md"),
    )
    monkeypatch.setattr("experiments.table7.has_parts", lambda *_: True)
    experiment: Any = import_module(f"experiments.{module}").EXPERIMENT
    settings = settings_of(experiment.kind, config, ["paths.treebanks=data", *overrides])
    rows = [
        *read_rows(
            ROOT / settings.published / "results.csv", experiment.columns, len(experiment.key)
        ).values()
    ]
    experiment.write(settings, rows, tmp_path)
    same(tmp_path, ROOT / settings.published)
    settings = settings_of(
        experiment.kind, config, ["paths.treebanks=data", *overrides, *EVERYTHING.get(module, [])]
    )
    rows = [
        row for row in rows if row.get("clock") != "false" and row.get("system") not in GONE_SYSTEMS
    ]
    rows = [row for row in rows if not is_gone(row["settings"].split())]
    if "recipe" in experiment.key:
        rows = [row for row in rows if row["recipe"] == settings.recipe]
    settings.languages = sorted({row["treebank"] for row in rows})
    settings.seeds = max(int(row["seed"]) for row in rows)
    asked = {cell.key: cell.settings for cell in experiment.cells(settings)}
    for row in rows:
        assert asked[tuple(row[name] for name in experiment.key)] == row["settings"]
        assert re.fullmatch(r"[0-9a-f]{7}\+?", row["commit"])


@pytest.mark.parametrize(("module", "config", "overrides"), TRAINED)
def test_every_variant_can_be_trained(module, config, overrides):
    """Of the settings of all rows a training can be composed that passes the checks of
    scripts/train.py.

    Where claims are tested, variants differ, and every claim and comparison of times names
    variants.
    """
    experiment: Any = import_module(f"experiments.{module}").EXPERIMENT
    wanted = settings_of(experiment.kind, config, ["paths.treebanks=data", *overrides])
    variants = {
        **getattr(wanted, "all_variants", {}),
        **getattr(wanted, "all_systems", {}),
        **{
            name: of
            for study in getattr(wanted, "all_studies", {}).values()
            for name, of in study.variants.items()
        },
    }
    if config in ("online", "systems", "systems_bilstm", "systems_text", "subwords", "pretrained"):
        known = [
            wanted.settings_of(name)
            for name, own in wanted.all_variants.items()
            if not is_gone(own)
        ]
        assert len(set(known)) == len(known)
        named = {
            name for claim in wanted.all_claims.values() for name in (*claim.better, *claim.worse)
        }
        assert named | {name for pair in wanted.all_times.values() for name in pair} <= set(
            wanted.all_variants
        )
    for settings in variants.values():
        if isinstance(settings, front.System):
            settings = settings.training
        if not is_gone(settings):
            plan(Training.of(wanted, "hu", 1, settings).settings())


def test_configs_say_which_settings_of_theirs_have_gone():
    lines = [
        line
        for path in (ROOT / "configs" / "experiments").glob("*.yaml")
        for line in path.read_text().splitlines()
    ]
    gone = [line for line in lines if is_gone(re.split(r"[\[\], ]+", line.partition("#")[0]))]
    assert len(gone) == 3
    assert all(line.endswith("# removed; commit f3f2ff4a has it") for line in gone)


@pytest.mark.parametrize("setting", GONE)
def test_what_has_gone_cannot_be_trained(setting):
    gone = f"{setting}1" if setting.endswith("=") else setting
    with pytest.raises(ValueError, match=re.escape(gone.partition("=")[0].rpartition(".")[2])):
        training_settings(["treebank=hu", gone])
