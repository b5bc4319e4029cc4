"""A task that is defined here alone: trained, saved, loaded, predicted, scored and gone on with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from parser.data.attributes import AttributeColumns
from parser.data.parts.part import Labels
from parser.data.tasks import TASKS
from parser.data.tasks.task import Task, TaskSource
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.parse_options import ParseOptions, TagUse
from parser.decoding.predictor import Predictor
from parser.inference.arithmetic import SinglePrecision
from parser.inference.parts import Tensors
from parser.inference.tasks import FrozenTask, frozen_task
from parser.model.extension import transfer_weights
from parser.model.model import FrozenModel
from parser.model.trained_model import TrainedModel
from parser.model_folder import MODEL, TENSORS, VOCABULARIES, Contents, ModelError, read_header
from parser.network_spec import ClassifierSpec, Shapes
from parser.networks.layers import linear, to_device
from parser.networks.tasks import EncodedTokens, TaskModule, module_of_task
from parser.settings.plan import NetworkPlan
from parser.training.run import train
from parser.training.run_folder import METRICS
from tests.forgery import change
from tests.test_toy_part import plan_of
from tests.toy import sentence, write_conllu


class CaseTask(Task):
    """How a word is written: in capitals, with a capital at its beginning, or otherwise."""

    name = "case"

    def __init__(self, symbols: list[str]) -> None:
        self.vocabulary = Vocabulary(symbols)

    @classmethod
    def new(cls, source: TaskSource) -> CaseTask:
        return cls([]).extended(source)

    def extended(self, source: TaskSource) -> CaseTask:
        return CaseTask(
            self.vocabulary.extended(
                value for one in source.sentences for value in self.values(one, "case")
            )
        )

    @classmethod
    def weights(cls, settings: Any) -> dict[str, float]:
        return {"case": 1.0}

    @property
    def columns(self) -> Mapping[str, Vocabulary]:
        return {"case": self.vocabulary}

    def values(self, sentence: AttributeColumns, column: str) -> list[str]:
        return [
            "upper" if form.isupper() else "title" if form.istitle() else "lower"
            for form in sentence.forms
        ]

    def layer(self, spec: ClassifierSpec) -> int:
        return 1

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        assert spec.encoder is not None
        values = len(self.vocabulary.symbols)
        return {"output.weight": (values, spec.encoder.size), "output.bias": (values,)}

    def labels(self) -> dict[str, Labels]:
        return {"output.weight": self.vocabulary.symbols, "output.bias": self.vocabulary.symbols}

    def described(self) -> dict[str, Any]:
        return {self.name: self.vocabulary.symbols}

    @classmethod
    def read(
        cls, contents: Contents, relations: Vocabulary, tasks: Sequence[Task]
    ) -> CaseTask | None:
        found = contents.vocabularies
        return cls(found[cls.name]) if cls.name in found else None


class CaseModule(TaskModule):
    def __init__(self, shapes: Shapes) -> None:
        super().__init__()
        self.output = linear(shapes, "output")

    def read(self, tokens: Tensor) -> dict[str, Tensor]:
        return {"case": self.output(tokens)}

    def losses(
        self, encoded: EncodedTokens, gold: np.ndarray, dropping: bool
    ) -> Iterator[tuple[str, Tensor]]:
        words = np.flatnonzero(gold[0] >= N_RESERVED)  # not the roots
        places, values = (
            to_device(array, encoded.tokens.device)
            for array in (words, gold[0, words].astype(np.int64))
        )
        yield (
            "case",
            nn.functional.cross_entropy(encoded.scores["case"][places], values - N_RESERVED),
        )


@module_of_task.register
def module_of_case(task: CaseTask, spec: ClassifierSpec) -> TaskModule:
    return CaseModule(task.shapes(spec))


@frozen_task.register
def frozen_case(
    task: CaseTask, spec: ClassifierSpec, tensors: Tensors, arithmetic: SinglePrecision
) -> FrozenTask:
    return FrozenTask({"case": arithmetic.matrix(tensors["output.weight"], tensors["output.bias"])})


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """Keep the task in the list while the tests last."""
    TASKS.append(CaseTask)
    yield
    TASKS.remove(CaseTask)


@pytest.fixture(scope="module")
def run(registered, tmp_path_factory) -> Path:
    """Return a run with the task, where every other word is written in capitals."""
    folder = tmp_path_factory.mktemp("toy")
    toys = [sentence([2, 0, 2, 2], random.Random(seed)) for seed in range(25)]
    for number, one in enumerate(toys):
        one.forms = [
            form.upper() if (number + place) % 2 else form.lower()
            for place, form in enumerate(one.forms)
        ]
    for part, some in {"train": toys[:20], "dev": toys[20:]}.items():
        write_conllu(folder / f"{part}.conllu", some)
    train(plan_of(folder), folder / "run")
    return folder / "run"


def words() -> list[Any]:
    made = sentence([0, 1, 1, 1])
    made.forms = ["a", "ABC", "W" * 20, "Ab"]
    return [made, sentence([0])]


def predicted(model: TrainedModel | FrozenModel, sentences: list[Any]) -> list[str]:
    predictor = Predictor(model, ParseOptions(tags=TagUse.OVERWRITE))
    return predictor.predict(
        model.vocabularies.encode(sentences), [one.forms for one in sentences]
    ).tags.values["case"]


def test_its_weights_are_in_the_folder_and_its_gold_data_in_the_corpus(run):
    model = TrainedModel.load(run)
    assert read_header(run / MODEL)["tokens.case.output.weight"].shape == (2, 12)
    assert [task.name for task in model.vocabularies.tasks] == ["tagger", "heads", "case"]
    assert (
        json.loads((run / MODEL / VOCABULARIES).read_text())["case"]
        == model.vocabularies.columns["case"].symbols
    )
    plan = plan_of(run.parent).model
    assert isinstance(plan, NetworkPlan)
    assert [*plan.task_weights] == ["upos", "xpos", "feats", "heads", "case"]


def test_it_is_scored_on_dev(run):
    scores = json.loads((run / METRICS).read_text())
    assert 0 <= scores["dev"]["case"] <= 100
    assert 0 <= scores["after_first_pass"]["dev"]["case"] <= 100


def test_it_is_predicted_the_same_with_torch_and_without(run):
    model, frozen = TrainedModel.load(run), FrozenModel.load(run, int8=False)
    encoded = model.vocabularies.encode(words())
    by_torch = model.classifier.tokens.tags_and_rules(encoded)[0]["case"]
    vectors, by_arrays, _ = frozen.weights.encoder.encode_with_tags(encoded)
    np.testing.assert_array_equal(by_arrays["case"], by_torch)
    torch.testing.assert_close(
        torch.from_numpy(vectors), model.classifier.tokens.encoded(encoded), rtol=1e-4, atol=1e-5
    )
    symbols = model.vocabularies.columns["case"].symbols
    assert (
        predicted(model, words())
        == predicted(frozen, words())
        == [symbols[number] for number in by_torch]
    )


def test_its_weights_decide(run):
    frozen = FrozenModel.load(run, int8=False)
    symbols = frozen.vocabularies.columns["case"].symbols
    for number, value in enumerate(symbols):
        frozen = FrozenModel.load(run, int8=False)
        frozen.tensors["tokens.case.output.bias"][number] += 1000
        assert {*predicted(frozen, words())} == {value}


def test_files_are_parsed_and_tags_are_written(run):
    text = (run.parent / "dev.conllu").read_bytes()
    parse_file(
        Predictor(TrainedModel.load(run), ParseOptions(tags=TagUse.OVERWRITE)),
        BytesIO(text),
        written := BytesIO(),
    )
    assert written.getvalue().count(b"\n") == text.count(b"\n")
    assert written.getvalue() != text


def test_training_changes_its_weights_and_begins_anew_with_the_same(run, tmp_path):
    train(plan_of(run.parent), tmp_path / "again")
    assert (tmp_path / "again" / MODEL / TENSORS).read_bytes() == (
        run / MODEL / TENSORS
    ).read_bytes()
    assert FrozenModel.load(run).tensors["tokens.case.output.bias"].any()


def test_a_training_goes_on_with_it_and_with_new_values(run, tmp_path):
    toys = [sentence([2, 0, 2, 2], random.Random(seed)) for seed in range(5)]
    for one in toys:
        one.forms = [f"Aa{form.lower()}" for form in one.forms]
    write_conllu(tmp_path / "titles.conllu", toys)
    more = f"treebank.train=[{run.parent}/train.conllu,{tmp_path}/titles.conllu]"
    train(plan_of(run.parent, more, f"start={run}"), tmp_path / "run")
    before, after = (FrozenModel.load(folder, int8=False) for folder in (run, tmp_path / "run"))
    assert after.vocabularies.columns["case"].symbols == [
        *before.vocabularies.columns["case"].symbols,
        "title",
    ]
    assert after.tensors["tokens.case.output.bias"].shape == (3,)
    assert predicted(after, toys)[1] == "title"


def test_rows_of_known_values_are_kept(run):
    old, new = TrainedModel.load(run), TrainedModel.load(run)
    task = new.vocabularies.task(CaseTask)
    assert task is not None
    new.vocabularies.tasks[-1] = CaseTask(task.vocabulary.symbols[::-1])
    bias = "tokens.case.output.bias"
    transfer_weights(new, old)
    assert torch.equal(new.classifier.state_dict()[bias], old.classifier.state_dict()[bias].flip(0))


def test_a_folder_that_says_nothing_of_it_does_not_fit_its_weights(run, tmp_path):
    TrainedModel.load(run).save(tmp_path / "model")
    change(tmp_path / "model" / VOCABULARIES, lambda found: found.pop("case"))
    with pytest.raises(ModelError, match=TENSORS):
        TrainedModel.load(tmp_path / "model")
