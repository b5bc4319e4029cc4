"""Transition systems over Python lists, as the papers write them:
the reference for the compiled ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best
from parser.transitions.system import Transitions, TransitionSystem

NONMONOTONIC = -1  # arc-eager's, in place of a degree
SHIFT, NO_ARC, LEFT, RIGHT, ROOT, ATTACH = range(6)  # the columns of Covington's system

Arc = tuple[int, int]  # head and child
# Transitions, the scores of their outputs, and what is taken: columns and relations.
Step = tuple[Configurations, np.ndarray, Transitions, np.ndarray, np.ndarray, np.ndarray]


@dataclass
class State:
    """Stack, buffer, and the arcs made: {child: (head, relation)}."""

    stack: list[int]
    buffer: list[int]
    arcs: dict[int, tuple[int, int]] = field(default_factory=dict)
    n: int = 0

    @classmethod
    def initial(cls, n: int) -> State:
        return cls([0], list(range(1, n + 1)), n=n)

    @property
    def final(self) -> bool:
        return self.stack == [0] and not self.buffer

    def is_below(self, node: int, above: int) -> bool:
        """Whether a node is another one, or below it."""
        while node != above and node in self.arcs:
            node = self.arcs[node][0]
        return node == above

    def children(self, head: int, left: bool) -> list[int]:
        """From the outermost inwards."""
        found = [
            child for child, (of, _) in self.arcs.items() if of == head and (child < head) == left
        ]
        return sorted(found, reverse=not left)


def spine(state: State, node: int, left: bool) -> list[int]:
    """Return a root of a tree, its outermost child on one side, that one's, and so on."""
    nodes = [node]
    while children := state.children(nodes[-1], left):
        nodes.append(children[0])
    return nodes


def without_head(state: State) -> list[int]:
    return [token for token in range(1, state.n + 1) if token not in state.arcs]


def covington(state: State) -> dict[int, Arc | None]:
    """possible() of Covington's system."""
    top = state.stack[-1]
    if not state.buffer:
        if roots := state.children(0, False):
            return {ATTACH: (roots[0], top)}
        return {ROOT: (0, top)} | ({NO_ARC: None} if without_head(state)[0] < top else {})
    if top == 0:
        return {SHIFT: None}
    arcs = {LEFT: (state.buffer[0], top), RIGHT: (top, state.buffer[0])}
    free = {
        n: made
        for n, made in arcs.items()
        if made[1] not in state.arcs and not state.is_below(*made)
    }
    return {SHIFT: None, NO_ARC: None} | free


def take_covington(state: State, column: int, relation: int) -> None:
    if (made := covington(state)[column]) is not None:
        state.arcs[made[1]] = made[0], relation
    if column == SHIFT:
        state.stack = list(range(state.buffer.pop(0) + 1))
    elif state.buffer:
        state.stack.pop()
    if not state.buffer:
        last = state.stack[-1] - 1 if column == NO_ARC else state.n
        state.stack = list(
            range(max([0, *(token for token in without_head(state) if token <= last)]) + 1)
        )


def possible(system: str, degree: int, state: State, single_root: bool) -> dict[int, Arc | None]:
    """Return the applicable transitions by their columns, each with head and child of the arc that
    it makes; None: it makes none.
    """
    stack, buffer = state.stack, state.buffer
    root_taken = single_root and bool(state.children(0, False))
    if system == "covington":
        return covington(state)
    if system == "pointer":
        heads = [node for node in (*stack, *buffer) if not state.is_below(node, buffer[0])]
        return {head: (head, buffer[0]) for head in heads if not (root_taken and head == 0)}
    found: dict[int, Arc | None] = {0: None} if buffer else {}
    top, below = stack[-1], stack[-2::-1]
    if system == "arc_eager":
        linked, undoes = top in state.arcs, degree == NONMONOTONIC
        if buffer:
            found[2] = top, buffer[0]
        if buffer and top != 0 and (undoes or not linked):
            found[1] = buffer[0], top
        if top != 0 and not (single_root and len(stack) == 2 and buffer):
            if linked:
                found[3] = None
            elif undoes or not buffer:
                found[4] = below[0], top
        return found
    if not below:
        return found
    arcs: dict[int, Arc] = {}
    if system == "lr_spine":
        to_left = [(node, below[0]) for node in spine(state, top, True)]
        arcs = dict(
            enumerate([*to_left, *((node, top) for node in spine(state, below[0], False))], 1)
        )
        forbidden = root_taken
    else:
        # the child of the root comes last
        forbidden = single_root and bool(buffer or len(stack) > 2)
        if system == "arc_hybrid":
            arcs = ({1: (buffer[0], top)} if buffer else {}) | {2: (below[0], top)}
        else:
            for depth, node in enumerate(below[:degree], 1):
                arcs |= {2 * depth - 1: (node, top), 2 * depth: (top, node)}
        if system == "swap" and 0 < below[0] < top:
            found[3] = None
    return found | {
        column: made
        for column, made in arcs.items()
        if made[1] != 0 and not (forbidden and made[0] == 0)
    }


def arc(system: str, degree: int, state: State, column: int) -> Arc | None:
    """Head and child of the arc that a transition makes; None if it makes none."""
    return possible(system, degree, state, single_root=False).get(column)


def applicable(system: str, degree: int, state: State, column: int, single_root: bool) -> bool:
    return column in possible(system, degree, state, single_root)


def take(system: str, degree: int, state: State, column: int, relation: int) -> None:
    if system == "covington":
        take_covington(state, column, relation)
        return
    made = arc(system, degree, state, column)
    if system == "swap" and column == 3:
        state.buffer.insert(0, state.stack.pop(-2))
        return
    if system == "arc_eager" and column == 3:
        state.stack.pop()
        return
    if made is None:
        state.stack.append(state.buffer.pop(0))
        return
    head, child = made
    state.arcs[child] = head, relation
    if system == "pointer" or (system == "arc_eager" and column == 2):
        state.stack.append(state.buffer.pop(0))
    else:
        state.stack.remove(child)


def random_steps(
    system: TransitionSystem,
    lengths: Sequence[int],
    seed: int,
    single_root: bool = False,
    ties: bool = False,
) -> Iterator[Step]:
    """Yield the steps of computations of a compiled system with drawn scores,
    each before it is taken.
    """
    rng, now = np.random.default_rng(seed), system.initial(np.array(lengths))
    while len(rows := system.unfinished(now)):
        transitions = system.transitions(now, rows, single_root)
        shape = (
            len(transitions.rows) if transitions.starts is None else transitions.starts[-1],
            system.n_outputs,
        )
        scores = (
            rng.integers(0, 3, shape).astype(np.float32) if ties else rng.random(shape, np.float32)
        )
        columns, relations = best(system, scores, transitions, single_root)
        yield now, rows, transitions, scores, columns, relations
        system.apply(now, rows, transitions, columns, relations)
