"""Items that merge by signature, against all computations of short sentences and against counts that are known."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from parser import transitions
from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.decoding.beam.batched import search_batched
from parser.decoding.beam.signature import visible_parts
from parser.decoding.parsers import beam_parser_of, parser_of
from parser.decoding.sentence_parser import distinct
from parser.model.model import Model
from parser.transitions.features import FeatureTable, Slot, slots_of
from tests.decoding.computations import Space, all_computations, best_by_tree, random_slots
from tests.decoding.derivation_counts import count_derivations
from tests.decoding.drawn_scores import check_trees, hashing_scorer, sentence_of_tokens
from tests.decoding.slow_derivations import arcs_of, best_trees
from tests.decoding.slow_merging import MergedItem, MergingSearch
from tests.random_models import random_static_model
from tests.toy import sentence, settings

SMALL = ["s0:form", "s1:form", "b0:form"]


def slots_of_recipe(recipe: str) -> list[str]:
    """Those of a recipe, all attributes but the relation being the token."""
    features = settings(f"recipe={recipe}").features
    slots = slots_of({name: positions for name, positions in features.items() if name == "deprel"})
    nodes = dict.fromkeys(position for name, positions in features.items() if name != "deprel" for position in positions)
    return [*(f"{position}:form" for position in nodes), *map(str, slots)]


def search(
    slots: list[str], n_relations: int = 1, root: int | None = None, single_root: bool = False, scores=Scores.GLOBAL, size=None
):
    system = transitions.create("arc_standard", n_relations, root)
    table = FeatureTable([Slot.parse(slot) for slot in slots], ["form"])
    return MergingSearch(system, table, size, scores, single_root)  # type: ignore[arg-type]


def steps_of(slots: list[str], n: int, n_relations: int = 1, **options) -> list[list[MergedItem]]:
    scorer = hashing_scorer(slots, 1 + 2 * n_relations)
    return list(search(slots, n_relations, **options).steps(sentence_of_tokens(n), 0, scorer))


def test_the_visible_parts_of_the_papers_features():
    word, left, right = ((), False), ((("l", 1),), True), ((("r", 1),), True)
    parts = visible_parts([Slot.parse(slot) for slot in slots_of_recipe("paper")])
    assert parts == [{word, left, right}, {word, left, right}, {word}]


@pytest.mark.parametrize(
    ("slots", "counts"),
    [(SMALL, [3, 8, 20, 46, 97]), ("paper", [3, 8, 21, 53, 126]), ("accurate", [3, 10, 35, 119, 390])],
)
def test_how_many_items_there_are_without_a_limit(slots, counts):
    for n, expected in enumerate(counts, 1):
        steps = steps_of(slots_of_recipe(slots) if isinstance(slots, str) else slots, n)
        assert sum(map(len, steps)) == expected


@pytest.mark.parametrize(("single_root", "counts"), [(False, [1, 3, 13, 67, 381, 2307]), (True, [1, 2, 8, 40, 224, 1344])])
def test_the_last_item_stands_for_all_computations(single_root, counts):
    for n, expected in enumerate(counts, 1):
        assert sum(map(count_derivations, steps_of(SMALL, n, single_root=single_root)[-1])) == expected


@pytest.mark.parametrize("seed", range(12))
def test_without_a_limit_the_best_trees_are_found_in_their_order(seed):
    rng = random.Random(seed)
    n, n_relations = rng.choice([(5, 1), (3, 2)])
    root = 1 if n_relations > 1 else None
    slots, single_root, scores = random_slots(rng), rng.random() < 0.5, rng.choice([*Scores])
    computations = all_computations(Space("arc_standard", 1, n_relations, root, single_root, scores is Scores.LOCAL, slots), n)
    last = steps_of(slots, n, n_relations, root=root, single_root=single_root, scores=scores)[-1]
    assert max(item.prefix for item in last) == pytest.approx(max(computations)[0], abs=1e-9)
    assert sum(map(count_derivations, last)) == len(computations)
    expected = best_by_tree(computations)
    found = distinct(best_trees(last, n + 1), 10_000)
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
    return [f"s{depth}{text}:{read}" for depth in range(n + 1) for text in descents for read in ("form", "deprel")]


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("size", [3, 1000])
def test_where_all_is_visible_items_are_configurations(size, scores):
    n, n_relations = 3, 2
    slots = whole_stacks(n)
    scorer, encoded = hashing_scorer(slots, 1 + 2 * n_relations), sentence_of_tokens(n)
    merging = search(slots, n_relations, 1, False, scores, size)
    *_, last = merging.steps(encoded, 0, scorer)
    table = FeatureTable([Slot.parse(slot) for slot in slots], ["form"])
    system = transitions.create("arc_standard", n_relations, 1)
    expected = search_batched(encoded, system, table, scorer, Beam(size, Merge.CONFIGURATION, scores), single_root=False)
    assert [item.prefix for item in last] == pytest.approx(expected.totals.tolist(), abs=1e-9)
    for item, heads, relations in zip(last, expected.now.heads, expected.now.relations, strict=True):
        np.testing.assert_array_equal(arcs_of(item.stack[0], n + 1), [heads, relations])


def test_what_holds_of_every_item():
    rng = random.Random(3)
    for size in (None, 3):
        steps = steps_of(random_slots(rng), 5, 2, size=size)
        for m, items in enumerate(steps):
            assert size is None or len(items) <= size
            prefixes = [item.prefix for item in items]
            assert prefixes == sorted(prefixes, reverse=True)
            for item in items:
                assert item.size == 2 * item.front - 1 - m
                for predictor, shift in item.predictors:
                    assert predictor.front == item.began
                    assert predictor in steps[m - (2 * (item.front - item.began) - 1)]
                    assert item.prefix >= predictor.prefix + shift + item.inside - 1e-9 or size is not None
                if item.predictors and size is None:
                    best = max(predictor.prefix + shift + item.inside for predictor, shift in item.predictors)
                    assert item.prefix == pytest.approx(best, abs=1e-9)


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(6)
    return [sentence([0] + [1] * (rng.randint(1, 9) - 1), rng) for _ in range(12)]


@pytest.mark.parametrize("single_root", [True, False])
def test_one_item_is_greedy_parsing(sentences, single_root):
    model = random_static_model(sentences, {"form": 5})
    encoded = model.vocabularies.encode(sentences)
    greedy = parser_of(model).parse(encoded, single_root=single_root)
    found = beam_parser_of(model, Beam(1, Merge.SIGNATURE)).parse(encoded, single_root=single_root)
    np.testing.assert_array_equal(found.heads, greedy.heads)
    np.testing.assert_array_equal(found.relations, greedy.relations)


def test_more_trees_than_items_are_valid_and_in_order(sentences):
    model = random_static_model(sentences, {"form": 5})
    encoded = model.vocabularies.encode(sentences)
    parser = beam_parser_of(model, Beam(4, Merge.SIGNATURE))
    best, found = parser.parse(encoded), parser.k_best(encoded, 9)
    for trees, start, end in zip(found, encoded.offsets[:-1], encoded.offsets[1:], strict=True):
        check_trees(trees, end - start - 1, model.system.root_relation)
        np.testing.assert_array_equal(trees[0].heads, best.heads[start + 1 : end])
    assert max(map(len, found)) > 4


def test_long_sentences_have_several_trees(sentences):
    model = random_static_model(sentences, {"form": 5})
    encoded = model.vocabularies.encode([sentence([0] + [1] * 399)])
    (trees,) = beam_parser_of(model, Beam(2, Merge.SIGNATURE)).k_best(encoded, 3)
    check_trees(trees, 400, model.system.root_relation)
    assert len(trees) == 3


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_make_the_trees_of_the_other_beams(sentences, broken, scores):
    model = random_static_model(sentences, {"form": 5})
    encoded = model.vocabularies.encode([sentence(heads) for heads in ([0], [0, 1], [0, 1, 1])])
    with torch.no_grad():
        model.classifier.output.bias[[0, 3]] = broken
    merged, expected = (
        beam_parser_of(model, Beam(1000, merge, scores)).k_best(encoded, 1) for merge in (Merge.SIGNATURE, Merge.CONFIGURATION)
    )
    for (ours,), (theirs,), n in zip(merged, expected, encoded.lengths, strict=True):
        check_trees([ours], int(n), model.system.root_relation)
        assert np.isfinite(ours.score)
        assert ours.score == pytest.approx(theirs.score, rel=1e-5)


def test_other_systems_do_not_merge_by_signature(sentences):
    model = random_static_model(sentences, {"form": 5})
    other = Model.new(model.vocabularies, model.relations, model.slots, model.spec, "attardi")
    with pytest.raises(BeamError, match=r"only with system=arc_standard.*merge=configuration"):
        beam_parser_of(other, Beam(4, Merge.SIGNATURE))
