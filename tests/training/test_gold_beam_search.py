"""What a search in training asks of the classifier, against lists of states, autograd,
and what is known of it.
"""

import random
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from oracles import UNKNOWN_HEAD, Trees
from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import NO_NODE
from parser.data.vocabulary import Vocabulary
from parser.model.trained_model import TrainedModel
from parser.network_spec import ClassifierSpec, Embedding
from parser.networks.bilstm import BiLSTM
from parser.settings.plan import OptimizerPlan, Span
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.beam_objective import BeamObjective, BeamTraining
from parser.training.fitting.sentence_batches import BatchEncoder, BatchReader
from parser.training.fitting.trainer import TorchOptimizer, Trainer
from parser.transitions.features import slots_of
from tests.gold_data import gold_data, vocabularies_of
from tests.jit import COMPILED
from tests.random_models import STATIC_SLOTS, small_bilstm_model, with_random_weights
from tests.random_trees import random_tree
from tests.toy import sentence
from tests.training.slow_beam import SlowBeam

PLAN = OptimizerPlan("adam", 0.01, "constant", Span(0, 10), batch_size=3)


def known_in_part(data: TrainingSentences, seed: int) -> TrainingSentences:
    """Half of their heads are not known, nor the relations of these."""
    rng = np.random.default_rng(seed)
    hidden = (data.trees.heads >= 0) & (rng.random(len(data.trees.heads)) < 0.5)
    heads, starts = np.where(hidden, UNKNOWN_HEAD, data.trees.heads), data.trees.offsets
    trees = Trees.from_heads((heads[a + 1 : b].tolist() for a, b in pairwise(starts)), partial=True)
    return replace(data, trees=trees, relations=np.where(hidden, NO_NODE, data.relations))


def random_sentences(seed: int, count: int, longest: int):
    """Random trees, projective or not, with several roots or one; some relations are unknown."""
    rng = random.Random(seed)
    return [sentence(random_tree(rng, rng.randint(1, longest)), rng) for _ in range(count)]


def objective_of(
    model: TrainedModel, data: TrainingSentences, training: BeamTraining
) -> BeamObjective:
    classifier = model.classifier
    contextual = classifier.tokens.contextual
    reader = BatchEncoder(classifier, data) if contextual else BatchReader(data.sentences, None)
    return BeamObjective(model, data, reader, PLAN.batch_size, training)


def training_with(size: int, gold_size: int, merge: str = "configuration") -> BeamTraining:
    return BeamTraining(Beam(size, Merge(merge), Scores.GLOBAL), gold_size)


def slow_losses(model: TrainedModel, data: TrainingSentences, training: BeamTraining):
    """Of each sentence: step, loss, and whether the beam lost all that is gold."""
    tokens = model.classifier.tokens
    for s in range(len(data)):
        start, end = data.trees.offsets[s : s + 2]
        inside = slice(start + 1, end)
        heads, relations = data.trees.heads[inside].tolist(), data.relations[inside].tolist()
        merging = training.beam.merge is Merge.CONFIGURATION
        own, vectors = data.sentences.span(s, s + 1), None
        if isinstance(tokens, BiLSTM):
            vectors = tokens.with_tokens(
                tokens.encode(torch.from_numpy(own.values.T.copy()), np.diff(own.offsets)).tokens
            )
        slow = SlowBeam(model, model.table.values(own), heads, relations, merging, vectors)
        yield slow.loss(training)


def surrogate_of_single_items(losses: np.ndarray) -> float:
    """Return the sum of what the gradient is taken of, by beams of one item: if d is how far the
    wrong one is ahead of the gold one,

    the loss is log(1 + exp(d)), its derivative by d is 1 / (1 + exp(-d)),
    and this times d is the surrogate.
    """
    lost = losses[losses > 1e-6]
    assert len(lost)
    return float(((1 - np.exp(-lost)) * np.log(np.expm1(lost))).sum())


def model_of_embeddings(
    seed: int, count: int, longest: int, activation: str = "tanh"
) -> tuple[TrainedModel, TrainingSentences]:
    sentences = random_sentences(seed, count, longest)
    torch.manual_seed(seed)
    spec = ClassifierSpec(
        11, activation, 0.5, 0.1, 0.1, {"form": Embedding(5, True), "deprel": Embedding(3, True)}
    )
    words = vocabularies_of(sentences, "form", "upos")
    model = with_random_weights(
        TrainedModel.new(words, Vocabulary(["root", "obj"]), slots_of(STATIC_SLOTS), spec)
    )
    return model, gold_data(sentences, model.vocabularies, model.relations)


def model_with_encoder(
    seed: int, count: int = 3, longest: int = 5
) -> tuple[TrainedModel, TrainingSentences]:
    sentences = random_sentences(seed, count, longest if COMPILED else 3)
    slots = {"token": ["s0", "s1", "b0", "s0.l1"], "deprel": ["s0.l1", "s1.r1"]}
    model = small_bilstm_model(sentences, slots, "arc_standard")
    return model, gold_data(sentences, model.vocabularies, model.relations)


def gradients(model: TrainedModel, loss: torch.Tensor) -> dict[str, np.ndarray]:
    model.classifier.zero_grad()
    loss.backward()
    return {
        name: p.grad.numpy().copy()
        for name, p in model.classifier.named_parameters()
        if p.grad is not None
    }


def check_gradients(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, gradient in expected.items():
        np.testing.assert_allclose(found[name], gradient, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("sizes", "merge"), [*product([(1, 1), (3, 2), (700, 700)], ["none", "configuration"])]
)
def test_losses_and_gradients_are_those_of_lists_of_states(sizes, merge, seed, partial):
    longest = 3 if sizes[0] > 100 or not COMPILED else 6
    model, data = model_of_embeddings(sum(sizes) + seed, 3, longest)
    if partial:
        data = known_in_part(data, seed)
    training = training_with(*sizes, merge)
    objective = objective_of(model, data, training)
    found = objective.search(np.arange(len(data)), dropping=False)
    searched = found.searched
    assert found.kept is None
    steps, losses, lost = zip(*slow_losses(model, data, training), strict=True)
    expected = torch.stack(losses)
    np.testing.assert_allclose(searched.losses, expected.detach().numpy(), atol=1e-4)
    np.testing.assert_allclose(searched.steps, np.array(steps) / (2 * data.trees.lengths))
    np.testing.assert_array_equal(searched.lost, lost)
    ours, theirs = (
        gradients(model, objective.surrogate(found)),
        gradients(model, expected.mean().float()),
    )
    assert theirs.keys() == dict(model.classifier.named_parameters()).keys()
    check_gradients(ours, theirs)


@pytest.mark.parametrize("seed", [7, 8])
def test_through_an_encoder_losses_and_gradients_are_those_of_lists_of_states(seed):
    model, data = model_with_encoder(seed)
    training = training_with(3, 2)
    objective = objective_of(model, data, training)
    found = objective.search(np.array([2, 0, 1]), dropping=False)
    _, losses, lost = zip(*slow_losses(model, data, training), strict=True)
    expected = torch.stack(losses)
    np.testing.assert_allclose(
        found.searched.losses, expected.detach().numpy()[[2, 0, 1]], atol=1e-4
    )
    np.testing.assert_array_equal(found.searched.lost, np.array(lost)[[2, 0, 1]])
    transitions = 2 * int(data.trees.lengths.sum())
    ours = gradients(model, objective.surrogate(found))
    assert (
        max(
            np.abs(gradient).max()
            for name, gradient in ours.items()
            if name.startswith("tokens.forward")
        )
        > 1e-4
    )
    check_gradients(ours, gradients(model, (expected.sum() / transitions).float()))


@pytest.mark.parametrize("encoder", [False, True])
def test_the_search_and_the_gradient_see_the_same_dropout(encoder):
    if encoder:
        model, data = model_with_encoder(9, 4)
        model.classifier.dropout, model.classifier.input_dropout = 0.5, 0.2
    else:
        model, data = model_of_embeddings(9, 4, 6)
    objective = objective_of(model, data, training_with(1, 1))
    torch.manual_seed(1)
    found = objective.search(np.arange(4))
    if encoder:
        other = replace(found, vectors=objective.search(np.arange(4)).vectors)
    else:
        assert found.kept is not None
        assert set(found.kept.unique().tolist()) == {0.0, 2.0}
        other = replace(found, kept=2 - found.kept)
    mean = surrogate_of_single_items(found.searched.losses) / (
        2 * int(data.trees.lengths.sum()) if encoder else 4
    )
    assert objective.surrogate(found).item() == pytest.approx(mean, abs=1e-4)
    assert objective.surrogate(other).item() != pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("encoder", [False, True])
def test_training_makes_what_is_gold_win(encoder):
    if encoder:
        model, data = model_with_encoder(4, 8, 7)
    else:
        model, data = model_of_embeddings(4, 8, 7, "relu")
        model.classifier.dropout = 0.0
    objective = objective_of(model, data, training_with(4, 2))
    order = torch.Generator().manual_seed(1)
    trainer = Trainer(objective, TorchOptimizer(model.classifier, PLAN), PLAN)
    losses = [trainer.fit_epoch(epoch, order).loss for epoch in range(40 if encoder else 31)]
    assert losses[-1] < 0.1 * losses[0]
    assert objective.report().lost_percent < 50
