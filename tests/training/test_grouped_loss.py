"""The loss of examples with several rows: by autograd against a loop over numbers, and by compiled loops against autograd."""

import math
from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from parser.data.sentences import NO_NODE
from parser.network_spec import Embedding
from parser.settings.plan import OptimizerPlan, Span
from parser.training.compiled.gradients import CompiledGradients, Groups, set_loss
from parser.training.examples.examples import Examples
from parser.training.fitting.example_objective import ExampleObjective, gradients_and_optimizer
from parser.training.fitting.trainer import Trainer
from tests.training.classifiers import OUTPUTS, SIZES, SLOTS, check_gradients, make

BLOCKS = [(0, 1), (1, 3), (3, OUTPUTS)]


def random_examples(rng: np.random.Generator, n: int, widest: int = 4) -> Examples:
    """One to ``widest`` rows for each of n examples, in at least one of which an output of its block is right."""
    counts = rng.integers(1, widest + 1, n)
    starts = np.cumsum([0, *counts])
    rows = starts[-1]
    blocks = np.array(BLOCKS, np.int32)[rng.integers(0, len(BLOCKS), rows)]
    targets = rng.integers(blocks[:, 0], blocks[:, 1])
    missing = rng.random(rows) < 0.5
    missing[starts[:-1] + rng.integers(0, counts)] = False
    features = np.stack([rng.integers(0, SIZES[slot.attribute], rows) for slot in SLOTS], axis=1).astype(np.int32)
    sentences = np.arange(n, dtype=np.int32)
    return Examples(features, np.where(missing, NO_NODE, targets).astype(np.int32)[:, None], sentences, starts, blocks)


def slow_loss(scores: np.ndarray, examples: Examples) -> float:
    """Minus the logarithm of the right outputs' share of the probability, candidate by candidate."""
    losses = []
    assert examples.starts is not None
    assert examples.blocks is not None
    for start, end in zip(examples.starts, examples.starts[1:], strict=False):
        everything = right = 0.0
        for row in range(start, end):
            for output in range(*examples.blocks[row]):
                everything += math.exp(scores[row, output])
                if output == examples.targets[row, 0]:
                    right += math.exp(scores[row, output])
        losses.append(-math.log(right / everything))
    return sum(losses) / len(losses)


def arguments(examples: Examples) -> tuple[torch.Tensor, torch.Tensor, Groups]:
    groups = Groups.of(examples, torch.device("cpu"))
    assert groups is not None
    return torch.from_numpy(examples.features), torch.from_numpy(examples.targets).long(), groups


@given(st.integers(1, 8), st.integers(0, 999))
def test_it_is_the_share_of_the_right_candidates(n, seed):
    rng = np.random.default_rng(seed)
    examples = random_examples(rng, n)
    scores = torch.from_numpy(rng.normal(size=(len(examples.features), OUTPUTS)) * 3).requires_grad_()
    _, targets, groups = arguments(examples)
    loss = set_loss(scores, targets, groups)
    assert loss.item() == pytest.approx(slow_loss(scores.detach().numpy(), examples))
    loss.backward()
    step = 1e-5
    for row, output in [(rng.integers(len(scores)), rng.integers(OUTPUTS)) for _ in range(5)]:
        higher, lower = scores.detach().numpy().copy(), scores.detach().numpy().copy()
        higher[row, output] += step
        lower[row, output] -= step
        expected = (slow_loss(higher, examples) - slow_loss(lower, examples)) / (2 * step)
        assert scores.grad[row, output].item() == pytest.approx(expected, abs=1e-6)


@given(st.integers(1, 8), st.integers(0, 999))
def test_compiled_gradients_are_those_of_autograd(n, seed):
    classifier = make({"form": Embedding(4, True)}, "tanh")
    features, targets, groups = arguments(random_examples(np.random.default_rng(seed), n))
    compiled = CompiledGradients(classifier)
    exact = deepcopy(classifier).double()
    expected = set_loss(exact(features), targets, groups)
    expected.backward()
    assert compiled.loss(features, targets, groups) == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)
    check_gradients(compiled, exact)


def test_groups_of_one_row_that_scores_everything_are_plain_examples():
    rng = np.random.default_rng(0)
    scores, targets = torch.from_numpy(rng.normal(size=(5, OUTPUTS))), torch.from_numpy(rng.integers(0, OUTPUTS, (5, 2)))
    groups = Groups(torch.arange(6), torch.tensor([[0, OUTPUTS]]).repeat(5, 1))
    torch.testing.assert_close(set_loss(scores, targets, groups), set_loss(scores, targets))


def test_an_epoch_learns_from_whole_examples():
    """With a learning rate of zero, the mean over the batches is that over all examples."""
    examples = random_examples(np.random.default_rng(1), 23)
    classifier = make({})
    plan = OptimizerPlan("sgd", 0.0, "constant", Span(0, 1), 5)
    gradients, optimizer = gradients_and_optimizer(classifier, plan)
    objective = ExampleObjective(classifier, gradients, plan.batch_size)
    objective.examples = examples
    batches: list[int] = []
    trainer, order = Trainer(objective, optimizer, plan), torch.Generator().manual_seed(0)
    loss = trainer.fit_epoch(0, order, lambda _, __, size, ___: batches.append(size)).loss
    assert batches == [5, 5, 5, 5, 3]
    features, _, _ = arguments(examples)
    assert loss == pytest.approx(slow_loss(classifier(features).detach().numpy(), examples), rel=1e-5)
