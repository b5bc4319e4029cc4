"""The best transitions by a classifier's scores, the optimal ones by an oracle's, and the correct
outputs; for every system.
"""

from __future__ import annotations

import numpy as np

from oracles import NOT_APPLICABLE, Query
from parser.data.sentences import NO_NODE
from parser.kernels import array_kernel, kernel
from parser.transitions.configurations import Configurations
from parser.transitions.system import Transitions, TransitionSystem


def best(
    system: TransitionSystem,
    scores: np.ndarray,
    transitions: Transitions,
    single_root: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and relations, int32[m], of the applicable outputs with the highest scores;
    the first one wins a tie.

    Args:
        scores: float32[feature rows, outputs].
        transitions: the transitions, made with the same ``single_root``.
        single_root: whether exactly the arcs from the artificial root have the root relation.
    """
    blocks = transitions.blocks, transitions.heads, system.block_starts, system.block_sizes
    return _best_transitions(
        scores, transitions.rows, *blocks, required_root_relation(system, single_root)
    )


def log_probabilities(
    system: TransitionSystem,
    scores: np.ndarray,
    transitions: Transitions,
    columns: np.ndarray,
    relations: np.ndarray,
    single_root: bool = False,
) -> np.ndarray:
    """Return float64[m], log probabilities (nats) of outputs,
    by a softmax over the scores that best() chooses from.

    Args:
        system, scores, transitions, single_root: see best().
        columns: int32[m], the transitions.
        relations: int32[m], their relations; NO_NODE where a transition makes no arc.
    """
    blocks = transitions.blocks, transitions.heads, system.block_starts, system.block_sizes
    return _log_probabilities(
        scores,
        transitions.rows,
        *blocks,
        required_root_relation(system, single_root),
        columns,
        relations,
    )


def required_root_relation(system: TransitionSystem, single_root: bool) -> int:
    """Return the relation that exactly the arcs from the artificial root must have;
    NO_NODE: relations are free.
    """
    return system.root_relation if single_root and system.root_relation is not None else NO_NODE


def correct_outputs(
    system: TransitionSystem,
    optimal: np.ndarray,
    transitions: Transitions,
    gold_relations: np.ndarray,
    rows: np.ndarray,
) -> np.ndarray:
    """Return int32[m, width], the output of each optimal transition, NO_NODE for other transitions.

    The relation of an output is the gold relation of the word that gets a head, even if that head
    is not the gold one: the arc is lost, but the relation still belongs to the word. If the
    relation is unknown, all outputs of the block are correct. Then the entry is any_output() of the
    block, a negative number, which with_best_labels() and labels_of() resolve.

    Args:
        optimal: bool[m, width].
        gold_relations: int32[batch, width], gold relations by row and token,
            negative where unknown.
        rows: int[m], the rows of ``gold_relations`` that the transitions belong to.
    """
    children = np.maximum(transitions.children, 0)
    relations = np.where(
        transitions.children == NO_NODE, 0, gold_relations[rows[:, None], children]
    )
    outputs = system.block_starts[transitions.blocks] + relations
    return np.where(
        optimal, np.where(relations < 0, any_output(transitions.blocks), outputs), NO_NODE
    ).astype(np.int32)


def any_output(blocks: np.ndarray) -> np.ndarray:
    """Return the number below NO_NODE that stands for all outputs of a block with relations; this
    function is its own inverse.
    """
    return NO_NODE - 1 - blocks


def labels_of(system: TransitionSystem, outputs: np.ndarray) -> np.ndarray:
    """Return int32[m, labels]: for each correct output (int32[m]), the outputs that it stands for,
    padded with NO_NODE.
    """
    is_any = outputs < NO_NODE
    if not is_any.any():
        return outputs[:, None]
    labels = np.full((len(outputs), system.n_relations), NO_NODE, np.int32)
    labels[:, 0] = outputs
    labels[is_any] = system.block_starts[any_output(outputs[is_any])][:, None] + np.arange(
        system.n_relations
    )
    return labels


def with_best_labels(
    system: TransitionSystem, outputs: np.ndarray, transitions: Transitions, scores: np.ndarray
) -> np.ndarray:
    """Replace each any_output() among correct outputs (int32[m,
    width]) by the highest-scoring output of its block.

    ``scores``: float32[feature rows, outputs].
    """
    is_any = outputs < NO_NODE
    if not is_any.any():
        return outputs
    labels, best_outputs = labels_of(system, outputs[is_any]), outputs.copy()
    label_scores = np.take_along_axis(scores[transitions.rows[is_any]], labels, axis=1)
    best_labels = label_scores.argmax(axis=1)[:, None]
    best_outputs[is_any] = np.take_along_axis(labels, best_labels, axis=1)[:, 0]
    return best_outputs


@kernel()
def _can_bear(head, relation, root_relation):
    """Return whether the arc that a transition makes from ``head`` can have a relation; a ``head``
    of NO_NODE means no arc.
    """
    return head == NO_NODE or root_relation == NO_NODE or (head == 0) == (relation == root_relation)


@array_kernel()
def _best_transitions(scores, rows, blocks, heads, block_starts, block_sizes, root_relation):
    columns = np.empty(len(rows), np.int32)
    relations = np.empty(len(rows), np.int32)
    for m in range(len(rows)):
        columns[m], relations[m] = best_transition(
            scores, rows, blocks, heads, m, block_starts, block_sizes, root_relation
        )
    return columns, relations


@kernel()
def best_transition(scores, rows, blocks, heads, m, block_starts, block_sizes, root_relation):
    """Return the column and relation that best() chooses for configuration ``m``; see
    required_root_relation().
    """
    column, relation = NO_NODE, NO_NODE
    highest = -np.inf
    for c in range(rows.shape[1]):
        row = rows[m, c]
        if row == NO_NODE:
            continue
        start = block_starts[blocks[m, c]]
        for r in range(block_sizes[blocks[m, c]]):
            if not _can_bear(heads[m, c], r, root_relation):
                continue
            if column == NO_NODE or scores[row, start + r] > highest:
                highest = scores[row, start + r]
                column = c
                relation = r if heads[m, c] != NO_NODE else NO_NODE
    return column, relation


@array_kernel()
def _log_probabilities(
    scores, rows, blocks, heads, block_starts, block_sizes, root_relation, columns, relations
):
    log_probs = np.empty(len(rows), np.float64)
    for m in range(len(rows)):
        place = rows[m, columns[m]], block_starts[blocks[m, columns[m]]] + max(relations[m], 0)
        total = 0.0  # the sum of exponentials, relative to that of the transition itself
        for c in range(rows.shape[1]):
            row = rows[m, c]
            if row == NO_NODE:
                continue
            start = block_starts[blocks[m, c]]
            for r in range(block_sizes[blocks[m, c]]):
                if not _can_bear(heads[m, c], r, root_relation):
                    continue
                total += np.exp(
                    np.float64(scores[row, start + r]) - np.float64(scores[place[0], place[1]])
                )
        log_probs[m] = -np.log(total)
    return log_probs


def query(
    sentences: np.ndarray, now: Configurations, rows: np.ndarray | slice = slice(None)
) -> Query:
    """Return the oracle query for some configurations;
    arrays that the oracle does not read are not copied.

    Args:
        sentences: int32[m], the numbers of their sentences among the trees that the oracle is bound
            to.
        rows: int[m], the rows to query; if omitted, all rows: then the query is a view of ``now``.
    """
    return Query(
        sentences,
        now.stacks[rows],
        now.stack_sizes[rows],
        now.buffer_fronts[rows],
        children=lambda: now.children[rows],
        buffers=lambda: now.buffers[rows],
        made=lambda: now.heads[rows],
    )


def optimal_transitions(scores: np.ndarray) -> np.ndarray:
    """Return bool[m, width], whether each transition has the highest score of its configuration."""
    return (scores == scores.max(axis=1, keepdims=True)) & (scores != NOT_APPLICABLE)


def best_correct_columns(
    outputs: np.ndarray, transitions: Transitions, scores: np.ndarray
) -> np.ndarray:
    """Return int64[m], the column of the correct output (int32[m,
    width]) with the highest of ``scores``.
    """
    correct_scores = np.where(
        outputs == NO_NODE, -np.inf, scores[np.maximum(transitions.rows, 0), np.maximum(outputs, 0)]
    )
    return correct_scores.argmax(axis=1)
