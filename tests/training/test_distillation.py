"""Distillation: the loss by soft targets, what a teacher says of configurations, whole runs, and teachers that do not fit."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from parser.data.treebank import read_treebank
from parser.model.model import Model
from parser.model_folder import ModelError
from parser.network_spec import Embedding
from parser.settings import SettingsError
from parser.training.compiled.gradients import CompiledGradients, distillation_loss, set_loss
from parser.training.examples.examples import Examples, TrainingSentences
from parser.training.examples.exploration import explore
from parser.training.examples.teacher import Teacher, softmax
from parser.training.model_card import ModelCard
from parser.training.run import train
from parser.training.run_folder import Manifest
from tests.training.classifiers import OUTPUTS, make, random_batch
from tests.training.small_runs import SMALL, files_of, run, train_until_killed

FEW = [*SMALL, "first_pass.epochs=1", "second_pass.epochs=2"]
TEACHER = ["recipe=accurate", "model=bilstm", "encoder.hidden=8", "encoder.layers=1", *FEW]


def random_soft(rng: np.random.Generator, size: int) -> np.ndarray:
    """Distributions over all outputs; 0 for some examples, which no teacher has seen."""
    soft = softmax(rng.normal(size=(size, OUTPUTS)).astype(np.float32) * 3)
    soft[rng.random(size) < 0.3] = 0
    return soft


def slow_distillation(scores: np.ndarray, soft: np.ndarray) -> float:
    """The cross entropy, output by output."""
    total = 0.0
    for of_row, probabilities in zip(scores, soft, strict=True):
        everything = sum(math.exp(score) for score in of_row)
        total -= sum(p * math.log(math.exp(score) / everything) for score, p in zip(of_row, probabilities, strict=True))
    return total / len(scores)


@given(st.integers(1, 9), st.integers(0, 99))
def test_compiled_gradients_are_those_of_autograd_and_the_loss_that_of_a_loop(size, seed):
    classifier, rng = make({"form": Embedding(4, True)}, "tanh"), np.random.default_rng(seed)
    features, targets = random_batch(size, 2, seed)
    soft = random_soft(rng, size)
    compiled, exact = CompiledGradients(classifier), deepcopy(classifier).double()
    loss = compiled.loss(features, targets, taught=torch.from_numpy(soft))
    scores = exact(features)
    expected = set_loss(scores, targets) + distillation_loss(scores, torch.from_numpy(soft).double())
    slow = set_loss(scores, targets).item() + slow_distillation(scores.detach().numpy(), soft)
    assert expected.item() == pytest.approx(slow, rel=1e-6)
    assert loss == pytest.approx(slow, rel=1e-5, abs=1e-6)
    expected.backward()
    for name, parameter in exact.named_parameters():
        found = torch.from_numpy(compiled.gradients[name].dense()).reshape(parameter.shape).double()
        gradient = torch.zeros_like(found) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(found, gradient, rtol=1e-5, atol=1e-5, msg=name)


def test_soft_targets_stay_with_their_examples():
    rng = np.random.default_rng(0)

    def part(n: int, soft: np.ndarray | None) -> Examples:
        return Examples(np.zeros((n, 2), np.int32), np.zeros((n, 1), np.int32), np.zeros(n, np.int32), soft=soft)

    first, last = random_soft(rng, 4), random_soft(rng, 5)
    joined = Examples.concatenate([part(4, first), part(3, None), part(5, last)])
    np.testing.assert_array_equal(joined.take(np.array([11, 5, 0])).soft, [last[4], np.zeros(OUTPUTS), first[0]])
    assert Examples.concatenate([part(4, None), part(3, None)]).soft is None


@pytest.fixture(scope="module")
def teacher(treebank, tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher") / "encoder"
    train(run(treebank, *TEACHER), folder)
    return folder


@pytest.fixture(scope="module")
def second_teacher(treebank, tmp_path_factory):
    """Of another seed, and it reads no UPOS."""
    folder = tmp_path_factory.mktemp("second_teacher") / "another"
    train(run(treebank, *TEACHER, "seed=2", "features.upos=[]"), folder)
    return folder


@pytest.mark.parametrize("several", [False, True])
def test_it_says_what_its_classifiers_do_of_each_configuration(treebank, teacher, second_teacher, several):
    """Configurations of several batches, each beside what the classifiers say of it in the sentences as a whole.

    And what is said does not depend on whether a teacher reads the sentences once or batch by batch.
    """
    models = [Model.load(folder, int8=False) for folder in ([teacher, second_teacher] if several else [teacher])]
    model = models[0]
    sentences = read_treebank(treebank).sentences
    by_teacher = [one.vocabularies.encode(sentences) for one in models]
    encoded = by_teacher[0]
    trees = oracles.projectivize_trees(oracles.Trees.from_heads(s.heads for s in sentences))
    relations = np.zeros(len(trees.heads), np.int32)
    data = TrainingSentences(encoded, trees, relations)
    oracle = oracles.create("context_rows").bind(trees)
    slow = [one.scorer(its) for one, its in zip(models, by_teacher, strict=True)]
    asked = Teacher(models, by_teacher)
    with pytest.MonkeyPatch.context() as patch:  # room for the vectors of the first teacher
        patch.setattr("parser.training.examples.teacher._KEPT", 4 * 2 * 8 * (encoded.offsets[-1] + 1) if several else 0)
        with_less_room = Teacher(models, by_teacher)
    compared = 0

    def teach(batch, rows, transitions):
        nonlocal compared
        found = asked(batch, rows, transitions)
        scores = [
            scorer(one.table.extract(batch.now, rows, its, batch.numbers, transitions)).astype(np.float64)
            for one, its, scorer in zip(models, by_teacher, slow, strict=True)
        ]
        for row, of_all in zip(found, zip(*scores, strict=True), strict=True):
            shares = np.exp(np.array(of_all))
            np.testing.assert_allclose(row, (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0), rtol=1e-3, atol=1e-5)
            compared += 1
        again = with_less_room(batch, rows, transitions)
        np.testing.assert_array_equal(again, found)
        return again

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parser.batch_sizes.SENTENCES_PER_EXPLORATION", 12)
        examples, _ = explore(data, oracle, model.system, model.table, slow[0], soft_targets=teach)
    assert compared == len(examples) == len(examples.soft) == 2 * encoded.lengths.sum()


def test_a_killed_run_is_resumed_to_the_same_end_and_the_card_names_the_teacher(treebank, teacher, tmp_path):
    taught = run(treebank, "recipe=accurate", *FEW, f"distillation.teacher={teacher}")
    train(taught, tmp_path / "whole", [ModelCard("train")])
    card = (tmp_path / "whole" / "model" / "README.md").read_text()
    (tmp_path / "whole" / "model" / "README.md").unlink()
    train_until_killed(taught, tmp_path / "killed", 2)
    train(taught, tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    digest = Manifest.of(taught).files["distillation.teacher/classifier.safetensors"]
    assert f"| distillation.teacher | encoder | `{digest}` | weights of a network |" in card
    assert str(teacher) not in card
    without = run(treebank, "recipe=accurate", *FEW)
    train(without, tmp_path / "without")
    assert files_of(tmp_path / "without") != files_of(tmp_path / "whole")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["system=swap", "column=null"], "its system is arc_standard, this run's is swap; name a teacher"),
        (["features.upos=[]"], "it reads upos, which this run does not; add them to features"),
    ],
)
def test_a_teacher_that_does_not_fit_is_refused(treebank, teacher, tmp_path, overrides, message):
    with pytest.raises(SettingsError, match=message):
        train(run(treebank, "recipe=accurate", *FEW, f"distillation.teacher={teacher}", *overrides), tmp_path)


def test_the_relations_of_a_run_have_the_numbers_of_its_teachers(treebank, teacher, tmp_path):
    """There are more sentences with the last of its relations than with any other."""
    relations = Model.load(teacher).relations.symbols
    sentences = treebank.read_text().strip("\n").split("\n\n")
    with_last = next(one for one in sentences if f"\t{relations[-1]}\t" in one)
    more = tmp_path / "more.conllu"
    more.write_text("\n\n".join([*sentences, *[with_last] * 200]) + "\n\n")
    files = f"treebank.train=[{treebank},{more}]"
    wanted = run(treebank, "recipe=accurate", *FEW, "second_pass.epochs=1", files)
    train(wanted, tmp_path / "alone")
    assert Model.load(tmp_path / "alone").relations.symbols != relations
    taught = run(treebank, "recipe=accurate", *FEW, "second_pass.epochs=1", files, f"distillation.teacher={teacher}")
    train(taught, tmp_path / "taught")
    assert Model.load(tmp_path / "taught").relations.symbols == relations


def test_a_run_with_several_teachers_names_them_all(treebank, teacher, second_teacher, tmp_path):
    taught = run(treebank, "recipe=accurate", *FEW, f"distillation.teacher=[{teacher},{second_teacher}]")
    train(taught, tmp_path / "whole", [ModelCard("train")])
    card = (tmp_path / "whole" / "model" / "README.md").read_text()
    digests = [Manifest.of(taught).files[f"distillation.teacher.{i}/classifier.safetensors"] for i in range(2)]
    for i, (name, digest) in enumerate(zip(("encoder", "another"), digests, strict=True)):
        assert f"| distillation.teacher.{i} | {name} | `{digest}` | weights of a network |" in card
    (tmp_path / "whole" / "model" / "README.md").unlink()
    train_until_killed(taught, tmp_path / "killed", 2)
    train(taught, tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    with pytest.raises(ModelError, match="neither a folder nor a model"):
        train(run(treebank, "recipe=accurate", *FEW, f"distillation.teacher=[{teacher},{tmp_path / 'none'}]"), tmp_path / "run")


def test_a_teacher_of_other_relations_or_without_an_encoder_or_not_there_is_refused(treebank, teacher, tmp_path):
    other = tmp_path / "other.conllu"
    other.write_text(treebank.read_text().replace("\tobj\t", "\tiobj\t"))
    taught = ["recipe=accurate", *FEW, f"distillation.teacher={teacher}"]
    with pytest.raises(SettingsError, match=r"relations .*treebank="):
        train(run(other, *taught), tmp_path / "run")
    with pytest.raises(ModelError, match="neither a folder nor a model"):
        train(run(treebank, *taught, f"distillation.teacher={tmp_path / 'none'}"), tmp_path / "run")
    mlp = Model.load(teacher)
    mlp = Model.new(mlp.vocabularies, mlp.relations, mlp.slots[-1:], replace(mlp.spec, encoder=None, embeddings={}))
    mlp.save(tmp_path / "mlp")
    with pytest.raises(SettingsError, match="without an encoder"):
        train(run(treebank, *taught, f"distillation.teacher={tmp_path / 'mlp'}"), tmp_path / "run")
