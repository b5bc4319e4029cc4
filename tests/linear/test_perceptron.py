"""The compiled perceptron against the one in plain Python: the same weights, the same parses, by every system and mode."""

from __future__ import annotations

import random

import numpy as np
import pytest

import oracles
from oracles import Trees
from parser.data.vocabulary import N_RESERVED, Vocabularies, Vocabulary
from parser.decoding.parsers import parser_of
from parser.linear.model import LinearModel
from parser.linear.perceptron import Perceptron
from parser.linear.templates import TEMPLATES
from parser.training.examples import TrainingSentences
from parser.training.online import iterate
from tests.linear import reference
from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import sentence

# System, options, and whether the oracle takes any tree.
SYSTEMS = [
    ("arc_standard", {}, "context_rows"),
    ("attardi", {"degree": 2}, "attardi_search"),
    ("lr_spine", {}, "lr_spine_chart"),
]
RELATIONS = Vocabulary(["det", "root", "obj", "nsubj", "punct"])


@pytest.fixture(scope="module")
def treebank():
    rng = random.Random(3)
    return [sentence(random_mildly_nonprojective_tree(rng, rng.randint(1, 8)), rng) for _ in range(5)]


def encoded(treebank) -> tuple[Vocabularies, TrainingSentences]:
    by_attribute = {
        "form": Vocabulary.of(form for s in treebank for form in s.forms),
        "upos": Vocabulary.of(tag for s in treebank for tag in s.upos),
    }
    vocabularies = Vocabularies(by_attribute)
    trees = Trees.from_heads(s.heads for s in treebank)
    relations = np.full(len(trees.heads), -1, np.int32)
    relations[trees.heads >= 0] = [number - N_RESERVED for s in treebank for number in RELATIONS.encode(s.deprels)]
    return vocabularies, TrainingSentences(vocabularies.encode(treebank), trees, relations)


@pytest.mark.parametrize("mode", ["static", "nondet", "explore"])
@pytest.mark.parametrize(("system", "options", "oracle"), SYSTEMS)
def test_it_learns_what_plain_python_learns(treebank, system, options, oracle, mode):
    vocabularies, data = encoded(treebank)
    model = LinearModel.new(vocabularies, RELATIONS, TEMPLATES, system, options)
    bound = oracles.create(oracle, "any", **options).bind(data.trees)
    perceptron = Perceptron(model.system, model.templates)
    for i in range(2):
        generator = np.random.default_rng([1, i])
        iterate(perceptron, model, data, bound, generator, canonical=mode == "static", follow=float(mode == "explore"))
    model.weights = perceptron.average()

    columns = [{"form": s.forms, "upos": s.upos} for s in treebank]
    heads = [s.heads for s in treebank]
    relations = [[number - N_RESERVED for number in RELATIONS.encode(s.deprels)] for s in treebank]
    expected = reference.learn(
        model.system,
        TEMPLATES,
        columns,
        heads,
        relations,
        bound,
        2,
        canonical=mode == "static",
        explores=mode == "explore",
    )
    assert len(model.weights.values) == len(expected)
    np.testing.assert_allclose(np.sort(model.weights.values), sorted(expected.values()), rtol=1e-6)
    parses = parser_of(model).parse(data.sentences, single_root=False)
    for s in range(len(treebank)):
        inside = slice(parses.offsets[s] + 1, parses.offsets[s + 1])
        found = parses.heads[inside].tolist(), parses.relations[inside].tolist()
        assert found == reference.parse(model.system, TEMPLATES, columns[s], len(heads[s]), expected)


def test_a_resumed_perceptron_goes_on_to_the_same_bits(treebank):
    vocabularies, data = encoded(treebank)
    model = LinearModel.new(vocabularies, RELATIONS, TEMPLATES, "arc_standard")
    oracle = oracles.create("context_rows", "any").bind(data.trees)
    whole, half, resumed = (Perceptron(model.system, model.templates) for _ in range(3))
    for i in range(4):
        for perceptron in (whole, half, resumed)[:: 1 if i < 2 else 2]:
            if perceptron is not resumed or i >= 2:
                iterate(perceptron, model, data, oracle, np.random.default_rng([1, i]))
        if i == 1:
            resumed.restore(half.state())
    for name in ("keys", "starts", "outputs", "values"):
        np.testing.assert_array_equal(getattr(resumed.average(), name), getattr(whole.average(), name))


def test_many_features_make_the_tables_grow(treebank):
    rng = random.Random(5)
    many = [sentence(random_mildly_nonprojective_tree(rng, 12), rng) for _ in range(20)]
    vocabularies, data = encoded(many)
    model = LinearModel.new(vocabularies, RELATIONS, TEMPLATES, "arc_standard")
    oracle = oracles.create("context_rows", "any").bind(data.trees)
    perceptron = Perceptron(model.system, model.templates)
    before = len(perceptron.state()["places"])
    iterate(perceptron, model, data, oracle, np.random.default_rng(0))
    after = perceptron.state()
    assert len(after["places"]) > before
    assert (after["places"][:, 0] != 0).sum() == after["counts"][0] >= before
