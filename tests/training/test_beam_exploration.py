"""Exploration with a beam, against a beam of plain lists that asks an oracle by brute force."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import oracles
from parser.beam_settings import Beam, Merge
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabularies import ABSENT, N_RESERVED
from parser.settings.choices import Target
from parser.training.examples.examples import TrainingSentences
from parser.training.examples.exploration import explore, explore_with_beam
from parser.transitions.attardi import ArcStandard
from parser.transitions.features import FeatureTable, Slot
from tests.brute_force import StepScores
from tests.decoding.computations import Space, plain_beam, read
from tests.decoding.drawn_scores import hashing_scorer
from tests.random_trees import random_tree
from tests.transitions.reference_systems import State, arc

SLOTS = ["s0:form", "s1:form", "b0:form", "s0.l1:deprel"]
N_RELATIONS = 2
SYSTEM = ArcStandard(N_RELATIONS)
TABLE = FeatureTable([Slot.parse(slot) for slot in SLOTS], ["form"])
SCORER = hashing_scorer(SLOTS, SYSTEM.n_outputs)


def numbered(rng: random.Random, trees: list[list[int]]) -> TrainingSentences:
    """Sentences whose tokens are numbered, with gold relations drawn."""
    packed = oracles.Trees.from_heads(trees)
    tokens = np.concatenate([np.arange(len(heads) + 1, dtype=np.int32) for heads in trees])
    relations = np.array([NO_NODE if head < 0 else rng.randrange(N_RELATIONS) for head in packed.heads], np.int32)
    return TrainingSentences(Sentences(tokens[None] + N_RESERVED, packed.offsets), packed, relations)


def right_outputs(attainable: StepScores, state: State, relations: list[int]) -> list[int]:
    front = state.buffer[0] if state.buffer else len(relations)
    scores = attainable(state.stack, front)
    best = max(score for score in scores if score is not None)
    outputs = []
    for column in (column for column in range(3) if scores[column] == best):
        made = arc("arc_standard", 1, state, column)
        outputs.append(0 if made is None else 1 + (column - 1) * N_RELATIONS + relations[made[1]])
    return outputs


@pytest.mark.parametrize("merging", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_examples_are_of_the_items_of_a_beam_of_lists(size, merging):
    rng = random.Random(size)
    trees = [random_tree(rng, rng.randint(1, 5)) for _ in range(8)]
    data = numbered(rng, trees)
    oracle = oracles.create("context_rows", "any").bind(data.trees)
    beam = Beam(size, Merge.CONFIGURATION if merging else Merge.NONE)
    examples, report = explore_with_beam(data, oracle, SYSTEM, TABLE, SCORER, beam, Target.marginal)
    space = Space("arc_standard", 1, N_RELATIONS, None, False, True, SLOTS)
    expected: Counter[tuple] = Counter()
    lost = reached = 0
    for number, heads in enumerate(trees):
        start = data.trees.offsets[number]
        relations = data.relations[start : start + len(heads) + 1].tolist()
        attainable = StepScores(heads, "any")
        *steps, last = plain_beam(space, len(heads), size, merging)
        for _, state in (item for items in steps for item in items):
            features = tuple(ABSENT if token < 0 else token + N_RESERVED for token in read(state, SLOTS))
            expected[number, features, tuple(right_outputs(attainable, state, relations))] += 1
        missed = sum(head != last[0][1].arcs[child][0] for child, head in enumerate(heads, 1))
        most = max(score for score in attainable((0,), 1) if score is not None)
        lost += most - (len(heads) - missed)
        reached += missed == 0
    targets = [tuple(output for output in row if output != NO_NODE) for row in examples.targets.tolist()]
    features = map(tuple, examples.features.tolist())
    assert Counter(zip(examples.sentences.tolist(), features, targets, strict=True)) == expected
    assert report.steps == expected.total()
    assert (report.lost_edges, report.reached_gold_percent) == (lost, 100 * reached / len(trees))


def test_one_item_is_exploration_along_the_prediction():
    rng = random.Random(7)
    data = numbered(rng, [random_tree(rng, rng.randint(1, 9)) for _ in range(20)])
    oracle = oracles.create("context_rows", "any").bind(data.trees)
    examples, report = explore_with_beam(data, oracle, SYSTEM, TABLE, SCORER, Beam(1))
    expected, its_report = explore(data, oracle, SYSTEM, TABLE, SCORER)
    assert report == its_report
    np.testing.assert_array_equal(examples.features, expected.features)
    np.testing.assert_array_equal(examples.targets, expected.targets)
