"""Scores of configurations from precomputed contributions: the weights are at rest.

The hidden layer of a configuration is a sum of contributions (hidden_contributions.py), whatever the length of the vectors.
Classifier.forward is the reference implementation. Exploration multiplies many configurations at a time (batch_scorer.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED
from parser.inference.hidden_contributions import ContributionMaker
from parser.inference.scorer import Scorer
from parser.inference.weights import ClassifierWeights
from parser.kernels import kernel
from parser.kernels.activations import activate, activation_number
from parser.transitions.features import RELATION, FeatureTable


def precomputed_scorer(weights: ClassifierWeights, table: FeatureTable, sentences: Sentences) -> Scorer:
    """A function from features, int32[m, slots], to scores, float32[m, outputs].

    The scores of a configuration do not depend, in their last digits, on the others that are scored with it.

    Args:
        weights: the weights.
        table: the features.
        sentences: those that the features will be read in; values that do not occur there may not be asked for.
    """
    hidden_of = hidden_layer(weights, table, sentences)
    activation = activation_number(weights.activation)
    output_weights, bias = np.ascontiguousarray(weights.output.T), weights.output_bias

    def score(features: np.ndarray) -> np.ndarray:
        scores = np.empty((len(features), len(bias)), np.float32)
        _multiply(hidden_of(features), activation, output_weights, bias, scores)
        return scores

    return score


def hidden_layer(weights: ClassifierWeights, table: FeatureTable, sentences: Sentences) -> Callable[[np.ndarray], np.ndarray]:
    """From features to float32[m, hidden], what goes into the activation; see precomputed_scorer."""
    contributions = ContributionMaker(weights, table).of_sentences(sentences)
    # The contributions have numbers of their own for the values that occur in the sentences.
    renumbered = {}
    for name, ours, theirs in zip(table.attributes, table.values(sentences), contributions.values, strict=True):
        renumbered[name] = np.zeros(max(ours.max(initial=0), 0) + 1, np.int32)
        renumbered[name][ours] = theirs
    identity = np.arange(N_RESERVED + len(weights.output_bias), dtype=np.int32)  # there are fewer relations than outputs
    numbers = [identity if slot.attribute == RELATION else renumbered[slot.attribute] for slot in table.slots]
    firsts = np.cumsum([0, *map(len, numbers[:-1])])
    flat = np.concatenate(numbers)

    def hidden_of(features: np.ndarray) -> np.ndarray:
        hidden = np.empty((len(features), len(contributions.bias)), np.float32)
        _add_up(features, flat, firsts, contributions.starts, contributions.rows, contributions.bias, hidden)
        return hidden

    return hidden_of


@kernel()
def _add_up(features, numbers, firsts, starts, rows, bias, hidden):
    """Fills in ``hidden`` (float32[m, units]): the bias and the contributions of all slots, added up."""
    for m in range(len(features)):
        for h in range(len(bias)):
            hidden[m, h] = bias[h]
        for c in range(features.shape[1]):
            row = starts[c] + numbers[firsts[c] + features[m, c]]
            for h in range(len(bias)):
                hidden[m, h] += rows[row, h]


@kernel(fastmath={"contract"})
def _multiply(hidden, activation, weights, bias, scores):
    """Fills in ``scores`` (float32[m, outputs]) from what goes into the activation, each sum in one order."""
    for m in range(len(hidden)):
        row = scores[m]
        for o in range(len(bias)):
            row[o] = bias[o]
        for h in range(hidden.shape[1]):
            x = activate(hidden[m, h], activation)
            if x != 0:
                for o in range(len(bias)):
                    row[o] += x * weights[h, o]
