"""LSTMs in the order of packed sequences against torch's own; the BiLSTM: any batch,
the classifier over it.
"""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from parser.data.sentences import Sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import ABSENT, vocabulary_for
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.model.trained_model import TrainedModel
from parser.network_spec import BiLSTMSpec, ClassifierSpec, Embedding
from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import ContextualScorer, batch_scorer
from parser.networks.lstm import Packing, read_by_torch, read_sequences
from parser.networks.representation import Embeddings
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best
from tests.random_models import random_bilstm_model

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def plainly(
    layer: nn.LSTM, inputs: torch.Tensor, lengths: list[int], from_end: bool
) -> torch.Tensor:
    """Return what torch's LSTM makes of one sequence after the other."""
    turned = [part.flip(0) if from_end else part for part in inputs.split(lengths)]
    states = [layer(part)[0] for part in turned]
    return torch.cat([part.flip(0) if from_end else part for part in states])


@settings(max_examples=10)
@given(LENGTHS, st.integers(0, 1000))
def test_a_padded_batch_gives_what_a_plain_lstm_gives_for_each_sentence(lengths, seed):
    torch.manual_seed(seed)
    values = {"form": [f"w{number}" for number in range(17)], "feats_pairs": ["a=1|b=2", "a=1"]}
    vocabularies = Vocabularies(
        {name: vocabulary_for(name, symbols) for name, symbols in values.items()}
    )
    embeddings = {"form": Embedding(4, True), "feats_pairs": Embedding(3, False)}
    spec = ClassifierSpec(1, "relu", 0.0, 0.0, 0.0, embeddings, BiLSTMSpec(2, 6, 0.5, 0.5))
    encoder = BiLSTM(spec, vocabularies, Embeddings({}, {}))
    values = torch.stack(
        [torch.randint(20, (sum(lengths),)), torch.randint(5, (sum(lengths),))], dim=1
    ).int()
    with torch.no_grad():
        together = encoder.encode(values, np.array(lengths)).tokens
        start = 0
        for length in lengths:
            read = encoder._embed(
                values[start : start + length], np.array([length]), dropping=False
            )
            for layer in range(2):
                sides = ((encoder.forwards[layer], False), (encoder.backwards[layer], True))
                read = torch.cat(
                    [plainly(side, read, [length], from_end) for side, from_end in sides], dim=1
                )
            torch.testing.assert_close(together[start : start + length], read, rtol=1e-4, atol=1e-5)
            start += length


def check_scores(
    model: TrainedModel, encoded: Sentences, numbers: np.ndarray, *fast: Scorer
) -> np.ndarray:
    """Along greedy computations of some sentences,
    fast ways to score give the scores of the classifier.

    Returns:
        All features that were read.
    """
    slow, now, read = model.scorer(encoded), Configurations.initial(encoded.lengths[numbers]), []
    while len(rows := now.unfinished()):
        read.append(model.table.extract(now, rows, encoded, numbers))
        expected = slow(read[-1])
        for score in fast:
            np.testing.assert_allclose(score(read[-1]), expected, rtol=1e-3, atol=1e-3)
        transitions = model.system.transitions(now, rows)
        model.system.apply(now, rows, transitions, *best(model.system, expected, transitions))
    return np.concatenate(read)


@pytest.mark.parametrize("deprel", [None, 3])
def test_both_fast_ways_give_the_scores_of_the_classifier(sentences, deprel):
    model = random_bilstm_model(sentences, deprel=deprel)
    encoded = model.vocabularies.encode(sentences)
    vectors = model.classifier.tokens.vectors_of(encoded)

    @torch.no_grad()
    def by_value(features: np.ndarray) -> np.ndarray:
        return model.classifier.scores_by_value(torch.from_numpy(features), vectors).numpy()

    precomputed = precomputed_scorer(model.frozen().weights, model.table, encoded)
    read = check_scores(model, encoded, np.arange(len(sentences)), by_value, precomputed)
    assert len(read) == 2 * encoded.lengths.sum()
    assert (read == ABSENT).any()


def test_a_scorer_of_some_sentences_at_a_time_gives_the_scores_of_the_classifier(sentences):
    model = random_bilstm_model(sentences)
    encoded = model.vocabularies.encode(sentences)
    some = ContextualScorer(
        partial(batch_scorer, model.frozen().weights, model.table), model.table, encoded
    )
    for numbers in (np.array([7, 3, 11]), np.array([3, 19])):
        some.begin(numbers)
        check_scores(model, encoded, numbers, some)


def test_without_sentences_there_are_no_vectors(sentences):
    with pytest.raises(TypeError, match="depend on the sentences"):
        random_bilstm_model(sentences).scorer()


@pytest.mark.parametrize("read", [read_sequences, read_by_torch])
@settings(max_examples=20)
@given(LENGTHS, st.booleans(), st.integers(0, 1000))
def test_states_and_gradients_are_those_of_torchs_lstm(read, lengths, from_end, seed):
    torch.manual_seed(seed)
    layer, packing = nn.LSTM(5, 7), Packing.of(np.array(lengths), torch.device("cpu"))
    inputs, weights = torch.randn(sum(lengths), 5, requires_grad=True), torch.randn(sum(lengths), 7)
    assert packing.sequences[packing.rows].tolist() == [
        s for s, length in enumerate(lengths) for _ in range(length)
    ]
    found = read(layer, inputs[packing.elements], packing, from_end)[packing.rows]
    expected = plainly(layer, inputs, lengths, from_end)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    parameters = [inputs, *layer.parameters()]
    gradients = (
        torch.autograd.grad((states * weights).sum(), parameters) for states in (found, expected)
    )
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
