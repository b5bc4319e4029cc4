"""Trains UDPipe's tokenizer, here or in a process of its own.

What UDPipe does takes minutes, and hears neither Ctrl-C nor SIGTERM; a process can be ended. It is
``python -m parser.text.tokenizer_training REQUEST``, and ends with the process that started it, however that one ends.
"""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from parser.child_process import end_with_parent
from parser.conllu.checks import BYTE_ORDER_MARK
from parser.conllu.files import open_input
from parser.conllu.formats import ColumnOrder
from parser.storage.atomic import replacing
from parser.text import udpipe
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
    """
    package = udpipe.package()
    name = ", ".join(map(str, train))
    learned = udpipe.read_sentences("".join(map(_text, train)), name)
    held_out = package.Sentences() if dev is None else udpipe.read_sentences(_text(dev), str(dev))
    model = udpipe.train(learned, held_out, name, tokenizer=options | {"early_stopping": int(dev is not None)})
    with replacing(target) as temporary:
        temporary.write_bytes(model)


def train_tokenizer_apart(
    train: Sequence[str | Path], dev: str | Path | None, target: Path, options: dict[str, int | float] = OPTIONS
) -> None:
    """Trains a tokenizer; see train_tokenizer(). What UDPipe says of its epochs is logged.

    Raises:
        UdpipeError: UDPipe is not installed, or cannot train on this.
        ChildProcessError: the process failed; the message is what it said.
    """
    with tokenizer_in_training(train, dev, target, options) as finish:
        finish()


@contextmanager
def tokenizer_in_training(
    train: Sequence[str | Path], dev: str | Path | None, target: Path, options: dict[str, int | float] = OPTIONS
) -> Iterator[Callable[[], None]]:
    """The same while something else is done: yields what waits for the tokenizer, and logs. Without waiting, it is given up."""
    log.info("training UDPipe's tokenizer in a process of its own, which takes minutes")
    request = {"train": [*map(str, train)], "dev": None if dev is None else str(dev), "target": str(target), "options": options}
    # -P: a file parser.py in the folder where the user stands is not ours.
    command = [sys.executable, "-P", "-m", "parser.text.tokenizer_training", json.dumps(request)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            yield partial(_finish, process, int(options["epochs"]))
        finally:
            process.kill()


def _finish(process: subprocess.Popen[bytes], epochs: int) -> None:
    said = ""
    assert process.stderr is not None
    for raw in process.stderr:
        line = raw.decode(errors="replace").strip()
        if line.startswith("Epoch "):
            log.info("tokenizer, e%s", line.removeprefix("E").replace(",", f" of {epochs},", 1))
        elif line:
            said += f"{line}\n"
    status = process.wait()
    if status == _REFUSED:
        raise UdpipeError(said.splitlines()[-1])
    if status:
        raise ChildProcessError(f"training the tokenizer failed:\n{said.strip()}")


def _text(path: str | Path) -> str:
    """A file as UDPipe reads it, with a blank line at its end, so that another may follow."""
    with open_input(path) as stream:
        text = stream.read().decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    lines = io.StringIO(text)
    layout = ColumnOrder.of(lines.readline(), str(path))
    read = text if layout is None else "".join(layout.as_conllu(lines))
    return read.rstrip("\r\n") + "\n\n"


def _train(request: str) -> None:
    """What the process does."""
    end_with_parent()
    wanted = json.loads(request)
    try:
        train_tokenizer(wanted["train"], wanted["dev"], Path(wanted["target"]), wanted["options"])
    except UdpipeError as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        sys.exit(_REFUSED)


if __name__ == "__main__":
    _train(sys.argv[1])
