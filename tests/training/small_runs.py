"""Settings of runs that take a second."""

from __future__ import annotations

from pathlib import Path

from tests.toy import settings

SMALL = [
    "classifier.hidden=32",
    "vectors.dimensions=16",
    "optimizer.batch_size=20",
    "first_pass.epochs=3",
    "second_pass.epochs=3",
]


def run(treebank: Path, *overrides: str):
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return settings("treebank.name=toy", *files, *SMALL, *overrides)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "model").iterdir())}
