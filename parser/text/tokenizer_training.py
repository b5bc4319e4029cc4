"""Trains UDPipe's tokenizer, here or in a process of its own.

What UDPipe does takes minutes, and hears neither Ctrl-C nor SIGTERM; a process can be ended. It is
``python -m parser.text.tokenizer_training REQUEST``, and ends with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from threading import Thread

from parser.child_process import end_with_parent
from parser.conllu.checks import BYTE_ORDER_MARK, ConlluError
from parser.conllu.stream import read_sentences
from parser.storage import replacing
from parser.text import udpipe
from parser.text.tokens import conllu_lines, tokens_of
from parser.text.udpipe import UdpipeError

log = logging.getLogger(__name__)

# As its authors train on treebanks of this size: https://ufal.mff.cuni.cz/udpipe/1/users-manual#model_training_tokenizer
OPTIONS: dict[str, int | float] = {
    "tokenize_url": 1,
    "dimension": 24,
    "epochs": 100,
    "initialization_range": 0.5,
    "batch_size": 50,
    "learning_rate": 0.005,
    "dropout": 0.1,
    "early_stopping": 1,
}

_REFUSED = 2

# The comments that UDPipe reads: a paragraph or a document begins.
_BEGINNING = re.compile(rf"{BYTE_ORDER_MARK}?#[ \t]*(newpar|newdoc)")


def train_tokenizer(
    train: Sequence[str | Path], dev: str | Path | None, target: Path, options: dict[str, int | float] = OPTIONS
) -> None:
    """Trains a tokenizer.

    Args:
        train: files of CoNLL-U to learn from; its text is that of the forms and of SpaceAfter=No.
        dev: CoNLL-U to choose the epoch on, if there is any.
        target: the file that it is written to, whole or not at all.
        options: UDPipe's.

    Raises:
        UdpipeError: UDPipe is not installed, or cannot train on this.
        ConlluError: a file is not CoNLL-U.
    """
    package = udpipe.package()
    name = ", ".join(map(str, train))
    learned = udpipe.read_sentences("".join(map(_text, train)), name)
    held_out = package.Sentences() if dev is None else udpipe.read_sentences(_text(dev), str(dev))
    model = udpipe.train(learned, held_out, name, tokenizer=options | {"early_stopping": int(dev is not None)})
    with replacing(target) as temporary:
        temporary.write_bytes(model)


@contextmanager
def tokenizer_in_training(
    train: Sequence[str | Path], dev: str | Path | None, target: Path, options: dict[str, int | float] = OPTIONS
) -> Iterator[Callable[[], None]]:
    """Train a tokenizer while something else is done; see train_tokenizer(). What UDPipe says of its epochs is logged.

    Its first epoch, of some seconds, shows whether UDPipe can learn from the files. Then yields a function that waits for the
    tokenizer; without waiting, it is given up.

    Raises:
        UdpipeError: UDPipe is not installed, or cannot train on this.
        ChildProcessError: the process failed; the message is what it said.
    """
    log.info("training UDPipe's tokenizer in a process of its own; its first epoch shows whether it can learn from these files")
    request = {"train": [*map(str, train)], "dev": None if dev is None else str(dev), "target": str(target), "options": options}
    # -P: a file parser.py in the folder where the user stands is not ours.
    command = [sys.executable, "-P", "-m", "parser.text.tokenizer_training", json.dumps(request)]
    said: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        epochs = _epochs(process.stderr or (), int(options["epochs"]), said)
        listener = Thread(target=deque, args=(epochs, 0), daemon=True)  # else the process would wait once the pipe is full

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


def _epochs(stream: Iterable[bytes], epochs: int, said: list[str]) -> Iterator[str]:
    """Log and yield the lines about epochs; all others are put into ``said``."""
    for raw in stream:
        line = raw.decode(errors="replace").strip()
        if line.startswith("Epoch "):
            log.info("tokenizer, e%s", line.removeprefix("E").replace(",", f" of {epochs},", 1))
            yield line
        elif line:
            said.append(line)


def _text(path: str | Path) -> str:
    """What UDPipe learns from: ID, FORM and SpaceAfter=No of each token of a file, and where paragraphs begin.

    UDPipe would refuse sentences for other columns, such as the lemma of a multiword token.
    """
    lines = []
    for sentence in read_sentences(path):
        before = takewhile(lambda line: not line[:1].isdigit(), sentence.lines)
        lines += [f"# {begins[1]}" for line in before if (begins := _BEGINNING.match(line))]
        lines += [*conllu_lines([*tokens_of(sentence)]), ""]
    return "\n".join([*lines, ""])


def _train(request: str) -> None:
    """What the process does."""
    end_with_parent()
    wanted = json.loads(request)
    try:
        train_tokenizer(wanted["train"], wanted["dev"], Path(wanted["target"]), wanted["options"])
    except (UdpipeError, ConlluError) as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        sys.exit(_REFUSED)


if __name__ == "__main__":
    _train(sys.argv[1])
