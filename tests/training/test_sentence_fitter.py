"""Fitting a classifier with a contextual token representation, and word dropout."""

import random

import numpy as np
import pytest
import torch

import oracles
from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, UNKNOWN
from parser.model.trained_model import TrainedModel
from parser.settings.plan import OptimizerPlan, Span
from parser.training.compiled.gradients import set_loss
from parser.training.examples.examples import Examples, TrainingSentences, gold_examples
from parser.training.fitting.example_objective import SentenceObjective
from parser.training.fitting.sentence_batches import BatchEncoder, WordDropout, unknown_rates
from parser.training.fitting.trainer import TorchOptimizer, Trainer, Tuning
from parser.transitions.features import TOKEN
from tests.gold_data import gold_data
from tests.random_models import random_bilstm_model
from tests.random_trees import random_projective_tree
from tests.toy import sentence


@pytest.fixture(scope="module")
def training_data() -> tuple[TrainedModel, TrainingSentences, Examples]:
    """Return a model with random weights, sentences and their gold examples."""
    rng = random.Random(3)
    sentences = [sentence(random_projective_tree(rng, rng.randint(1, 9)), rng) for _ in range(25)]
    model = random_bilstm_model(sentences, dropping=False)
    data = gold_data(sentences, model.vocabularies, model.relations)
    return (
        model,
        data,
        gold_examples(data, oracles.create("static").bind(data.trees), model.system, model.table),
    )


def objective_of(
    model: TrainedModel, data: TrainingSentences, examples: Examples, batch_size: int
) -> SentenceObjective:
    objective = SentenceObjective(
        model.classifier, BatchEncoder(model.classifier, data), batch_size
    )
    objective.examples = examples
    return objective


@pytest.mark.parametrize("batch_size", [1, 40, 10_000])
def test_a_batch_holds_whole_sentences_and_an_epoch_every_example_once(training_data, batch_size):
    model, data, examples = training_data
    count, batches = objective_of(model, data, examples, batch_size).batches(
        torch.Generator().manual_seed(1)
    )
    assert count == len(batches)
    assert sorted(np.concatenate([batch.examples for batch in batches])) == list(
        range(len(examples))
    )
    assert sorted(np.concatenate([batch.sentences for batch in batches])) == list(range(len(data)))
    columns = model.classifier.embedded_columns[TOKEN]
    for batch in batches:
        read = examples.features[batch.examples][:, columns]
        assert set(read[read >= N_RESERVED] - N_RESERVED) <= set(
            data.sentences.places(batch.sentences)
        )


def test_the_loss_of_batches_and_its_gradients_are_those_of_the_classifier_over_all_sentences(
    training_data,
):
    model, data, examples = training_data
    encoded, tokens, targets = (
        data.sentences,
        model.classifier.tokens,
        torch.from_numpy(examples.targets).long(),
    )
    model.classifier.zero_grad()
    vectors = tokens.with_tokens(
        tokens.encode(torch.from_numpy(encoded.values.T.copy()), encoded.lengths + 1).tokens
    )
    expected = set_loss(model.classifier(torch.from_numpy(examples.features), vectors), targets)
    expected.backward()
    gradients = {name: p.grad.clone() for name, p in model.classifier.named_parameters()}
    model.classifier.zero_grad()
    objective = objective_of(model, data, examples, 10_000)
    _, (batch,) = objective.batches(torch.Generator().manual_seed(1))
    objective.losses(batch)[0].backward()
    for name, parameter in model.classifier.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-3, atol=1e-5)
    model.classifier.zero_grad()
    # with a learning rate of zero, so that nothing changes on the way
    for batch_size in (40, 10_000):
        plan = OptimizerPlan("adam", 0.0, "constant", Span(0, 1), batch_size)
        optimizer = TorchOptimizer(model.classifier, plan, max_grad_norm=5.0)
        trainer = Trainer(objective_of(model, data, examples, batch_size), optimizer, plan)
        found = trainer.fit_epoch(0, torch.Generator().manual_seed(1))
        assert found.loss == pytest.approx(expected.item(), rel=1e-4)


NOTHING = np.zeros(0, np.float32)


def test_the_rate_of_word_dropout_falls_with_the_count_and_is_zero_for_reserved_values():
    np.testing.assert_allclose(
        unknown_rates(np.array([5, 0, 3, 1, 3, 0]), 0.25), [0, 0, 0, 0.2, 0.25 / 3.25, 1.0]
    )


def test_values_are_dropped_as_often_as_their_rates_say_and_others_stay():
    rates = np.array([0, 0, 0, 0.5, 0.0, 0.1], np.float32)
    features = torch.tensor([[3, 3, 4, 5, ABSENT, ROOT]] * 20_000, dtype=torch.int32)
    dropout = WordDropout([rates, NOTHING, rates, rates, rates, rates], torch.device("cpu"))
    torch.manual_seed(0)
    dropped = dropout(features)
    assert dropped.dtype == torch.int32
    shares = (dropped == UNKNOWN).double().mean(dim=0)
    np.testing.assert_allclose(shares, [0.5, 0.0, 0.0, 0.1, 0.0, 0.0], atol=0.02)
    assert torch.equal(dropped[:, [1, 2, 4, 5]], features[:, [1, 2, 4, 5]])
    assert ((dropped == UNKNOWN) | (dropped == features)).all()
    torch.manual_seed(0)
    assert torch.equal(dropout(features), dropped)
    assert torch.equal(WordDropout([NOTHING] * 6, torch.device("cpu"))(features), features)


def test_the_rate_of_a_tuned_encoder_rises_and_is_its_own():
    module = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "tuned": torch.nn.Linear(2, 2)})
    plan = OptimizerPlan("sgd", 1.0, "constant", Span(0, 1), 1)
    optimizer = TorchOptimizer(module, plan, tuning=Tuning("tuned.", 0.1, 4))
    steps = []
    for _ in range(6):
        before = {name: p.detach().clone() for name, p in module.named_parameters()}
        for parameter in module.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step(1.0)
        steps.append(
            {
                name: float((before[name] - p.detach()).max())
                for name, p in module.named_parameters()
            }
        )
    assert [step["a.weight"] for step in steps] == pytest.approx([1.0] * 6)
    assert [step["tuned.weight"] for step in steps] == pytest.approx(
        [0.025, 0.05, 0.075, 0.1, 0.1, 0.1], abs=1e-5
    )
    again = TorchOptimizer(module, plan, tuning=Tuning("tuned.", 0.1, 4))
    again.restore(optimizer.state())
    assert again.state().keys() == optimizer.state().keys()
    assert int(again.state()["steps"]) == 6
