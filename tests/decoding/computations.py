"""All computations of a short sentence, by recursion over lists; nothing here is shared with the package under test."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence

from tests.transitions.reference_systems import State, applicable, take

NOTHING = -1


def hashed_scores(features: tuple[int, ...], outputs: int) -> list[float]:
    """Scores in single precision that look random and follow from the features."""
    draw = random.Random(str(features))
    return [struct.unpack("f", struct.pack("f", draw.gauss(0, 2)))[0] for _ in range(outputs)]


def find(state: State, address: str) -> tuple[int, int]:
    """The token at an address, and its relation; NOTHING where there is none."""
    base, *moves = address.split(".")
    index = int(base[1:])
    if base[0] == "b":
        return (state.buffer[index], NOTHING) if index < len(state.buffer) and not moves else (NOTHING, NOTHING)
    if index >= len(state.stack):
        return NOTHING, NOTHING
    token = state.stack[-1 - index]
    for move in moves:
        children = state.children(token, move[0] == "l")
        if len(children) < int(move[1]):
            return NOTHING, NOTHING
        token = children[int(move[1]) - 1]
    return token, state.arcs[token][1] if moves else NOTHING


def read(state: State, slots: Sequence[str]) -> tuple[int, ...]:
    """What slots such as ``s0.l1:deprel`` read; every other attribute is the token."""
    parts = [slot.split(":") for slot in slots]
    return tuple(find(state, address)[attribute == "deprel"] for address, attribute in parts)


def all_computations(
    system: str,
    degree: int,
    n_relations: int,
    root_relation: int | None,
    n: int,
    single_root: bool,
    local: bool,
    slots: list[str],
) -> list[tuple[float, tuple[int, ...], tuple[int, ...]]]:
    """(score, heads, relations) of every computation; scores are hashed_scores() of what the slots read."""
    results = []

    def follow(state: State, total: float) -> None:
        if state.final:
            arcs = [state.arcs[token] for token in range(1, n + 1)]
            results.append((total, tuple(head for head, _ in arcs), tuple(relation for _, relation in arcs)))
            return
        scores = hashed_scores(read(state, slots), 1 + 2 * degree * n_relations)
        possible = []
        for column in range(1 + 2 * degree):
            if not applicable(system, degree, state, column, single_root):
                continue
            for relation in range(n_relations if column else 1):
                after = State([*state.stack], [*state.buffer], dict(state.arcs))
                take(system, degree, after, column, relation)
                arc = next((arc for child, arc in after.arcs.items() if child not in state.arcs), None)
                if arc and single_root and root_relation is not None and (arc[0] == 0) != (relation == root_relation):
                    continue
                possible.append((scores[0 if column == 0 else 1 + (column - 1) * n_relations + relation], after))
        norm = math.log(sum(math.exp(score) for score, _ in possible)) if local else 0.0
        for score, after in possible:
            follow(after, total + score - norm)

    follow(State.initial(n), 0.0)
    return results


def best_by_tree(computations: list[tuple[float, tuple, tuple]]) -> list[tuple[tuple[tuple, tuple], float]]:
    """Every tree with the score of its best computation, best first."""
    best: dict[tuple[tuple, tuple], float] = {}
    for total, heads, relations in computations:
        best[heads, relations] = max(total, best.get((heads, relations), -math.inf))
    return sorted(best.items(), key=lambda pair: -pair[1])
