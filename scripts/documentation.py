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
from parser.commands.settings_help import groups, sections
from parser.drawing import as_svg, read_trees

ROOT = Path(__file__).resolve().parents[1]

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_CODE = re.compile(r"(?<=<code>)[^<]+")
_WORD = r"[^\s<>]+"
_COMMANDS = re.compile(r'<div class="language-(?:sh|powershell) highlight">.*?</div>', re.DOTALL)
_HYPHENATED = r"(?<=[\s>])[^\s<>]{0,20}-[^\s<>]{0,20}(?=[\s<])"
_PLACE = re.compile(r"^\{\{ (\w+)(?: (\S+))? \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page with everything that it asks for."""
    return _PLACE.sub(lambda match: MAKERS[match[1]](*([match[2]] if match[2] else [])), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """The page with what docs/site.css keeps in one line: identifiers and numbers in tables, options in commands."""
    html = _TABLE.sub(lambda table: _whole(table[0]), html)
    return _COMMANDS.sub(lambda block: _mark(_HYPHENATED, block[0]), html)


def _whole(table: str) -> str:
    table = _CODE.sub(lambda code: _mark(_WORD, code[0]), table)
    return table.replace(" ± ", "\xa0±\xa0").replace(" / ", "\xa0/ ")


def _mark(words: str, html: str) -> str:
    """With each match outside tags within an element that is kept whole."""
    return re.sub(f"<[^>]*>|({words})", lambda found: f'<span class="whole">{found[0]}</span>' if found[1] else found[0], html)


def on_post_page(output: str, **_: Any) -> str:
    """The page without the attribute for which the theme's script would ask the repository's host how many stars it has."""
    return output.replace(' data-md-component="source"', "")


def on_post_template(output_content: str, **_: Any) -> str:
    """The same of the page for what is not found."""
    return on_post_page(output_content)


def configuration() -> str:
    """Tables of all keys: what each is by default, and what it is for."""
    parts = ["### Choices that set others\n", "| key, value | what it can be |\n|---|---|"]
    parts += [f"| `{group}` <br> =&nbsp;`{choice}` | {_cell(comment)} |" for group, choice, comment in groups()]
    parts.append("")
    for title, rows in sections():
        parts += [f"### {title}\n", "| key, value | what it is |\n|---|---|"]
        for key, value, comment in rows:
            shown = "that of `column`" if "table7" in value else f"`{_cell(value)}`"
            parts.append(f"| `{key}`{f' <br> =&nbsp;{shown}' if value else ''} | {_cell(comment)} |")
        parts.append("")
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
