"""What worker processes do in the tests of interruption: they stay where they are,
with half a file.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from parser.conllu.files import open_binary_output
from parser.decoding.parse_options import ParseOptions
from parser.text.shards import Outcome, Shard
from parser.text.worker import Work
from tests.text.dying import begin_nothing


def go_on_alone(folder: Path) -> None:
    """Whichever process comes first goes on; another says that it is there, and stays."""
    try:
        (folder / "first").mkdir()
    except FileExistsError:
        signal.raise_signal(signal.SIGINT)  # which is nothing to it
        say_and_stay("loading")


def say_and_stay(word: str) -> NoReturn:
    # in one piece, beside another process that says something
    os.write(sys.stdout.fileno(), f"{word}\n".encode())
    while True:
        signal.pause()


def begin_alone(folder: Path, options: ParseOptions) -> Callable[[Shard], Outcome]:
    go_on_alone(folder)
    return stay_at_the_second


class BegunAlone:
    """begin_nothing(), before whose import a process already stays:
    before it has run anything of the parser's.
    """

    def __call__(self, folder: Path, options: ParseOptions) -> Callable[[Shard], Outcome]:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Callable[[Path], Any], tuple[Path]]:
        return found_alone, (Path(sys.argv[1]),)


def found_alone(folder: Path) -> Work:
    go_on_alone(folder)
    return partial(begin_nothing, stay_at_the_second)


def stay_at_the_second(shard: Shard) -> Outcome:
    with open_binary_output(shard.target) as target:
        target.write(b"half")
        target.flush()
        if Path(shard.source).name == "b":
            say_and_stay("parsing")
    return Outcome(shard)


STAYING = begin_alone

STAYING_AT_ONCE = BegunAlone()
