"""The pointer system with an encoder that predicts heads:
the classifier and the biaffine scorer point together.
"""

import random
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam
from parser.conllu.checks import check_tree
from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.predictor import Predictor
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.model.trained_model import TrainedModel
from parser.networks.classifier import ContextualScorer, batch_scorer
from parser.transitions.features import slots_of
from tests.forgery import small_model
from tests.random_models import with_random_weights
from tests.random_trees import random_tree
from tests.searches import beam_parser_of, parser_of
from tests.toy import sentence


def pointer_model(*positions: str) -> TrainedModel:
    like = small_model("text")
    slots = slots_of({"token": positions, "deprel": ["c2.l1"]})
    return with_random_weights(
        TrainedModel.new(like.vocabularies, like.relations, slots, like.spec, "pointer"), std=1.0
    )


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return pointer_model("c3", "c1", "c2")


@pytest.fixture(scope="module")
def encoded(model) -> Sentences:
    rng = random.Random(0)
    return model.vocabularies.encode(
        [sentence(random_tree(rng, rng.randint(1, 9)), rng) for _ in range(12)]
    )


def slow_scorer(
    model: TrainedModel, encoded: Sentences, classifier: bool = True, biaffine: bool = True
) -> Scorer:
    """Return a scorer by the classifier's scores, and the log probabilities of arcs, one by one."""
    encoder, of_arcs, of_classifier = (
        model.frozen().weights.encoder,
        model.frozen().head_scorer,
        model.scorer(encoded),
    )
    assert encoder is not None
    assert of_arcs is not None
    vectors, starts = encoder.arithmetic.floats(encoder.encode(encoded)), encoded.offsets[:-1]
    ends = [model.slots.index(slot) for slot in slots_of({"token": ["c1", "c2"]})]

    def score(features: np.ndarray) -> np.ndarray:
        found = of_classifier(features) * np.float32(classifier)
        for row, (word, head) in enumerate(features[:, ends] - N_RESERVED):
            s = int(np.searchsorted(starts, word, side="right")) - 1
            start, end = encoded.offsets[s : s + 2]
            alone = vectors[start:end], np.array([0, end - start])
            for relation in range(model.system.n_relations):
                arc = np.array([[word - start], [head - start], [relation]])
                found[row, relation] += biaffine * of_arcs.log_probabilities(*alone, *arc)[0]
        return found

    return score


def slow_parse(
    model: TrainedModel, encoded: Sentences, single_root: bool = True, **which: bool
) -> np.ndarray:
    """Heads and relations."""
    scorer = slow_scorer(model, encoded, **which)
    parses = parse_batched(encoded, model.system, model.table, scorer, single_root=single_root)
    return np.stack([parses.heads, parses.relations])


@pytest.mark.parametrize("single_root", [True, False])
def test_the_scores_of_both_are_added(model, encoded, single_root):
    parses = parser_of(model).parse(encoded, single_root=single_root)
    np.testing.assert_array_equal(
        [parses.heads, parses.relations], slow_parse(model, encoded, single_root)
    )
    beam = beam_parser_of(model, Beam(1)).k_best(encoded, 1, single_root=single_root)
    for s, (start, end) in enumerate(pairwise(encoded.offsets.tolist())):
        assert parses.heads[start + 1 : end].tolist() == beam[s][0].heads.tolist()
        assert parses.relations[start + 1 : end].tolist() == beam[s][0].relations.tolist()


def test_neither_points_alone(model, encoded):
    both = slow_parse(model, encoded)
    assert (both != slow_parse(model, encoded, classifier=False)).any()
    assert (both != slow_parse(model, encoded, biaffine=False)).any()


def test_arcs_are_scored_for_all_relations_or_for_one(model):
    scorer = model.frozen().head_scorer
    rng = np.random.default_rng(0)
    vectors, offsets = rng.normal(size=(21, 6)).astype(np.float32), np.array([0, 12, 21])
    words = rng.permutation(np.repeat(np.delete(np.arange(21), offsets[:-1]), 2))
    heads = np.array([rng.integers(12) if word < 12 else rng.integers(12, 21) for word in words])
    relations = rng.integers(3, size=len(words))
    expected = scorer.arc_scores(vectors, offsets)(words, heads)[np.arange(len(words)), relations]
    np.testing.assert_array_equal(
        scorer.log_probabilities(vectors, offsets, words, heads, relations), expected
    )


def test_exploration_and_probabilities_go_by_the_same_scores(model, encoded):
    weights = model.frozen().weights
    places = (
        np.random.default_rng(0)
        .integers(encoded.offsets[1], size=(7, len(model.slots)))
        .astype(np.int32)
    )
    rows = N_RESERVED + places
    rows[:, -1] = N_RESERVED  # the slot that reads a relation
    score, explore = (
        precomputed_scorer(weights, model.table, encoded),
        ContextualScorer(partial(batch_scorer, weights, model.table), model.table, encoded),
    )
    explore.begin(np.arange(len(encoded)))
    np.testing.assert_allclose(score(rows), explore(rows), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(score(rows[3:4]), score(rows)[3:4])  # whatever is scored along
    found = Predictor(model, steps=True).predict(encoded)
    parses, probabilities = found.parses, found.steps
    np.testing.assert_array_equal(parses.heads, parser_of(model).parse(encoded).heads)
    assert (probabilities.trees <= 0).all()
    assert (probabilities.trees < 0).any()


@pytest.mark.parametrize("value", [0.0, 1e38, float("inf"), float("-inf"), float("nan")])
def test_weights_of_any_kind_make_trees_with_one_root(encoded, value):
    model = pointer_model("c1", "c2")
    with torch.no_grad():
        for parameter in model.classifier.tokens.tasks["heads"].parameters():
            parameter.fill_(value)
    for parser in (parser_of(model), beam_parser_of(model, Beam(3))):
        parses = parser.parse(encoded)
        for start, end in pairwise(encoded.offsets.tolist()):
            check_tree(heads := parses.heads[start + 1 : end].tolist(), several_roots=False)
            relations = parses.relations[start + 1 : end] == model.system.root_relation
            assert relations.tolist() == [head == 0 for head in heads]


def test_a_loaded_model_points_in_the_same_way(model, encoded, tmp_path):
    model.save(tmp_path)
    np.testing.assert_array_equal(
        parser_of(TrainedModel.load(tmp_path)).parse(encoded).heads,
        parser_of(model).parse(encoded).heads,
    )


def test_without_slots_for_both_ends_the_classifier_scores_alone():
    assert pointer_model("c1", "c2").frozen().weights.arcs is not None
    assert pointer_model("c1", "q1").frozen().weights.arcs is None
