"""The versions that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import version

_DISTRIBUTIONS = ("optimal-step", "torch", "numpy", "numba", "gensim", "conllu", "hydra-core", "tensorboard", "safetensors")


def versions() -> dict[str, str]:
    """Of Python, this project and the libraries under it."""
    return {"python": platform.python_version()} | {name: version(name) for name in _DISTRIBUTIONS}
