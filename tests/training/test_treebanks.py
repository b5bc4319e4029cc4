"""One model of several treebanks: they are told apart in training, and one is chosen in parsing."""

import random
from pathlib import Path

import pytest

from parser import Parser
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import load_model
from parser.model.loading import load
from parser.model_folder import ModelError
from parser.training.observers.console import final_table
from parser.training.run import train
from tests.parsed_files import parse_file
from tests.toy import planned, sentence, write_conllu
from tests.training.small_runs import TEXT, run_alone

FEW = [
    *TEXT, "first_pass.epochs=12", "second_pass.epochs=1", "optimizer.batch_size=20", "keep=last",
    "optimizer.name=adam", "optimizer.learning_rate=0.01", "encoder.attribute_dropout=0",
    "encoder.dropout=0",
]  # fmt: skip
WORDS = [["a", "b", "c", "d"]]


def to_the_left(n: int) -> list[int]:
    return [0, *range(1, n)]


def to_the_right(n: int) -> list[int]:
    return [*range(2, n + 1), 0]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path]:
    """The same words, with heads on the left in one treebank, and on the right in the other."""
    folder, rng = tmp_path_factory.mktemp("treebanks"), random.Random(1)
    lengths = [rng.randint(2, 6) for _ in range(30)]
    for name, heads in (("left", to_the_left), ("right", to_the_right)):
        write_conllu(folder / f"{name}.conllu", [sentence(heads(n)) for n in lengths])
    return folder / "left.conllu", folder / "right.conllu"


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory) -> tuple[Path, dict]:
    left, right = files
    parts = [f"treebank.{part}={{right: {right}, left: [{left}]}}" for part in ("train", "dev")]
    folder = tmp_path_factory.mktemp("run")
    return folder, train(planned("treebank.name=both", *parts, "treebank.test=null", *FEW), folder)


def test_they_are_told_apart(trained):
    """No parser that does not know which is meant is right in more than half of these trees."""
    _, metrics = trained
    assert metrics["dev"]["left/uas"] > 90
    assert metrics["dev"]["right/uas"] > 90
    assert f"dev LAS by treebank: left {metrics['dev']['left/las']:.2f} right" in final_table(
        metrics
    )


def test_one_is_chosen(trained, files, tmp_path):
    folder, _ = trained
    found = {
        name: Parser.load(folder, treebank=name).parse(WORDS)[0].heads for name in ("left", "right")
    }
    assert found == {"left": to_the_left(4), "right": to_the_right(4)}
    assert Parser.load(folder).parse(WORDS)[0].heads == found["right"]  # the first one
    for name, file in zip(("left", "right"), files, strict=True):
        model = load_model(folder, ParseOptions(treebank=name))
        with file.open("rb") as read, (tmp_path / name).open("wb") as written:
            parse_file(model, read, written)
        parsed, gold = (
            one.read_text(encoding="utf-8").splitlines() for one in (tmp_path / name, file)
        )
        right = [
            line.split("\t")[6] == other.split("\t")[6]
            for line, other in zip(parsed, gold, strict=True)
            if line
        ]
        assert sum(right) > 0.9 * len(right)
    with pytest.raises(ModelError, match="choose one of right, left"):
        load_model(folder, ParseOptions(treebank="el"))


def test_a_model_of_one_treebank_has_none_to_choose(files, tmp_path):
    train(run_alone(files[0], *TEXT, "second_pass.epochs=1"), tmp_path)
    assert load(tmp_path).vocabularies.treebanks == []
    with pytest.raises(ModelError, match="only one treebank; omit"):
        load_model(tmp_path, ParseOptions(treebank="left"))


@pytest.mark.parametrize(("name", "taken"), [("left", "left"), ("elsewhere", "right")])
def test_training_goes_on_with_a_known_treebank_or_the_first(
    trained, files, tmp_path, caplog, name, taken
):
    """The model keeps its vectors of treebanks;
    that of the new sentences is the default in parsing.
    """
    caplog.set_level("INFO")
    file = files[["left", "right"].index(taken)]
    part = [
        f"treebank.name={name}",
        f"treebank.train={file}",
        f"treebank.dev={file}",
        "treebank.test=null",
        *FEW,
    ]
    metrics = train(
        planned(*part, f"start={trained[0]}", "second_pass.epochs=2"), tmp_path / "first"
    )
    assert f"(right, left): these sentences are read as {taken}; treebank.name=NAME" in caplog.text
    assert metrics["dev"]["uas"] > 90
    train(planned(*part, f"start={tmp_path}/first", "second_pass.epochs=1"), tmp_path / "second")
    for folder in (tmp_path / "first", tmp_path / "second"):
        assert {*load(folder).vocabularies.treebanks} == {"left", "right"}
        assert Parser.load(folder).parse(WORDS) == Parser.load(folder, treebank=taken).parse(WORDS)
        assert Parser.load(folder, treebank="left").parse(WORDS)[0].heads == to_the_left(4)


def test_training_goes_on_with_several_under_other_names(trained, files, tmp_path):
    names = f"{{up: {files[1]}, left: {files[0]}}}"
    more = [
        "treebank.name=more",
        f"treebank.train={names}",
        f"treebank.dev={names}",
        "treebank.test=null",
        *FEW,
    ]
    metrics = train(planned(*more, f"start={trained[0]}", "second_pass.epochs=2"), tmp_path)
    assert load(tmp_path).vocabularies.treebanks == ["up", "left", "right"]
    assert metrics["dev"]["left/uas"] > 90
