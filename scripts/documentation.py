"""Called by mkdocs.yml while the site is built: makes the tables and pictures of pages from the code and the settings.

A page requests one by a line of its own: {{ configuration }}, {{ oracles }}, {{ systems }}, or {{ tree FILE }}, a tree drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oracles
from parser import transitions
from parser.drawing.drawn_tree import read_trees
from parser.drawing.svg import as_svg
from parser.settings.overrides import keys

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"

# The files that say what keys are for; a key is explained by the first one that has it, and its value there is shown.
SECTIONS = {
    "Of every run": ("train.yaml", "treebank/sample.yaml"),
    "Set by the recipe": ("recipe/paper.yaml",),
    "Of model=mlp": ("model/mlp.yaml",),
    "Of model=bilstm": ("model/bilstm.yaml", "recipe_model/text_bilstm.yaml"),
    "Of model=linear": ("model/linear.yaml",),
    "Set by the beam": ("beam/none.yaml", "beam/global.yaml"),
}
# Those of the defaults list.
GROUPS = ("treebank", "recipe", "model", "system", "beam", "oracle")
_LINE = re.compile(r"( *)(?:- +(?:optional +|override +)?)?([\w/]+): *([^#]*?) *(?:# *(.*))?")
_PLACE = re.compile(r"^\{\{ (\w+)(?: (\S+))? \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page with everything that it asks for."""
    return _PLACE.sub(lambda match: MAKERS[match[1]](*([match[2]] if match[2] else [])), markdown)


def schema_keys() -> list[str]:
    """The keys of all settings, with any choice of the groups, but those of the columns of Table 7."""
    return [key.name for key in keys().values() if not key.is_group and key.name != "table7"]


def explained(path: Path) -> dict[str, tuple[str, str]]:
    """By key of a file of settings: its value there, and what its comment says; a comment may go on in lines of its own."""
    found: dict[str, tuple[str, str]] = {}
    parents: list[tuple[int, str]] = []
    package = "beam." if path.parent.name == "beam" else "treebank." if path.parent.name == "treebank" else ""
    last = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r" {20,}#", line) and last:
            value, comment = found[last]
            found[last] = value, f"{comment} {line.strip().lstrip('# ')}"
            continue
        match = _LINE.fullmatch(line)
        if match is None or line.startswith("#"):
            continue
        indent, name, value, comment = len(match[1]), match[2], match[3], match[4] or ""
        parents = [(depth, parent) for depth, parent in parents if depth < indent]
        way = [parent for _, parent in parents if parent != "defaults"]
        if not value:
            parents.append((indent, name))
        last = package + ".".join([*way, name])
        if last not in found or (comment and not found[last][1]):
            found[last] = value, comment
    return found


def configuration() -> str:
    """Tables of all keys: what each is by default, and what it is for."""
    known = schema_keys()
    groups = explained(CONFIGS / "train.yaml")
    parts = ["## Choices that set others\n", "| key | value | what it can be |\n|---|---|---|"]
    parts += [f"| `{key}` | `{groups[key][0]}` | {_cell(groups[key][1])} |" for key in GROUPS]
    parts.append("")
    done = set(GROUPS)
    for title, files in SECTIONS.items():
        rows = []
        for file in files:
            of_file = explained(CONFIGS / file)
            for key in known:
                if key in of_file and key not in done:
                    value, comment = of_file[key]
                    done.add(key)
                    shown = "that of `column`" if "table7" in value else f"`{_cell(value)}`" if value else ""
                    rows.append(f"| `{key}` | {shown} | {_cell(comment)} |")
        parts += [f"## {title}\n", "| key | value | what it is |\n|---|---|---|", *rows, ""]
    return "\n".join(parts)


def oracle_table() -> str:
    """The oracles by transition system."""
    rows = []
    for name in oracles.all_names():
        of = oracles.oracle_class(name)
        trees = "projective" if of.needs_projective_gold else "any"
        rows.append(f"| `{name}` | `{of.system}` | {trees} | {_cell(of.complexity)} | {_cell(of.source)} |")
    return "\n".join(["| oracle | system | gold trees | time | source |\n|---|---|---|---|---|", *rows])


def system_table() -> str:
    """The transition systems with their oracles."""
    rows = []
    for name in transitions.names():
        of = transitions.system_class(name)
        trees = "projective" if of.projective else "non-projective, too"
        rows.append(f"| `{name}` | {trees} | {', '.join(f'`{oracle}`' for oracle in of.oracles)} |")
    return "\n".join(["| system | trees that it makes | oracles, the default first |\n|---|---|---|", *rows])


def tree(file: str) -> str:
    """The first tree of a file of docs/, drawn."""
    drawn = next(read_trees(ROOT / "docs" / file)).tree
    return f'<div style="overflow-x: auto; background: #fff">{as_svg(drawn)}</div>'.replace("\n", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").strip()


MAKERS: dict[str, Callable[..., str]] = {
    "configuration": configuration,
    "oracles": oracle_table,
    "systems": system_table,
    "tree": tree,
}
