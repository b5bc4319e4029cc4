"""SVG: trees, and the confusion matrix of relations.

Of a tree words are in a row, arcs above them, missed gold arcs below; scripts from right to left run from right to left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from parser.drawing.drawn_tree import DrawnArc, DrawnTree, display_width, levels, printable

_LETTER, _TAG_LETTER = 9.0, 6.5  # pixels of a column of text, forms and the smaller tags and relations
_GAP, _MARGIN = 16.0, 12.0  # between words, at the edges
_HEIGHT = 26.0  # from one level of arcs to the next
_WORDS = 40.0  # height of the line of words and tags
_COLORS = {"right": "#3b4252", "wrong": "#c0392b", "missed": "#2471a3"}
_HEAD_COLOR = "#111"


def as_svg(tree: DrawnTree) -> str:
    """The tree as an SVG element; it needs no font but a common one, and nothing from anywhere else.

    Arcs of the tree are grey, and red where the gold tree has another; the gold ones that it lacks are blue, below the words.
    """
    above, below = tree.arcs(), tree.missed()
    centers, width = _centers(tree, above + below)
    heights = levels(above), levels(below)
    base = _MARGIN + _HEIGHT * (max(heights[0], default=0) + 1.3)
    bottom = base + _WORDS + (_HEIGHT * (max(heights[1]) + 1.3) if below else 0) + _MARGIN
    w, h = f"{width:.0f}", f"{bottom:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
        ' font-family="DejaVu Sans, Noto Sans, Helvetica, Arial, sans-serif">'
    ]
    # Else brackets would open to the wrong side, and a point at the end of a word would stand before it.
    direction = ' direction="rtl"' if tree.right_to_left else ""
    for i, (form, tag) in enumerate(zip(tree.forms, tree.tags, strict=True), 1):
        color = _HEAD_COLOR if tree.is_right(i) else _COLORS["wrong"]
        parts.append(_text(centers[i], base + 17, form, 15, color, direction))
        parts.append(_text(centers[i], base + 33, tag, 11, "#777"))
    ends = _ends(above + below, centers)
    for arcs, of_arcs, start, side in ((above, heights[0], base, -1), (below, heights[1], base + _WORDS, 1)):
        edge = start + side * _HEIGHT * (max(of_arcs, default=0) + 0.9)
        # The highest first: the lines that cross a relation are those of higher arcs, and its white edge has to cover them.
        down = sorted(zip(arcs, of_arcs, strict=True), key=lambda drawn: (drawn[0].head != 0, -drawn[1]))
        parts += [_arc(arc, height, ends, start, edge, side) for arc, height in down]
    return "\n".join([*parts, "</svg>"])


def _centers(tree: DrawnTree, arcs: Sequence[DrawnArc]) -> tuple[list[float], float]:
    """Where the middle of each word is, from 1; and the width. Words stand apart as far as relations between them need."""
    widths = [
        max(_LETTER * display_width(form), _TAG_LETTER * display_width(tag), 12.0)
        for form, tag in zip(tree.forms, tree.tags, strict=True)
    ]
    centers = [0.0]
    at = _MARGIN
    labels = {arc.span: _TAG_LETTER * display_width(arc.deprel) + 22 for arc in arcs}
    for i, width in enumerate(widths, 1):
        center = at + width / 2
        if i > 1:
            center = max(center, centers[-1] + labels.get((i - 1, i), 0.0))
        centers.append(center)
        at = center + width / 2 + _GAP
    total = at - _GAP + _MARGIN
    if tree.right_to_left:
        centers = [0.0] + [total - center for center in centers[1:]]
    return centers, total


def _ends(arcs: Sequence[DrawnArc], centers: Sequence[float]) -> dict[tuple[DrawnArc, int], float]:
    """By arc and end (a word), where it meets the word: arcs that go the same way stand beside each other, long ones inside."""
    found = {}
    for kinds in (("right", "wrong"), ("missed",)):
        for word in range(1, len(centers)):
            here = [arc for arc in arcs if arc.kind in kinds and word in (arc.head, arc.child)]
            direction = {arc: centers[arc.head + arc.child - word] - centers[word] if arc.head else 0.0 for arc in here}
            to_left = sorted((a for a in here if direction[a] < 0), key=lambda a: -direction[a])
            to_right = sorted((a for a in here if direction[a] > 0), key=lambda a: -direction[a])
            # From left to right: those to the left, the nearest first; then those to the right, the furthest first.
            order = [*to_left, *(a for a in here if not a.head), *to_right]
            for place, arc in enumerate(order):
                found[arc, word] = centers[word] + 5.0 * (place - (len(order) - 1) / 2)
    return found


def _arc(arc: DrawnArc, height: int, ends: dict[tuple[DrawnArc, int], float], base: float, edge: float, side: int) -> str:
    """An arc with its relation, a group that names the child; ``side`` is -1 above the words and 1 below them. That from the
    root is a line from the edge."""
    color = _COLORS[arc.kind]
    dashes = ' stroke-dasharray="5 3"' if arc.kind == "missed" else ""
    label = printable(arc.deprel)
    level = base + side * _HEIGHT * (height + 0.3)
    if not arc.head:
        x = ends[arc, arc.child]
        line = f'<path d="M{x:.1f},{edge:.1f} V{base:.1f}" fill="none" stroke="{color}" stroke-width="1.4"{dashes}/>'
        return _group(arc, line + _head(x, base, side, color) + _text(x, edge + (-4 if side < 0 else 12), label, 11, color))
    start, end = ends[arc, arc.head], ends[arc, arc.child]
    bend = min(10.0, abs(end - start) / 2) * (1 if end > start else -1)
    turn = -side * 10.0
    path = (
        f"M{start:.1f},{base:.1f} V{level + turn:.1f} Q{start:.1f},{level:.1f} {start + bend:.1f},{level:.1f}"
        f" H{end - bend:.1f} Q{end:.1f},{level:.1f} {end:.1f},{level + turn:.1f} V{base:.1f}"
    )
    line = f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4"{dashes}/>'
    middle = (start + end) / 2
    label_at = middle, level + (-4 if side < 0 else 12)
    return _group(arc, line + _head(end, base, side, color) + _text(*label_at, label, 11, color))


def _group(arc: DrawnArc, parts: str) -> str:
    return f'<g data-child="{arc.child}">{parts}</g>'


def _head(x: float, y: float, side: int, color: str) -> str:
    return f'<path d="M{x:.1f},{y:.1f} l-3.5,{7 * side} h7 z" fill="{color}"/>'


def _text(x: float, y: float, text: str, size: int, color: str, attributes: str = "") -> str:
    start = f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="middle"{attributes}'
    end = f">{escape(printable(text))}</text>"
    # A white edge behind it lets a relation be read where an arc crosses it.
    edge = f'{start} stroke="#fff" stroke-width="4" stroke-linejoin="round"{end}' if size == 11 else ""
    return f'{edge}{start} fill="{color}"{end}'


# Of a matrix.
_CELL = 30.0
_LABEL_LETTER = 7.0  # pixels of a column of text
_OTHERS = "(others)"
_RIGHT, _WRONG, _GREY = "#2471a3", "#c0392b", "#888888"


def confusion_svg(counts: Mapping[tuple[str, str], int], most: int = 20) -> str:
    """A confusion matrix of the most frequent gold relations; what else there is of relations is one row and column.

    A row for each gold relation: the share of its words that got each relation, as darkness.

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
    edge = 16 + _LABEL_LETTER * max((display_width(name) for name in names), default=0)
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
