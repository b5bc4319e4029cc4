"""Scores of many configurations at a time from precomputed hidden activations, by frozen weights."""

from __future__ import annotations

import numpy as np
import torch

from parser.data.sentences import Sentences
from parser.data.vocabularies import N_RESERVED
from parser.inference.precomputed import Scorer, arc_scorer, hidden_layer
from parser.inference.weights import ClassifierWeights
from parser.networks.layers import ACTIVATIONS
from parser.transitions.features import TOKEN, FeatureTable


def batch_scorer(weights: ClassifierWeights, table: FeatureTable, sentences: Sentences) -> Scorer:
    """As precomputed_scorer(), sooner: but the last digits of scores depend on what is scored together.

    Args:
        weights: the weights of the classifier.
        table: the features.
        sentences: those that the features will be read in; values that do not occur there may not be asked for.
    """
    if weights.arcs is not None:
        return arc_scorer(weights, sentences)
    hidden_of = hidden_layer(weights, table, sentences)
    activation = ACTIVATIONS[weights.activation]
    output_weights, bias = torch.from_numpy(weights.output), torch.from_numpy(weights.output_bias)

    def score(features: np.ndarray) -> np.ndarray:
        active = activation.apply(torch.from_numpy(hidden_of(features)))
        return torch.addmm(bias, active, output_weights.t()).numpy()

    return score


class ContextualScorer:
    """The same for a contextual representation, some of the sentences at a time: a token has activations of its own.

    Args:
        weights, table, sentences: see batch_scorer().
    """

    def __init__(self, weights: ClassifierWeights, table: FeatureTable, sentences: Sentences) -> None:
        self._weights, self._table, self._sentences = weights, table, sentences
        self._columns = np.flatnonzero([slot.attribute == TOKEN for slot in table.slots])
        self._numbers = np.zeros(N_RESERVED + int(sentences.offsets[-1]), np.int32)
        self._numbers[:N_RESERVED] = np.arange(N_RESERVED)
        self._score: Scorer

    def begin(self, numbers: np.ndarray) -> None:
        """Makes ready for features that are read in the sentences with these numbers (int[m])."""
        part = self._sentences.take(numbers)
        places = self._sentences.places(numbers)
        self._numbers[N_RESERVED + places] = N_RESERVED + np.arange(len(places))
        self._score = batch_scorer(self._weights, self._table, part)

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """The scores; see Scorer."""
        of_part = features.copy()
        of_part[:, self._columns] = self._numbers[features[:, self._columns]]
        return self._score(of_part)
