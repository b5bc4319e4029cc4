"""The compiled beam whose items merge by signature, against the readable one (test_merging_beam.py)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import Sentences
from parser.decoding.beam.signature import SignatureItems
from parser.decoding.beam.signature_beam import SignatureBeamParser, best_outputs
from parser.decoding.parsers import beam_parser_of
from parser.model.model import Model
from tests.decoding.computations import random_slots
from tests.decoding.derivation_counts import count_derivations
from tests.decoding.slow_derivations import Item, last_items
from tests.decoding.slow_merging import MergingBeamParser
from tests.jit import COMPILED
from tests.random_models import random_static_model
from tests.toy import sentence

N_SENTENCES = 12 if COMPILED else 4
LONGEST = 12 if COMPILED else 6


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(6)
    return [sentence([0] + [1] * (rng.randint(1, LONGEST) - 1), rng) for _ in range(N_SENTENCES)]


def compiled(model: Model, beam: Beam, threads: int = 1) -> SignatureBeamParser:
    parser = beam_parser_of(model, beam, threads)
    assert isinstance(parser, SignatureBeamParser)
    return parser


def final_items(parser: SignatureBeamParser, encoded: Sentences, single_root: bool) -> list[list[Item]]:
    search = parser._search(encoded.offsets, parser.words_of(encoded), single_root)
    n_relations = parser._system.n_relations
    return [last_items(search._merging.items, 2 * length, n_relations) for length in search._each_sentence()]


K = 7  # the best trees that are asked for


def _as_lists(tree) -> tuple[list[int], list[int]]:
    return tree.heads.tolist(), tree.relations.tolist()


def check_equal(model: Model, sentences, beam: Beam, single_root: bool) -> None:
    """The same best trees, and items that stand for as many computations."""
    encoded = model.vocabularies.encode(sentences)
    slow, fast = MergingBeamParser(model, beam), compiled(model, beam)
    expected = slow.k_best(encoded, K, single_root=single_root)
    found = fast.k_best(encoded, K, single_root=single_root)
    best = fast.parse(encoded, single_root=single_root)
    for ours, theirs, start in zip(found, expected, encoded.offsets, strict=False):
        np.testing.assert_allclose([t.score for t in ours], [t.score for t in theirs], rtol=1e-5, atol=1e-3)
        # Trees of one score come in an order that the last digits decide, which are the processor's; so they are compared as a
        # set, but for those of the last score, of which there may be more.
        scores = np.array([t.score for t in theirs])
        for score in scores if len(theirs) < K else scores[~np.isclose(scores, scores[-1], rtol=1e-5, atol=1e-3)]:
            tied = np.flatnonzero(np.isclose(scores, score, rtol=1e-5, atol=1e-3))
            assert sorted(_as_lists(ours[i]) for i in tied) == sorted(_as_lists(theirs[i]) for i in tied)
        inside = slice(start + 1, start + 1 + len(ours[0].heads))
        np.testing.assert_array_equal(best.heads[inside], ours[0].heads)
        np.testing.assert_array_equal(best.relations[inside], ours[0].relations)
    last = final_items(fast, encoded, single_root)
    for items, expected_items in zip(last, slow.final_items(encoded, single_root=single_root), strict=True):
        assert [count_derivations(item) for item in items] == [count_derivations(item) for item in expected_items]
        for item, its_twin in zip(items, expected_items, strict=True):
            assert item.prefix == pytest.approx(its_twin.prefix, rel=1e-5, abs=1e-3)
            assert item.inside == pytest.approx(its_twin.inside, rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_the_compiled_search_is_the_readable_one(sentences, size, single_root, scores):
    check_equal(
        random_static_model(sentences, {"form": 5, "deprel": 3}), sentences, Beam(size, Merge.SIGNATURE, scores), single_root
    )


@pytest.mark.parametrize("seed", range(15))
def test_with_any_features(sentences, seed):
    rng = random.Random(seed)
    slots: dict[str, list[str]] = {"form": ["b0"]}
    for slot in random_slots(rng):
        position, _, attribute = slot.partition(":")
        slots[attribute] = sorted({*slots.get(attribute, []), position})
    model = random_static_model(sentences, {"form": 5}, slots=slots)
    check_equal(model, sentences, Beam(rng.choice([2, 5, 9]), Merge.SIGNATURE, rng.choice([*Scores])), rng.random() < 0.5)


@pytest.mark.parametrize(
    "slots",
    [{"form": ["b0"]}, {"form": ["s0", "b0"]}, {"upos": ["s2", "b0"]}, {"deprel": ["s0.l1", "s1.r1"], "form": ["s0.r2.l1"]}],
)
def test_with_features_of_one_kind(sentences, slots):
    check_equal(random_static_model(sentences, {"form": 5}, slots=slots), sentences, Beam(4, Merge.SIGNATURE), single_root=True)


def test_where_nothing_of_the_stack_is_seen_one_item_stands_for_all(sentences):
    model = random_static_model(sentences, {"form": 5}, slots={"form": ["b0"]})
    encoded = model.vocabularies.encode([sentence([0, 1, 1, 1])])
    (items,) = final_items(compiled(model, Beam(64, Merge.SIGNATURE)), encoded, single_root=False)
    assert len(items) == 1
    n_relations = model.system.n_relations
    assert count_derivations(items[0]) == 67 * n_relations**4  # BEAM.md's count of computations; four arcs


def test_a_workspace_that_is_too_small_grows(sentences, monkeypatch):
    model = random_static_model(sentences, {"form": 5}, slots={"form": ["s0", "b0"]})
    encoded = model.vocabularies.encode(sentences)
    beam = Beam(6, Merge.SIGNATURE)
    expected = compiled(model, beam).k_best(encoded, 9)
    made, allocate = [], SignatureItems.allocate

    def allocate_too_little(tokens, size, elements, times):
        made.append(times)
        items = allocate(tokens, size, elements, times)
        few = times * 4
        return items._replace(predictors=items.predictors[:few], ways=items.ways[:few], costs=items.costs[:few])

    monkeypatch.setattr(SignatureItems, "allocate", allocate_too_little)
    found = compiled(model, beam).k_best(encoded, 9)
    assert max(made) > 2
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal([tree.heads for tree in ours], [tree.heads for tree in theirs])


def test_threads_and_batches_change_nothing(sentences):
    model = random_static_model(sentences, {"form": 5})
    many = sentences * (300 if COMPILED else 3)
    encoded = model.vocabularies.encode(many)
    beam = Beam(3, Merge.SIGNATURE)
    one, two = (compiled(model, beam, threads).parse(encoded) for threads in (1, 2))
    alone = compiled(model, beam).parse(model.vocabularies.encode(sentences))
    np.testing.assert_array_equal(one.heads, two.heads)
    np.testing.assert_array_equal(one.heads[: len(alone.heads)], alone.heads)


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_the_best_outputs_are_the_first_of_all_in_order(limit):
    rng = np.random.default_rng(limit)
    for _ in range(50):
        row = rng.integers(-3, 4, 15).astype(np.float32)
        row[rng.random(15) < 0.3] = -np.inf
        outputs = np.empty(limit, np.int32)
        count = best_outputs(row, limit, outputs)
        expected = [o for o in sorted(range(15), key=lambda o: (-row[o], o)) if row[o] > -np.inf][:limit]
        assert outputs[:count].tolist() == expected
