"""One file from which an interrupted run is resumed as if nothing had happened: tensors, and the rest as JSON in their header.

It holds what an epoch changes (trained weights, optimizer, random generators) and the weights with which the parser explored
last; examples and word vectors are made again, being determined by these, by the settings and by the files that they name. A
checksum tells a damaged file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from parser.storage import replacing

FORMAT = 3


class CheckpointError(ValueError):
    """A run cannot be resumed from its checkpoint; the message says why, and the fix."""


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        manifest: what the run is made from, as plain values; see run_folder.py.
        pass_number: the pass under way, from 0.
        epochs_done: epochs of that pass that are done.
        best_las: the highest dev LAS of the pass so far; None without a dev part, or before its first epoch.
        metrics: by finished pass, then by part (dev, test).
        seconds: wall-clock time by stage so far.
        cpu_seconds: processor time of all processes that have worked on the run so far.
    """

    manifest: dict[str, Any]
    pass_number: int = 0
    epochs_done: int = 0
    best_las: float | None = None
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: float = 0.0

    def end_pass(self, name: str, metrics: dict[str, Any]) -> None:
        """The pass under way is over; ``metrics``: by part."""
        self.metrics[name] = metrics
        self.pass_number, self.epochs_done, self.best_las = self.pass_number + 1, 0, None


def trained_weights(module: nn.Module) -> dict[str, Tensor]:
    """Copies of the weights that training changes, on the CPU."""
    return {name: p.detach().cpu().clone() for name, p in module.named_parameters() if p.requires_grad}


def restore_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Puts copies made by trained_weights() back."""
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name, weight in weights.items():
            parameters[name].copy_(weight)


def save(path: Path, progress: Progress, groups: dict[str, dict[str, Tensor]]) -> None:
    """Writes a checkpoint atomically; ``groups`` are named dictionaries of tensors."""
    tensors = {f"{group}/{name}": t.contiguous() for group, named in groups.items() for name, t in named.items()}
    state = json.dumps({"format": FORMAT} | vars(progress))
    with replacing(path) as temporary:
        temporary.write_bytes(to_bytes(tensors, metadata={"progress": state, "checksum": _checksum(state, tensors)}))


def load(path: Path) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
    """Reads a checkpoint back.

    Raises:
        CheckpointError: the file is damaged, or another version wrote it.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # Copies: its own tensors lie in the file, and Windows lets no other checkpoint take the place of one in use.
            tensors = {key: file.get_tensor(key).clone() for key in file.keys()}  # noqa: SIM118 - not a dictionary
    except (SafetensorError, UnicodeDecodeError, ValueError) as error:
        raise CheckpointError(f"{path}: the checkpoint is damaged ({error}); start over with resume=false") from error
    state = metadata.get("progress", "")
    if metadata.get("checksum") != _checksum(state, tensors):
        raise CheckpointError(f"{path}: the checkpoint is damaged, or another version wrote it; start over with resume=false")
    fields = json.loads(state)
    if fields.pop("format") != FORMAT:
        raise CheckpointError(f"{path}: another version wrote this checkpoint; start over with resume=false")
    groups: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        group, _, name = key.partition("/")
        groups.setdefault(group, {})[name] = tensor
    return Progress(**fields), groups


def _checksum(state: str, tensors: dict[str, Tensor]) -> str:
    """CRC-32 of the state and of the names, types, shapes and bytes of the tensors."""
    total = zlib.crc32(state.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total = zlib.crc32(f"{name} {tensor.dtype} {list(tensor.shape)}".encode(), total)
        total = zlib.crc32(tensor.numpy().tobytes(), total)
    return f"{total:08x}"
