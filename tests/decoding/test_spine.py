"""The compiled parser of LR-spine against the batched one with torch, on random sentences; any threads."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.greedy.spine import SpineParser
from parser.decoding.parsers import parse, parser_of
from parser.model.model import Model
from parser.network_spec import BiLSTMSpec, ClassifierSpec
from parser.networks.representation import Embedding
from parser.transitions.features import at_candidates, slots_of
from parser.transitions.lr_spine import LRSpine
from tests.random_models import with_random_weights
from tests.toy import sentence

# Slots as a recipe has them for any system, and such as name the positions of candidates.
TABLES = {
    "a recipe's": {"form": ["s0", "s1", "s2", "b0"], "upos": ["s0", "s1", "b0", "b1"], "deprel": ["s0.l1", "s0.r1", "s1.r1"]},
    "candidates": {"form": ["c1", "c2", "b0"], "upos": ["gp", "gg", "q1", "q2", "c3"], "deprel": ["c1", "gp", "c2.l1"]},
}


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(0)
    return [sentence([0] + [1] * (rng.randint(1, 20) - 1), rng) for _ in range(60)]


def random_model(sentences, table, activation="relu", encoder=None) -> Model:
    torch.manual_seed(1)
    known = sentences[:30]  # so that some forms are unknown
    vocabularies = Vocabularies(
        {
            "form": Vocabulary.of(form for s in known for form in s.forms),
            "upos": Vocabulary.of(tag for s in known for tag in s.upos),
        }
    )
    embeddings = {"form": Embedding(5, True), "deprel": Embedding(3, True), "upos": Embedding(3, True)}
    spec = ClassifierSpec(37, activation, 0.5, 0.1, 0.0, embeddings, encoder)
    slots = slots_of(at_candidates(table, LRSpine))
    model = Model.new(vocabularies, Vocabulary(["det", "root", "obj", "nsubj"]), slots, spec, "lr_spine")
    return with_random_weights(model)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("table", TABLES)
def test_it_parses_as_the_batched_one(sentences, table, activation, single_root):
    model = random_model(sentences, TABLES[table], activation)
    encoded = model.vocabularies.encode(sentences)
    expected = parse_batched(encoded, model.system, model.table, model.scorer(), single_root=single_root)
    parser = parser_of(model)
    assert isinstance(parser, SpineParser)
    found = parser.parse(encoded, single_root=single_root)
    np.testing.assert_array_equal(found.heads, expected.heads)
    np.testing.assert_array_equal(found.relations, expected.relations)
    roots = [int((found.heads[a:b] == 0).sum()) for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)]
    assert set(roots) == {1} if single_root else max(roots) > 1


def test_with_an_encoder(sentences):
    model = random_model(sentences, {"token": ["s0", "s1", "b0"], "deprel": ["s0.l1"]}, encoder=BiLSTMSpec(1, 4, 0.0, 0.0))
    encoded = model.vocabularies.encode(sentences[:9])
    expected = parse_batched(encoded, model.system, model.table, model.scorer(encoded))
    np.testing.assert_array_equal(parser_of(model).parse(encoded).heads, expected.heads)


def test_threads_change_nothing_and_no_sentence_is_no_matter(sentences):
    model = random_model(sentences, TABLES["candidates"])
    many = sentences * 10  # more words than a thread takes at a time
    together, threaded = parse(model, many), parse(model, many, threads=3)
    np.testing.assert_array_equal(together.heads, threaded.heads)
    np.testing.assert_array_equal(together.relations, threaded.relations)
    assert len(parse(model, []).heads) == 0
