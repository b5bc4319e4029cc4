"""Parsers with an encoder that experiments share: those that experiments/accurate.py calls ``accurate, bilstm``."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.trainings import Training, run_training, system_folder


def encoder_of(training: Training) -> Training:
    """That of the same treebank, recipe and seed."""
    return replace(training, overrides=("model=bilstm",))


def folder_of(runs: Path, encoder: Training) -> Path:
    """Its run folder, where ``runs`` are those of experiments/accurate.py."""
    return system_folder(runs, f"{encoder.recipe}, bilstm", encoder)


def train_encoder(runs: Path, encoder: Training, fresh: bool = False) -> dict[str, Any]:
    """Trains it, unless that is done; the metrics. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    return run_training(encoder, folder_of(runs, encoder), fresh=fresh)
