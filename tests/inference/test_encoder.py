"""The frozen encoder against torch's, and its integers of 8 bits against plain arithmetic."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from parser import batch_sizes
from parser.data.sentences import NO_NODE, Sentences
from parser.decoding.greedy.batched import BatchedParser, parse_batched
from parser.inference.arithmetic import INT8_SCALE, INT8_ZERO, Int8, SinglePrecision, quantized
from parser.inference.encoder import FrozenEncoder
from parser.inference.lstm import FrozenLSTM, tanh
from parser.kernels.tiles import ROWS
from parser.model.trained_model import TrainedModel
from tests.forgery import small_model
from tests.random_models import random_bilstm_model, random_lemma_model, random_text_model
from tests.searches import parser_of
from tests.toy import assert_same_trees


def models(sentences) -> list[TrainedModel]:
    """Without and with characters and tags, with tags that are not read, and with lemmas."""
    return [
        random_bilstm_model(sentences),
        random_text_model(),
        small_model("text", tag_size=0),
        random_lemma_model(),
    ]


@given(st.floats(-30, 30, width=32))
def test_tanh_is_exact_but_for_the_last_digits(x):
    assert float(tanh(np.float32(x))) == pytest.approx(np.tanh(x), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("together", [7, 256])
def test_vectors_and_tags_are_those_of_the_encoder(sentences, monkeypatch, together):
    monkeypatch.setattr(batch_sizes, "TYPES_PER_ENCODING", together)
    for model, columns in zip(models(sentences), ([], *[["upos", "feats"]] * 3), strict=True):
        encoded, tokens = model.vocabularies.encode(sentences), model.classifier.tokens
        vectors, tags, _ = tokens.frozen().encode_with_tags(encoded)
        torch.testing.assert_close(
            torch.from_numpy(vectors), tokens.encoded(encoded), rtol=1e-4, atol=1e-5
        )
        np.testing.assert_array_equal(vectors, tokens.frozen().encode(encoded))
        assert model.frozen().weights.vectors_in(encoded)["token"].shape == (
            3 + len(vectors),
            vectors.shape[1],
        )
        assert list(tags) == columns
        np.testing.assert_equal(tags, tokens.tags_and_rules(encoded)[0])


@pytest.mark.parametrize("int8", [False, True])
def test_scores_of_rules_are_those_of_the_encoder(sentences, int8):
    for model in models(sentences):
        encoded, tokens = model.vocabularies.encode(sentences), model.classifier.tokens
        (_, expected), (*_, found) = (
            tokens.tags_and_rules(encoded),
            tokens.frozen(int8).encode_with_tags(encoded),
        )
        assert [*found] == [*expected] == ([] if model.vocabularies.lemmas is None else ["lemmas"])
        for name, rules in found.items():
            places, forms = np.array([1, 7, 2]), ["Abcdefgh", "b", "1é"]
            by_torch = expected[name](forms, places)
            assert by_torch.shape == (3, len(model.vocabularies.lemmas.rules.symbols))
            np.testing.assert_allclose(
                rules(forms, places), by_torch, rtol=1e-3, atol=0.2 if int8 else 1e-4
            )
            np.testing.assert_array_equal(rules(forms[1:2], places[1:2]), rules(forms, places)[1:2])
            assert not np.array_equal(rules(forms, places), rules(forms[::-1], places))
            assert not np.array_equal(rules(forms, places), rules(forms, places[::-1]))


def test_what_is_known_of_a_type_is_not_worked_out_again(sentences, monkeypatch):
    model = models(sentences)[1]
    encoded = model.vocabularies.encode(sentences)
    frozen = model.classifier.tokens.frozen()
    assert isinstance(frozen, FrozenEncoder)
    first = frozen.encode(encoded)
    monkeypatch.setattr(frozen, "_first", None)
    np.testing.assert_array_equal(frozen.encode(encoded), first)


@pytest.mark.parametrize("int8", [False, True])
def test_a_vector_and_its_tags_depend_on_their_sentence_alone(sentences, int8):
    for model in models(sentences):
        encoded = model.vocabularies.encode(sentences)
        whole, tags, _ = model.classifier.tokens.frozen(int8).encode_with_tags(encoded)
        assert whole.dtype == (np.uint8 if int8 else np.float32)
        frozen = model.classifier.tokens.frozen(int8)
        places = [(first, first + 1) for first in range(len(encoded))]
        with ThreadPoolExecutor(3) as pool:
            alone = list(
                pool.map(frozen.encode_with_tags, [encoded.span(*place) for place in places])
            )
        np.testing.assert_array_equal(np.concatenate([vectors for vectors, *_ in alone]), whole)
        for column, of_all in tags.items():
            np.testing.assert_array_equal(
                np.concatenate([of_sentence[column] for _, of_sentence, _ in alone]), of_all
            )


@pytest.mark.parametrize("int8", [False, True])
def test_fixed_tags_are_certain_and_reach_the_layers_that_read_tags(sentences, int8):
    """Vectors change in the sentences with a fixed tag alone, and only where layers read tags."""
    for model in models(sentences)[1:]:
        encoded, frozen = model.vocabularies.encode(sentences), model.classifier.tokens.frozen(int8)
        vectors, tags, _ = frozen.encode_with_tags(encoded)
        place = int(encoded.offsets[1]) - 1  # the last token of the first sentence
        numbers = np.full(len(vectors), NO_NODE, np.int32)
        numbers[place] = 1 - tags["upos"][place]  # of two values
        fixed, fixed_tags, _ = frozen.encode_with_tags(
            replace(encoded, fixed_tags={"upos": numbers})
        )
        assert np.flatnonzero(fixed_tags["upos"] != tags["upos"]).tolist() == [place]
        np.testing.assert_array_equal(fixed_tags["feats"], tags["feats"])
        changed = np.flatnonzero((fixed != vectors).any(axis=1))
        assert (len(changed) > 0) == (model.spec.encoder.tagger.size > 0)
        assert changed.max(initial=0) <= place
        numbers[place] = tags["upos"][place]
        as_predicted, *_ = frozen.encode_with_tags(replace(encoded, fixed_tags={"upos": numbers}))
        assert not len(changed) or not np.array_equal(as_predicted, fixed)


@settings(max_examples=30)
@given(
    st.integers(1, 34),
    st.integers(1, 9),
    st.lists(st.integers(1, 7), max_size=2 * ROWS),
    st.integers(0, 99),
)
def test_a_layer_is_that_of_torch(hidden, width, lengths, seed):
    torch.manual_seed(seed)
    sides = nn.LSTM(width, hidden), nn.LSTM(width, hidden)
    layer = FrozenLSTM(*map(weights_of, sides), SinglePrecision())
    tokens = torch.randn(sum(lengths), width)
    # tokens may share rows, in any order
    rows = np.random.default_rng(seed).permutation(len(tokens)).astype(np.int32)
    inputs = SinglePrecision().matrix(layer.inputs, layer.bias)(tokens.numpy())
    offsets = np.cumsum([0, *lengths])
    found = layer(inputs, rows, offsets)
    with torch.no_grad():
        for first, last in pairwise(offsets.tolist()):
            part = tokens[torch.from_numpy(rows[first:last]).long()][:, None]
            expected = torch.cat([sides[0](part)[0], sides[1](part.flip(0))[0].flip(0)], dim=2)[
                :, 0
            ]
            np.testing.assert_allclose(found[first:last], expected, atol=1e-5)


def weights_of(side: nn.LSTM) -> dict[str, np.ndarray]:
    return {name: weight.detach().numpy() for name, weight in side.named_parameters()}


def slow_layer(layer: FrozenLSTM, sides: tuple[nn.LSTM, nn.LSTM], inputs: np.ndarray) -> np.ndarray:
    """float64[tokens, 2 * hidden]: the layer over one sentence,
    with weights and states that are rounded to integers.
    """
    hidden = layer.hidden

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    outputs = np.zeros((len(inputs), 2 * hidden))
    for number, side in enumerate(sides):
        integers, scales = quantized(dict(side.named_parameters())["weight_hh_l0"].detach().numpy())
        state, cell = np.zeros(hidden, np.int64), np.zeros(hidden)
        for token in range(len(inputs))[:: -1 if number else 1]:
            gates = (
                inputs[token, 4 * hidden * number : 4 * hidden * (number + 1)]
                + integers @ state * scales / INT8_SCALE
            )
            to_write, to_keep, new, to_read = np.split(gates, 4)
            cell = sigmoid(to_keep) * cell + sigmoid(to_write) * np.tanh(new)
            exact = sigmoid(to_read) * np.tanh(cell)
            state = np.floor(exact * INT8_SCALE + 0.5).astype(np.int64)
            outputs[token, hidden * number : hidden * (number + 1)] = state / INT8_SCALE
    return outputs


def test_a_layer_of_8_bits_is_that_of_plain_arithmetic():
    torch.manual_seed(0)
    sides = nn.LSTM(6, 21), nn.LSTM(6, 21)
    layer = FrozenLSTM(*map(weights_of, sides), Int8())
    lengths = [3, 1, 9, 5]
    inputs = np.random.default_rng(0).normal(size=(sum(lengths), 8 * 21)).astype(np.float32)
    offsets = np.cumsum([0, *lengths])
    found = Int8().floats(layer(inputs, np.arange(len(inputs), dtype=np.int32), offsets))
    expected = np.concatenate(
        [slow_layer(layer, sides, part) for part in np.split(inputs, offsets[1:-1])]
    )
    # Where a number lies between two integers, its last digits may decide; that is rare,
    # and no more than one integer.
    np.testing.assert_allclose(found, expected, atol=1.5 / INT8_SCALE)
    assert (np.abs(found - expected) > 1e-6).mean() < 0.01


@given(
    st.integers(1, 9),
    st.integers(1, 70),
    st.integers(1, 40),
    st.booleans(),
    st.sampled_from("CF"),
    st.integers(0, 99),
)
def test_products_of_8_bits_are_exact(n, width, outputs, biased, order, seed):
    rng = np.random.default_rng(seed)
    weights = (rng.normal(size=(outputs, width)) * rng.choice([1e-3, 1, 50])).astype(
        np.float32, order=order
    )
    bias = rng.normal(size=outputs).astype(np.float32) if biased else None
    vectors = rng.integers(1, 256, (n, width)).astype(np.uint8)
    integers, scales = quantized(weights)
    assert np.abs(integers * scales[:, None] - weights).max() <= 0.501 * scales.max()
    expected = (
        (vectors.astype(np.int64) - INT8_ZERO) @ integers.T * scales.astype(np.float64) / INT8_SCALE
    )
    expected = expected if bias is None else expected + bias
    found = Int8().matrix(weights, bias)(vectors)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(
        Int8().floats(vectors) @ Int8().rounded(weights).T,
        found if bias is None else found - bias,
        rtol=1e-4,
        atol=1e-4 * np.abs(expected).max(),
    )


def test_weights_of_any_size_have_integers():
    weights = np.array([[np.inf, -np.nan, 1e38], [0, 0, 0], [1e-44, -1e-44, 0]], np.float32)
    integers, scales = quantized(weights)
    assert (integers[1] == 0).all()
    assert np.isfinite(scales).all()
    with np.errstate(over="ignore"):  # kernels that run as plain Python tell of it
        products = Int8().matrix(weights)(np.full((2, 3), 255, np.uint8))
    np.testing.assert_array_equal(products[:, 1], 0)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_it_parses_as_the_batched_one_however_the_sentences_are_cut(
    sentences, monkeypatch, threads, int8
):
    for model in models(sentences):
        model.int8 = int8
        encoded = model.vocabularies.encode(sentences)
        expected = BatchedParser(model.frozen().weights, model.system, model.table).parse(encoded)
        if not int8:
            assert_same_trees(
                parse_batched(encoded, model.system, model.table, model.scorer(encoded)), expected
            )
        for together in (15, 10_000):
            monkeypatch.setattr(batch_sizes, "TOKENS_PER_SPAN", together)
            assert_same_trees(parser_of(model, threads).parse(encoded), expected)


def test_sentences_of_one_token_and_none(sentences):
    model = random_bilstm_model(sentences)
    frozen = model.classifier.tokens.frozen()
    one = Sentences(np.full((3, 2), 1, np.int32), np.array([0, 1, 2]))
    found = frozen.encode(one)
    np.testing.assert_array_equal(found[0], found[1])
    assert SinglePrecision().floats(found) is found
