"""Parsing in a compiled loop, greedily (greedy.py, spine.py) or with a beam (beam.py): what the loops have in common.

A step adds up a precomputed contribution to the hidden layer for every address (precomputed_tokens.py), and multiplies the
active units by the output weights. What the addresses in the buffer contribute is kept until the next shift; where only one
output is possible, nothing is computed. The result is the same for any number of threads, and depends on no other sentence that
is parsed along. lockstep.py and lockstep_beam.py are the reference implementations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from parser.data.parses import NO_NODE, Parses
from parser.data.sentences import Sentences
from parser.decoding.spans import parse_spans
from parser.inference.precomputed import sum_rows as sum_rows  # what the loops use
from parser.inference.precomputed_tokens import address_contributions
from parser.inference.weights import ClassifierWeights
from parser.kernels import kernel
from parser.kernels.activations import activation_number
from parser.kernels.active_units import activate_units, scores_of_units
from parser.kernels.llvm import WIDTH
from parser.transitions.configurations import Configurations
from parser.transitions.features import FeatureTable
from parser.transitions.system import TransitionSystem

# Tokens that a thread takes at a time, unless a sentence has more; less if several threads have little to share, but not less
# than the smaller number.
SHARE = 4_000
_SMALLEST_SHARE = 1_000


class Addresses(NamedTuple):
    """Some of the addresses that features read; see FeatureTable for their programs, AddressContributions for the rest."""

    programs: np.ndarray
    places: np.ndarray
    relation_rows: np.ndarray


class Words(NamedTuple):
    """The words of sentences as types, and the contributions of types; see AddressContributions and TypedSentences."""

    types: np.ndarray
    contributions: np.ndarray
    first: int
    per_type: int


class Layers(NamedTuple):
    """The layers: float32[hidden] bias, the activation, float32[hidden, outputs] and float32[outputs] of the output layer.

    There are some outputs of weight 0 after the real ones.
    """

    hidden_bias: np.ndarray
    activation: int
    weights: np.ndarray
    bias: np.ndarray


class CompiledParser(ABC):
    """Parses with a classifier as it is now; rebuilt when the weights have changed. Threads may parse with one side by side.

    Args:
        weights: the weights of the classifier.
        system: the transition system.
        table: the features.
        threads: how many sentences are parsed side by side.
    """

    def __init__(
        self,
        weights: ClassifierWeights,
        system: TransitionSystem,
        table: FeatureTable,
        threads: int = 1,
    ) -> None:
        contributions = address_contributions(weights, table, system.n_relations)
        self._contributions = contributions
        self._system = system
        self._layers = Layers(
            contributions.bias, activation_number(weights.activation), *self._output_layer(weights.output, weights.output_bias)
        )
        self._threads = threads
        # The buffer's addresses depend only on how far it is read: what they contribute changes on a shift.
        of_buffer = table.in_buffer & (contributions.relation_rows == NO_NODE)
        self._of_buffer, self._others = (
            Addresses(table.programs[chosen], contributions.places[chosen], contributions.relation_rows[chosen])
            for chosen in (of_buffer, ~of_buffer)
        )

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences; see SentenceParser."""
        share = SHARE
        if self._threads > 1:
            share = min(SHARE, max(_SMALLEST_SHARE, int(sentences.offsets[-1]) // (4 * self._threads)))
        return parse_spans(
            sentences, share, self._threads, lambda part, parses: self._parse_words(self.words_of(part), parses, single_root)
        )

    def words_of(self, sentences: Sentences) -> Words:
        """The words of sentences, their contributions computed."""
        typed = self._contributions(sentences)
        return Words(typed.types, typed.contributions, self._contributions.first, self._contributions.per_type)

    def _output_layer(self, weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """float32[hidden, outputs] and float32[outputs] as the loop needs them, of the classifier's."""
        return padded_outputs(weights, bias)

    @abstractmethod
    def _parse_words(self, words: Words, parses: Parses, single_root: bool) -> None:
        """Parses the sentences of ``words`` into ``parses``."""


def one_configuration(offsets: np.ndarray) -> Configurations:
    """Room for one configuration of any of the sentences that begin at these offsets."""
    return Configurations.initial(np.diff(offsets).max(keepdims=True, initial=1) - 1)


def padded_outputs(weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (float32[outputs, hidden]), transposed, and bias (float32[outputs]), with outputs of weight 0 after them."""
    lacking = -len(bias) % WIDTH
    return np.ascontiguousarray(np.pad(weights.T, ((0, 0), (0, lacking)))), np.pad(bias, (0, lacking))


@kernel()
def pick_words(start, nodes, addresses, words, picked):
    """Fills in ``picked``: the rows of the words at ``nodes`` (int32[addresses]); how many there are."""
    count = 0
    for a in range(len(nodes)):
        if nodes[a] != NO_NODE:
            picked[count] = words.first + words.types[start + nodes[a]] * words.per_type + addresses.places[a]
            count += 1
    return count


@kernel()
def pick(now, start, nodes, addresses, words, picked):
    """The same, with the relations that the nodes have been given; addresses may read either or both."""
    count = 0
    for a in range(len(nodes)):
        node = nodes[a]
        if node != NO_NODE:
            if addresses.places[a] != NO_NODE:
                picked[count] = words.first + words.types[start + node] * words.per_type + addresses.places[a]
                count += 1
            if addresses.relation_rows[a] != NO_NODE and now.relations[0, node] != NO_NODE:
                picked[count] = addresses.relation_rows[a] + now.relations[0, node]
                count += 1
    return count


@kernel()
def output_scores(hidden, activation, weights, bias, active, scores):
    """Fills in ``scores[0]``; units that are zero, half of them under relu, are passed over."""
    count = activate_units(hidden, activation, active)
    scores_of_units(hidden, weights, bias, active, count, scores[0])
