"""One model of several treebanks: they are told apart in training, and one is chosen in parsing.
Each has a tokenizer of its own.
"""

import json
import random
import shutil
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from oracles.errors import OptimalStepError
from parser import Parser
from parser.commands import get, pack, serve, train_tokenizer
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import load_model
from parser.model.loading import load
from parser.model.trained_model import TrainedModel
from parser.model_folder import INDEX, MODEL, TOKENIZER, ModelError, text_files, text_folder
from parser.settings import SettingsError
from parser.settings.given import Given
from parser.settings.plan import plan
from parser.text.pipeline import TextPipeline
from parser.text.tokens import TokenizerError
from parser.training.examples.corpus import Corpus
from parser.training.observers.console import final_table
from parser.training.run import train
from tests.parsed_files import parse_file
from tests.toy import planned, sentence, settings, write_conllu
from tests.training.small_runs import TEXT, run_alone

FEW = [
    *TEXT, "first_pass.epochs=12", "second_pass.epochs=1", "optimizer.batch_size=20", "keep=last",
    "optimizer.name=adam", "optimizer.learning_rate=0.01", "encoder.attribute_dropout=0",
    "encoder.dropout=0",
]  # fmt: skip
WORDS = [["a", "b", "c", "d"]]
_DASHED = "wa-wb wc-wd.\n"


def to_the_left(n: int) -> list[int]:
    return [0, *range(1, n)]


def to_the_right(n: int) -> list[int]:
    return [*range(2, n + 1), 0]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path]:
    """Return two treebanks of the same words, with heads on the left in one,
    and on the right in the other.
    """
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


def test_a_treebank_that_is_named_by_hand_must_be_known(trained, files):
    word = "treebank.name=lefft"
    part = [f"treebank.train={files[0]}", "treebank.dev=null", "treebank.test=null", *FEW]
    words = [word, *part, f"start={trained[0]}", "second_pass.epochs=2"]
    with pytest.raises(
        SettingsError,
        match=r"^treebank\.name=lefft is unknown \(did you mean left\?\); the model knows right, "
        r"left; treebank\.train=\{lefft: FILE\} adds one$",
    ):
        Corpus.continued(plan(settings(*words), Given(words)), TrainedModel.load(trained[0]))
    by_config = ["treebank=hu", *words[1:]]
    known = Corpus.continued(
        plan(settings(*by_config), Given(by_config)), TrainedModel.load(trained[0])
    )
    assert known.vocabularies.treebanks == ["right", "left"]


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


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, Path]:
    """Return treebanks of the same text, whose dashes are words in one, and within words in
    another; the words of a third have blanks between them, and no comment with the text.
    """
    folder, rng = tmp_path_factory.mktemp("texts"), random.Random(1)
    files = {}
    for name in ("cut", "whole", "unwritten"):
        lines = []
        for _ in range(60):
            words = [f"w{rng.choice('abcdef')}-w{rng.choice('abcdef')}" for _ in range(3)]
            if name == "cut":
                words = [part for word in words for part in (*word.partition("-"),)]
            words.append(".")
            for number, word in enumerate(words, 1):
                then = words[number] if number < len(words) else ""
                joined = name != "unwritten" and ("-" in (word, then) or then == ".")
                misc = "SpaceAfter=No" if joined else "_"
                head, relation = (0, "root") if number == 1 else (1, "dep")
                lines.append(f"{number}\t{word}\t_\tX\t_\t_\t{head}\t{relation}\t_\t{misc}")
            lines.append("")
        files[name] = folder / f"{name}.conllu"
        files[name].write_text("\n".join([*lines, ""]), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def run_of_texts(texts, tmp_path_factory) -> Path:
    named = f"{{cut: {texts['cut']}, w hole: {texts['whole']}, unwritten: {texts['unwritten']}}}"
    folder = tmp_path_factory.mktemp("run")
    parts = [f"treebank.{part}={named}" for part in ("train", "dev")]
    few = ["first_pass.epochs=1", "second_pass.epochs=1", "tokenizer=characters", "segmenter=none"]
    train(planned("treebank.name=both", *parts, "treebank.test=null", *TEXT, *few), folder)
    return folder


def test_each_has_a_tokenizer(run_of_texts, caplog):
    def words(treebank: str | None) -> list[str]:
        parsed = Parser.load(run_of_texts, treebank=treebank).parse_text(_DASHED)
        return [form for sentence in parsed for form in sentence.forms]

    assert words("cut") == ["wa", "-", "wb", "wc", "-", "wd", "."]
    assert words("w hole") == ["wa-wb", "wc-wd", "."]
    assert words(None) == words("cut")  # of the first one
    with pytest.raises(TokenizerError, match="there is no tokenizer; train one"):
        words("unwritten")
    assert len([name for name in text_files(run_of_texts / MODEL) if TOKENIZER in name]) == 2
    options = ParseOptions(text=True, treebank="w hole")
    split = TextPipeline.of_options(run_of_texts, options).read(_DASHED)
    assert [token.form for token in split[0].tokens] == ["wa-wb", "wc-wd", "."]


@pytest.mark.parametrize(("treebank", "n_words"), [(None, 7), ("w hole", 3)])
def test_a_server_splits_text_as_of_its_treebank(run_of_texts, treebank, n_words):
    arguments = Namespace(model=run_of_texts, tokenizer=None, abbreviations=None)
    pipeline, why_not = serve._pipeline(arguments, treebank)
    assert pipeline is not None, why_not
    assert len(pipeline.read(_DASHED)[0].tokens) == n_words


def start(module, monkeypatch, *words: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["command", *map(str, words)])
    module.main()


def test_a_tokenizer_is_trained_for_one(run_of_texts, texts, tmp_path, monkeypatch, capsys):
    """It is the one that training gives this treebank."""
    run = tmp_path / "run"
    shutil.copytree(run_of_texts, run)
    own = text_folder(run / MODEL, "cut") / TOKENIZER
    before = own.read_bytes()
    own.unlink()
    files = ["--train", texts["cut"], "--dev", texts["cut"], "--segmenter", "none"]
    start(train_tokenizer, monkeypatch, run, *files, "--treebank", "cut")
    assert own.read_bytes() == before
    with pytest.raises(OptimalStepError, match=r"'cat' .did you mean cut.*it knows cut, w hole"):
        start(train_tokenizer, monkeypatch, run, *files, "--treebank", "cat")


def test_a_pack_has_a_name_for_each(run_of_texts, texts, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPTIMAL_STEP_MODELS", raising=False)
    (run_of_texts / MODEL / "README.md").write_text("# A parser\n", encoding="utf-8")
    packs = tmp_path / "packs"
    names = ["--name", "one=cut", "--name", "two=w hole", "--name", "three"]
    dev = ["--dev", f"cut={texts['cut']}", "--dev", f"w hole={texts['whole']}"]
    for _ in range(2):  # the second time, each name is there
        start(pack, monkeypatch, run_of_texts, "-o", packs / "both.zip", *names, *dev)
    entries = json.loads((packs / INDEX).read_text(encoding="utf-8"))
    assert [entry.get("as_treebank") for entry in entries.values()] == ["cut", None, "w hole"]
    assert len({entry["sha256"] for entry in entries.values()}) == 1
    start(get, monkeypatch, "one", "two", "three", "--from", packs)
    for name, treebank, n_words in [("one", "cut", 7), ("two", "w hole", 3), ("three", "cut", 7)]:
        parser = Parser.load(name)
        assert parser.model.vocabularies.treebank == treebank
        assert len(parser.parse_text(_DASHED)[0]) == n_words
        assert len(Parser.load(name, treebank="w hole").parse_text(_DASHED)[0]) == 3


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["one=cat"], "--name one=cat: .*not trained on a treebank 'cat' .did you mean cut"),
        (["one=cut", "../x"], "not a plain name"),
    ],
)
def test_names_of_packs_that_mean_no_treebank(run_of_texts, tmp_path, monkeypatch, names, message):
    (run_of_texts / MODEL / "README.md").write_text("# A parser\n", encoding="utf-8")
    given = [word for name in names for word in ("--name", name)]
    with pytest.raises(OptimalStepError, match=message):
        start(pack, monkeypatch, run_of_texts, "-o", tmp_path / "both.zip", *given)


def test_a_default_treebank_that_the_model_does_not_know(run_of_texts, tmp_path):
    shutil.copytree(run_of_texts / MODEL, tmp_path / "model")
    settings = tmp_path / "model" / "settings.json"
    content = json.loads(settings.read_text(encoding="utf-8"))
    for treebank, message in [
        ("el", "its treebank is 'el', and the model knows cut"),
        (3, "treebank is int"),
    ]:
        settings.write_text(json.dumps(content | {"treebank": treebank}), encoding="utf-8")
        with pytest.raises(ModelError, match=f"settings.json.*{message}"):
            load(tmp_path / "model")
