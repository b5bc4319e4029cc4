"""Reranked beams against plain loops over their trees."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from parser import batch_sizes
from parser.beam_settings import Beam, BeamError, Merge, as_fields, searching
from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED
from parser.decoding.sentence_parser import Tree
from parser.inference import heads as frozen_heads
from parser.inference.encoder import FrozenEncoder
from parser.model.trained_model import TrainedModel
from parser.networks.bilstm import BiLSTM
from parser.networks.tasks import HeadScorer
from parser.transitions.features import TOKEN
from tests.forgery import small_linear_model, small_model
from tests.networks.head_loops import loss_by_loops
from tests.random_models import with_random_weights
from tests.random_trees import random_tree
from tests.searches import beam_parser_of
from tests.toy import assert_same_trees, sentence

BEAM = Beam(8, rerank=True)


def scorer_of(model: TrainedModel) -> HeadScorer:
    """Return what a model's encoder predicts heads with."""
    encoder = model.classifier.tokens
    assert isinstance(encoder, BiLSTM)
    scorer = encoder.tasks["heads"]
    assert isinstance(scorer, HeadScorer)
    return scorer


@pytest.fixture
def model() -> TrainedModel:
    """One whose encoder predicts heads, and is surer of them than the parser is of its
    transitions.
    """
    model = with_random_weights(small_model("text"), std=1.0)
    with torch.no_grad():
        for parameter in scorer_of(model).parameters():
            parameter.normal_(std=3)
    return model


@pytest.fixture
def encoded(model) -> Sentences:
    """Sentences of 1 to 12 words."""
    rng = random.Random(0)
    return model.vocabularies.encode(
        [sentence(random_tree(rng, rng.randint(1, 12)), rng) for _ in range(40)]
    )


def key_of(tree: Tree) -> tuple[bytes, bytes]:
    return tree.heads.tobytes(), tree.relations.tobytes()


@torch.no_grad()
def by_heads(
    model: TrainedModel, sentences: Sentences, s: int, heads: np.ndarray, relations: np.ndarray
) -> float:
    """Return the log probability of a tree of sentence s by the heads that the encoder predicts,
    word by word.
    """
    vectors = model.frozen().weights.vectors_in(sentences)[TOKEN][N_RESERVED:]
    tokens = torch.from_numpy(vectors[sentences.offsets[s] : sentences.offsets[s + 1]])
    columns = [[-1, *heads.tolist()]], [[-1, *relations.tolist()]]
    return -len(heads) * loss_by_loops(scorer_of(model), [tokens], *columns)


@pytest.mark.parametrize("merge", [*Merge])
@pytest.mark.parametrize("single_root", [True, pytest.param(False, marks=pytest.mark.long)])
def test_trees_are_ranked_by_the_sum_of_both_scores(model, encoded, merge, single_root):
    beam = replace(BEAM, merge=merge)
    plain = beam_parser_of(model, replace(beam, rerank=False)).k_best(
        encoded, 8, single_root=single_root
    )
    parser = beam_parser_of(model, beam)
    found, parses = (
        parser.k_best(encoded, 8, single_root=single_root),
        parser.parse(encoded, single_root=single_root),
    )
    changed = 0
    for s, (before, after) in enumerate(zip(plain, found, strict=True)):
        scores = [
            tree.score + by_heads(model, encoded, s, tree.heads, tree.relations) for tree in before
        ]
        expected = {key_of(tree): score for tree, score in zip(before, scores, strict=True)}
        keys = [*map(key_of, after)]
        assert set(keys) == set(expected)
        assert [tree.score for tree in after] == pytest.approx(
            [expected[key] for key in keys], rel=1e-4, abs=1e-4
        )
        assert [tree.score for tree in after] == sorted(
            (tree.score for tree in after), reverse=True
        )
        inside = slice(encoded.offsets[s] + 1, encoded.offsets[s + 1])
        assert (parses.heads[inside].tobytes(), parses.relations[inside].tobytes()) == keys[0]
        changed += keys[0] != key_of(before[0])
    assert changed > 5


def test_items_that_stand_for_many_trees_give_more_than_there_are_items(model, encoded):
    beam = Beam(2, Merge.SIGNATURE, rerank=True)
    assert max(map(len, beam_parser_of(model, beam).k_best(encoded, 5))) == 5


def test_sentences_without_words_change_no_other(model):
    sentences = [sentence(random_tree(random.Random(n), n) if n else []) for n in (0, 5, 0, 7, 0)]
    together = beam_parser_of(model, BEAM).k_best(model.vocabularies.encode(sentences), 1)
    alone = [
        beam_parser_of(model, BEAM).k_best(model.vocabularies.encode([one]), 1)[0]
        for one in sentences
    ]
    assert [[(key_of(tree), tree.score) for tree in trees] for trees in together] == [
        [(key_of(tree), pytest.approx(tree.score)) for tree in trees] for trees in alone
    ]


def test_threads_and_spans_change_nothing(model, encoded, monkeypatch):
    expected = beam_parser_of(model, BEAM).parse(encoded)
    monkeypatch.setattr(batch_sizes, "TOKENS_PER_SEARCH", 30)
    for threads in (1, 3):
        assert_same_trees(beam_parser_of(model, BEAM, threads).parse(encoded), expected)


def test_scores_of_heads_are_summed_wherever_the_highest_is():
    rng = np.random.default_rng(0)
    dependents, heads, bias = (
        rng.normal(scale=2, size=shape).astype(np.float32) for shape in ((21, 5), (21, 5), 21)
    )
    offsets, found = np.array([0, 12, 21]), np.empty(21, np.float32)
    frozen_heads._log_sums(offsets, dependents, heads, bias, found)
    for own in (slice(0, 12), slice(12, 21)):
        scores = dependents[own] @ heads[own].T + bias[own]
        assert found[own] == pytest.approx(np.logaddexp.reduce(scores, axis=1), rel=1e-5)


def test_arcs_of_a_very_long_sentence_have_numbers_of_64_bits(model, monkeypatch):
    heads = model.frozen().head_scorer
    n = 46_342  # whose square 32 bits do not hold
    monkeypatch.setattr(frozen_heads, "_log_sums", lambda *arguments: arguments[-1].fill(0))
    vectors, offsets = (
        np.random.default_rng(0).normal(size=(n + 1, 6)).astype(np.float32),
        np.array([0, n + 1]),
    )
    words, relations = np.arange(1, n + 1, dtype=np.int32), np.zeros(n, np.int32)
    arcs = [(one, n - one, relations) for one in (words, words.astype(np.int64))]
    np.testing.assert_array_equal(
        *(heads.log_probabilities(vectors, offsets, *one) for one in arcs)
    )


def test_a_long_sentence_is_scored_a_part_at_a_time(model, monkeypatch):
    heads = model.frozen().head_scorer
    rng = np.random.default_rng(0)
    vectors, offsets = rng.normal(size=(31, 6)).astype(np.float32), np.array([0, 31])
    arcs = np.tile(np.arange(1, 31), 4), rng.integers(31, size=120), rng.integers(3, size=120)
    expected = heads.log_probabilities(vectors, offsets, *arcs)
    monkeypatch.setattr(batch_sizes, "TOKENS_PER_SCORING", 7)
    assert heads.log_probabilities(vectors, offsets, *arcs) == pytest.approx(expected, rel=1e-5)


def test_sentences_are_encoded_once(model, encoded, monkeypatch):
    read = []
    read_layers = FrozenEncoder._read
    monkeypatch.setattr(
        FrozenEncoder, "_read", lambda self, part: read.append(len(part)) or read_layers(self, part)
    )
    beam_parser_of(model, BEAM).parse(encoded)
    assert sum(read) == len(encoded)


def test_weights_that_are_no_numbers_make_trees(model, encoded):
    with torch.no_grad():
        scorer_of(model).arc_bias.fill_(float("nan"))
    beam = replace(BEAM, rerank=False)
    best = beam_parser_of(model, beam).parse(encoded)
    # the order stays as it was
    assert np.array_equal(beam_parser_of(model, BEAM).parse(encoded).heads, best.heads)


def test_what_cannot_be_reranked():
    with pytest.raises(BeamError, match="such as 8"):
        Beam(1, rerank=True)
    with pytest.raises(BeamError, match="such as 8"):
        searching(None, rerank=True)
    for other in (small_model("static"), small_model("contextual"), small_linear_model()):
        with pytest.raises(BeamError, match="parse without --rerank"):
            beam_parser_of(other, BEAM)


def test_what_a_folder_holds_of_it():
    assert searching(Beam(4), rerank=True) == Beam(4, rerank=True)
    assert searching(Beam(4, rerank=True), 6) == Beam(6, rerank=True)
    assert "rerank" not in as_fields(Beam(4))  # as before there was reranking
    for beam in (Beam(4), Beam(4, rerank=True)):
        assert Beam(**as_fields(beam)) == beam
    with pytest.raises(BeamError, match="true or false"):
        Beam(**as_fields(Beam(4)) | {"rerank": 3})
