"""One name, one class; a docstring says what is done, rather than where that is said; and the
glossary names what there is.
"""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.toy import ROOT

PACKAGES = ("parser", "oracles", "scripts", "experiments")
FUNCTIONAL = {
    "Enum",
    "IntEnum",
    "StrEnum",
    "NamedTuple",
    "namedtuple",
    "TypedDict",
    "make_dataclass",
}


def classes_of(code: str) -> Iterator[str]:
    """Yield the names of classes, those included that are made by a call:
    ``Keep = StrEnum("Keep", ...)``.
    """
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in FUNCTIONAL
            and node.args
        ):
            yield ast.literal_eval(node.args[0])


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_no_two_classes_have_one_name():
    places = defaultdict(list)
    for path in files():
        for name in classes_of(path.read_text(encoding="utf-8")):
            places[name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_classes_made_by_a_call_are_counted():
    assert [*classes_of('class A: pass\nB = StrEnum("B", ["x"])\nC = int("3")')] == ["A", "B"]


def test_no_docstring_begins_with_see():
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    found = [
        f"{path.relative_to(ROOT)}:{node.body[0].lineno}"
        for path in [*files(), *sorted((ROOT / "tests").rglob("*.py"))]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, documented) and (ast.get_docstring(node) or "").startswith("See ")
    ]
    assert found == []


def test_the_glossary_names_classes_that_are_there():
    names = re.findall(
        r"`([A-Z][a-z]\w+)`", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    )
    assert len(names) >= 40
    classes = {name for path in files() for name in classes_of(path.read_text(encoding="utf-8"))}
    assert {*names} - classes == set()


def test_public_methods_say_what_they_do_or_a_base_class_does():
    """As ruff's D102, which does not know what is inherited."""
    for path in files():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            methods = [
                inside
                for inside in node.body
                if isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            bare = [
                one.name
                for one in methods
                if not one.name.startswith("_") and ast.get_docstring(one) is None
            ]
            if bare:
                found = getattr(
                    importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)),
                    node.name,
                )
                assert [name for name in bare if not inspect.getdoc(getattr(found, name))] == [], (
                    path,
                    node.name,
                )
