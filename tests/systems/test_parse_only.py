"""What requirements/parse.txt names is all that parsing needs:
no other distribution can be imported here.
"""

import os
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from subprocess import CompletedProcess, Popen

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.forgery import small_linear_model, small_model
from tests.text.tiny_tokenizer import TEXT, save_tiny_tokenizer
from tests.toy import ROOT, sentence, write_conllu

PARSE, SERVE = ROOT / "requirements" / "parse.txt", ROOT / "requirements" / "serve.txt"

# A sitecustomize.py, which every process imports that has its folder on PYTHONPATH.
_WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None

sys.meta_path.insert(0, Without())
"""

# Modules that need more, or lie in a package that does.
NEED_MORE = {
    "parser.networks",
    "parser.settings",
    "parser.training",
    "parser.commands.fetch_treebanks",
    "parser.commands.settings_help",
    "parser.commands.train",
    "parser.commands.train_tokenizer",
    "parser.commands.train_treebanks",
    "parser.kernels.torch_products",
    "parser.library.noun_chunks",
    "parser.library.spacy_component",
    "parser.model.trained_model",
    "parser.serving.app",
}


def requirements(path: Path) -> Iterator[Requirement]:
    """Those of a file, and of the files that it includes."""
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            yield from requirements(path.parent / text.removeprefix("-r "))
        elif text:
            yield Requirement(text)


@cache
def other_packages(path: Path) -> frozenset[str]:
    """Return the packages of this environment that belong to no distribution which the file brings,
    and not to this project.
    """
    allowed, waiting = {"optimal-step"}, [one.name for one in requirements(path)]
    while waiting:
        if (name := canonicalize_name(waiting.pop())) not in allowed:
            allowed.add(name)
            needed = map(Requirement, distribution(name).requires or [])
            waiting += [
                one.name
                for one in needed
                if one.marker is None or one.marker.evaluate({"extra": ""})
            ]
    found = packages_distributions().items()
    return frozenset(
        name
        for name, owners in found
        if not {canonicalize_name(owner) for owner in owners} & allowed
    )


def process(folder: Path, path: Path, *command: str | Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a Python
    that has only what a file of requirements brings.
    """
    site = folder / "site"
    site.mkdir(exist_ok=True)
    code = _WITHOUT.format(names=set(other_packages(path)))
    (site / "sitecustomize.py").write_text(code, encoding="utf-8", newline="\n")
    return [sys.executable, *map(str, command)], os.environ | {
        "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])
    }


def python(folder: Path, *command: str | Path) -> CompletedProcess[str]:
    """Return what such a Python prints."""
    words, environment = process(folder, PARSE, *command)
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Models of all kinds, a tokenizer, trees and text."""
    made: Path = tmp_path_factory.mktemp("parse_only")
    for kind in ("static", "contextual", "text", "lemmas"):
        small_model(kind).save(made / kind)
    small_linear_model().save(made / "linear")
    write_conllu(made / "trees.conllu", [sentence([2, 0, 2]), sentence([0, 1, 1, 3])])
    (made / "text.txt").write_text(TEXT, encoding="utf-8", newline="\n")
    return made


def test_the_versions_are_those_of_the_whole_framework():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    whole = [*map(Requirement, [*project["dependencies"], *extras["serve"]])]
    assert [one for one in requirements(SERVE) if one not in whole] == []


def test_modules_that_need_more_are_known(folder):
    code = """
import importlib, pkgutil, sys
import oracles, parser
for package in (oracles, parser):
    name = package.__name__ + "."
    for module in pkgutil.walk_packages(package.__path__, name, onerror=lambda name: None):
        if module.name != "parser.commands.__main__":
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                print(module.name, error.name)
"""
    done = python(folder, "-c", code)
    assert done.returncode == 0, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    within = {
        module: [known for known in NEED_MORE if f"{module}.".startswith(f"{known}.")]
        for module in found
    }
    assert {module: found[module] for module, known in within.items() if not known} == {}
    assert {known for places in within.values() for known in places} == NEED_MORE


# In one process, as each takes seconds to load what it needs.
_COMMANDS = """
import sys
from parser.commands.__main__ import start

for line in open("commands"):
    name, *sys.argv[1:] = line.split()
    try:
        start(name)
    except SystemExit as end:
        assert not end.code, (line, end.code)
"""


def test_files_and_text_are_parsed_and_other_commands_than_training_need_no_more(folder):
    save_tiny_tokenizer(folder / "text")
    (folder / "in").mkdir()
    (folder / "in" / "a.conllu").write_bytes((folder / "trees.conllu").read_bytes())
    ways = ["static", "static --beam 2 --threads 2", "contextual", "contextual --int8", "linear"]
    ways += ["text --beam 2 --rerank --tags fill", "lemmas --tags overwrite --int8"]
    parsed = {f"{number}.conllu": way.split() for number, way in enumerate(ways)}
    lines = [
        f"parse {way[0]} trees.conllu {' '.join(way[1:])} -o {file}" for file, way in parsed.items()
    ]
    lines.append("parse_many static in/*.conllu -o out --workers 1")
    lines = [f"{line} --allow-missing-columns" for line in lines]
    lines += [
        "parse text text.txt --text -o text.conllu",
        "evaluate trees.conllu out/a.conllu --by relation",
    ]
    lines += ["projectivize trees.conllu", "draw trees.conllu --gold out/a.conllu"]
    (folder / "commands").write_text("\n".join(lines), encoding="utf-8")
    done = python(folder, "-c", _COMMANDS)
    assert done.returncode == 0, done.stderr
    roots = {
        file: (folder / file).read_text(encoding="utf-8").count("\troot\t")
        for file in (*parsed, "text.conllu")
    }
    assert roots == dict.fromkeys(parsed, 2) | {"text.conllu": 3}


def test_the_library_parses_words_and_text_and_a_device_needs_torch(folder):
    code = f"""
from parser import Parser
parser = Parser.load("text")
assert len(parser.parse([["a", "b"]])) == 1
print(len(parser.parse_text({TEXT!r})))
Parser.load("static", device="cuda")
"""
    save_tiny_tokenizer(folder / "text")
    library = python(folder, "-c", code)
    assert library.stdout == "3\n", library.stderr
    assert "ModelError: device=cuda needs torch, which is not installed" in library.stderr


def test_a_model_is_served(folder):
    pytest.importorskip("fastapi", reason="FastAPI is not installed (extra serve)")
    words, environment = process(
        folder, SERVE, "-m", "parser.commands", "serve", "contextual", "--port", "0"
    )
    with Popen(
        words, env=environment, cwd=folder, stderr=subprocess.PIPE, encoding="utf-8"
    ) as server:
        assert server.stderr is not None
        try:
            lines = []
            for line in server.stderr:  # the first one may say that kernels are compiled
                lines.append(line)
                if " at http://" in line:
                    break
            told = lines[-1]
            assert " at http://" in told, lines
            address = told.split(" at ")[1].split()[0]
            with urllib.request.urlopen(f"{address}models") as answer:
                assert b"contextual" in answer.read()
        finally:
            server.terminate()


@pytest.mark.parametrize(
    "start",
    [["-m", "parser.commands", "train"], [ROOT / "scripts" / "train.py"]],
    ids=["module", "script"],
)
def test_training_says_in_one_line_what_to_install(folder, start):
    done = python(folder, *start, "treebank=sample")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "needs hydra, which is not installed" in done.stderr
    assert "pip install" in done.stderr
