"""Probabilities of steps and of arcs: against those of one step after the other,
and their calibration.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam, Merge
from parser.data.sentences import NO_NODE
from parser.decoding import given_arcs as module
from parser.decoding.given_arcs import steps_keeping
from parser.decoding.greedy.batched import BatchedParser, StepProbabilities, parse_batched
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor
from parser.inference.calibration import Calibration, expected_calibration_error
from parser.model.trained_model import TrainedModel
from parser.transitions.decisions import best, log_probabilities
from parser.transitions.features import slots_of
from tests.forgery import KINDS, small_model
from tests.random_models import with_random_weights
from tests.searches import parser_with_beam
from tests.toy import assert_same_trees, flat_sentences
from tests.transition_systems import variants


def probabilities_step_by_step(model, encoded, single_root):
    """By sentence, {child: logarithm of the probability of its step},
    and the sum over all steps.
    """
    scorer, system = model.scorer(encoded), model.system
    found = []
    for number in range(len(encoded)):
        now = system.initial(encoded.lengths[[number]])
        of_arcs, total = {}, 0.0
        while len(rows := system.unfinished(now)):
            transitions = system.transitions(now, rows, single_root)
            scores = scorer(
                model.table.extract(now, rows, encoded, np.array([number]), transitions)
            )
            columns, relations = best(system, scores, transitions, single_root)
            [probability] = log_probabilities(
                system, scores, transitions, columns, relations, single_root
            )
            total += probability
            if (child := transitions.children[0, columns[0]]) != NO_NODE:
                of_arcs[int(child)] = probability
            system.apply(now, rows, transitions, columns, relations)
        found.append((of_arcs, total))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [True, False])
def test_they_are_those_of_each_step(kind, single_root):
    model = small_model(kind)
    encoded = model.vocabularies.encode(flat_sentences([1, 2, 5, 3], seed=1))
    probabilities = StepProbabilities.allocate(encoded)
    parser = BatchedParser(model.frozen().weights, model.system, model.table)
    parses = parser.parse(encoded, single_root=single_root, probabilities=probabilities)
    plain = parse_batched(
        encoded, model.system, model.table, model.scorer(encoded), single_root=single_root
    )
    np.testing.assert_array_equal(parses.heads, plain.heads)
    for number, (of_arcs, total) in enumerate(
        probabilities_step_by_step(model, encoded, single_root)
    ):
        start = encoded.offsets[number]
        assert probabilities.trees[number] == pytest.approx(total, rel=1e-4)
        assert set(of_arcs) == set(range(1, encoded.lengths[number] + 1))
        for child, expected in of_arcs.items():
            assert probabilities.arcs[start + child] == pytest.approx(expected, rel=1e-4)


# Where arcs can be undone, a tree that is made once more may be made by other steps.
MADE_ALIKE = [(name, options) for name, options in variants() if "nonmonotonic" not in options]


@pytest.mark.parametrize(("system", "options"), MADE_ALIKE)
@pytest.mark.parametrize("single_root", [True, False])
def test_trees_made_once_more_have_the_probabilities_of_greedy_parsing(
    system, options, single_root
):
    like = small_model("static")
    slots = slots_of({"form": ["s0", "b0"], "feats_pairs": ["s1"], "deprel": ["s0.l1"]})
    # arc-standard then shifts where it could have attached to the left, in some sentences
    torch.manual_seed(1)
    model = with_random_weights(
        TrainedModel.new(like.vocabularies, like.relations, slots, like.spec, system, options),
        std=1.0,
    )
    rng = random.Random(1)
    # Of words that the model knows apart, so that it shifts before some,
    # and attaches others at once.
    sentences = [
        replace(one, forms=rng.choices("ab", k=n), feats=rng.choices(["_", "A=b|C=d"], k=n))
        for n, one in enumerate(flat_sentences(range(2, 14)), 2)
    ]
    encoded = model.vocabularies.encode(sentences)
    parser = BatchedParser(model.frozen().weights, model.system, model.table)
    expected, found = StepProbabilities.allocate(encoded), StepProbabilities.allocate(encoded)
    parses = parser.parse(encoded, single_root=single_root, probabilities=expected)
    kept = steps_keeping(parses, model.system, single_root)
    again = parser.parse(encoded, single_root=single_root, probabilities=found, restriction_of=kept)
    assert_same_trees(again, parses)
    # whose oracle is exact on gold computations alone: other orders of swaps make the same tree
    if system != "swap":
        np.testing.assert_allclose(found.arcs, expected.arcs)
        np.testing.assert_allclose(found.trees, expected.trees)


@pytest.mark.parametrize(
    ("kind", "merge"),  # beams that merge by signature are of arc-standard alone
    [
        (kind, merge)
        for merge in Merge
        for kind in KINDS
        if merge is not Merge.SIGNATURE or kind != "attardi"
    ],
)
def test_trees_of_a_beam_have_probabilities_of_steps_that_make_them(kind, merge):
    model = small_model(kind)
    encoded = model.vocabularies.encode(flat_sentences([1, 2, 7, 3, 0], seed=3))
    beam = Beam(4, merge)
    found = Predictor(model, ParseOptions(beam=beam), steps=True).predict(encoded)
    parses, probabilities = found.parses, found.steps
    np.testing.assert_array_equal(parses.heads, parser_with_beam(model, beam).parse(encoded).heads)
    parser, again = (
        BatchedParser(model.frozen().weights, model.system, model.table),
        StepProbabilities.allocate(encoded),
    )
    kept = steps_keeping(parses, model.system, True)
    made_again = parser.parse(encoded, probabilities=again, restriction_of=kept)
    np.testing.assert_array_equal(made_again.heads, parses.heads)
    assert (probabilities.arcs[parses.heads >= 0] < 0).any()
    assert (probabilities.trees <= 0).all()
    assert probabilities.trees[-1] == 0


def test_a_sentence_too_long_for_oracles_takes_no_probabilities_from_the_others(monkeypatch):
    rng = random.Random(3)
    model = small_model(KINDS[0])
    encoded = model.vocabularies.encode(flat_sentences([3, 9, 1, 5], seed=3))
    predictor = Predictor(model, ParseOptions(beam=Beam(4)), steps=True)
    before = predictor.predict(encoded)
    monkeypatch.setattr(module, "MOST_WORDS", 7)
    after = predictor.predict(encoded)
    expected, found = before.steps, after.steps
    np.testing.assert_array_equal(after.parses.heads, before.parses.heads)
    long = np.zeros(len(found.arcs), bool)
    long[encoded.offsets[1] : encoded.offsets[2]] = True
    assert np.isnan(found.arcs[long]).all()
    assert np.isnan(found.trees).tolist() == [False, True, False, False]
    np.testing.assert_array_equal(found.arcs[~long], expected.arcs[~long])
    right = rng.choices([True, False], k=len(found.arcs) * 20)
    known = np.tile(found.arcs, 20), np.array(right)
    kept = ~np.isnan(known[0])
    assert Calibration.fit(*known) == Calibration.fit(known[0][kept], known[1][kept])
    probabilities = np.exp(known[0])
    error = expected_calibration_error(probabilities, known[1])
    assert error == expected_calibration_error(probabilities[kept], known[1][kept])


def slowly_rising(shares: list[float], sizes: list[int]) -> list[float]:
    """Isotonic regression by its min-max formula (Barlow et al. 1972)."""

    def mean(first: int, last: int) -> float:
        return float(np.average(shares[first : last + 1], weights=sizes[first : last + 1]))

    places = range(len(shares))
    return [
        max(min(mean(i, j) for j in places if j >= k) for i in places if i <= k) for k in places
    ]


def test_calibration_is_isotonic_regression_over_groups_of_equal_size():
    rng = np.random.default_rng(0)
    for n in (999, 1000, 400, 100):
        logs = np.sort(np.log(rng.random(n)))
        right = rng.random(n) < 0.5  # falls about as often as it rises
        found = Calibration.fit(logs, right)
        groups = np.array_split(np.arange(n), min(20, n // 50))
        shares = slowly_rising(
            [right[group].mean() for group in groups], [len(group) for group in groups]
        )
        np.testing.assert_allclose(found.shares, sorted(set(shares)), rtol=1e-9)
        assert found.log_odds == tuple(sorted(found.log_odds))


def test_probabilities_of_any_shape_become_those_of_what_is_right():
    rng = np.random.default_rng(0)
    logs = np.minimum(np.log(rng.beta(3, 0.3, 40_000)), -1e-12)
    logs[:4000] = 0  # steps without an alternative
    right = rng.random(40_000) < np.where(logs == 0, 0.7, np.exp(logs) ** 0.2 - 0.1)
    found = Calibration.fit(logs[::2], right[::2])
    assert found.certain == pytest.approx(0.7, abs=0.02)
    assert (
        expected_calibration_error(found(logs[1::2]), right[1::2])
        < 1
        < expected_calibration_error(np.exp(logs), right)
    )


def test_slope_and_intercept_of_older_models_are_read():
    logs = np.log(np.array([1e-3, 0.2, 0.5, 0.9, 0.9999]))
    odds = logs - np.log(-np.expm1(logs))
    older = Calibration.of_fields({"slope": 0.3, "intercept": 0.1})
    np.testing.assert_allclose(older(logs), 1 / (1 + np.exp(-(0.3 * odds + 0.1))), atol=1e-4)


def test_calibration_of_little_is_finite():
    for right in (np.ones(5, bool), np.zeros(5, bool), np.zeros(0, bool)):
        logs = np.log(np.array([1.0, 0.9, 0.5, 1e-300, 0.2]))[: len(right)]
        found = Calibration.fit(logs, right)(logs)
        assert ((found > 0) & (found < 1)).all()


def test_the_error_of_calibration_is_a_mean_over_bins():
    assert expected_calibration_error(
        np.array([0.1, 0.1, 0.9, 1.0]), np.array([0, 1, 1, 1], bool), 2
    ) == pytest.approx(22.5)
    assert expected_calibration_error(np.zeros(0), np.zeros(0, bool)) == 0
