"""Distinguishes rows that were made with today's settings from stale ones.

A fingerprint covers all settings of a training but those that do not affect its outcome: the seed, which is in the row itself,
and where files lie. A key that is added to the settings later would make every committed row stale, though the rows were made
as the key's neutral value says. So a key of NEUTRAL is left out at that value, and only there: with another default the
fingerprint changes, as it must. A key that is renamed is mapped once, by migrate.py.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from typing import Any

# Which trees and whose outcome a row is about stands in the row, as does whose sentences of a text it parses; table7 holds what
# all columns would be, chosen or not.
LEFT_OUT = ("seed", "paths", "treebank", "resume", "table7", "tensorboard", "segmenter")

# Key, with dots -> the value at which a training is what it was before there was such a key.
NEUTRAL: dict[str, Any] = {
    "system": "arc_standard",
    "degree": None,
    "ties": None,
    "vocabulary_from": "all",
    "beam": {"name": "none", "size": 1, "merge": "configuration", "training": None},
    "beam.training.start": None,
    "beam.training.margin": 0.0,
    "beam.training.continue_without_gold": False,
    "online": None,
    "tokenizer": "none",
    "distillation": {"teacher": None, "weight": 1.0, "temperature": 1.0, "over": "optimal"},
    "distillation.temperature": 1.0,
    "vectors.limit": None,
    "vectors.restrict": False,
    "lattice": {
        "train": None,
        "dev": None,
        "test": None,
        "lookahead": 3,
        "gold": "infused",
        "max_arcs": 20000,
        "choices": True,
        "beam": 8,
    },
    "encoder.characters": None,
    "encoder.tagger": None,
    "encoder.heads": None,
}

# Files whose place does not matter, but whether there are any.
_FILES = ("lattice.train", "lattice.dev", "lattice.test", "distillation.teacher")

_MISSING = object()


def fingerprint(settings: Mapping[str, Any], neutral: Mapping[str, Any] | None = None) -> str:
    """Eight hexadecimal digits.

    Args:
        settings: of a training, in plain dictionaries, interpolations resolved.
        neutral: as NEUTRAL, which is taken if none is given.
    """
    plain = copy.deepcopy(dict(settings))
    for key in LEFT_OUT:
        remove(plain, key)
    for key in _FILES:
        if isinstance(look_up(plain, key), str):
            group, _, name = key.partition(".")
            plain[group][name] = "given"
    for key, value in (NEUTRAL if neutral is None else neutral).items():
        if look_up(plain, key) == value:
            remove(plain, key)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]


def look_up(settings: Mapping[str, Any], key: str) -> Any:
    """The value of a key with dots; an object that equals no setting if it is not there."""
    found: Any = settings
    for name in key.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = found[name]
    return found


def remove(settings: dict[str, Any], key: str) -> Any:
    """Takes a key with dots out of the settings, if it is there; its value, as in ``look_up``."""
    value = look_up(settings, key)
    if value is not _MISSING:
        folder, _, name = key.rpartition(".")
        del (look_up(settings, folder) if folder else settings)[name]
    return value


def renamed(settings: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The settings with some keys under other names (key with dots -> new key with dots), those that are there."""
    plain = copy.deepcopy(dict(settings))
    for old, new in names.items():
        value = remove(plain, old)
        if value is not _MISSING:
            *folders, name = new.split(".")
            place = plain
            for folder in folders:
                place = place.setdefault(folder, {})
            place[name] = value
    return plain
