"""The range of every number among the settings, in one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from omegaconf import OmegaConf

from parser.beam_settings import MAX_SIZE
from parser.model_folder import LONGEST_FORM, MAX_LOOKAHEAD
from parser.settings import Settings, SettingsError


@dataclass(frozen=True)
class Range:
    """From which number to which other a setting can be, and what it is.

    Attributes:
        key: the setting; ``embeddings.*`` is each of them.
        lowest, highest: the ends.
        what: what the number is, for the message.
        above, below: whether the lower or the upper end is not in the range itself.
    """

    key: str
    lowest: float
    highest: float
    what: str
    above: bool = False
    below: bool = False

    def refuse(self, key: str, value: float) -> None:
        """Raises SettingsError, with the range, if the value lies outside. NaN does."""
        low = value > self.lowest if self.above else value >= self.lowest
        high = value < self.highest if self.below else value <= self.highest
        if not (low and high):
            least = f"{'above' if self.above else 'at least'} {self.lowest:,g}"
            most = f"{'below' if self.below else 'at most'} {self.highest:,.10g}"
            raise SettingsError(f"{key}={value} is out of range; {self.what} must be {least} and {most}")


_EPOCHS = 100_000
_WIDTH = 65_536

# The upper ends are far above what is of use: they tell slips, and what a machine could not hold. Where training goes wrong
# earlier, as at a high learning rate, training says so.
RANGES = (
    Range("seed", 0, 2**32 - 1, "a seed"),
    Range("threads", 1, 1024, "the number of threads"),
    Range("degree", 1, 9, "the degree of a transition system"),
    Range("treebank.held_out", 0, 0.5, "a share of sentences"),
    Range("vectors.limit", 1, 1e9, "the number of vectors"),
    Range("vectors.dimensions", 1, 10_000, "the length of a vector"),
    Range("vectors.window", 1, 1000, "the number of words to either side"),
    Range("vectors.epochs", 1, _EPOCHS, "the number of epochs"),
    Range("vectors.min_count", 1, 1e9, "the lowest count of a form"),
    Range("embeddings.*", 1, 10_000, "the length of a vector"),
    Range("classifier.hidden", 1, _WIDTH, "the number of hidden units"),
    Range("classifier.dropout", 0, 1, "a share of units", below=True),
    Range("classifier.input_dropout", 0, 1, "a share of numbers", below=True),
    Range("classifier.slot_dropout", 0, 1, "a share of slots", below=True),
    Range("classifier.word_dropout", 0, 1e6, "the weight of unknown values"),
    Range("encoder.layers", 1, 100, "the number of layers"),
    Range("encoder.hidden", 1, _WIDTH, "the number of units of a layer"),
    Range("encoder.dropout", 0, 1, "a share of numbers", below=True),
    Range("encoder.attribute_dropout", 0, 1, "a share of attributes", below=True),
    Range("encoder.characters.embedding", 1, 10_000, "the length of a vector"),
    Range("encoder.characters.hidden", 1, _WIDTH, "the number of units of a layer"),
    Range("encoder.characters.longest", 1, LONGEST_FORM, "the number of characters"),
    Range("encoder.tagger.layer", 1, 100, "the number of a layer"),
    Range("encoder.tagger.size", 0, 10_000, "the length of a vector"),
    Range("encoder.tagger.dropout", 0, 1, "a share of numbers", below=True),
    Range("encoder.tagger.weights.upos", 0, 1e6, "the weight of a loss", above=True),
    Range("encoder.tagger.weights.xpos", 0, 1e6, "the weight of a loss", above=True),
    Range("encoder.tagger.weights.feats", 0, 1e6, "the weight of a loss", above=True),
    Range("encoder.heads.size", 1, _WIDTH, "the length of a vector"),
    Range("encoder.heads.relation_size", 1, _WIDTH, "the length of a vector"),
    Range("encoder.heads.dropout", 0, 1, "a share of numbers", below=True),
    Range("encoder.heads.weight", 0, 1e6, "the weight of a loss", above=True),
    Range("encoder.max_grad_norm", 0, 1e9, "the norm of a gradient", above=True),
    Range("online.iterations", 1, _EPOCHS, "the number of iterations"),
    Range("online.explore_after", 0, _EPOCHS, "the number of iterations without exploration"),
    Range("online.follow", 0, 1, "a probability"),
    Range("optimizer.learning_rate", 0, 1e6, "the learning rate", above=True),
    Range("optimizer.momentum", 0, 1, "the momentum", below=True),
    Range("optimizer.weight_decay", 0, 1, "the weight decay"),
    Range("optimizer.batch_size", 1, 1e6, "the number of examples in a batch"),
    Range("first_pass.epochs", 1, _EPOCHS, "the number of epochs"),
    Range("second_pass.epochs", 1, _EPOCHS, "the number of epochs"),
    Range("second_pass.explore_every", 0, _EPOCHS, "the number of epochs between explorations"),
    Range("distillation.weight", 0, 1e6, "the weight of a loss", above=True),
    Range("distillation.temperature", 0, 1e3, "what scores are divided by", above=True),
    Range("tensorboard.trees", 0, 1000, "the number of sentences"),
    Range("second_pass.follow", 0, 1, "a probability"),
    Range("lattice.lookahead", 1, MAX_LOOKAHEAD, "the number of words ahead"),
    Range("lattice.max_arcs", 1, 1e9, "the number of arcs"),
    Range("lattice.beam", 1, MAX_SIZE, "the number of items"),
    Range("beam.size", 1, MAX_SIZE, "the number of items"),
    Range("beam.training.epochs", 1, _EPOCHS, "the number of epochs"),
    Range("beam.training.gold_size", 1, MAX_SIZE, "the number of gold items"),
    Range("beam.training.learning_rate", 0, 1e6, "the learning rate", above=True),
    Range("beam.training.batch_sentences", 1, 1e6, "the number of sentences in a batch"),
)


def check_ranges(settings: Settings) -> None:
    """Refuses numbers that are out of their range.

    Raises:
        SettingsError: names the key, its value and the range.
    """
    ranges = {known.key: known for known in RANGES}
    for key, value in numbers(OmegaConf.to_container(settings, resolve=True)):
        group = f"{key.partition('.')[0]}.*"
        if (known := ranges.get(key) or ranges.get(group)) is not None:
            known.refuse(key, value)


def numbers(settings: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers among plain settings by their keys with dots, truth values left out."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield prefix + key, value
