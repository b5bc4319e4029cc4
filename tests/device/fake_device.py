"""A device that is not there: tensors that say they lie on it, and are computed on the CPU.

What a GPU would refuse is refused here: operations on tensors of both devices, and numpy() of a
tensor on this one. So the code for ``device=cuda`` runs where there is no GPU; what cannot be seen
is how fast a GPU is, and that its sums have other last digits. The device is called ``meta``, of
torch's devices one that is always there, and whose own tensors hold no numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

NAME = "meta"

_ATEN = torch.ops.aten

# The module of torch that knows which devices have fused optimizers;
# it is not to be had by its name.
_OPTIMIZERS = sys.modules[Optimizer.__module__]

# What takes tensors on the CPU, too: from one device to the other,
# and numbers of rows (as on a GPU).
_TAKE_ANY = {
    _ATEN._to_copy.default,
    _ATEN.copy_.default,
    _ATEN.index.Tensor,
    _ATEN.index_put_.default,
}

# Operations whose result the CPU must know before it goes on, so that it waits for a GPU.
_WAIT = {
    _ATEN._local_scalar_dense.default,
    _ATEN.nonzero.default,
    _ATEN.masked_select.default,
    _ATEN._unique2.default,
}


class OnDevice(Tensor):
    """A tensor on the device; ``numbers`` is the tensor on the CPU that it stands for."""

    numbers: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> OnDevice:
        made = Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(NAME),
        )
        made.numbers = inner
        return made

    def numpy(self, *, force: bool = False) -> Any:
        """As a GPU's tensors: only with ``force`` are they taken to the CPU."""
        if not force:
            raise TypeError(f"a tensor on {NAME} has no numpy(); take it to the CPU first")
        return self.detach().cpu().numpy()

    def tolist(self) -> Any:
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        return _computed(function, arguments, keywords or {})


class _Creating(TorchDispatchMode):
    """Tensors that are made on the device, or taken there, are OnDevice."""

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        return _computed(function, arguments, keywords or {})


class _CreatingFromNumbers(TorchFunctionMode):
    """Tensors made of lists of numbers, by torch.tensor() and as indices: no dispatch mode sees
    these before it is too late.
    """

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        if function is torch.tensor and keywords.get("device") is not None:
            device = keywords.pop("device")
            return function(*arguments, **keywords).to(device)
        if function in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(
            arguments[0], OnDevice
        ):
            tensor, index, *value = arguments
            parts = index if isinstance(index, tuple) else (index,)
            arguments = (
                tensor,
                tuple(torch.tensor(part) if isinstance(part, list) else part for part in parts),
                *value,
            )
        return function(*arguments, **keywords)


def _computed(function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Return what one of torch's operations gives, computed on the CPU; on the device if its
    tensors are, or if it is asked to be.
    """
    tensors = [
        value for value in tree_flatten((arguments, keywords))[0] if isinstance(value, Tensor)
    ]
    there = [tensor for tensor in tensors if isinstance(tensor, OnDevice)]
    if there and function not in _TAKE_ANY:
        here = [tensor for tensor in tensors if not isinstance(tensor, OnDevice) and tensor.dim()]
        if here:
            raise RuntimeError(f"{function}: tensors on {NAME} and on the CPU")
    keywords = dict(keywords)
    wanted = keywords.get("device")
    if wanted is not None:
        keywords["device"] = torch.device("cpu")
    elif function is _ATEN._to_copy.default:
        wanted = arguments[0].device
    on_device = bool(there) if wanted is None else torch.device(wanted).type == NAME
    by_mask = function is _ATEN.index.Tensor and any(
        one is not None and one.dtype is torch.bool for one in arguments[1]
    )
    if (
        _running_ahead
        and there
        and (function in _WAIT or by_mask or (function is _ATEN._to_copy.default and not on_device))
    ):
        raise RuntimeError(f"{function}: the CPU would wait for {NAME}")
    if function is _ATEN.copy_.default:
        on_device = isinstance(arguments[0], OnDevice)
    found = function(*tree_map(_inner, arguments), **tree_map(_inner, keywords))
    if not on_device:
        return found
    # what is overwritten stays the same tensor
    known = {id(tensor.numbers): tensor for tensor in there}
    return tree_map(
        lambda value: known.get(id(value)) if id(value) in known else _outer(value), found
    )


def _inner(value: Any) -> Any:
    return value.numbers if isinstance(value, OnDevice) else value


def _outer(value: Any) -> Any:
    return OnDevice(value) if isinstance(value, Tensor) else value


@contextmanager
def fake_device() -> Iterator[str]:
    """While it is there; gives its name."""
    with (
        mock.patch("parser.networks.classifier.check_device"),
        mock.patch("parser.training.run.check_device"),
        mock.patch("parser.settings.rules.DEVICES", ("cpu", NAME)),
        mock.patch.object(
            _OPTIMIZERS, "_get_fused_kernels_supported_devices", return_value=[NAME, "cpu"]
        ),
        mock.patch.object(nn.Module, "_apply", _apply),
        _Creating(),
        _CreatingFromNumbers(),
    ):
        yield NAME


_running_ahead: list[bool] = []


@contextmanager
def running_ahead() -> Iterator[None]:
    """Refuse what would make the CPU wait for the device."""
    _running_ahead.append(True)
    try:
        yield
    finally:
        _running_ahead.pop()


_APPLY = nn.Module._apply


def _apply(module: nn.Module, *arguments: Any, **keywords: Any) -> nn.Module:
    """nn.Module._apply(), in a way that lets parameters become tensors of another class."""
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        return _APPLY(module, *arguments, **keywords)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
