"""The classifier against the same function written with one-hot vectors; the loss over sets of
targets; masks of dropout.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from parser.data.sentences import NO_NODE
from parser.data.vocabulary import Elements, vocabulary_for
from parser.network_spec import Embedding
from parser.networks.layers import Activation, dropout_mask
from parser.networks.representation import Embeddings
from parser.settings.plan import OptimizerPlan, Span
from parser.training.compiled.gradients import set_loss
from parser.training.fitting.trainer import learning_rates
from tests.training.classifiers import SIZES, SLOTS, make, random_batch


def random_features(n: int) -> torch.Tensor:
    return random_batch(n, 1, 0)[0]


def test_scores_equal_a_linear_layer_over_one_hot_inputs():
    classifier = make({"form": Embedding(4, trained=False)})
    features = random_features(20)
    eye = [torch.eye(SIZES[slot.attribute])[features[:, i].long()] for i, slot in enumerate(SLOTS)]
    one_hot = torch.cat([eye[0], eye[1], eye[4]], dim=1)
    vectors = torch.cat(
        [classifier.tokens.embeddings.vectors["form"][features[:, i].long()] for i in (2, 3)], dim=1
    )
    hidden = torch.relu(
        one_hot @ classifier.one_hot.weight
        + vectors @ classifier.embedded.weight.T
        + classifier.hidden_bias
    )
    torch.testing.assert_close(classifier(features), classifier.output(hidden))


def test_loss_of_a_set_is_minus_the_log_of_its_probability():
    scores = torch.randn(4, 6)
    targets = torch.tensor(
        [[0, NO_NODE, NO_NODE], [NO_NODE, 1, 4], [2, 3, 5], [5, NO_NODE, NO_NODE]]
    )
    probabilities = scores.softmax(1)
    expected = [-torch.log(probabilities[r, t[t != NO_NODE]].sum()) for r, t in enumerate(targets)]
    torch.testing.assert_close(set_loss(scores, targets), torch.stack(expected).mean())
    single = targets[[0, 3], :1]
    torch.testing.assert_close(
        set_loss(scores[[0, 3]], single), set_loss(scores[[0, 3]], targets[[0, 3]])
    )


def test_values_that_are_sets_have_the_sum_of_their_elements_vectors():
    vocabulary = vocabulary_for(
        "feats_pairs", ["Case=Nom", "Case=Nom|Number=Sing", "_", "Number=Sing|Person=3"]
    )
    torch.manual_seed(0)
    embeddings = Embeddings(
        {"upos": Embedding(3, trained=True)}, SIZES, {"upos": Elements.of(vocabulary)}
    )
    vectors, matrix = embeddings.vectors["upos"], embeddings.matrix("upos")
    nom, number, *_ = range(3, 7)  # the most frequent elements first
    assert vectors.shape == matrix.shape == (3 + 4, 3)
    torch.testing.assert_close(matrix[:3], vectors[:3])
    torch.testing.assert_close(matrix[3], vectors[nom])
    torch.testing.assert_close(matrix[4], vectors[nom] + vectors[number])


@pytest.mark.parametrize("dropouts", [(0.5, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.5)])
def test_dropout_is_in_force_only_where_it_is_asked_for_and_keeps_the_mean(dropouts):
    embedded = {"form": Embedding(4, trained=False)}
    whole, classifier = make(embedded, "cube"), make(embedded, "cube", dropouts)
    features = random_features(9)
    with torch.no_grad():
        # of hidden units that are their inputs, the mean is that without dropout
        for made in (whole, classifier):
            made.activation = Activation(lambda x: x, lambda x, _: torch.ones_like(x))
        expected = whole(features)
        assert torch.equal(classifier(features), expected)
        draws = classifier(features.repeat(4000, 1), dropping=True).reshape(4000, 9, -1)
    assert len({float(draw.sum()) for draw in draws}) > 4
    deviation = draws.std(0) / len(draws) ** 0.5
    assert ((draws.mean(0) - expected).abs() < 6 * deviation + 1e-5).all()


def test_slot_dropout_drops_whole_vectors():
    classifier = make({"form": Embedding(4, trained=True)}, dropouts=(0.0, 0.0, 0.5))
    inputs = torch.zeros(50, 8)
    _, slots, _ = classifier.dropout_masks(inputs)
    assert slots.shape == (50, 2)
    assert classifier.sizes_of_slots == [4, 4]


def rates_of(schedule: str, span: Span) -> list[float]:
    plan = OptimizerPlan("sgd", 1.0, schedule, span, 100)
    return [*learning_rates(plan, 0, 2), *learning_rates(plan, 1, 2)]


def test_the_learning_rate_falls_along_half_a_cosine_or_a_line_that_began_in_an_earlier_pass():
    np.testing.assert_allclose(
        rates_of("cosine", Span(0, 2)), [1.0, 0.853553, 0.5, 0.146447], atol=1e-6
    )
    np.testing.assert_allclose(
        rates_of("linear", Span(1, 3)), [4 / 6, 3 / 6, 2 / 6, 1 / 6], atol=1e-6
    )


_64 = 2**64


def splitmix64(seed: int, number: int) -> int:
    """Output ``number`` of the generator, as published, in Python's integers."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) % _64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % _64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % _64
    return z ^ (z >> 31)


@given(st.integers(1, 40), st.integers(1, 3), st.floats(0.01, 0.99), st.integers(0, 99))
def test_a_mask_is_what_the_published_generator_says(rows, columns, share, seed):
    torch.manual_seed(seed)
    mask = dropout_mask(torch.zeros(rows, columns), share)
    torch.manual_seed(seed)
    key = int(torch.randint(2**63 - 1, ()))
    half = rows * columns // 2
    bits = [splitmix64(key, i) for i in range(half + 1)]
    halves = (
        [b >> 32 for b in bits[:half]]
        + [b % 2**32 for b in bits[:half]]
        + [bits[half] >> 32] * (rows * columns % 2)
    )
    expected = [0.0 if number < round(share * 2**32) else 1 / (1 - share) for number in halves]
    np.testing.assert_allclose(mask.flatten().numpy(), expected, rtol=1e-6)


def test_no_mask_where_nothing_is_dropped():
    before = torch.get_rng_state()
    assert dropout_mask(torch.zeros(2, 2), 0.0) is None
    assert torch.equal(torch.get_rng_state(), before)
