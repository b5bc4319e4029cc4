"""UDPipe 1 (Straka and Strakova 2017), the package ufal.udpipe, and how its tokenizer is trained.

UDPipe trains for minutes and ignores Ctrl-C and SIGTERM. So a tokenizer is trained in another process, which can be killed:
``python -m parser.text.udpipe REQUEST``. It ends with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, takewhile
from pathlib import Path
from threading import Thread
from typing import Any

from oracles.errors import OptimalStepError
from parser.child_process import end_with_parent
from parser.conllu.checks import BYTE_ORDER_MARK, ConlluError
from parser.conllu.stream import read_sentences
from parser.storage import replacing
from parser.text.tokens import conllu_lines, tokens_of

log = logging.getLogger(__name__)

Options = Mapping[str, object]

# Its authors' options for treebanks of this size: https://ufal.mff.cuni.cz/udpipe/1/users-manual#model_training_tokenizer
# But they use dimension 24: with 16, tokens are just as good, in two thirds of the time (experiments/from_text.md).
OPTIONS: dict[str, int | float] = {
    "tokenize_url": 1,
    "dimension": 16,
    "epochs": 100,
    "initialization_range": 0.5,
    "batch_size": 50,
    "learning_rate": 0.005,
    "dropout": 0.1,
    "early_stopping": 1,
}

_REFUSED = 2

# What UDPipe says of sentences if they do not count.
_NO_SENTENCES = ", sentences: 0.00%P/0.00%R/0.00%"

# The comments that UDPipe reads: beginnings of paragraphs and documents.
_BEGINNING = re.compile(rf"{BYTE_ORDER_MARK}?#[ \t]*(newpar|newdoc)")


class UdpipeError(OptimalStepError):
    """UDPipe is not installed, or refuses its input; the message says why."""


def package() -> Any:
    """Return the module, imported on the first call.

    Raises:
        UdpipeError: it is not installed.
    """
    try:
        from ufal import udpipe
    except ImportError as error:
        raise UdpipeError("UDPipe is not installed; pip install ufal.udpipe") from error
    return udpipe


def load(path: Path) -> Any:
    """Load a model of UDPipe 1.

    Raises:
        UdpipeError: the package is not installed, or the file does not exist, or is not a model.
    """
    udpipe = package()
    if not path.is_file():  # UDPipe's error does not tell a missing file from a damaged one
        raise UdpipeError(f"{path}: there is no file of this name; name a model of UDPipe 1")
    with path.open("rb") as file:
        length = file.read(1)  # of the name of the model's kind; UDPipe reads 128 or more as negative and would crash Python
    model = None if length >= b"\x80" else udpipe.Model.load(str(path))
    if model is None:
        raise UdpipeError(f"{path}: UDPipe cannot load this as a model; name a model of UDPipe 1")
    return model


def read_conllu(text: str, name: str) -> Any:
    """Read CoNLL-U into sentences of UDPipe.

    Raises:
        UdpipeError: the package is not installed, or cannot read the text, which errors call ``name``.
    """
    udpipe = package()
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(text)
    sentences, sentence, error = udpipe.Sentences(), udpipe.Sentence(), udpipe.ProcessingError()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise UdpipeError(f"{name}: UDPipe cannot read this ({error.message})")
    return sentences


def trained_model(
    train_on: Any,
    held_out: Any,
    name: str,
    *,
    tokenizer: Options | None = None,
    tagger: Options | None = None,
    parser: Options | None = None,
) -> bytes:
    """Trains a model.

    Args:
        train_on: sentences, see read_conllu().
        held_out: sentences for early stopping; may be empty.
        name: of the sentences, in errors.
        tokenizer, tagger, parser: options of each part; None: do not train it.

    Raises:
        UdpipeError: UDPipe cannot train on these sentences.
    """
    udpipe = package()
    parts = (tokenizer, tagger, parser)
    options = ["none" if given is None else ";".join(f"{key}={value}" for key, value in given.items()) for given in parts]
    error = udpipe.ProcessingError()
    model: bytes = udpipe.Trainer.train("morphodita_parsito", train_on, held_out, *options, error)
    if error.occurred():
        raise UdpipeError(f"{name}: UDPipe cannot train on this ({error.message})")
    return model


def train_tokenizer(
    train: Sequence[str | Path], dev: str | Path | None, target: Path, options: Options = OPTIONS, sentences: bool = True
) -> None:
    """Trains a tokenizer.

    Args:
        train: files of CoNLL-U to learn from; the text comes from the forms and SpaceAfter=No.
        dev: CoNLL-U to choose the epoch on, if there is any.
        target: the file that it is written to, whole or not at all.
        options: of UDPipe.
        sentences: choose the epoch by the sum of the F1 of tokens and of sentences; otherwise by tokens alone.

    Raises:
        UdpipeError: UDPipe is not installed, or cannot train on this.
        ConlluError: a file is not CoNLL-U.
    """
    name = ", ".join(map(str, train))
    learned = read_conllu("".join(map(_text, train)), name)
    held_out = package().Sentences() if dev is None else read_conllu(_text(dev, sentences), str(dev))
    model = trained_model(learned, held_out, name, tokenizer={**options, "early_stopping": int(dev is not None)})
    with replacing(target) as temporary:
        temporary.write_bytes(model)


@contextmanager
def tokenizer_in_training(
    train: Sequence[str | Path], dev: str | Path | None, target: Path, options: Options = OPTIONS, sentences: bool = True
) -> Iterator[Callable[[], None]]:
    """Train a tokenizer in the background; see train_tokenizer(). UDPipe's lines about epochs are logged.

    The first epoch takes some seconds and shows whether UDPipe can learn from the files. Then yields a function that waits for
    the tokenizer; if it is not called, the training is ended.

    Raises:
        UdpipeError: UDPipe is not installed, or cannot train on the files.
        ChildProcessError: the process failed; the message has its output.
    """
    log.info("training UDPipe's tokenizer in another process; its first epoch shows whether it can learn from these files")
    files = {"train": [*map(str, train)], "dev": None if dev is None else str(dev), "target": str(target)}
    request = files | {"options": dict(options), "sentences": sentences}
    # -P: do not import a file parser.py in the user's working folder.
    command = [sys.executable, "-P", "-m", "parser.text.udpipe", json.dumps(request)]
    said: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        epochs = _epochs(process.stderr or (), options["epochs"], said)
        listener = Thread(target=deque, args=(epochs, 0), daemon=True)  # or the process would block once the pipe is full

        def finish() -> None:
            listener.join()
            if (status := process.wait()) == _REFUSED:
                raise UdpipeError(said[-1])
            if status:
                ended = f"signal {-status} ended its process" if status < 0 else f"its process ended with status {status}"
                raise ChildProcessError("\n".join([f"training the tokenizer failed: {ended}", *said]))

        try:
            begun = next(epochs, None)
            listener.start()
            if begun is None:
                finish()
            yield finish
        finally:
            process.kill()
            if listener.ident is not None:
                listener.join()


def _epochs(stream: Iterable[bytes], epochs: object, said: list[str]) -> Iterator[str]:
    """Log and yield the lines about epochs; append all other lines to ``said``."""
    for raw in stream:
        line = raw.decode(errors="replace").strip()
        if line.startswith("Epoch "):
            told = line.removeprefix("E").removesuffix(_NO_SENTENCES).replace(",", f" of {epochs},", 1)
            log.info("tokenizer, e%s", told)
            yield line
        elif line:
            said.append(line)


def _text(path: str | Path, sentences: bool = True) -> str:
    """Return the CoNLL-U that UDPipe learns from: ID, FORM and SpaceAfter=No of each token, and the beginnings of paragraphs.

    UDPipe would refuse some sentences for their other columns, such as the lemma of a multiword token. Without ``sentences``,
    all tokens are one sentence, so that UDPipe's F1 of sentences is 0 after every epoch.
    """
    if not sentences:
        return "\n".join([*conllu_lines([*chain.from_iterable(map(tokens_of, read_sentences(path)))]), "", ""])
    lines = []
    for sentence in read_sentences(path):
        before = takewhile(lambda line: not line[:1].isdigit(), sentence.lines)
        lines += [f"# {begins[1]}" for line in before if (begins := _BEGINNING.match(line))]
        lines += [*conllu_lines([*tokens_of(sentence)]), ""]
    return "\n".join([*lines, ""])


def _train(request: str) -> None:
    end_with_parent()
    wanted = json.loads(request)
    try:
        train_tokenizer(**wanted | {"target": Path(wanted["target"])})
    except (UdpipeError, ConlluError) as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        sys.exit(_REFUSED)


if __name__ == "__main__":
    _train(sys.argv[1])
