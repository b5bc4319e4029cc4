"""A tokenizer that a process of its own trains."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from parser.text import udpipe
from parser.text.tokens import Token, conllu_lines
from parser.text.udpipe import OPTIONS, UdpipeError, tokenizer_in_training, train_tokenizer
from parser.training import run as training_run
from tests.text.tiny_tokenizer import SENTENCES
from tests.toy import sentence, write_conllu
from tests.training.small_runs import run_alone

pytest.importorskip("ufal.udpipe", reason="UDPipe is not installed")

TINY = OPTIONS | {"epochs": 1, "batch_size": 20}


def tiny_text() -> str:
    text = ""
    for words in SENTENCES * 20:
        tokens = [Token(form, (form,), space_after=form != words[-2]) for form in words]
        text += "\n".join([*conllu_lines(tokens), "", ""])
    return text


def train_tiny_tokenizer(target: Path) -> None:
    learned = target.with_suffix(".conllu")
    learned.write_text(tiny_text())
    train_tokenizer([learned], None, target, TINY)


def train_tokenizer_apart(*arguments: Any) -> None:
    with tokenizer_in_training(*arguments) as finish:
        finish()


def test_it_is_the_same_as_that_of_this_process(tmp_path, caplog):
    train_tiny_tokenizer(tmp_path / "here.udpipe")
    with caplog.at_level(logging.INFO):
        train_tokenizer_apart([tmp_path / "here.conllu"], None, tmp_path / "apart.udpipe", TINY)
    assert [message.partition(",")[0] for message in caplog.messages[1:]] == ["tokenizer"] * TINY["epochs"]
    assert (tmp_path / "apart.udpipe").read_bytes() == (tmp_path / "here.udpipe").read_bytes()


def test_its_epoch_is_chosen_by_tokens_alone_where_sentences_do_not_count(tmp_path, caplog):
    (tmp_path / "a.conllu").write_text(tiny_text())
    with caplog.at_level(logging.INFO):
        train_tokenizer_apart([tmp_path / "a.conllu"], tmp_path / "a.conllu", tmp_path / "made.udpipe", TINY, False)
    assert "heldout tokens: " in caplog.messages[-1]
    assert "sentences: " not in caplog.messages[-1]


def test_files_need_no_blank_line_at_their_end(tmp_path):
    text = tiny_text()
    files = [tmp_path / name for name in ("a.conllu", "b.conllu", "c.conllu")]
    for file, ending in zip(files, ("", "\n", "\r\n"), strict=True):
        file.write_bytes((text.rstrip("\n") + ending).encode())
    (tmp_path / "all.conllu").write_text(text * 3)
    train_tokenizer(files, None, tmp_path / "three.udpipe", TINY)
    train_tokenizer([tmp_path / "all.conllu"], None, tmp_path / "one.udpipe", TINY)
    assert (tmp_path / "three.udpipe").read_bytes() == (tmp_path / "one.udpipe").read_bytes()


def test_what_is_refused_there_is_refused_here(tmp_path):
    (tmp_path / "bad.conllu").write_text("1\ta\n\n")
    for name, message in (("bad", "line 1, sentence 1: "), ("nowhere", "there is no such file")):
        with pytest.raises(UdpipeError, match=rf"{name}\.conllu.*{message}"):
            train_tokenizer_apart([tmp_path / f"{name}.conllu"], None, tmp_path / "made.udpipe", TINY)
    assert not (tmp_path / "made.udpipe").exists()


def test_ctrl_c_ends_the_process(tmp_path, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def wait(self, *arguments, **options):
            if self not in started:
                started.append(self)
                raise KeyboardInterrupt
            return super().wait(*arguments, **options)

    monkeypatch.setattr(udpipe.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_tokenizer_apart([tmp_path / "a.conllu"], None, tmp_path / "made.udpipe")
    assert started[0].returncode is not None


MULTIWORD = "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No"
WORDS = ["1\tde\tde\tADP\tE\t_\t2\tcase\t_\t_", "2\tle\tle\tDET\t_\t_\t0\troot\t_\t_", "3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_"]
PLAIN = [MULTIWORD, *WORDS]


@pytest.mark.parametrize(
    "lines",
    [
        ["1-2\tdu\tdu\tADP\tE\tA=B\t0\troot\t0:root\tSpaceAfter=No", *WORDS],
        [MULTIWORD, WORDS[0], "1.1\te\te\tX\tX\tA=B\t2\tdep\t_\t_", *WORDS[1:]],
        [MULTIWORD, WORDS[0], "1.2\te\te\tX\t_\t_\t_\t_\t_\t_", *WORDS[1:]],
        [MULTIWORD, "1\tde\tde la\tA B\tC D\tE F\t2\tG H\tI J\tGloss=K L", *WORDS[1:]],
        [MULTIWORD, "1\tde\t\t\t\t\t2\t\t\t", *WORDS[1:]],
        [MULTIWORD, "1\tde\tde\tADP\tE\t_\t_\t_\t_\tGloss=a\rb", *WORDS[1:]],
        ["# text = du\rdu", MULTIWORD, WORDS[0], "# newpar", *WORDS[1:]],
        ["  ", *PLAIN, " ", "   "],
    ],
)
def test_udpipe_is_given_ids_forms_and_spaces_alone(tmp_path, lines):
    """For it refuses much in other columns, and never comes to the end of a line that a carriage return is in."""
    for name, some in (("plain", PLAIN), ("odd", lines)):
        (tmp_path / name).write_text("\n".join([*some, "", "# newpar id = p", *PLAIN, "", ""]), encoding="utf-8", newline="")
    text = udpipe._text(tmp_path / "odd")
    assert text.replace("\n\n\n", "\n\n").lstrip("\n") == udpipe._text(tmp_path / "plain")
    read = list(udpipe.read_conllu(text, "odd"))
    assert [[word.form for word in one.words] for one in read] == [["<root>", "de", "le", "."]] * 2
    assert [one.getNewPar() for one in read] == [False, True]
    assert [(token.form, token.getSpaceAfter()) for one in read for token in one.multiwordTokens] == [("du", False)] * 2
    (tmp_path / "a").write_bytes(b"1\t\t_\t_\t_\t_\t0\troot\t_\t_\n2\ta\rb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n")
    (without_form,) = udpipe.read_conllu(udpipe._text(tmp_path / "a"), "a")
    assert [word.form for word in without_form.words] == ["<root>", "_", "a b"]


EPOCH = "Epoch 1, logprob: -1.0e+01"


def processes_that(monkeypatch: pytest.MonkeyPatch, *programs: str) -> list[subprocess.Popen[bytes]]:
    """In place of the processes that train a tokenizer, each in its turn: Python, where ``target`` is what is to be written."""
    left, started = [*programs], list[subprocess.Popen[bytes]]()

    class Scripted(subprocess.Popen):
        def __init__(self, command: list[str], **options: Any) -> None:
            target = json.loads(command[-1])["target"]
            program = f"import os, pathlib, sys\ntarget = pathlib.Path({target!r})\n{left.pop(0)}"
            super().__init__([sys.executable, "-c", program], **options)
            started.append(self)

    monkeypatch.setattr(udpipe.subprocess, "Popen", Scripted)
    return started


def test_it_is_given_up_where_nobody_waits_for_it(tmp_path, monkeypatch):
    started = processes_that(monkeypatch, f"print({EPOCH!r}, file=sys.stderr, flush=True)\nwhile True: pass")
    with pytest.raises(ZeroDivisionError), tokenizer_in_training(["a"], None, tmp_path / "made.udpipe", TINY):
        raise ZeroDivisionError
    assert started[0].returncode is not None
    assert not (tmp_path / "made.udpipe").exists()


LINEAR = ["model=linear", "online.iterations=1", "tokenizer=udpipe"]


def small_treebank(folder: Path) -> Path:
    return write_conllu(folder / "a.conllu", [sentence([2, 0, 2])] * 3)


def run_with_tokenizer(folder: Path) -> dict[str, Any]:
    return training_run.train(run_alone(small_treebank(folder), *LINEAR, "segmenter=none"), folder / "run")


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        ("sys.exit('not enough')", ChildProcessError, "status 1\nnot enough"),
        ("print('a.conllu: it cannot', file=sys.stderr); sys.exit(2)", UdpipeError, "a.conllu: it cannot"),
        ("os.kill(os.getpid(), 9)", ChildProcessError, "training the tokenizer failed: signal 9 ended its process"),
    ],
)
def test_where_it_fails_at_once_no_parser_is_trained(tmp_path, monkeypatch, program, error, message):
    processes_that(monkeypatch, program)
    monkeypatch.setattr(training_run.Run, "train", lambda run: pytest.fail("the parser is trained"))
    with pytest.raises(error, match=re.escape(message)):
        run_with_tokenizer(tmp_path)


def test_where_it_fails_later_the_model_is_saved_and_the_same_run_trains_it_alone(tmp_path, monkeypatch, caplog):
    begun = f"print({EPOCH!r}, file=sys.stderr, flush=True)\n"
    processes_that(monkeypatch, f"{begun}os.kill(os.getpid(), 9)", f"{begun}target.write_bytes(b'tokenizer')")
    monkeypatch.setattr(training_run.TextPipeline, "of_file", Path)  # which would read it
    metrics = run_with_tokenizer(tmp_path)
    target = tmp_path / "run/model/tokenizer.udpipe"
    again = f"the model has no tokenizer; to train one, start this run again in {tmp_path / 'run'}"
    assert caplog.messages[-1] == f"training the tokenizer failed: signal 9 ended its process\n{again}"
    assert (target.parent / "settings.json").is_file()
    assert not target.exists()
    monkeypatch.setattr(training_run, "Run", lambda *_: pytest.fail("the parser is trained again"))
    assert run_with_tokenizer(tmp_path) == metrics
    assert target.read_bytes() == b"tokenizer"


def test_the_process_waits_for_nobody_to_hear_of_its_epochs(monkeypatch):
    """A pipe holds 64 kilobytes."""
    started = processes_that(monkeypatch, f"sys.stderr.write(({EPOCH!r} + ' ' * 999 + '\\n') * 200)")
    with tokenizer_in_training(["a"], None, Path("made"), {"epochs": 200}) as finish:
        assert started[0].wait(60) == 0
        finish()


@pytest.mark.parametrize("segmenter", ["bilstm", "none"])
def test_a_run_trains_it_into_the_folder_of_the_model_and_then_a_segmenter(tmp_path, monkeypatch, caplog, segmenter):
    asked, happened = [], []

    @contextmanager
    def beside(train: list[str], dev: str, made: Path, options: dict[str, int], sentences: bool) -> Iterator[Callable[[], int]]:
        asked.append((train, dev, options["epochs"], sentences))
        happened.append("begun")
        yield lambda: happened.append("waited") or made.write_bytes(b"tokenizer")
        happened.append("ended")

    monkeypatch.setattr(training_run, "train_segmenter", lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(training_run, "tokenizer_in_training", beside)
    monkeypatch.setattr(training_run.TextPipeline, "of_file", Path)  # which would read it
    trained = training_run.Run.train
    monkeypatch.setattr(training_run.Run, "train", lambda run: happened.append("parser") or trained(run))
    path = str(small_treebank(tmp_path))
    options = f"treebank.dev={path}", "tokenizer.epochs=7", f"segmenter={segmenter}"
    training_run.train(run_alone(path, *LINEAR, *options), tmp_path / "run")
    target = tmp_path / "run/model/tokenizer.udpipe"
    asked_of_segmenter = [([path], path, target, target.parent, 1)] if segmenter == "bilstm" else []
    assert asked == [([path], path, 7, not asked_of_segmenter), *asked_of_segmenter]
    assert happened == ["begun", "parser", "waited", "ended"]
    assert target.read_bytes() == b"tokenizer"
    assert "tokenizer=udpipe: this model reads UPOS, which text lacks; recipe=text needs none" in caplog.messages


@pytest.mark.parametrize(
    ("given", "train", "dev"),
    [
        ("treebank.folds=3 treebank.fold=2 treebank.held_out=0.25", "1 3 4 7 9", "6"),
        ("treebank.held_out=0.25 treebank.on_error=skip", "1 2 3 5 6 7 9", "4 8"),
    ],
)
def test_a_tokenizer_is_trained_on_the_training_part_alone(tmp_path, monkeypatch, given, train, dev):
    """Not on what is tested, held out, or faulty; dev stops it."""
    read = []

    def trained(train: list[str], dev: str, *others: object) -> None:
        texts = [Path(name).read_text(encoding="utf-8") for name in (*train, dev)]
        read.append([" ".join(re.findall("^# sent_id = (.*)$", text, re.MULTILINE)) for text in texts])

    @contextmanager
    def beside(train: list[str], dev: str, made: Path, options: object, sentences: bool) -> Iterator[Callable[[], None]]:
        trained(train, dev)
        yield made.touch

    monkeypatch.setattr(training_run, "train_segmenter", trained)
    monkeypatch.setattr(training_run, "tokenizer_in_training", beside)
    monkeypatch.setattr(training_run.TextPipeline, "of_file", Path)  # which would read it
    word = "{}\ta{}\ta\tX\t_\t_\t{}\t{}\t_\t_\n"
    tree = word.format(1, 1, 0, "root") + word.format(2, 2, 1, "dep")
    faulty = tree.replace("\t1\t", "\t5\t") if "skip" in given else ""
    text = "\n".join([faulty, *(f"# sent_id = {number}\n{tree}" for number in range(1, 10))])
    (tmp_path / "a.conllu").write_text(text)
    training_run.train(run_alone(tmp_path / "a.conllu", *LINEAR, *given.split()), tmp_path / "run")
    assert read == [[train, dev]] * 2
