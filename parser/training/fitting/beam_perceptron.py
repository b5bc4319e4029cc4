"""Structured learning of a linear model: the averaged perceptron with a beam (Collins and Roark
2004, Huang et al. 2012).

    for each sentence:
        search with the current weights, with a beam and with a beam of gold transitions only
        at the step that is learned from:
            B = the best item of the beam
            G = the best gold item of both beams
            if B scores higher than G:
                w += phi(transitions that led to G) - phi(transitions that led to B)

Many items can be gold, as for an MLP (compiled/gold_beam.py): an item is gold if its transitions
have lost no edge that an exact oracle calls attainable, and no relation of a gold edge. The search
is in Python (decoding/beam/batched.py); the features, their scores and the updates are compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from oracles import NOT_APPLICABLE, BoundOracle
from oracles.errors import OptimalStepError
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
        keys: uint64[templates], the features; see Templates.extract.
        output: the transition and its relation, as an output of the system.
    """

    keys: np.ndarray
    output: int


@dataclass
class BeamSide:
    """The items of one of the two beams.

    Attributes:
        items: configurations and scores, the best item first.
        lost: int64[items], how many words can no longer get their gold head or relation because of
            an item's transitions.
        histories: the transitions that led to each item.
    """

    items: BatchedItems
    lost: np.ndarray
    histories: list[tuple[TakenTransition, ...]]


class SentenceUpdate(NamedTuple):
    """Statistics of learning from a sentence.

    Attributes:
        loss: how much higher the best item scored than the best gold item at the step learned from;
            0 if there was nothing to learn.
        step: the step learned from, as a share of all steps.
        lost: whether the beam had no gold item at some step of the search.
        configurations: the number of configurations whose transitions' scores were changed.
    """

    loss: float
    step: float
    lost: bool
    configurations: int


@dataclass(frozen=True)
class BeamPerceptron:
    """A perceptron that learns from whole computations.

    Attributes:
        perceptron: the perceptron, changed in place; a sentence counts as one step of its average.
        system, templates: those of its model. All computations of a sentence must have the same
            number of transitions.
        oracle: an oracle that is bound to the trees of ``data``, and exact for them.
        training: how to search, and which step to learn from.

    Raises:
        OptimalStepError: computations of the system differ in length.
    """

    perceptron: Perceptron
    system: TransitionSystem
    templates: Templates
    data: TrainingSentences
    oracle: BoundOracle
    training: BeamTraining

    def __post_init__(self) -> None:
        if self.system.reorders_buffer:
            raise OptimalStepError(
                f"computations of {self.system.name} differ in length: "
                "items cannot be compared step by step"
            )

    def learn(self, s: int) -> SentenceUpdate:
        """Search sentence number ``s``, and update the weights."""
        violations, lost = [], False
        for beam, gold_beam in self.search(s):
            violations.append(self._violation(beam, gold_beam))
            lost = lost or beam.lost.min() > 0
            if lost and self.training.update is UpdateStep.early:
                break
        chosen = len(violations) - 1  # with early updates, the search has stopped there
        if self.training.update is UpdateStep.max_violation:
            chosen = max(range(len(violations)), key=lambda t: violations[t].size)
        changed = self._update(violations[chosen])
        self.perceptron.steps += 1
        loss = max(violations[chosen].size, 0.0)
        step = (chosen + 1) / (2 * int(self.data.sentences.lengths[s]))
        return SentenceUpdate(loss, step, lost, changed)

    def search(self, s: int) -> Iterator[tuple[BeamSide, BeamSide]]:
        """Yield the beam and the gold beam, whose items are all gold,
        after each step of a sentence.
        """
        sentence = self.data.sentences.span(s, s + 1)
        now = self.system.initial(sentence.lengths)
        beam = gold_beam = BeamSide(
            BatchedItems(now, np.zeros(1, np.int64), np.zeros(1)), np.zeros(1, np.int64), [()]
        )
        sizes = (
            self.training.beam,
            Beam(self.training.gold_size, self.training.beam.merge, self.training.beam.scores),
        )
        while len(self.system.unfinished(beam.items.now)):
            beam = self._advance(beam, s, sentence, sizes[0], only_gold=False)
            gold_beam = self._advance(gold_beam, s, sentence, sizes[1], only_gold=True)
            yield beam, gold_beam

    def _advance(
        self, side: BeamSide, s: int, sentence: Sentences, beam: Beam, *, only_gold: bool
    ) -> BeamSide:
        system, items = self.system, side.items
        now, rows = items.now, np.arange(len(items.totals))
        transitions = system.transitions(now, rows)
        keys = self.templates.extract(now, rows, sentence, items.numbers, transitions)
        scores = self.perceptron.scores(keys)
        losses = self._losses(s, now, transitions)
        allowed, scored = (
            self._gold_transitions(s, transitions, losses, scores)
            if only_gold
            else (transitions, scores)
        )
        advanced = advance_items(items, rows, system, allowed, scored, beam, single_root=False)
        lost, histories = np.empty(len(advanced.parents), np.int64), []
        for i, (parent, column) in enumerate(
            zip(advanced.parents.tolist(), advanced.columns.tolist(), strict=True)
        ):
            child = int(transitions.children[parent, column])
            relation = 0 if child == NO_NODE else int(advanced.items.now.relations[i, child])
            wrong = self._is_wrong(s, int(transitions.heads[parent, column]), child, relation)
            lost[i] = side.lost[parent] + losses[parent, column] + wrong
            output = int(system.block_starts[transitions.blocks[parent, column]]) + relation
            taken = TakenTransition(keys[transitions.rows[parent, column]], output)
            histories.append((*side.histories[parent], taken))
        if only_gold and lost.any():  # the beam had room for more than the gold transitions
            kept = np.flatnonzero(lost == 0)
            return BeamSide(advanced.items.take(kept), lost[kept], [histories[i] for i in kept])
        return BeamSide(advanced.items, lost, histories)

    def _losses(self, s: int, now: Configurations, transitions: Transitions) -> np.ndarray:
        """Return int64[items, width]: how many gold edges a transition makes unattainable."""
        numbers = np.full(len(transitions.rows), s, np.int32)
        oracle_scores = self.oracle.score_batch(query(numbers, now))
        edges = oracle_scores.astype(np.int64) // self.oracle.gold_weight
        applicable = (transitions.rows != NO_NODE) & (oracle_scores != NOT_APPLICABLE)
        highest = np.where(applicable, edges, -1).max(axis=1, keepdims=True)
        return np.where(applicable, highest - edges, 0)

    def _is_wrong(self, s: int, head: int, child: int, relation: int) -> bool:
        """Return whether an arc is in the gold tree with another relation."""
        if child == NO_NODE:
            return False
        at = int(self.data.trees.offsets[s]) + child
        gold = int(self.data.relations[at])
        return int(self.data.trees.heads[at]) == head and gold >= 0 and gold != relation

    def _gold_transitions(
        self, s: int, transitions: Transitions, losses: np.ndarray, scores: np.ndarray
    ) -> tuple[Transitions, np.ndarray]:
        """Return the transitions that lose no edge,
        and scores in which wrong relations of gold arcs come last.
        """
        rows, scored = np.where(losses == 0, transitions.rows, NO_NODE), scores.copy()
        for item, column in zip(*np.nonzero(rows != NO_NODE), strict=True):
            head = int(transitions.heads[item, column])
            child = int(transitions.children[item, column])
            block = transitions.blocks[item, column]
            start, size = int(self.system.block_starts[block]), int(self.system.block_sizes[block])
            if child != NO_NODE:
                wrong = [self._is_wrong(s, head, child, relation) for relation in range(size)]
                scored[rows[item, column], start : start + size][wrong] = LOWEST
        return replace(transitions, rows=rows), scored

    def _violation(self, beam: BeamSide, gold_beam: BeamSide) -> Violation:
        best = int(beam.items.totals.argmax())
        gold = [(float(gold_beam.items.totals[0]), gold_beam.histories[0])]
        gold += [
            (float(beam.items.totals[i]), beam.histories[i])
            for i in np.flatnonzero(beam.lost == 0)[:1]
        ]
        total, history = max(gold, key=lambda item: item[0])
        return Violation(float(beam.items.totals[best]) - total, beam.histories[best], history)

    def _update(self, violation: Violation) -> int:
        """Update the weights; return the number of configurations whose scores change."""
        if violation.size <= 0:
            return 0
        pairs = list(zip(violation.beam_history, violation.gold_history, strict=True))
        apart = next(
            i for i, (a, b) in enumerate(pairs) if a.output != b.output or (a.keys != b.keys).any()
        )
        wrong, gold = violation.beam_history[apart:], violation.gold_history[apart:]
        for transitions, delta in ((gold, 1), (wrong, -1)):
            self.perceptron.change(
                np.stack([transition.keys for transition in transitions]),
                np.array([transition.output for transition in transitions]),
                delta,
            )
        return len(wrong) + len(gold)


@dataclass(frozen=True)
class Violation:
    """How much higher the best item scores than the best gold item at a step,
    and the transitions that led to both.
    """

    size: float
    beam_history: tuple[TakenTransition, ...]
    gold_history: tuple[TakenTransition, ...]
