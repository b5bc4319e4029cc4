"""The compiled parsers against the batched one with torch, for every kind of classifier; any
batching, any threads.
"""

import numpy as np
import pytest
import torch

from parser.data.vocabulary import Vocabulary
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.greedy.spine import SpineParser
from parser.decoding.search import parse
from parser.inference.precomputed import precomputed_scorer
from parser.model.trained_model import TrainedModel
from parser.network_spec import BiLSTMSpec, ClassifierSpec
from parser.networks.classifier import batch_scorer
from parser.networks.layers import ACTIVATIONS
from parser.networks.representation import Embedding
from parser.transitions.attardi import MAX_DEGREE
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best
from parser.transitions.features import at_candidates, slots_of
from parser.transitions.lr_spine import LRSpine
from tests.gold_data import vocabularies_of
from tests.random_models import (
    STATIC_EMBEDDINGS,
    STATIC_SLOTS,
    random_static_model,
    with_random_weights,
)
from tests.searches import parser_of
from tests.toy import assert_same_trees, drawn_sentences

# Of LR-spine: slots as a recipe has them for any system,
# and such as name the positions of candidates.
TABLES = {
    "a recipe's": {
        "form": ["s0", "s1", "s2", "b0"],
        "upos": ["s0", "s1", "b0", "b1"],
        "deprel": ["s0.l1", "s0.r1", "s1.r1"],
    },
    "candidates": {
        "form": ["c1", "c2", "b0"],
        "upos": ["gp", "gg", "q1", "q2", "c3"],
        "deprel": ["c1", "gp", "c2.l1"],
    },
}


@pytest.fixture(scope="module")
def sentences():
    return drawn_sentences(0, 80, 25)


def check_as_batched(model: TrainedModel, sentences, single_root: bool = True) -> set[int]:
    """Return the numbers of roots."""
    encoded = model.vocabularies.encode(sentences)
    expected = parse_batched(
        encoded, model.system, model.table, model.scorer(encoded), single_root=single_root
    )
    assert_same_trees(parser_of(model).parse(encoded, single_root=single_root), expected)
    roots = {
        int((expected.heads[a:b] == 0).sum())
        for a, b in zip(expected.offsets, expected.offsets[1:], strict=False)
    }
    assert roots == {1} or not single_root
    return roots


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("embeddings", STATIC_EMBEDDINGS)
def test_it_parses_as_the_batched_one_and_its_scores_are_those_of_the_classifier(
    sentences, activation, embeddings
):
    slots = STATIC_SLOTS | (
        {"feats_pairs": ["s0", "b0", "s1"]} if "feats_pairs" in embeddings else {}
    )
    model = random_static_model(sentences, embeddings, activation, slots)
    for single_root in (True, False):
        check_as_batched(model, sentences, single_root)
    encoded = model.vocabularies.encode(sentences)
    slow = model.scorer()
    fast = [
        make(model.frozen().weights, model.table, encoded)
        for make in (precomputed_scorer, batch_scorer)
    ]
    now, compared = Configurations.initial(encoded.lengths), 0
    while len(rows := now.unfinished()):
        features = model.table.extract(now, rows, encoded, np.arange(len(sentences)))
        expected = slow(features)
        for score in fast:
            np.testing.assert_allclose(score(features), expected, rtol=1e-3, atol=1e-3)
        transitions = model.system.transitions(now, rows)
        model.system.apply(now, rows, transitions, *best(model.system, expected, transitions))
        compared += len(rows)
    assert compared == 2 * encoded.lengths.sum()


@pytest.mark.parametrize(
    "slots", [{"form": ["s0", "b0"]}, {"deprel": ["s0.l1"]}, {"upos": ["b2", "s2"]}]
)
def test_features_of_one_kind_alone(sentences, slots):
    check_as_batched(random_static_model(sentences, {"form": 5}, slots=slots), sentences)


@pytest.mark.parametrize("degree", [2, MAX_DEGREE])
@pytest.mark.parametrize("single_root", [True, False])
def test_attardis_system_of_any_degree(sentences, degree, single_root):
    model = random_static_model(sentences, {"form": 5})
    model = TrainedModel.new(
        model.vocabularies, model.relations, model.slots, model.spec, "attardi", {"degree": degree}
    )
    check_as_batched(model, sentences, single_root)


def spine_model(sentences, table, activation="relu", encoder=None) -> TrainedModel:
    torch.manual_seed(1)
    known = vocabularies_of(sentences[:30], "form", "upos")  # so that some forms are unknown
    embeddings = {
        "form": Embedding(5, True),
        "deprel": Embedding(3, True),
        "upos": Embedding(3, True),
    }
    spec = ClassifierSpec(37, activation, 0.5, 0.1, 0.0, embeddings, encoder)
    relations, slots = (
        Vocabulary(["det", "root", "obj", "nsubj"]),
        slots_of(at_candidates(table, LRSpine)),
    )
    return with_random_weights(TrainedModel.new(known, relations, slots, spec, "lr_spine"))


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("table", TABLES)
def test_lr_spine_is_parsed_as_by_the_batched_one(sentences, table, activation, single_root):
    model = spine_model(sentences, TABLES[table], activation)
    assert isinstance(parser_of(model), SpineParser)
    roots = check_as_batched(model, sentences, single_root)
    assert single_root or max(roots) > 1


def test_lr_spine_with_an_encoder(sentences):
    slots = {"token": ["s0", "s1", "b0"], "deprel": ["s0.l1"]}
    check_as_batched(
        spine_model(sentences, slots, encoder=BiLSTMSpec(1, 4, 0.0, 0.0)), sentences[:9]
    )


@pytest.mark.parametrize("spine", [False, True])
def test_a_sentence_is_parsed_the_same_alone_and_among_others_and_by_any_number_of_threads(
    sentences, spine
):
    model = (
        spine_model(sentences, TABLES["candidates"])
        if spine
        else random_static_model(sentences, {"form": 5})
    )
    many = sentences * (10 if spine else 60)  # more words than a thread takes at a time
    together = parse(model, many)
    assert_same_trees(parse(model, many, threads=3), together)
    for s in (0, 7, 79):
        alone, inside = (
            parse(model, [sentences[s]]),
            slice(together.offsets[s], together.offsets[s + 1]),
        )
        np.testing.assert_array_equal(alone.heads, together.heads[inside])
        np.testing.assert_array_equal(alone.relations, together.relations[inside])
    assert len(parse(model, []).heads) == 0
