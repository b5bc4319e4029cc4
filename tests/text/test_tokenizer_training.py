"""A tokenizer that a process of its own trains."""

from __future__ import annotations

import logging
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from parser.conllu.checks import COLUMN_NAMES
from parser.text import tokenizer_training
from parser.text.tokenizer_training import tokenizer_in_training, train_tokenizer, train_tokenizer_apart
from parser.text.udpipe import UdpipeError
from parser.training import run as training_run
from tests.text.tiny_tokenizer import TINY, train_tiny_tokenizer
from tests.toy import sentence, settings, write_conllu

pytest.importorskip("ufal.udpipe", reason="UDPipe is not installed (extra text)")


def test_it_is_the_same_as_that_of_this_process(tmp_path, caplog):
    train_tiny_tokenizer(tmp_path / "here.udpipe")
    with caplog.at_level(logging.INFO):
        train_tokenizer_apart([tmp_path / "here.conllu"], None, tmp_path / "apart.udpipe", TINY)
    assert [message.partition(",")[0] for message in caplog.messages[1:]] == ["tokenizer"] * TINY["epochs"]
    assert (tmp_path / "apart.udpipe").read_bytes() == (tmp_path / "here.udpipe").read_bytes()


def test_the_columns_of_conllu_plus_are_put_into_order(tmp_path):
    train_tiny_tokenizer(tmp_path / "plain.udpipe")
    lines = (tmp_path / "plain.conllu").read_text().splitlines()
    order = "# global.columns = PARSEME:MWE ID LEMMA FORM UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
    columns = [line.split("\t") for line in lines]
    plus = ["\t".join(["*", one[0], one[2], one[1], *one[3:]]) if len(one) > 1 else "" for one in columns]
    (tmp_path / "plus.conllup").write_text("\n".join([order, *plus]) + "\n")
    train_tokenizer([tmp_path / "plus.conllup"], None, tmp_path / "plus.udpipe", TINY)
    assert (tmp_path / "plus.udpipe").read_bytes() == (tmp_path / "plain.udpipe").read_bytes()


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_files_need_no_blank_line_at_their_end(tmp_path, ending):
    train_tiny_tokenizer(tmp_path / "once.udpipe")
    text = (tmp_path / "once.conllu").read_text()
    (tmp_path / "short.conllu").write_bytes((text.rstrip("\n") + ending).encode())
    (tmp_path / "twice.conllu").write_text(text * 2)
    train_tokenizer([tmp_path / "short.conllu", tmp_path / "once.conllu"], None, tmp_path / "two.udpipe", TINY)
    train_tokenizer([tmp_path / "twice.conllu"], None, tmp_path / "one.udpipe", TINY)
    assert (tmp_path / "two.udpipe").read_bytes() == (tmp_path / "one.udpipe").read_bytes()


def test_what_is_refused_there_is_refused_here(tmp_path):
    (tmp_path / "bad.conllu").write_text("1\ta\n\n")
    with pytest.raises(UdpipeError, match=r"bad\.conllu"):
        train_tokenizer_apart([tmp_path / "bad.conllu"], None, tmp_path / "made.udpipe", TINY)
    with pytest.raises(ChildProcessError, match=r"nowhere\.conllu"):
        train_tokenizer_apart([tmp_path / "nowhere.conllu"], None, tmp_path / "made.udpipe", TINY)
    assert not (tmp_path / "made.udpipe").exists()


def test_it_is_given_up_where_nobody_waits_for_it(tmp_path, monkeypatch):
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(tokenizer_training.subprocess, "Popen", Noted)
    train_tiny_tokenizer(tmp_path / "here.udpipe")
    with (
        pytest.raises(ZeroDivisionError),
        tokenizer_in_training([tmp_path / "here.conllu"], None, tmp_path / "made.udpipe", TINY | {"epochs": 10**6}),
    ):
        raise ZeroDivisionError
    assert started[0].returncode is not None
    assert not (tmp_path / "made.udpipe").exists()


def test_ctrl_c_ends_the_process(tmp_path, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def wait(self, *arguments, **options):
            if self not in started:
                started.append(self)
                raise KeyboardInterrupt
            return super().wait(*arguments, **options)

    monkeypatch.setattr(tokenizer_training.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_tokenizer_apart([tmp_path / "a.conllu"], None, tmp_path / "made.udpipe")
    assert started[0].returncode is not None


@pytest.mark.parametrize("segmenter", ["bilstm", "none"])
def test_a_run_trains_it_into_the_folder_of_the_model_and_then_a_segmenter(tmp_path, monkeypatch, caplog, segmenter):
    asked, happened = [], []

    @contextmanager
    def beside(train: list[str], dev: str, made: Path) -> Iterator[Callable[[], int]]:
        asked.append((train, dev))
        happened.append("begun")
        yield lambda: happened.append("waited") or made.write_bytes(b"tokenizer")
        happened.append("ended")

    monkeypatch.setattr(training_run, "train_segmenter", lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(training_run, "tokenizer_in_training", beside)
    monkeypatch.setattr(training_run, "model_tokenizer", Path)  # which would read it back
    monkeypatch.setattr(
        training_run.Run, "train", lambda run, train=training_run.Run.train: happened.append("parser") or train(run)
    )
    path = str(write_conllu(tmp_path / "a.conllu", [sentence([2, 0, 2])] * 3))
    files = [f"treebank.train={path}", f"treebank.dev={path}", "treebank.test=null"]
    training_run.train(
        settings(*files, "model=linear", "online.iterations=1", "tokenizer=udpipe", f"segmenter={segmenter}"), tmp_path / "run"
    )
    target = tmp_path / "run/model/tokenizer.udpipe"
    assert asked == [([path], path), *([([path], path, target, 1)] if segmenter == "bilstm" else [])]
    assert happened == ["begun", "parser", "waited", "ended"]
    assert target.read_bytes() == b"tokenizer"
    assert "tokenizer=udpipe: this model reads UPOS, which text lacks; recipe=text needs none" in caplog.messages


@pytest.mark.parametrize(
    ("given", "train", "dev"),
    [
        ("treebank.folds=3 treebank.fold=2 treebank.held_out=0.25", "1 3 4 7 9", "6"),
        ("treebank.held_out=0.25 treebank.on_error=skip", "1 2 3 5 6 7 9", "4 8"),
        ("treebank.held_out=0.25 treebank.name=plus", "1 2 3 5 6 7 9", "4 8"),
    ],
)
def test_a_tokenizer_is_trained_on_the_training_part_alone(tmp_path, monkeypatch, given, train, dev):
    """Not on what is tested, held out, or faulty; dev stops it."""
    read = []

    def trained(train: list[str], dev: str, *others: object) -> None:
        texts = [Path(name).read_text(encoding="utf-8") for name in (*train, dev)]
        assert all("global.columns" not in text and "\tO\n" not in text for text in texts)
        read.append([" ".join(re.findall("^# sent_id = (.*)$", text, re.MULTILINE)) for text in texts])

    @contextmanager
    def beside(train: list[str], dev: str, made: Path) -> Iterator[Callable[[], None]]:
        trained(train, dev)
        yield made.touch

    monkeypatch.setattr(training_run, "train_segmenter", trained)
    monkeypatch.setattr(training_run, "tokenizer_in_training", beside)
    monkeypatch.setattr(training_run, "model_tokenizer", Path)  # which would read it back
    word = "{}\ta{}\ta\tX\t_\t_\t{}\t{}\t_\t_\n"
    tree = word.format(1, 1, 0, "root") + word.format(2, 2, 1, "dep")
    faulty = tree.replace("\t1\t", "\t5\t") if "skip" in given else ""
    text = "\n".join([faulty, *(f"# sent_id = {number}\n{tree}" for number in range(1, 10))])
    if "plus" in given:
        text = f"# global.columns = {' '.join(COLUMN_NAMES)} NER\n" + text.replace("\t_\n", "\t_\tO\n")
    (tmp_path / "a.conllu").write_text(text)
    files = f"treebank.train={tmp_path}/a.conllu treebank.dev=null treebank.test=null"
    made = settings(*files.split(), "model=linear", "online.iterations=1", "tokenizer=udpipe", *given.split())
    training_run.train(made, tmp_path / "run")
    assert read == [[train, dev]] * 2
