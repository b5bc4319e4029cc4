"""Measured numbers as CSV, one line each, with the machine, the versions and the command."""

from __future__ import annotations

import csv
import math
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from parser.storage import HOME, replacing

if sys.platform != "win32":
    import resource


# The default of measurements: the English model of this project, on its sample treebank.
MODEL, SAMPLE = Path("en"), HOME / "data" / "sample" / "sample-ud-test.conllu"


def machine() -> dict[str, Any]:
    """Return the system, and the processor as far as the system reports it."""
    processor = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        processor = next(
            (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
            processor,
        )
    return {"processor": processor, "cores": os.cpu_count(), "system": platform.platform()}


def cpu_seconds_of_children() -> float:
    """Return the processor time of ended child processes; NaN on Windows, which does not report
    it.
    """
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    return math.nan


def peak_megabytes() -> float:
    """Return the peak memory of this process, in units of 2^20 bytes; NaN on Windows, which does
    not report it.
    """
    if sys.platform != "win32":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            2**20 if sys.platform == "darwin" else 2**10
        )
    return math.nan


@dataclass(frozen=True)
class Measurement:
    """A line of the file.

    Attributes:
        label: what was measured, such as ``recipe=paper``.
        quantity: what was counted or timed, such as ``decoding, 1 thread``.
        value: the number, with six significant digits.
        unit: the unit of the value.
        processor: the processor of the machine.
        cores: the number of its cores.
        versions: the versions of Python, this project and its libraries.
        command: the command that measured it.
    """

    label: str
    quantity: str
    value: str
    unit: str
    processor: str
    cores: str
    versions: str
    command: str

    @classmethod
    def of(
        cls,
        label: str,
        quantity: str,
        value: float,
        unit: str,
        result: dict[str, Any],
        command: str,
    ) -> Measurement:
        """Return one number of a benchmark, with machine and versions from its result."""
        versions = " ".join(f"{name}={version}" for name, version in result["versions"].items())
        machine = result["machine"]
        return cls(
            label,
            quantity,
            f"{value:.6g}",
            unit,
            machine["processor"],
            str(machine["cores"]),
            versions,
            command,
        )


def read_measurements(path: Path) -> list[Measurement]:
    """Return the lines of the file; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [Measurement(**line) for line in csv.DictReader(file)]


def write_measurements(path: Path, label: str, measurements: Sequence[Measurement]) -> None:
    """Write lines into the file; they replace lines with the same label."""
    others = [measurement for measurement in read_measurements(path) if measurement.label != label]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in fields(Measurement)])
        writer.writerows(_sorted_lines([*others, *measurements]))


def _sorted_lines(measurements: Iterable[Measurement]) -> list[tuple[str, ...]]:
    return [
        astuple(measurement)
        for measurement in sorted(measurements, key=lambda measurement: measurement.label)
    ]
