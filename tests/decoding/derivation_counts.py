"""How many derivations an item stands for, counted through its backpointers."""

from __future__ import annotations

from tests.decoding.slow_derivations import Item


def count_derivations(item: Item) -> int:
    """How many computations since the first token of s0 was shifted the item stands for."""
    counts: dict[int, int] = {}
    waiting = [item]
    while waiting:  # no recursion: items are as deep as sentences are long
        one = waiting[-1]
        parts = [part for made in one.backpointers for part in (made.item, made.below.item)]
        unknown = [part for part in parts if id(part) not in counts]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        counts[id(one)] = sum(counts[id(made.item)] * counts[id(made.below.item)] for made in one.backpointers) or 1
    return counts[id(item)]
