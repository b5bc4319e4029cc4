"""The compiled parser against the batched one with torch, for every kind of classifier; any batching, any threads."""

from __future__ import annotations

import random

import numpy as np
import pytest

from parser.decoding.greedy.batched import parse_batched
from parser.decoding.parsers import parse, parser_of
from parser.model.model import Model
from parser.networks.layers import ACTIVATIONS
from parser.transitions.attardi import MAX_DEGREE
from tests.random_models import STATIC_EMBEDDINGS, STATIC_SLOTS, random_static_model
from tests.toy import sentence


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(0)
    return [sentence([0] + [1] * (rng.randint(1, 25) - 1), rng) for _ in range(80)]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("embeddings", STATIC_EMBEDDINGS)
@pytest.mark.parametrize("single_root", [True, False])
def test_it_parses_as_the_batched_one(sentences, activation, embeddings, single_root):
    slots = STATIC_SLOTS | ({"feats_pairs": ["s0", "b0", "s1"]} if "feats_pairs" in embeddings else {})
    model = random_static_model(sentences, embeddings, activation, slots)
    encoded = model.vocabularies.encode(sentences)
    expected = parse_batched(encoded, model.system, model.table, model.scorer(), single_root=single_root)
    found = parser_of(model).parse(encoded, single_root=single_root)
    np.testing.assert_array_equal(found.heads, expected.heads)
    np.testing.assert_array_equal(found.relations, expected.relations)


@pytest.mark.parametrize("slots", [{"form": ["s0", "b0"]}, {"deprel": ["s0.l1"]}, {"upos": ["b2", "s2"]}])
def test_features_of_one_kind_alone(sentences, slots):
    model = random_static_model(sentences, {"form": 5}, slots=slots)
    encoded = model.vocabularies.encode(sentences)
    expected = parse_batched(encoded, model.system, model.table, model.scorer())
    np.testing.assert_array_equal(parse(model, sentences).heads, expected.heads)


def test_a_sentence_is_parsed_the_same_alone_and_among_others_and_by_any_number_of_threads(sentences):
    model = random_static_model(sentences, {"form": 5})
    many = sentences * 60  # more words than a thread takes at a time
    together = parse(model, many)
    threaded = parse(model, many, threads=3)
    np.testing.assert_array_equal(together.heads, threaded.heads)
    np.testing.assert_array_equal(together.relations, threaded.relations)
    for s in (0, 7, 79):
        alone = parse(model, [sentences[s]])
        start, end = together.offsets[s], together.offsets[s + 1]
        np.testing.assert_array_equal(alone.heads, together.heads[start:end])
        np.testing.assert_array_equal(alone.relations, together.relations[start:end])


@pytest.mark.parametrize("degree", [2, MAX_DEGREE])
@pytest.mark.parametrize("single_root", [True, False])
def test_attardis_system_of_any_degree(sentences, degree, single_root):
    model = random_static_model(sentences, {"form": 5})
    model = Model.new(model.vocabularies, model.relations, model.slots, model.spec, "attardi", {"degree": degree})
    encoded = model.vocabularies.encode(sentences)
    expected = parse_batched(encoded, model.system, model.table, model.scorer(), single_root=single_root)
    found = parser_of(model).parse(encoded, single_root=single_root)
    np.testing.assert_array_equal(found.heads, expected.heads)
    np.testing.assert_array_equal(found.relations, expected.relations)


def test_no_sentence():
    model = random_static_model([sentence([0, 1])] * 2, {"form": 5})
    assert len(parse(model, []).heads) == 0
