"""The settings that a command line gives, each read once.
Everything that asks what was given by hand asks ``Given``.

A setting is a word ``KEY=VALUE``. hydra also knows ``+KEY=VALUE``, which adds a key,
``++KEY=VALUE``, which adds or changes it, and ``~KEY``, which deletes it. Words with a dash at the
beginning are options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

_parser = cache(partial(OverridesParser.create))


def read_by_hydra(word: str) -> Override | None:
    """Return a word as hydra reads it; None if hydra cannot read it, which hydra reports when it
    composes the settings.
    """
    try:
        return _parser().parse_override(word)
    except HydraException:
        return None


@dataclass(frozen=True)
class GivenSetting:
    """A word of a command line that gives a setting, or chooses a group.

    Attributes:
        word: the whole word; paths are quoted for hydra.
        name: the setting or the group, with dots.
        text: the value as it is written; empty if there is none.
        is_deleted: whether the word deletes the setting.
    """

    word: str
    name: str
    text: str
    is_deleted: bool

    @classmethod
    def of(cls, word: str) -> GivenSetting:
        """Return the setting that a word gives."""
        name, _, text = word.lstrip("+~").partition("=")
        return cls(word, name, text, word.startswith("~"))

    @cached_property
    def read(self) -> Override | None:
        """The word as hydra reads it; None if hydra cannot read it."""
        return read_by_hydra(self.word)

    @property
    def value(self) -> Any:
        """The value that hydra reads; None for null, for a deleted setting,
        and for a word that hydra cannot read.
        """
        return None if self.read is None else self.read.value()

    @property
    def is_sweep(self) -> bool:
        """Whether it has several values, one for each job of a sweep."""
        return self.read is not None and self.read.is_sweep_override()

    def is_in(self, key: str) -> bool:
        """Return whether it is the setting or group ``key``, or a setting in this group."""
        return f"{self.name}.".startswith(f"{key}.")

    def touches(self, key: str) -> bool:
        """Return whether the word changes ``key``: it gives ``key`` or a setting in this group, or
        it gives a group that ``key`` is in.
        """
        return self.is_in(key) or f"{key}.".startswith(f"{self.name}.")


@dataclass(frozen=True)
class Given:
    """The settings that a command line gives; ``words`` are all of its words, with paths quoted for
    hydra (paths.for_hydra).
    """

    words: Sequence[str] = ()

    @cached_property
    def settings(self) -> list[GivenSetting]:
        """The settings and choices of groups, in their order."""
        return [GivenSetting.of(word) for word in self.words if not word.startswith("-")]

    @property
    def names(self) -> set[str]:
        """The names of the settings and groups that have a value; a deleted setting has none."""
        return {setting.name for setting in self.settings if not setting.is_deleted}

    def find(self, key: str) -> GivenSetting | None:
        """Return the first setting that is ``key`` or is in this group; None if there is none."""
        return next((setting for setting in self.settings if setting.is_in(key)), None)


NOTHING_GIVEN = Given()
