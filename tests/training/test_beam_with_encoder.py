"""Global training through an encoder: losses and gradients against lists of states, dropout, and runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam, Scores
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_with_beam
from parser.evaluation.gold_part import GoldPart
from parser.model.model import Model
from parser.training.run import train
from tests.jit import COMPILED
from tests.random_models import small_bilstm_model
from tests.training.beam_objectives import (
    gold_of,
    objective_of,
    random_sentences,
    slow_losses,
    surrogate_of_single_items,
    trainer_of,
    training_with,
)
from tests.training.small_runs import files_of, run, train_until_killed

SLOTS = {"token": ["s0", "s1", "b0", "s0.l1"], "deprel": ["s0.l1", "s1.r1"]}


def model_and_data(seed: int, count: int = 3, longest: int = 5):
    sentences = random_sentences(seed, count, longest if COMPILED else 3)
    model = small_bilstm_model(sentences, SLOTS, "arc_standard")
    return model, gold_of(model, sentences)


@pytest.mark.parametrize("seed", [7, 8])
def test_losses_and_gradients_are_those_of_lists_of_states(seed):
    model, data = model_and_data(seed)
    training = training_with(3, 2)
    objective = objective_of(model, data, training)
    found = objective.search(np.array([2, 0, 1]), dropping=False)
    _, losses, lost = zip(*slow_losses(model, data, training), strict=True)
    expected = torch.stack(losses)
    np.testing.assert_allclose(found.searched.losses, expected.detach().numpy()[[2, 0, 1]], atol=1e-4)
    np.testing.assert_array_equal(found.searched.lost, np.array(lost)[[2, 0, 1]])

    model.classifier.zero_grad()
    objective.surrogate(found).backward()
    ours = {name: p.grad.clone() for name, p in model.classifier.named_parameters() if p.grad is not None}
    of_encoder = [gradient.abs().max() for name, gradient in ours.items() if name.startswith("tokens.forward")]
    assert of_encoder
    assert max(of_encoder) > 1e-4
    model.classifier.zero_grad()
    transitions = 2 * int(data.trees.lengths.sum())
    (expected.sum() / transitions).float().backward()
    for name, parameter in model.classifier.named_parameters():
        if parameter.grad is not None:
            np.testing.assert_allclose(ours[name].numpy(), parameter.grad.numpy(), atol=2e-4, err_msg=name)


def test_the_search_and_the_gradient_see_the_same_dropout():
    model, data = model_and_data(9, 4)
    model.classifier.dropout, model.classifier.input_dropout = 0.5, 0.2
    objective = objective_of(model, data, training_with(1, 1))
    torch.manual_seed(1)
    found = objective.search(np.arange(4))
    mean = surrogate_of_single_items(found.searched.losses) / (2 * int(data.trees.lengths.sum()))
    assert objective.surrogate(found).item() == pytest.approx(mean, abs=1e-4)
    again = objective.search(np.arange(4))
    assert objective.surrogate(replace(found, vectors=again.vectors)).item() != pytest.approx(mean, abs=1e-4)


def test_training_makes_what_is_gold_win():
    model, data = model_and_data(4, 8, 7)
    objective = objective_of(model, data, training_with(4, 2))
    order = torch.Generator().manual_seed(1)
    trainer = trainer_of(model, objective)
    losses = [trainer.fit_epoch(epoch, order).loss for epoch in range(40)]
    assert losses[-1] < 0.1 * losses[0]


ENCODER = [
    "model=bilstm",
    "beam=global",
    "beam.size=4",
    "beam.training.epochs=2",
    "beam.training.batch_sentences=5",
    "beam.training.learning_rate=0.005",
    "encoder.hidden=12",
    "first_pass.epochs=1",
    "second_pass.epochs=1",
]


def test_the_model_remembers_its_beam(treebank, tmp_path):
    metrics = train(run(treebank, "recipe=accurate", *ENCODER), tmp_path)
    assert metrics["beam"] == "global"
    assert metrics["dev"] != metrics["after_second_pass"]["dev"]
    model = Model.load(tmp_path)
    assert model.beam == Beam(4, scores=Scores.GLOBAL)
    gold = GoldPart.of(read_treebank(str(treebank)).sentences, model.vocabularies, model.relations)
    assert metrics["dev"] == gold.scores(parser_with_beam(model, model.beam).parse(gold.sentences))


@pytest.mark.parametrize("recipe", ["accurate", "text"])
def test_a_killed_third_pass_is_resumed_to_the_same_end(treebank, tmp_path, recipe):
    settings = run(treebank, f"recipe={recipe}", *ENCODER)
    train_until_killed(settings, tmp_path / "killed", 3)
    resumed = train(settings, tmp_path / "killed")
    whole = train(settings, tmp_path / "whole")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert resumed["test"] == whole["test"]
