"""Compiled kernels older than any source of their package are removed, others stay."""

from __future__ import annotations

import os
from pathlib import Path

from oracles.kernel_cache import forget_stale_kernels


def touch(path: Path, time: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time, time))
    return path


def test_kernels_older_than_a_source_are_forgotten(tmp_path):
    touch(tmp_path / "a.py", 100)
    touch(tmp_path / "b.py", 200)
    stale = touch(tmp_path / "__pycache__" / "a.kernel-1.py311.nbi", 150)
    stale_inside = touch(tmp_path / "inside" / "__pycache__" / "c.kernel-1.py311.nbi", 150)
    fresh = touch(tmp_path / "__pycache__" / "b.kernel-1.py311.nbi", 250)
    forget_stale_kernels(tmp_path)
    assert not stale.exists()
    assert not stale_inside.exists()
    assert fresh.exists()


def test_a_package_that_was_never_compiled(tmp_path):
    touch(tmp_path / "a.py", 100)
    forget_stale_kernels(tmp_path)
