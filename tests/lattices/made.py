"""Small lattices made by hand or drawn, and the folder of real ones."""

import os
import random
from itertools import pairwise
from pathlib import Path

import pytest

from parser.lattices import Arc, Lattice, SurfaceToken

SHARED = Path(os.environ.get("OPTIMAL_STEP_SHARED", Path(__file__).resolve().parents[3] / "shared"))
_TAGS = ["DET", "NOUN", "VERB"]


def shared(name: str) -> Path:
    """Return a file of the folder of data; the test is skipped if it is not there."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no {path}; set OPTIMAL_STEP_SHARED to the folder that holds it")
    return path


def drawn_lattice(rng: random.Random, nodes: int, further: int, forms: int = 5) -> Lattice:
    """Return a lattice of so many nodes besides node 0,
    with a path of single steps or longer ones, and further arcs.
    """
    borders = sorted({0, nodes, *(rng.randrange(nodes + 1) for _ in range(nodes // 2))})
    tokens = [SurfaceToken(a, b, f"t{a}") for a, b in pairwise(borders)]
    arcs = []

    def arc(start: int, end: int) -> Arc:
        return Arc(start, end, f"w{rng.randrange(forms)}", "_", rng.choice(_TAGS), "_", "_")

    for token in tokens:
        arcs += [arc(v, v + 1) for v in range(token.start, token.end)]
        for _ in range(further):
            start = rng.randrange(token.start, token.end)
            arcs.append(arc(start, rng.randrange(start + 1, token.end + 1)))
    return Lattice.of(arcs, tokens, ["# text = drawn"], "drawn")


def all_paths(lattice: Lattice) -> list[list[int]]:
    """All paths, as the numbers of their arcs."""
    paths: list[list[int]] = []
    waiting: list[tuple[list[int], int]] = [([], 0)]
    while waiting:
        path, node = waiting.pop()
        if node == lattice.last_node:
            paths.append(path)
        for number in range(len(lattice)):
            if lattice.starts[number] == node:
                waiting.append(([*path, number], int(lattice.ends[number])))
    return paths
