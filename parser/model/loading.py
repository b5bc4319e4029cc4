"""The kinds of models, and how to load a model of any kind from its folder."""

from __future__ import annotations

import reprlib
from copy import copy
from pathlib import Path
from typing import TypeVar

from oracles.errors import OptimalStepError
from parser.inference.weights import no_int8
from parser.linear.model import LinearModel
from parser.model.model import Model
from parser.model.packs import find_named
from parser.model_folder import SETTINGS, ModelError, read_settings

AnyModel = Model | LinearModel


def load(folder: Path, device: str = "cpu", int8: bool | None = None) -> AnyModel:
    """Read a model of any kind from its folder, or from its run's folder.

    Args:
        folder: the folder, or the name of a model, see named_folder().
        device: ``cpu`` or ``cuda``, where the classifier runs; linear models have none.
        int8: whether to parse with 8-bit products; None: as the folder says.

    Raises:
        ModelError: a part is missing or damaged, or its format is unknown; or there is no such device.
        Int8Error: 8-bit products are requested, but the model has no encoder.
    """
    if device != "cpu":
        try:
            from parser.networks.classifier import check_device  # it loads torch

            check_device(device)
        except ModuleNotFoundError as error:
            raise ModelError(f"device={device} needs torch, which is not installed; pip install torch") from error
        except OptimalStepError as error:
            raise ModelError(f"device={device}: {error}") from error
    folder = find_named(folder)
    kind = read_settings(folder).get("model", Model.kind)  # older folders name no kind
    if kind == Model.kind:
        return Model.load(folder, device, int8)
    if kind == LinearModel.kind:
        if int8:
            raise no_int8(folder)
        return LinearModel.load(folder)
    known = ", ".join((Model.kind, LinearModel.kind))
    raise ModelError(
        f"{folder / SETTINGS}: models of kind {reprlib.repr(kind)} are unknown; known: {known}; use the version that wrote it"
    )


_M = TypeVar("_M", bound=AnyModel)


def for_treebank(model: _M, name: str) -> _M:
    """Return the model for sentences of one of its treebanks; it shares the weights."""
    same = copy(model)
    same.vocabularies = model.vocabularies.for_treebank(name)
    return same
