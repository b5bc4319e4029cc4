"""Every configuration composes, passes the checks and is explained by --help;
columns and oracles in sweeps.
"""

import re
import sys
from itertools import product

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import oracles
import parser.commands.train  # noqa: F401 - it registers hydra's resolver run_name
from parser.commands import train
from parser.commands.settings_help import CHOICES, SECTIONS, schema_keys, settings_help
from parser.settings.paths import for_hydra
from parser.settings.plan import plan
from parser.training.sweeps import JobFolders
from tests.toy import CONFIGS, composed, forget_what_is_stored, settings
from tests.transition_systems import systems

TREEBANKS = sorted(path.stem for path in (CONFIGS / "treebank").glob("*.yaml"))
RECIPES = sorted(path.stem for path in (CONFIGS / "recipe").glob("*.yaml"))
SYSTEMS = sorted(path.stem for path in (CONFIGS / "system").glob("*.yaml"))
# By recipe, the settings that it cannot do without.
NEEDED = {"tuned": ["encoder.pretrained=there"]}


@pytest.mark.parametrize(
    "treebank",
    [pytest.param(name, marks=[] if name == "sample" else pytest.mark.long) for name in TREEBANKS],
)
@pytest.mark.parametrize(("recipe", "column"), list(product(RECIPES, range(1, 7))))
def test_they_compose(treebank, recipe, column):
    words = f"treebank={treebank}", f"recipe={recipe}", f"column={column}"
    made = settings(*words, "paths.treebanks=there", *NEEDED.get(recipe, ()))
    plan(made)
    assert not OmegaConf.missing_keys(made)
    assert (made.treebank.name, made.recipe, made.column) == (treebank, recipe, column)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(name, marks=[] if name in ("accurate", "text") else pytest.mark.long)
        for name in RECIPES
    ],
)
def test_every_transition_system_composes_with_every_recipe(system, recipe):
    made = settings(f"system={system}", f"recipe={recipe}", *NEEDED.get(recipe, ()))
    plan(made)
    assert (made.system, made.recipe) == (system, recipe)


def test_the_treebanks_of_the_contract_and_all_transition_systems_have_files():
    assert {"sample", "hu", "el", "cu", "got", "da", "eu", "de"} <= set(TREEBANKS)
    assert set(SYSTEMS) == {*systems()}


@pytest.mark.parametrize(
    "overrides",
    [
        [
            "column=3",
            "oracle=static",
            "second_pass.trees=projectivized",
            "features.form=[s0,b0]",
            "seed=2",
        ],
        [
            "treebank=hu",
            "treebank.train=[a,b]",
            "recipe=text",
            "+features.x=[s0]",
            "system=attardi",
            "degree=3",
        ],
    ],
)
def test_tests_have_the_settings_that_hydra_composes(overrides):
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        expected = compose("train", overrides=overrides)
    assert OmegaConf.to_yaml(composed(*overrides)) == OmegaConf.to_yaml(expected)


def test_columns_are_those_of_table_7_and_what_is_given_wins_over_them():
    subset, lifted, original = "projective_subset", "projectivized", "original"
    passes = [
        (made.first_pass.trees, made.second_pass.trees)
        for made in (settings(f"column={c}") for c in range(1, 6))
    ]
    assert passes == [
        (subset, None),
        (lifted, None),
        (subset, subset),
        (lifted, lifted),
        (lifted, original),
    ]
    five, six = settings("column=5"), settings("column=6")
    assert (five.ties, six.ties) == (None, "nearest_ancestor")
    five.ties, five.column = six.ties, six.column
    assert five == six
    given = settings("column=3", "oracle=static", "second_pass.trees=projectivized")
    assert (given.oracle, given.second_pass.trees, given.first_pass.trees) == (
        "static",
        lifted,
        subset,
    )


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


def test_torch_logs_no_counts_of_its_caches_when_a_job_ends():
    """It does when Python exits, which would follow "interrupted"."""
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        loggers = compose("train", return_hydra_config=True).hydra.job_logging.loggers
    assert loggers.torch.level == "WARNING"


def test_every_key_of_the_main_file_is_commented():
    for line in (CONFIGS / "train.yaml").read_text().splitlines():
        if line.startswith("hydra:"):
            break
        is_setting = (
            ":" in line
            and not line.strip().startswith(("#", "-"))
            and line.partition(":")[2].strip()
        )
        assert not is_setting or "#" in line, line


def test_all_settings_are_explained():
    text = settings_help(["seed=3", "recipe=accurate"])
    for key in [*schema_keys(), *CHOICES]:
        assert f"\n  {key}=" in text or f"\n  {key}.NAME=VALUE" in text, key
    assert all(f"\n{title}\n" in text for title in SECTIONS)
    assert "\n  seed=3   " in text
    assert "\n  optimizer.name=adam   " in text
    assert "for weights, word vectors and the order of the examples" in text
    assert "experiments" not in text
    assert max(map(len, text.splitlines())) <= 110
    assert text.endswith(f"\n\n{len(schema_keys())} settings")
    assert len(schema_keys()) <= 118, "a new setting takes the place of one that brings less"


def test_the_command_prints_it(monkeypatch, capsys):
    monkeypatch.setattr(
        sys,
        "argv",
        ["train.py", "--help", "beam=local", "beam.size=32", "treebank.train=a (1).conllu"],
    )
    train.main()
    found = capsys.readouterr().out
    assert "\n  beam.size=32   " in found
    assert "\n  treebank.train=a (1).conllu   " in found
    monkeypatch.setattr(sys, "argv", ["train.py", "--help", "sead=1"])
    with pytest.raises(ValueError, match=r"no setting sead \(did you mean seed\?\); --help lists"):
        train.main()


@pytest.fixture
def command(monkeypatch):
    """Return a function of the command's arguments that runs it in this process, but for the work
    of its jobs, and a list of their columns and oracles.
    """
    jobs: list[tuple[int | None, str]] = []
    monkeypatch.setattr(train, "run", lambda made: jobs.append((made.column, made.oracle)))
    monkeypatch.setattr(JobFolders, "sweep", None)
    forget_what_is_stored(monkeypatch)

    def run(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
        train.main()

    return run, jobs


def test_two_shares_are_a_list_but_in_a_sweep():
    given = ["treebank.held_out=0.1,0.2", "seed=1,2"]
    assert for_hydra(given, {}, sweep=False) == ["treebank.held_out=[0.1,0.2]", "seed=1,2"]
    assert for_hydra(given, {}, sweep=True) == given
    for plain in ("treebank.held_out=0.1", "treebank.held_out=[0.1,0.1]"):
        assert for_hydra([plain], {}, sweep=False) == [plain]


@pytest.mark.parametrize(
    ("given", "jobs"),
    [
        (["column=1,4"], [(1, "nederhof_linear"), (4, "nederhof_linear")]),
        (
            ["column=4", "oracle=glob('nederhof_[cq]*')"],
            [(4, "nederhof_cubic"), (4, "nederhof_quadratic")],
        ),
    ],
)
def test_a_sweep_has_a_job_for_each(command, tmp_path, given, jobs):
    run, found = command
    with pytest.raises(SystemExit):  # none of them has left a result
        run("-m", *given, f"hydra.sweep.dir={tmp_path}")
    assert found == jobs


def test_a_sweep_without_jobs_is_an_error(command, tmp_path):
    with pytest.raises(ValueError, match=r"no jobs: glob\(\)"):
        command[0]("-m", "strategy=glob(*)", f"hydra.sweep.dir={tmp_path}")


def test_a_shell_completes_oracles(command, monkeypatch, capsys):
    monkeypatch.setenv("COMP_LINE", "python scripts/train.py oracle=")
    command[0]("-sc", "query=bash")
    assert sorted(capsys.readouterr().out.split()) == sorted(
        f"oracle={name}" for name in oracles.all_names()
    )
