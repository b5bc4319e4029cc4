"""Transition systems over Python lists, as the papers write them: the reference for the compiled ones."""

from __future__ import annotations

from dataclasses import dataclass, field

NONMONOTONIC = -1  # arc-eager's, in place of a degree
COVINGTON = ("sh", "na", "la", "ra", "ro", "at")


@dataclass
class State:
    """Stack, buffer, and the arcs made: {child: (head, relation)}."""

    stack: list[int]
    buffer: list[int]
    arcs: dict[int, tuple[int, int]] = field(default_factory=dict)
    n: int = 0

    @classmethod
    def initial(cls, n: int) -> State:
        return cls([0], list(range(1, n + 1)), n=n)

    @property
    def final(self) -> bool:
        return self.stack == [0] and not self.buffer

    def is_below(self, node: int, above: int) -> bool:
        """Whether a node is another one, or below it."""
        while node != above and node in self.arcs:
            node = self.arcs[node][0]
        return node == above

    def children(self, head: int, left: bool) -> list[int]:
        """From the outermost inwards."""
        found = [child for child, (of, _) in self.arcs.items() if of == head and (child < head) == left]
        return sorted(found, reverse=not left)


def spine(state: State, node: int, left: bool) -> list[int]:
    """A root of a tree, its outermost child on one side, that one's, and so on."""
    nodes = [node]
    while children := state.children(nodes[-1], left):
        nodes.append(children[0])
    return nodes


def without_head(state: State) -> list[int]:
    return [token for token in range(1, state.n + 1) if token not in state.arcs]


def covington(state: State) -> dict[str, tuple[int, int] | None]:
    """The applicable transitions of Covington's system, each with head and child of its arc."""
    top = state.stack[-1]
    if not state.buffer:
        if roots := state.children(0, False):
            return {"at": (roots[0], top)}
        passed: dict[str, tuple[int, int] | None] = {"na": None} if without_head(state)[0] < top else {}
        return {"ro": (0, top), **passed}
    front = state.buffer[0]
    found: dict[str, tuple[int, int] | None] = {"sh": None}
    if top == 0:
        return found
    found["na"] = None
    for name, head, child in (("la", front, top), ("ra", top, front)):
        above = [head]
        while above[-1] in state.arcs:
            above.append(state.arcs[above[-1]][0])
        if child not in state.arcs and child not in above:
            found[name] = head, child
    return found


def take_covington(state: State, name: str, relation: int) -> None:
    made = covington(state)[name]
    if made is not None:
        state.arcs[made[1]] = made[0], relation
    if name == "sh":
        state.stack = list(range(state.buffer.pop(0) + 1))
    elif state.buffer:
        state.stack.pop()
    if not state.buffer:
        last = state.stack[-1] - 1 if name == "na" else state.n
        state.stack = list(range(max([0, *(token for token in without_head(state) if token <= last)]) + 1))


def arc(system: str, degree: int, state: State, column: int) -> tuple[int, int] | None:
    """Head and child of the arc that a transition makes; None if it makes none."""
    if system == "covington":
        return covington(state).get(COVINGTON[column])
    if system == "pointer":
        return column, state.buffer[0]
    if column == 0 or (column == 3 and system in ("swap", "arc_eager")):
        return None
    top = state.stack[-1]
    if system == "lr_spine":
        if len(state.stack) == 1:
            return None
        left, right = spine(state, top, True), spine(state, state.stack[-2], False)
        heads = [(node, state.stack[-2]) for node in left] + [(node, top) for node in right]
        return heads[column - 1] if column <= len(heads) else None
    if system == "arc_hybrid":
        return (state.buffer[0], top) if column == 1 else (state.stack[-2], top)
    if system == "arc_eager":
        return {1: (state.buffer or [0])[0], 4: (state.stack[-2:])[0]}.get(column, top), state.buffer[0] if column == 2 else top
    below = state.stack[-1 - (column + 1) // 2]
    return (below, top) if column % 2 == 1 else (top, below)


def applicable(system: str, degree: int, state: State, column: int, single_root: bool) -> bool:
    if system == "covington":
        return COVINGTON[column] in covington(state)
    if system == "pointer":
        nodes = [*state.stack, *state.buffer]
        root_taken = single_root and bool(state.children(0, False))
        return column in nodes and not state.is_below(column, state.buffer[0]) and not (root_taken and column == 0)
    if column == 0:
        return bool(state.buffer)
    if system == "lr_spine":
        made = arc(system, degree, state, column)
        root_taken = single_root and bool(state.children(0, False))
        return made is not None and made[1] != 0 and not (root_taken and made[0] == 0)
    if system == "arc_eager":
        top, buffered = state.stack[-1], bool(state.buffer)
        linked, stays = top in state.arcs, single_root and len(state.stack) == 2 and buffered
        popped = top != 0 and not stays
        return {
            1: buffered and top != 0 and (not linked or degree == NONMONOTONIC),
            2: buffered,
            3: popped and linked,
            4: popped and not linked and (not buffered or degree == NONMONOTONIC),
        }[column]
    if system == "arc_hybrid":
        possible = bool(state.buffer) and len(state.stack) > 1 if column == 1 else len(state.stack) > 1
    else:
        possible = len(state.stack) > (1 if system == "swap" and column == 3 else (column + 1) // 2)
    if not possible:
        return False
    if system == "swap" and column == 3:
        return len(state.stack) > 2 and state.stack[-2] < state.stack[-1]
    made = arc(system, degree, state, column)
    assert made is not None
    head, child = made
    if child == 0:
        return False
    # The child of the root comes last: nothing but it may be left.
    return not (single_root and head == 0) or (not state.buffer and state.stack == [0, child])


def take(system: str, degree: int, state: State, column: int, relation: int) -> None:
    if system == "covington":
        take_covington(state, COVINGTON[column], relation)
        return
    made = arc(system, degree, state, column)
    if system == "swap" and column == 3:
        state.buffer.insert(0, state.stack.pop(-2))
        return
    if system == "arc_eager" and column == 3:
        state.stack.pop()
        return
    if made is None:
        state.stack.append(state.buffer.pop(0))
        return
    head, child = made
    state.arcs[child] = head, relation
    if system == "pointer" or (system == "arc_eager" and column == 2):
        state.stack.append(state.buffer.pop(0))
    else:
        state.stack.remove(child)
