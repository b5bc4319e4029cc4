"""The choices of ``column=`` in sweeps and in a shell's completion, as hydra has them for groups.

hydra wants the choices of a group to be words, and those of ``column`` are numbers; so it is a plain setting, for which hydra
would expand ``glob(*)`` to nothing, and complete nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob
from omegaconf import OmegaConf

from parser.commands.configs import CONFIGS

_KEY = "column="
_SHARES = "treebank.held_out="


def columns() -> list[str]:
    """The columns that there are, as in configs/table7.yaml."""
    return [str(column) for column in OmegaConf.load(CONFIGS / "table7.yaml").table7]


def with_columns(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command, ``column=glob(PATTERN)`` as a list of columns.

    Raises:
        ValueError: the pattern matches none.
        CompactHydraException: hydra cannot read it.
    """
    return [_listed(argument) if argument.startswith(f"{_KEY}glob(") else argument for argument in arguments]


def with_shares(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command, ``treebank.held_out=DEV,TEST`` as a list of two; but in a sweep these are two jobs."""
    if {"-m", "--multirun"} & set(arguments):
        return [*arguments]
    return [re.sub(rf"^({re.escape(_SHARES)})([0-9.]+,[0-9.]+)$", r"\1[\2]", argument) for argument in arguments]


def _listed(argument: str) -> str:
    (override,) = OverridesParser.create().parse_overrides([argument])
    pattern = override.value()
    assert isinstance(pattern, Glob)
    chosen = pattern.filter(columns())
    if not chosen:
        raise ValueError(f"{argument} matches no column; known: {', '.join(columns())}")
    return _KEY + ",".join(chosen)


def completions(arguments: Sequence[str]) -> list[str]:
    """What a shell is offered that asks hydra to complete the line COMP_LINE and means a column; else nothing."""
    asked = {"-sc", "--shell-completion"} & set(arguments)
    word = os.environ.get("COMP_LINE", "").rpartition(" ")[2]
    offered = [_KEY + column for column in columns()] if asked and word.startswith(_KEY) else []
    return [choice for choice in offered if choice.startswith(word)]
