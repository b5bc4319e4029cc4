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

from parser import batch_sizes
from parser.data.sentences import NO_NODE, Parses, Sentences
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


@kernel(inline="always")
def begin_sentence(now, length, workspace):
    """Makes ``now`` the initial configuration of a sentence of this many tokens."""
    clear(now, ONLY_ROW, length)
    workspace.summed[0] = 0


@kernel(inline="always")
def sum_hidden(now, start, candidate_nodes, model, workspace, hidden):
    """Fills in the hidden layer, float32[units], before its activation.

    Args:
        now: the configuration, of the sentence that begins at ``start`` in ``words``.
        start: see there.
        candidate_nodes: int32[m], the nodes that a candidate has of its own; see find_nodes().
        model: a CompiledModel.
        workspace: a StepWorkspace.
        hidden: what is filled in.
    """
    words = model.words
    front = now.buffer_fronts[0]
    if workspace.summed[0] != front:
        workspace.summed[0] = front
        find_nodes(now, ONLY_ROW, candidate_nodes, model.of_buffer.programs, workspace.buffer_nodes)
        count = pick_words(start, workspace.buffer_nodes, model.of_buffer, words, workspace.picked)
        sum_rows(model.layers.hidden_bias, words.activations, workspace.picked, count, workspace.buffer_sum)
    find_nodes(now, ONLY_ROW, candidate_nodes, model.others.programs, workspace.nodes)
    count = pick(now, start, workspace.nodes, model.others, words, workspace.picked)
    sum_rows(workspace.buffer_sum, words.activations, workspace.picked, count, hidden)


@kernel(inline="always")
def score_step(now, start, model, workspace):
    """Fills in ``workspace.scores[0]``; units that are zero, half of them under relu, are passed over. See sum_hidden()."""
    sum_hidden(now, start, workspace.nodes[:0], model, workspace, workspace.hidden)
    layers = model.layers
    count = activate_units(workspace.hidden, layers.activation, workspace.active)
    scores_of_units(workspace.hidden, layers.weights, layers.bias, workspace.active, count, workspace.scores[0])


@kernel(inline="always")
def write_tree(now, start, length, heads, relations):
    """Writes the tree of a final configuration to where its sentence begins."""
    for i in range(1, length + 1):
        heads[start + i] = now.heads[0, i]
        relations[start + i] = now.relations[0, i]


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
        summed: int32[1], the front of the buffer for which ``buffer_sum`` was added up; 0: none.
        active: int32[hidden], the units that are not zero.
        scores: float32[rows, outputs].
    """

    buffer_nodes: np.ndarray
    nodes: np.ndarray
    picked: np.ndarray
    buffer_sum: np.ndarray
    hidden: np.ndarray
    summed: np.ndarray
    active: np.ndarray
    scores: np.ndarray

    @classmethod
    def allocate(cls, model: CompiledModel, rows: int = 1) -> StepWorkspace:
        """For a classifier, and steps of so many feature rows."""
        in_buffer, elsewhere = len(model.of_buffer.programs), len(model.others.programs)
        units = len(model.layers.hidden_bias)
        return cls(
            buffer_nodes=np.empty(in_buffer, np.int32),
            nodes=np.empty(elsewhere, np.int32),
            picked=np.empty(max(in_buffer, 2 * elsewhere), np.int64),
            buffer_sum=np.empty(units, np.float32),
            hidden=np.empty(units, np.float32),
            summed=np.zeros(1, np.int32),
            active=np.empty(units, np.int32),
            scores=np.empty((rows, model.layers.bias.size), np.float32),
        )


class StepTransitions(NamedTuple):
    """Workspace for the transitions of one configuration.

    Attributes:
        rows, blocks, heads, children: int32[1, columns], see Transitions.
        starts: int64[2], see there, for systems whose transitions have a feature row each.
        only: int64[1], the number of the configuration, 0.
    """

    rows: np.ndarray
    blocks: np.ndarray
    heads: np.ndarray
    children: np.ndarray
    starts: np.ndarray
    only: np.ndarray

    @classmethod
    def allocate(cls, columns: int) -> StepTransitions:
        """For steps of at most so many columns; all of block 0."""
        rows, blocks, heads, children = np.zeros((4, 1, columns), np.int32)
        starts, only = np.zeros(2, np.int64), np.zeros(1, np.int64)
        return cls(rows=rows, blocks=blocks, heads=heads, children=children, starts=starts, only=only)


@kernel()
def _parse(offsets, model, rules, now, workspace, all_heads, all_relations):
    """Parses the sentences into ``all_heads`` and ``all_relations``; ``now`` is workspace, a configuration of the longest."""
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        begin_sentence(now, length, workspace)
        for _ in range(2 * length):
            size = np.int64(now.stack_sizes[0])
            buffered = now.buffer_fronts[0] <= length
            output = forced_output(rules.degree, size, buffered, rules.root_relation, rules.single_root)
            if output == NO_NODE:
                score_step(now, start, model, workspace)
                output = best_output(
                    workspace.scores,
                    ONLY_ROW,
                    rules.degree,
                    size,
                    buffered,
                    rules.n_relations,
                    rules.root_relation,
                    rules.single_root,
                )
            column, relation = transition_of(output, rules.n_relations)
            take_transition(now, ONLY_ROW, column, relation)
        write_tree(now, start, length, all_heads, all_relations)
