"""Items that merge by signature: the readable search against all computations, the compiled one
against the readable one.
"""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from parser import transitions
from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.data.sentences import Sentences
from parser.decoding.beam.batched import search_batched
from parser.decoding.beam.signature import SignatureItems
from parser.decoding.beam.signature_beam import SignatureBeamParser, best_outputs, ways_of
from parser.model.trained_model import TrainedModel
from parser.transitions.features import FeatureTable, Slot, slots_of
from tests.decoding.computations import (
    Space,
    all_computations,
    best_by_tree,
    check_trees,
    hashed_space,
    hashing_scorer,
    random_slots,
    sentence_of_tokens,
)
from tests.decoding.slow_merging import Item, MergingSearch, best_trees, final_items
from tests.jit import COMPILED
from tests.random_models import random_static_model
from tests.searches import beam_parser_of, parser_of
from tests.toy import assert_same_trees, drawn_sentences, flat_sentences, settings

SMALL = ["s0:form", "s1:form", "b0:form"]


def slots_of_recipe(recipe: str) -> list[str]:
    """Those of a recipe, all attributes but the relation being the token."""
    features = settings(f"recipe={recipe}").features
    slots = slots_of({name: positions for name, positions in features.items() if name == "deprel"})
    nodes = dict.fromkeys(
        position
        for name, positions in features.items()
        if name != "deprel"
        for position in positions
    )
    return [*(f"{position}:form" for position in nodes), *map(str, slots)]


def steps_of(space: Space, slots: list[str], n: int, size: int | None = None) -> list[list[Item]]:
    return list(MergingSearch(space, [*map(Slot.parse, slots)], size).steps(n))


@pytest.mark.parametrize(
    ("slots", "counts"),
    [
        (SMALL, [3, 8, 20, 46, 97]),
        ("paper", [3, 8, 21, 53, 126]),
        ("accurate", [3, 10, 35, 119, 390]),
    ],
)
def test_how_many_items_there_are_without_a_limit(slots, counts):
    for n, expected in enumerate(counts, 1):
        read = slots_of_recipe(slots) if isinstance(slots, str) else slots
        steps = steps_of(hashed_space(1, 1, None, False, False, read), read, n)
        assert sum(map(len, steps)) == expected


@pytest.mark.parametrize("seed", range(12))
def test_without_a_limit_the_best_trees_are_found_in_their_order(seed):
    rng = random.Random(seed)
    n, n_relations = rng.choice([(5, 1), (3, 2)])
    root = 1 if n_relations > 1 else None
    slots, single_root, scores = random_slots(rng), rng.random() < 0.5, rng.choice([*Scores])
    space = hashed_space(1, n_relations, root, single_root, scores is Scores.LOCAL, slots)
    computations, last = all_computations(space, n), steps_of(space, slots, n)[-1]
    assert max(item.prefix for item in last) == pytest.approx(max(computations)[0], abs=1e-9)
    assert sum(item.count for item in last) == len(computations)
    expected = best_by_tree(computations)
    found = best_trees(last, n, 10_000)
    assert len(found) == len(expected)
    for tree, ((heads, relations), total) in zip(found, expected, strict=True):
        assert tree.score == pytest.approx(total, abs=1e-9)
        assert (tuple(tree.heads.tolist()), tuple(tree.relations.tolist())) == (heads, relations)


def whole_stacks(n: int) -> list[str]:
    """Slots that see all of any stack of a sentence of n tokens."""
    # A descent to a child of some rank needs as many tokens.
    descents = [""]
    for text in descents:
        left = n - sum(map(int, text.replace(".l", " ").replace(".r", " ").split()))
        descents += [f"{text}.{side}{rank}" for side in "lr" for rank in range(1, left + 1)]
    return [
        f"s{depth}{text}:{read}"
        for depth in range(n + 1)
        for text in descents
        for read in ("form", "deprel")
    ]


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("size", [3, 1000])
def test_where_all_is_visible_items_are_configurations(size, scores):
    n, n_relations = 3, 2
    slots = whole_stacks(n)
    last = steps_of(
        hashed_space(1, n_relations, 1, False, scores is Scores.LOCAL, slots), slots, n, size
    )[-1]
    table, system = (
        FeatureTable([Slot.parse(slot) for slot in slots], ["form"]),
        transitions.create("arc_standard", 2, 1),
    )
    beam, scorer = Beam(size, Merge.CONFIGURATION, scores), hashing_scorer(1 + 2 * n_relations)
    expected = search_batched(sentence_of_tokens(n), system, table, scorer, beam, single_root=False)
    assert [item.prefix for item in last] == pytest.approx(expected.totals.tolist(), abs=1e-9)
    for item, heads, relations in zip(
        last, expected.now.heads, expected.now.relations, strict=True
    ):
        assert item.state.arcs == dict(
            enumerate(zip(heads[1:].tolist(), relations[1:].tolist(), strict=True), 1)
        )


@pytest.fixture(scope="module")
def sentences():
    return drawn_sentences(6, *((12, 12) if COMPILED else (4, 6)))


def compiled(model: TrainedModel, beam: Beam, threads: int = 1) -> SignatureBeamParser:
    parser = beam_parser_of(model, beam, threads)
    assert isinstance(parser, SignatureBeamParser)
    return parser


def compiled_items(
    parser: SignatureBeamParser, encoded: Sentences, single_root: bool
) -> Iterator[list[tuple]]:
    """Of the items of the last step what Item calls prefix, inside and count, for each sentence."""
    search = parser._search(encoded.offsets, parser.words_of(encoded), single_root)
    for length in search._each_sentence():
        found, last = search._merging.items, 2 * length
        counts: dict[tuple[int, int], int] = {}
        for m in range(last + 1):
            for k in range(found.counts[m]):
                counts[m, k] = (
                    sum(
                        counts[above] * counts[below] for above, below, _, _ in ways_of(found, m, k)
                    )
                    or 1
                )
        yield [
            (found.prefixes[last, k], found.insides[last, k], counts[last, k])
            for k in range(found.counts[last])
        ]


K = 7  # the best trees that are asked for


def _as_lists(tree) -> tuple[list[int], list[int]]:
    return tree.heads.tolist(), tree.relations.tolist()


def check_equal(model: TrainedModel, sentences, beam: Beam, single_root: bool) -> None:
    """Check that the best trees are the same, and that items stand for as many computations."""
    encoded = model.vocabularies.encode(sentences)
    fast, slow = compiled(model, beam), final_items(model, beam, encoded, single_root)
    expected = [
        best_trees(last, n, K) for last, n in zip(slow, encoded.lengths.tolist(), strict=True)
    ]
    found = fast.k_best(encoded, K, single_root=single_root)
    best = fast.parse(encoded, single_root=single_root)
    for ours, theirs, start in zip(found, expected, encoded.offsets, strict=False):
        np.testing.assert_allclose(
            [t.score for t in ours], [t.score for t in theirs], rtol=1e-5, atol=1e-3
        )
        # Trees of one score come in an order that the last digits decide, which are the
        # processor's; so they are compared as a set, but for those of the last score, of which
        # there may be more.
        scores = np.array([t.score for t in theirs])
        for score in (
            scores
            if len(theirs) < K
            else scores[~np.isclose(scores, scores[-1], rtol=1e-5, atol=1e-3)]
        ):
            tied = np.flatnonzero(np.isclose(scores, score, rtol=1e-5, atol=1e-3))
            assert sorted(_as_lists(ours[i]) for i in tied) == sorted(
                _as_lists(theirs[i]) for i in tied
            )
        inside = slice(start + 1, start + 1 + len(ours[0].heads))
        assert _as_lists(ours[0]) == (best.heads[inside].tolist(), best.relations[inside].tolist())
    for items, expected_items in zip(compiled_items(fast, encoded, single_root), slow, strict=True):
        for (prefix, inside, count), expected_item in zip(items, expected_items, strict=True):
            assert count == expected_item.count
            assert (prefix, inside) == pytest.approx(
                (expected_item.prefix, expected_item.inside), rel=1e-5, abs=1e-3
            )


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_the_compiled_search_is_the_readable_one(sentences, size, single_root, scores):
    model = random_static_model(sentences, {"form": 5, "deprel": 3})
    check_equal(model, sentences, Beam(size, Merge.SIGNATURE, scores), single_root)
    if size == 1:  # which is greedy parsing
        encoded = model.vocabularies.encode(sentences)
        found = compiled(model, Beam(1, Merge.SIGNATURE, scores)).parse(
            encoded, single_root=single_root
        )
        assert_same_trees(found, parser_of(model).parse(encoded, single_root=single_root))


@pytest.mark.parametrize("seed", range(10))
def test_with_any_features(sentences, seed):
    rng = random.Random(seed)
    slots: dict[str, list[str]] = {"form": ["b0"]}
    for slot in random_slots(rng):
        position, _, attribute = slot.partition(":")
        slots[attribute] = sorted({*slots.get(attribute, []), position})
    model = random_static_model(sentences, {"form": 5}, slots=slots)
    check_equal(
        model,
        sentences,
        Beam(rng.choice([2, 5, 9]), Merge.SIGNATURE, rng.choice([*Scores])),
        rng.random() < 0.5,
    )


@pytest.mark.parametrize(
    "slots",
    [
        {"form": ["b0"]},
        {"form": ["s0", "b0"]},
        {"upos": ["s2", "b0"]},
        {"deprel": ["s0.l1", "s1.r1"], "form": ["s0.r2.l1"]},
    ],
)
def test_with_features_of_one_kind(sentences, slots):
    check_equal(
        random_static_model(sentences, {"form": 5}, slots=slots),
        sentences,
        Beam(4, Merge.SIGNATURE),
        single_root=True,
    )


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
        return items._replace(
            predictors=items.predictors[:few], ways=items.ways[:few], costs=items.costs[:few]
        )

    monkeypatch.setattr(SignatureItems, "allocate", allocate_too_little)
    found = compiled(model, beam).k_best(encoded, 9)
    assert max(made) > 2
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(
            [tree.heads for tree in ours], [tree.heads for tree in theirs]
        )


def test_threads_and_batches_change_nothing(sentences):
    model = random_static_model(sentences, {"form": 5})
    encoded = model.vocabularies.encode(sentences * (300 if COMPILED else 3))
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
        expected = [o for o in sorted(range(15), key=lambda o: (-row[o], o)) if row[o] > -np.inf][
            :limit
        ]
        assert outputs[:count].tolist() == expected


def test_the_best_trees_of_a_long_sentence_are_valid_and_in_order(sentences):
    model = random_static_model(sentences, {"form": 5})
    (trees,) = compiled(model, Beam(2, Merge.SIGNATURE)).k_best(
        model.vocabularies.encode(flat_sentences([400])), 3
    )
    check_trees(trees, 400, model.system.root_relation)
    assert len(trees) == 3


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_make_the_trees_of_the_other_beams(sentences, broken, scores):
    model = random_static_model(sentences, {"form": 5})
    encoded = model.vocabularies.encode(flat_sentences([1, 2, 3]))
    with torch.no_grad():
        model.classifier.output.bias[[0, 3]] = broken
    merged, expected = (
        beam_parser_of(model, Beam(1000, merge, scores)).k_best(encoded, 1)
        for merge in (Merge.SIGNATURE, Merge.CONFIGURATION)
    )
    for (ours,), (theirs,), n in zip(merged, expected, encoded.lengths, strict=True):
        check_trees([ours], int(n), model.system.root_relation)
        assert np.isfinite(ours.score)
        assert ours.score == pytest.approx(theirs.score, rel=1e-5)


def test_other_systems_do_not_merge_by_signature(sentences):
    model = random_static_model(sentences, {"form": 5})
    other = TrainedModel.new(
        model.vocabularies, model.relations, model.slots, model.spec, "attardi"
    )
    with pytest.raises(BeamError, match=r"only with system=arc_standard.*merge=configuration"):
        beam_parser_of(other, Beam(4, Merge.SIGNATURE))
