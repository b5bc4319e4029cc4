"""Gold computations lead to the gold trees; exploration follows the classifier and teaches optimal
steps.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

import oracles
from oracles import BoundOracle
from parser.data.sentences import NO_NODE
from parser.data.vocabulary import Vocabulary
from parser.decoding.greedy.batched import parse_batched
from parser.settings.groups import Policy
from parser.training.examples.examples import (
    BatchedComputations,
    Examples,
    GatheredExamples,
    Target,
    gold_examples,
    new_examples,
    target_columns,
)
from parser.training.examples.exploration import explore
from parser.transitions import create
from parser.transitions.arc_eager import ArcEager
from parser.transitions.attardi import ArcStandard
from parser.transitions.features import FeatureTable, slots_of
from parser.transitions.lr_spine import LRSpine
from parser.transitions.system import Transitions, TransitionSystem
from tests.gold_data import gold_data, vocabularies_of
from tests.random_trees import random_projective_tree, random_tree
from tests.toy import sentence

TEMPLATES = {"form": ["s0", "s1", "b0"], "deprel": ["s0.l1"]}


class Toy:
    """Sentences over given trees, with everything that exploration needs."""

    def __init__(self, trees: list[list[int]], seed: int = 0) -> None:
        rng = random.Random(seed)
        self.sentences = [
            replace(sentence(heads, rng), forms=[f"w{place}" for place in range(len(heads))])
            for heads in trees
        ]
        self.vocabularies = vocabularies_of(self.sentences, "form")
        self.relations = Vocabulary.of(deprel for s in self.sentences for deprel in s.deprels)
        self.data = gold_data(self.sentences, self.vocabularies, self.relations)
        self.system = ArcStandard(len(self.relations.symbols), self.relations.symbols.index("root"))
        self.table = FeatureTable(slots_of(TEMPLATES), self.vocabularies.attributes)


def perfect_scorer(toy: Toy, examples: Examples):
    """Scores the gold output highest for the features of ``examples``:
    the forms of one sentence determine it.
    """
    known = {
        tuple(f): t
        for f, t in zip(examples.features.tolist(), examples.targets[:, 0].tolist(), strict=True)
    }

    def score(features):
        scores = np.zeros((len(features), toy.system.n_outputs), np.float32)
        for row, values in enumerate(features.tolist()):
            scores[row, known.get(tuple(values), 0)] = 1
        return scores

    return score


def random_scorer(toy: Toy, seed: int = 0):
    rng = np.random.default_rng(seed)
    return lambda features: rng.random((len(features), toy.system.n_outputs), np.float32)


@pytest.mark.parametrize("seed", range(20))
def test_gold_computations_make_the_gold_tree(seed):
    rng = random.Random(seed)
    toy = Toy([random_projective_tree(rng, rng.randint(1, 15))], seed)
    oracle = oracles.create("static").bind(toy.data.trees)
    examples = gold_examples(toy.data, oracle, toy.system, toy.table)
    assert len(examples) == 2 * len(toy.sentences[0])
    parses = parse_batched(
        toy.data.sentences, toy.system, toy.table, perfect_scorer(toy, examples), single_root=False
    )
    np.testing.assert_array_equal(parses.heads, toy.data.trees.heads)
    np.testing.assert_array_equal(parses.relations, toy.data.relations)
    again = gold_examples(
        toy.data, oracles.create("nederhof_cubic").bind(toy.data.trees), toy.system, toy.table
    )
    # on the gold path the eager step is the only optimum
    np.testing.assert_array_equal(again.features, examples.features)
    np.testing.assert_array_equal(again.targets, examples.targets)


def test_exploration_with_a_perfect_classifier_is_the_gold_computation():
    toy = Toy([[2, 3, 0, 5, 3]])
    bound = oracles.create("nederhof_cubic").bind(toy.data.trees)
    gold = gold_examples(
        toy.data, oracles.create("static").bind(toy.data.trees), toy.system, toy.table
    )
    scorer = perfect_scorer(toy, gold)
    examples, report = explore(toy.data, bound, toy.system, toy.table, scorer)
    np.testing.assert_array_equal(examples.features, gold.features)
    np.testing.assert_array_equal(examples.targets, gold.targets)
    assert (report.left_optimum_percent, report.reached_gold_percent, report.lost_edges) == (
        0,
        100,
        0,
    )
    assert report.steps == 10


def test_gold_computations_undo_no_arc():
    rng = random.Random(6)
    toy = Toy(
        [
            tree
            for tree in (random_projective_tree(rng, rng.randint(2, 8)) for _ in range(30))
            if tree.count(0) == 1
        ]
    )
    systems = [
        ArcEager(len(toy.relations.symbols), nonmonotonic=nonmonotonic)
        for nonmonotonic in (False, True)
    ]
    oracle = oracles.create(systems[1].gold_oracle, **systems[1].gold_options).bind(toy.data.trees)
    monotonic, nonmonotonic = (
        gold_examples(toy.data, oracle, system, toy.table).targets for system in systems
    )
    np.testing.assert_array_equal(nonmonotonic, monotonic)


@pytest.mark.parametrize("ties", oracles.TIES)
def test_losses_of_exploration_are_the_edges_that_its_tree_lacks(ties):
    """Projective gold trees can be reached from the start,
    so what is lost step by step is what is missing at the end.
    """
    rng = random.Random(3)
    toy = Toy([random_projective_tree(rng, rng.randint(2, 12)) for _ in range(30)])
    bound = oracles.create("nederhof_cubic", "any", ties=ties).bind(toy.data.trees)
    by_value = np.random.default_rng(5).random((50, toy.system.n_outputs), np.float32)
    scorer = lambda features: by_value[features].sum(axis=1)  # noqa: E731 - the same whatever is scored along
    _, report = explore(toy.data, bound, toy.system, toy.table, scorer)
    parses = parse_batched(toy.data.sentences, toy.system, toy.table, scorer, single_root=False)
    assert 0 < (parses.heads != toy.data.trees.heads).sum() == report.lost_edges


def test_mixed_exploration_follows_the_prediction_as_often_as_asked():
    rng, generator = random.Random(3), np.random.default_rng(7)
    toy = Toy([random_projective_tree(rng, rng.randint(2, 12)) for _ in range(30)])
    about = oracles.create("nederhof_linear").bind(toy.data.trees), toy.system, toy.table
    lost = []
    for policy, probability in (
        (Policy.prediction, 1.0),
        (Policy.mixed, 1.0),
        (Policy.mixed, 0.5),
        (Policy.mixed, 0.0),
    ):
        how = {"policy": policy, "probability": probability, "generator": generator}
        lost.append(explore(toy.data, *about, random_scorer(toy, 5), **how)[1].lost_edges)
    prediction, always, half, never = lost
    assert prediction == always > half > never == 0


def test_sampled_exploration_follows_the_distribution():
    """A sure classifier is followed; one that is not sure is left now and then."""
    toy = Toy([[2, 3, 0, 5, 3]])
    oracle = oracles.create("nederhof_cubic").bind(toy.data.trees)
    scorer = perfect_scorer(
        toy,
        gold_examples(
            toy.data, oracles.create("static").bind(toy.data.trees), toy.system, toy.table
        ),
    )

    def lost(sureness: int, seed: int) -> int:
        generator, policy = np.random.default_rng(seed), Policy.sample
        arguments = (
            toy.data,
            oracle,
            toy.system,
            toy.table,
            lambda features: sureness * scorer(features),
        )
        return explore(*arguments, policy=policy, generator=generator)[1].lost_edges

    assert {lost(100, seed) for seed in range(20)} == {0}
    assert len({lost(0, seed) for seed in range(20)}) > 1


@pytest.mark.parametrize("target", list(Target))
def test_targets_are_optimal_steps_with_gold_relations(target):
    rng = random.Random(2)
    toy = Toy([random_tree(rng, rng.randint(2, 9)) for _ in range(40)])
    bound = oracles.create("nederhof_cubic").bind(toy.data.trees)
    seen: dict[str, list] = {"scores": [], "optimal": []}
    inner = random_scorer(toy)

    def scorer(features):
        seen["scores"].append(inner(features))
        return seen["scores"][-1]

    class Recording:
        gold_weight = 1

        def score_batch(self, query):
            scores = bound.score_batch(query)
            seen["optimal"].append(scores == scores.max(axis=1, keepdims=True))
            return scores

    examples, report = explore(toy.data, Recording(), toy.system, toy.table, scorer, target)
    scores, optimal = np.concatenate(seen["scores"]), np.concatenate(seen["optimal"])
    assert report.mean_optimal_steps == pytest.approx(optimal.sum(axis=1).mean())
    for row, targets in enumerate(examples.targets):
        outputs = targets[targets != NO_NODE]
        steps = np.searchsorted(toy.system.block_starts, outputs, side="right") - 1
        assert optimal[row, steps].all()
        if target is Target.fixed_order:
            assert steps.tolist() == [max(np.flatnonzero(optimal[row]))]
        else:
            [chosen] = outputs
            [own] = np.unique(steps)
            if own != 0 and optimal[row, 0]:  # shift has one output alone, so its score is known
                assert scores[row, chosen] >= scores[row, 0]


def test_choices_among_optimal_outputs():
    system = ArcStandard(n_relations=2)
    outputs = np.array(
        [[0, 2, 5], [NO_NODE, 2, 5], [0, 2, NO_NODE], [NO_NODE, 3, NO_NODE]], np.int32
    )
    scores = np.array(
        [[1, 9, 3, 9, 9, 2], [9, 9, 1, 9, 9, 2], [4, 9, 3, 9, 9, 9], [9, 9, 9, -7, 9, 9]],
        np.float32,
    )
    transitions = Transitions(
        np.repeat(np.arange(4)[:, None], 3, axis=1), *[np.zeros((4, 3), np.int32)] * 3
    )

    def targets(target: Target) -> list[list[int]]:
        columns = target_columns(system, outputs, transitions, scores, target, np.ones(4, bool))
        return new_examples(
            system, scores, transitions, outputs, columns, np.zeros(4, np.int32)
        ).targets.tolist()

    assert targets(Target.own_best) == [[2], [5], [0], [3]]
    assert targets(Target.fixed_order) == [[5], [5], [2], [3]]
    assert (
        new_examples(
            system, scores, transitions, outputs, None, np.zeros(4, np.int32)
        ).targets.tolist()
        == outputs.tolist()
    )
    some = target_columns(
        system, outputs, transitions, scores, Target.own_best, np.array([True, False, True, False])
    )
    assert some.tolist() == [1, NO_NODE, 0, NO_NODE]


def test_choices_among_optimal_outputs_where_each_transition_has_a_row():
    system = LRSpine(n_relations=2)  # outputs: shift 0, la 1 2, ra 3 4
    rows = np.array([[0, 1, 2, 3], [4, NO_NODE, 5, NO_NODE]], np.int32)
    blocks = np.array([[0, 1, 1, 2], [0, 1, 2, 2]], np.int32)
    starts = np.array([0, 4, 6])
    transitions = Transitions(rows, blocks, np.zeros_like(rows), np.zeros_like(rows), None, starts)
    outputs = np.array([[0, 2, 1, NO_NODE], [NO_NODE, NO_NODE, 3, NO_NODE]], np.int32)
    scores = np.zeros((6, 5), np.float32)
    scores[1, 1], scores[1, 2], scores[2, 1], scores[2, 2] = 9, 3, 4, 9

    def made(target: Target | None) -> Examples:
        columns = (
            None
            if target is None
            else target_columns(system, outputs, transitions, scores, target, np.ones(2, bool))
        )
        return new_examples(
            system, scores, transitions, outputs, columns, np.array([7, 8], np.int32)
        )

    none = NO_NODE
    assert made(Target.own_best).targets[:, 0].tolist() == [none, none, 1, none, none, 3]
    assert made(Target.fixed_order).targets[:, 0].tolist() == [none, 2, none, none, none, 3]
    examples = made(None)
    assert examples.targets[:, 0].tolist() == [0, 2, 1, none, none, 3]
    assert examples.blocks.tolist() == [[0, 1], [1, 3], [1, 3], [3, 5], [0, 1], [3, 5]]
    assert (len(examples), examples.row_sentences.tolist()) == (2, [7, 7, 7, 7, 8, 8])

    joined = Examples.concatenate([examples, examples.take(np.array([1]))])
    assert joined.starts.tolist() == [0, 4, 6, 8]
    taken = joined.take(np.array([2, 0]))
    assert taken.sentences.tolist() == [8, 7]
    assert taken.starts.tolist() == [0, 2, 6]
    assert taken.targets[:, 0].tolist() == [none, 3, 0, 2, 1, none]
    assert taken.blocks.tolist() == [[0, 1], [3, 5], [0, 1], [1, 3], [1, 3], [3, 5]]


def gold_steps(
    toy: Toy, oracle: BoundOracle, system: TransitionSystem, slots: list[str]
) -> tuple[int, list[int]]:
    """How many steps gold computations have, and by sentence, how many gold edges they make."""
    made = [0] * len(toy.data)

    def count(batch: BatchedComputations, rows: np.ndarray, columns: np.ndarray) -> None:
        for row, number in enumerate(batch.numbers):
            words = slice(1, batch.now.lengths[row] + 1)
            made[number] = int((batch.now.heads[row, words] == batch.gold_heads[row, words]).sum())

    table = FeatureTable(
        slots_of({"form": slots}), toy.vocabularies.attributes, system.candidate_positions
    )
    return len(gold_examples(toy.data, oracle, system, table, count)), made


@pytest.mark.parametrize(("name", "steps"), [("lr_spine", 2), ("pointer", 1)])
@pytest.mark.parametrize("seed", range(10))
def test_gold_computations_of_any_tree_lose_the_fewest_edges(name, steps, seed):
    rng = random.Random(seed)
    trees = [random_tree(rng, rng.randint(1, 9)) for _ in range(10)]
    toy = Toy(trees, seed)
    system = create(name, toy.system.n_relations)
    oracle = oracles.create(system.gold_oracle).bind(toy.data.trees)
    most = [
        oracles.count_projectivizations(heads)[0] if system.projective else len(heads)
        for heads in trees
    ]
    assert gold_steps(toy, oracle, system, ["c1", "c2", "gp"]) == (
        steps * sum(map(len, trees)),
        most,
    )


@pytest.mark.parametrize("commits", [True, False])
def test_gold_computations_make_all_edges_but_those_of_further_roots(commits):
    rng = random.Random(6)
    trees = [random_tree(rng, rng.randint(1, 6)) for _ in range(60)]
    toy = Toy(trees, 6)
    system = create("covington", toy.system.n_relations)
    oracle = oracles.create(system.gold_oracle, **(system.gold_options if commits else {})).bind(
        toy.data.trees
    )
    _, made = gold_steps(toy, oracle, system, ["s0", "b0", *system.further_positions])
    assert made == [len(heads) - heads.count(0) + 1 for heads in trees]


@pytest.mark.parametrize("block_bytes", [1, 30, 10**6])
def test_gathered_examples_are_those_of_all_steps_in_order_with_the_narrower_targets_padded(
    block_bytes,
):
    rng = np.random.default_rng(0)
    shapes = [((n, 3), (n, 1 + n % 2), n) for n in (2, 1, 5, 3, 1)]
    steps = [
        Examples(*(rng.integers(0, 9, shape, dtype=np.int32) for shape in of_step))
        for of_step in shapes
    ]
    gathered = GatheredExamples(block_bytes)
    for step in steps:
        gathered.append(step)
    features, sentences = (
        np.concatenate([getattr(step, name) for step in steps])
        for name in ("features", "sentences")
    )
    padded = [
        np.pad(step.targets, ((0, 0), (0, 2 - step.targets.shape[1])), constant_values=NO_NODE)
        for step in steps
    ]
    targets = np.concatenate(padded)
    for found in (gathered.all(), Examples.concatenate(steps)):
        np.testing.assert_array_equal(found.features, features)
        np.testing.assert_array_equal(found.targets, targets)
        np.testing.assert_array_equal(found.sentences, sentences)
