"""The folder of a run: locked by one process at a time; its checkpoint, manifest and metrics.

While a run trains, it has a checkpoint: one file of tensors, with everything else as JSON in its
header. A resumed run gives the same result. The checkpoint holds what an epoch changes (trained
weights, optimizer, random generators) and the weights with which the parser explored last. Examples
and word vectors are made again: settings, files and these weights determine them. A checksum
detects damage. A finished run leaves model/, metrics.json, and run.json, which records its settings
and files.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from oracles.errors import OptimalStepError
from parser.data.parts import PARTS
from parser.data.parts.pretrained import HELD
from parser.linear.model import WEIGHTS
from parser.model_folder import (
    CARD,
    EXAMPLE,
    MODEL,
    SETTINGS,
    SUBWORD_TOKENIZER,
    TENSORS,
    TEXT,
    TEXT_FILES,
    UDPIPE_TOKENIZER,
    VOCABULARIES,
    find_model,
)
from parser.settings.plan import Plan
from parser.storage import (
    LockedError,
    from_json,
    locked,
    remove_leftovers,
    replacing,
    sha256_of,
    write_json,
)

METRICS = "metrics.json"
CHECKPOINT = "checkpoint.safetensors"
MANIFEST = "run.json"
_LOCK = ".lock"
_EVENTS = "events.out.tfevents.*"
# In every file of events of a run: its settings, as text or as TensorBoard's hyperparameters.
_OUR_EVENTS = b"settings/text_summary", b"_hparams_/"
# A model's folder has one of these files; a damaged one has nothing except these and other parts.
_MAIN_PARTS = {SETTINGS, VOCABULARIES, TENSORS, WEIGHTS}
_PARTS = {*_MAIN_PARTS, *TEXT_FILES, TEXT, UDPIPE_TOKENIZER, SUBWORD_TOKENIZER, CARD, EXAMPLE, HELD}
_MISSING = object()
_FORMAT = 3  # of checkpoints


class RunFolderError(OptimalStepError):
    """A run cannot use this folder: another process is training in it, something there was not
    written by a run, or its name is not UTF-8; the message says which.
    """


@dataclass(frozen=True)
class Manifest:
    """The settings and files that a run is made from.

    Attributes:
        settings: the run's settings as plain values, without those that change no result:
            ``resume``, ``tensorboard`` and ``pretrained.cache``.
        files: for each setting that names a file, the SHA-256 of this file.
    """

    settings: dict[str, Any]
    files: dict[str, str]

    @classmethod
    def of(cls, plan: Plan) -> Manifest:
        """Return the manifest of a run with this plan and the files as they are now."""
        plain = {
            key: value
            for key, value in plan.recorded.items()
            if key not in ("resume", "tensorboard")
        }
        for group, _, name in (key.partition(".") for kind in PARTS for key in kind.incidental):
            if group in plain:
                plain[group] = {**plain[group], name: None}
        paths = {key: Path(name) for key, name in plan.files.named.items()}
        for key, model in plan.files.models.items():
            folder = find_model(Path(model))
            paths |= {f"{key}/{name}": folder / name for name in (SETTINGS, VOCABULARIES, TENSORS)}
        kinds = {kind.setting: kind for kind in PARTS}
        for key, named in plan.files.pretrained.items():
            paths |= {f"{key}/{name}": path for name, path in kinds[key].files(named).items()}
        return cls(plain, {key: sha256_of(path) for key, path in paths.items() if path.is_file()})

    def difference(self, other: Manifest) -> str | None:
        """Return how another run differs, for a message; None if it does not."""
        if self.settings != other.settings:
            keys = sorted(_differing(self.settings, other.settings))
            return f"other settings ({', '.join(keys[:5])}{', ...' if len(keys) > 5 else ''})"
        keys = sorted(
            key
            for key in self.files.keys() | other.files.keys()
            if self.files.get(key) != other.files.get(key)
        )
        return f"other contents of {', '.join(keys)}" if keys else None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Create the folder if needed, lock it, and remove what dead processes left half-written.

    Raises:
        RunFolderError: another process has locked it, or its name is not UTF-8.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise RunFolderError(
            f"{folder}: TensorBoard needs a name in UTF-8; choose another hydra.run.dir"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder / _LOCK, wait=False):
            remove_leftovers(folder)
            yield
    except LockedError as error:
        raise RunFolderError(
            f"{folder}: process {error.holder or 'with an unknown id'} is training in this folder; "
            "wait for it, or choose another hydra.run.dir"
        ) from None


def check_unused(folder: Path) -> None:
    """Refuse a folder in which the run would replace something that was not written by a run.

    Raises:
        RunFolderError: names the file or folder.
    """
    advice = "choose another hydra.run.dir"
    model = folder / MODEL
    has_model = model.is_dir() and any(model.iterdir())
    if os.path.lexists(model) and not (_is_model(model) if has_model else model.is_dir()):
        raise RunFolderError(f"{model}: this is not a model of optimal-step; {advice}")
    if has_model or (folder / CHECKPOINT).exists():
        return
    for name, keys in ((METRICS, {"treebank"}), (MANIFEST, {"settings", "files"})):
        path = folder / name
        if os.path.lexists(path) and not keys <= _object(path).keys():
            raise RunFolderError(f"{path}: this was not written by a run of optimal-step; {advice}")


def _is_model(folder: Path) -> bool:
    """Return whether a folder that is not empty is a model's, even if it is damaged."""
    names = {path.name for path in folder.iterdir()}
    is_like_one = bool(names & _MAIN_PARTS) and names <= _PARTS
    return is_like_one or "transition_system" in _object(folder / SETTINGS)


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if there is none."""
    try:
        value = from_json(path.read_bytes())
    except (OSError, OptimalStepError):
        return {}
    return value if isinstance(value, dict) else {}


def finished_metrics(folder: Path, manifest: Manifest) -> dict[str, Any] | None:
    """Return the metrics of the finished run in the folder; None if it holds none.

    Raises:
        CheckpointError: that run was made from other settings or files.
    """
    if (
        not ((folder / METRICS).is_file() and (folder / MODEL).is_dir())
        or (folder / CHECKPOINT).exists()
    ):
        return None
    advice = "choose another hydra.run.dir, or replace it with resume=false"
    try:
        finished = Manifest(**from_json((folder / MANIFEST).read_bytes()))
        metrics: dict[str, Any] = from_json((folder / METRICS).read_bytes())
        if not all(
            isinstance(content, dict) for content in (finished.settings, finished.files, metrics)
        ):
            raise TypeError("not an object")
    except (OSError, ValueError, TypeError):
        raise CheckpointError(
            f"{folder}: a finished run is here, without a readable {MANIFEST}; {advice}"
        ) from None
    if (difference := finished.difference(manifest)) is not None:
        raise CheckpointError(f"{folder}: a finished run with {difference} is here; {advice}")
    return metrics


def write_results(folder: Path, manifest: Manifest, metrics: dict[str, Any]) -> None:
    """Write the manifest and the metrics of a finished run, and remove its checkpoint."""
    write_json(folder / MANIFEST, asdict(manifest))
    write_json(folder / METRICS, metrics)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def start_over(folder: Path) -> None:
    """Remove the files of an earlier run, except its model,
    which stays until the new one is complete.
    """
    ours = [folder / name for name in (METRICS, MANIFEST, CHECKPOINT)]
    for path in folder.glob(_EVENTS):
        content = path.read_bytes()
        ours += [path] * any(mark in content for mark in _OUR_EVENTS)
    for path in ours:
        path.unlink(missing_ok=True)


def _differing(first: dict[str, Any], second: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key in first.keys() | second.keys():
        a, b = first.get(key, _MISSING), second.get(key, _MISSING)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _differing(a, b, f"{prefix}{key}.")
        elif a != b:
            yield prefix + key


class CheckpointError(OptimalStepError):
    """A run cannot be resumed from its checkpoint; the message says why and what to do."""


@dataclass
class Progress:
    """The progress of a run.

    Attributes:
        manifest: the run's Manifest as plain values.
        pass_number: the pass under way, from 0.
        epochs_done: how many epochs of that pass are done.
        best_las: the highest dev LAS of the pass so far; None without a dev split,
            or before its first epoch.
        metrics: the metrics of finished passes, by pass, then by split (dev, test).
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
        """Record the end of the pass under way; ``metrics`` are by split."""
        self.metrics[name] = metrics
        self.pass_number, self.epochs_done, self.best_las = self.pass_number + 1, 0, None


def trained_weights(module: nn.Module) -> dict[str, Tensor]:
    """Return copies of the weights that training changes, on the CPU."""
    return {
        name: p.detach().cpu().clone() for name, p in module.named_parameters() if p.requires_grad
    }


def restore_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Put back copies made by trained_weights()."""
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name, weight in weights.items():
            parameters[name].copy_(weight)


def save_checkpoint(path: Path, progress: Progress, groups: dict[str, dict[str, Tensor]]) -> None:
    """Write a checkpoint atomically; ``groups`` are named dictionaries of tensors."""
    tensors = {
        f"{group}/{name}": t.contiguous()
        for group, named in groups.items()
        for name, t in named.items()
    }
    state = json.dumps({"format": _FORMAT} | vars(progress))
    with replacing(path) as temporary:
        temporary.write_bytes(
            to_bytes(tensors, metadata={"progress": state, "checksum": _checksum(state, tensors)})
        )


def load_checkpoint(path: Path) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
    """Read a checkpoint back.

    Raises:
        CheckpointError: the file is damaged, or another version wrote it.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # Copied, because the file's own tensors keep it in use,
            # and Windows does not replace a file in use.
            tensors = {key: file.get_tensor(key).clone() for key in file.keys()}  # noqa: SIM118 - not a dictionary
    except (SafetensorError, UnicodeDecodeError, ValueError) as error:
        raise CheckpointError(
            f"{path}: the checkpoint is damaged ({error}); start over with resume=false"
        ) from error
    state = metadata.get("progress", "")
    if metadata.get("checksum") != _checksum(state, tensors):
        raise CheckpointError(
            f"{path}: the checkpoint is damaged, or another version wrote it; "
            "start over with resume=false"
        )
    fields = json.loads(state)
    if fields.pop("format") != _FORMAT:
        raise CheckpointError(
            f"{path}: another version wrote this checkpoint; start over with resume=false"
        )
    groups: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        group, _, name = key.partition("/")
        groups.setdefault(group, {})[name] = tensor
    return Progress(**fields), groups


def _checksum(state: str, tensors: dict[str, Tensor]) -> str:
    """Return the CRC-32 of the state and of the names, types, shapes and bytes of the tensors."""
    total = zlib.crc32(state.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total = zlib.crc32(f"{name} {tensor.dtype} {list(tensor.shape)}".encode(), total)
        total = zlib.crc32(tensor.numpy().tobytes(), total)
    return f"{total:08x}"
