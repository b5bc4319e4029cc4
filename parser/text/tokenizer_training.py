"""Trains UDPipe's tokenizer in a process of its own.

What UDPipe does takes minutes, and hears neither Ctrl-C nor SIGTERM; a process can be ended. It is
``python -m parser.text.tokenizer_training REQUEST``, and ends with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from parser.child_process import end_with_parent
from parser.text.tokenizer import OPTIONS, train_tokenizer
from parser.text.udpipe import UdpipeError

log = logging.getLogger(__name__)

_REFUSED = 2


def train_tokenizer_apart(
    train: Sequence[str | Path], dev: str | Path | None, target: Path, options: dict[str, int | float] = OPTIONS
) -> None:
    """Trains a tokenizer; see tokenizer.train_tokenizer(). UDPipe's own words on its epochs are not shown.

    Raises:
        UdpipeError: UDPipe is not installed, or cannot train on this.
        ChildProcessError: the process failed; the message is what it said.
    """
    log.info("training UDPipe's tokenizer, which takes minutes: %s", target)
    request = {"train": [*map(str, train)], "dev": None if dev is None else str(dev), "target": str(target), "options": options}
    # -P: a file parser.py in the folder where the user stands is not ours.
    command = [sys.executable, "-P", "-m", "parser.text.tokenizer_training", json.dumps(request)]
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=messages) as process,
    ):
        try:
            status = process.wait()
        finally:
            process.kill()
        messages.seek(0)
        said = messages.read().decode(errors="replace").strip()
    if status == _REFUSED:
        raise UdpipeError(said.splitlines()[-1])
    if status:
        raise ChildProcessError(f"training the tokenizer failed:\n{said}")


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
