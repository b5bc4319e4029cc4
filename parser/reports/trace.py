"""A computation of one sentence step by step, as text for the terminal and as HTML.

With a model, it is the model's computation. Without a model, it is a gold computation, which takes
the optimal transition that comes first in the system's eager order. The oracle's score of a
transition is how many gold arcs can still be made if it is taken, its own included (Nederhof 2019,
Section 4); a transition loses the difference to the best score.

A step lists labelled transitions, each a transition with one relation,
because the classifier chooses from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oracles import NOT_APPLICABLE, BoundOracle, Oracle, Trees
from parser.conllu.checks import EMPTY
from parser.data.attributes import AttributeColumns
from parser.data.sentences import NO_NODE
from parser.drawing import DrawnTree, display_width, printable
from parser.drawing.html import LEGEND, drawing, table, text
from parser.inference.calibration import Calibration
from parser.inference.precomputed import precomputed_scorer
from parser.model.model import NetworkModel
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best, log_probabilities, query, required_root_relation
from parser.transitions.system import Transitions, TransitionSystem

_ARC_STANDARD = ("shift", "reduce_left", "reduce_right")  # the paper's names
_WITHOUT_ARC = {"sh": "shift", "sw": "swap"}
# Textbook names of transitions: an arc is named for the side of its child.
_TEXTBOOK = {
    "reduce_left": "RIGHT-ARC",
    "reduce_right": "LEFT-ARC",
    "la": "LEFT-ARC",
    "ra": "RIGHT-ARC",
    "re": "REDUCE",
    "na": "NO-ARC",
}
_SHOWN = 8  # words of the buffer in a line of the terminal
# how many labelled transitions of a step are listed, allowed or not, and their lowest probability
_TOP, _LEAST = 5, 0.0001


@dataclass(frozen=True)
class JudgedTransition:
    """A labelled transition.

    Attributes:
        head, child: the arc that it makes; None if it makes no arc, or cannot be taken here.
        relation: the relation of the arc: with a model the relation that it scores, otherwise the
            gold relation of the child.
        gold_arcs: how many gold arcs can still be made after it, its own included;
            None without gold tree.
        raw_probability: its probability in the classifier's softmax over all labelled transitions
            that it scores; None without a classifier.
        probability: its probability in the softmax over the allowed ones; None if this one is not
            allowed, and without a classifier.
    """

    name: str
    head: int | None
    child: int | None
    relation: str | None
    gold_arcs: int | None
    raw_probability: float | None = None
    probability: float | None = None


@dataclass(frozen=True)
class Step:
    """A configuration and the transition taken there.

    Attributes:
        stack: a_0..a_k, the top last.
        buffer: the tokens of the buffer, in order.
        transitions: the applicable transitions. With a model: its most probable labelled
            transitions, allowed or not, the most probable first; every applicable transition is
            there at least once.
        taken: the index of the transition that is taken, the most probable of those allowed.
        lost: the gold arcs that it loses; None without gold tree.
        calibrated: from 0 to 1, the probability that head and relation of the arc are right, as the
            library gives it; None if no arc is made, or there is no calibrated model.
    """

    stack: list[int]
    buffer: list[int]
    transitions: list[JudgedTransition]
    taken: int
    lost: int | None
    calibrated: float | None = None


@dataclass(frozen=True)
class Trace:
    """The steps of a computation and the tree that it makes: heads [h_1, ...,
    h_n] and relations.
    """

    steps: list[Step]
    heads: list[int]
    deprels: list[str]


@dataclass(frozen=True)
class GoldTree:
    """A gold tree: heads [h_1, ..., h_n], 0 = the artificial root, UNKNOWN_HEAD = not known;
    and relations.
    """

    heads: Sequence[int]
    deprels: Sequence[str]


def gold_trace(
    gold: GoldTree, relations: Sequence[str], system: TransitionSystem, oracle: Oracle
) -> Trace:
    """Return a gold computation.

    Args:
        gold: the gold tree; some heads may be missing if the oracle allows that.
        relations: the system's relations, by number, including the gold relations.
        oracle: an oracle of this system.

    Raises:
        NonProjectiveGoldError, OptimalStepError: the oracle does not take the tree.
    """
    bound = oracle.bind(Trees.from_heads([gold.heads], partial=True))
    now, at = system.initial(np.array([len(gold.heads)])), np.zeros(1, np.int64)
    steps = []
    while len(system.unfinished(now)):
        transitions = system.transitions(now, at)
        scores = _edges(bound, now)
        order = system.eager_order(len(scores))
        column = int(next(c for c in order if scores[c] == scores.max()))
        steps.append(_step(now, transitions, oracle, scores, column, gold=gold))
        child = int(transitions.children[0, column])
        relation = relations.index(gold.deprels[child - 1]) if child != NO_NODE else NO_NODE
        system.apply(
            now, at, transitions, np.array([column], np.int32), np.array([relation], np.int32)
        )
    return _trace(steps, now, relations)


def model_trace(
    model: NetworkModel,
    words: AttributeColumns,
    n: int,
    oracle: Oracle,
    gold: GoldTree | None = None,
) -> Trace:
    """Return the computation of a model.

    Args:
        words: the columns of the sentence.
        n: the number of words.
        oracle: an oracle of the model's system; it scores the transitions if there is a gold tree.
        gold: the gold tree, if there is one.

    Raises:
        NonProjectiveGoldError, OptimalStepError: the oracle does not take the tree.
    """
    system, relations = model.system, model.relations.symbols
    sentences = model.vocabularies.encode([words])
    # the scorer that parsing uses
    scorer = precomputed_scorer(model.frozen().weights, model.table, sentences)
    bound = None if gold is None else oracle.bind(Trees.from_heads([gold.heads], partial=True))
    now, at = system.initial(np.array([n])), np.zeros(1, np.int64)
    steps = []
    while len(system.unfinished(now)):
        transitions = system.transitions(now, at, single_root=True)
        outputs = scorer(
            model.table.extract(now, at, sentences, np.zeros(1, np.int32), transitions)
        )
        columns, chosen = best(system, outputs, transitions, single_root=True)
        edges = None if bound is None else _edges(bound, now)
        scored = _scored(system, relations, transitions, outputs)
        step = _step(now, transitions, oracle, edges, int(columns[0]), scored=scored)
        if chosen[0] != NO_NODE and model.calibration != Calibration():
            arc = log_probabilities(system, outputs, transitions, columns, chosen, single_root=True)
            step = replace(step, calibrated=float(model.calibration(arc)[0]))
        steps.append(step)
        system.apply(now, at, transitions, columns, chosen)
    return _trace(steps, now, relations)


def _edges(bound: BoundOracle, now: Configurations) -> np.ndarray:
    """Return int[transitions]: the gold arcs that can be made after each transition,
    or NOT_APPLICABLE.
    """
    scores = bound.score_batch(query(np.zeros(1, np.int32), now))[0]
    return np.where(scores == NOT_APPLICABLE, scores, scores // bound.gold_weight)


@dataclass(frozen=True)
class _ScoredTransition:
    """A labelled transition, by column and relation, with its probabilities;
    see JudgedTransition.
    """

    column: int
    relation: str | None
    raw_probability: float
    probability: float | None


def _scored(
    system: TransitionSystem,
    relations: Sequence[str],
    transitions: Transitions,
    outputs: np.ndarray,
) -> list[_ScoredTransition]:
    """Return all labelled transitions that have a score, the most probable first;
    ties are in the order of best().
    """
    root = required_root_relation(system, single_root=True)
    labelled, scores, allowed = [], [], []
    for column, row in enumerate(transitions.rows[0].tolist()):
        if row == NO_NODE and transitions.starts is not None:
            continue  # no feature row, so no scores
        block, head = transitions.blocks[0, column], transitions.heads[0, column]
        size = int(system.block_sizes[block])
        for relation in range(size):
            labelled.append((column, relations[relation] if size > 1 else None))
            scores.append(float(outputs[max(row, 0), system.block_starts[block] + relation]))
            free = head == NO_NODE or root == NO_NODE or (head == 0) == (relation == root)
            allowed.append(row != NO_NODE and free)
    odds = np.exp(np.array(scores) - max(scores))
    highest = max(score for score, may in zip(scores, allowed, strict=True) if may)
    allowed_odds = np.where(allowed, np.exp(np.minimum(np.array(scores) - highest, 0.0)), 0.0)
    raw, restricted = (odds / odds.sum()).tolist(), (allowed_odds / allowed_odds.sum()).tolist()
    return [
        _ScoredTransition(*labelled[i], raw[i], restricted[i] if allowed[i] else None)
        for i in sorted(range(len(labelled)), key=lambda i: -scores[i])
    ]


def _listed(scored: Sequence[_ScoredTransition]) -> list[_ScoredTransition]:
    """Return the first few, and the first labelled one of each applicable transition."""
    seen: set[int] = set()
    listed = []
    for place, transition in enumerate(scored):
        if (place < _TOP and transition.raw_probability >= _LEAST) or (
            transition.probability is not None and transition.column not in seen
        ):
            listed.append(transition)
        if transition.probability is not None:
            seen.add(transition.column)
    return listed


def _step(
    now: Configurations,
    transitions: Transitions,
    oracle: Oracle,
    edges: np.ndarray | None,
    column: int,
    *,
    gold: GoldTree | None = None,
    scored: Sequence[_ScoredTransition] | None = None,
) -> Step:
    """Return the step in which the transition of a column is taken; with a model,
    with its most probable relation.
    """
    names = (
        oracle.transition_names if len(oracle.transition_names) == transitions.rows.shape[1] else ()
    )
    if oracle.system == "arc_standard":
        names = _ARC_STANDARD
    applicable = np.flatnonzero(transitions.rows[0] != NO_NODE).tolist()

    def transition(
        c: int,
        relation: str | None = None,
        raw: float | None = None,
        probability: float | None = None,
    ) -> JudgedTransition:
        head, child = int(transitions.heads[0, c]), int(transitions.children[0, c])
        has_arc = child != NO_NODE
        name = names[c] if names else ("la" if head > child else "ra") if has_arc else "shift"
        if has_arc and gold is not None:
            relation = gold.deprels[child - 1]
        arcs = None if edges is None or edges[c] == NOT_APPLICABLE else int(edges[c])
        ends: tuple[int | None, int | None] = (head, child) if has_arc else (None, None)
        return JudgedTransition(
            _WITHOUT_ARC.get(name, name), *ends, relation, arcs, raw, probability
        )

    if scored is None:
        judged, taken = [transition(c) for c in applicable], applicable.index(column)
    else:
        listed = _listed(scored)
        taken = next(i for i, labelled in enumerate(listed) if labelled.probability is not None)
        judged = [
            transition(
                labelled.column, labelled.relation, labelled.raw_probability, labelled.probability
            )
            for labelled in listed
        ]
    size, front, n = int(now.stack_sizes[0]), int(now.buffer_fronts[0]), int(now.lengths[0])
    lost = None if edges is None else int(edges[applicable].max() - edges[column])
    return Step(
        now.stacks[0, :size].tolist(), now.buffers[0, front : n + 1].tolist(), judged, taken, lost
    )


def _trace(steps: list[Step], now: Configurations, relations: Sequence[str]) -> Trace:
    n = int(now.lengths[0])
    return Trace(
        steps,
        now.heads[0, 1 : n + 1].tolist(),
        [relations[r] for r in now.relations[0, 1 : n + 1].tolist()],
    )


@dataclass(frozen=True)
class Candidate:
    """An arc that a step could have made to a word.

    Attributes:
        head: 0 = the artificial root.
        probability: the probability of its labelled transition among those allowed: in the step
            that made the arc, or in the step where it was highest if the arc was not made.
            Probabilities of different steps do not add up to 1.
        step: that step, from 1.
        calibrated: see Step; None unless the arc was made.
        taken: whether the arc was made.
    """

    head: int
    relation: str
    probability: float
    step: int
    calibrated: float | None
    taken: bool


def candidates(trace: Trace) -> list[list[Candidate]]:
    """Return each word's candidates among the listed transitions: the arc that was made,
    then other arcs by probability.

    ``trace`` is a computation of a model.
    """
    by_word: list[dict[tuple[int, str], Candidate]] = [{} for _ in trace.heads]
    for number, step in enumerate(trace.steps, 1):
        for place, transition in enumerate(step.transitions):
            if (
                transition.child is None
                or transition.head is None
                or transition.probability is None
            ):
                continue
            child = transition.child - 1
            arcs, arc = by_word[child], (transition.head, transition.relation or "_")
            # and not undone (arc_eager)
            taken = place == step.taken and arc == (trace.heads[child], trace.deprels[child])
            before = arcs.get(arc)
            if (
                taken
                or before is None
                or (not before.taken and before.probability < transition.probability)
            ):
                arcs[arc] = Candidate(
                    *arc, transition.probability, number, step.calibrated if taken else None, taken
                )
    return [
        sorted(
            arcs.values(),
            key=lambda candidate: (not candidate.taken, -candidate.probability, candidate.step),
        )
        for arcs in by_word
    ]


def drawn(
    trace: Trace, forms: Sequence[str], tags: Sequence[str], gold: GoldTree | None
) -> DrawnTree:
    """Return the tree of the trace, to be drawn against the gold tree if there is one."""
    against = (gold.heads, gold.deprels) if gold is not None else (None, None)
    return DrawnTree(forms, tags, trace.heads, trace.deprels, *against)


def as_text(trace: Trace, forms: Sequence[str]) -> str:
    """Return a paragraph for each step: stack, buffer, and a line for each transition;
    an asterisk marks the one taken.
    """
    paragraphs = []
    for number, step in enumerate(trace.steps, 1):
        buffer = [_word(forms, node) for node in step.buffer[:_SHOWN]]
        more = len(step.buffer) - len(buffer)
        lines = [
            f"step {number}",
            f"  stack   {' '.join(_word(forms, node) for node in step.stack)}",
            f"  buffer  {' '.join(buffer)}{f' ... {more} more' if more else ''}".rstrip(),
            *_aligned([_head(step), *(_row(step, i, forms) for i in range(len(step.transitions)))]),
            *(f"  {said}" for said in (_calibrated(step), _lost(step)) if said),
        ]
        paragraphs.append("\n".join(lines))
    return "\n\n".join([*paragraphs, _summary(trace), *legend(trace)]) + "\n"


def as_html(trace: Trace, tree: DrawnTree) -> list[str]:
    """Return a legend of the drawing if there is a gold tree, the tree and the steps; html.SCRIPT
    shows them one at a time.
    """
    said = [] if tree.gold_heads is None else [LEGEND]
    if said and trace.steps[0].transitions[0].raw_probability is None:  # no classifier has chosen
        beyond = (
            " Above the words are its arcs: gold, or wrong (red) where this system cannot make the "
            "gold arc. Below them, the gold arcs that it cannot make are blue."
        )
        arcs = beyond if tree.missed() else " All arcs of the drawing are gold."
        said = [f'<p class="note">This is a gold computation.{arcs}</p>']
    return [*said, f"<p>{text(_summary(trace))}</p>", steps_as_html(trace, tree)]


def steps_as_html(trace: Trace, tree: DrawnTree) -> str:
    """Return the tree, a legend, and a section for each step,
    which lists the words that have a head after it.

    html.SCRIPT draws the arcs that were made before a step, as a part of its configuration, and all
    arcs after the last step.
    """
    forms = tree.forms
    parts = ['<div class="steps">', drawing(tree)]
    parts += [
        "<p hidden><button>previous</button> <button>next</button> The drawing shows the arcs made "
        "so far.</p>"
    ]
    children = ""
    for number, step in enumerate(trace.steps, 1):
        taken = step.transitions[step.taken]
        # and not undone later (arc_eager)
        if taken.child is not None and taken.head == trace.heads[taken.child - 1]:
            children = f"{children} {taken.child}".lstrip()
        stack = " ".join(_word(forms, node) for node in step.stack)
        buffer = " ".join(_word(forms, node) for node in step.buffer)
        parts += [
            f'<section data-made="{children}"><h3>step {number} of {len(trace.steps)}</h3>',
            f"<p>stack: <b>{text(stack)}</b> &nbsp; buffer: <b>{text(buffer) or '-'}</b></p>",
            table(_head(step), (_row(step, i, forms) for i in range(len(step.transitions)))),
        ]
        if said := _calibrated(step):
            parts.append(f"<p>{text(said)}</p>")
        if said := _called_gold(taken, tree):
            parts.append(f"<p>{said}</p>")
        if said := _lost(step):
            parts.append(f'<p class="wrong">{text(said)}</p>')
        parts.append("</section>")
    parts.append(
        f'<p class="end" hidden><b>After step {len(trace.steps)}</b>, the computation has ended:'
        " all arcs are made.</p>"
    )
    return "\n".join(
        [*parts, *(f'<p class="note">{text(said)}</p>' for said in legend(trace)), "</div>"]
    )


def _called_gold(taken: JudgedTransition, tree: DrawnTree) -> str:
    """Return the words that say that the arc of a transition is gold, or that only its head is; ""
    if neither is, or there is no gold tree.
    """
    if taken.child is None or tree.gold_heads is None or tree.gold_deprels is None:
        return ""
    place = taken.child - 1
    if taken.head != tree.gold_heads[place]:
        return ""
    same = tree.gold_deprels[place] in (taken.relation, EMPTY)
    return (
        "This arc is gold."
        if same
        else f"The head is gold; the gold relation is {text(tree.gold_deprels[place])}."
    )


def legend(trace: Trace) -> list[str]:
    """Return a paragraph about each column of a trace."""
    first = trace.steps[0]
    said = [
        "*: the transition that is taken. The top of the stack is at its right end, the front of "
        "the buffer at its left end. In brackets is the textbook name: LEFT-ARC makes an arc to a "
        "child on the left, RIGHT-ARC to a child on the right."
    ]
    if first.lost is not None:
        said.append(
            "gold arcs: how many arcs of the gold tree can still be made after the transition, "
            "its own included."
        )
    if first.transitions[0].raw_probability is not None:
        said.append(
            "of all: the probability among all labelled transitions, by the classifier's softmax. "
            "of allowed: the probability among the transitions allowed here; the parser takes the "
            "highest. Neither is calibrated."
        )
        said.append(
            "calibrated: how probable it is that head and relation of the arc are right, "
            "as measured on the dev part."
            if any(step.calibrated is not None for step in trace.steps)
            else (
                "This model has no calibrated probabilities, "
                "as it was trained without a dev part, or with too small a one."
            )
        )
    return said


def _calibrated(step: Step) -> str:
    return (
        ""
        if step.calibrated is None
        else f"calibrated: {step.calibrated:.4f} that this arc is right"
    )


def _lost(step: Step) -> str:
    return f"lost: {step.lost} gold {'arc' if step.lost == 1 else 'arcs'}" if step.lost else ""


def _summary(trace: Trace) -> str:
    lost = [step.lost for step in trace.steps]
    if any(number is None for number in lost):
        return f"{len(trace.steps)} steps"
    wrong = sum(bool(number) for number in lost)
    return (
        f"{len(trace.steps)} steps, {wrong} of them not optimal; {sum(filter(None, lost))} gold "
        "arcs lost"
    )


def _head(step: Step) -> list[str]:
    judged = ["of all", "of allowed"] if step.transitions[0].raw_probability is not None else []
    scored = ["gold arcs"] if step.lost is not None else []
    return ["", "transition", "arc", "relation", *scored, *judged]


def _row(step: Step, i: int, forms: Sequence[str]) -> list[str]:
    transition: JudgedTransition = step.transitions[i]
    arc = ""
    if transition.head is not None and transition.child is not None:
        arc = f"{_word(forms, transition.head)} -> {_word(forms, transition.child)}"
    book = _TEXTBOOK.get(transition.name.rstrip("0123456789"))
    name = transition.name if book is None else f"{transition.name} ({book})"
    cells = ["*" if i == step.taken else "", name, arc, transition.relation or ""]
    if step.lost is not None:
        cells.append("" if transition.gold_arcs is None else str(transition.gold_arcs))
    if transition.raw_probability is not None:
        allowed = (
            "not allowed" if transition.probability is None else f"{transition.probability:.4f}"
        )
        cells += [f"{transition.raw_probability:.4f}", allowed]
    return cells


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(display_width(row[c]) for row in rows) for c in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell + " " * (width - display_width(cell))
            for cell, width in zip(row, widths, strict=True)
        )
        yield ("  " + "  ".join(cells)).rstrip()


def _word(forms: Sequence[str], node: int) -> str:
    return f"{printable(forms[node - 1])}_{node}" if node else "ROOT"
