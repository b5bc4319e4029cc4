"""A trace for the terminal and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parser.drawing.drawn_tree import DrawnTree, display_width, printable
from parser.drawing.html import drawing, table, text
from parser.reports.trace import GoldTree, Step, Trace, Transition

_SHOWN = 8  # words of the buffer in a line of the terminal


def drawn(trace: Trace, forms: Sequence[str], tags: Sequence[str], gold: GoldTree | None) -> DrawnTree:
    """The tree of the trace, against the gold one if there is one."""
    against = (gold.heads, gold.deprels) if gold is not None else (None, None)
    return DrawnTree(forms, tags, trace.heads, trace.deprels, *against)


def as_text(trace: Trace, forms: Sequence[str]) -> str:
    """A paragraph for each step: stack, buffer, and a line for each transition; an asterisk marks the one that is taken."""
    paragraphs = []
    for number, step in enumerate(trace.steps, 1):
        buffer = [_word(forms, node) for node in step.buffer[:_SHOWN]]
        more = len(step.buffer) - len(buffer)
        lines = [
            f"step {number}",
            f"  stack   {' '.join(_word(forms, node) for node in step.stack)}",
            f"  buffer  {' '.join(buffer)}{f' ... {more} more' if more else ''}",
            *_aligned([_head(step), *(_row(step, i, forms) for i in range(len(step.transitions)))]),
        ]
        if step.lost:
            lines.append(f"  lost: {step.lost} gold {'arc' if step.lost == 1 else 'arcs'}")
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs) + f"\n\n{_summary(trace)}\n"


def as_html(trace: Trace, tree: DrawnTree) -> list[str]:
    """The tree, and a part of a page for each step."""
    return [drawing(tree), f"<p>{text(_summary(trace))}</p>", *steps_as_html(trace, tree.forms)]


def steps_as_html(trace: Trace, forms: Sequence[str]) -> list[str]:
    """A part of a page for each step."""
    parts = []
    for number, step in enumerate(trace.steps, 1):
        stack = " ".join(_word(forms, node) for node in step.stack)
        buffer = " ".join(_word(forms, node) for node in step.buffer)
        parts += [
            f"<h3>step {number}</h3>",
            f"<p>stack: <b>{text(stack)}</b> &nbsp; buffer: <b>{text(buffer) or '-'}</b></p>",
            table(_head(step), (_row(step, i, forms) for i in range(len(step.transitions)))),
        ]
        if step.lost:
            parts.append(f'<p class="wrong">lost: {step.lost} gold {"arc" if step.lost == 1 else "arcs"}</p>')
    return parts


def _summary(trace: Trace) -> str:
    lost = [step.lost for step in trace.steps]
    if any(number is None for number in lost):
        return f"{len(trace.steps)} steps"
    wrong = sum(bool(number) for number in lost)
    return f"{len(trace.steps)} steps, {wrong} of them not optimal; {sum(filter(None, lost))} gold arcs lost"


def _head(step: Step) -> list[str]:
    judged = ["probability"] if step.transitions[0].probability is not None else []
    scored = ["gold arcs"] if step.transitions[0].gold_arcs is not None else []
    return ["", "transition", "arc", "relation", *scored, *judged]


def _row(step: Step, i: int, forms: Sequence[str]) -> list[str]:
    transition: Transition = step.transitions[i]
    arc = (
        f"{_word(forms, transition.head)} -> {_word(forms, transition.child)}"
        if transition.head is not None and transition.child is not None
        else ""
    )
    cells = ["*" if i == step.taken else "", transition.name, arc, transition.relation or ""]
    if transition.gold_arcs is not None:
        cells.append(str(transition.gold_arcs))
    if transition.probability is not None:
        cells.append(f"{transition.probability:.4f}")
    return cells


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(display_width(row[c]) for row in rows) for c in range(len(rows[0]))]
    for row in rows:
        cells = (cell + " " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True))
        yield ("  " + "  ".join(cells)).rstrip()


def _word(forms: Sequence[str], node: int) -> str:
    return f"{printable(forms[node - 1])}_{node}" if node else "ROOT"
