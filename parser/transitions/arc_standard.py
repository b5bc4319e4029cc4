"""Arc-standard parsing (Nederhof 2019, Table 1) of many sentences in lockstep.

This room is the only one that knows the steps of the system. Its face is generic: steps are numbered, an action is a step
together with the relation of the edge it makes, and the rest of the parser asks what is applicable, applies actions, and
reads nodes by address (features.py). Another transition system is another class with the same methods.

Steps of a configuration with stack a_0..a_k (a_0 = 0, the artificial root) and buffer b..n:

* shift pushes b; needs a buffer.
* reduce_left makes a_k a child of a_{k-1} and pops it; needs k >= 1.
* reduce_right makes a_{k-1} a child of a_k and removes it; needs k >= 2, so the root never gets a parent.

A sentence of n tokens takes 2n steps; it is final with stack (0) and an empty buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from oracles import N_STEPS, REDUCE_LEFT, REDUCE_RIGHT, SHIFT

NO_NODE = -1


@dataclass
class Configurations:
    """One configuration for each of a batch of sentences, as arrays; width = the longest sentence + 1.

    Attributes:
        lengths: int32[batch], tokens n of the sentence.
        stacks: int32[batch, width]; row r holds a_0..a_k in its first ``stack_sizes[r]`` entries.
        stack_sizes: int32[batch], k + 1.
        buffer_fronts: int32[batch], the first token b of the buffer; n + 1 when it is empty.
        heads: int32[batch, width], heads given so far; NO_NODE where none.
        relations: int32[batch, width], relations given so far; NO_NODE where none.
        children: int32[batch, width, 2], the outermost left and right child so far; NO_NODE where none.
        siblings: int32[batch, width], for a child, the next child of the same head towards the head; NO_NODE where none.
    """

    lengths: np.ndarray
    stacks: np.ndarray
    stack_sizes: np.ndarray
    buffer_fronts: np.ndarray
    heads: np.ndarray
    relations: np.ndarray
    children: np.ndarray
    siblings: np.ndarray

    @classmethod
    def initial(cls, lengths: np.ndarray) -> Configurations:
        """Stack (0) and the whole sentence in the buffer, for sentences of the given lengths (int[batch])."""
        batch = len(lengths)
        width = int(lengths.max(initial=0)) + 1

        def nobody(*shape: int) -> np.ndarray:
            return np.full(shape, NO_NODE, np.int32)

        return cls(
            lengths=lengths.astype(np.int32),
            stacks=np.zeros((batch, width), np.int32),
            stack_sizes=np.ones(batch, np.int32),
            buffer_fronts=np.ones(batch, np.int32),
            heads=nobody(batch, width),
            relations=nobody(batch, width),
            children=nobody(batch, width, 2),
            siblings=nobody(batch, width),
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def unfinished(self) -> np.ndarray:
        """int64[m]: the rows that are not final."""
        return np.flatnonzero((self.stack_sizes > 1) | (self.buffer_fronts <= self.lengths))


class ArcStandard:
    """The actions of arc-standard over a set of relations.

    Args:
        n_relations: number of relations; they are numbered from 0.
        root_relation: the relation that a child of the artificial root must have, and no other word may have, when a
            valid UD tree is asked for (``single_root``); None leaves the choice of relations free.
    """

    name = "arc_standard"

    def __init__(self, n_relations: int, root_relation: int | None = None) -> None:
        self.n_relations = n_relations
        self.root_relation = root_relation
        self.n_actions = 1 + 2 * n_relations
        relations = np.arange(n_relations, dtype=np.int32)
        self.action_steps = np.repeat(np.array([SHIFT, REDUCE_LEFT, REDUCE_RIGHT], np.int32), [1, n_relations, n_relations])
        self.action_relations = np.concatenate([np.array([NO_NODE], np.int32), relations, relations])

    def applicable(self, configurations: Configurations, rows: np.ndarray) -> np.ndarray:
        """bool[m, steps]: which steps can be taken in the given rows (int[m])."""
        sizes = configurations.stack_sizes[rows]
        buffered = configurations.buffer_fronts[rows] <= configurations.lengths[rows]
        return np.stack([buffered, sizes >= 2, sizes >= 3], axis=1)

    def best_actions(
        self, scores: np.ndarray, configurations: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> np.ndarray:
        """int32[m]: for each row the applicable action with the highest score; the lowest number wins a tie.

        Args:
            scores: float32[m, actions].
            configurations: the configurations.
            rows: int[m], the rows that ``scores`` are for.
            single_root: only what leads to a tree with exactly one child of the root: it is attached last, when nothing
                else is left, and it alone bears the root relation.
        """
        return _best_actions(
            scores,
            rows,
            configurations.stack_sizes,
            configurations.buffer_fronts,
            configurations.lengths,
            self.n_relations,
            NO_NODE if self.root_relation is None else self.root_relation,
            single_root,
        )

    def optimal_actions(
        self, optimal: np.ndarray, configurations: Configurations, rows: np.ndarray, gold_relations: np.ndarray
    ) -> np.ndarray:
        """int32[m, steps]: the action of each optimal step, NO_NODE for the other steps.

        The relation of an action is the gold relation of the word that the step gives a head, also where that head is not
        the gold one: the edge is lost then, but the relation still belongs to the word.

        Args:
            optimal: bool[m, steps].
            configurations: the configurations.
            rows: int[m].
            gold_relations: int32[batch, width], gold relations by row and token.
        """
        stacks, sizes = configurations.stacks, configurations.stack_sizes[rows]
        tops = stacks[rows, sizes - 1]
        seconds = stacks[rows, np.maximum(sizes - 2, 0)]
        actions = np.full((len(rows), N_STEPS), NO_NODE, np.int32)
        actions[:, SHIFT] = 0
        actions[:, REDUCE_LEFT] = 1 + gold_relations[rows, tops]
        actions[:, REDUCE_RIGHT] = 1 + self.n_relations + gold_relations[rows, seconds]
        actions[~optimal] = NO_NODE
        return actions

    def apply(self, configurations: Configurations, rows: np.ndarray, actions: np.ndarray) -> None:
        """Takes ``actions`` (int32[m]) in ``rows`` (int[m]), in place. They must be applicable: this is not checked."""
        _apply(
            rows,
            self.action_steps[actions],
            self.action_relations[actions],
            configurations.stacks,
            configurations.stack_sizes,
            configurations.buffer_fronts,
            configurations.heads,
            configurations.relations,
            configurations.children,
            configurations.siblings,
        )


@njit(cache=True, nogil=True)
def _best_actions(scores, rows, sizes, fronts, lengths, n_relations, root_relation, single_root):
    best = np.empty(len(rows), np.int32)
    for r in range(len(rows)):
        row = rows[r]
        buffered = fronts[row] <= lengths[row]
        best[r] = best_action(scores, r, sizes[row], buffered, n_relations, root_relation, single_root)
    return best


@njit(cache=True, nogil=True)
def best_action(scores, r, size, buffered, n_relations, root_relation, single_root):
    """The best applicable action of a configuration with ``size`` = k + 1; ``scores[r]`` are its scores."""
    highest = -np.inf
    chosen = NO_NODE
    if buffered:
        chosen = 0
        highest = scores[r, 0]
    for right in range(2):  # reduce_left, then reduce_right
        if size < 2 + right or (single_root and size == 2 and buffered):
            continue
        makes_root = size == 2
        for relation in range(n_relations):
            if single_root and root_relation >= 0 and makes_root != (relation == root_relation):
                continue
            action = 1 + right * n_relations + relation
            if chosen == NO_NODE or scores[r, action] > highest:
                chosen = action
                highest = scores[r, action]
    return chosen


@njit(cache=True, nogil=True)
def forced_action(size, buffered, root_relation, single_root):
    """The action of a configuration in which only one is possible, whatever the scores; NO_NODE if there are several."""
    if buffered and (size == 1 or (single_root and size == 2)):
        return 0
    if not buffered and size == 2 and single_root and root_relation >= 0:
        return 1 + root_relation
    return NO_NODE


@njit(cache=True, nogil=True)
def _apply(rows, steps, new_relations, stacks, sizes, fronts, heads, relations, children, siblings):
    for r in range(len(rows)):
        take_step(rows[r], steps[r], new_relations[r], stacks, sizes, fronts, heads, relations, children, siblings)


@njit(cache=True, nogil=True)
def take_step(row, step, relation, stacks, sizes, fronts, heads, relations, children, siblings):
    """Takes one step in one row of the arrays of Configurations."""
    size = sizes[row]
    if step == SHIFT:
        stacks[row, size] = fronts[row]
        fronts[row] += 1
        sizes[row] = size + 1
        return
    if step == REDUCE_LEFT:
        head, child = stacks[row, size - 2], stacks[row, size - 1]
    else:
        head, child = stacks[row, size - 1], stacks[row, size - 2]
        stacks[row, size - 2] = head
    sizes[row] = size - 1
    heads[row, child] = head
    relations[row, child] = relation
    # Children are attached from the inside out, so the newest is the outermost on its side.
    side = 0 if child < head else 1
    siblings[row, child] = children[row, head, side]
    children[row, head, side] = child
