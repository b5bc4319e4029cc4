"""A trace for the terminal and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parser.drawing.drawn_tree import DrawnTree, display_width, printable
from parser.drawing.html import drawing, table, text
from parser.reports.trace import GoldTree, JudgedTransition, Step, Trace

# What textbooks call transitions: an arc is named for the side of its child.
_TEXTBOOK = {"reduce_left": "RIGHT-ARC", "reduce_right": "LEFT-ARC", "la": "LEFT-ARC", "ra": "RIGHT-ARC", "re": "REDUCE"}
_TEXTBOOK |= {"un": "UNSHIFT", "na": "NO-ARC"}
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
            *([] if step.other is None else [f"  other   {' '.join(_word(forms, node) for node in step.other)}"]),
            f"  buffer  {' '.join(buffer)}{f' ... {more} more' if more else ''}".rstrip(),
            *_aligned([_head(step), *(_row(step, i, forms) for i in range(len(step.transitions)))]),
            *(f"  {said}" for said in (_calibrated(step), _lost(step)) if said),
        ]
        paragraphs.append("\n".join(lines))
    return "\n\n".join([*paragraphs, _summary(trace), *legend(trace)]) + "\n"


def as_html(trace: Trace, tree: DrawnTree) -> list[str]:
    """The tree and the steps; html.SCRIPT shows the steps one at a time."""
    return [f"<p>{text(_summary(trace))}</p>", steps_as_html(trace, tree)]


def steps_as_html(trace: Trace, tree: DrawnTree) -> str:
    """The tree, a legend, and a section for each step, which names the words that have a head after it."""
    forms = tree.forms
    parts = ['<div class="steps">', drawing(tree)]
    parts += ["<p hidden><button>previous</button> <button>next</button> The tree is the one after the step.</p>"]
    made = ""
    for number, step in enumerate(trace.steps, 1):
        taken = step.transitions[step.taken]
        if taken.child is not None and taken.head == trace.heads[taken.child - 1]:  # and not undone later (arc_eager)
            made = f"{made} {taken.child}".lstrip()
        stack = " ".join(_word(forms, node) for node in step.stack)
        other = "" if step.other is None else " ".join(_word(forms, node) for node in step.other)
        other = other and f"&nbsp; other stack: <b>{text(other)}</b> "
        buffer = " ".join(_word(forms, node) for node in step.buffer)
        parts += [
            f'<section data-made="{made}"><h3>step {number} of {len(trace.steps)}</h3>',
            f"<p>stack: <b>{text(stack)}</b> {other}&nbsp; buffer: <b>{text(buffer) or '-'}</b></p>",
            table(_head(step), (_row(step, i, forms) for i in range(len(step.transitions)))),
        ]
        if said := _calibrated(step):
            parts.append(f"<p>{text(said)}</p>")
        if said := _lost(step):
            parts.append(f'<p class="wrong">{text(said)}</p>')
        parts.append("</section>")
    return "\n".join([*parts, *(f'<p class="note">{text(said)}</p>' for said in legend(trace)), "</div>"])


def legend(trace: Trace) -> list[str]:
    """What the columns of a trace mean, a paragraph each."""
    first = trace.steps[0]
    said = [
        "*: the transition that is taken. The top of the stack is on its right, the front of the buffer on its left. In "
        "brackets is the textbook name: LEFT-ARC makes an arc to a child on the left, RIGHT-ARC on the right."
    ]
    if first.lost is not None:
        said.append("gold arcs: how many arcs of the gold tree can still be made after the transition, its own included.")
    if first.transitions[0].raw_probability is not None:
        said.append(
            "of all: the probability among all labelled transitions, by the classifier's softmax. of allowed: the same among "
            "those that can be taken here; the parser takes the highest. Neither is calibrated."
        )
        said.append(
            "calibrated: how probable it is that head and relation of the arc are right, as measured on the dev part."
            if any(step.calibrated is not None for step in trace.steps)
            else "This model has no calibrated probabilities, for it was trained without a dev part of sufficient size."
        )
    return said


def _calibrated(step: Step) -> str:
    return "" if step.calibrated is None else f"calibrated: {step.calibrated:.4f} that this arc is right"


def _lost(step: Step) -> str:
    return f"lost: {step.lost} gold {'arc' if step.lost == 1 else 'arcs'}" if step.lost else ""


def _summary(trace: Trace) -> str:
    lost = [step.lost for step in trace.steps]
    if any(number is None for number in lost):
        return f"{len(trace.steps)} steps"
    wrong = sum(bool(number) for number in lost)
    return f"{len(trace.steps)} steps, {wrong} of them not optimal; {sum(filter(None, lost))} gold arcs lost"


def _head(step: Step) -> list[str]:
    judged = ["of all", "of allowed"] if step.transitions[0].raw_probability is not None else []
    scored = ["gold arcs"] if step.lost is not None else []
    return ["", "transition", "arc", "relation", *scored, *judged]


def _row(step: Step, i: int, forms: Sequence[str]) -> list[str]:
    transition: JudgedTransition = step.transitions[i]
    arc = (
        f"{_word(forms, transition.head)} -> {_word(forms, transition.child)}"
        if transition.head is not None and transition.child is not None
        else ""
    )
    book = _TEXTBOOK.get(transition.name.rstrip("0123456789"))
    name = transition.name if book is None else f"{transition.name} ({book})"
    cells = ["*" if i == step.taken else "", name, arc, transition.relation or ""]
    if step.lost is not None:
        cells.append("" if transition.gold_arcs is None else str(transition.gold_arcs))
    if transition.raw_probability is not None:
        allowed = "not allowed" if transition.probability is None else f"{transition.probability:.4f}"
        cells += [f"{transition.raw_probability:.4f}", allowed]
    return cells


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(display_width(row[c]) for row in rows) for c in range(len(rows[0]))]
    for row in rows:
        cells = (cell + " " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True))
        yield ("  " + "  ".join(cells)).rstrip()


def _word(forms: Sequence[str], node: int) -> str:
    return f"{printable(forms[node - 1])}_{node}" if node else "ROOT"
