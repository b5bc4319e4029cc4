"""A confusion matrix as SVG: a row for each gold relation, the share of its words that got each relation as darkness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape

from parser.drawing.drawn_tree import display_width, printable

_CELL = 30.0
_LETTER = 7.0
_OTHERS = "(others)"
_RIGHT, _WRONG, _GREY = "#2471a3", "#c0392b", "#888888"


def confusion_svg(counts: Mapping[tuple[str, str], int], most: int = 20) -> str:
    """The matrix of the most frequent gold relations; what else there is of relations is one row and column.

    Args:
        counts: by gold relation and relation of the system, how many words.
        most: how many relations have a row of their own.
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
    edge = 16 + _LETTER * max((display_width(name) for name in names), default=0)
    size = edge + _CELL * len(names) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size:.0f}" height="{size:.0f}" viewBox="0 0 {size:.0f} {size:.0f}"'
        ' font-family="DejaVu Sans, Noto Sans, Helvetica, Arial, sans-serif" font-size="11">'
    ]
    for i, name in enumerate(names):
        at = edge + _CELL * (i + 0.5)
        label = escape(printable(name))
        parts.append(f'<text x="{edge - 6:.1f}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
        parts.append(f'<text transform="translate({at + 4:.1f},{edge - 6:.1f}) rotate(-90)">{label}</text>')
    for row, gold in enumerate(names):
        total = sum(merged[gold, system] for system in names)
        for column, system in enumerate(names):
            if n := merged[gold, system]:
                color = _WRONG if gold != system else _GREY if gold == _OTHERS else _RIGHT
                parts.append(_cell(edge + _CELL * column, edge + _CELL * row, n, n / total, color))
    frame = f'<rect x="{edge:.1f}" y="{edge:.1f}" width="{_CELL * len(names):.1f}" height="{_CELL * len(names):.1f}"'
    return "\n".join([*parts, f'{frame} fill="none" stroke="#999"/>', "</svg>"])


def _cell(x: float, y: float, n: int, share: float, color: str) -> str:
    dark = min(1.0, 4 * share) if color == _WRONG else share  # a tenth of a row that is wrong is to be seen
    ink = "#fff" if dark > 0.5 else "#222"
    number = str(n) if n < 10_000 else f"{n // 1000}k"
    box = f'<rect x="{x:.1f}" y="{y:.1f}" width="{_CELL}" height="{_CELL}" fill="{color}" fill-opacity="{dark:.2f}"/>'
    text = f'<text x="{x + _CELL / 2:.1f}" y="{y + _CELL / 2 + 3:.1f}" font-size="9" text-anchor="middle" fill="{ink}">'
    return f"{box}{text}{number}</text>"
