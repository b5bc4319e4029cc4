"""The compiled updates against torch's, and the loss of examples with several rows against a loop
over numbers.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from parser.data.sentences import NO_NODE
from parser.kernels import torch_products as matrix_products
from parser.kernels.torch_products import product
from parser.network_spec import Embedding, MlpSpec
from parser.networks.classifier import Classifier
from parser.networks.layers import ACTIVATIONS
from parser.networks.representation import AttributeEmbeddings, Embeddings
from parser.settings.plan import OptimizerPlan, Span
from parser.training.compiled.gradients import (
    AutogradGradients,
    CompiledGradients,
    Groups,
    set_loss,
)
from parser.training.compiled.optimizer import CompiledOptimizer
from parser.training.compiled.tables import Gradient
from parser.training.examples.examples import Examples
from parser.training.fitting.example_objective import ExampleObjective, gradients_and_optimizer
from parser.training.fitting.trainer import TorchOptimizer, Trainer
from parser.transitions.features import slots_of
from tests.training.classifiers import (
    OUTPUTS,
    SIZES,
    SLOTS,
    check_compiled,
    check_gradients,
    make,
    random_batch,
)

embeddings = st.dictionaries(
    st.sampled_from(list(SIZES)), st.builds(Embedding, st.integers(1, 12), st.booleans())
)
sizes = st.tuples(st.integers(1, 30), st.integers(1, 4), st.sampled_from([8, 16, 23, 40]))


@given(embeddings, st.booleans(), st.sampled_from(list(ACTIVATIONS)), sizes, st.integers(0, 99))
def test_compiled_gradients_are_those_of_autograd(embedded, sets, activation, sizes, seed):
    size, width, hidden = sizes
    classifier = make(embedded, activation, sets=sets, hidden=hidden)
    compiled = CompiledGradients(classifier)
    # leaves rows behind that the next batch may not use
    compiled.loss(*random_batch(7, 2, seed + 1))
    check_compiled(compiled, classifier, *random_batch(size, width, seed))


@pytest.mark.parametrize(
    "dropouts", [(0.5, 0.0, 0.0), (0.5, 0.25, 0.0), (0.0, 0.0, 0.3), (0.2, 0.3, 0.4)]
)
@pytest.mark.parametrize("embedded", [{}, {"form": Embedding(4, True), "upos": Embedding(3, True)}])
@pytest.mark.parametrize("hidden", [8, 20])
def test_dropout_draws_the_same_masks(dropouts, embedded, hidden):
    classifier = make(embedded, dropouts=dropouts, sets=True, hidden=hidden)
    features, targets = random_batch(9, 1, 0)
    compiled = CompiledGradients(classifier)
    torch.manual_seed(3)
    found = [compiled.loss(features, targets) for _ in range(5)]
    torch.manual_seed(3)
    losses = [set_loss(classifier(features, dropping=True), targets) for _ in range(5)]
    assert found == pytest.approx([loss.item() for loss in losses], rel=1e-5)
    losses[-1].backward()
    assert len(set(found)) == 5 or (not embedded and not dropouts[0])
    check_gradients(compiled, classifier)


@given(st.sampled_from([("sgd", 0.1), ("adam", 0.01)]), st.integers(0, 99))
def test_a_compiled_optimizer_steps_as_torch_does(kind_and_rate, seed):
    rng = np.random.default_rng(seed)
    settings = OptimizerPlan(*kind_and_rate, "constant", Span(0, 1), 5)
    shapes = {"table": (6, 3), "bias": (4,)}
    start = {
        name: torch.from_numpy(rng.normal(size=shape).astype(np.float32))
        for name, shape in shapes.items()
    }
    ours, theirs = (
        {name: torch.nn.Parameter(t.clone()) for name, t in start.items()} for _ in range(2)
    )
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[settings.name]
    reference = kind(theirs.values(), lr=settings.learning_rate)
    gradients: dict[str, Gradient] = {}
    optimizer = CompiledOptimizer(ours, gradients, settings)
    for step in range(4):
        rate = settings.learning_rate / (step + 1)
        reference.param_groups[0]["lr"] = rate
        for name, parameter in theirs.items():
            rows = 1 if parameter.ndim == 1 else len(parameter)
            # What stands in the rows that are not used must not matter.
            values = rng.normal(size=parameter.numel()).astype(np.float32).reshape(rows, -1)
            gradients[name] = Gradient(values, rng.random(rows) < 0.6)
            parameter.grad = torch.from_numpy(gradients[name].dense()).reshape(parameter.shape)
        reference.step()
        optimizer.step(rate)
        for name in shapes:
            torch.testing.assert_close(ours[name], theirs[name], rtol=1e-5, atol=1e-6)


class Updates:
    """Gradients and steps, compiled or torch's."""

    def __init__(self, classifier: Classifier, plan: OptimizerPlan, compiled: bool) -> None:
        of_torch = AutogradGradients(classifier), TorchOptimizer(classifier, plan)
        self.gradients, self.optimizer = (
            gradients_and_optimizer(classifier, plan) if compiled else of_torch
        )

    def update(self, features: torch.Tensor, targets: torch.Tensor, rate: float) -> None:
        self.gradients.loss(features, targets)
        self.optimizer.step(rate)


@pytest.mark.parametrize("name", ["sgd", "adam"])
@pytest.mark.parametrize("compiled_first", [True, False])
@pytest.mark.parametrize("hidden", [8, 20])
def test_either_kind_of_updates_resumes_from_the_state_of_the_other(name, compiled_first, hidden):
    plan = OptimizerPlan(name, 0.05, "constant", Span(0, 1), 5)
    classifier, other = (
        make({"form": Embedding(4, trained=True)}, hidden=hidden) for _ in range(2)
    )
    one_way = Updates(classifier, plan, compiled=True)
    first, second = (
        Updates(other, plan, compiled) for compiled in (compiled_first, not compiled_first)
    )
    for batch in range(3):
        one_way.update(*random_batch(5, 1, batch), 0.05)
        first.update(*random_batch(5, 1, batch), 0.05)
    state = first.optimizer.state()
    # as checkpoints have them
    second.optimizer.restore({name: tensor.contiguous() for name, tensor in state.items()})
    for batch in range(3, 6):
        one_way.update(*random_batch(5, 1, batch), 0.05)
        second.update(*random_batch(5, 1, batch), 0.05)
    for (label, found), expected in zip(
        other.named_parameters(), classifier.parameters(), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, msg=label)


@pytest.mark.parametrize("embedded", [{}, {"upos": Embedding(3, trained=True)}])
@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("value", [-1, 1000])
@pytest.mark.parametrize("hidden", [8, 20])
def test_a_value_that_has_no_row_is_an_error(embedded, sets, value, hidden):
    features, targets = random_batch(3, 1, 0)
    features[1, 0] = value
    with pytest.raises(IndexError, match="value that the classifier has no"):
        CompiledGradients(make(embedded, sets=sets, hidden=hidden)).loss(features, targets)


def test_a_slot_that_every_example_drops_has_no_gradient():
    classifier = make(
        {"form": Embedding(9, True), "upos": Embedding(3, True)},
        dropouts=(0.0, 0.0, 0.99),
        hidden=20,
    )
    compiled, batch = CompiledGradients(classifier), random_batch(3, 1, 0)
    compiled.loss(*random_batch(9, 1, 1))
    torch.manual_seed(1)
    compiled.loss(*batch)
    torch.manual_seed(1)
    set_loss(classifier(batch[0], dropping=True), batch[1]).backward()
    check_gradients(compiled, classifier)
    assert not compiled.gradients["embedded.weight"].values[:18].any()


def test_vectors_that_no_slot_reads_stay():
    tokens = AttributeEmbeddings(list(SIZES), Embeddings({"deprel": Embedding(4, True)}, SIZES, {}))
    classifier = Classifier(
        tokens, slots_of({"upos": ["s0", "b0"]}), SIZES, MlpSpec(8, "relu", 0.0, 0.0, 0.0), OUTPUTS
    )
    assert (
        not CompiledGradients(classifier).gradients["tokens.embeddings.vectors.deprel"].used.any()
    )
    before = tokens.embeddings.vectors["deprel"].detach().clone()
    updates = Updates(
        classifier, OptimizerPlan("adam", 0.1, "constant", Span(0, 1), 5), compiled=True
    )
    features, targets = random_batch(5, 1, 0)
    for _ in range(3):
        updates.update(features[:, :2] % SIZES["upos"], targets, 0.1)
    torch.testing.assert_close(tokens.embeddings.vectors["deprel"].detach(), before)


def test_weights_are_put_back_where_they_are_multiplied_side_by_side():
    classifier = make({"form": Embedding(4, True)}, hidden=16)
    CompiledGradients(classifier)
    assert not classifier.embedded.weight.is_contiguous()
    expected = classifier.embedded.weight.clone()
    classifier.input_dropout = 0.1
    CompiledGradients(classifier)
    assert classifier.embedded.weight.is_contiguous()
    torch.testing.assert_close(classifier.embedded.weight, expected)


@given(st.tuples(*[st.integers(1, 70)] * 3), st.booleans(), st.booleans(), st.booleans())
def test_products_are_those_of_torch(sizes, turn_a, turn_b, biased):
    m, n, k = sizes
    torch.manual_seed(0)
    a = torch.randn(k, m).t() if turn_a else torch.randn(m, k)
    b = torch.randn(k, n).t() if turn_b else torch.randn(n, k)
    bias = torch.randn(n) if biased else None
    for onednn in (matrix_products._ONEDNN, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matrix_products, "_ONEDNN", onednn)
            found = product(a, b, bias)
        assert found.is_contiguous()
        torch.testing.assert_close(
            found, a @ b.t() + (0 if bias is None else bias), rtol=1e-4, atol=1e-4
        )


BLOCKS = [(0, 1), (1, 3), (3, OUTPUTS)]


def random_examples(rng: np.random.Generator, n: int, widest: int = 4) -> Examples:
    """One to ``widest`` rows for each of n examples,
    in at least one of which an output of its block is right.
    """
    counts = rng.integers(1, widest + 1, n)
    starts = np.cumsum([0, *counts])
    rows = starts[-1]
    blocks = np.array(BLOCKS, np.int32)[rng.integers(0, len(BLOCKS), rows)]
    targets = rng.integers(blocks[:, 0], blocks[:, 1])
    missing = rng.random(rows) < 0.5
    missing[starts[:-1] + rng.integers(0, counts)] = False
    features = np.stack(
        [rng.integers(0, SIZES[slot.attribute], rows) for slot in SLOTS], axis=1
    ).astype(np.int32)
    sentences = np.arange(n, dtype=np.int32)
    return Examples(
        features,
        np.where(missing, NO_NODE, targets).astype(np.int32)[:, None],
        sentences,
        starts,
        blocks,
    )


def slow_loss(scores: np.ndarray, examples: Examples) -> float:
    """Minus the logarithm of the right outputs' share of the probability,
    candidate by candidate.
    """
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
def test_the_loss_is_the_share_of_the_right_candidates(n, seed):
    rng = np.random.default_rng(seed)
    examples = random_examples(rng, n)
    scores = rng.normal(size=(len(examples.features), OUTPUTS)) * 3
    _, targets, groups = arguments(examples)
    assert set_loss(torch.from_numpy(scores), targets, groups).item() == pytest.approx(
        slow_loss(scores, examples)
    )


@given(st.integers(1, 8), st.integers(0, 999))
def test_compiled_gradients_of_several_rows_are_those_of_autograd(n, seed):
    classifier = make({"form": Embedding(4, True)}, "tanh")
    check_compiled(
        CompiledGradients(classifier),
        classifier,
        *arguments(random_examples(np.random.default_rng(seed), n)),
    )


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
    assert loss == pytest.approx(
        slow_loss(classifier(features).detach().numpy(), examples), rel=1e-5
    )
