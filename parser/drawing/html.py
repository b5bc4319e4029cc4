"""Pages of HTML that need nothing from anywhere else: style and pictures are in the file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from parser.drawing.drawn_tree import DrawnTree, printable
from parser.drawing.svg import as_svg

_STYLE = """
body { font: 15px/1.5 "DejaVu Sans", "Noto Sans", Helvetica, Arial, sans-serif; margin: 2em auto; max-width: 72em;
       padding: 0 1em; color: #222; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; } h3 { font-size: 1em; margin: 1.5em 0 .3em; }
table { border-collapse: collapse; margin: .5em 0 1em; } th, td { padding: .15em .7em; border-bottom: 1px solid #ddd; }
th { text-align: left; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
.tree, .wide { overflow-x: auto; } .note { color: #666; } pre { overflow-x: auto; background: #f6f6f6; padding: .7em; }
.bar { display: inline-block; height: .7em; background: #8fb3d9; }
.right { color: #3b4252; } .wrong { color: #c0392b; } .missed { color: #2471a3; }
"""

LEGEND = (
    '<p class="note">Above the words are the arcs of the parser: <span class="right">right</span>, or '
    '<span class="wrong">wrong</span> in head or relation. Below them are the <span class="missed">gold arcs that it missed'
    "</span>.</p>"
)


def page(title: str, parts: Iterable[str]) -> str:
    """A page of parts that are HTML already; the title is text."""
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{text(title)}</title>\n'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{text(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def drawing(tree: DrawnTree, title: str = "") -> str:
    """A tree with a title; a wide one scrolls by itself."""
    direction = ' dir="rtl"' if tree.right_to_left else ""
    heading = f"<h3>{text(title)}</h3>\n" if title else ""
    return f'{heading}<div class="tree"{direction}>{as_svg(tree)}</div>'


@dataclass(frozen=True)
class Percentage:
    """A percentage, which a table shows as a bar, too."""

    value: float


Cell = str | float | int | Percentage


def table(head: Iterable[str], rows: Iterable[Iterable[Cell]]) -> str:
    """A table of texts and numbers; numbers that are not whole have two decimals."""
    titles = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="wide"><table>\n<tr>{titles}</tr>\n{body}\n</table></div>'


def text(plain: str) -> str:
    """Plain text as HTML."""
    return escape(printable(plain))


def _cell(value: Cell) -> str:
    if isinstance(value, str):
        return f"<td>{text(value)}</td>"
    if isinstance(value, Percentage):
        return f'<td class="number"><span class="bar" style="width: {value.value / 20:.2f}em"></span> {value.value:.2f}</td>'
    return f'<td class="number">{value:,}</td>' if isinstance(value, int) else f'<td class="number">{value:.2f}</td>'
