"""A computation of one sentence step by step: what can be done, what the oracle and the classifier say of it, what is done.

With a model, the computation is the one that it makes; without one, it is a gold computation: of the optimal transitions the
first in the system's eager order. The oracle's score of a transition is how many gold arcs can still be made if it is taken,
its own included (Nederhof 2019, Section 4); a transition loses the difference to the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles import NOT_APPLICABLE, BoundOracle, Oracle, Trees
from parser.data.attributes import AttributeColumns
from parser.data.sentences import NO_NODE
from parser.inference.precomputed import precomputed_scorer
from parser.model.model import Model
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best, query
from parser.transitions.system import Transitions, TransitionSystem

_ARC_STANDARD = ("shift", "reduce_left", "reduce_right")  # the paper's names
_WITHOUT_ARC = {"sh": "shift", "sw": "swap"}


@dataclass(frozen=True)
class Transition:
    """A transition that a configuration allows.

    Attributes:
        name: what it is called.
        head, child: the arc that it makes; None if it makes none.
        relation: the relation of the arc: with a model the one that it would choose, else the gold one of the child.
        gold_arcs: how many gold arcs can still be made after it, its own included; None without gold tree.
        probability: of all its relations together, by the classifier; None without one.
    """

    name: str
    head: int | None
    child: int | None
    relation: str | None
    gold_arcs: int | None
    probability: float | None


@dataclass(frozen=True)
class Step:
    """A configuration and what is done there.

    Attributes:
        stack: a_0..a_k, the top last.
        buffer: its tokens, the first one first.
        transitions: the applicable transitions.
        taken: the index of the one that is taken.
        lost: the gold arcs that it loses; None without gold tree.
    """

    stack: list[int]
    buffer: list[int]
    transitions: list[Transition]
    taken: int
    lost: int | None


@dataclass(frozen=True)
class Trace:
    """The steps of a computation and the tree that it makes: heads [h_1, ..., h_n] and relations."""

    steps: list[Step]
    heads: list[int]
    deprels: list[str]


@dataclass(frozen=True)
class GoldTree:
    """A gold tree: heads [h_1, ..., h_n], 0 = the artificial root, and relations."""

    heads: Sequence[int]
    deprels: Sequence[str]


def gold_trace(gold: GoldTree, relations: Sequence[str], system: TransitionSystem, oracle: Oracle) -> Trace:
    """A gold computation.

    Args:
        gold: the tree.
        relations: those of the system, by number; the gold ones are among them.
        system: the transition system.
        oracle: of that system.

    Raises:
        NonProjectiveGoldError, ValueError: the oracle does not take the tree.
    """
    bound = oracle.bind(Trees.from_heads([gold.heads]))
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
        system.apply(now, at, transitions, np.array([column], np.int32), np.array([relation], np.int32))
    return _trace(steps, now, relations)


def model_trace(
    model: Model, words: AttributeColumns, n: int, oracle: Oracle, gold: GoldTree | None = None, *, single_root: bool = True
) -> Trace:
    """The computation that a model makes.

    Args:
        model: the parser.
        words: the columns of the sentence.
        n: its words.
        oracle: of the model's system; it scores the transitions if there is a gold tree.
        gold: the gold tree, if there is one.
        single_root: as in parsing.

    Raises:
        NonProjectiveGoldError, ValueError: the oracle does not take the tree.
    """
    system, relations = model.system, model.relations.symbols
    sentences = model.vocabularies.encode([words])
    scorer = precomputed_scorer(model.weights(), model.table, sentences)  # that of parsing
    bound = None if gold is None else oracle.bind(Trees.from_heads([gold.heads]))
    now, at = system.initial(np.array([n])), np.zeros(1, np.int64)
    steps = []
    while len(system.unfinished(now)):
        transitions = system.transitions(now, at, single_root)
        outputs = scorer(model.table.extract(now, at, sentences, np.zeros(1, np.int32), transitions))
        columns, chosen = best(system, outputs, transitions, single_root)
        edges = None if bound is None else _edges(bound, now)
        judged = _judged(system, transitions, outputs, relations)
        steps.append(
            _step(now, transitions, oracle, edges, int(columns[0]), judged=judged, relation=_name(relations, chosen[0]))
        )
        system.apply(now, at, transitions, columns, chosen)
    return _trace(steps, now, relations)


def _edges(bound: BoundOracle, now: Configurations) -> np.ndarray:
    """int[transitions]: the gold arcs that can be made after each transition; NOT_APPLICABLE as in the oracle's scores."""
    scores = bound.score_batch(query(np.zeros(1, np.int32), now))[0]
    return np.where(scores == NOT_APPLICABLE, scores, scores // bound.gold_weight)


def _judged(
    system: TransitionSystem, transitions: Transitions, outputs: np.ndarray, relations: Sequence[str]
) -> dict[int, tuple[float, str | None]]:
    """By column of an applicable transition its probability, and the most probable of its relations."""
    blocks = {}
    for column in np.flatnonzero(transitions.rows[0] != NO_NODE).tolist():
        block = transitions.blocks[0, column]
        start = system.block_starts[block]
        blocks[column] = outputs[transitions.rows[0, column], start : start + system.block_sizes[block]].astype(np.float64)
    highest = max(block.max() for block in blocks.values())
    total = sum(np.exp(block - highest).sum() for block in blocks.values())
    return {
        column: (
            float(np.exp(block - highest).sum() / total),
            relations[int(block.argmax())] if transitions.children[0, column] != NO_NODE else None,
        )
        for column, block in blocks.items()
    }


def _step(
    now: Configurations,
    transitions: Transitions,
    oracle: Oracle,
    edges: np.ndarray | None,
    column: int,
    *,
    gold: GoldTree | None = None,
    judged: dict[int, tuple[float, str | None]] | None = None,
    relation: str | None = None,
) -> Step:
    """What there is to say of a configuration in which the transition of that column is taken, by a model with that
    relation."""
    names = oracle.transition_names if len(oracle.transition_names) == transitions.rows.shape[1] else ()
    if oracle.system == "arc_standard":
        names = _ARC_STANDARD
    applicable = np.flatnonzero(transitions.rows[0] != NO_NODE).tolist()
    found = []
    for c in applicable:
        head, child = int(transitions.heads[0, c]), int(transitions.children[0, c])
        has_arc = child != NO_NODE
        name = names[c] if names else "arc" if has_arc else "shift"
        probability, likely = judged[c] if judged is not None else (None, None)
        if has_arc and gold is not None:
            likely = gold.deprels[child - 1]
        found.append(
            Transition(
                _WITHOUT_ARC.get(name, name),
                head if has_arc else None,
                child if has_arc else None,
                relation if c == column and relation is not None else likely,
                None if edges is None else int(edges[c]),
                probability,
            )
        )
    size, front, n = int(now.stack_sizes[0]), int(now.buffer_fronts[0]), int(now.lengths[0])
    taken = applicable.index(column)
    reachable = [transition.gold_arcs for transition in found if transition.gold_arcs is not None]
    taken_arcs = found[taken].gold_arcs
    lost = None if taken_arcs is None else max(reachable) - taken_arcs
    return Step(now.stacks[0, :size].tolist(), now.buffers[0, front : n + 1].tolist(), found, taken, lost)


def _trace(steps: list[Step], now: Configurations, relations: Sequence[str]) -> Trace:
    n = int(now.lengths[0])
    return Trace(steps, now.heads[0, 1 : n + 1].tolist(), [relations[r] for r in now.relations[0, 1 : n + 1].tolist()])


def _name(relations: Sequence[str], number: int) -> str | None:
    return None if number == NO_NODE else relations[int(number)]


@dataclass(frozen=True)
class Candidate:
    """A head that some step could have given a word.

    Attributes:
        head: the head, 0 = the artificial root.
        relation: the most probable relation of such an arc.
        probability: the highest that a step gave the transitions which make the arc; of the head that was taken, that of its
            step.
        taken: whether the word got it.
    """

    head: int
    relation: str
    probability: float
    taken: bool


def candidates(trace: Trace) -> list[list[Candidate]]:
    """For each word its candidates: the head that it got, then the others, the most probable first.

    Args:
        trace: a computation of a model.
    """
    found: list[dict[int, Candidate]] = [{} for _ in trace.heads]
    for step in trace.steps:
        for number, transition in enumerate(step.transitions):
            if transition.child is None or transition.head is None or transition.probability is None:
                continue
            of_word = found[transition.child - 1]
            taken = number == step.taken
            before = of_word.get(transition.head)
            if taken or before is None or before.probability < transition.probability:
                of_word[transition.head] = Candidate(transition.head, transition.relation or "_", transition.probability, taken)
    return [sorted(of_word.values(), key=lambda one: (not one.taken, -one.probability, one.head)) for of_word in found]
