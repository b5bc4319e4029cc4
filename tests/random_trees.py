"""Random trees, computations and batches for the tests, and hypothesis strategies that draw them.

Uniform trees come from Pruefer sequences; they are almost never projective and most words hang from
the root's neighbours, so there are also projective trees, and trees that are projective but for a
few words, as treebanks have them.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from hypothesis import strategies as st

from oracles import Query

Configuration = tuple[tuple[int, ...], int]  # the stack, and the first token of the buffer


def pruefer_tree(code: Sequence[int]) -> list[int]:
    """Return the tree of a Pruefer sequence over 0..n, of length n - 1, rooted at 0, as heads
    [h_1, ..., h_n]. A bijection.
    """
    n = len(code) + 1
    missing = [1 + list(code).count(node) for node in range(n + 1)]  # neighbours not yet found
    neighbours: list[list[int]] = [[] for _ in range(n + 1)]

    def join(a: int, b: int) -> None:
        neighbours[a].append(b)
        neighbours[b].append(a)
        missing[a] -= 1
        missing[b] -= 1

    for node in code:
        join(missing.index(1), node)
    a, b = (node for node in range(n + 1) if missing[node] == 1)
    join(a, b)

    heads = [0] * (n + 1)
    agenda = [0]
    while agenda:
        head = agenda.pop()
        for child in neighbours[head]:
            neighbours[child].remove(head)
            heads[child] = head
            agenda.append(child)
    return heads[1:]


def all_trees(n: int) -> Iterator[list[int]]:
    """All (n + 1)^(n - 1) trees of n tokens, several children of the root allowed."""
    return (pruefer_tree(code) for code in product(range(n + 1), repeat=n - 1))


def random_tree(rng: random.Random, n: int) -> list[int]:
    return pruefer_tree([rng.randrange(n + 1) for _ in range(n - 1)])


def random_projective_tree(rng: random.Random, n: int, depth: float = 0.5) -> list[int]:
    """Return the tree of a random arc-standard computation;
    the greater ``depth`` (0..1), the more is shifted before reducing.
    """
    heads = [0] * (n + 1)
    stack, front = [0], 1
    while front <= n or len(stack) > 1:
        if front <= n and (len(stack) == 1 or rng.random() < depth):
            stack.append(front)
            front += 1
        elif len(stack) >= 3 and rng.random() < 0.5:
            heads[stack[-2]] = stack[-1]
            del stack[-2]
        elif len(stack) >= 3 or front > n or rng.random() < 0.2:
            heads[stack[-1]] = stack[-2]
            del stack[-1]
    return heads[1:]


def random_mildly_nonprojective_tree(rng: random.Random, n: int, rehung: int = 2) -> list[int]:
    """Return a projective tree of which ``rehung`` words were given a random other head;
    it may happen to be projective.
    """
    heads = random_projective_tree(rng, n)
    for _ in range(rehung):
        token, head = rng.randint(1, n), rng.randint(0, n)
        node = head
        while node not in (0, token):
            node = heads[node - 1]
        if node != token:
            heads[token - 1] = head
    return heads


def random_any_tree(rng: random.Random, n: int) -> list[int]:
    """Return a tree of one of the three kinds above."""
    return rng.choice([random_tree, random_projective_tree, random_mildly_nonprojective_tree])(
        rng, n
    )


def chain(n: int) -> list[int]:
    """Each token hangs from the one before it."""
    return list(range(n))


def star(n: int, centre: int = 0) -> list[int]:
    """All tokens hang from ``centre``."""
    return [0 if token == centre else centre for token in range(1, n + 1)]


def apply_step(stack: tuple[int, ...], front: int, step: int) -> Configuration:
    """Return the configuration after step 0 (shift), 1 (reduce_left) or 2 (reduce_right)."""
    if step == 0:
        return (*stack, front), front + 1
    return (stack[:-1] if step == 1 else (*stack[:-2], stack[-1])), front


def applicable_steps(stack: tuple[int, ...], front: int, n: int) -> list[int]:
    """Return the numbers of the steps that can be taken; empty in the final configuration."""
    return [step for step, ok in enumerate((front <= n, len(stack) >= 2, len(stack) >= 3)) if ok]


def random_computation(
    rng: random.Random,
    n: int,
    score: Callable[[tuple[int, ...], int], Sequence[int | None]] | None = None,
    follow: float = 0.9,
) -> Iterator[Configuration]:
    """Yield the configurations of one computation, from the first to the final one.

    With ``score`` a best step is taken with probability ``follow``, else any, as in exploration.
    Skip some of them (as a parser does where it asks no oracle) by slicing or filtering what comes.
    """
    stack: tuple[int, ...] = (0,)
    front = 1
    yield stack, front
    while steps := applicable_steps(stack, front, n):
        if score is not None and rng.random() < follow:
            scores = {
                step: known for step, known in enumerate(score(stack, front)) if known is not None
            }
            best = max(scores[step] for step in steps)
            steps = [step for step in steps if scores[step] == best]
        stack, front = apply_step(stack, front, rng.choice(steps))
        yield stack, front


def query(configurations: Sequence[tuple[int, Sequence[int], int]]) -> Query:
    """(sentence, stack, front) triples as a query; what must be ignored is filled with 99."""
    width = max((len(stack) for _, stack, _ in configurations), default=1) + 1
    stacks = np.full((len(configurations), width), 99, np.int32)
    for row, (_, stack, _) in enumerate(configurations):
        stacks[row, : len(stack)] = stack
    sizes = np.array([len(stack) for _, stack, _ in configurations], np.int32)
    sentences = np.array([sentence for sentence, _, _ in configurations], np.int32)
    return Query(
        sentences, stacks, sizes, np.array([front for _, _, front in configurations], np.int32)
    )


def trees(min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[list[int]]:
    """Hypothesis: any tree, uniform through its Pruefer sequence;
    shrinks towards the star around the root.
    """
    return st.integers(min_size, max_size).flatmap(
        lambda n: st.lists(st.integers(0, n), min_size=n - 1, max_size=n - 1).map(pruefer_tree)
    )


def projective_trees(min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[list[int]]:
    sizes = st.integers(min_size, max_size)
    return st.builds(
        lambda n, rng: random_projective_tree(rng, n), sizes, st.randoms(use_true_random=False)
    )


@st.composite
def configurations(draw: st.DrawFn, n: int) -> Configuration:
    """Hypothesis: a reachable configuration of a sentence of n tokens."""
    front = draw(st.integers(1, n + 1))
    kept = draw(st.lists(st.booleans(), min_size=front - 1, max_size=front - 1))
    return (0, *(token for token, keep in enumerate(kept, 1) if keep)), front


@st.composite
def trees_with_configuration(
    draw: st.DrawFn, gold: st.SearchStrategy[list[int]] | None = None
) -> tuple[list[int], tuple[int, ...], int]:
    """Hypothesis: (heads, stack, front)."""
    heads = draw(trees() if gold is None else gold)
    return heads, *draw(configurations(len(heads)))
