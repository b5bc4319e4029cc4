"""Refuses settings that nobody reads: hydra takes any key that is given with a plus."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_type_hints

from omegaconf import DictConfig

from parser.ranges import dataclass_of
from parser.settings import Settings, SettingsError


def check_keys(settings: Settings) -> None:
    """Refuses keys that are not settings.

    Raises:
        SettingsError: names the key, and the nearest one that there is.
    """
    for key in unknown_keys(settings, Settings):
        # The last part decides: of optimizer.lr the nearest key is one of the optimizer.
        group, _, name = key.rpartition(".")
        known = list(known_keys(Settings))
        beside = [other for other in known if other.rpartition(".")[0] == group] or known
        nearest = max(beside, key=lambda other: difflib.SequenceMatcher(None, name, other.rpartition(".")[2]).ratio())
        raise SettingsError(f"there is no setting {key}; the nearest is {nearest}; --help lists them all")


def unknown_keys(settings: Any, schema: type, prefix: str = "") -> Iterator[str]:
    """The keys, with dots, that the settings have and a dataclass with its nested ones lacks."""
    types = get_type_hints(schema)
    for key in settings:
        if key not in types:
            yield prefix + str(key)
        elif (nested := dataclass_of(types[key])) is not None and isinstance(settings[key], DictConfig):
            yield from unknown_keys(settings[key], nested, f"{prefix}{key}.")


def known_keys(schema: type, prefix: str = "") -> Iterator[str]:
    """All keys of a dataclass and its nested ones, with dots; a dictionary's own keys are its user's."""
    types = get_type_hints(schema)
    for field in fields(schema):
        yield prefix + field.name
        if (nested := dataclass_of(types[field.name])) is not None:
            yield from known_keys(nested, f"{prefix}{field.name}.")
