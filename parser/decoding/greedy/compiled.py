"""Parsing in a compiled loop: greedily for arc-standard and Attardi's system, and what all such loops have in common.

A step adds up precomputed hidden activations, a row for every position (inference/precomputed_tokens.py), and multiplies the
active units by the output weights. What the positions in the buffer contribute is kept until the next shift; where only one
output is possible, nothing is computed. The result is the same for any number of threads, and depends on no other sentence that
is parsed along. spine.py has the loop for LR-spine, buffer_arcs.py that for arc-hybrid and arc-eager, beam/compiled.py the one
with a beam; batched.py is the reference implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding import batch_sizes
from parser.decoding.sentence_parser import parse_spans
from parser.inference.precomputed import sum_rows
from parser.inference.precomputed_tokens import PrecomputedWords, token_activations
from parser.inference.weights import ClassifierWeights
from parser.kernels import kernel
from parser.kernels.active_units import activate_units, activation_number, scores_of_units
from parser.kernels.llvm import WIDTH
from parser.transitions.attardi import Attardi, best_output, forced_output, take_transition, transition_of
from parser.transitions.configurations import ONLY_ROW, Configurations, clear
from parser.transitions.features import FeatureTable, find_nodes
from parser.transitions.system import TransitionSystem


class Positions(NamedTuple):
    """Some of the positions that features read; see FeatureTable for their programs, TokenActivations for the rest."""

    programs: np.ndarray
    places: np.ndarray
    relation_rows: np.ndarray


class Layers(NamedTuple):
    """The layers: float32[hidden] bias, the activation, float32[hidden, outputs] and float32[outputs] of the output layer.

    There are some outputs of weight 0 after the real ones.
    """

    hidden_bias: np.ndarray
    activation: int
    weights: np.ndarray
    bias: np.ndarray


class CompiledModel(NamedTuple):
    """The classifier on the words of some sentences.

    Attributes:
        words: the words.
        of_buffer: the positions that read words of the buffer, and so depend only on where it begins.
        others: all other positions.
        layers: the layers.
    """

    words: PrecomputedWords
    of_buffer: Positions
    others: Positions
    layers: Layers


class AttardiRules(NamedTuple):
    """What of the transition system the loop needs; see best_output."""

    degree: int
    n_relations: int
    root_relation: int
    single_root: bool

    @classmethod
    def of(cls, system: Attardi, single_root: bool) -> AttardiRules:
        """Those of a transition system."""
        root_relation = NO_NODE if system.root_relation is None else system.root_relation
        return cls(system.degree, system.n_relations, root_relation, single_root)


class CompiledClassifier:
    """A classifier as it is now, for compiled loops; rebuilt when the weights have changed. Threads may use one side by side.

    Args:
        weights: the weights of the classifier.
        system: the transition system.
        table: the features.
    """

    def __init__(self, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable) -> None:
        activations = token_activations(weights, table, system.n_relations)
        self._activations = activations
        self._system = system
        self._layers = Layers(
            activations.bias, activation_number(weights.activation), *self._output_layer(weights.output, weights.output_bias)
        )
        # The buffer's positions depend only on how far it is read: what they add changes on a shift.
        of_buffer = table.in_buffer & (activations.relation_rows == NO_NODE)
        self._of_buffer, self._others = (
            Positions(table.programs[chosen], activations.places[chosen], activations.relation_rows[chosen])
            for chosen in (of_buffer, ~of_buffer)
        )

    def words_of(self, sentences: Sentences) -> PrecomputedWords:
        """The words of sentences, their hidden activations computed."""
        return self._activations(sentences)

    def model_on(self, words: PrecomputedWords) -> CompiledModel:
        """The classifier on words."""
        return CompiledModel(words, self._of_buffer, self._others, self._layers)

    def _output_layer(self, weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """float32[hidden, outputs] and float32[outputs] as the loop needs them, of the classifier's."""
        return padded_outputs(weights, bias)


class CompiledParser(CompiledClassifier, ABC):
    """Parses with a classifier.

    Args:
        weights, system, table: see CompiledClassifier.
        threads: how many sentences are parsed side by side.
    """

    def __init__(self, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable, threads: int = 1) -> None:
        super().__init__(weights, system, table)
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences; see SentenceParser."""
        tokens = batch_sizes.TOKENS_PER_SPAN
        if self._threads > 1:
            even = int(sentences.offsets[-1]) // (4 * self._threads)
            tokens = min(tokens, max(batch_sizes.FEWEST_TOKENS_PER_SPAN, even))
        return parse_spans(
            sentences, tokens, self._threads, lambda part, parses: self._parse_words(self.words_of(part), parses, single_root)
        )

    @abstractmethod
    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        """Parses the sentences of ``words`` into ``parses``."""


def one_configuration(offsets: np.ndarray) -> Configurations:
    """Workspace: one configuration of any of the sentences that begin at these offsets."""
    return Configurations.initial(np.diff(offsets).max(keepdims=True, initial=1) - 1)


def padded_outputs(weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (float32[outputs, hidden]), transposed, and bias (float32[outputs]), with outputs of weight 0 after them."""
    lacking = -len(bias) % WIDTH
    return np.ascontiguousarray(np.pad(weights.T, ((0, 0), (0, lacking)))), np.pad(bias, (0, lacking))


@kernel()
def pick_words(start, nodes, positions, words, picked):
    """Fills in ``picked``: the rows of the words at ``nodes`` (int32[positions]); how many there are."""
    count = 0
    for a in range(len(nodes)):
        if nodes[a] != NO_NODE:
            picked[count] = words.first + words.signatures[start + nodes[a]] * words.per_signature + positions.places[a]
            count += 1
    return count


@kernel()
def pick(now, start, nodes, positions, words, picked):
    """The same, with the relations that the nodes have been given; positions may read either or both."""
    count = 0
    for a in range(len(nodes)):
        node = nodes[a]
        if node != NO_NODE:
            if positions.places[a] != NO_NODE:
                picked[count] = words.first + words.signatures[start + node] * words.per_signature + positions.places[a]
                count += 1
            if positions.relation_rows[a] != NO_NODE and now.relations[0, node] != NO_NODE:
                picked[count] = positions.relation_rows[a] + now.relations[0, node]
                count += 1
    return count


@kernel()
def output_scores(hidden, activation, weights, bias, active, scores):
    """Fills in ``scores[0]``; units that are zero, half of them under relu, are passed over."""
    count = activate_units(hidden, activation, active)
    scores_of_units(hidden, weights, bias, active, count, scores[0])


class GreedyParser(CompiledParser):
    """Parses with a classifier as it is now, for arc-standard and Attardi's system; see CompiledParser."""

    _system: Attardi

    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        model, rules, now = self.model_on(words), AttardiRules.of(self._system, single_root), one_configuration(parses.offsets)
        _parse(parses.offsets, model, rules, now, StepWorkspace.allocate(model), parses.heads, parses.relations)


class StepWorkspace(NamedTuple):
    """Workspace of a step.

    Attributes:
        buffer_nodes, nodes: int32, the nodes at the positions in the buffer and at all others.
        picked: int64, the rows to be added up.
        buffer_sum, hidden: float32[hidden], what positions in the buffer add up to, and what all do.
        active: int32[hidden], the units that are not zero.
        scores: float32[1, outputs].
    """

    buffer_nodes: np.ndarray
    nodes: np.ndarray
    picked: np.ndarray
    buffer_sum: np.ndarray
    hidden: np.ndarray
    active: np.ndarray
    scores: np.ndarray

    @classmethod
    def allocate(cls, model: CompiledModel) -> StepWorkspace:
        """For a classifier."""
        in_buffer, elsewhere = len(model.of_buffer.programs), len(model.others.programs)
        units, outputs = len(model.layers.hidden_bias), len(model.layers.bias)
        return cls(
            buffer_nodes=np.empty(in_buffer, np.int32),
            nodes=np.empty(elsewhere, np.int32),
            picked=np.empty(max(in_buffer, 2 * elsewhere), np.int64),
            buffer_sum=np.empty(units, np.float32),
            hidden=np.empty(units, np.float32),
            active=np.empty(units, np.int32),
            scores=np.empty((1, outputs), np.float32),
        )


@kernel()
def _parse(offsets, model, rules, now, workspace, all_heads, all_relations):
    """Parses the sentences into ``all_heads`` and ``all_relations``; ``now`` is workspace, a configuration of the longest."""
    words, of_buffer, others, layers = model
    buffer_nodes, nodes, picked, buffer_sum, hidden, active, scores = workspace
    no_candidate_nodes = nodes[:0]
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        clear(now, ONLY_ROW, length)
        summed = 0  # the buffer's front for which buffer_sum was added up
        for _ in range(2 * length):
            size = np.int64(now.stack_sizes[0])
            front = now.buffer_fronts[0]
            buffered = front <= length
            output = forced_output(rules.degree, size, buffered, rules.root_relation, rules.single_root)
            if output == NO_NODE:
                if summed != front:
                    summed = front
                    find_nodes(now, ONLY_ROW, no_candidate_nodes, of_buffer.programs, buffer_nodes)
                    count = pick_words(start, buffer_nodes, of_buffer, words, picked)
                    sum_rows(layers.hidden_bias, words.activations, picked, count, buffer_sum)
                find_nodes(now, ONLY_ROW, no_candidate_nodes, others.programs, nodes)
                count = pick(now, start, nodes, others, words, picked)
                sum_rows(buffer_sum, words.activations, picked, count, hidden)
                output_scores(hidden, layers.activation, layers.weights, layers.bias, active, scores)
                output = best_output(
                    scores, ONLY_ROW, rules.degree, size, buffered, rules.n_relations, rules.root_relation, rules.single_root
                )
            column, relation = transition_of(output, rules.n_relations)
            take_transition(now, ONLY_ROW, column, relation)
        for i in range(1, length + 1):
            all_heads[start + i] = now.heads[0, i]
            all_relations[start + i] = now.relations[0, i]
