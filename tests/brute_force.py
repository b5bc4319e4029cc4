"""Slow reference implementations: search over transition sequences, no grammar, no chart,
no cleverness.

Nothing here is shared with the package under test, so that an error in one cannot hide in the
other. Fit for n up to about 8 tokens. A configuration is ``(stack, front)``: the stack as a tuple,
and the first token of the buffer.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations

# What a stack element may still do. The strategies restrict a_k and the buffer nodes, and nobody
# else; strict also closes the elements below the top. "Left child" is what reduce_right gives to
# the top, "right child" what reduce_left gives to the element below it.
FREE, RESTRICTED, NO_LEFT_CHILD, NO_RIGHT_CHILD = range(4)

# The scores of shift, reduce_left, reduce_right; None = not applicable.
Scores = tuple[int | None, int | None, int | None]


class StepScores:
    """Scores of steps for one gold tree under one strategy; remembers what it has searched.

    ``weight`` says what the edge from a head to a child counts; 1 if it is gold,
    unless told otherwise.
    """

    def __init__(
        self, heads: Sequence[int], strategy: str, weight: Callable[[int, int], int] | None = None
    ) -> None:
        self.weight = weight or (lambda head, child: int(heads[child - 1] == head))
        self.n = len(heads)
        self.strategy = strategy
        self.best_of: dict[tuple, int] = {}

    def __call__(self, stack: Sequence[int], front: int) -> Scores:
        """Return the scores of the three steps in the configuration (stack, front)."""
        below = NO_LEFT_CHILD if self.strategy == "strict_left_before_right" else FREE
        states = (*[below] * (len(stack) - 1), RESTRICTED)
        scores: list[int | None] = [None, None, None]
        for step, edge, after in self._steps(tuple(stack), states, front):
            scores[step] = edge + self._best(*after)
        return scores[0], scores[1], scores[2]

    def _best(self, stack: tuple, states: tuple, front: int) -> int:
        """Return the most that can still be made from here on."""
        key = (stack, states, front)
        if key not in self.best_of:
            values = [
                edge + self._best(*after) for _, edge, after in self._steps(stack, states, front)
            ]
            final = len(stack) == 1 and front > self.n
            self.best_of[key] = 0 if final else max(values)
        return self.best_of[key]

    def _steps(self, stack: tuple, states: tuple, front: int) -> Iterator[tuple[int, int, tuple]]:
        """All allowed steps: (number of the step, what its edge counts, configuration after it)."""
        if front <= self.n:
            yield 0, 0, ((*stack, front), (*states, RESTRICTED), front + 1)
        if len(stack) >= 2 and states[-2] != NO_RIGHT_CHILD:
            head, child = stack[-2:]
            yield (
                1,
                self.weight(head, child),
                (stack[:-1], (*states[:-2], self._takes_right(states[-2])), front),
            )
        if len(stack) >= 3 and states[-1] != NO_LEFT_CHILD:
            child, head = stack[-2:]
            after = ((*stack[:-2], head), (*states[:-2], self._takes_left(states[-1])), front)
            yield 2, self.weight(head, child), after

    def _takes_right(self, state: int) -> int:
        return (
            NO_LEFT_CHILD
            if state == RESTRICTED and self.strategy.endswith("left_before_right")
            else state
        )

    def _takes_left(self, state: int) -> int:
        return (
            NO_RIGHT_CHILD
            if state == RESTRICTED and self.strategy == "right_before_left"
            else state
        )


def configurations(n: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """All reachable configurations of a sentence of n tokens: 2^(n+1) - 1,
    the final one included.
    """
    for front in range(1, n + 2):
        for size in range(front):
            for rest in combinations(range(1, front), size):
                yield (0, *rest), front


@cache
def attardi_trees(n: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """All trees [h_1, ..., h_n], several children of the root allowed, that computations of
    Attardi's system make.
    """
    found = set()
    seen = set()

    def search(stack: tuple[int, ...], front: int, heads: tuple[int, ...]) -> None:
        if (stack, front, heads) in seen:
            return
        seen.add((stack, front, heads))
        if len(stack) == 1 and front > n:
            found.add(heads)
        if front <= n:
            search((*stack, front), front + 1, heads)
        for below in stack[-2 : -2 - degree : -1]:
            for head, child in ((below, stack[-1]), (stack[-1], below)):
                if child != 0:
                    left = tuple(node for node in stack if node != child)
                    search(left, front, (*heads[: child - 1], head, *heads[child:]))

    search((0,), 1, (-1,) * n)
    return tuple(sorted(found))


def projective_trees(n: int) -> tuple[tuple[int, ...], ...]:
    """All projective trees; arc-standard can make exactly these."""
    return attardi_trees(n, 1)


def is_projective(heads: Sequence[int]) -> bool:
    """By the definition: every token between head and child descends from the head."""
    return all(
        head in ancestors(heads, token)
        for child, head in enumerate(heads, 1)
        for token in range(min(head, child) + 1, max(head, child))
    )


def ancestors(heads: Sequence[int], token: int) -> list[int]:
    """Return the head of the token, the head of that, and so on up to the root."""
    chain = []
    while token != 0:
        token = heads[token - 1]
        chain.append(token)
    return chain


def gold_edges(heads: Sequence[int], gold: Sequence[int]) -> int:
    return sum(h == g for h, g in zip(heads, gold, strict=True))


def best_projective_trees(heads: Sequence[int]) -> tuple[int, list[tuple[int, ...]]]:
    """Return how many gold edges a projective tree has at most,
    and all the trees that have so many.
    """
    trees = projective_trees(len(heads))
    best = max(gold_edges(tree, heads) for tree in trees)
    return best, [tree for tree in trees if gold_edges(tree, heads) == best]
