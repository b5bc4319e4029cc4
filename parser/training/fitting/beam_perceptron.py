"""Structured learning of a linear model: the averaged perceptron with a beam (Collins and Roark 2004, Huang et al. 2012).

    for each sentence: a beam goes on by the weights of the moment, a second one, the gold beam, by gold transitions only
        at the step that is learned from, B = the best item of the beam, G = the best gold item of both
        if B is ahead of G: w += phi(transitions that led to G) - phi(transitions that led to B)

What is gold is a set, the same as for an MLP (beam_objective.py): an item is gold if its transitions have lost nothing, no
edge that an exact oracle says could still be had, and no relation of a gold edge. The search is that of
decoding/beam/batched.py, in Python; compiled are the features, their scores and the updates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from oracles import NOT_APPLICABLE, BoundOracle
from parser.beam_settings import Beam
from parser.data.sentences import NO_NODE, Sentences
from parser.decoding.beam.batched import BatchedItems, advance_items
from parser.decoding.beam.scores import LOWEST
from parser.linear.perceptron import Perceptron
from parser.linear.templates import Templates
from parser.settings.groups import UpdateStep
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.beam_objective import BeamTraining
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import query
from parser.transitions.system import Transitions, TransitionSystem


class TakenTransition(NamedTuple):
    """A transition that led to an item.

    Attributes:
        keys: uint64[templates], its features; see Templates.extract.
        output: the transition and its relation, as an output of the system.
    """

    keys: np.ndarray
    output: int


@dataclass
class BeamSide:
    """The items of one of the two beams.

    Attributes:
        items: their configurations and scores, the best first.
        lost: int64[items], the words whose gold head or relation can no longer be had, because of their transitions.
        histories: of each, the transitions that led to it.
    """

    items: BatchedItems
    lost: np.ndarray
    histories: list[tuple[TakenTransition, ...]]


class SentenceUpdate(NamedTuple):
    """What a sentence has taught.

    Attributes:
        loss: by how much the best item was ahead of the best gold one at the step that was learned from; 0: nothing to learn.
        step: that step, as a share of all.
        lost: whether the beam had no gold item at some step of the search.
        configurations: how many had the scores of their transitions changed.
    """

    loss: float
    step: float
    lost: bool
    configurations: int


@dataclass(frozen=True)
class BeamPerceptron:
    """Learns from whole computations.

    Attributes:
        perceptron: whose weights are changed; a sentence counts as one step of its average.
        system, templates: those of its model. All computations of a sentence must have the same number of transitions.
        data: the sentences.
        oracle: bound to their trees; exact for them.
        training: how to search, and what to learn.

    Raises:
        ValueError: computations of the system differ in length.
    """

    perceptron: Perceptron
    system: TransitionSystem
    templates: Templates
    data: TrainingSentences
    oracle: BoundOracle
    training: BeamTraining

    def __post_init__(self) -> None:
        if self.system.reorders_buffer:
            raise ValueError(f"computations of {self.system.name} differ in length: items cannot be compared step by step")

    def learn(self, s: int) -> SentenceUpdate:
        """Searches through sentence number ``s``, and changes the weights by what was found."""
        violations, lost = [], False
        for beam, gold_beam in self.search(s):
            violations.append(self._violation(beam, gold_beam))
            lost = lost or beam.lost.min() > 0
            if lost and self.training.update is UpdateStep.early:
                break
        chosen = len(violations) - 1  # with early updates the search has gone no further
        if self.training.update is UpdateStep.max_violation:
            chosen = max(range(len(violations)), key=lambda t: violations[t].size)
        changed = self._update(violations[chosen])
        self.perceptron.steps += 1
        loss, step = max(violations[chosen].size, 0.0), (chosen + 1) / (2 * int(self.data.sentences.lengths[s]))
        return SentenceUpdate(loss, step, lost, changed)

    def search(self, s: int) -> Iterator[tuple[BeamSide, BeamSide]]:
        """The beam, and the gold beam, whose items are all gold, after each step of a sentence."""
        sentence = self.data.sentences.span(s, s + 1)
        now = self.system.initial(sentence.lengths)
        beam = gold_beam = BeamSide(BatchedItems(now, np.zeros(1, np.int64), np.zeros(1)), np.zeros(1, np.int64), [()])
        sizes = self.training.beam, Beam(self.training.gold_size, self.training.beam.merge, self.training.beam.scores)
        while len(self.system.unfinished(beam.items.now)):
            beam = self._advance(beam, s, sentence, sizes[0], only_gold=False)
            gold_beam = self._advance(gold_beam, s, sentence, sizes[1], only_gold=True)
            yield beam, gold_beam

    def _advance(self, side: BeamSide, s: int, sentence: Sentences, beam: Beam, *, only_gold: bool) -> BeamSide:
        system, items = self.system, side.items
        now, rows = items.now, np.arange(len(items.totals))
        transitions = system.transitions(now, rows)
        keys = self.templates.extract(now, rows, sentence, items.numbers, transitions)
        scores = self.perceptron.scores(keys)
        losses = self._losses(s, now, transitions)
        allowed, scored = self._gold_transitions(s, transitions, losses, scores) if only_gold else (transitions, scores)
        made = advance_items(items, rows, system, allowed, scored, beam, single_root=False)
        lost, histories = np.empty(len(made.parents), np.int64), []
        for i, (parent, column) in enumerate(zip(made.parents.tolist(), made.columns.tolist(), strict=True)):
            child = int(transitions.children[parent, column])
            relation = 0 if child == NO_NODE else int(made.items.now.relations[i, child])
            wrong = self._is_wrong(s, int(transitions.heads[parent, column]), child, relation)
            lost[i] = side.lost[parent] + losses[parent, column] + wrong
            output = int(system.block_starts[transitions.blocks[parent, column]]) + relation
            taken = TakenTransition(keys[transitions.rows[parent, column]], output)
            histories.append((*side.histories[parent], taken))
        if only_gold and lost.any():  # there were fewer gold transitions than the beam has items
            kept = np.flatnonzero(lost == 0)
            return BeamSide(made.items.take(kept), lost[kept], [histories[i] for i in kept])
        return BeamSide(made.items, lost, histories)

    def _losses(self, s: int, now: Configurations, transitions: Transitions) -> np.ndarray:
        """int64[items, width]: the gold edges that can no longer be had after a transition."""
        numbers = np.full(len(transitions.rows), s, np.int32)
        found = self.oracle.score_batch(query(numbers, now))
        edges = found.astype(np.int64) // self.oracle.gold_weight
        applicable = (transitions.rows != NO_NODE) & (found != NOT_APPLICABLE)
        highest = np.where(applicable, edges, -1).max(axis=1, keepdims=True)
        return np.where(applicable, highest - edges, 0)

    def _is_wrong(self, s: int, head: int, child: int, relation: int) -> bool:
        """Whether an arc is gold but for its relation."""
        if child == NO_NODE:
            return False
        at = int(self.data.trees.offsets[s]) + child
        gold = int(self.data.relations[at])
        return int(self.data.trees.heads[at]) == head and gold >= 0 and gold != relation

    def _gold_transitions(
        self, s: int, transitions: Transitions, losses: np.ndarray, scores: np.ndarray
    ) -> tuple[Transitions, np.ndarray]:
        """The transitions without those that lose an edge, and scores by which wrong relations of gold arcs come last."""
        rows, scored = np.where(losses == 0, transitions.rows, NO_NODE), scores.copy()
        for item, column in zip(*np.nonzero(rows != NO_NODE), strict=True):
            head, child = int(transitions.heads[item, column]), int(transitions.children[item, column])
            block = transitions.blocks[item, column]
            start, size = int(self.system.block_starts[block]), int(self.system.block_sizes[block])
            if child != NO_NODE:
                wrong = [self._is_wrong(s, head, child, relation) for relation in range(size)]
                scored[rows[item, column], start : start + size][wrong] = LOWEST
        return replace(transitions, rows=rows), scored

    def _violation(self, beam: BeamSide, gold_beam: BeamSide) -> Violation:
        best = int(beam.items.totals.argmax())
        gold = [(float(gold_beam.items.totals[0]), gold_beam.histories[0])]
        gold += [(float(beam.items.totals[i]), beam.histories[i]) for i in np.flatnonzero(beam.lost == 0)[:1]]
        total, history = max(gold, key=lambda one: one[0])
        return Violation(float(beam.items.totals[best]) - total, beam.histories[best], history)

    def _update(self, violation: Violation) -> int:
        """Changes the weights; the number of configurations whose scores are changed."""
        if violation.size <= 0:
            return 0
        pairs = list(zip(violation.of_beam, violation.of_gold, strict=True))
        apart = next(i for i, (a, b) in enumerate(pairs) if a.output != b.output or (a.keys != b.keys).any())
        of_beam, of_gold = violation.of_beam[apart:], violation.of_gold[apart:]
        for transitions, delta in ((of_gold, 1), (of_beam, -1)):
            self.perceptron.change(
                np.stack([one.keys for one in transitions]), np.array([one.output for one in transitions]), delta
            )
        return len(of_beam) + len(of_gold)


@dataclass(frozen=True)
class Violation:
    """By how much the best item is ahead of the best gold one at a step, and how both came about."""

    size: float
    of_beam: tuple[TakenTransition, ...]
    of_gold: tuple[TakenTransition, ...]
