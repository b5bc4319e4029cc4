"""A part of a word that is defined here alone: trained, saved, loaded, parsed and gone on with."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from parser.data.attributes import AttributeColumns
from parser.data.parts import PARTS
from parser.data.parts.part import FormPart, PartWishes
from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.predictor import Predictor
from parser.inference.parts import Tensors, WordReading, frozen
from parser.model.model import FrozenModel
from parser.model.trained_model import TrainedModel
from parser.model_folder import MODEL, TENSORS, VOCABULARIES, Contents, ModelError, read_header
from parser.network_spec import ClassifierSpec, Shapes
from parser.networks.parts import PartReading, module_of, prepare
from parser.networks.representation import Embeddings
from parser.settings.groups import SettingsError
from parser.settings.plan import NetworkPlan, Plan
from parser.training.run import train
from tests.forgery import change
from tests.toy import planned, sentence, write_conllu

SMALL = [
    "recipe=text", "encoder.layers=2", "encoder.hidden=6", "encoder.characters.hidden=4",
    "encoder.heads.size=4", "encoder.heads.relation_size=4", "encoder.lemmas=null",
    "classifier.hidden=8", "vectors.dimensions=4", "vectors.epochs=1", "first_pass.epochs=1",
    "second_pass.epochs=1",
]  # fmt: skip


class Lengths(FormPart):
    """A vector for each length of a form, up to 9 characters."""

    name = "lengths"
    rows = 1

    def numbers_of(self, form: str) -> list[int]:
        return [N_RESERVED + min(len(form), 9)]

    def size(self, spec: ClassifierSpec) -> int:
        return 3

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        return {"lengths.weight": (N_RESERVED + 10, 3)}

    def described(self) -> dict[str, Any]:
        return {self.name: 9}

    @classmethod
    def new(cls, wanted: PartWishes, sentences: Sequence[AttributeColumns]) -> Lengths | None:
        return None if wanted.spec.encoder is None else cls()

    @classmethod
    def read(cls, contents: Contents) -> Lengths | None:
        return cls() if cls.name in contents.vocabularies else None


@module_of.register(Lengths)
def module_of_lengths(
    part: Lengths, spec: ClassifierSpec, inputs: Embeddings, reader: Any
) -> PartReading:
    def read(values: Tensor, lengths: np.ndarray, dropping: bool) -> list[Tensor]:
        return [vectors(values[:, 0])]

    vectors = nn.Embedding(N_RESERVED + 10, 3)
    return PartReading(read, vectors)


@frozen.register(Lengths)
def frozen_lengths(
    part: Lengths, spec: ClassifierSpec, tensors: Tensors, reader: Any
) -> WordReading:
    return lambda values: [tensors["lengths.weight"][values[0]]]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Path]:
    """Yield a run with the part, which is registered while the tests last."""
    folder = tmp_path_factory.mktemp("toy")
    toys = [sentence([2, 0, 2, 2], random.Random(seed)) for seed in range(25)]
    for part, some in {"train": toys[:20], "dev": toys[20:]}.items():
        write_conllu(folder / f"{part}.conllu", some)
    PARTS.append(Lengths)
    try:
        train(plan_of(folder), folder / "run")
        yield folder / "run"
    finally:
        PARTS.remove(Lengths)


def plan_of(folder: Path, *more: str) -> Plan:
    files = [
        f"treebank.train={folder}/train.conllu",
        f"treebank.dev={folder}/dev.conllu",
        "treebank.test=null",
    ]
    return planned(*files, *SMALL, *more)


def words() -> list[Any]:
    made = sentence([0, 1, 1, 1])
    made.forms = ["a", "abc", "w" * 20, ""]
    return [made, sentence([0])]


def test_its_weights_are_in_the_folder(run):
    assert read_header(run / MODEL)["tokens.lengths.weight"].shape == (N_RESERVED + 10, 3)
    assert [part.name for part in TrainedModel.load(run).vocabularies.parts] == [
        "attributes",
        "characters",
        "lengths",
    ]


def test_a_model_without_an_encoder_does_not_read_it(run):
    files = [f"treebank.{part}={run.parent / part}.conllu" for part in ("train", "dev")]
    without, with_one = (
        planned(*files, "treebank.test=null", "recipe=paper").model,
        plan_of(run.parent).model,
    )
    assert isinstance(without, NetworkPlan)
    assert isinstance(with_one, NetworkPlan)
    assert (Lengths.new(without, words()), type(Lengths.new(with_one, words()))) == (None, Lengths)


def test_it_is_read_the_same_with_torch_and_without(run):
    model = FrozenModel.load(run, int8=False)
    encoded = model.vocabularies.encode(words())
    assert encoded.values[-1].tolist() == [1, 4, 6, 12, 3, 1, N_RESERVED + len(words()[1].forms[0])]
    with_torch = TrainedModel.load(run).classifier.tokens.encoded(encoded)
    torch.testing.assert_close(
        torch.from_numpy(model.weights.encoder.encode(encoded)), with_torch, rtol=1e-4, atol=1e-5
    )


def test_it_makes_a_difference(run):
    model, other = (FrozenModel.load(run, int8=False) for _ in range(2))
    encoded = model.vocabularies.encode(words())
    other.tensors["tokens.lengths.weight"] += 1
    assert not np.allclose(*(one.weights.encoder.encode(encoded) for one in (model, other)))


def test_training_changes_its_vectors_and_begins_anew_with_the_same(run, tmp_path):
    train(plan_of(run.parent), tmp_path / "again")
    assert (tmp_path / "again" / MODEL / TENSORS).read_bytes() == (
        run / MODEL / TENSORS
    ).read_bytes()
    torch.manual_seed(1)
    assert not np.allclose(
        FrozenModel.load(run).tensors["tokens.lengths.weight"],
        nn.Embedding(N_RESERVED + 10, 3).weight.detach(),
    )


def test_files_are_parsed(run):
    text = (run.parent / "dev.conllu").read_bytes()
    parse_file(Predictor(TrainedModel.load(run)), BytesIO(text), written := BytesIO())
    assert written.getvalue().count(b"\n") == text.count(b"\n")
    assert written.getvalue() != text


def test_a_training_goes_on_with_it(run, tmp_path):
    train(plan_of(run.parent, f"start={run}"), tmp_path / "run")
    assert TrainedModel.load(tmp_path / "run").described() == TrainedModel.load(run).described()


def test_it_may_refuse_a_start(run, tmp_path, monkeypatch):
    monkeypatch.setattr(
        Lengths,
        "refuse_start",
        classmethod(lambda cls, wanted, known: f"that model reads {known.name}"),
    )
    with pytest.raises(SettingsError, match=r"start=.*: that model reads lengths"):
        train(plan_of(run.parent, f"start={run}"), tmp_path / "run")


class PreparedError(Exception):
    """Says what was prepared."""


@prepare.register(Lengths)
def prepare_lengths(
    part: Lengths, wanted: PartWishes, reader: Any, sentences: Sequence[Sentences]
) -> None:
    raise PreparedError(part.name, [some.values.shape for some in sentences])


def test_it_is_prepared_if_training_does_not_change_it(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Lengths, "fixed", True)
    with pytest.raises(PreparedError) as raised:
        train(plan_of(run.parent), tmp_path / "run")
    assert raised.value.args == ("lengths", [(1, 100), (1, 25)])


def test_a_folder_that_says_nothing_of_it_does_not_fit_its_weights(run, tmp_path):
    TrainedModel.load(run).save(tmp_path / "model")
    change(tmp_path / "model" / VOCABULARIES, lambda found: found.pop("lengths"))
    with pytest.raises(ModelError, match=rf"{TENSORS}.*lengths\.weight|{TENSORS}"):
        TrainedModel.load(tmp_path / "model")
