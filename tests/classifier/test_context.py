"""The attribute context: places, cuts, the encoder in any batch, the classifier over it, and parsing with both."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from parser.classifier.bilstm import EncoderShape, SentenceEncoder
from parser.classifier.classifier import Classifier, Embedding
from parser.classifier.context import CONTEXT, ContextEncoder, part, places_of, spans
from parser.classifier.precomputed_scorer import table_scorer
from parser.data.set_vocabulary import Elements, vocabulary_for
from parser.data.vocabulary import ABSENT, N_RESERVED, Sentences, Vocabulary
from parser.decoding import encoded_parsing
from parser.decoding.lockstep import parse_in_lockstep
from parser.decoding.parsers import parse, parser_of
from parser.model import ClassifierShape, Model
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best
from parser.transitions.features import slots_of
from tests.toy import sentence

SLOTS = {CONTEXT: ["s0", "s1", "b0", "s0.l1"], "deprel": ["s0.l1", "s1.r1"]}
EMBEDDINGS = {"form": 6, "upos": 3, "feats_pairs": 4}
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(0)
    return [sentence([0] + [1] * (rng.randint(1, 12) - 1), rng) for _ in range(20)]


def random_model(sentences, *, deprel: int | None = None) -> Model:
    """A model with weights of the size of trained ones; ``deprel``: length of the relations' vectors, None for one-hot."""
    torch.manual_seed(1)
    encoder = ContextEncoder(
        {
            "form": Vocabulary.of(form for s in sentences[:10] for form in s.forms),
            "upos": Vocabulary.of(tag for s in sentences for tag in s.upos),
            "feats_pairs": vocabulary_for("feats_pairs", ["_", "Case=Nom|Number=Sing", "Number=Sing"]),
        }
    )
    embeddings = {name: Embedding(size, True) for name, size in EMBEDDINGS.items()}
    if deprel is not None:
        embeddings["deprel"] = Embedding(deprel, True)
    shape = ClassifierShape(37, "relu", 0.5, 0.1, 0.0, embeddings, EncoderShape(2, 5, 0.3, 0.2))
    model = Model.new(encoder, Vocabulary(["det", "root", "obj", "nsubj"]), slots_of(SLOTS), shape)
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            parameter.normal_(std=0.7)
    return model


def flat_sentences(lengths: list[int]) -> Sentences:
    offsets = np.concatenate([[0], np.cumsum(np.array(lengths) + 1)])
    values = np.arange(2 * offsets[-1], dtype=np.int32).reshape(2, -1)
    values[1] = N_RESERVED + np.arange(offsets[-1])
    return Sentences(values, offsets)


@given(LENGTHS, st.integers(1, 30))
def test_cuts_take_every_sentence_once_and_keep_to_the_limit(lengths, words):
    whole = flat_sentences(lengths)
    cuts = list(spans(whole, words))
    assert [i for first, last in cuts for i in range(first, last)] == list(range(len(whole)))
    for first, last in cuts:
        some = part(whole, first, last)
        assert some.offsets[0] == 0
        assert some.offsets[-1] <= words or last == first + 1
        places = places_of(whole, np.arange(first, last))
        np.testing.assert_array_equal(some.values[0], whole.values[0, places])
        np.testing.assert_array_equal(some.values[1], N_RESERVED + np.arange(len(places)))


@given(LENGTHS, st.randoms())
def test_places_are_those_of_the_sentences_in_the_order_asked_for(lengths, rng):
    whole = flat_sentences(lengths)
    numbers = rng.sample(range(len(whole)), rng.randint(1, len(whole)))
    expected = [place for s in numbers for place in range(whole.offsets[s], whole.offsets[s + 1])]
    assert places_of(whole, np.array(numbers)).tolist() == expected


def plain_lstm(encoder: SentenceEncoder, layer: int) -> nn.LSTM:
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
    elements = {"feats_pairs": Elements.of(vocabulary_for("feats_pairs", ["a=1|b=2", "a=1"]))}
    embeddings = {"form": Embedding(4, True), "feats_pairs": Embedding(3, False)}
    encoder = SentenceEncoder({"form": 20, "feats_pairs": 5}, embeddings, EncoderShape(2, 6, 0.5, 0.5), elements).eval()
    values = torch.stack([torch.randint(20, (sum(lengths),)), torch.randint(5, (sum(lengths),))], dim=1).int()
    with torch.no_grad():
        together = encoder(values, np.array(lengths))
        start = 0
        for length in lengths:
            read = encoder._embed(values[start : start + length], dropping=False)
            for layer in range(2):
                read = plain_lstm(encoder, layer)(read)[0]
            torch.testing.assert_close(together[start : start + length], read, rtol=1e-4, atol=1e-5)
            start += length


@pytest.mark.parametrize("deprel", [None, 3])
def test_scores_are_those_of_the_plain_classifier_and_of_the_precomputed_scorer(sentences, deprel):
    model = random_model(sentences, deprel=deprel)
    encoded = model.encoder.encode(sentences)
    model.classifier.eval()
    reader = model.reader(encoded)
    fast, rows = model.scorer(encoded), table_scorer(reader, model.table, model.encoder.attributes, encoded)
    now = Configurations.initial(encoded.lengths)
    compared = absent = 0
    while len(steps := now.unfinished()):
        features = model.table.extract(now, steps, encoded, np.arange(len(sentences)))
        with torch.no_grad():
            expected = Classifier.forward(reader, torch.from_numpy(features)).numpy()
        np.testing.assert_allclose(fast(features), expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(rows(features), expected, rtol=1e-3, atol=1e-3)
        moves = model.system.moves(now, steps)
        model.system.apply(now, steps, moves, *best(model.system, expected, moves))
        compared += len(steps)
        absent += int((features == ABSENT).sum())
    assert compared == 2 * encoded.lengths.sum()
    assert absent > 0


@pytest.mark.parametrize("together", [15, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_it_parses_as_in_lockstep_however_the_sentences_are_cut(sentences, monkeypatch, together, threads):
    model = random_model(sentences)
    encoded = model.encoder.encode(sentences)
    expected = parse_in_lockstep(encoded, model.system, model.table, model.scorer(encoded))
    monkeypatch.setattr(encoded_parsing, "_TOGETHER", together)
    found = parser_of(model, threads).parse(encoded)
    np.testing.assert_array_equal(found.heads, expected.heads)
    np.testing.assert_array_equal(found.relations, expected.relations)


def test_a_saved_model_parses_the_same(sentences, tmp_path):
    model = random_model(sentences)
    model.save(tmp_path / "model")
    assert sorted(path.suffix for path in (tmp_path / "model").iterdir()) == [".json", ".json", ".safetensors"]
    loaded = Model.load(tmp_path / "model")
    assert loaded.is_like(model)
    expected, found = parse(model, sentences), parse(loaded, sentences)
    np.testing.assert_array_equal(found.heads, expected.heads)
    np.testing.assert_array_equal(found.relations, expected.relations)


def test_a_classifier_that_has_read_nothing_says_so(sentences):
    model = random_model(sentences)
    with pytest.raises(AssertionError, match="no sentences were read"):
        model.scorer()(np.zeros((1, 6), np.int32))


def test_unknown_values_are_counted_for_attributes_with_a_vocabulary(sentences):
    model = random_model(sentences)
    assert set(model.encoder.unknown_counts(model.encoder.encode(sentences))) == set(EMBEDDINGS)
