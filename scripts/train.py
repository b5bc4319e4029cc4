"""Trains a parser: python scripts/train.py [treebank=hu] [column=5] [recipe=paper] [KEY=VALUE ...]; --help shows all keys."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import hydra
from hydra.core.hydra_config import HydraConfig

from parser.data.background_vectors import background_vectors
from parser.settings import Settings, register
from parser.training.observer import Observer

log = logging.getLogger(__name__)

register()


@hydra.main(version_base="1.3", config_path="../configs", config_name="train")
def main(settings: Settings) -> None:
    """Trains into hydra's run folder and prints the final metrics."""
    run(settings)


def run(settings: Settings, observers: Sequence[Observer] = ()) -> None:
    """What main() does, within a job of hydra's; ``observers`` hear of the run."""
    _forget_default_treebank(settings, HydraConfig.get().overrides.task)
    logging.getLogger("gensim").setLevel(logging.WARNING)  # a dozen lines about each word2vec model
    folder = Path(HydraConfig.get().runtime.output_dir)
    try:
        with background_vectors(settings) as vectors:
            # They load torch, which takes a second or two, while the word vectors are being trained.
            from parser.training.console import final_table
            from parser.training.passes import train

            metrics = train(settings, folder, observers, vectors)
    except ValueError as error:  # what this project raises for bad input says the fix; a traceback would bury it
        log.debug("traceback", exc_info=True)
        sys.exit(f"error: {error}")
    print(f"\n{final_table(metrics)}\n\nmodel, metrics.json and TensorBoard events: {folder}")


def _forget_default_treebank(settings: Settings, overrides: list[str]) -> None:
    """With treebank.train=F alone, dev and test are absent; they must not be those of the default treebank."""
    given = {override.partition("=")[0].lstrip("+") for override in overrides}
    if "treebank.train" in given and "treebank" not in given:
        files = settings.treebank
        files.name = files.name if "treebank.name" in given else Path(cast(str, files.train)).name.partition(".")[0]
        files.dev = files.dev if "treebank.dev" in given else None
        files.test = files.test if "treebank.test" in given else None


if __name__ == "__main__":
    main()
