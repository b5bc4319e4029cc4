"""Distillation: the loss by soft targets, what a teacher says of configurations, whole runs, and teachers that do not fit."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from parser.data.treebank import read_treebank
from parser.model.trained_model import TrainedModel
from parser.model_folder import ModelError
from parser.network_spec import Embedding
from parser.settings import SettingsError
from parser.training.compiled.gradients import CompiledGradients, set_loss
from parser.training.examples.examples import Examples, TrainingSentences
from parser.training.examples.exploration import explore
from parser.training.examples.teacher import Teacher, softmax
from parser.training.model_card import ModelCard
from parser.training.run import train
from parser.training.run_folder import Manifest
from tests.training.classifiers import OUTPUTS, check_compiled, make, random_batch
from tests.training.small_runs import BILSTM, check_resumes, files_of, run

FEW = ["first_pass.epochs=1", "second_pass.epochs=2"]
TEACHER = [*BILSTM, *FEW]
STUDENT = ["recipe=accurate", *FEW]


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
    classifier = make({"form": Embedding(4, True)}, "tanh")
    features, targets = random_batch(size, 2, seed)
    soft = random_soft(np.random.default_rng(seed), size)
    found = check_compiled(CompiledGradients(classifier), classifier, features, targets, soft=torch.from_numpy(soft))
    scores = classifier.double()(features).detach()
    assert found == pytest.approx(set_loss(scores, targets).item() + slow_distillation(scores.numpy(), soft), rel=1e-6)


def test_soft_targets_stay_with_their_examples():
    rng = np.random.default_rng(0)

    def part(n: int, soft: np.ndarray | None) -> Examples:
        return Examples(np.zeros((n, 2), np.int32), np.zeros((n, 1), np.int32), np.zeros(n, np.int32), soft=soft)

    first, last = random_soft(rng, 4), random_soft(rng, 5)
    joined = Examples.concatenate([part(4, first), part(3, None), part(5, last)])
    np.testing.assert_array_equal(joined.take(np.array([11, 5, 0])).soft, [last[4], np.zeros(OUTPUTS), first[0]])
    assert Examples.concatenate([part(4, None), part(3, None)]).soft is None


@pytest.fixture
def teachers(finished) -> list[Path]:
    """The second one is of another seed, and reads no UPOS."""
    return [finished(*TEACHER, *more)[0] for more in ([], ["seed=2", "features.upos=[]"])]


@pytest.mark.parametrize("several", [False, True])
def test_it_says_what_its_classifiers_do_of_each_configuration(treebank, teachers, several):
    """Configurations of several batches, each beside what the classifiers say of it in the sentences as a whole.

    And what is said does not depend on whether a teacher reads the sentences once or batch by batch.
    """
    models = [TrainedModel.load(folder, int8=False) for folder in teachers[: 1 + several]]
    model, sentences = models[0], read_treebank(treebank).sentences
    by_teacher = [one.vocabularies.encode(sentences) for one in models]
    encoded = by_teacher[0]
    trees = oracles.projectivize_trees(oracles.Trees.from_heads(s.heads for s in sentences))
    data = TrainingSentences(encoded, trees, np.zeros(len(trees.heads), np.int32))
    slow = [one.scorer(its) for one, its in zip(models, by_teacher, strict=True)]
    asked = Teacher(models, by_teacher)
    with pytest.MonkeyPatch.context() as patch:  # room for the vectors of the first teacher
        patch.setattr("parser.training.examples.teacher._KEPT", 4 * 2 * 8 * (encoded.offsets[-1] + 1) if several else 0)
        with_less_room = Teacher(models, by_teacher)
    compared = 0

    def teach(batch, rows, transitions):
        nonlocal compared
        found, expected = asked(batch, rows, transitions), []
        for one, its, scorer in zip(models, by_teacher, slow, strict=True):
            scores = scorer(one.table.extract(batch.now, rows, its, batch.numbers, transitions)).astype(np.float64)
            expected.append(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(found, np.mean(expected, axis=0), rtol=1e-3, atol=1e-5)
        np.testing.assert_array_equal(with_less_room(batch, rows, transitions), found)
        compared += len(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parser.batch_sizes.SENTENCES_PER_EXPLORATION", 12)
        oracle = oracles.create("context_rows").bind(trees)
        examples, _ = explore(data, oracle, model.system, model.table, slow[0], soft_targets=teach)
    assert compared == len(examples) == len(examples.soft) == 2 * encoded.lengths.sum()


@pytest.mark.parametrize("several", [False, True])
def test_a_killed_run_is_resumed_to_the_same_end_and_the_card_names_the_teachers(
    treebank, finished, teachers, tmp_path, several
):
    given = f"[{teachers[0]},{teachers[1]}]" if several else teachers[0]
    taught = run(treebank, *STUDENT, f"distillation.teacher={given}")
    train(taught, tmp_path / "whole", [ModelCard("train")])
    path = tmp_path / "whole" / "model" / "README.md"
    card = path.read_text()
    path.unlink()
    check_resumes(taught, tmp_path, 2, tmp_path / "whole")
    for number, folder in enumerate(teachers[: 1 + several]):
        name = f"distillation.teacher.{number}" if several else "distillation.teacher"
        digest = Manifest.of(taught).files[f"{name}/classifier.safetensors"]
        assert f"| {name} | {folder.name} | `{digest}` | weights of a network |" in card
        assert str(folder) not in card
    assert files_of(finished(*STUDENT)[0]) != files_of(tmp_path / "whole")


def test_a_teacher_that_does_not_fit_is_refused(treebank, teachers, tmp_path):
    other = tmp_path / "other.conllu"
    other.write_text(treebank.read_text().replace("\tobj\t", "\tiobj\t"))
    mlp = TrainedModel.load(teachers[0])
    mlp = TrainedModel.new(mlp.vocabularies, mlp.relations, mlp.slots[-1:], replace(mlp.spec, encoder=None, embeddings={}))
    mlp.save(tmp_path / "mlp")
    for file, teacher, overrides, error, said in (
        (treebank, teachers[0], ["system=swap", "column=null"], SettingsError, "swap"),
        (treebank, teachers[0], ["features.upos=[]"], SettingsError, "reads upos"),
        (treebank, f"[{teachers[0]},{tmp_path / 'none'}]", [], ModelError, "neither a folder nor a model"),
        (treebank, tmp_path / "mlp", [], SettingsError, "without an encoder"),
        (other, teachers[0], [], SettingsError, "relations"),
    ):
        with pytest.raises(error, match=said):
            train(run(file, *STUDENT, f"distillation.teacher={teacher}", *overrides), tmp_path / "run")


def test_the_relations_of_a_run_have_the_numbers_of_its_teachers(treebank, teachers, tmp_path):
    """There are more sentences with the last of its relations than with any other."""
    relations = TrainedModel.load(teachers[0]).relations.symbols
    sentences = treebank.read_text().strip("\n").split("\n\n")
    with_last = next(one for one in sentences if f"\t{relations[-1]}\t" in one)
    more = tmp_path / "more.conllu"
    more.write_text("\n\n".join([*sentences, *[with_last] * 200]) + "\n\n")
    for name, taught in (("alone", []), ("taught", [f"distillation.teacher={teachers[0]}"])):
        train(run(treebank, *STUDENT, "second_pass.epochs=1", f"treebank.train=[{treebank},{more}]", *taught), tmp_path / name)
        assert (TrainedModel.load(tmp_path / name).relations.symbols == relations) is (name == "taught")
