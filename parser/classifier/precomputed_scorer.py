"""Scores of configurations from precomputed contributions, for exploration and lockstep parsing: the weights are at rest.

The hidden layer of a configuration is a sum of contributions (hidden_contributions.py), whatever the length of the vectors.
Classifier.forward is the reference implementation.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit

from parser.classifier.classifier import Classifier
from parser.classifier.hidden_contributions import ContributionMaker
from parser.classifier.scorer import Scorer
from parser.data.vocabulary import N_RESERVED, Sentences
from parser.transitions.features import RELATION, FeatureTable


def precomputed_scorer(classifier: Classifier, table: FeatureTable, sentences: Sentences, row_by_row: bool = False) -> Scorer:
    """The classifier as it is now, as a function from features, int32[m, slots], to scores, float32[m, outputs].

    Args:
        classifier: the classifier, on any device.
        table: the features.
        sentences: those that the features will be read in; values that do not occur there may not be asked for.
        row_by_row: scores of a configuration do not depend, in their last digits, on the others that are scored with it.
            This takes longer.
    """
    contributions = ContributionMaker(classifier, table).of_sentences(sentences)
    # The contributions have numbers of their own for the values that occur in the sentences.
    renumbered = {}
    for name, ours, theirs in zip(table.attributes, table.values(sentences), contributions.values, strict=True):
        renumbered[name] = np.zeros(max(ours.max(initial=0), 0) + 1, np.int32)
        renumbered[name][ours] = theirs
    identity = np.arange(N_RESERVED + classifier.output.out_features, dtype=np.int32)  # there are fewer relations than outputs
    numbers = [identity if slot.attribute == RELATION else renumbered[slot.attribute] for slot in table.slots]
    firsts = np.cumsum([0, *map(len, numbers[:-1])])
    flat = np.concatenate(numbers)
    weights, bias = (p.detach().cpu() for p in (classifier.output.weight, classifier.output.bias))

    output_weights = np.ascontiguousarray(weights.numpy().T)

    def score(features: np.ndarray) -> np.ndarray:
        hidden = np.empty((len(features), len(contributions.bias)), np.float32)
        _add_up(features, flat, firsts, contributions.starts, contributions.rows, contributions.bias, hidden)
        active = classifier.activation.apply(torch.from_numpy(hidden))
        if row_by_row:
            scores = np.empty((len(features), len(bias)), np.float32)
            _multiply(active.numpy(), output_weights, bias.numpy(), scores)
            return scores
        return torch.addmm(bias, active, weights.t()).numpy()

    return score


@njit(cache=True, nogil=True)
def _add_up(features, numbers, firsts, starts, rows, bias, hidden):
    """Fills in ``hidden`` (float32[m, units]): the bias and the contributions of all slots, added up."""
    for m in range(len(features)):
        for h in range(len(bias)):
            hidden[m, h] = bias[h]
        for c in range(features.shape[1]):
            row = starts[c] + numbers[firsts[c] + features[m, c]]
            for h in range(len(bias)):
                hidden[m, h] += rows[row, h]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _multiply(active, weights, bias, scores):
    """Fills in ``scores`` (float32[m, outputs]): float32[m, units] @ float32[units, outputs], each sum in one order."""
    for m in range(len(active)):
        row = scores[m]
        for o in range(len(bias)):
            row[o] = bias[o]
        for h in range(active.shape[1]):
            x = active[m, h]
            if x != 0:
                for o in range(len(bias)):
                    row[o] += x * weights[h, o]
