"""Trains up to the first update, to measure the start-up time: python -m
scripts.benchmarks.first_update [KEY=VALUE].
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import hydra

from parser.commands import train
from parser.settings import Settings
from parser.settings.files import CONFIGS
from parser.settings.groups import path_settings
from parser.settings.paths import for_hydra

# The exit status once the update is done.
AFTER_UPDATE = 3


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="train")
def main(settings: Settings) -> None:
    """Train for one update. Torch is loaded only when training needs it, after the training of word
    vectors has begun.
    """
    from parser.training.observers import Observer, Update

    class ExitAfterUpdate(Observer):
        def on_update(self, update: Update) -> NoReturn:
            os._exit(AFTER_UPDATE)

    train.run(settings, [ExitAfterUpdate()])


if __name__ == "__main__":
    sys.argv[1:] = for_hydra(sys.argv[1:], path_settings(), sweep=False)
    main()
