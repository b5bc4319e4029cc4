"""What a trained parser meets when it follows its own predictions, as in the second pass of training, for the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parser.data.treebank import Sentence
from parser.model.model import Model
from parser.transitions.decisions import best
from scripts.benchmarks.random_computations import Batch

# The configurations of one sentence in order: the stack (int32[k + 1]) and the first token of the buffer.
Exploration = list[tuple[np.ndarray, int]]


def explorations(model: Model, sentences: list[Sentence]) -> list[Exploration]:
    """The computation that an arc-standard model predicts for each sentence; several children of the root, as in training."""
    encoded = model.vocabularies.encode(sentences)
    scorer = model.scorer(encoded)
    numbers = np.arange(len(sentences), dtype=np.int32)
    now = model.system.initial(encoded.lengths)
    found: list[Exploration] = [[] for _ in sentences]
    while len(rows := model.system.unfinished(now)):
        for row in rows:
            found[row].append((now.stacks[row, : now.stack_sizes[row]].copy(), int(now.buffer_fronts[row])))
        scores = scorer(model.table.extract(now, rows, encoded, numbers))
        moves = model.system.moves(now, rows)
        model.system.apply(now, rows, moves, *best(model.system, scores, moves))
    return found


def in_lockstep(chosen: Sequence[Exploration]) -> list[Batch]:
    """The explorations as batches: the i-th holds the i-th configuration of each one that is long enough."""
    batches = []
    for i in range(max(map(len, chosen), default=0)):
        rows = [row for row, exploration in enumerate(chosen) if i < len(exploration)]
        now = [chosen[row][i] for row in rows]
        stacks = np.zeros((len(rows), max(len(stack) for stack, _ in now)), np.int32)
        for r, (stack, _) in enumerate(now):
            stacks[r, : len(stack)] = stack
        sizes, fronts = ([len(stack) for stack, _ in now], [front for _, front in now])
        batches.append(Batch(np.array(rows, np.int32), stacks, np.array(sizes, np.int32), np.array(fronts, np.int32)))
    return batches
