"""scripts/train.py up to its first update, for the start-up time: python scripts/benchmarks/first_update.py [KEY=VALUE ...]."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

# The exit status once the update is done.
AFTER_UPDATE = 3

_SCRIPTS = Path(__file__).resolve().parents[1]


def _exit_after_first_update() -> None:
    from parser.training import example_fitter
    from parser.training.updates import updates_of

    def updates_once(*arguments) -> object:
        updates = updates_of(*arguments)
        update = updates.update

        def once(*batch) -> NoReturn:
            update(*batch)
            os._exit(AFTER_UPDATE)

        updates.update = once
        return updates

    example_fitter.updates_of = updates_once


def _exit_once_trained_for_an_update() -> None:
    """Torch is to be loaded when the script loads it, that is, once the word vectors are on their way."""
    from parser.data import background_vectors as module

    begin = module.vectors_ahead

    @contextmanager
    def begin_first(settings) -> Iterator[object]:
        with begin(settings) as vectors:
            _exit_after_first_update()
            yield vectors

    module.vectors_ahead = begin_first


if __name__ == "__main__":
    sys.path[0] = str(_SCRIPTS)  # not this folder: its oracles.py would be taken for the package
    _exit_once_trained_for_an_update()
    runpy.run_path(str(_SCRIPTS / "train.py"), run_name="__main__")
