"""What tells one version of a file, or of the software, from another."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_DISTRIBUTIONS = ("optimal-step", "torch", "numpy", "numba", "gensim", "conllu", "hydra-core", "tensorboard", "safetensors")


def versions() -> dict[str, str]:
    """Of Python, this project and the libraries under it."""
    return {"python": platform.python_version()} | {name: version(name) for name in _DISTRIBUTIONS}
