"""Transition systems over Python lists, as the papers write them: the reference for the compiled ones."""

from __future__ import annotations

from dataclasses import dataclass, field

NONMONOTONIC = -1  # arc-eager's, in place of a degree
EAGER = ("arc_eager", "arc_eager_unshift")

# The transitions of systems that keep tokens on the stack which have a head, and end in attaching what is left.
ATTACHING = {
    "covington": ("sh", "na", "la", "ra", "ro", "at"),
    "two_planar": ("sh", "la", "ra", "re", "sw", "na", "ro", "at"),
}


@dataclass
class State:
    """Stack, buffer, and the arcs made: {child: (head, relation)}; of two_planar the other stack, and whether it was active."""

    stack: list[int]
    buffer: list[int]
    arcs: dict[int, tuple[int, int]] = field(default_factory=dict)
    unshifted: bool = False  # whether the buffer holds a token that was shifted before
    n: int = 0
    other: list[int] = field(default_factory=lambda: [0])
    switched: bool = False

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


def attaching(system: str, state: State) -> dict[str, tuple[int, int] | None]:
    """The applicable transitions of one of ATTACHING, each with head and child of its arc."""
    top = state.stack[-1]
    if not state.buffer:
        if roots := state.children(0, False):
            return {"at": (roots[0], top)}
        passed: dict[str, tuple[int, int] | None] = {"na": None} if without_head(state)[0] < top else {}
        return {"ro": (0, top), **passed}
    front = state.buffer[0]
    found: dict[str, tuple[int, int] | None] = {"sh": None}
    if system == "two_planar" and len(state.other) > 1 and not state.switched:
        found["sw"] = None
    if top == 0:
        return found
    found["na" if system == "covington" else "re"] = None
    for name, head, child in (("la", front, top), ("ra", top, front)):
        above = [head]
        while above[-1] in state.arcs:
            above.append(state.arcs[above[-1]][0])
        if child not in state.arcs and child not in above:
            found[name] = head, child
    return found


def take_attaching(system: str, state: State, name: str, relation: int) -> None:
    made = attaching(system, state)[name]
    if made is not None:
        state.arcs[made[1]] = made[0], relation
    state.switched = name == "sw"
    if name == "sw":
        state.stack, state.other = state.other, state.stack
    elif name == "sh":
        front = state.buffer.pop(0)
        state.other = [0] if system == "covington" or not state.buffer else [*state.other, front]
        state.stack = list(range(front + 1)) if system == "covington" else [*state.stack, front]
    elif name == "re" or (state.buffer and system == "covington"):
        state.stack.pop()
    if not state.buffer:
        last = state.stack[-1] - 1 if name == "na" else state.n
        state.stack = list(range(max([0, *(token for token in without_head(state) if token <= last)]) + 1))


def arc(system: str, degree: int, state: State, column: int) -> tuple[int, int] | None:
    """Head and child of the arc that a transition makes; None if it makes none."""
    if system in ATTACHING:
        return attaching(system, state).get(ATTACHING[system][column])
    if system == "pointer":
        return column, state.buffer[0]
    if column == 0 or (column == 3 and system in ("swap", *EAGER)) or (column == 4 and system == "arc_eager_unshift"):
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
    if system in EAGER:
        return {1: (state.buffer or [0])[0], 4: (state.stack[-2:])[0]}.get(column, top), state.buffer[0] if column == 2 else top
    below = state.stack[-1 - (column + 1) // 2]
    return (below, top) if column % 2 == 1 else (top, below)


def applicable(system: str, degree: int, state: State, column: int, single_root: bool) -> bool:
    if system in ATTACHING:
        return ATTACHING[system][column] in attaching(system, state)
    if system == "pointer":
        nodes = [*state.stack, *state.buffer]
        root_taken = single_root and bool(state.children(0, False))
        return column in nodes and not state.is_below(column, state.buffer[0]) and not (root_taken and column == 0)
    if column == 0:
        return bool(state.buffer) and not state.unshifted
    if system == "lr_spine":
        made = arc(system, degree, state, column)
        root_taken = single_root and bool(state.children(0, False))
        return made is not None and made[1] != 0 and not (root_taken and made[0] == 0)
    if system in EAGER:
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
    if system in ATTACHING:
        take_attaching(system, state, ATTACHING[system][column], relation)
        return
    made = arc(system, degree, state, column)
    if system == "swap" and column == 3:
        state.buffer.insert(0, state.stack.pop(-2))
        return
    if system in EAGER and column == 3:
        state.stack.pop()
        return
    if system == "arc_eager_unshift" and column == 4:
        state.buffer, state.unshifted = [state.stack.pop()], True
        return
    if made is None:
        state.stack.append(state.buffer.pop(0))
        return
    head, child = made
    state.arcs[child] = head, relation
    if system == "pointer" or (system in EAGER and column == 2):
        state.stack.append(state.buffer.pop(0))
        state.unshifted = False
    else:
        state.stack.remove(child)
