"""A tree for the terminal: a line for each word, the arcs to the left of the words, so that 40 words are 40 lines.

    ┌─> 1 det    DET   A
    └── 2 root   NOUN  hearing

The words stand at the ends of the lines, where those of right-to-left scripts change the place of nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from parser.drawing.drawn_tree import DrawnArc, DrawnTree, display_width, levels, printable

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOX = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"  # by the sum of the directions in which a cell has a line
_RED, _PLAIN = "\x1b[31m", "\x1b[0m"


def as_text(tree: DrawnTree, color: bool = False) -> str:
    """The tree as lines of text; a word whose arc is wrong says so, and what would be right.

    Args:
        tree: the tree.
        color: whether to print such words in red, by ANSI escape codes.
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
        line = f"{drawn} {number:>{number_width}} {_padded(deprel, deprel_width)}  {_padded(tag, tag_width)}  {words[number]}"
        if number in gold:
            right = gold[number]
            place = f" of {right.head} {words[right.head]}" if right.head else ""
            line = f"{line}   <- gold: {right.deprel}{place}"
            line = f"{_RED}{line}{_PLAIN}" if color else line
        lines.append(line.rstrip())
    return "\n".join(lines)


def _drawn(arcs: Sequence[DrawnArc], n: int) -> list[str]:
    """For each of n words, the part of its line that the arcs take; the outermost arcs on the left."""
    heights = levels(arcs)
    columns = max(heights, default=0)
    width = 2 * columns + 1  # an arc of height h has its vertical line in cell 2 (columns - h), its arrow ends in the last cell
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
