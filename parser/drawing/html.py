"""Pages of HTML in one file, which holds style and pictures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

from parser.drawing import DrawnTree, as_svg, printable

_STYLE = """
body { font: 15px/1.5 "DejaVu Sans", "Noto Sans", Helvetica, Arial, sans-serif; margin: 2em auto;
       max-width: 72em; padding: 0 1em; color: #222; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; }
h3 { font-size: 1em; margin: 1.5em 0 .3em; }
table { border-collapse: collapse; margin: .5em 0 1em; }
th, td { padding: .15em .7em; border-bottom: 1px solid #ddd; }
th { text-align: left; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.tree, .wide { overflow-x: auto; } .note { color: #666; }
pre { overflow-x: auto; background: #f6f6f6; padding: .7em; }
nav ul { padding-left: 1.2em; } .bar { display: inline-block; height: .7em; background: #8fb3d9; }
@media (max-width: 40em) { th, td { white-space: nowrap; } }
.right { color: #3b4252; } .wrong { color: #c0392b; } .missed { color: #2471a3; }
"""

# The script of a page shows the steps of a computation one at a time, with the arcs made before,
# and serves the copy buttons. Without it, the page shows all steps below the whole tree.
SCRIPT = """
for (const box of document.querySelectorAll(".steps")) {
  const steps = [...box.querySelectorAll("section")], end = box.querySelector(".end");
  const [back, on] = box.querySelectorAll("button");
  let at = 0;
  const show = () => {
    const made = at ? steps[at - 1].dataset.made.split(" ") : [], ended = at === steps.length;
    steps.forEach((step, i) => { step.hidden = i !== at; });
    end.hidden = !ended;
    for (const arc of box.querySelectorAll("g[data-child]"))
      arc.style.visibility = ended || made.includes(arc.dataset.child) ? "visible" : "hidden";
    back.disabled = at === 0;
    on.disabled = ended;
  };
  back.onclick = () => { at -= 1; show(); };
  on.onclick = () => { at += 1; show(); };
  back.parentNode.hidden = false;
  show();
}
for (const button of document.querySelectorAll("button[data-copy]")) {
  const part = button.closest(".sentence").querySelector(button.dataset.copy);
  const plain = () =>
    part.tagName === "PRE" ? part.textContent : new XMLSerializer().serializeToString(part);
  const mark = () => { button.textContent += " \u2713"; };
  button.onclick = () => navigator.clipboard.writeText(plain()).then(mark);
  button.hidden = !navigator.clipboard;
}
"""

LEGEND = (
    '<p class="note">Above the words are the arcs of the parser: <span class="right">right</span>,'
    ' or <span class="wrong">wrong</span> in head or relation. Below them are the <span'
    ' class="missed">gold arcs that it missed</span>.</p>'
)


def page(title: str, parts: Iterable[str], script: str = "") -> str:
    """Return a page of parts in HTML; the title is plain text. A script runs at the end."""
    body = "\n".join([*parts, *([f"<script>{script}</script>"] if script else [])])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{text(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body>\n<h1>{text(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def drawing(tree: DrawnTree, title: str = "") -> str:
    """Return a tree with a title; a wide tree has its own scroll bar."""
    direction = ' dir="rtl"' if tree.right_to_left else ""
    heading = f"<h3>{text(title)}</h3>\n" if title else ""
    return f'{heading}<div class="tree"{direction}>{as_svg(tree)}</div>'


def heading(title: str) -> str:
    """Return the heading of a section, which contents() lists."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f'<a id="{name}"></a>\n<h2>{text(title)}</h2>'


_HEADING = re.compile(r'<a id="([^"]*)"></a>\n<h2>(.*?)</h2>')


def contents(parts: Iterable[str], groups: Iterable[str] = ()) -> str:
    """Return a list of links to the sections of a page.

    Args:
        parts: the parts of the page, with their headings.
        groups: beginnings of titles; sections whose titles begin with the same one share a line.
    """
    lines: dict[str, list[str]] = {}
    for name, title in _HEADING.findall("\n".join(parts)):
        group = next((group for group in groups if title.startswith(f"{group} ")), "")
        link = f'<a href="#{name}">{title.removeprefix(group).lstrip()}</a>'
        begins = f"{group} " if group and group not in lines else ""
        lines.setdefault(group or title, []).append(begins + link)
    items = "\n".join(f"<li>{', '.join(links)}</li>" for links in lines.values())
    return f'<nav aria-label="contents">\n<ul>\n{items}\n</ul></nav>'


@dataclass(frozen=True)
class Percentage:
    """A percentage, which a table shows as a number and a bar."""

    value: float


Cell = str | float | int | Percentage
_OTHERS = "(others)"


def table(head: Iterable[str], rows: Iterable[Iterable[Cell]]) -> str:
    """Return a table of texts and numbers, or a note if it has no rows;
    numbers of type float have two decimals.
    """
    titles = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if not body:
        return '<p class="note">none</p>'
    return f'<div class="wide"><table>\n<tr>{titles}</tr>\n{body}\n</table></div>'


def confusion_table(counts: Mapping[tuple[str, str], int], most: int = 20) -> str:
    """Return a confusion matrix of the most frequent gold relations;
    all other relations share one row and column.

    The larger the share of the row's words (gold relation) that got the column's relation, the
    darker is the cell.

    Args:
        counts: words by gold relation and relation of the system.
        most: the number of relations that have their own row.
    """
    frequency: Counter[str] = Counter()
    for (gold, _), n in counts.items():
        frequency[gold] += n
    names = [name for name, _ in frequency.most_common(most)]
    merged: Counter[tuple[str, str]] = Counter()
    for pair, n in counts.items():
        gold, system = (name if name in names else _OTHERS for name in pair)
        merged[gold, system] += n
    if any(_OTHERS in pair for pair in merged):
        names.append(_OTHERS)
    head = "".join(f'<th style="writing-mode: vertical-rl">{text(name)}</th>' for name in names)
    shades = ["".join(_shade(merged, gold, name, names) for name in names) for gold in names]
    rows = [f"<tr><th>{text(gold)}</th>{row}</tr>" for gold, row in zip(names, shades, strict=True)]
    body = "\n".join(rows)
    return f'<div class="wide"><table>\n<tr><th></th>{head}</tr>\n{body}\n</table></div>'


def _shade(counts: Counter[tuple[str, str]], gold: str, system: str, names: Iterable[str]) -> str:
    n, total = counts[gold, system], sum(counts[gold, name] for name in names)
    if not n:
        return "<td></td>"
    color = "192 57 43" if gold != system else "136 136 136" if gold == _OTHERS else "36 113 163"
    # makes a tenth of a row visible if it is wrong
    dark = n / total if gold == system else min(1.0, 4 * n / total)
    ink = "#fff" if dark > 0.5 else "#222"
    return (
        f'<td class="number" style="background: rgb({color} / {dark:.0%}); color: {ink}">{n:,}</td>'
    )


def text(plain: str) -> str:
    """Return plain text as HTML."""
    return escape(printable(plain))


def _cell(value: Cell) -> str:
    if isinstance(value, str):
        return f"<td>{text(value)}</td>"
    if isinstance(value, Percentage):
        width, shown = value.value / 20, f"{value.value:.2f}"
        # Numbers are aligned to the right of the cell; the margin aligns the bars to its left.
        margin = f"margin-right: calc({5 - width:.2f}em + {len('100.00') - len(shown)}ch)"
        return (
            f'<td class="number"><span class="bar" style="width: {width:.2f}em; {margin}"></span>'
            f" {shown}</td>"
        )
    return (
        f'<td class="number">{value:,}</td>'
        if isinstance(value, int)
        else f'<td class="number">{value:.2f}</td>'
    )
