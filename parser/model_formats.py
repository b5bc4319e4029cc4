"""The formats of model folders: today's, and what older ones are in its terms."""

from __future__ import annotations

from typing import Any, TypeVar

# Tensors, or what a header says of them.
_T = TypeVar("_T")

FORMAT = 2
FORMATS = (1, FORMAT)

# What tensors of format 1 are called now: the first beginning that fits is replaced.
_RENAMED = {
    "vectors.context": "tokens.reserved",
    "vectors.": "tokens.embeddings.vectors.",
    "words.vectors.": "tokens.inputs.vectors.",
    "words.": "tokens.",
}


def upgrade(settings: dict[str, Any], tensors: dict[str, _T]) -> tuple[dict[str, Any], dict[str, _T]]:
    """Settings and tensors of a model folder of any of FORMATS as those of FORMAT.

    In format 1, slots that read a token itself read ``context``, and the token representation had no tensors of its own name.
    """
    if settings["format"] == FORMAT:
        return settings, tensors
    slots = [slot.replace(":context", ":token") for slot in settings["slots"]]
    return settings | {"format": FORMAT, "slots": slots}, {_renamed(name): tensor for name, tensor in tensors.items()}


def _renamed(name: str) -> str:
    old = next((old for old in _RENAMED if name.startswith(old)), "")
    return _RENAMED.get(old, "") + name.removeprefix(old)
