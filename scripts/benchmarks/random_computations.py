"""Random computations for the benchmarks, in which steps are optimal with a given probability, and
random trees for them.

A computation is a sequence of configurations. Computations of many sentences are made in batches,
as in training: batch i holds configuration i of each sentence whose computation is that long. A
shift keeps k + m, and a reduction lowers it by one, so a computation over n tokens has k + m = n,
n - 1, ..., 0, each for one or more configurations.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from oracles import NOT_APPLICABLE, REDUCE_LEFT, REDUCE_RIGHT, SHIFT, BoundOracle, Query, Trees
from parser.data.sentences import NO_NODE
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import query
from parser.transitions.system import TransitionSystem


def random_computations(
    trees: Trees, oracle: BoundOracle, optimal_probability: float, seed: int
) -> list[Query]:
    """Return batches of all sentences; each takes a random optimal step with
    ``optimal_probability``, else any random step.
    """
    rng = np.random.default_rng(seed)
    lengths = trees.lengths
    count = len(trees)
    now = Query(
        np.arange(count, dtype=np.int32),
        np.zeros((count, int(lengths.max(initial=0)) + 1), np.int32),
        np.ones(count, np.int32),
        np.ones(count, np.int32),
    )
    batches: list[Query] = []
    while True:
        rows = np.flatnonzero((now.buffer_fronts <= lengths) | (now.stack_sizes > 1)).astype(
            np.int32
        )
        if not len(rows):
            return batches
        batches.append(_select(now, rows))
        scores = oracle.score_batch(batches[-1])
        allowed = scores != NOT_APPLICABLE
        best = scores == scores.max(axis=1, keepdims=True)
        allowed = np.where(rng.random((len(rows), 1)) < optimal_probability, best, allowed)
        steps = (rng.random(scores.shape) * allowed).argmax(axis=1)
        _apply(now, rows, steps)


def computations_of(
    trees: Trees,
    system: TransitionSystem,
    oracle: BoundOracle,
    optimal_probability: float,
    seed: int,
) -> Iterator[tuple[np.ndarray, Configurations]]:
    """Yield the steps of random computations of any system:
    the unfinished sentences and their configurations.
    """
    rng = np.random.default_rng(seed)
    now = system.initial(trees.lengths)
    while len(rows := system.unfinished(now)):
        numbers, part = rows.astype(np.int32), Configurations(*(array[rows] for array in now))
        yield numbers, part
        scores = oracle.score_batch(query(numbers, part))
        transitions = system.transitions(now, rows)
        allowed = transitions.rows != NO_NODE
        best = scores[:, : allowed.shape[1]] == scores.max(axis=1, keepdims=True)
        allowed = np.where(
            rng.random((len(rows), 1)) < optimal_probability, best & allowed, allowed
        )
        chosen = (rng.random(allowed.shape) * allowed).argmax(axis=1).astype(np.int32)
        system.apply(now, rows, transitions, chosen, np.zeros(len(rows), np.int32))


def _select(now: Query, rows: np.ndarray) -> Query:
    """Return the configurations of these rows, with stacks as narrow as possible."""
    width = int(now.stack_sizes[rows].max(initial=1))
    stacks = np.ascontiguousarray(now.stacks[rows, :width])
    return Query(now.sentences[rows], stacks, now.stack_sizes[rows], now.buffer_fronts[rows])


def _apply(now: Query, rows: np.ndarray, steps: np.ndarray) -> None:
    shifting = rows[steps == SHIFT]
    now.stacks[shifting, now.stack_sizes[shifting]] = now.buffer_fronts[shifting]
    now.buffer_fronts[shifting] += 1
    now.stack_sizes[shifting] += 1
    to_right = rows[steps == REDUCE_RIGHT]
    now.stacks[to_right, now.stack_sizes[to_right] - 2] = now.stacks[
        to_right, now.stack_sizes[to_right] - 1
    ]
    now.stack_sizes[to_right] -= 1
    now.stack_sizes[rows[steps == REDUCE_LEFT]] -= 1


def aligned_at(
    batches: list[Query], lengths: np.ndarray, size: int
) -> tuple[list[Query], list[Query]]:
    """Align the computations of sentences of at least ``size`` tokens,
    so that all reach k + m = size together.

    Returns:
        The batches before that, and the batches with k + m = size, the first of which has a
        configuration of every computation.
    """
    paths: dict[int, list[tuple[int, int]]] = {int(s): [] for s in np.flatnonzero(lengths >= size)}
    for t, batch in enumerate(batches):
        sizes = batch.stack_sizes - 1 + lengths[batch.sentences] + 1 - batch.buffer_fronts
        for row in np.flatnonzero((lengths[batch.sentences] >= size) & (sizes >= size)):
            paths[int(batch.sentences[row])].append(
                (t, int(row) if sizes[row] > size else -1 - int(row))
            )
    before = {s: [(t, row) for t, row in path if row >= 0] for s, path in paths.items()}
    at = {s: [(t, -1 - row) for t, row in path if row < 0] for s, path in paths.items()}
    return list(_batched(batches, before)), list(_batched(batches, at))


def _batched(batches: list[Query], paths: dict[int, list[tuple[int, int]]]) -> Iterator[Query]:
    for i in range(max(map(len, paths.values()), default=0)):
        places = [path[i] for path in paths.values() if i < len(path)]
        width = max(int(batches[t].stack_sizes[row]) for t, row in places)
        stacks = np.zeros((len(places), width), np.int32)
        for r, (t, row) in enumerate(places):
            size = batches[t].stack_sizes[row]
            stacks[r, :size] = batches[t].stacks[row, :size]
        yield Query(
            np.array([batches[t].sentences[row] for t, row in places], np.int32),
            stacks,
            np.array([batches[t].stack_sizes[row] for t, row in places], np.int32),
            np.array([batches[t].buffer_fronts[row] for t, row in places], np.int32),
        )


def random_trees(count: int, longest: int, seed: int) -> Trees:
    """Return trees like those of treebanks: mostly short dependencies,
    and some words with a random head anywhere.
    """
    rng = random.Random(seed)
    return Trees.from_heads(_random_tree(rng, rng.randint(2, longest)) for _ in range(count))


def _random_tree(rng: random.Random, n: int) -> list[int]:
    heads = [0] * (n + 1)

    def span(first: int, last: int, head: int) -> None:
        """Attach the tokens first..last below ``head``, which is next to them."""
        while first <= last:
            # A child of the head with the tokens below it, those nearest to the head first.
            width = min(last - first + 1, 1 + int(rng.expovariate(0.2)))
            begin = first if head < first else last - width + 1
            child = rng.randint(begin, begin + width - 1)
            heads[child] = head
            span(begin, child - 1, child)
            span(child + 1, begin + width - 1, child)
            first, last = (first + width, last) if head < first else (first, last - width)

    root = rng.randint(1, n)
    span(1, root - 1, root)
    span(root + 1, n, root)
    if rng.random() < 0.3:
        for _ in range(1 + n // 20):
            token, head = rng.randint(1, n), rng.randint(1, n)
            node = head
            while node not in (0, token):
                node = heads[node]
            if node == 0 and token != root:
                heads[token] = head
    return heads[1:]
