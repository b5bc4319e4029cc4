"""How to load the model that a user names."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TypeVar

from parser.model.kinds import check_device, read_model
from parser.model.packs import find_named
from parser.model.parser_model import ParserModel


def load(folder: Path, device: str = "cpu", int8: bool | None = None) -> ParserModel:
    """Read a model of any kind from its folder, or from its run's folder.

    Args:
        folder: the folder, or the name of a model, see named_folder().
        device: see read_model().
        int8: see read_model().

    Raises:
        ModelError, Int8Error: see read_model().
        OptimalStepError: the model of this name cannot be fetched or unpacked.
    """
    check_device(device)
    return read_model(find_named(folder), device, int8)


_M = TypeVar("_M", bound=ParserModel)


def for_treebank(model: _M, name: str) -> _M:
    """Return the model for sentences of one of its treebanks; it shares the weights."""
    same = copy(model)
    same.vocabularies = model.vocabularies.for_treebank(name)
    return same
