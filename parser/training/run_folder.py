"""A run's folder: held by one process at a time, and what it says of the run that it holds.

While a run trains there is a checkpoint; when it is finished, there are model/, metrics.json, and run.json, which says what it
was made from.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parser.data.parts.pretrained import files_of, find_encoder
from parser.data.parts.subwords import FILES
from parser.model_folder import CARD, MODEL, SETTINGS, TENSORS, VOCABULARIES, find_model
from parser.settings.files import ENCODER
from parser.settings.paths import shell_command
from parser.settings.plan import Plan
from parser.storage import LockedError, locked, remove_leftovers, sha256_of, write_json
from parser.training.checkpoint import CheckpointError

METRICS = "metrics.json"
CHECKPOINT = "checkpoint.safetensors"
MANIFEST = "run.json"
_LOCK = ".lock"
_EVENTS = "events.out.tfevents.*"
_MISSING = object()


class RunFolderError(ValueError):
    """Another process trains in this folder; the message says which."""


@dataclass(frozen=True)
class Manifest:
    """What a run is made from.

    Attributes:
        settings: its settings as plain values, but for those that say nothing of the outcome: ``resume``, ``tensorboard``
            and ``pretrained.cache``.
        files: by setting, the SHA-256 of the file that it names.
    """

    settings: dict[str, Any]
    files: dict[str, str]

    @classmethod
    def of(cls, plan: Plan) -> Manifest:
        """Return that of a run with this plan and the files as they are now."""
        plain = {key: value for key, value in plan.recorded.items() if key not in ("resume", "tensorboard")}
        if "pretrained" in plain:
            plain["pretrained"] = {**plain["pretrained"], "cache": None}
        paths = {key: Path(name) for key, name in plan.files.named.items()}
        for key, model in plan.files.models.items():
            folder = find_model(Path(model))
            paths |= {f"{key}/{name}": folder / name for name in (SETTINGS, VOCABULARIES, TENSORS)}
        for key, pretrained in plan.files.pretrained.items():
            folder = find_encoder(pretrained, download=True) if key == ENCODER else Path(pretrained)
            names = files_of(folder) if key == ENCODER else FILES
            paths |= {f"{key}/{name}": folder / name for name in names}
        return cls(plain, {key: sha256_of(path) for key, path in paths.items() if path.is_file()})

    def difference(self, other: Manifest) -> str | None:
        """How another run differs, for a message; None if it does not."""
        if self.settings != other.settings:
            keys = sorted(_differing(self.settings, other.settings))
            return f"other settings ({', '.join(keys[:5])}{', ...' if len(keys) > 5 else ''})"
        keys = sorted(key for key in self.files.keys() | other.files.keys() if self.files.get(key) != other.files.get(key))
        return f"other contents of {', '.join(keys)}" if keys else None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Makes the folder if it is not there, holds it against other processes, and clears away what dead ones left half-written.

    Raises:
        RunFolderError: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder / _LOCK, wait=False):
            remove_leftovers(folder)
            yield
    except LockedError as error:
        raise RunFolderError(
            f"{folder}: process {error.holder or 'of unknown number'} is training in this folder; "
            "wait for it, or choose another hydra.run.dir"
        ) from None


def finished_metrics(folder: Path, manifest: Manifest) -> dict[str, Any] | None:
    """The metrics of the finished run that the folder holds; None if it holds none.

    Raises:
        CheckpointError: that run was made from something else.
    """
    if not ((folder / METRICS).is_file() and (folder / MODEL).is_dir()) or (folder / CHECKPOINT).exists():
        return None
    advice = "choose another hydra.run.dir, or replace it with resume=false"
    try:
        found = Manifest(**json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
        metrics: dict[str, Any] = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        raise CheckpointError(f"{folder}: a finished run is here that does not say what it was made from; {advice}") from None
    if (difference := found.difference(manifest)) is not None:
        raise CheckpointError(f"{folder}: a finished run with {difference} is here; {advice}")
    return metrics


def write_results(folder: Path, manifest: Manifest, metrics: dict[str, Any]) -> None:
    """Writes what a finished run leaves besides its model, and removes its checkpoint."""
    write_json(folder / MANIFEST, asdict(manifest))
    write_json(folder / METRICS, metrics)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def start_over(folder: Path) -> None:
    """Removes what an earlier run left, but for its model, which stays until the new one is whole."""
    for path in (*(folder / name for name in (METRICS, MANIFEST, CHECKPOINT)), *folder.glob(_EVENTS)):
        path.unlink(missing_ok=True)


def same_network(model: str | None) -> str:
    """Return, for a message, how to train with the network of a model, whose card has the command that trained it."""
    card = find_model(Path(str(model))) / CARD
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    words = [word for line in re.findall("^    (optimal-step train .*)", text, re.MULTILINE) for word in shlex.split(line)]
    kept = [word for word in words if not re.match(r"\+*(tree|hydra|start|seed|path|token|resum|thread|tensor|\w+_pass)", word)]
    return "give the settings of its run" + (f", as in {shell_command(kept, {'start': str(model)})}" if words else "")


def _differing(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key in one.keys() | other.keys():
        a, b = one.get(key, _MISSING), other.get(key, _MISSING)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _differing(a, b, f"{prefix}{key}.")
        elif a != b:
            yield prefix + key
