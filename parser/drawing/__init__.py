"""Drawings of dependency trees, including a tree compared with a gold tree: text for terminals, and
SVG (html.py: pages).

A terminal shows a line for each word, with the arcs to the left of the words,
so that 40 words are 40 lines:

    ┌─> 1 det    DET   A
    └── 2 root   NOUN  hearing

Words stand at the ends of lines, where words of right-to-left scripts move nothing else. In SVG the
words are in a row, from right to left for such scripts, with arcs above them and missed gold arcs
below.

This package has no dependencies, because no library draws two trees of the same words in one
picture, which shows a parser's errors. displaCy (of spaCy) also sets words 175 pixels apart, so
that 40 words are 7,000 pixels wide and long words overlap; deplacy and udapi draw in the terminal.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, zip_longest
from math import inf
from pathlib import Path
from unicodedata import bidirectional, category, combining, east_asian_width

from parser.conllu.checks import DEPREL, EMPTY, FORM, UNKNOWN_HEAD, UPOS, ConlluError
from parser.conllu.stream import RawSentence, read_sentences, sent_id

# Words of a sentence; drawing longer ones takes seconds.
LONGEST = 400

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOX = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"  # by the sum of the directions in which a cell has a line
_RED, _PLAIN = "\x1b[31m", "\x1b[0m"


@dataclass(frozen=True)
class DrawnArc:
    """An arc of a tree, and how it compares with the gold tree.

    Attributes:
        head: the number of the head; 0 is the artificial root.
        child: the number of the child, from 1.
        kind: ``right``; ``wrong``: the gold tree has another arc or relation; ``missed``: a gold
            arc that is not in the tree.
    """

    head: int
    child: int
    deprel: str
    kind: str = "right"

    @property
    def span(self) -> tuple[int, int]:
        """Its ends, the lower number first."""
        return min(self.head, self.child), max(self.head, self.child)


@dataclass(frozen=True)
class DrawnTree:
    """A sentence of n words with one tree, or with a predicted and a gold one.

    Attributes:
        forms, tags: the words and their parts of speech.
        heads: [h_1, ..., h_n], 0 = the artificial root; UNKNOWN_HEAD if the head is not known,
            also in the gold tree.
        deprels: the relations.
        gold_heads, gold_deprels: the gold tree that the tree is compared with; None: there is none.
    """

    forms: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    deprels: Sequence[str]
    gold_heads: Sequence[int] | None = None
    gold_deprels: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.forms)

    def arcs(self) -> list[DrawnArc]:
        """Return the arcs of the tree, by child."""
        return [
            DrawnArc(head, child, deprel, "right" if self.is_right(child) else "wrong")
            for child, (head, deprel) in enumerate(zip(self.heads, self.deprels, strict=True), 1)
            if head != UNKNOWN_HEAD
        ]

    def missed(self) -> list[DrawnArc]:
        """Return the gold arcs that are not in the tree, by child; including those that the tree
        has with another relation.
        """
        if self.gold_heads is None or self.gold_deprels is None:
            return []
        gold = enumerate(zip(self.gold_heads, self.gold_deprels, strict=True), 1)
        return [
            DrawnArc(head, child, deprel, "missed")
            for child, (head, deprel) in gold
            if not self.is_right(child)
        ]

    def is_right(self, child: int) -> bool:
        """Return whether the word (from 1) has the head and the relation of the gold tree,
        if these are known.
        """
        if self.gold_heads is None or self.gold_deprels is None:
            return True
        i = child - 1
        same = self.heads[i] == self.gold_heads[i] and self.gold_deprels[i] in (
            self.deprels[i],
            EMPTY,
        )
        return same or self.gold_heads[i] == UNKNOWN_HEAD

    @property
    def right_to_left(self) -> bool:
        """Whether most letters are of a script that is written from right to left."""
        directions = [bidirectional(letter) for form in self.forms for letter in form]
        return sum(d in ("R", "AL") for d in directions) > sum(d == "L" for d in directions)


def levels(arcs: Sequence[DrawnArc]) -> list[int]:
    """Return the height of each arc, from 1: as low as possible,
    but above arcs under it or across it. O(n^2).
    """
    heights: dict[int, int] = {}
    for i in sorted(range(len(arcs)), key=lambda i: arcs[i].span[1] - arcs[i].span[0]):
        low, high = arcs[i].span
        below = [heights[j] for j in heights if arcs[j].span[0] < high and low < arcs[j].span[1]]
        heights[i] = 1 + max(below, default=0)
    return [heights[i] for i in range(len(arcs))]


def display_width(text: str) -> int:
    """Return the columns that text takes in a terminal: two for a wide character,
    none for a combining one.
    """
    return sum(
        0 if combining(c) or c == "\u200d" else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def printable(text: str) -> str:
    """Return text with a replacement character for control characters and lone surrogates, which
    terminals and XML cannot show.

    Spaces of all kinds become plain spaces.
    """
    return "".join(_shown(c) for c in text)


def _shown(character: str) -> str:
    if category(character) == "Zs":
        return " " * display_width(character)
    return character if character.isprintable() or character in "\u200c\u200d" else "\ufffd"


@dataclass(frozen=True)
class WordBox:
    """A box that a drawing puts around consecutive words.

    Attributes:
        label: the text below the box.
        first, last: the numbers of its first and last word, from 1.
    """

    label: str
    first: int
    last: int


@dataclass(frozen=True)
class NamedTree:
    """A tree with the number of its sentence, from 1, and its sent_id, which may be empty."""

    number: int
    sent_id: str
    tree: DrawnTree

    @property
    def title(self) -> str:
        """The title of its drawing; a sent_id that is only the number again is left out."""
        return f"sentence {self.number}" + (
            f", {self.sent_id}" if self.sent_id not in ("", str(self.number)) else ""
        )


def read_trees(path: str | Path, gold: str | Path | None = None) -> Iterator[NamedTree]:
    """Yield the trees of a file, each with the tree of the same sentence of a gold file,
    if there is one.

    Raises:
        ConlluError: a file is not CoNLL-U, HEAD is not a tree, or the files have other words.
    """
    for ours, golden in zip_longest(_sentences(path), _sentences(gold) if gold is not None else ()):
        if gold is not None and (
            ours is None or golden is None or ours.column(FORM) != golden.column(FORM)
        ):
            place = (ours or golden).place()
            raise ConlluError(
                f"{place}: {path} and {gold} have different words here; "
                "give two files of the same sentences"
            )
        against = () if golden is None else _heads_and_deprels(golden)
        tree = DrawnTree(ours.column(FORM), ours.column(UPOS), *_heads_and_deprels(ours), *against)
        yield NamedTree(ours.number, sent_id(ours.lines), tree)


def _sentences(path: str | Path) -> Iterator[RawSentence]:
    return (sentence for sentence in read_sentences(path) if len(sentence))


def _heads_and_deprels(sentence: RawSentence) -> tuple[list[int], list[str]]:
    return sentence.heads(several_roots=True, partial=True), sentence.column(DEPREL)


def as_text(tree: DrawnTree, color: bool = False) -> str:
    """Return the tree as lines of text; the line of a word with a wrong arc ends with the gold arc.

    ``color`` says whether such lines are red, by ANSI escape codes.
    """
    words = [""] + [printable(form) for form in tree.forms]
    number_width = len(str(len(tree)))
    deprel_width = max([0, *map(display_width, tree.deprels)])
    tag_width = max([0, *map(display_width, tree.tags)])
    gold = {arc.child: arc for arc in tree.missed()}
    lines = []
    arcs = [arc for arc in tree.arcs() if arc.head]
    for number, drawn in enumerate(_drawn(arcs, len(tree)), 1):
        deprel, tag = tree.deprels[number - 1], tree.tags[number - 1]
        line = (
            f"{drawn} {number:>{number_width}} {_padded(deprel, deprel_width)} "
            f" {_padded(tag, tag_width)}  {words[number]}"
        )
        if number in gold:
            right = gold[number]
            place = f" of {right.head} {words[right.head]}" if right.head else ""
            line = f"{line}   <- gold: {right.deprel}{place}"
            line = f"{_RED}{line}{_PLAIN}" if color else line
        lines.append(line.rstrip())
    return "\n".join(lines)


def _drawn(arcs: Sequence[DrawnArc], n: int) -> list[str]:
    """Return the arcs' part of the line of each of n words; the outermost arcs are on the left."""
    heights = levels(arcs)
    columns = max(heights, default=0)
    # an arc of height h has its vertical line in cell 2 (columns - h),
    # its arrow ends in the last cell
    width = 2 * columns + 1
    cells = [[0] * width for _ in range(n + 1)]
    for arc, height in zip(arcs, heights, strict=True):
        column = 2 * (columns - height)
        low, high = arc.span
        for row in range(low, high):
            cells[row][column] |= _DOWN
            cells[row + 1][column] |= _UP
        for row in (low, high):
            cells[row][column] |= _RIGHT
            for cell in range(column + 1, width):
                cells[row][cell] |= _LEFT | _RIGHT
    children = {arc.child for arc in arcs}
    lines = []
    for row in range(1, n + 1):
        line = "".join(_BOX[cell] for cell in cells[row])
        lines.append(line[:-1] + (">" if row in children else line[-1]))
    return lines


def _padded(text: str, width: int) -> str:
    return printable(text) + " " * (width - display_width(text))


# pixels of a column of text, forms and the smaller tags and relations
_LETTER, _TAG_LETTER = 9.0, 6.5
_GAP, _MARGIN = 16.0, 12.0  # between words, at the edges
_HEIGHT = 26.0  # from one level of arcs to the next
_WORDS = 40.0  # height of the line of words and tags
_BOX_LABEL = 22.0  # height of the line of labels of boxes
# Generous widths of the letters in relations, because fonts differ: wide letters, capitals, and one
# column of all others.
_WIDE, _WIDE_LETTER, _CAPITAL, _OTHER_LETTER = "mwMW@%&", 11.0, 8.6, 7.1
# room between a relation and the vertical lines of its own arc, and those of other arcs
_OWN, _CLEAR = 4.0, 8.0
_COLORS = {"right": "#3b4252", "wrong": "#c0392b", "missed": "#2471a3"}
_HEAD_COLOR = "#111"


def as_svg(tree: DrawnTree, boxes: Sequence[WordBox] = ()) -> str:
    """Return the tree as an SVG element, which needs only a common font and loads nothing.

    Arcs of the tree are grey, wrong arcs red. Gold arcs that are not in it are blue, below the
    words. Relations keep clear of the lines of other arcs. Boxes stand around the words that they
    name, which share no words.
    """
    above, below = tree.arcs(), tree.missed()
    heights = levels(above), levels(below)
    centers, width, ends, middles = _places(tree, above, below, heights)
    base = _MARGIN + _HEIGHT * (max(heights[0], default=0) + 1.3)
    under = base + _WORDS + (_BOX_LABEL if boxes else 0)
    bottom = under + (_HEIGHT * (max(heights[1]) + 1.3) if below else 0) + _MARGIN
    parts = [_svg(width, bottom), *(_box(box, tree, centers, base) for box in boxes)]
    # Without it, brackets would open to the wrong side,
    # and a full stop at the end of a word would stand before it.
    direction = ' direction="rtl"' if tree.right_to_left else ""
    for i, (form, tag) in enumerate(zip(tree.forms, tree.tags, strict=True), 1):
        color = _HEAD_COLOR if tree.is_right(i) else _COLORS["wrong"]
        parts.append(_text(centers[i], base + 17, form, 15, color, direction))
        parts.append(_text(centers[i], base + 33, tag, 11, "#777"))
    for arcs, arc_heights, start, side in (
        (above, heights[0], base, -1),
        (below, heights[1], under, 1),
    ):
        edge = start + side * _HEIGHT * (max(arc_heights, default=0) + 0.9)
        # The highest arcs first: only lines of higher arcs cross a relation,
        # whose white edge then covers them.
        down = sorted(
            zip(arcs, arc_heights, strict=True), key=lambda drawn: (drawn[0].head != 0, -drawn[1])
        )
        parts += [_arc(arc, height, ends, middles[arc], start, edge, side) for arc, height in down]
    return "\n".join([*parts, "</svg>"])


def _box(box: WordBox, tree: DrawnTree, centers: Sequence[float], base: float) -> str:
    """Return a box around words, with its label."""
    edges = [
        centers[word]
        + side * (_word_width(tree.forms[word - 1], tree.tags[word - 1]) / 2 + 0.4 * _GAP)
        for word in (box.first, box.last)
        for side in (-1, 1)
    ]
    left, right = min(edges), max(edges)
    size = f'width="{right - left:.1f}" height="{_WORDS:.1f}" rx="4"'
    frame = f'<rect x="{left:.1f}" y="{base:.1f}" {size} fill="none" stroke="#999"/>'
    return frame + _text((left + right) / 2, base + _WORDS + 16, box.label, 12, "#555")


def _svg(width: float, height: float) -> str:
    w, h = f"{width:.0f}", f"{height:.0f}"
    fonts = "DejaVu Sans, Noto Sans, Helvetica, Arial, sans-serif"
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}"'
    )
    return f'{start} font-family="{fonts}">'


def _places(
    tree: DrawnTree,
    above: Sequence[DrawnArc],
    below: Sequence[DrawnArc],
    heights: tuple[Sequence[int], Sequence[int]],
) -> tuple[list[float], float, dict[tuple[DrawnArc, int], float], dict[DrawnArc, float]]:
    """Return the middle of each word, the width, the ends of arcs (see _ends()),
    and the middle of each arc's relation.

    A relation stands in the middle of its arc, or beside the middle if the vertical line of another
    arc passes there. Where the arc has no room for it, two words under the arc move apart, until
    all relations have room.
    """
    widths = {arc: _label_width(arc.deprel) for arc in (*above, *below)}
    wider = [0.0] * (len(tree) + 1)  # by word, further room before it
    while True:
        centers, width = _centers(tree, widths, wider)
        ends = _ends([*above, *below], centers)
        middles: dict[DrawnArc, float] = {}
        lacking: dict[int, float] = {}
        for arcs, arc_heights in ((above, heights[0]), (below, heights[1])):
            tops = [
                height if arc.head else inf for arc, height in zip(arcs, arc_heights, strict=True)
            ]
            lines = sorted(
                (ends[a, word], word, top)
                for a, top in zip(arcs, tops, strict=True)
                for word in a.span
                if word
            )
            for arc, top in zip(arcs, tops, strict=True):
                middles[arc] = ends[arc, arc.child]
                if arc.head:
                    left, right = sorted((ends[arc, word], word) for word in arc.span)
                    between = lines[bisect(lines, (*left, inf)) : bisect_left(lines, (*right, 0))]
                    higher = [(x, word) for x, word, other_top in between if other_top > top]
                    middles[arc], missing, word = _label_place(widths[arc], left, higher, right)
                    lacking[word] = max(lacking.get(word, 0.0), missing)
            for before, after in pairwise([arc for arc in arcs if not arc.head]):
                room = abs(middles[after] - middles[before]) - (widths[before] + widths[after]) / 2
                lacking[after.child] = max(lacking.get(after.child, 0.0), _CLEAR - room)
        if not any(missing > 0 for missing in lacking.values()):
            return centers, width, ends, middles
        for word, missing in lacking.items():
            wider[word] += max(0.0, missing)


def _label_width(deprel: str) -> float:
    letters = printable(deprel)
    wide = sum(c in _WIDE for c in letters)
    capitals = sum(c.isupper() and c not in _WIDE for c in letters)
    return (
        _WIDE_LETTER * wide
        + _CAPITAL * capitals
        + _OTHER_LETTER * (display_width(letters) - wide - capitals)
    )


def _label_place(
    width: float,
    left: tuple[float, int],
    between: Sequence[tuple[float, int]],
    right: tuple[float, int],
) -> tuple[float, float, int]:
    """Return the middle of an arc's relation, how much more room it needs there, and the word that
    must move to make room.

    Args:
        width: the width of the relation.
        left, right: where the arc has its ends, and the words there.
        between: where vertical lines of other arcs cross the arc,
            and the words that they lead to, from left to right.
    """
    center = (left[0] + right[0]) / 2
    places: list[float] = []
    lacking, word = inf, 0
    for before, after in pairwise([left, *between, right]):
        low = before[0] + (_OWN if before == left else _CLEAR)
        high = after[0] - (_OWN if after == right else _CLEAR)
        if high - low >= width:
            places.append(min(max(center, low + width / 2), high - width / 2))
        elif before[1] != after[1] and width - (high - low) < lacking:
            lacking, word = width - (high - low), max(before[1], after[1])
    if places:
        return min(places, key=lambda place: abs(place - center)), 0.0, word
    return center, lacking + 0.1, word


def _centers(
    tree: DrawnTree, labels: Mapping[DrawnArc, float], wider: Sequence[float]
) -> tuple[list[float], float]:
    """Return the middle of each word, from 1, and the width;
    neighbours leave room for a relation between them.

    Args:
        labels: the widths of the relations of all arcs.
        wider: the further room before each word.
    """
    widths = [_word_width(form, tag) for form, tag in zip(tree.forms, tree.tags, strict=True)]
    centers = [0.0]
    at = _MARGIN
    between = {arc.span: _TAG_LETTER * display_width(arc.deprel) + 22 for arc in labels}
    roots = {arc.child: width / 2 + 2 for arc, width in labels.items() if not arc.head}
    total = 0.0
    for i, width in enumerate(widths, 1):
        center = max(at + width / 2, roots.get(i, 0.0))
        if i > 1:
            center = max(center, centers[-1] + between.get((i - 1, i), 0.0)) + wider[i]
        centers.append(center)
        at = center + width / 2 + _GAP
        total = max(total, at - _GAP + _MARGIN, center + roots.get(i, 0.0))
    if tree.right_to_left:
        centers = [0.0] + [total - center for center in centers[1:]]
    return centers, total


def _word_width(form: str, tag: str) -> float:
    return max(_LETTER * display_width(form), _TAG_LETTER * display_width(tag), 12.0)


def _ends(arcs: Sequence[DrawnArc], centers: Sequence[float]) -> dict[tuple[DrawnArc, int], float]:
    """Return where an arc meets a word, by arc and word: arcs to the same side stand next to one
    another, long ones inside.
    """
    ends = {}
    for kinds in (("right", "wrong"), ("missed",)):
        for word in range(1, len(centers)):
            here = [arc for arc in arcs if arc.kind in kinds and word in (arc.head, arc.child)]
            direction = {
                arc: centers[arc.head + arc.child - word] - centers[word] if arc.head else 0.0
                for arc in here
            }
            to_left = sorted((a for a in here if direction[a] < 0), key=lambda a: -direction[a])
            to_right = sorted((a for a in here if direction[a] > 0), key=lambda a: -direction[a])
            # From left to right: arcs to the left, the nearest first; then arcs to the right,
            # the furthest first.
            order = [*to_left, *(a for a in here if not a.head), *to_right]
            for place, arc in enumerate(order):
                ends[arc, word] = centers[word] + 5.0 * (place - (len(order) - 1) / 2)
    return ends


def _arc(
    arc: DrawnArc,
    height: int,
    ends: dict[tuple[DrawnArc, int], float],
    middle: float,
    base: float,
    edge: float,
    side: int,
) -> str:
    """Return an arc with its relation, as a group that names the child;
    the arc of the root is a line from the edge.

    ``middle`` is the middle of the relation; ``side`` is -1 above the words, 1 below them.
    """
    color = _COLORS[arc.kind]
    dashes = ' stroke-dasharray="5 3"' if arc.kind == "missed" else ""
    end = ends[arc, arc.child]
    if arc.head:
        start = ends[arc, arc.head]
        level = base + side * _HEIGHT * (height + 0.3)
        bend = min(10.0, abs(end - start) / 2) * (1 if end > start else -1)
        turn = -side * 10.0
        path = (
            f"M{start:.1f},{base:.1f} V{level + turn:.1f} Q{start:.1f},{level:.1f} "
            f"{start + bend:.1f},{level:.1f} H{end - bend:.1f} Q{end:.1f},{level:.1f} "
            f"{end:.1f},{level + turn:.1f} V{base:.1f}"
        )
    else:
        level = edge
        path = f"M{end:.1f},{edge:.1f} V{base:.1f}"
    line = f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4"{dashes}/>'
    relation = _text(middle, level + (-4 if side < 0 else 12), arc.deprel, 11, color)
    return f'<g data-child="{arc.child}">{line}{_head(end, base, side, color)}{relation}</g>'


def _head(x: float, y: float, side: int, color: str) -> str:
    return f'<path d="M{x:.1f},{y:.1f} l-3.5,{7 * side} h7 z" fill="{color}"/>'


def _text(x: float, y: float, text: str, size: int, color: str, attributes: str = "") -> str:
    start = f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="middle"{attributes}'
    end = f">{escape(printable(text))}</text>"
    # A white edge behind it lets a relation be read where an arc crosses it.
    edge = (
        f'{start} stroke="#fff" stroke-width="4" stroke-linejoin="round"{end}' if size == 11 else ""
    )
    return f'{edge}{start} fill="{color}"{end}'
