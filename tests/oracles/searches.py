"""Transition systems by exhaustive search over Python tuples;
nothing here is shared with the package under test.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from oracles import NOT_APPLICABLE, Oracle, Query, Trees
from tests import brute_force, random_trees

Configuration = TypeVar("Configuration")
Arc = tuple[int, int]  # head and child
Heads = tuple[int, ...]  # heads made, of 0..n, -1 = none
Plain = tuple[tuple[int, ...], int]  # the stack, and the first token of the buffer
WithHeads = tuple[tuple[int, ...], int, Heads]
TopAndHeads = tuple[int, int, Heads]  # the top i of the stack 0..i
# of each element the left and the right spine
Spines = tuple[tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], int]
# the stack, top last, and the buffer, next token first
WithBuffer = tuple[tuple[int, ...], tuple[int, ...]]


class Search(ABC, Generic[Configuration]):
    """Scores of transitions for one gold tree; remembers what it has searched.
    Fit for n up to about 8.

    Attributes:
        initial: where computations begin.
    """

    initial: Configuration

    def __init__(self, heads: Sequence[int]) -> None:
        self.heads, self.n = (-1, *heads), len(heads)
        self.best = cache(self._best)

    @abstractmethod
    def transitions(self, now: Configuration) -> Iterator[tuple[str, Arc | None, Configuration]]:
        """Yield the applicable transitions, in the order of their columns:
        name, arc, and the configuration after it.
        """

    def gain(self, now: Configuration, arc: Arc | None) -> int:
        """Return how many gold arcs a transition makes, less those that it undoes."""
        return arc is not None and self.heads[arc[1]] == arc[0]

    def scores(self, now: Configuration) -> dict[str, int]:
        """Return how many gold arcs can be made at most by each applicable transition and all that
        may follow it.
        """
        return {
            name: self.gain(now, arc) + self.best(after)
            for name, arc, after in self.transitions(now)
        }

    def _best(self, now: Configuration) -> int:
        return max(self.scores(now).values(), default=0)

    def reachable(self, optimal: bool = False) -> set[Configuration]:
        """All configurations that some computation passes; with ``optimal``,
        one of best transitions.
        """
        found, waiting = {self.initial}, [self.initial]
        while waiting:
            now = waiting.pop()
            scores, best = (self.scores(now), self.best(now)) if optimal else ({}, 0)
            new = {
                after for name, _, after in self.transitions(now) if scores.get(name, best) == best
            } - found
            found |= new
            waiting += new
        return found

    def walk(
        self, rng: random.Random, optimal: float = 0.0, oracle: Oracle | None = None
    ) -> list[Configuration]:
        """Return the configurations of a computation that takes a best transition with probability
        ``optimal``, else any.

        The oracle says which transitions are best, or else the search.
        """
        now, passed = self.initial, [self.initial]
        while options := list(self.transitions(now)):
            if rng.random() < optimal:
                known = found_by(oracle, [self], [(0, now)])[0] if oracle else self.scores(now)
                options = [option for option in options if known[option[0]] == max(known.values())]
            now = rng.choice(options)[2]
            passed.append(now)
        return passed

    @staticmethod
    def query(n: int, cases: Sequence[tuple[int, Any]]) -> Query:
        """(sentence, configuration) pairs, of sentences of up to n tokens;
        what must be ignored is 99.
        """
        return random_trees.query([(s, *now) for s, now in cases])

    def read(self, oracle: Oracle, now: Configuration, row: np.ndarray) -> dict[str, int]:
        """Return a row of an oracle's scores by the names of the applicable transitions."""
        names = oracle.transition_names or ("sh", "rl", "rr")  # arc-standard's have no names
        return {
            name: int(score)
            for name, score in zip(names, row, strict=True)
            if score != NOT_APPLICABLE
        }


def found_by(
    oracle: Oracle,
    searches: Sequence[Search[Any]],
    cases: Sequence[tuple[int, Any]],
    weighed: bool = False,
) -> list[dict[str, int]]:
    """Return what an oracle scores in configurations, each given with the number of the search
    whose gold tree it belongs to.

    ``weighed``: as it is, else the number of gold arcs in it.
    """
    bound = oracle.bind(Trees.from_heads([search.heads[1:] for search in searches], partial=True))
    rows = bound.score_batch(searches[0].query(max(search.n for search in searches), cases))
    assert rows.dtype == np.int16 or bound.gold_weight > 1
    rows = rows if weighed else np.where(rows == NOT_APPLICABLE, rows, rows // bound.gold_weight)
    return [searches[s].read(oracle, now, row) for (s, now), row in zip(cases, rows, strict=True)]


def compare(
    oracle: Oracle,
    searches: Sequence[Search[Any]],
    cases: Sequence[tuple[int, Any]],
    weighed: bool = False,
) -> None:
    """Assert that an oracle scores every transition as the searches do."""
    wrong = [
        f"{searches[s].heads[1:]} {now}: {scores}, not {expected}"
        for (s, now), scores in zip(cases, found_by(oracle, searches, cases, weighed), strict=True)
        if scores != (expected := searches[s].scores(now))
    ]
    assert not wrong, f"{len(wrong)} of {len(cases)}; first: {wrong[0]}"


def compare_everywhere(
    oracle: Oracle, searches: Sequence[Search[Any]], most: int | None = None, weighed: bool = False
) -> None:
    """Compare in all configurations, or a sample of so many for each tree;
    in no order, as oracles keep rows by prefix.
    """
    rng, reachable = (
        random.Random(0),
        {search.n: sorted(search.reachable()) for search in {s.n: s for s in searches}.values()},
    )
    chosen = {
        n: found if most is None else rng.sample(found, min(most, len(found)))
        for n, found in reachable.items()
    }
    cases = [(s, now) for s, search in enumerate(searches) for now in chosen[search.n]]
    rng.shuffle(cases)
    compare(oracle, searches, cases, weighed)


def walked(
    searches: Sequence[Search[Any]], rng: random.Random, optimal: float = 0.0
) -> list[tuple[int, Any]]:
    """Return the configurations of a computation of each search."""
    return [(s, now) for s, search in enumerate(searches) for now in search.walk(rng, optimal)]


class ArcStandardSearch(Search[Plain]):
    """Arc-standard, under one of its strategies, by tests/brute_force.py."""

    initial = (0,), 1

    def __init__(self, heads: Sequence[int], strategy: str) -> None:
        super().__init__(heads)
        self._steps = brute_force.StepScores(heads, strategy)

    def transitions(self, now: Plain) -> Iterator[tuple[str, Arc | None, Plain]]:
        for step in random_trees.applicable_steps(*now, self.n):
            yield ("sh", "rl", "rr")[step], None, random_trees.apply_step(*now, step)

    def scores(self, now: Plain) -> dict[str, int]:
        return {
            name: score
            for name, score in zip(("sh", "rl", "rr"), self._steps(*now), strict=True)
            if score is not None
        }


class ArcHybridSearch(Search[Plain]):
    initial = (0,), 1

    def __init__(self, heads: Sequence[int], single_root: bool = False) -> None:
        super().__init__(heads)
        self.single_root = single_root

    def transitions(self, now: Plain) -> Iterator[tuple[str, Arc | None, Plain]]:
        stack, front = now
        if front <= self.n:
            yield "sh", None, ((*stack, front), front + 1)
        if front <= self.n and len(stack) >= 2:
            yield "la", (front, stack[-1]), (stack[:-1], front)
        if len(stack) >= 2 and not (self.single_root and len(stack) == 2 and front <= self.n):
            yield "ra", (stack[-2], stack[-1]), (stack[:-1], front)


class AttardiSearch(Search[Plain]):
    initial = (0,), 1

    def __init__(self, heads: Sequence[int], degree: int, single_root: bool = False) -> None:
        super().__init__(heads)
        self.degree, self.single_root = degree, single_root

    def transitions(self, now: Plain) -> Iterator[tuple[str, Arc | None, Plain]]:
        stack, front = now
        if front <= self.n:
            yield "sh", None, ((*stack, front), front + 1)
        for depth in range(1, self.degree + 1):
            suffix = str(depth) if depth > 1 else ""
            closed = self.single_root and len(stack) == depth + 1 and (depth > 1 or front <= self.n)
            if len(stack) > depth and not closed:
                yield "ra" + suffix, (stack[-1 - depth], stack[-1]), (stack[:-1], front)
            if len(stack) > depth + 1:
                child = stack[-1 - depth]
                yield (
                    "la" + suffix,
                    (stack[-1], child),
                    (tuple(x for x in stack if x != child), front),
                )


class ArcEagerSearch(Search[WithHeads]):
    def __init__(
        self, heads: Sequence[int], single_root: bool = False, nonmonotonic: bool = False
    ) -> None:
        super().__init__(heads)
        self.initial = (0,), 1, (-1,) * (self.n + 1)
        self.single_root, self.nonmonotonic = single_root, nonmonotonic

    def gain(self, now: WithHeads, arc: Arc | None) -> int:
        undone = arc is not None and self.heads[arc[1]] == now[2][arc[1]] != -1
        return super().gain(now, arc) - undone

    def transitions(self, now: WithHeads) -> Iterator[tuple[str, Arc | None, WithHeads]]:
        stack, front, made = now
        top, buffer = stack[-1], front <= self.n
        linked = made[top] != -1
        stays = self.single_root and len(stack) == 2 and buffer
        if buffer:
            yield "sh", None, ((*stack, front), front + 1, made)
            if top != 0 and (not linked or self.nonmonotonic):
                yield "la", (front, top), (stack[:-1], front, with_arc(made, front, top))
            yield "ra", (top, front), ((*stack, front), front + 1, with_arc(made, top, front))
        if top != 0 and linked and not stays:
            yield "re", None, (stack[:-1], front, made)
        if top != 0 and not linked and not stays and (self.nonmonotonic or not buffer):
            yield "at", (stack[-2], top), (stack[:-1], front, with_arc(made, stack[-2], top))

    @staticmethod
    def query(n: int, cases: Sequence[tuple[int, Any]]) -> Query:
        made = np.full((len(cases), n + 1), -1, np.int32)
        for row, (_, (_, _, heads)) in enumerate(cases):
            made[row, : len(heads)] = heads
        return Query(
            *random_trees.query([(s, stack, front) for s, (stack, front, _) in cases]).arrays,
            made=made,
        )


class CovingtonSearch(Search[TopAndHeads]):
    def __init__(self, heads: Sequence[int]) -> None:
        super().__init__(heads)
        self.initial = 0, 1, (-1,) * (self.n + 1)

    def transitions(self, now: TopAndHeads) -> Iterator[tuple[str, Arc | None, TopAndHeads]]:
        i, j, made = now
        left = without_head(made)

        def arc(name: str, head: int, child: int) -> tuple[str, Arc, TopAndHeads]:
            heads = with_arc(made, head, child)
            return (
                name,
                (head, child),
                (i - 1 if j <= self.n else max(without_head(heads), default=0), j, heads),
            )

        if j <= self.n:
            yield "sh", None, (j if j < self.n else left[-1], j + 1, made)
            if i > 0:
                yield "na", None, (i - 1, j, made)
                if made[i] == -1 and i not in above(made, j):
                    yield arc("la", j, i)
                if made[j] == -1 and j not in above(made, i):
                    yield arc("ra", i, j)
        elif left and 0 not in made:
            yield arc("ro", 0, i)
            if below := [token for token in left if token < i]:
                yield "na", None, (below[-1], j, made)
        elif left:
            yield arc("at", made.index(0), i)

    @staticmethod
    def query(n: int, cases: Sequence[tuple[int, Any]]) -> Query:
        return ArcEagerSearch.query(n, [(s, (range(i + 1), j, made)) for s, (i, j, made) in cases])


@cache
def beginnings_of_trees(n: int, single_root: bool) -> frozenset[tuple[int, ...]]:
    """Return the heads of the first tokens, of any number, of all trees of n tokens."""
    trees = (tree for tree in random_trees.all_trees(n) if not single_root or tree.count(0) == 1)
    return frozenset(tuple(tree[:i]) for tree in trees for i in range(n + 1))


class PointerSearch(Search[tuple[int, ...]]):
    """The pointer system: the tokens get their heads in order,
    each any that some tree has after the heads before.
    """

    initial = ()

    def __init__(self, heads: Sequence[int], single_root: bool = False) -> None:
        super().__init__(heads)
        self.beginnings = beginnings_of_trees(self.n, single_root)

    def transitions(
        self, now: tuple[int, ...]
    ) -> Iterator[tuple[str, Arc | None, tuple[int, ...]]]:
        for head in range(self.n + 1):
            if (*now, head) in self.beginnings:
                yield str(head), (head, len(now) + 1), (*now, head)

    @staticmethod
    def query(n: int, cases: Sequence[tuple[int, Any]]) -> Query:
        return ArcEagerSearch.query(n, [(s, ((0,), len(now) + 1, (-1, *now))) for s, now in cases])

    def read(self, oracle: Oracle, now: tuple[int, ...], row: np.ndarray) -> dict[str, int]:
        return {str(head): int(score) for head, score in enumerate(row) if score != NOT_APPLICABLE}


def with_arc(made: Heads, head: int, child: int) -> Heads:
    return (*made[:child], head, *made[child + 1 :])


def without_head(made: Heads) -> list[int]:
    return [token for token in range(1, len(made)) if made[token] == -1]


def above(made: Heads, node: int) -> list[int]:
    """Return the node and its ancestors."""
    found = [node]
    while made[found[-1]] != -1:
        found.append(made[found[-1]])
    return found


class LrSpineSearch(Search[Spines]):
    initial = (((0,), (0,)),), 1

    def transitions(self, now: Spines) -> Iterator[tuple[str, Arc | None, Spines]]:
        stack, front = now
        if front <= self.n:
            yield "sh", None, ((*stack, ((front,), (front,))), front + 1)
        if len(stack) < 2:
            return
        rest, (ls2, rs2), (ls1, rs1) = stack[:-2], stack[-2], stack[-1]
        for k in range(1, len(ls1) + 1):
            if ls2[0] != 0:
                yield f"la{k}", (ls1[k - 1], ls2[0]), ((*rest, (ls1[:k] + ls2, rs1)), front)
        for k in range(1, len(rs2) + 1):
            yield f"ra{k}", (rs2[k - 1], ls1[0]), ((*rest, (ls2, rs2[:k] + rs1)), front)

    @staticmethod
    def query(n: int, cases: Sequence[tuple[int, Spines]]) -> Query:
        plain = random_trees.query(
            [(s, [left[0] for left, _ in stack], front) for s, (stack, front) in cases]
        )
        children = np.full((len(cases), n + 1, 2), -1, np.int32)
        for row, (_, (stack, _)) in enumerate(cases):
            for element in stack:
                for side, spine in enumerate(element):
                    for node, child in pairwise(spine):
                        children[row, node, side] = child
        return Query(*plain.arrays, children=children)

    def read(self, oracle: Oracle, now: Spines, row: np.ndarray) -> dict[str, int]:
        # What lies behind the columns of the configuration must be filled up.
        stack, columns = now[0], ["sh"]
        if len(stack) > 1:
            columns += [f"la{k}" for k in range(1, len(stack[-1][0]) + 1)] + [
                f"ra{k}" for k in range(1, len(stack[-2][1]) + 1)
            ]
        assert (row[len(columns) :] == NOT_APPLICABLE).all()
        return {
            name: int(score)
            for name, score in zip(columns, row, strict=False)
            if score != NOT_APPLICABLE
        }


class SwapSearch(Search[WithBuffer]):
    def __init__(self, heads: Sequence[int]) -> None:
        super().__init__(heads)
        self.initial = (0,), tuple(range(1, self.n + 1))

    def transitions(self, now: WithBuffer) -> Iterator[tuple[str, Arc | None, WithBuffer]]:
        stack, buffer = now
        if buffer:
            yield "sh", None, ((*stack, buffer[0]), buffer[1:])
        if len(stack) >= 2:
            yield "ra", (stack[-2], stack[-1]), (stack[:-1], buffer)
        if len(stack) >= 3:
            yield "la", (stack[-1], stack[-2]), ((*stack[:-2], stack[-1]), buffer)
            if stack[-2] < stack[-1]:
                yield "sw", None, ((*stack[:-2], stack[-1]), (stack[-2], *buffer))

    @staticmethod
    def query(n: int, cases: Sequence[tuple[int, WithBuffer]]) -> Query:
        """Tokens of the buffer stand at the end of the row of a sentence of n tokens;
        all sentences have so many.
        """
        plain = random_trees.query(
            [(s, stack, n + 1 - len(buffer)) for s, (stack, buffer) in cases]
        )
        buffers = np.full((len(cases), n + 1), 99, np.int32)
        for row, (_, (_, buffer)) in enumerate(cases):
            buffers[row, n + 1 - len(buffer) :] = buffer
        return Query(*plain.arrays, buffers=buffers)


class SwapWhereItMust(SwapSearch):
    """What the docstring of swap_dynamic defines: static swaps,
    and arc-standard in the order that these lead to.
    """

    def __init__(self, heads: Sequence[int]) -> None:
        super().__init__(heads)
        self.order = list(self._inorder(0))

    def _inorder(self, node: int) -> Iterator[int]:
        for other in sorted(
            [node, *(child for child, head in enumerate(self.heads) if head == node)]
        ):
            yield from [node] if other == node else self._inorder(other)

    def scores(self, now: WithBuffer) -> dict[str, int]:
        scores = super().scores(now)
        if "sw" in scores:
            if self.wants_swap(now[0]):
                return {
                    name: score if name == "sw" else min(score, scores["sw"] - 1)
                    for name, score in scores.items()
                }
            scores["sw"] = min(
                scores["sw"], max(score for name, score in scores.items() if name != "sw") - 1
            )
        return scores

    def wants_swap(self, stack: tuple[int, ...]) -> bool:
        """Whether swap is applicable and the top comes first in the projective order."""
        swappable = len(stack) >= 3 and stack[-2] < stack[-1]
        return swappable and self.order.index(stack[-1]) < self.order.index(stack[-2])

    def _best(self, now: WithBuffer) -> int:
        stack, buffer = now
        while buffer or self.wants_swap(stack):
            name = "sw" if self.wants_swap(stack) else "sh"
            stack, buffer = next(
                after for found, _, after in self.transitions((stack, buffer)) if found == name
            )
        stays = 1
        while stays < len(now[0]) and stack[stays] == now[0][stays]:
            stays += 1
        if stays < len(now[0]):
            stays += 1
        # Nodes are renamed by their places; a head that is gone is no node.
        heads = [
            stack.index(head) if head in stack else -1
            for head in (self.heads[node] for node in stack[1:])
        ]
        scores = brute_force.StepScores(heads, "any")(range(stays), stays)
        return max((score for score in scores if score is not None), default=0)
