"""The range of every number among the settings: of those that are not declared with their fields, in one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omegaconf import OmegaConf

from parser.beam_settings import MAX_SIZE
from parser.model_folder import MAX_LOOKAHEAD
from parser.ranges import Range, ranges_of
from parser.settings import Settings, SettingsError

_EPOCHS = 100_000

# The upper ends are far above what is of use: they tell slips, and what a machine could not hold. Where training goes wrong
# earlier, as at a high learning rate, training says so.
RANGES = {
    **dict(ranges_of(Settings)),
    "seed": Range(0, 2**32 - 1, "a seed"),
    "threads": Range(1, 1024, "the number of threads"),
    "degree": Range(1, 9, "the degree of a transition system"),
    "treebank.held_out": Range(0, 0.5, "a share of sentences"),
    "vectors.limit": Range(1, 1e9, "the number of vectors"),
    "vectors.dimensions": Range(1, 10_000, "the length of a vector"),
    "vectors.window": Range(1, 1000, "the number of words to either side"),
    "vectors.epochs": Range(1, _EPOCHS, "the number of epochs"),
    "vectors.min_count": Range(1, 1e9, "the lowest count of a form"),
    "embeddings.*": Range(1, 10_000, "the length of a vector"),
    "online.iterations": Range(1, _EPOCHS, "the number of iterations"),
    "online.explore_after": Range(0, _EPOCHS, "the number of iterations without exploration"),
    "online.follow": Range(0, 1, "a probability"),
    "optimizer.learning_rate": Range(0, 1e6, "the learning rate", above=True),
    "optimizer.momentum": Range(0, 1, "the momentum", below=True),
    "optimizer.weight_decay": Range(0, 1, "the weight decay"),
    "optimizer.batch_size": Range(1, 1e6, "the number of examples in a batch"),
    "first_pass.epochs": Range(1, _EPOCHS, "the number of epochs"),
    "second_pass.epochs": Range(1, _EPOCHS, "the number of epochs"),
    "second_pass.explore_every": Range(0, _EPOCHS, "the number of epochs between explorations"),
    "distillation.weight": Range(0, 1e6, "the weight of a loss", above=True),
    "distillation.temperature": Range(0, 1e3, "what scores are divided by", above=True),
    "tensorboard.trees": Range(0, 1000, "the number of sentences"),
    "second_pass.follow": Range(0, 1, "a probability"),
    "lattice.lookahead": Range(1, MAX_LOOKAHEAD, "the number of words ahead"),
    "lattice.max_arcs": Range(1, 1e9, "the number of arcs"),
    "lattice.beam": Range(1, MAX_SIZE, "the number of items"),
    "beam.size": Range(1, MAX_SIZE, "the number of items"),
    "beam.training.epochs": Range(1, _EPOCHS, "the number of epochs"),
    "beam.training.gold_size": Range(1, MAX_SIZE, "the number of gold items"),
    "beam.training.learning_rate": Range(0, 1e6, "the learning rate", above=True),
    "beam.training.batch_sentences": Range(1, 1e6, "the number of sentences in a batch"),
}


def check_ranges(settings: Settings) -> None:
    """Refuses numbers that are out of their range.

    Raises:
        SettingsError: names the key, its value and the range.
    """
    for key, value in numbers(OmegaConf.to_container(settings, resolve=True)):
        known = RANGES.get(key) or RANGES.get(f"{key.rpartition('.')[0]}.*")
        if known is not None and (said := known.violation(value)) is not None:
            raise SettingsError(f"{key}={value} is out of range; {said}")


def numbers(settings: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers among plain settings by their keys with dots, truth values left out."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield prefix + key, value
