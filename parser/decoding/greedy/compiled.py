"""Greedy parsing in one compiled loop for arc-standard and Attardi's system,
and what all compiled loops have in common.

A step adds up precomputed hidden activations, one row for each position
(inference/precomputed_tokens.py), and multiplies the active units by the output weights. The sum of
the buffer's positions is kept until the next shift. If only one output is possible, nothing is
computed. The result is the same for any number of threads, and does not depend on the other
sentences of a call. Other loops: spine.py for LR-spine, buffer_arcs.py for arc-hybrid and
arc-eager, beam/compiled.py with a beam. batched.py is the reference implementation.

The loops have the same frame, and their own steps. One loop that took its step as an argument would
be compiled again in each process: numba keeps no such kernel in its cache.
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
from parser.kernels.processor import WIDTH
from parser.transitions.attardi import (
    Attardi,
    best_output,
    forced_output,
    take_transition,
    transition_of,
)
from parser.transitions.configurations import ONLY_ROW, Configurations, clear
from parser.transitions.features import FeatureTable, find_nodes
from parser.transitions.system import TransitionSystem


class Positions(NamedTuple):
    """Some of the positions that features read: their programs (see FeatureTable), and their rows
    (see TokenActivations).
    """

    programs: np.ndarray
    places: np.ndarray
    relation_rows: np.ndarray


class Layers(NamedTuple):
    """The bias of the hidden layer (float32[hidden]), its activation, and the output layer,
    float32[hidden, outputs] and float32[outputs], with some outputs of weight 0 after the real
    ones.
    """

    hidden_bias: np.ndarray
    activation: int
    weights: np.ndarray
    bias: np.ndarray


class CompiledModel(NamedTuple):
    """The classifier, with the precomputed words of some sentences.

    Attributes:
        words: the words.
        in_buffer: the positions that read words of the buffer; these depend only on its front.
        others: all other positions.
        layers: the layers.
    """

    words: PrecomputedWords
    in_buffer: Positions
    others: Positions
    layers: Layers


class AttardiRules(NamedTuple):
    """What the loop needs to know of the transition system; see best_output()."""

    degree: int
    n_relations: int
    root_relation: int
    single_root: bool

    @classmethod
    def of(cls, system: Attardi, single_root: bool) -> AttardiRules:
        """Return the rules of a transition system."""
        root_relation = NO_NODE if system.root_relation is None else system.root_relation
        return cls(system.degree, system.n_relations, root_relation, single_root)


class CompiledClassifier:
    """A classifier for compiled loops, with its present weights; threads may share it.

    Args:
        weights: the weights of the classifier.
        system: the transition system.
        table: the features.
    """

    def __init__(
        self, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable
    ) -> None:
        activations = token_activations(weights, table, system.n_relations)
        self._activations = activations
        self._system = system
        self._layers = Layers(
            activations.bias,
            activation_number(weights.activation),
            *self._output_layer(weights.output, weights.output_bias),
        )
        # Positions of the buffer depend only on its front: their sum changes only on a shift.
        in_buffer = table.in_buffer & (activations.relation_rows == NO_NODE)
        self._in_buffer, self._others = (
            Positions(
                table.programs[chosen],
                activations.places[chosen],
                activations.relation_rows[chosen],
            )
            for chosen in (in_buffer, ~in_buffer)
        )

    def words_of(self, sentences: Sentences) -> PrecomputedWords:
        """Return the words of sentences, with their hidden activations."""
        return self._activations(sentences)

    def model_on(self, words: PrecomputedWords) -> CompiledModel:
        """Return the classifier with these words."""
        return CompiledModel(words, self._in_buffer, self._others, self._layers)

    def _output_layer(self, weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the output layer in the loop's layout, float32[hidden,
        outputs] and float32[outputs].
        """
        return padded_outputs(weights, bias)


class CompiledParser(CompiledClassifier, ABC):
    """Parses with a classifier.

    Args:
        weights, system, table: see CompiledClassifier.
        threads: how many spans of sentences are parsed at the same time.
    """

    def __init__(
        self,
        weights: ClassifierWeights,
        system: TransitionSystem,
        table: FeatureTable,
        threads: int = 1,
    ) -> None:
        super().__init__(weights, system, table)
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parse sentences; see SentenceParser."""
        tokens = batch_sizes.TOKENS_PER_SPAN
        if self._threads > 1:
            even = int(sentences.offsets[-1]) // (4 * self._threads)
            tokens = min(tokens, max(batch_sizes.FEWEST_TOKENS_PER_SPAN, even))
        return parse_spans(
            sentences,
            tokens,
            self._threads,
            lambda part, parses: self._parse_words(self.words_of(part), parses, single_root),
        )

    @abstractmethod
    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        """Parse the sentences of ``words`` into ``parses``."""


def one_configuration(offsets: np.ndarray) -> Configurations:
    """Return workspace: one configuration, large enough for the longest sentence."""
    return Configurations.initial(np.diff(offsets).max(keepdims=True, initial=1) - 1)


def padded_outputs(weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (float32[outputs, hidden]), transposed, and bias (float32[outputs]), padded
    with outputs of weight 0.
    """
    lacking = -len(bias) % WIDTH
    return np.ascontiguousarray(np.pad(weights.T, ((0, 0), (0, lacking)))), np.pad(
        bias, (0, lacking)
    )


@kernel()
def pick_words(start, nodes, positions, words, picked):
    """Fill in ``picked`` with the rows of the words at ``nodes`` (int32[positions]);
    return how many.
    """
    count = 0
    for a in range(len(nodes)):
        if nodes[a] != NO_NODE:
            picked[count] = (
                words.first + words.types[start + nodes[a]] * words.per_type + positions.places[a]
            )
            count += 1
    return count


@kernel()
def pick(now, start, nodes, positions, words, picked):
    """Fill in ``picked`` with the rows of words and of their relations; return how many. Positions
    may read either or both.
    """
    count = 0
    for a in range(len(nodes)):
        node = nodes[a]
        if node != NO_NODE:
            if positions.places[a] != NO_NODE:
                picked[count] = (
                    words.first + words.types[start + node] * words.per_type + positions.places[a]
                )
                count += 1
            if positions.relation_rows[a] != NO_NODE and now.relations[0, node] != NO_NODE:
                picked[count] = positions.relation_rows[a] + now.relations[0, node]
                count += 1
    return count


@kernel(inline="always")
def begin_sentence(now, length, workspace):
    """Make ``now`` the initial configuration of a sentence of ``length`` tokens."""
    clear(now, ONLY_ROW, length)
    workspace.summed[0] = 0


@kernel(inline="always")
def sum_hidden(now, start, candidate_nodes, model, workspace, hidden):
    """Fill in ``hidden``, float32[units], the hidden layer before its activation.

    Args:
        now: the configuration.
        start: where its sentence begins in ``words``.
        candidate_nodes: int32[m], the nodes at the candidate's own positions; see find_nodes().
        model: a CompiledModel.
        workspace: a StepWorkspace.
        hidden: the result.
    """
    words = model.words
    front = now.buffer_fronts[0]
    if workspace.summed[0] != front:
        workspace.summed[0] = front
        find_nodes(now, ONLY_ROW, candidate_nodes, model.in_buffer.programs, workspace.buffer_nodes)
        count = pick_words(start, workspace.buffer_nodes, model.in_buffer, words, workspace.picked)
        sum_rows(
            model.layers.hidden_bias,
            words.activations,
            workspace.picked,
            count,
            workspace.buffer_sum,
        )
    find_nodes(now, ONLY_ROW, candidate_nodes, model.others.programs, workspace.nodes)
    count = pick(now, start, workspace.nodes, model.others, words, workspace.picked)
    sum_rows(workspace.buffer_sum, words.activations, workspace.picked, count, hidden)


@kernel(inline="always")
def score_step(now, start, model, workspace):
    """Fill in ``workspace.scores[0]``, skipping units that are zero, as half of them are under
    relu; see sum_hidden().
    """
    sum_hidden(now, start, workspace.nodes[:0], model, workspace, workspace.hidden)
    layers = model.layers
    count = activate_units(workspace.hidden, layers.activation, workspace.active)
    scores_of_units(
        workspace.hidden, layers.weights, layers.bias, workspace.active, count, workspace.scores[0]
    )


@kernel(inline="always")
def write_tree(now, start, length, heads, relations):
    """Write the tree of a final configuration into the arrays of all sentences,
    from ``start`` on.
    """
    for i in range(1, length + 1):
        heads[start + i] = now.heads[0, i]
        relations[start + i] = now.relations[0, i]


class GreedyParser(CompiledParser):
    """A ``CompiledParser`` for arc-standard and Attardi's system."""

    _system: Attardi

    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        model = self.model_on(words)
        rules = AttardiRules.of(self._system, single_root)
        now = one_configuration(parses.offsets)
        _parse(
            parses.offsets,
            model,
            rules,
            now,
            StepWorkspace.allocate(model),
            parses.heads,
            parses.relations,
        )


class StepWorkspace(NamedTuple):
    """Workspace of a step.

    Attributes:
        buffer_nodes, nodes: int32, the nodes at the positions in the buffer,
            and at all other positions.
        picked: int64, the rows to add up.
        buffer_sum, hidden: float32[hidden], the sum of the rows in the buffer, and of all rows.
        summed: int32[1], the front of the buffer that ``buffer_sum`` belongs to; 0: none.
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
        """Allocate for a classifier, and steps of ``rows`` feature rows."""
        in_buffer, elsewhere = len(model.in_buffer.programs), len(model.others.programs)
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
        starts: int64[2], see Transitions; for systems whose transitions have a feature row each.
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
        """Allocate for steps of at most ``columns`` transitions, all of block 0."""
        rows, blocks, heads, children = np.zeros((4, 1, columns), np.int32)
        starts, only = np.zeros(2, np.int64), np.zeros(1, np.int64)
        return cls(
            rows=rows, blocks=blocks, heads=heads, children=children, starts=starts, only=only
        )


@kernel()
def _parse(offsets, model, rules, now, workspace, all_heads, all_relations):
    """Parse the sentences into ``all_heads`` and ``all_relations``; ``now`` is workspace, large
    enough for the longest.
    """
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        begin_sentence(now, length, workspace)
        for _ in range(2 * length):
            size = np.int64(now.stack_sizes[0])
            buffered = now.buffer_fronts[0] <= length
            output = forced_output(
                rules.degree, size, buffered, rules.root_relation, rules.single_root
            )
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
