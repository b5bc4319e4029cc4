"""Where torch computes."""

from __future__ import annotations

import torch


def check_device(name: str) -> None:
    """Refuses a device that torch does not know or does not have here.

    Raises:
        ValueError: says so, and what there is.
    """
    if name != "cpu" and not (name.partition(":")[0] == "cuda" and torch.cuda.is_available()):
        known = "cpu and cuda" if torch.cuda.is_available() else "cpu only, since torch sees no GPU"
        raise ValueError(f"there is no device {name!r} here; available: {known}")
