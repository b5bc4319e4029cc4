"""What the experiments use of scripts/benchmarks/: its walks, its clock, UDPipe, and what it says of the machine."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "scripts"))

from benchmarks import udpipe
from benchmarks.machine import machine
from benchmarks.oracles import FROM_NOTHING, NOT_TIMED, SENTENCES, SENTENCES_FROM_NOTHING
from benchmarks.oracles import run as benchmark_oracles
from benchmarks.walks import Batch, walk

__all__ = [
    "FROM_NOTHING",
    "NOT_TIMED",
    "SENTENCES",
    "SENTENCES_FROM_NOTHING",
    "Batch",
    "benchmark_oracles",
    "machine",
    "udpipe",
    "walk",
]
