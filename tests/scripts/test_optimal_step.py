"""The command optimal-step, what an installed package holds, and how commands are found."""

import os
import re
import site
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from setuptools import find_namespace_packages

from parser.commands import __main__
from parser.commands.__main__ import COMMANDS
from tests import forked
from tests.toy import ROOT

SAMPLE = ROOT / "data" / "sample" / "sample-ud-test.conllu"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def optimal_step(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return forked.script("parser/commands/__main__.py", *arguments)


def test_it_lists_its_commands_and_says_its_version():
    done = optimal_step("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"  {name} " in done.stdout
        assert (ROOT / "scripts" / f"{name}.py").is_file()
        assert (ROOT / "parser" / "commands" / f"{name}.py").is_file() or name == "benchmark"
    unknown = optimal_step("prase")
    assert unknown.returncode == 1
    known = f"the commands are {', '.join(COMMANDS)}"
    assert unknown.stderr == f"error: there is no command 'prase' (did you mean parse?); {known}\n"
    done = optimal_step("--version")
    assert (done.returncode, done.stdout) == (
        0,
        f"optimal-step {PYPROJECT['project']['version']}\n",
    )


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *(
            ("pares", "parse"),
            ("fetch-treebanks", "fetch_treebanks"),
            ("bench", "benchmark"),
            ("--verison", "--version"),
        ),
        *(("predict", "parse"), ("download", "get"), ("validate", "check"), ("xyz", None)),
    ],
)
def test_the_command_that_was_meant_is_named(given, meant, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["optimal-step", given])
    hint = "" if meant is None else re.escape(f" (did you mean {meant}?)")
    with pytest.raises(
        SystemExit, match=f"^error: there is no command '{given}'{hint}; the commands are check, "
    ):
        __main__.main()


def test_a_command_that_has_left_says_what_to_type_instead(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["optimal-step", "recombine", "a.conllu"])
    with pytest.raises(
        SystemExit,
        match=r"^error: the command recombine has been removed: .*treebank.train=\[TRAIN,PARSED\]",
    ):
        __main__.main()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("parse en x --outptu y", "unrecognized arguments: --outptu y (did you mean --output?)"),
        ("parse en x --beam-size 3", "(did you mean --beam?)"),
        ("parse en x --k_best 3", "(did you mean --k-best?)"),
        ("parse en x --tags fil", "'fil' is unknown (did you mean fill?); known: keep"),
        (
            "parse --model en --input x",
            (
                "--model (MODEL_DIR is given without --model); "
                "--input (INPUT is given without --input)"
            ),
        ),
        ("parse en x --cpu", "--cpu (did you mean --device?)"),
        ("parse en x --batch_size 5", "unrecognized arguments: --batch_size 5\n"),
        ("parse en x --probs", "--probs (did you mean --probabilities?)"),
        ("parse --input_file x", "--input_file (INPUT is given without --input_file)"),
        ("parse en x --lemmas", "(did you mean --tags?)"),
        ("parse en x --test", "unrecognized arguments: --test\n"),
        ("parse en x --stats", "unrecognized arguments: --stats\n"),
        ("parse en x --output-format json", "(did you mean --format?)"),
        ("parse_many en x -o y --cpu", "unrecognized arguments: --cpu\n"),
        ("report x --port 3", "unrecognized arguments: --port 3\n"),
        ("draw x --sentences 3", "(did you mean --sentence?)"),
        ("evaluate a b --config x", "unrecognized arguments: --config x\n"),
        ("parse en x -- --outptu", "unrecognized arguments: --outptu\n"),
        ("parse_many en x -o y --threads 2", "(did you mean --workers?)"),
        (
            "parse_many en x -o y --engine loacl",
            "(choose from 'local', 'ray') (did you mean local?)",
        ),
        ("pack en --otuput y", "are required: -o/--output; --otuput (did you mean --output?)"),
        ("draw x -output y", "unrecognized arguments: y; -output (did you mean --output?)"),
        (
            "draw x --fromat svg --oputput y",
            "--fromat (did you mean --format?); --oputput (did you mean --output?)",
        ),
        ("evaluate a b --by deprel", "(did you mean relation?)"),
        ("check x --level 9", "invalid choice: 9 (choose from 1, 2, 3, 4, 5)\n"),
        ("serve en -p 80", "(did you mean --port?)"),
        ("lattices biuld x", "(did you mean build?)"),
        ("lattices build x -o y --gess ending", "(did you mean --guess?)"),
        ("trace --system arceager", "(did you mean arc_eager?)"),
        ("train_treebanks data --togther a,b", "(did you mean --together?)"),
        ("benchmark orcales", "(did you mean oracles?)"),
        ("benchmark oracles --strategy lft_before_right", "(did you mean left_before_right?)"),
        ("benchmark parsing m f --flaot32", "(did you mean --float32?)"),
    ],
)
def test_the_option_or_choice_that_was_meant_is_named(line, said, monkeypatch, capsys):
    name, *words = line.split()
    monkeypatch.setattr(sys, "argv", [f"optimal-step {name}", *words])
    main = import_module(
        "scripts.benchmarks.command" if name == "benchmark" else f"parser.commands.{name}"
    ).main
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.replace(
        "choose from local, ray", "choose from 'local', 'ray'"
    )  # from Python 3.12 on


def test_every_command_names_the_option_that_was_meant():
    for path in [*(ROOT / "parser" / "commands").glob("*.py"), *(ROOT / "scripts").rglob("*.py")]:
        assert "argparse.ArgumentParser(" not in path.read_text(encoding="utf-8").replace(
            "(argparse.ArgumentParser)", ""
        )


@pytest.mark.parametrize("name", ["make_models", "documentation"])
def test_a_checkout_that_is_not_installed_editable_runs_its_scripts(name, tmp_path):
    """They import one another; what is installed has no scripts."""
    command = [
        sys.executable,
        "-S",
        str(ROOT / "scripts" / f"{name}.py"),
        "--help",
    ]  # -S: nothing is editable
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(site.getsitepackages())}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name}.py ")


def test_a_new_process_runs_them():
    command = [sys.executable, "-m", "parser.commands", "evaluate", SAMPLE, SAMPLE]
    assert "100.00" in subprocess.check_output(command, text=True)


def test_an_installed_package_holds_settings_and_sample_and_no_scripts(tmp_path):
    find = PYPROJECT["tool"]["setuptools"]["packages"]["find"]
    found = find_namespace_packages(str(ROOT), include=find["include"])
    assert {name.partition(".")[0] for name in found} == {"parser", "oracles"}
    assert "parser.commands" in found
    build = [
        sys.executable,
        "setup.py",
        "--quiet",
        "egg_info",
        "--egg-base",
        tmp_path,
        "build_py",
        "--build-lib",
        tmp_path,
    ]
    subprocess.run(build, cwd=ROOT, check=True)
    shipped = {path.relative_to(tmp_path / "parser") for path in (tmp_path / "parser").rglob("*")}
    assert Path("py.typed") in shipped
    assert {
        Path("configs") / path.relative_to(ROOT / "configs")
        for path in (ROOT / "configs").rglob("*.yaml")
    } <= shipped
    assert {
        Path("data/sample") / path.name for path in (ROOT / "data" / "sample").glob("*.conllu")
    } <= shipped
    code = "from parser.settings.files import CONFIGS; print(CONFIGS)"
    where = subprocess.check_output(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}
    )
    assert where.decode().strip() == str(tmp_path / "parser" / "configs")
    module, _, function = PYPROJECT["project"]["scripts"]["optimal-step"].partition(":")
    assert (module, function) == ("parser.commands.__main__", "main")


def test_benchmarks_are_those_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(__main__, "_CHECKOUT", tmp_path)
    with pytest.raises(SystemExit, match="in a checkout of the source"):
        __main__.start("benchmark")


def test_help_names_the_command_that_was_called():
    # optimal-step, where that is installed
    assert optimal_step("benchmark", "serving", "--help").stdout.startswith(
        "usage: __main__.py benchmark serving "
    )
    assert forked.script("scripts/benchmark.py", "serving", "--help").stdout.startswith(
        "usage: benchmark.py serving "
    )


def test_a_parser_of_the_users_beside_a_script_is_not_ours(tmp_path):
    for name in ("scripts", "parser", "oracles"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "scripts").unlink()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "evaluate.py").write_bytes(
        (ROOT / "scripts" / "evaluate.py").read_bytes()
    )
    (tmp_path / "scripts" / "parser.py").write_text("raise SystemExit('the wrong one')\n")
    command = [sys.executable, str(tmp_path / "scripts" / "evaluate.py"), str(SAMPLE), str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
