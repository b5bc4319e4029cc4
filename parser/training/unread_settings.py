"""Refuses settings that are given on the command line for another kind of model. It loads fast."""

from __future__ import annotations

from collections.abc import Iterable

from parser.settings import Settings, SettingsError

# By model=, the settings and groups of settings that it does not read, though others do.
_UNREAD = {
    "mlp": ("online",),
    "bilstm": ("online",),
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
    ),
}


def check_overrides(settings: Settings, overrides: Iterable[str]) -> None:
    """Refuses what was given but is not read.

    Args:
        settings: of the run.
        overrides: what was given, KEY=VALUE.

    Raises:
        SettingsError: names the key, and the models that read it.
    """
    for override in overrides:
        group = override.partition("=")[0].lstrip("+~").partition(".")[0]
        if group in _UNREAD.get(settings.model, ()):
            readers = " or ".join(f"model={name}" for name, unread in _UNREAD.items() if group not in unread)
            raise SettingsError(f"{override}: model={settings.model} does not read {group}; leave it out, or choose {readers}")
