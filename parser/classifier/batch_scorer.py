"""Scores of many configurations at a time from precomputed contributions, for exploration: the weights are at rest."""

from __future__ import annotations

import numpy as np
import torch

from parser.classifier.classifier import Classifier
from parser.classifier.precomputed_scorer import hidden_layer
from parser.classifier.scorer import Scorer
from parser.data.vocabulary import Sentences
from parser.transitions.features import FeatureTable


def batch_scorer(classifier: Classifier, table: FeatureTable, sentences: Sentences) -> Scorer:
    """As precomputed_scorer(), sooner: but the last digits of scores depend on what is scored together.

    Args:
        classifier: the classifier as it is now, on any device.
        table: the features.
        sentences: those that the features will be read in; values that do not occur there may not be asked for.
    """
    hidden_of = hidden_layer(classifier.weights(), table, sentences)
    weights, bias = (parameter.detach().cpu() for parameter in (classifier.output.weight, classifier.output.bias))

    def score(features: np.ndarray) -> np.ndarray:
        active = classifier.activation.apply(torch.from_numpy(hidden_of(features)))
        return torch.addmm(bias, active, weights.t()).numpy()

    return score
