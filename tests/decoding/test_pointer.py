"""The pointer system with an encoder that predicts heads: the biaffine scorer points."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam
from parser.conllu.checks import check_tree
from parser.data.sentences import Sentences
from parser.data.vocabularies import N_RESERVED
from parser.decoding.parsers import beam_parser_of, parser_of
from parser.decoding.probabilities import ProbabilityParser
from parser.inference.precomputed import precomputed_scorer
from parser.model.model import Model
from parser.networks.classifier import ContextualScorer
from parser.transitions.features import slots_of
from tests.forgery import small_model
from tests.random_models import with_random_weights
from tests.random_trees import random_tree
from tests.toy import sentence


def pointer_model(*positions: str) -> Model:
    like = small_model("text")
    slots = slots_of({"token": positions, "deprel": ["c2.l1"]})
    return with_random_weights(Model.new(like.vocabularies, like.relations, slots, like.spec, "pointer"), std=1.0)


@pytest.fixture(scope="module")
def model() -> Model:
    return pointer_model("c3", "c1", "c2")


@pytest.fixture(scope="module")
def encoded(model) -> Sentences:
    rng = random.Random(0)
    return model.vocabularies.encode([sentence(random_tree(rng, rng.randint(1, 9)), rng) for _ in range(12)])


def point(model: Model, vectors: np.ndarray, single_root: bool) -> tuple[list[int], list[int]]:
    """Heads and relations, each the most probable one of those that make a tree with those before it."""
    scorer, root, n = model.biaffine_scorer(), model.system.root_relation, len(vectors) - 1
    assert scorer is not None
    made: dict[int, int] = {}
    relations: list[int] = []
    for token in range(1, n + 1):
        found = []
        for head in range(n + 1):
            node = head
            while node != token and node in made:
                node = made[node]
            if node == token or (single_root and head == 0 and 0 in made.values()):
                continue
            for relation in range(model.system.n_relations):
                if single_root and (head == 0) != (relation == root):
                    continue
                heads, of_words = np.zeros((2, 1, n), np.int32)  # all others hang from 0, with the first relation
                heads[0, token - 1], of_words[0, token - 1] = head, relation
                found.append((scorer.log_probabilities(vectors, heads, of_words)[0], head, relation))
        _, made[token], relation = max(found)
        relations.append(relation)
    return [made[token] for token in range(1, n + 1)], relations


@pytest.mark.parametrize("single_root", [True, False])
def test_each_word_points_to_the_head_that_is_most_probable_by_it(model, encoded, single_root):
    encoder = model.weights().encoder
    parses = parser_of(model).parse(encoded, single_root=single_root)
    beam = beam_parser_of(model, Beam(1)).k_best(encoded, 1, single_root=single_root)
    vectors = encoder.floats(encoder.encode(encoded))
    for s, (start, end) in enumerate(zip(encoded.offsets, encoded.offsets[1:], strict=False)):
        heads, relations = point(model, vectors[start:end], single_root)
        assert parses.heads[start + 1 : end].tolist() == beam[s][0].heads.tolist() == heads
        assert parses.relations[start + 1 : end].tolist() == beam[s][0].relations.tolist() == relations


def test_the_scores_of_arcs_add_up_to_those_of_trees(model):
    scorer = model.biaffine_scorer()
    rng = np.random.default_rng(0)
    vectors, offsets = rng.normal(size=(21, 6)).astype(np.float32), np.array([0, 12, 21])
    score = scorer.arc_scores(vectors, offsets)
    for start, end in pairwise(offsets.tolist()):
        n = end - start - 1
        heads, relations = np.array([random_tree(random.Random(n), n)]), rng.integers(3, size=(1, n))
        of_arcs = score(start + np.arange(1, n + 1), start + heads[0])[np.arange(n), relations[0]]
        assert of_arcs.sum() == pytest.approx(scorer.log_probabilities(vectors[start:end], heads, relations)[0], rel=1e-5)


def test_exploration_and_probabilities_go_by_the_same_scores(model, encoded):
    weights = model.weights()
    places = np.random.default_rng(0).integers(encoded.offsets[1], size=(7, len(model.slots))).astype(np.int32)
    rows = N_RESERVED + places
    score, explore = precomputed_scorer(weights, model.table, encoded), ContextualScorer(weights, model.table, encoded)
    explore.begin(np.arange(len(encoded)))
    np.testing.assert_array_equal(score(rows), explore(rows))
    np.testing.assert_array_equal(score(rows[3:4]), score(rows)[3:4])  # whatever is scored along
    parses, probabilities = ProbabilityParser(model).parse(encoded)
    np.testing.assert_array_equal(parses.heads, parser_of(model).parse(encoded).heads)
    assert (probabilities.trees <= 0).all()
    assert (probabilities.trees < 0).any()


@pytest.mark.parametrize("value", [0.0, 1e38, float("inf"), float("-inf"), float("nan")])
def test_weights_of_any_kind_make_trees_with_one_root(encoded, value):
    model = pointer_model("c1", "c2")
    with torch.no_grad():
        for parameter in model.classifier.tokens.heads.parameters():
            parameter.fill_(value)
    for parser in (parser_of(model), beam_parser_of(model, Beam(3))):
        parses = parser.parse(encoded)
        for start, end in pairwise(encoded.offsets.tolist()):
            check_tree(heads := parses.heads[start + 1 : end].tolist(), several_roots=False)
            relations = parses.relations[start + 1 : end] == model.system.root_relation
            assert relations.tolist() == [head == 0 for head in heads]


def test_a_loaded_model_points_in_the_same_way(model, encoded, tmp_path):
    model.save(tmp_path)
    np.testing.assert_array_equal(parser_of(Model.load(tmp_path)).parse(encoded).heads, parser_of(model).parse(encoded).heads)


def test_without_slots_for_both_ends_the_classifier_scores():
    assert pointer_model("c1", "c2").weights().arcs is not None
    assert pointer_model("c1", "q1").weights().arcs is None
