"""Makes tables and pictures of pages from the code and the settings; mkdocs.yml calls it while the site is built.

A page requests one by a line: {{ configuration }}, {{ oracles }}, {{ systems }}, or {{ tree FILE }}, a drawn tree.
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
    """Return the text of a page with its tables and pictures."""
    return _PLACE.sub(lambda match: MAKERS[match[1]](*([match[2]] if match[2] else [])), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Mark what docs/site.css keeps in one line: identifiers and numbers in tables, options in commands."""
    html = _TABLE.sub(lambda table: _whole(table[0]), html)
    return _COMMANDS.sub(lambda block: _mark(_HYPHENATED, block[0]), html)


def _whole(table: str) -> str:
    table = _CODE.sub(lambda code: _mark(_WORD, code[0]), table)
    return table.replace(" ± ", "\xa0±\xa0").replace(" / ", "\xa0/ ")


def _mark(words: str, html: str) -> str:
    """Put each match outside tags into an element that is kept in one line."""
    return re.sub(f"<[^>]*>|({words})", lambda found: f'<span class="whole">{found[0]}</span>' if found[1] else found[0], html)


def on_post_page(output: str, **_: Any) -> str:
    """Remove the attribute for which the theme's script would ask the repository's host for its number of stars."""
    return output.replace(' data-md-component="source"', "")


def on_post_template(output_content: str, **_: Any) -> str:
    """Do the same for the page for addresses that are not found."""
    return on_post_page(output_content)


def configuration() -> str:
    """Return tables of all keys, with their defaults and explanations."""
    parts = ["### Choices that set other keys\n", "| key, value | what it can be |\n|---|---|"]
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
    """Return the table of oracles."""
    rows = []
    for name in oracles.all_names():
        kind = oracles.oracle_class(name)
        trees = "projective" if kind.needs_projective_gold else "any"
        rows.append(f"| `{name}` | `{kind.system}` | {trees} | {_cell(kind.complexity)} | {_cell(kind.source)} |")
    return "\n".join(["| oracle | system | gold trees | time | source |\n|---|---|---|---|---|", *rows])


def system_table() -> str:
    """Return the table of transition systems and their oracles."""
    rows = []
    for name in transitions.names():
        kind = transitions.system_class(name)
        trees = "projective" if kind.projective else "also non-projective"
        rows.append(f"| `{name}` | {trees} | {', '.join(f'`{oracle}`' for oracle in kind.oracles)} |")
    return "\n".join(["| system | trees that it makes | oracles, the default first |\n|---|---|---|", *rows])


def tree(file: str) -> str:
    """Return a drawing of the first tree of a file of docs/."""
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
