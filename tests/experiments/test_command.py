"""The command line of the experiments: what people may write,
and errors of one line with exit status 1.
"""

import os
import re
import runpy
import shlex
import signal
import site
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from experiments import (
    choices,
    command,
    comparison,
    engine,
    figure8,
    figure9,
    lattices,
    table7,
    text,
    trainings,
    treebanks,
)
from experiments.command import settings_of, with_quotes
from experiments.trainings import Training
from oracles.errors import OptimalStepError
from parser.data import treebank
from parser.settings.overrides import training_settings
from tests.toy import ROOT

# The modules of configurations.
COMMANDS: dict[str, Any] = {"table7": table7, "choices": choices, "text": text, "figure8": figure8}
COMMANDS |= dict.fromkeys(("accurate", "unseen", "systems"), comparison)


def message_of(name: str, arguments: list[str], monkeypatch) -> Any:
    experiment = COMMANDS[name].EXPERIMENT
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # pytest keeps its own
    with pytest.raises(SystemExit) as exit_of:
        command.run(experiment.main, experiment.kind, name, "what it is for")
    return exit_of.value.code  # text: it goes to standard error, and the status is 1


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "table7",
            ["languages=[de]", "paths.treebanks=nowhere"],
            "de_gsd-ud-train.conllu not there, or no test part beside",
        ),
        ("table7", [], "nothing to train on: data/UD_Hungarian-Szeged"),
        ("table7", ["languages=[xx]"], "unknown treebank 'xx'; known: cu, cy, da"),
        (
            "table7",
            ["languages=[hungarian]"],
            "unknown treebank 'hungarian' (did you mean hu?); known",
        ),
        ("table7", ["langauges=[hu]"], "not in struct (did you mean languages?); --help shows"),
        ("table7", ["--config-name=tabel7"], "(did you mean table7?); the files are"),
        (
            "choices",
            ["studies=[vector]"],
            "studies has 'vector' (did you mean vectors?); known are",
        ),
        ("table7", ["languages=[]"], "languages=[] names no treebank"),
        (
            "table7",
            ["languages=[sample]", "columns=[7]"],
            "columns has 7; known are 1, 2, 3, 4, 5",
        ),
        (
            "table7",
            ["languages=hu,el"],
            "languages=hu,el is not a list; write 'languages=[hu,el]'",
        ),
        ("table7", ["seeds=1,2"], "seeds=1,2 has several values, and takes one; --help shows"),
        ("table7", ["seeds=0"], "seeds=0 is too small; it must be at least 1"),
        ("table7", ["seeds=many"], "Value 'many' of type 'str' could not be converted to Integer"),
        ("table7", ["colour=red"], "Could not override 'colour'"),
        ("table7", ["seeds"], "'seeds' is not KEY=VALUE"),
        ("table7", ["languages=[sample]", "recipe=soup"], "recipe=soup is unknown; known: "),
        (
            "table7",
            ["languages=[sample]", "overrides=[first_pass.epoch=2]"],
            "there is no setting first_pass.epoch (did you mean first_pass.epochs?); ",
        ),
        ("table7", ["overrides=[seed=2]", "publish=true"], "publish=true with overrides="),
        (
            "table7",
            ["languages=[sample]", "published=null", "publish=true"],
            "publish=true needs a folder to publish to",
        ),
        ("table7", ["--config-name=nothing"], "--config-name=nothing: there is no such file"),
        (
            "table7",
            ["--config-name=figure8"],
            "--config-name=figure8: this file is not for Table7",
        ),
        (
            "accurate",
            ["variants=[foo]"],
            "variants has 'foo'; known are 'accurate', 'accurate, 5 epochs', ",
        ),
        ("systems", ["variants=[arc_eager]"], "variants has 'arc_eager'"),
        ("text", ["systems=[foo]"], "systems has 'foo'; known are 'text', 'text, beam 8', "),
        ("accurate", ["train_on=test"], "train_on has 'test'; known are 'train', 'dev'"),
        (
            "unseen",
            ["paths.treebanks=/nodir"],
            "treebank 'grc' has no dev part: /nodir/UD_Ancient_Greek-PROIEL",
        ),
        (
            "choices",
            ["paths.treebanks=/nodir"],
            "treebank 'hu' has no train part: /nodir/UD_Hungarian-Szeged",
        ),
        (
            "choices",
            ["studies=[beams]"],
            "studies has 'beams'; known are 'vectors', 'projectivization', ",
        ),
        ("figure8", ["paths.treebanks=/nodir"], "treebank 'got' has no part"),
        ("figure8", ["treebanks=[hu]", "paths.treebanks=nowhere"], "nowhere/UD_Hungarian-Szeged"),
        ("figure8", ["treebanks=[xx]"], "known: cu, cy, da"),
        ("figure8", ["colour=red"], "--help shows the keys"),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(name, arguments, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("it trains"))
    (tmp_path / "data" / "sample").mkdir(parents=True)
    for part in ("train", "dev", "test"):
        (tmp_path / "data" / "sample" / f"sample-ud-{part}.conllu").touch()
    said = message_of(name, arguments, monkeypatch)
    assert said.startswith("error: ")
    assert message in said
    assert "\n" not in said


def test_a_checkout_that_is_not_installed_editable_runs_experiments(tmp_path):
    """Their package is then found beside their files alone;
    a missing package of an extra is one line.
    """
    (tmp_path / "matplotlib.py").write_text(
        "raise ModuleNotFoundError('No module', name='matplotlib')", encoding="utf-8"
    )
    paths = os.pathsep.join([str(tmp_path), *site.getsitepackages()])
    for name, status, said in (
        ("choices", 0, "choices.yaml\n"),
        (
            "beam",
            1,
            (
                "error: this needs matplotlib; "
                "run pip install '.[experiments]' in a checkout of the source\n"
            ),
        ),
    ):
        # -S: nothing is editable
        command = [sys.executable, "-S", str(ROOT / "experiments" / f"{name}.py"), "--help"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done.stderr
        assert done.stderr == (said if status else "")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("overrides=[first_pass.epochs=2]", ["first_pass.epochs=2"]),
        ("overrides=[a=1, features.form=[s0,s1],c=2]", ["a=1", "features.form=[s0,s1]", "c=2"]),
        ("overrides=['a=1',b]", ["a=1", "b"]),
        (
            'overrides=[vectors.file=kő (1, 2).vec, treebank.dev="a, b", c=it\'s]',
            ["vectors.file=kő (1, 2).vec", 'treebank.dev="a, b"', "c=it's"],
        ),
        ("languages=[hu,el]", ["hu", "el"]),
        ("+all_variants.tiny=[a=1]", ["a=1"]),
        ("seeds=2", 2),
        ("all_studies.x.variants={one:['a=1'],two:[]}", {"one": ["a=1"], "two": []}),
    ],
)
def test_settings_in_a_list_need_no_quotes(written, meant):
    (read,) = OverridesParser.create().parse_overrides([with_quotes(written)])
    assert read.value() == meant


def test_paths_are_written_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ő")
    given = [
        "runs=~/a, b (v2)",
        "paths.treebanks=[x] {y} $z %=",
        "results='it'",
        "overrides=[vectors.file=a (1, 2).vec]",
    ]
    wanted = settings_of(table7.Table7, "table7", given)
    assert (wanted.runs, wanted.paths.treebanks, wanted.results) == (
        "/home/ő/a, b (v2)",
        "[x] {y} $z %=",
        "it",
    )
    assert wanted.overrides == ["vectors.file=a (1, 2).vec"]
    models = settings_of(
        figure9.Figure9,
        "figure9",
        ['+models={el: ~/ő (v2), hu: "a, b", cu: ${output}/ö}', "+models.got=x, y"],
    )
    assert models.models == {
        "el": "/home/ő/ő (v2)",
        "hu": "a, b",
        "cu": "runs/figure9/ö",
        "got": "x, y",
    }
    files = settings_of(
        lattices.LatticeExperiment,
        "lattices",
        ["lattices=ő, (1)", "+files.hu={train: a b, dev: c=d}"],
    ).files
    assert files["hu"] == {"train": "a b", "dev": "c=d"}
    assert str(files["tr"]["dev"]).startswith("ő, (1)/tr/")


def test_a_training_of_an_experiment_has_its_files(tmp_path, monkeypatch):
    # conftest.py has a faster one, for other paths
    monkeypatch.setattr(trainings, "training_settings", training_settings)
    folder = tmp_path / "dir ő, (v2) ${x} [y]"
    training = Training("hu", "paper", 5, 1, str(folder), ("vectors.file=kő (1).vec",))
    assert training.part("dev").parent.parent == folder
    made = training.on_dev().settings()
    assert Path(made.treebank.train).parent.parent == folder
    assert made.vectors.file == "kő (1).vec"
    assert treebanks.paths("hu", str(folder))["test"].parent.parent == folder


def test_help_is_the_commented_configuration(monkeypatch, capsys):
    assert message_of("unseen", ["--help"], monkeypatch) == 0
    text = capsys.readouterr().out
    assert text.startswith("what it is for\n")
    for part in (
        "train_on: dev",
        "# seeds 1 to this one",
        "fresh: false",
        "# trainings side by side, one thread each",
    ):
        assert part in text


# How many characters before a command of a former program its commit is named.
_NEAR = 90


def commands_of_the_pages() -> list[str]:
    """Those of blocks and within lines, but for programs that only an older commit has."""
    found = []
    for page in sorted((ROOT / "experiments").glob("*.md")):
        blocks = re.split(r"^```\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for block in blocks[1::2]:
            found += [
                line
                for line in block.replace("\\\n", " ").splitlines()
                if line.startswith("python experiments/")
            ]
        for prose in blocks[::2]:
            text = " ".join(prose.split())
            for command_of in re.finditer(r"`(python experiments/[^`]+)`", text):
                before = text[: command_of.start()][-_NEAR:]
                is_here = (ROOT / command_of[1].split()[1]).exists()
                if is_here or not re.search("[Cc]ommit `?[0-9a-f]{7,8}`?", before):
                    found.append(command_of[1])
    lines = dict.fromkeys(" ".join(line.split()) for line in found)
    # no settings
    return [
        line
        for line in lines
        if "argparse" not in (ROOT / line.split()[1]).read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("line", commands_of_the_pages())
def test_the_settings_of_the_pages_commands_are_there(line, monkeypatch):
    """Every ``python experiments/...`` of experiments/*.md is understood;
    it is stopped before it does anything.
    """

    def stop(*given: Any) -> None:
        settings_of(*given)
        raise OptimalStepError("understood")

    _, file, *arguments = shlex.split(line, comments=True)

    def stop_reading(_: Path) -> None:
        raise OptimalStepError("understood")

    monkeypatch.setattr(command, "settings_of", stop)
    # of a command line without settings, what is read first
    monkeypatch.setattr(treebank, "read_treebank", stop_reading)
    monkeypatch.setattr(sys, "argv", [file, *arguments])
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # pytest keeps its own
    with pytest.raises(SystemExit, match=r"^error: understood$"):
        runpy.run_path(str(ROOT / file), run_name="__main__")


def test_no_program_has_the_name_of_a_package():
    """Python first finds what lies beside the program: experiments/tokenizers.py, if it was there,
    instead of the package that a pretrained encoder needs.
    """
    packages = sys.stdlib_module_names | packages_distributions().keys()
    packages |= {
        "tokenizers",
        "transformers",
        "onnxruntime",
        "spacy",
        "ray",
    }  # not installed everywhere
    programs = {path.stem for path in (ROOT / "experiments").glob("*.py")} - {"experiments"}
    assert not programs & packages
