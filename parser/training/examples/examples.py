"""Examples: configurations with their correct outputs.
For the first pass they come from gold computations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from oracles import BoundOracle, Trees
from parser import batch_sizes
from parser.data.sentences import NO_NODE, Sentences
from parser.settings.groups import Target
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import (
    best_correct_columns,
    correct_outputs,
    labels_of,
    optimal_transitions,
    query,
    with_best_labels,
)
from parser.transitions.features import FeatureTable
from parser.transitions.system import Transitions, TransitionSystem


@dataclass(frozen=True)
class TrainingSentences:
    """Encoded sentences with the trees to learn.

    Attributes:
        sentences: the attributes of the tokens.
        trees: the trees of the same sentences, in the same order.
        relations: int32[total], gold relations at the places of ``trees.heads``.
        gold: for each task that is learned in the passes, int32[rows, total]; see Task.gold().
        n_copies: how many of the last sentences are copies of others; see augmentation.py.
        active: bool[sentences], which sentences are learned from at present; None: all.
    """

    sentences: Sentences
    trees: Trees
    relations: np.ndarray
    gold: Mapping[str, np.ndarray] = field(default_factory=dict)
    n_copies: int = 0
    active: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.trees)

    @property
    def n_active(self) -> int:
        """The number of sentences that are learned from at present."""
        return len(self) if self.active is None else int(self.active.sum())

    @property
    def n_words(self) -> int:
        """The number of words, without those of copies."""
        return int(self.sentences.lengths[: len(self) - self.n_copies].sum())


@dataclass(frozen=True)
class Examples:
    """Examples for the classifier. An example is a configuration with one feature row; with
    ``starts``, several rows.

    Attributes:
        features: int32[feature rows, slots].
        targets: int32[feature rows, targets]: the correct outputs;
            NO_NODE fills up rows that have fewer.
        sentences: int32[examples], the number of each example's sentence.
        starts: int64[examples + 1], the feature rows of example i are ``starts[i]`` to
            ``starts[i + 1] - 1``; None: it has row i only.
        blocks: int32[feature rows, 2], the outputs that a row scores: the first, and the end; None
            without ``starts``, where each row scores all outputs.
    """

    features: np.ndarray
    targets: np.ndarray
    sentences: np.ndarray
    starts: np.ndarray | None = None
    blocks: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    def take(self, numbers: np.ndarray) -> Examples:
        """Return the examples of these numbers (int[m]), in their order."""
        if self.starts is None or self.blocks is None:
            return Examples(self.features[numbers], self.targets[numbers], self.sentences[numbers])
        counts = np.diff(self.starts)[numbers]
        starts = np.cumsum([0, *counts])
        rows = np.arange(starts[-1]) + np.repeat(self.starts[:-1][numbers] - starts[:-1], counts)
        return Examples(
            self.features[rows],
            self.targets[rows],
            self.sentences[numbers],
            starts,
            self.blocks[rows],
        )

    @property
    def row_sentences(self) -> np.ndarray:
        """int32[feature rows], the number of each row's sentence."""
        return (
            self.sentences
            if self.starts is None
            else np.repeat(self.sentences, np.diff(self.starts))
        )

    @classmethod
    def concatenate(cls, parts: list[Examples]) -> Examples:
        """Return the examples of all parts, in order. The list is emptied,
        which frees each part as soon as it is copied.
        """
        width = max(part.targets.shape[1] for part in parts)
        targets = [
            np.pad(
                part.targets, ((0, 0), (0, width - part.targets.shape[1])), constant_values=NO_NODE
            )
            for part in parts
        ]
        others = (
            np.concatenate(targets),
            np.concatenate([part.sentences for part in parts]),
            _concatenated_starts([part.starts for part in parts if part.starts is not None]),
            np.concatenate(blocks)
            if (blocks := [part.blocks for part in parts if part.blocks is not None])
            else None,
        )
        features = np.empty(
            (sum(len(part.features) for part in parts), parts[0].features.shape[1]), np.int32
        )
        parts.reverse()
        filled = 0
        while parts:
            part = parts.pop().features
            features[filled : filled + len(part)] = part
            filled += len(part)
        return cls(features, *others)


NO_EXAMPLES = Examples(
    np.empty((0, 0), np.int32), np.empty((0, 1), np.int32), np.empty(0, np.int32)
)


class GatheredExamples:
    """Examples that come step by step, concatenated in blocks of many steps,
    so that memory can be used again.

    Args:
        block_bytes: a block is concatenated once its features have this many bytes.
    """

    def __init__(self, block_bytes: int = 64 * 2**20) -> None:
        self._block_bytes = block_bytes
        self._blocks: list[Examples] = []
        self._steps: list[Examples] = []
        self._bytes = 0  # of the features of the steps

    def append(self, examples: Examples) -> None:
        """Add the examples of a step."""
        self._steps.append(examples)
        self._bytes += examples.features.nbytes
        if self._bytes >= self._block_bytes:
            self._close_block()

    def all(self) -> Examples:
        """Return all examples, at least one, in their order; this object keeps none of them."""
        self._close_block()
        return Examples.concatenate(self._blocks)

    def _close_block(self) -> None:
        if self._steps:
            self._blocks.append(Examples.concatenate(self._steps))
            self._bytes = 0


class BatchedComputations:
    """A batch of sentences, parsed in parallel. Iterating yields the unfinished rows,
    until none is left.

    Attributes:
        numbers: int32[batch], the numbers of the sentences.
        now: their configurations.
        gold_heads, gold_relations: int32[batch, width];
            NO_NODE for the roots and after the ends of sentences.
    """

    def __init__(
        self, data: TrainingSentences, system: TransitionSystem, numbers: np.ndarray
    ) -> None:
        self.numbers = numbers.astype(np.int32)
        self.now: Configurations = system.initial(data.trees.lengths[numbers])
        self.gold_heads = _by_row(data.trees.heads, data.trees.offsets, numbers)
        self.gold_relations = _by_row(data.relations, data.trees.offsets, numbers)
        self._system = system

    def __iter__(self) -> Iterator[np.ndarray]:
        while len(rows := self._system.unfinished(self.now)):
            yield rows

    def has_gold(self) -> np.ndarray:
        """Return bool[batch]: whether every word with a known gold head has been given it."""
        return ((self.now.heads == self.gold_heads) | (self.gold_heads == NO_NODE)).all(axis=1)

    def score(self, oracle: BoundOracle, rows: np.ndarray) -> np.ndarray:
        """Return int16[m, width]: the oracle's scores of the transitions in the given rows."""
        return oracle.score_batch(query(self.numbers[rows], self.now, rows))

    def right_outputs(
        self, outputs: np.ndarray, rows: np.ndarray, transitions: Transitions, edges: np.ndarray
    ) -> np.ndarray:
        """Return the right outputs (int32[m, width]).

        All outputs are right if a word's gold head is unknown, and leaving the word without a head
        keeps as many gold ``edges`` (int[m, width], by transition) as giving it one.
        """
        unknown = (self.gold_heads[rows] == NO_NODE) & (self.now.heads[rows] == NO_NODE)
        if not (self._system.leaves_words and unknown[:, 1:].any()):
            return outputs
        arcs = transitions.children != NO_NODE
        guesses = arcs & np.take_along_axis(unknown, np.maximum(transitions.children, 0), axis=1)
        undecided = (guesses & (edges == edges.max(axis=1, keepdims=True))).any(axis=1)
        undecided &= ((outputs != NO_NODE) & ~arcs).any(axis=1)
        nothing = np.full_like(self.gold_relations, NO_NODE)
        everything = correct_outputs(
            self._system, transitions.rows != NO_NODE, transitions, nothing, rows
        )
        return np.where(undecided[:, None], everything, outputs)


def batched_computations(
    data: TrainingSentences, system: TransitionSystem
) -> Iterator[BatchedComputations]:
    """Yield the active sentences in batches of similar lengths;
    sentences of one length keep their order.
    """
    order = np.argsort(data.trees.lengths, kind="stable")
    order = order if data.active is None else order[data.active[order]]
    size = batch_sizes.SENTENCES_PER_EXPLORATION
    for start in range(0, len(order), size):
        yield BatchedComputations(data, system, order[start : start + size])


OnStep = Callable[[BatchedComputations, np.ndarray, np.ndarray], None]
"""Called after each step of a batch, with the rows (int[m]) that took it and the columns (int[m])
of their transitions.
"""


def gold_examples(
    data: TrainingSentences,
    oracle: BoundOracle,
    system: TransitionSystem,
    table: FeatureTable,
    on_step: OnStep | None = None,
) -> Examples:
    """Return the configurations of gold computations; each teaches the optimal transition that is
    first in the eager order.

    In sentences with unknown heads, it teaches all optimal transitions; see target_columns().

    Args:
        data: sentences with the trees that the oracle is bound to.
        oracle: a static one for trees that have a gold computation; or one that is exact for any
            tree, whose computations lose the fewest gold arcs.
        on_step: called for each step.
    """
    gathered = GatheredExamples()
    for batch in batched_computations(data, system):
        for rows in batch:
            transitions = system.transitions(batch.now, rows)
            scores = batch.score(oracle, rows)
            outputs = correct_outputs(
                system, optimal_transitions(scores), transitions, batch.gold_relations, rows
            )
            columns = eager_columns(system, outputs)
            right = batch.right_outputs(outputs, rows, transitions, scores // oracle.gold_weight)
            features = table.extract(batch.now, rows, data.sentences, batch.numbers, transitions)
            targets = np.where(data.trees.whole[batch.numbers[rows]], columns, NO_NODE)
            gathered.append(
                new_examples(system, features, transitions, right, targets, batch.numbers[rows])
            )
            children = transitions.children[np.arange(len(rows)), columns]
            system.apply(
                batch.now, rows, transitions, columns, batch.gold_relations[rows, children]
            )
            if on_step is not None:
                on_step(batch, rows, columns)
    return gathered.all()


def eager_columns(system: TransitionSystem, outputs: np.ndarray) -> np.ndarray:
    """Return int32[m]: in each row of right outputs (int32[m, width]), the column that is first in
    the system's eager order.
    """
    order = system.eager_order(outputs.shape[1])
    return order[(outputs[:, order] != NO_NODE).argmax(axis=1)].astype(np.int32)


def target_columns(
    system: TransitionSystem,
    outputs: np.ndarray,
    transitions: Transitions,
    scores: np.ndarray,
    target: Target,
    whole: np.ndarray,
) -> np.ndarray:
    """Return int[m], the columns whose right outputs (int32[m, width],
    NO_NODE = not optimal) become targets.

    ``whole``: bool[m], whether all heads are known. Where some are not, the column is NO_NODE, and
    all right outputs are targets: many transitions are optimal only because heads are unknown, so
    only their summed probability is taught.
    """
    best_outputs = with_best_labels(system, outputs, transitions, scores)
    columns = (
        eager_columns(system, best_outputs)
        if target is Target.fixed_order
        else best_correct_columns(best_outputs, transitions, scores)
    )
    return np.where(whole, columns, NO_NODE)


def new_examples(
    system: TransitionSystem,
    features: np.ndarray,
    transitions: Transitions,
    outputs: np.ndarray,
    columns: np.ndarray | None,
    sentences: np.ndarray,
) -> Examples:
    """Return an example for each of m configurations.

    Args:
        features: int32[feature rows, slots].
        outputs: int32[m, width], the right output of each optimal transition, NO_NODE elsewhere.
        columns: int[m], the transition that is the target; None: all optimal ones are targets. An
            entry NO_NODE: all optimal ones are targets in this configuration, which is skipped if
            every transition is correct.
        sentences: int32[m].
    """
    if columns is not None and (columns == NO_NODE).any():
        informs = (outputs == NO_NODE) | ((outputs >= 0) & (transitions.children != NO_NODE))
        kept = np.flatnonzero(
            (columns != NO_NODE) | (informs & (transitions.rows != NO_NODE)).any(axis=1)
        )
        right = np.where(
            (columns[:, None] == NO_NODE) | (np.arange(outputs.shape[1]) == columns[:, None]),
            outputs,
            NO_NODE,
        )
        return new_examples(system, features, transitions, right, None, sentences).take(kept)
    if transitions.starts is None:
        targets = (
            outputs if columns is None else np.take_along_axis(outputs, columns[:, None], axis=1)
        )
        return Examples(
            features, labels_of(system, targets.ravel()).reshape(len(targets), -1), sentences
        )
    is_target = outputs != NO_NODE
    if columns is not None:
        is_target &= np.arange(outputs.shape[1]) == columns[:, None]
    labels = labels_of(system, outputs[is_target])
    targets = np.full((len(features), labels.shape[1]), NO_NODE, np.int32)
    targets[transitions.rows[is_target]] = labels
    applicable = transitions.rows != NO_NODE
    firsts = system.block_starts[transitions.blocks[applicable]]
    sizes = system.block_sizes[transitions.blocks[applicable]]
    blocks = np.empty((len(features), 2), np.int32)
    blocks[transitions.rows[applicable]] = np.stack([firsts, firsts + sizes], axis=1)
    return Examples(features, targets, sentences, transitions.starts, blocks)


def _concatenated_starts(parts: list[np.ndarray]) -> np.ndarray | None:
    """Return where the feature rows of each example begin in the concatenated parts;
    None if there are no parts.
    """
    if not parts:
        return None
    ends = np.cumsum([part[-1] for part in parts])
    return np.concatenate(
        [[0], *(part[1:] + end - part[-1] for part, end in zip(parts, ends, strict=True))]
    )


def _by_row(flat: np.ndarray, offsets: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return int32[batch, width]: the flat entries of each sentence as a row,
    NO_NODE for the root and after the end.
    """
    lengths = (offsets[numbers + 1] - offsets[numbers]).astype(np.int64)
    columns = np.arange(lengths.max(initial=1))
    inside = columns < lengths[:, None]
    places = np.where(inside, offsets[numbers][:, None] + columns, 0)
    rows = np.where(inside, flat[places], NO_NODE).astype(np.int32)
    rows[:, 0] = NO_NODE
    return rows
