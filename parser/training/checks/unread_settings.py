"""Refuses settings that are given on the command line, but that this run would not read. It loads fast."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from parser.settings import Settings, SettingsError, given_models

log = logging.getLogger(__name__)

# By model=, the settings and groups of settings that it does not read, though others do.
_UNREAD = {
    "mlp": ("online",),
    "bilstm": ("online", "distillation"),
    "linear": (
        "recipe",
        "column",
        "vocabulary_from",
        "features",
        "embeddings",
        "vectors",
        "classifier",
        "encoder",
        "optimizer",
        "first_pass",
        "second_pass",
        "distillation",
        "beam.training.learning_rate",
        "beam.training.batch_sentences",
        "tensorboard.projector",
    ),
}

# Groups of settings that are empty unless another setting fills them, and that setting.
_FILLED_BY = {
    "online": "model=linear",
    "encoder.characters": "recipe=text model=bilstm",
    "encoder.tagger": "recipe=text model=bilstm",
    "encoder.heads": "recipe=text model=bilstm",
    "encoder": "model=bilstm",
    "beam.training": "beam=global",
}

# What only passes read that there are not with beam.training.start, and what only a second pass reads.
_OF_FIRST_PASSES = (
    *("first_pass", "second_pass", "distillation", "oracle", "strategy", "ties"),
    *(f"optimizer.{name}" for name in ("name", "learning_rate", "batch_size", "momentum")),  # beam.training has its own
)
_OF_SECOND_PASS = ("second_pass", "oracle", "strategy", "ties")

# What only the training of word vectors reads.
_OF_TRAINED_VECTORS = tuple(f"vectors.{name}" for name in ("dimensions", "window", "epochs", "min_count", "skip_gram"))

# By setting, when it is read, and the setting that makes it so.
_READ_IF: dict[str, tuple[Callable[[Settings], bool], str]] = {
    "segmenter": (lambda settings: settings.tokenizer == "udpipe", "tokenizer=udpipe"),
    "vectors.limit": (lambda settings: settings.vectors.file is not None, "vectors.file=FILE"),
    "vectors.restrict": (lambda settings: settings.vectors.file is not None, "vectors.file=FILE"),
    "optimizer.momentum": (lambda settings: settings.optimizer.name == "sgd", "optimizer.name=sgd"),
    "second_pass.follow": (lambda settings: settings.second_pass.policy == "mixed", "second_pass.policy=mixed"),
    "distillation.weight": (lambda settings: settings.distillation.teacher is not None, "distillation.teacher=RUN_FOLDER"),
    "distillation.temperature": (lambda settings: settings.distillation.teacher is not None, "distillation.teacher=RUN_FOLDER"),
    "distillation.over": (lambda settings: settings.distillation.teacher is not None, "distillation.teacher=RUN_FOLDER"),
    "beam.merge": (lambda settings: settings.beam.name != "none", "beam=local or beam=global"),
    **{
        f"lattice.{name}": (lambda settings: settings.lattice.train is not None, "lattice.train=FILE")
        for name in ("lookahead", "gold", "max_arcs", "choices")
    },
    "lattice.beam": (
        lambda settings: settings.lattice.train is not None and settings.beam.name == "none",
        "lattice.train=FILE and beam=none",
    ),
}


def check_overrides(settings: Settings, overrides: Iterable[str]) -> None:
    """Refuses what was given but is not read.

    What only a second pass reads gives a warning where there is none, not an error: a sweep over ``column`` has such jobs. So
    does what only the training of word vectors reads, where a file has them.

    Args:
        settings: of the run.
        overrides: what was given, KEY=VALUE.

    Raises:
        SettingsError: names the key, and the models or the setting that make it read.
    """
    for override in overrides:
        key = override.partition("=")[0].lstrip("+~")
        own = _names_read_by(key, _UNREAD.get(settings.model, ()))
        if own is not None:
            readers = " or ".join(f"model={name}" for name, unread in _UNREAD.items() if own not in unread)
            raise SettingsError(f"{override}: model={settings.model} does not read {own}; leave it out, or choose {readers}")
        if "beam.training.start" in given_models(settings) and _names_read_by(key, _OF_FIRST_PASSES) is not None:
            raise SettingsError(
                f"{override} is for the first and second pass, and with beam.training.start this run has neither; leave one of "
                "the two out"
            )
        is_read, reader = _READ_IF.get(key, (None, ""))
        if is_read is not None and not is_read(settings):
            raise SettingsError(f"{override} is read only with {reader}; leave it out, or add that")
        if settings.model != "linear" and settings.vectors.file is not None and key in _OF_TRAINED_VECTORS:
            log.warning("%s is not read: this run reads its word vectors from vectors.file", override)
        without = settings.model != "linear" and settings.second_pass.trees is None
        if without and key != "second_pass.trees" and _names_read_by(key, _OF_SECOND_PASS) is not None:
            log.warning("%s is not read: this run has no second pass (column=3 to 6 have one)", override)


def absent_setting_message(override: str) -> str:
    """What to say of an override, KEY=VALUE, of a group of settings that is empty in this run."""
    key = override.partition("=")[0].lstrip("+~")
    if (group := _names_read_by(key, _FILLED_BY)) is None:
        return f"{override}: the group that it belongs to is null in this run; leave it out"
    return f"{override}: there is no {group} in this run; leave it out, or choose {_FILLED_BY[group]}"


def _names_read_by(key: str, names: Iterable[str]) -> str | None:
    """The name, of a setting or a group of them, that the key is or lies in."""
    return next((name for name in names if key == name or key.startswith(f"{name}.")), None)
