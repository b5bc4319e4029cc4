"""Scores of many configurations at a time from precomputed contributions: the weights are at rest."""

from __future__ import annotations

import numpy as np
import torch

from parser.classifier.activations import ACTIVATIONS
from parser.classifier.precomputed_scorer import hidden_layer
from parser.classifier.scorer import Scorer
from parser.classifier.weights import ClassifierWeights
from parser.data.vocabulary import Sentences
from parser.transitions.features import FeatureTable


def batch_scorer(weights: ClassifierWeights, table: FeatureTable, sentences: Sentences) -> Scorer:
    """As precomputed_scorer(), sooner: but the last digits of scores depend on what is scored together.

    Args:
        weights: the weights of the classifier.
        table: the features.
        sentences: those that the features will be read in; values that do not occur there may not be asked for.
    """
    hidden_of = hidden_layer(weights, table, sentences)
    activation = ACTIVATIONS[weights.activation]
    output_weights, bias = torch.from_numpy(weights.output), torch.from_numpy(weights.output_bias)

    def score(features: np.ndarray) -> np.ndarray:
        active = activation.apply(torch.from_numpy(hidden_of(features)))
        return torch.addmm(bias, active, output_weights.t()).numpy()

    return score
