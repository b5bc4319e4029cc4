"""The compiled perceptron against the one in plain Python, by every system and mode;
and linear models with beams.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

import oracles
from parser import transitions
from parser.beam_settings import Beam, Scores
from parser.data.treebank import Sentence
from parser.data.vocabulary import N_RESERVED
from parser.linear.model import LinearModel
from parser.linear.perceptron import Perceptron
from parser.linear.templates import TEMPLATES
from parser.training.examples.examples import TrainingSentences
from parser.training.passes.online import iterate
from parser.transitions.attardi import Attardi
from parser.transitions.lr_spine import LRSpine
from tests.decoding.computations import check_trees
from tests.gold_data import RELATIONS, encoded
from tests.linear import reference
from tests.random_trees import random_mildly_nonprojective_tree, random_projective_tree
from tests.searches import beam_parser_of, parser_of
from tests.toy import assert_same_trees, sentence
from tests.transition_systems import variants

# Models of before may have them.
OF_FEATS = ("X:m", "Y:m", "X:m+Y:m", "X:p+X:m+Y:p+Y:m")

# System, options, and an oracle, with the templates that a run would have.
# The reference reads no position p0, which Covington's system has.
_VARIANTS = variants("covington")
SYSTEMS = [
    (name, options, transitions.system_class(name).oracles[0], TEMPLATES)
    for name, options in _VARIANTS
]
SYSTEMS += [("arc_standard", {}, "context_rows", (*TEMPLATES, *OF_FEATS))]


@pytest.fixture(scope="module")
def treebank():
    rng = random.Random(4)  # with 3, two scores of arc_hybrid tie but for rounding
    found = [
        sentence(random_mildly_nonprojective_tree(rng, rng.randint(1, 8)), rng) for _ in range(5)
    ]
    return [
        replace(s, feats=[rng.choice(["_", "Case=Nom", "Number=Sing"]) for _ in s.forms])
        for s in found
    ]


def new_model(
    treebank: list[Sentence], system: str, oracle: str, options=None, templates=TEMPLATES
) -> tuple[LinearModel, TrainingSentences, oracles.BoundOracle]:
    """Return a model for the treebank, which has learned nothing, and what it learns from."""
    vocabularies, data = encoded(treebank)
    model = LinearModel.new(vocabularies, RELATIONS, templates, system, options)
    return model, data, oracles.create(oracle, "any", **options or {}).bind(data.trees)


@pytest.mark.parametrize("mode", ["static", "nondet", "explore"])
@pytest.mark.parametrize(("system", "options", "oracle", "templates"), SYSTEMS)
def test_it_learns_what_plain_python_learns(treebank, system, options, oracle, templates, mode):
    model, data, bound = new_model(treebank, system, oracle, options, templates)
    perceptron = Perceptron(model.system, model.templates)
    for i in range(2):
        generator = np.random.default_rng([1, i])
        iterate(
            perceptron,
            model,
            data,
            bound,
            generator,
            canonical=mode == "static",
            probability=float(mode == "explore"),
        )
    model.weights = perceptron.average()

    columns = [{"form": s.forms, "upos": s.upos, "feats": s.feats} for s in treebank]
    heads = [s.heads for s in treebank]
    relations = [[number - N_RESERVED for number in RELATIONS.encode(s.deprels)] for s in treebank]
    expected = reference.learn(
        model.system,
        templates,
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
        assert found == reference.parse(
            model.system, templates, columns[s], len(heads[s]), expected
        )


@pytest.mark.parametrize(
    ("system", "options", "oracle"),
    [(Attardi, {"degree": 2}, "attardi_search"), (LRSpine, {}, "lr_spine_chart")],
)
def test_a_subclass_takes_its_own_transitions(treebank, system, options, oracle):
    taken = []

    class Own(system):
        def apply(self, *arguments):
            taken.append(arguments)
            super().apply(*arguments)

    model, data, bound = new_model(treebank, system.name, oracle, options)
    learned = []
    for parses_with in (
        model.system,
        Own(len(RELATIONS.symbols), model.system.root_relation, **options),
    ):
        model.system = parses_with
        perceptron = Perceptron(parses_with, model.templates)
        iterate(
            perceptron,
            model,
            data,
            bound,
            np.random.default_rng(1),
            canonical=False,
            probability=1.0,
        )
        learned.append((perceptron.steps, perceptron.average().values.tolist()))
    assert learned[0] == learned[1]
    assert len(taken) == perceptron.steps


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize(
    ("system", "oracle"), [("arc_standard", "context_rows"), ("lr_spine", "lr_spine_chart")]
)
def test_a_beam_of_one_is_greedy_and_a_wider_one_has_several_trees(system, oracle, scores):
    """The search itself is tested with any scores in tests/decoding/test_beam.py."""
    rng = random.Random(4)
    model, data, bound = new_model(
        [sentence(random_projective_tree(rng, n), rng) for n in (1, 2, 3, 6, 8)], system, oracle
    )
    perceptron = Perceptron(model.system, model.templates)
    iterate(perceptron, model, data, bound, np.random.default_rng(1))
    model.weights, sentences = perceptron.average(), data.sentences
    greedy = parser_of(model).parse(sentences)
    assert_same_trees(beam_parser_of(model, Beam(1, scores=scores)).parse(sentences), greedy)
    for trees, n in zip(
        beam_parser_of(model, Beam(4, scores=scores)).k_best(sentences, 4),
        sentences.lengths,
        strict=True,
    ):
        check_trees(trees, int(n), model.system.root_relation)
        assert len(trees) > 1 or n == 1
