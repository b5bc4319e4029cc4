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
from parser.data.sentences import NO_NODE
from parser.data.treebank import read_treebank
from parser.model.model import Model
from parser.model_folder import ModelError
from parser.network_spec import Embedding
from parser.settings import SettingsError
from parser.settings.choices import Over
from parser.training.compiled.gradients import CompiledGradients
from parser.training.examples.examples import Examples, SoftTargets, TrainingSentences
from parser.training.examples.exploration import explore
from parser.training.examples.teacher import Teacher
from parser.training.fitting.loss import TeacherTargets, distillation_loss, set_loss
from parser.training.model_card import ModelCard
from parser.training.run import train
from parser.training.run_folder import Manifest
from tests.training.classifiers import OUTPUTS, make, random_batch
from tests.training.small_runs import SMALL, files_of, run, train_until_killed

FEW = [*SMALL, "first_pass.epochs=1", "second_pass.epochs=2"]
TEACHER = ["recipe=accurate", "model=bilstm", "encoder.hidden=8", "encoder.layers=1", *FEW]


def random_soft(rng: np.random.Generator, size: int, over: Over) -> SoftTargets:
    """Distributions over all outputs, or over some, of which there are three at most."""
    scores = rng.normal(size=(size, OUTPUTS)).astype(np.float32) * 3
    outputs = np.stack([rng.permutation(OUTPUTS)[:3] for _ in range(size)]).astype(np.int32)
    outputs[:, 1:][rng.random((size, 2)) < 0.5] = NO_NODE
    return SoftTargets.of_scores(scores, outputs if over is Over.optimal else None)


def slow_distillation(scores: np.ndarray, soft: SoftTargets, weight: float, temperature: float) -> float:
    """The cross entropy, output by output, times the square of the temperature."""
    total = 0.0
    for row, probabilities in enumerate(soft.probabilities):
        outputs = range(OUTPUTS) if soft.outputs is None else soft.outputs[row]
        everything = sum(math.exp(score / temperature) for score in scores[row])
        for output, probability in zip(outputs, probabilities, strict=True):
            if output != NO_NODE:
                total -= weight * probability * math.log(math.exp(scores[row, output] / temperature) / everything)
    return total * temperature**2 / len(scores)


@given(st.sampled_from(Over), st.sampled_from([0.5, 1.0, 3.0]), st.integers(1, 9), st.integers(0, 99))
def test_compiled_gradients_are_those_of_autograd_and_the_loss_that_of_a_loop(over, temperature, size, seed):
    classifier, rng = make({"form": Embedding(4, True)}, "tanh"), np.random.default_rng(seed)
    features, targets = random_batch(size, 2, seed)
    soft = random_soft(rng, size, over)
    soft.probabilities[rng.random(size) < 0.3] = 0  # examples that no teacher has seen
    weighted = torch.from_numpy(soft.dense(OUTPUTS) * np.float32(0.7))
    compiled, exact = CompiledGradients(classifier), deepcopy(classifier).double()
    loss = compiled.loss(features, targets, taught=TeacherTargets(weighted, temperature))
    scores = exact(features)
    expected = set_loss(scores, targets) + distillation_loss(scores, TeacherTargets(weighted.double(), temperature))
    slow = set_loss(scores, targets).item() + slow_distillation(scores.detach().numpy(), soft, 0.7, temperature)
    assert expected.item() == pytest.approx(slow, rel=1e-6)
    assert loss == pytest.approx(slow, rel=1e-5, abs=1e-6)
    expected.backward()
    for name, parameter in exact.named_parameters():
        found = torch.from_numpy(compiled.gradients[name].dense()).reshape(parameter.shape).double()
        gradient = torch.zeros_like(found) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(found, gradient, rtol=1e-5, atol=1e-5, msg=name)


def test_soft_targets_stay_with_their_examples():
    rng = np.random.default_rng(0)

    def part(n: int, soft: SoftTargets | None) -> Examples:
        return Examples(np.zeros((n, 2), np.int32), np.zeros((n, 1), np.int32), np.zeros(n, np.int32), soft=soft)

    for over in Over:
        first, last = random_soft(rng, 4, over), random_soft(rng, 5, over)
        joined = Examples.concatenate([part(4, first), part(3, None), part(5, last)])
        taken = joined.take(np.array([11, 5, 0])).soft
        expected = [last.dense(OUTPUTS)[4], np.zeros(OUTPUTS), first.dense(OUTPUTS)[0]]
        np.testing.assert_array_equal(taken.dense(OUTPUTS), expected)
        np.testing.assert_allclose(first.probabilities.sum(axis=1), 1, rtol=1e-6)
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


@pytest.mark.parametrize(
    ("over", "temperature", "several"),
    [(Over.optimal, 1.0, False), (Over.all, 1.0, False), (Over.all, 2.5, True), (Over.optimal, 1.0, True)],
)
def test_it_says_what_its_classifiers_do_of_each_configuration(treebank, teacher, second_teacher, over, temperature, several):
    """Configurations of several batches, each beside what the classifiers say of it in the sentences as a whole.

    And what is said does not depend on whether a teacher reads the sentences once or batch by batch.
    """
    models = [Model.load(folder) for folder in ([teacher, second_teacher] if several else [teacher])]
    model = models[0]
    sentences = read_treebank(treebank).sentences
    by_teacher = [one.vocabularies.encode(sentences) for one in models]
    encoded = by_teacher[0]
    trees = oracles.projectivize_trees(oracles.Trees.from_heads(s.heads for s in sentences))
    relations = np.zeros(len(trees.heads), np.int32)
    data = TrainingSentences(encoded, trees, relations)
    oracle = oracles.create("context_rows").bind(trees)
    slow = [one.scorer(its) for one, its in zip(models, by_teacher, strict=True)]
    asked = Teacher(models, by_teacher, over, temperature)
    with pytest.MonkeyPatch.context() as patch:  # room for the vectors of the first teacher
        patch.setattr("parser.training.examples.teacher._KEPT", 4 * 2 * 8 * (encoded.offsets[-1] + 1) if several else 0)
        with_less_room = Teacher(models, by_teacher, over, temperature)
    compared = 0

    def teach(batch, rows, transitions, outputs):
        nonlocal compared
        found = asked(batch, rows, transitions, outputs).dense(model.n_outputs)
        scores = [
            scorer(one.table.extract(batch.now, rows, its, batch.numbers, transitions)).astype(np.float64)
            for one, its, scorer in zip(models, by_teacher, slow, strict=True)
        ]
        for row, of_all, right in zip(found, zip(*scores, strict=True), outputs, strict=True):
            own = [a for a in range(model.n_outputs) if over is Over.all or a in right]
            expected = np.zeros(model.n_outputs)
            for its_scores in of_all:
                total = sum(math.exp(its_scores[a] / temperature) for a in own)
                for a in own:
                    expected[a] += math.exp(its_scores[a] / temperature) / total / len(models)
            np.testing.assert_allclose(row, expected, rtol=1e-3, atol=1e-5)
            compared += 1
        again = with_less_room(batch, rows, transitions, outputs)
        np.testing.assert_array_equal(again.dense(model.n_outputs), found.astype(np.float32))
        return again

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parser.training.examples.examples._BATCH", 12)
        examples, _ = explore(data, oracle, model.system, model.table, slow[0], soft_targets=teach)
    assert compared == len(examples) == len(examples.soft) == 2 * encoded.lengths.sum()


@pytest.mark.parametrize(("over", "temperature"), [("all", "2"), ("optimal", "1")])
def test_a_killed_run_is_resumed_to_the_same_end_and_the_card_names_the_teacher(treebank, teacher, tmp_path, over, temperature):
    how = [f"distillation.over={over}", f"distillation.temperature={temperature}"]
    taught = run(treebank, "recipe=accurate", *FEW, f"distillation.teacher={teacher}", *how)
    train(taught, tmp_path / "whole", [ModelCard("train")])
    card = (tmp_path / "whole" / "model" / "README.md").read_text()
    (tmp_path / "whole" / "model" / "README.md").unlink()
    train_until_killed(taught, tmp_path / "killed", 2)
    train(taught, tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    steps = "all steps" if over == "all" else "the optimal steps"
    divided = ", temperature 2" if over == "all" else ""
    digest = Manifest.of(taught).files["distillation.teacher/classifier.safetensors"]
    assert f"distributions over {steps} of an encoder, encoder (SHA-256 of its weights: `{digest}`), weight 1{divided}." in card
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
    told = [f"{name} (SHA-256 of its weights: `{it}`)" for name, it in zip(("encoder", "another"), digests, strict=True)]
    assert f"over the optimal steps of 2 encoders (mean): {', '.join(told)}, weight 1." in card
    (tmp_path / "whole" / "model" / "README.md").unlink()
    train_until_killed(taught, tmp_path / "killed", 2)
    train(taught, tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    with pytest.raises(ModelError, match="no such model folder"):
        train(run(treebank, "recipe=accurate", *FEW, f"distillation.teacher=[{teacher},{tmp_path / 'none'}]"), tmp_path / "run")


def test_a_teacher_of_other_relations_or_without_an_encoder_or_not_there_is_refused(treebank, teacher, tmp_path):
    other = tmp_path / "other.conllu"
    other.write_text(treebank.read_text().replace("\tobj\t", "\tiobj\t"))
    taught = ["recipe=accurate", *FEW, f"distillation.teacher={teacher}"]
    with pytest.raises(SettingsError, match=r"relations .*treebank="):
        train(run(other, *taught), tmp_path / "run")
    with pytest.raises(ModelError, match="no such model folder"):
        train(run(treebank, *taught, f"distillation.teacher={tmp_path / 'none'}"), tmp_path / "run")
    mlp = Model.load(teacher)
    mlp = Model.new(mlp.vocabularies, mlp.relations, mlp.slots[-1:], replace(mlp.spec, encoder=None, embeddings={}))
    mlp.save(tmp_path / "mlp")
    with pytest.raises(SettingsError, match="without an encoder"):
        train(run(treebank, *taught, f"distillation.teacher={tmp_path / 'mlp'}"), tmp_path / "run")
