"""Structured learning of a linear model: violations against all computations of short sentences."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import oracles
from parser import transitions
from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import NO_NODE
from parser.linear.model import LinearModel
from parser.linear.perceptron import Perceptron
from parser.linear.templates import TEMPLATES
from parser.settings.groups import UpdateStep
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.beam_objective import BeamTraining
from parser.training.fitting.beam_perceptron import BeamPerceptron
from parser.training.passes.online import iterate
from parser.transitions.configurations import Configurations
from tests.gold_data import RELATIONS, encoded
from tests.random_trees import random_tree
from tests.toy import sentence
from tests.transition_systems import variants

# Computations of swap differ in length; Covington's system makes no tree with several roots,
# which the toys have.
_VARIANTS = variants("swap", "covington")
SYSTEMS = [
    (name, options, transitions.system_class(name).oracles[0]) for name, options in _VARIANTS
]
# items, for sentences of up to 2 tokens; of 3 tokens, more come about at the last step alone
EVERYTHING = 1024


@dataclass
class Toy:
    """A perceptron that has seen some sentences once, and what it learns from."""

    data: TrainingSentences
    model: LinearModel
    perceptron: Perceptron
    oracle: oracles.BoundOracle

    @classmethod
    def of(
        cls, system: str, options: dict[str, int], oracle: str, lengths: list[int], seed: int
    ) -> Toy:
        rng = random.Random(seed)
        vocabularies, data = encoded([sentence(random_tree(rng, n), rng) for n in lengths])
        model = LinearModel.new(vocabularies, RELATIONS, TEMPLATES, system, options)
        perceptron = Perceptron(model.system, model.templates)
        bound = oracles.create(oracle, "any", **options).bind(data.trees)
        iterate(perceptron, model, data, bound, np.random.default_rng(seed))
        return cls(data, model, perceptron, bound)

    def learner(self, size: int, update: UpdateStep = UpdateStep.max_violation) -> BeamPerceptron:
        training = BeamTraining(Beam(size, Merge.NONE, Scores.GLOBAL), EVERYTHING, update)
        return BeamPerceptron(
            self.perceptron,
            self.model.system,
            self.model.templates,
            self.data,
            self.oracle,
            training,
        )


@dataclass
class Prefix:
    """Some first transitions of a computation."""

    steps: int
    score: float
    wrong: int  # gold arcs with another relation
    most: int  # gold edges of the best tree that can still be built


def all_prefixes(toy: Toy, s: int) -> list[Prefix]:
    """Of all computations of a sentence, by trying every transition with every relation."""
    system, start = toy.model.system, int(toy.data.trees.offsets[s])
    heads, relations = toy.data.trees.heads[start:], toy.data.relations[start:]
    one = toy.data.sentences.span(s, s + 1)
    found: list[Prefix] = []

    def follow(now: Configurations, steps: int, score: float, wrong: int) -> int:
        if not len(system.unfinished(now)):
            return sum(
                int(now.heads[0, w]) == int(heads[w]) for w in range(1, int(now.lengths[0]) + 1)
            )
        row = np.zeros(1, np.int64)
        transitions = system.transitions(now, row)
        scores = toy.perceptron.scores(toy.model.templates.extract(now, row, one, row, transitions))
        most = 0
        for column, feature_row in enumerate(transitions.rows[0].tolist()):
            if feature_row == NO_NODE:
                continue
            head, child, block = (
                int(a[0, column])
                for a in (transitions.heads, transitions.children, transitions.blocks)
            )
            for relation in range(int(system.block_sizes[block])):
                after = Configurations(*(array.copy() for array in now))
                system.apply(
                    after,
                    row,
                    transitions,
                    np.array([column], np.int32),
                    np.array([relation], np.int32),
                )
                its_score = score + float(
                    scores[feature_row, system.block_starts[block] + relation]
                )
                its_wrong = wrong + (
                    child != NO_NODE and heads[child] == head and relations[child] != relation
                )
                place = len(found)
                found.append(Prefix(steps + 1, its_score, its_wrong, 0))
                found[place].most = follow(after, steps + 1, its_score, its_wrong)
                most = max(most, found[place].most)
        return most

    follow(system.initial(one.lengths), 0, 0.0, 0)
    return found


def violations(prefixes: list[Prefix]) -> Iterator[float]:
    """Of each step, over all prefixes of its length."""
    best_tree = max(prefix.most for prefix in prefixes)
    for steps in range(1, max(prefix.steps for prefix in prefixes) + 1):
        lost = [
            (prefix.score, best_tree - prefix.most + prefix.wrong)
            for prefix in prefixes
            if prefix.steps == steps
        ]
        yield max(score for score, _ in lost) - max(score for score, n in lost if n == 0)


@pytest.mark.parametrize(("system", "options", "oracle"), SYSTEMS)
def test_with_room_for_everything_the_violations_are_those_of_all_computations(
    system, options, oracle
):
    lengths = [1, 2, 2, 3] if system == "arc_standard" else [1, 2, 2]
    toy = Toy.of(system, options, oracle, lengths, seed=2)
    for s in range(len(lengths)):
        learner = toy.learner(EVERYTHING)
        found = [learner._violation(beam, gold_beam).size for beam, gold_beam in learner.search(s)]
        assert found == list(violations(all_prefixes(toy, s)))


@pytest.mark.parametrize(("system", "options", "oracle"), SYSTEMS)
def test_learning_brings_what_is_gold_ahead_by_the_square_of_what_is_changed(
    system, options, oracle
):
    toy = Toy.of(system, options, oracle, [4, 7, 9], seed=3)
    learned = 0
    for s in range(3):
        learner = toy.learner(4)
        worst = max(
            (learner._violation(*beams) for beams in learner.search(s)),
            key=lambda found: found.size,
        )
        difference: dict[tuple[int, int], int] = {}
        for path, sign in ((worst.gold_history, 1), (worst.beam_history, -1)):
            for taken in path:
                for key in taken.keys[taken.keys != 0].tolist():
                    difference[key, taken.output] = difference.get((key, taken.output), 0) + sign
        before = {feature: weight_of(toy.perceptron, *feature) for feature in difference}
        report = learner.learn(s)
        assert report.loss == max(worst.size, 0.0)
        for feature, change in difference.items():
            assert weight_of(toy.perceptron, *feature) - before[feature] == (
                change if worst.size > 0 else 0
            )
        learned += worst.size > 0
    assert learned


def weight_of(perceptron: Perceptron, key: int, output: int) -> float:
    return float(perceptron.scores(np.array([[key]], np.uint64))[0, output])


def test_early_update_ends_where_gold_has_left_the_beam():
    toy = Toy.of("arc_standard", {}, "context_rows", [9, 9, 9], seed=4)
    ends = []
    for s in range(3):
        learner = toy.learner(1, UpdateStep.early)
        lost = [beam.lost.min() > 0 for beam, _ in learner.search(s)]
        ends.append(learner.learn(s).step)
        assert ends[-1] == ((lost.index(True) + 1) / len(lost) if any(lost) else 1)
    assert any(step < 1 for step in ends)


def test_a_system_whose_computations_differ_in_length_is_refused():
    toy = Toy.of("swap", {}, "swap_dynamic", [3], seed=1)
    with pytest.raises(ValueError, match="swap differ in length"):
        toy.learner(2)
