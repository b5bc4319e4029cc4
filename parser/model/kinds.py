"""The kinds of models, and how to read a model of any kind from its folder."""

from __future__ import annotations

import reprlib
from pathlib import Path

from oracles.errors import OptimalStepError
from parser.inference.weights import no_int8
from parser.linear.model import LinearModel
from parser.model.model import FrozenModel
from parser.model.parser_model import ParserModel
from parser.model_folder import SETTINGS, ModelError, read_settings


def read_model(folder: Path, device: str = "cpu", int8: bool | None = None) -> ParserModel:
    """Read a model of any kind from its folder. The model is frozen, unless it runs on another
    device than the CPU.

    Args:
        folder: the folder, or its run's folder.
        device: ``cpu`` or ``cuda``, where the classifier runs; linear models have none.
        int8: whether to parse with 8-bit products; None: as the folder says, but in single
            precision on other devices.

    Raises:
        ModelError: a part is missing or damaged, or its format is unknown;
            or there is no such device.
        Int8Error: 8-bit products are requested, but the model has no encoder.
    """
    kind = read_settings(folder).get("model", FrozenModel.kind)  # older folders name no kind
    if kind == FrozenModel.kind:
        if device == "cpu":
            return FrozenModel.load(folder, int8)
        from parser.model.trained_model import TrainedModel  # it loads torch

        return TrainedModel.load(folder, device, int8)
    if kind == LinearModel.kind:
        if int8:
            raise no_int8(folder)
        return LinearModel.load(folder)
    known = ", ".join((FrozenModel.kind, LinearModel.kind))
    raise ModelError(
        f"{folder / SETTINGS}: models of kind {reprlib.repr(kind)} are unknown; known: {known}; "
        "use the version that wrote it"
    )


def check_device(device: str) -> None:
    """Refuse a device that is not available.

    Raises:
        ModelError: there is no such device, or torch, which it needs, is not installed.
    """
    if device == "cpu":
        return
    try:
        from parser.networks.classifier import check_device as check  # it loads torch

        check(str(device))  # in Python, it may be anything
    except ModuleNotFoundError as error:
        raise ModelError(
            f"device={device} needs torch, which is not installed; pip install torch"
        ) from error
    except OptimalStepError as error:
        raise ModelError(f"device={device}: {error}") from error
