"""The BiLSTM: any batch, the classifier over it, precomputed contributions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import ABSENT, vocabulary_for
from parser.inference.precomputed import precomputed_scorer
from parser.network_spec import BiLSTMSpec, ClassifierSpec, Embedding
from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import ContextualScorer
from parser.networks.representation import Embeddings
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best
from tests.random_models import random_bilstm_model

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def plain_lstm(encoder: BiLSTM, layer: int) -> nn.LSTM:
    """torch's own bidirectional LSTM with the weights of a layer."""
    forwards, backwards = encoder.forwards[layer], encoder.backwards[layer]
    both = nn.LSTM(forwards.input_size, forwards.hidden_size, bidirectional=True)
    with torch.no_grad():
        for name, weight in forwards.named_parameters():
            getattr(both, name).copy_(weight)
        for name, weight in backwards.named_parameters():
            getattr(both, f"{name}_reverse").copy_(weight)
    return both


@settings(max_examples=10)
@given(LENGTHS, st.integers(0, 1000))
def test_a_padded_batch_gives_what_a_plain_lstm_gives_for_each_sentence(lengths, seed):
    torch.manual_seed(seed)
    values = {"form": [f"w{number}" for number in range(17)], "feats_pairs": ["a=1|b=2", "a=1"]}
    vocabularies = Vocabularies({name: vocabulary_for(name, symbols) for name, symbols in values.items()})
    embeddings = {"form": Embedding(4, True), "feats_pairs": Embedding(3, False)}
    spec = ClassifierSpec(1, "relu", 0.0, 0.0, 0.0, embeddings, BiLSTMSpec(2, 6, 0.5, 0.5))
    encoder = BiLSTM(spec, vocabularies, Embeddings({}, {}))
    values = torch.stack([torch.randint(20, (sum(lengths),)), torch.randint(5, (sum(lengths),))], dim=1).int()
    with torch.no_grad():
        together = encoder.encode(values, np.array(lengths)).tokens
        start = 0
        for length in lengths:
            read = encoder._embed(values[start : start + length], np.array([length]), dropping=False)
            for layer in range(2):
                read = plain_lstm(encoder, layer)(read)[0]
            torch.testing.assert_close(together[start : start + length], read, rtol=1e-4, atol=1e-5)
            start += length


@pytest.mark.parametrize("deprel", [None, 3])
def test_both_fast_ways_give_the_scores_of_the_classifier(sentences, deprel):
    model = random_bilstm_model(sentences, deprel=deprel)
    encoded = model.vocabularies.encode(sentences)
    vectors, slow = model.classifier.tokens.vectors_of(encoded), model.scorer(encoded)
    precomputed = precomputed_scorer(model.weights(), model.table, encoded)
    now = Configurations.initial(encoded.lengths)
    compared = absent = 0
    while len(steps := now.unfinished()):
        features = model.table.extract(now, steps, encoded, np.arange(len(sentences)))
        expected = slow(features)
        with torch.no_grad():
            fast = model.classifier.scores_by_value(torch.from_numpy(features), vectors).numpy()
        np.testing.assert_allclose(fast, expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(precomputed(features), expected, rtol=1e-3, atol=1e-3)
        transitions = model.system.transitions(now, steps)
        model.system.apply(now, steps, transitions, *best(model.system, expected, transitions))
        compared += len(steps)
        absent += int((features == ABSENT).sum())
    assert compared == 2 * encoded.lengths.sum()
    assert absent > 0


def test_a_scorer_of_some_sentences_at_a_time_gives_the_scores_of_the_classifier(sentences):
    model = random_bilstm_model(sentences)
    encoded = model.vocabularies.encode(sentences)
    slow, some = model.scorer(encoded), ContextualScorer(model.weights(), model.table, encoded)
    for numbers in (np.array([7, 3, 11]), np.array([3, 19])):
        some.begin(numbers)
        now = Configurations.initial(encoded.lengths[numbers])
        while len(rows := now.unfinished()):
            features = model.table.extract(now, rows, encoded, numbers)
            expected = slow(features)
            np.testing.assert_allclose(some(features), expected, rtol=1e-3, atol=1e-3)
            transitions = model.system.transitions(now, rows)
            model.system.apply(now, rows, transitions, *best(model.system, expected, transitions))


def test_without_sentences_there_are_no_vectors(sentences):
    with pytest.raises(ValueError, match="depend on the sentences"):
        random_bilstm_model(sentences).scorer()
