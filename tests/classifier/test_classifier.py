"""The classifier against the same function written with one-hot vectors; the loss over sets of targets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from parser.classifier.classifier import ACTIVATIONS, Classifier, Embedding
from parser.data.parses import NO_NODE
from parser.data.set_vocabulary import Elements, vocabulary_for
from parser.settings import OptimizerSettings
from parser.training.exploration import Examples
from parser.training.fitter import Fitter, Span
from parser.training.loss import loss_and_gradients, set_loss
from parser.transitions.features import slots_of

SLOTS = slots_of({"upos": ["s0", "b0"], "form": ["s0", "s1"], "deprel": ["s0.l1"]})
SIZES = {"upos": 7, "form": 11, "deprel": 5}


def make(embeddings=None, **options) -> Classifier:
    torch.manual_seed(0)
    embeddings = {"form": Embedding(4, trained=False)} if embeddings is None else embeddings
    return Classifier(SLOTS, SIZES, embeddings, hidden=8, n_actions=6, **options)


def random_features(n: int) -> torch.Tensor:
    rng = np.random.default_rng(0)
    return torch.from_numpy(np.stack([rng.integers(0, SIZES[slot.attribute], n) for slot in SLOTS], axis=1).astype(np.int32))


def test_scores_equal_a_linear_layer_over_one_hot_inputs():
    classifier = make()
    features = random_features(20)
    eye = [torch.eye(SIZES[slot.attribute])[features[:, i].long()] for i, slot in enumerate(SLOTS)]
    one_hot = torch.cat([eye[0], eye[1], eye[4]], dim=1)
    vectors = torch.cat([classifier.vectors["form"][features[:, i].long()] for i in (2, 3)], dim=1)
    hidden = torch.relu(one_hot @ classifier.one_hot.weight + vectors @ classifier.embedded.weight.T + classifier.hidden_bias)
    torch.testing.assert_close(classifier(features), classifier.output(hidden))


def test_it_works_without_embedded_and_without_one_hot_attributes():
    assert make(embeddings={})(random_features(3)).shape == (3, 6)
    every = {name: Embedding(2, trained=True) for name in SIZES}
    assert make(embeddings=every)(random_features(3)).shape == (3, 6)


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="known: relu"):
        make(activation="step")


def test_loss_of_a_set_is_minus_the_log_of_its_probability():
    scores = torch.randn(4, 6)
    targets = torch.tensor([[0, NO_NODE, NO_NODE], [NO_NODE, 1, 4], [2, 3, 5], [5, NO_NODE, NO_NODE]])
    probabilities = scores.softmax(1)
    expected = [-torch.log(probabilities[r, t[t != NO_NODE]].sum()) for r, t in enumerate(targets)]
    torch.testing.assert_close(set_loss(scores, targets), torch.stack(expected).mean())
    single = targets[[0, 3], :1]
    torch.testing.assert_close(set_loss(scores[[0, 3]], single), set_loss(scores[[0, 3]], targets[[0, 3]]))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize(
    "embedded", [{}, {"form": False}, {"form": True, "upos": False}, {"form": True, "upos": True, "deprel": True}]
)
def test_explicit_gradients_are_those_of_autograd(activation, width, embedded):
    classifier = make({name: Embedding(3, trained) for name, trained in embedded.items()}, activation=activation)
    features = random_features(9)
    rng = np.random.default_rng(1)
    targets = torch.from_numpy(np.stack([rng.permutation(6)[:width] for _ in range(9)]))
    if width > 1:
        targets[::2, 1:] = NO_NODE
    expected = set_loss(classifier(features), targets)
    expected.backward()
    of_autograd = {name: p.grad for name, p in classifier.named_parameters()}
    classifier.zero_grad()
    torch.testing.assert_close(loss_and_gradients(classifier, features, targets), expected.detach())
    for name, parameter in classifier.named_parameters():
        if of_autograd[name] is None:
            assert parameter.grad is None or not parameter.grad.any(), name
        else:
            torch.testing.assert_close(parameter.grad, of_autograd[name], msg=name)


def test_values_that_are_sets_have_the_sum_of_their_elements_vectors():
    vocabulary = vocabulary_for("feats_pairs", ["Case=Nom", "Case=Nom|Number=Sing", "_", "Number=Sing|Person=3"])
    elements = {"upos": Elements.of(vocabulary)}
    classifier = make({"upos": Embedding(3, trained=True), "form": Embedding(2, trained=True)}, elements=elements)
    vectors, matrix = classifier.vectors["upos"], classifier.matrix("upos")
    nom, number, *_ = range(3, 7)  # the most frequent elements first
    assert vectors.shape == (3 + 4, 3)
    assert matrix.shape == (3 + 4, 3)
    torch.testing.assert_close(matrix[:3], vectors[:3])
    torch.testing.assert_close(matrix[3], vectors[nom])
    torch.testing.assert_close(matrix[4], vectors[nom] + vectors[number])
    features, targets = random_features(9), torch.arange(9)[:, None] % 6
    set_loss(classifier(features), targets).backward()
    expected = vectors.grad
    classifier.zero_grad()
    loss_and_gradients(classifier, features, targets)
    torch.testing.assert_close(vectors.grad, expected)


def test_dropout_drops_the_share_asked_for_and_keeps_the_mean():
    classifier = make(dropout=0.5, input_dropout=0.25)
    features, targets = random_features(9), torch.zeros(9, 1, dtype=torch.int64)
    losses = {float(loss_and_gradients(classifier, features, targets)) for _ in range(20)}
    assert len(losses) == 20
    with torch.no_grad():
        classifier.output.weight.zero_()
    loss_and_gradients(classifier, features, targets)
    # With hidden units h dropped by half, the gradient of the output weights is either 0 or twice what it was.
    dropped = classifier.output.weight.grad
    whole = make()
    with torch.no_grad():
        whole.output.weight.zero_()
    loss_and_gradients(whole, features, targets)
    assert dropped.abs().sum() == pytest.approx(float(whole.output.weight.grad.abs().sum()), rel=0.5)


@pytest.mark.parametrize(
    ("name", "rate", "momentum"), [("sgd", 0.5, 0.0), ("sgd", 0.1, 0.9), ("adam", 0.03, 0), ("adamw", 0.03, 0)]
)
@pytest.mark.parametrize("width", [1, 2])
def test_fitting_learns_examples_by_heart(name, rate, momentum, width):
    classifier = make(embeddings={"form": Embedding(4, trained=True)})
    features = random_features(12)
    features[:, 2] = torch.arange(12) % 11  # so that no two examples are alike
    targets = np.full((12, width), NO_NODE, np.int32)
    targets[:, -1] = np.arange(12) % 6
    examples = Examples(features.numpy(), targets)
    fitter = Fitter(classifier, OptimizerSettings(name, rate, "constant", "pass", momentum, 0.0, batch_size=5), Span(0, 150))
    order = torch.Generator().manual_seed(0)
    losses = [fitter.fit_epoch(examples, epoch, order) for epoch in range(150)]
    assert losses[-1] < 0.1 < losses[0]
    assert (classifier(features).argmax(1).numpy() == targets[:, -1]).all()


def test_the_learning_rate_falls_along_half_a_cosine():
    fitter = Fitter(make(), OptimizerSettings("sgd", 1.0, "cosine", "pass", 0.0, 0.0, 100), Span(0, 2))
    rates = [*fitter._learning_rates(0, 2), *fitter._learning_rates(1, 2)]
    np.testing.assert_allclose(rates, [1.0, 0.853553, 0.5, 0.146447], atol=1e-6)


def test_the_learning_rate_falls_along_a_line_that_began_in_an_earlier_pass():
    fitter = Fitter(make(), OptimizerSettings("sgd", 1.0, "linear", "run", 0.0, 0.0, 100), Span(1, 3))
    rates = [*fitter._learning_rates(0, 2), *fitter._learning_rates(1, 2)]
    np.testing.assert_allclose(rates, [4 / 6, 3 / 6, 2 / 6, 1 / 6], atol=1e-6)
