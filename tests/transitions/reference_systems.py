"""Transition systems over Python lists, as the papers write them: the reference for the compiled ones."""

from __future__ import annotations

from dataclasses import dataclass, field

NONMONOTONIC = -1  # arc-eager's, in place of a degree
EAGER = ("arc_eager", "arc_eager_unshift")


@dataclass
class State:
    """Stack, buffer, and the arcs made: {child: (head, relation)}."""

    stack: list[int]
    buffer: list[int]
    arcs: dict[int, tuple[int, int]] = field(default_factory=dict)
    unshifted: bool = False  # whether the buffer holds a token that was shifted before

    @classmethod
    def initial(cls, n: int) -> State:
        return cls([0], list(range(1, n + 1)))

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


def arc(system: str, degree: int, state: State, column: int) -> tuple[int, int] | None:
    """Head and child of the arc that a transition makes; None if it makes none."""
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
