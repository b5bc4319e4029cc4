"""Optimal transitions for 2-planar parsing, for any gold tree, by a search for the fewest edges to leave out.

The system (Gómez-Rodríguez and Nivre 2010) has a stack for each of two planes, one of which is active; arcs of one plane do not
cross. Transitions, in their order, j = first token of the buffer:

* shift ("sh"): pushes j on both stacks. Applicable if the buffer is not empty.
* left ("la"): the top of the active stack becomes a child of j. Applicable if the top is not 0, there is a buffer, the top has
  no head, and it is no ancestor of j.
* right ("ra"): j becomes a child of the top. Applicable if the top is not 0, there is a buffer, j has no head, and j is no
  ancestor of the top.
* reduce ("re"): pops the active stack. Applicable if its top is not 0, and there is a buffer.
* switch ("sw"): the other stack becomes the active one. Applicable if that holds more than 0, there is a buffer, and the
  transition before was no switch.

When the buffer is empty, the last phase is that of Covington's system (oracles.covington.loss): no_arc ("na"), root ("ro"),
attach ("at").

The value of a configuration, h = gold head: whatever token t without head becomes the child of the artificial root in the end,
its gold children without head can be made children of it then. Of the other tokens x without head, with h(x) > 0, the edges
between a < c, c >= j, are candidates if a >= j, or if a is on a stack: of both planes, or those of the stacks that a is on.

    value = max over t without head of: [h(t) = 0] + tokens without head whose gold head is t + candidates - left out

Left out are the fewest candidates such that the others have planes in which none cross, and make no cycle with the heads made.
They are found by iterative deepening: candidates with one plane, and then others, give those that cross them the other plane,
breadth first. Where two that cross get the same plane, one on the two ways to them must be left out; of a cycle, one of its
candidates. A transition's score is its own edge and the value after it; after a switch the next transition is in the new plane,
so that the score of switch is the highest of a transition there.

``ties="commit"`` prefers, of the optimal transitions, those that are optimal if no edge is made late, by candidates - left out
alone; of these an arc that is gold, then shift, then reduce. Without it most optimal transitions are so because both planes are
free, or because the last phase repairs what they lose.

Not in the literature that we know. Complexity: exponential at worst, in the number of candidates that must be left out, which
along random computations through treebanks was 3 at most; more than ``max_left_out`` are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from oracles.covington.loss import Committing, check_ties, is_ancestor, score_last_phase
from oracles.interface import NO_NODE, NOT_APPLICABLE, BoundOracle, Oracle, Query, Strategy, by_name, front_of, heads_made
from oracles.kernel_cache import array_kernel, kernel
from oracles.trees import Trees

SHIFT, LEFT, RIGHT, REDUCE, SWITCH, NO_ARC, ROOT, ATTACH = range(8)
N_TRANSITIONS = 8

MAX_LEFT_OUT = 8

_ACTIVE, _OTHER, _BOTH = 1, 2, 3  # planes, as bits


class TwoPlanarSearch(Oracle):
    """Exact for any gold tree.

    Args:
        strategy: any.
        single_root: all computations end with one child of the artificial root, so it changes nothing.
        ties: "commit", see above; None: all optimal transitions are equal.
        max_left_out: how many candidates may have to be left out before the sentence is refused.
    """

    name: ClassVar[str] = "two_planar_search"
    system: ClassVar[str] = "two_planar"
    transition_names = ("sh", "la", "ra", "re", "sw", "na", "ro", "at")
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "exponential at worst, in the edges that must be lost"
    source: ClassVar[str] = "this project"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        single_root: bool = False,
        ties: str | None = None,
        max_left_out: int = MAX_LEFT_OUT,
    ) -> None:
        super().__init__(strategy)
        check_ties(self.name, ties)
        self.ties = ties
        self.max_left_out = max_left_out

    def _bind(self, trees: Trees) -> BoundOracle:
        exact = _BoundSearch(trees, self.max_left_out, True)
        if self.ties is None:
            return exact
        return Committing(exact, _BoundSearch(trees, self.max_left_out, False), (SHIFT, REDUCE), LEFT, RIGHT)

    def step_scores(
        self,
        heads: Sequence[int],
        stack: Sequence[int],
        buffer: Sequence[int],
        made: Sequence[int | None] = (),
        other: Sequence[int] = (0,),
        switched: bool = False,
    ) -> dict[str, int]:
        """Return the scores of one configuration.

        Args:
            heads, stack, buffer: as there; the active stack.
            made: the head that each token has been given so far, None where it has none.
            other: the other stack, which also begins with 0.
            switched: whether the transition before was switch.
        """
        front = front_of(len(heads), buffer)
        for one in (stack, other):
            if not one or one[0] != 0 or one[-1] >= front or any(a >= b for a, b in pairwise(one)):
                raise ValueError(f"a stack must begin with 0 and ascend to at most {front - 1}, not {list(one)}")
        others = np.array([other], np.int32), np.array([len(other)], np.int32), np.array([switched])
        query = Query.single(stack, front, made=heads_made(len(heads), made), others=others)
        return by_name(self.transition_names, self.bind(Trees.from_heads([heads], partial=True)).score_batch(query)[0])


class _BoundSearch(BoundOracle):
    def __init__(self, trees: Trees, max_left_out: int, waits: bool) -> None:
        super().__init__(trees)
        self._max_left_out = max_left_out
        self._waits = waits

    def score_batch(self, query: Query) -> np.ndarray:
        """As BoundOracle.score_batch.

        Raises:
            ValueError: more than max_left_out candidates must be left out; names the sentence.
        """
        trees = self.trees
        kind = self._max_left_out, self._waits
        scores, refused = _score_batch(trees.heads, trees.offsets, *kind, query.made, *query.others, *query.arrays)
        if refused >= 0:
            s = int(query.sentences[refused])
            raise ValueError(
                f"sentence {s} (counted from 0, {trees.lengths[s]} tokens): more than {self._max_left_out} gold edges cross in "
                "both planes of a configuration, so two_planar_search cannot score it in good time; leave the sentence out, or "
                "raise max_left_out"
            )
        return scores


class _Space(NamedTuple):
    """Workspace of a configuration; int32 all.

    Attributes:
        low, high: by token, the ends of its gold edge.
        on: by node, the planes that it can have edges in: all from the front on, else those of the stacks that it is on.
        candidate: by token, whether its gold edge is a candidate.
        late: by node, its gold children without head whose edges are no candidates.
        kept: by token, whether its edge is a candidate that is not left out.
        plane, parent: by token, the plane that its edge is given, 0 if none yet, and by which edge, NO_NODE if by none.
        queue: tokens whose edges have been given planes.
        seen: by token, where a walk came by.
        chains, counts, at: by depth, candidates of which one is left out; how many; and the place of the one that is.
        refused: one number, not 0 once there was a value for which too many would have to be left out.
    """

    low: np.ndarray
    high: np.ndarray
    on: np.ndarray
    candidate: np.ndarray
    late: np.ndarray
    kept: np.ndarray
    plane: np.ndarray
    parent: np.ndarray
    queue: np.ndarray
    seen: np.ndarray
    chains: np.ndarray
    counts: np.ndarray
    at: np.ndarray
    refused: np.ndarray


@array_kernel()
def _new_space(width, depths):
    a, b, chains = np.empty((10, width), np.int32), np.empty((2, depths), np.int32), np.empty((depths, width), np.int32)
    refused = np.zeros(1, np.int32)
    return _Space(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], chains, b[0], b[1], refused)


@kernel()
def _crosses(space, x, y):
    """Whether the gold edges of two tokens cross."""
    a, b, c, d = space.low[x], space.low[y], space.high[x], space.high[y]
    return a < b < c < d or b < a < d < c


@kernel()
def _odd_path(n, space, chain):
    """Gives planes to the edges that are kept. Fills in and counts some of which one must be left out, 0 if all have planes."""
    plane, parent, queue = space.plane, space.parent, space.queue
    filled = taken = 0
    for x in range(1, n + 1):
        plane[x] = 0
        if space.kept[x] and space.on[space.low[x]] != _BOTH:
            plane[x], parent[x], queue[filled] = space.on[space.low[x]], NO_NODE, x
            filled += 1
    first = 1  # all before have planes
    while True:
        if taken == filled:
            while first <= n and (plane[first] > 0 or not space.kept[first]):
                first += 1
            if first > n:
                return 0
            plane[first], parent[first], queue[filled] = _ACTIVE, NO_NODE, first
            filled += 1
        x = queue[taken]
        taken += 1
        for y in range(1, n + 1):
            if not space.kept[y] or plane[y] == _BOTH - plane[x] or not _crosses(space, x, y):
                continue
            if plane[y] == plane[x]:
                return _join(x, y, parent, chain)
            plane[y], parent[y], queue[filled] = _BOTH - plane[x], x, y
            filled += 1


@kernel()
def _join(x, y, parent, chain):
    """Fills in the edges on the ways from two back to where they meet, or begin; how many."""
    length = 0
    while x != y:
        if x != NO_NODE:
            chain[length] = x
            length += 1
            x = parent[x]
        if y != NO_NODE:
            chain[length] = y
            length += 1
            y = parent[y]
    if x != NO_NODE:
        chain[length] = x
        length += 1
    return length


@kernel()
def _cycle(heads, made, n, space, chain):
    """Fills in the candidates of a cycle of heads made and edges that are kept; how many, 0 if there is none."""
    seen = space.seen
    for x in range(1, n + 1):
        seen[x] = 0
    for x in range(1, n + 1):
        node = np.int32(x)
        while node > 0 and seen[node] == 0:
            seen[node] = x
            node = _next(heads, made, node, space)
        if node > 0 and seen[node] == x:
            length, start = 0, node
            while length == 0 or node != start:
                if made[node] == NO_NODE:
                    chain[length] = node
                    length += 1
                node = _next(heads, made, node, space)
            return length
    return 0


@kernel()
def _next(heads, made, node, space):
    return heads[node] if space.kept[node] else made[node]


@kernel()
def _conflict(heads, made, n, space, chain):
    """Fills in edges that are kept and of which one must be left out; how many, 0 if all can be made."""
    found = _odd_path(n, space, chain)
    return found if found > 0 else _cycle(heads, made, n, space, chain)


@kernel()
def _keep_candidates(heads, n, t, space):
    """Keeps all candidates there are if t becomes the child of the artificial root."""
    for x in range(1, n + 1):
        space.kept[x] = space.candidate[x] and x != t and heads[x] != t


@kernel()
def _fits(heads, made, n, t, most, space):
    """Whether it is enough to leave out ``most`` candidates if t becomes the child of the artificial root."""
    _keep_candidates(heads, n, t, space)
    for least in range(most + 1):  # so many must be left out at least, for the conflicts found have no edge in common
        chain = space.chains[least]
        found = _conflict(heads, made, n, space, chain)
        if found == 0:
            break
        if least == most:
            return False
        for i in range(found):
            space.kept[chain[i]] = 0
    if least == 0:
        return True
    _keep_candidates(heads, n, t, space)
    depth = 0
    deeper = True
    while depth >= 0:
        chain = space.chains[depth]
        if deeper:
            found = _conflict(heads, made, n, space, chain)
            if found == 0:
                return True
            space.counts[depth] = found if depth < most else 0
            space.at[depth] = 0
        else:
            space.kept[chain[space.at[depth]]] = 1
            space.at[depth] += 1
        deeper = space.at[depth] < space.counts[depth]
        if deeper:
            space.kept[chain[space.at[depth]]] = 0
        depth += 1 if deeper else -1
    return False


@kernel()
def _value(heads, made, front, n, most, cap, waits, space):
    """The value of a configuration, which is known to be ``most`` at most; refused if more than ``cap`` must be left out.

    Args:
        heads: int32[n + 1], the gold tree.
        made: int32[>= n + 1], the heads made.
        front: the first token of the buffer, n + 1 if it is empty.
        n, most, cap: see above.
        waits: whether edges that are made late count.
        space: with ``low``, ``high`` and ``on``.
    """
    candidate, late = space.candidate, space.late
    count = 0
    for x in range(n + 1):
        late[x] = 0
    for x in range(1, n + 1):
        candidate[x] = made[x] == NO_NODE and heads[x] > 0 and space.high[x] >= front and space.on[space.low[x]] > 0
        count += candidate[x]
        late[max(heads[x], 0)] += made[x] == NO_NODE and not candidate[x]
    value = candidate[0] = late[0] = 0
    first, last = (1, n) if waits else (0, 0)
    for t in range(first, last + 1):
        if made[t] == NO_NODE:
            value = max(value, (heads[t] == 0) + late[t] + count - candidate[t])
    value = min(value, most)
    while True:
        too_many = False
        for t in range(first, last + 1):
            if made[t] != NO_NODE:
                continue
            to_leave_out = (heads[t] == 0) + late[t] + count - candidate[t] - value
            if to_leave_out > cap:
                too_many = True
            elif to_leave_out >= 0 and _fits(heads, made, n, t, to_leave_out, space):
                return value
        if too_many:
            space.refused[0] = 1
            return value
        value -= 1


@kernel()
def _score_plane(heads, made, top, front, n, plane, most, cap, waits, space, scores):
    """Fills in the scores of left, right and reduce in a plane whose stack has that top, not 0; ``most``: see _value()."""
    if made[top] == NO_NODE and not is_ancestor(made, top, front):
        edge = int(heads[top] == front)
        made[top] = front
        scores[LEFT] = edge + _value(heads, made, front, n, most - edge, cap, waits, space)
        made[top] = NO_NODE
    if made[front] == NO_NODE and not is_ancestor(made, front, top):
        edge = int(heads[front] == top)
        made[front] = top
        scores[RIGHT] = edge + _value(heads, made, front, n, most - edge, cap, waits, space)
        made[front] = NO_NODE
    space.on[top] ^= plane
    scores[REDUCE] = _value(heads, made, front, n, most, cap, waits, space)
    space.on[top] ^= plane


@array_kernel()
def _score_batch(
    all_heads, offsets, cap, waits, made, others, other_sizes, switched, sentences, stacks, stack_sizes, buffer_fronts
):
    """Return the scores of score_batch(), and the first configuration that is refused, or -1."""
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    space = _new_space(made.shape[1], cap + 1)
    given = np.empty(made.shape[1], np.int32)
    elsewhere = np.empty(N_TRANSITIONS, np.int16)  # scores after a switch
    for row in range(len(sentences)):
        heads = all_heads[offsets[sentences[row]] : offsets[sentences[row] + 1]]
        n = len(heads) - 1
        front = np.int32(buffer_fronts[row])
        top, other_top = stacks[row, stack_sizes[row] - 1], others[row, other_sizes[row] - 1]
        for node in range(n + 1):
            given[node] = made[row, node]
            space.low[node], space.high[node] = min(node, heads[node]), max(node, heads[node])
            space.on[node] = _BOTH if node >= front else 0
        if front > n:
            if top > 0:
                score_last_phase(heads, given, top, n, NO_ARC, ROOT, ATTACH, scores[row])
            continue
        for d in range(1, stack_sizes[row]):
            space.on[stacks[row, d]] |= _ACTIVE
        for d in range(1, other_sizes[row]):
            space.on[others[row, d]] |= _OTHER
        most = _value(heads, given, front, n, n, cap, waits, space)
        after_shift = _value(heads, given, front + 1, n, most, cap, waits, space)
        scores[row, SHIFT] = after_shift
        if top > 0:
            _score_plane(heads, given, top, front, n, _ACTIVE, most, cap, waits, space, scores[row])
        if other_top > 0 and not switched[row]:
            elsewhere[LEFT] = elsewhere[RIGHT] = NOT_APPLICABLE
            _score_plane(heads, given, other_top, front, n, _OTHER, most, cap, waits, space, elsewhere)
            scores[row, SWITCH] = max(max(after_shift, elsewhere[REDUCE]), max(elsewhere[LEFT], elsewhere[RIGHT]))
        if space.refused[0]:
            return scores, row
    return scores, -1
