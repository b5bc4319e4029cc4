"""scripts/train.py up to its first update, for the start-up time: python scripts/benchmarks/first_update.py [KEY=VALUE ...]."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

# The exit status once the update is done.
AFTER_UPDATE = 3

_SCRIPTS = Path(__file__).resolve().parents[1]


def _train_for_an_update() -> None:
    import hydra

    import train
    from parser.training.observer import Observer, Update

    class ExitAfterUpdate(Observer):
        def on_update(self, update: Update) -> NoReturn:
            os._exit(AFTER_UPDATE)

    @hydra.main(version_base="1.3", config_path="../../configs", config_name="train")
    def main(settings) -> None:
        train.run(settings, [ExitAfterUpdate()])

    main()


if __name__ == "__main__":
    sys.path[0] = str(_SCRIPTS)  # not this folder: its oracles.py would be taken for the package
    _train_for_an_update()
