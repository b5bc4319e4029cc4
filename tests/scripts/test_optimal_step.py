"""The command optimal-step, what an installed package holds, and how commands are found."""

import os
import subprocess
import sys
import tomllib
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
    assert unknown.stderr == f"error: there is no command 'prase'; the commands are {', '.join(COMMANDS)}\n"
    done = optimal_step("--version")
    assert (done.returncode, done.stdout) == (0, f"optimal-step {PYPROJECT['project']['version']}\n")


def test_a_new_process_runs_them():
    command = [sys.executable, "-m", "parser.commands", "evaluate", SAMPLE, SAMPLE]
    assert "100.00" in subprocess.check_output(command, text=True)


def test_an_installed_package_holds_settings_and_sample_and_no_scripts(tmp_path):
    find = PYPROJECT["tool"]["setuptools"]["packages"]["find"]
    found = find_namespace_packages(str(ROOT), include=find["include"])
    assert {name.partition(".")[0] for name in found} == {"parser", "oracles"}
    assert "parser.commands" in found
    build = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", tmp_path, "build_py", "--build-lib", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True)
    shipped = {path.relative_to(tmp_path / "parser") for path in (tmp_path / "parser").rglob("*")}
    assert Path("py.typed") in shipped
    assert {Path("configs") / path.relative_to(ROOT / "configs") for path in (ROOT / "configs").rglob("*.yaml")} <= shipped
    assert {Path("data/sample") / path.name for path in (ROOT / "data" / "sample").glob("*.conllu")} <= shipped
    code = "from parser.settings.files import CONFIGS; print(CONFIGS)"
    where = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert where.decode().strip() == str(tmp_path / "parser" / "configs")
    module, _, function = PYPROJECT["project"]["scripts"]["optimal-step"].partition(":")
    assert (module, function) == ("parser.commands.__main__", "main")


def test_benchmarks_are_those_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(__main__, "_CHECKOUT", tmp_path)
    with pytest.raises(SystemExit, match="in a checkout of the source"):
        __main__.start("benchmark")


def test_help_names_the_command_that_was_called():
    # optimal-step, where that is installed
    assert optimal_step("benchmark", "serving", "--help").stdout.startswith("usage: __main__.py benchmark serving ")
    assert forked.script("scripts/benchmark.py", "serving", "--help").stdout.startswith("usage: benchmark.py serving ")


def test_a_parser_of_the_users_beside_a_script_is_not_ours(tmp_path):
    for name in ("scripts", "parser", "oracles"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "scripts").unlink()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "evaluate.py").write_bytes((ROOT / "scripts" / "evaluate.py").read_bytes())
    (tmp_path / "scripts" / "parser.py").write_text("raise SystemExit('the wrong one')\n")
    command = [sys.executable, str(tmp_path / "scripts" / "evaluate.py"), str(SAMPLE), str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
