"""Scores from precomputed contributions against those of the classifier."""

from __future__ import annotations

import random

import numpy as np
import pytest

from parser.inference.precomputed import precomputed_scorer
from parser.networks.classifier import batch_scorer
from parser.networks.layers import ACTIVATIONS
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best
from tests.random_models import STATIC_EMBEDDINGS, STATIC_SLOTS, random_static_model
from tests.toy import sentence


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("embeddings", STATIC_EMBEDDINGS)
def test_its_scores_are_those_of_the_classifier(embeddings, activation):
    rng = random.Random(0)
    sentences = [sentence([0] + [1] * (rng.randint(1, 12) - 1), rng) for _ in range(40)]
    slots = STATIC_SLOTS | ({"feats_pairs": ["s0", "b0", "s1"]} if "feats_pairs" in embeddings else {})
    model = random_static_model(sentences, embeddings, activation, slots)
    encoded = model.vocabularies.encode(sentences)
    slow = model.scorer()
    fast = precomputed_scorer(model.weights(), model.table, encoded)
    in_batches = batch_scorer(model.weights(), model.table, encoded)
    now = Configurations.initial(encoded.lengths)
    compared = 0
    while len(rows := now.unfinished()):
        features = model.table.extract(now, rows, encoded, np.arange(len(sentences)))
        expected = slow(features)
        np.testing.assert_allclose(fast(features), expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(in_batches(features), expected, rtol=1e-3, atol=1e-3)
        transitions = model.system.transitions(now, rows)
        model.system.apply(now, rows, transitions, *best(model.system, expected, transitions))
        compared += len(rows)
    assert compared == 2 * encoded.lengths.sum()
