"""Cases made elsewhere; tests that need them are skipped where they are absent."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from tests.jit import COMPILED

SHARED = Path(os.environ.get("OPTIMAL_STEP_SHARED", Path(__file__).resolve().parents[3] / "shared"))


@cache
def cases(name: str) -> list[dict]:
    path = SHARED / "vectors" / name
    if not path.exists():
        pytest.skip(f"no {path}; set OPTIMAL_STEP_SHARED to the folder that holds vectors/")
    with path.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return found[::20] if not COMPILED else found
