"""Refuses settings that are given on the command line, but that this run would not read. It loads fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parser.settings import Settings, SettingsError, given_models

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

# By setting, when it is read, and the setting that makes it so.
_READ_IF: dict[str, tuple[Callable[[Settings], bool], str]] = {
    "vectors.limit": (lambda settings: settings.vectors.file is not None, "vectors.file=FILE"),
    "vectors.restrict": (lambda settings: settings.vectors.file is not None, "vectors.file=FILE"),
    "optimizer.momentum": (lambda settings: settings.optimizer.name == "sgd", "optimizer.name=sgd"),
    "second_pass.follow": (lambda settings: settings.second_pass.policy == "mixed", "second_pass.policy=mixed"),
    "distillation.weight": (lambda settings: settings.distillation.teacher is not None, "distillation.teacher=RUN_FOLDER"),
    "distillation.over": (lambda settings: settings.distillation.teacher is not None, "distillation.teacher=RUN_FOLDER"),
    "beam.merge": (lambda settings: settings.beam.name != "none", "beam=local or beam=global"),
}


def check_overrides(settings: Settings, overrides: Iterable[str]) -> None:
    """Refuses what was given but is not read.

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
        passes = _names_read_by(key, ("first_pass", "second_pass"))
        if passes is not None and "beam.training.start" in given_models(settings):
            raise SettingsError(
                f"{override}: with beam.training.start there is no {passes} in this run; leave one of the two out"
            )
        is_read, reader = _READ_IF.get(key, (None, ""))
        if is_read is not None and not is_read(settings):
            raise SettingsError(f"{override} is read with {reader} alone; leave it out, or add that")


def _names_read_by(key: str, names: Iterable[str]) -> str | None:
    """The name, of a setting or a group of them, that the key is or lies in."""
    return next((name for name in names if key == name or key.startswith(f"{name}.")), None)
