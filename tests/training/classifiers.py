"""Small classifiers, and batches for them, to compare what trains them."""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import pytest
import torch

from parser.data.sentences import NO_NODE
from parser.data.vocabulary import Elements
from parser.network_spec import Embedding, MlpSpec
from parser.networks.classifier import Classifier
from parser.networks.representation import AttributeEmbeddings, Embeddings
from parser.training.compiled.gradients import CompiledGradients, set_loss
from parser.transitions.features import slots_of

SLOTS = slots_of({"upos": ["s0", "b0"], "form": ["s0", "s1"], "deprel": ["s0.l1"]})

SIZES = {"upos": 7, "form": 31, "deprel": 5}

OUTPUTS = 6

# Of upos, where its values are taken for sets; one has no element, and the pairs are in no order.
SETS = Elements(
    np.array([3, 0, 1, 2, 3, 5, 6, 6, 6]), np.array([3, 0, 1, 2, 4, 5, 3, 4, 7]), list("abcde")
)


def make(
    embedded: dict[str, Embedding],
    activation: str = "relu",
    dropouts: Sequence[float] = (0.0, 0.0, 0.0),
    sets: bool = False,
    hidden: int = 8,
) -> Classifier:
    torch.manual_seed(0)
    elements = {"upos": SETS} if sets and "upos" in embedded else {}
    tokens = AttributeEmbeddings(list(SIZES), Embeddings(embedded, SIZES, elements))
    return Classifier(tokens, SLOTS, SIZES, MlpSpec(hidden, activation, *dropouts), OUTPUTS)


def random_batch(size: int, width: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Features, int32[size, slots], and targets, int64[size, width]: one to ``width`` right
    outputs, anywhere in the row.
    """
    rng = np.random.default_rng(seed)
    features = np.stack(
        [rng.integers(0, SIZES[slot.attribute], size) for slot in SLOTS], axis=1
    ).astype(np.int32)
    targets = np.stack([rng.permutation(OUTPUTS)[:width] for _ in range(size)])
    missing = rng.random((size, width)) < 0.5
    missing[np.arange(size), rng.integers(0, width, size)] = False
    return torch.from_numpy(features), torch.from_numpy(np.where(missing, NO_NODE, targets))


def check_compiled(
    compiled: CompiledGradients, classifier: Classifier, features, targets, groups=None
) -> float:
    """Compare compiled gradients and losses of a batch with autograd; return the loss."""
    found = compiled.loss(features, targets, groups)
    # of scores as high as 60, autograd's own losses are off by 1e-6 in single precision
    exact = deepcopy(classifier).double()
    scores = exact(features)
    expected = set_loss(scores, targets, groups)
    expected.backward()
    assert found == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)
    check_gradients(compiled, exact)
    return expected.item()


def check_gradients(found: CompiledGradients, classifier: Classifier) -> None:
    """Compiled gradients are those of the parameters, and 0 where these have none."""
    trained = {
        name: parameter
        for name, parameter in classifier.named_parameters()
        if parameter.requires_grad
    }
    assert list(found.gradients) == list(trained)
    for name, parameter in trained.items():
        gradient = (
            torch.from_numpy(found.gradients[name].dense())
            .reshape(parameter.shape)
            .to(parameter.dtype)
        )
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        atol = 1e-5 * max(1.0, float(expected.abs().max()))
        torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=atol, msg=name)
