"""Linear models that parse with a beam; the search itself is tested with any scores in tests/decoding/test_batched_beam.py."""

import random

import numpy as np
import pytest

import oracles
from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.decoding.parsers import beam_parser_of, parser_of
from parser.linear.model import LinearModel
from parser.linear.perceptron import Perceptron
from parser.linear.templates import TEMPLATES
from parser.model import loading as models
from parser.training.passes.online import iterate
from tests.decoding.computations import check_trees
from tests.gold_data import RELATIONS, encoded
from tests.random_trees import random_projective_tree
from tests.toy import assert_same_trees, sentence


def trained(system: str, options: dict[str, int], oracle: str):
    """A model that has seen each of some sentences once, and the sentences."""
    rng = random.Random(4)
    vocabularies, data = encoded([sentence(random_projective_tree(rng, n), rng) for n in (1, 2, 3, 6, 8)])
    model = LinearModel.new(vocabularies, RELATIONS, TEMPLATES, system, options)
    perceptron = Perceptron(model.system, model.templates)
    iterate(perceptron, model, data, oracles.create(oracle, "any", **options).bind(data.trees), np.random.default_rng(1))
    model.weights = perceptron.average()
    return model, data.sentences


@pytest.mark.parametrize("scores", [*Scores])
@pytest.mark.parametrize(
    ("system", "options", "oracle"), [("arc_standard", {}, "context_rows"), ("lr_spine", {}, "lr_spine_chart")]
)
def test_a_beam_of_one_is_greedy_and_a_wider_one_has_several_trees(system, options, oracle, scores):
    model, sentences = trained(system, options, oracle)
    greedy = parser_of(model).parse(sentences)
    assert_same_trees(beam_parser_of(model, Beam(1, scores=scores)).parse(sentences), greedy)
    for trees, n in zip(beam_parser_of(model, Beam(4, scores=scores)).k_best(sentences, 4), sentences.lengths, strict=True):
        check_trees(trees, int(n), model.system.root_relation)
        assert len(trees) > 1 or n == 1


def test_a_linear_model_remembers_its_beam(tmp_path):
    model, sentences = trained("arc_standard", {}, "context_rows")
    model.beam = Beam(4, Merge.NONE)
    model.save(tmp_path / "model")
    loaded = models.load(tmp_path / "model")
    assert loaded.beam == model.beam
    expected = beam_parser_of(model, model.beam).parse(sentences)
    np.testing.assert_array_equal(beam_parser_of(loaded, model.beam).parse(sentences).heads, expected.heads)
    with pytest.raises(BeamError, match="use merge=configuration"):
        beam_parser_of(model, Beam(4, Merge.SIGNATURE))
