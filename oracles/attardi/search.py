"""Exact optimal moves of Attardi's system for any gold tree and any degree, by best-first search.

Not in the literature that we know: Gómez-Rodríguez, Sartorio and Satta 2014 have a tabular oracle for degree 2 and gold
trees that the system can parse (oracles.attardi.tabular), polynomial but of high degree.

A gold edge is alive while both its ends are on the stack or in the buffer. The score of a move is

    [its own edge is gold] + alive edges after it - loss(configuration after it)

where loss is the least number of alive edges that any computation fails to make from there. It is found by a search over
configurations, in the order of the cost of the way to them:

1. A configuration is normalised (oracles.attardi.states): what can be removed at no loss is removed.
2. Its successors, normalised too, are the shift, at no cost, and the sacrifice of each node x != 0 at depth 0..D, whose cost
   is the alive gold children of x + [its own edge is alive, but x cannot go to its gold head now]; always at least 1.
3. They wait in buckets by cost + a lower bound of the loss from there (A*). Sacrifices are made when the search comes
   to their cost, not before, and those that have waited the longest come first: what a wrong move buried lies near. A
   state that is known at no more cost is not added again. The search ends in the final configuration, or in one of known loss.
4. The memo of the sentence (oracles.attardi.memo) keeps the loss of every configuration on the best way, and of the others
   that were expanded the lower bound that the search has shown: loss of the first - cost of the way (Koenig and Likhachev 2005,
   adaptive A*). Along a computation, most configurations are answered from it.

5. A search that has found many states begins again, guided: what is lost in a configuration is at least what is lost of the
   edges among its stack nodes, were there no buffer, and of those in its buffer, were there no stack, since nothing is lost
   twice and computations can do without nodes (see below). With D fixed, the first takes polynomial time: below the lowest
   node that was removed the stack is as it was, and above it at most D nodes are left. Without guidance, what is wrong deep
   in the stack is found to cost something only once all that lies above is gone, after every other choice on the way.

What bounds the loss L of the configurations after a move, by that of the configuration before it, L0:

* A removal of x: L <= L0, for every computation can continue without x; and L >= L0 - (alive edges of x).
* The shift: L >= L0, for it costs nothing; and L <= L0 + what it costs to sacrifice the shifted token at once.

So where nothing more need be lost (L0 = 0), as on the way of a parser through a tree that the system can parse, only
the shift is searched.

Complexity: exponential at worst, in the number of edges that must be lost; experiments/system_oracles.py says what the scores
of a configuration cost along computations. Past ``max_states`` the sentence is refused.

Memory: the memo takes about 1 KB a token along one computation per sentence, at most ``max_bytes`` for all sentences,
reserved when bound and taken as it is written. A search takes 60 bytes per state and 8 per 64 tokens, and gives them back.
"""

from __future__ import annotations

from threading import Lock
from typing import ClassVar

import numpy as np

from oracles.attardi.moves import AttardiOracle
from oracles.attardi.score_kernels import score_batch
from oracles.gold_children import gold_children
from oracles.interface import BoundOracle, Query, Strategy
from oracles.trees import Trees

MAX_STATES = 2**20
UNGUIDED_STATES = 2**6  # see BoundSearch
MAX_BYTES = 2**30

# The memo of a batch never needs more: a step for every token, and room for some hard sentences.
_MEMO_BYTES_PER_TOKEN = 2**14
_MEMO_BYTES_OF_HARD_SENTENCES = 2**24


class AttardiSearch(AttardiOracle):
    """The oracle to train with: exact for any gold tree, and fast along the computation of a parser.

    Args:
        strategy: any, the only one.
        degree: D, 1 to 9.
        max_states: how many states one search may find before the sentence is refused.
        max_bytes: how much memory the memo of all bound sentences may take; 0 = remember nothing.

    Raises:
        ValueError: an unknown strategy or degree, max_states below 1 or max_bytes below 0.
    """

    name: ClassVar[str] = "attardi_search"
    complexity: ClassVar[str] = "exponential at worst, in the edges that must be lost"
    source: ClassVar[str] = "this project"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        degree: int = 2,
        max_states: int = MAX_STATES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(strategy, degree)
        if max_states < 1 or max_bytes < 0:
            raise ValueError(
                f"oracle {self.name}: max_states is at least 1 and max_bytes at least 0, not {max_states} and {max_bytes}"
            )
        self.max_states = max_states
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundSearch(trees, self.degree, self.max_states, self.max_bytes)


class BoundSearch(BoundOracle):
    """Remembers what it has found, so it answers one call at a time (threads wait for each other).

    Attributes:
        unguided_states: how many states a search may find, beside two for each token, before it is guided.
        expanded: how often a state was expanded since the trees were bound, for benchmarks.
    """

    def __init__(self, trees: Trees, degree: int, max_states: int, max_bytes: int) -> None:
        super().__init__(trees)
        self.degree = degree
        self.unguided_states = UNGUIDED_STATES
        self.max_states = max_states
        children = gold_children(trees.heads, trees.offsets)
        self.lists = children.last, children.previous
        # Not touched here: the system hands out pages when they are first written to.
        wanted = _MEMO_BYTES_OF_HARD_SENTENCES + _MEMO_BYTES_PER_TOKEN * len(trees.heads)
        arena = np.empty(min(wanted, max_bytes) // np.dtype(np.int64).itemsize, np.int64)
        begins = np.zeros(len(trees), np.int64)
        capacities = np.zeros(len(trees), np.int64)
        counts = np.zeros(len(trees), np.int64)
        self.memo = arena, begins, capacities, counts, np.zeros(1, np.int64)
        self.expanded = 0
        self.lock = Lock()

    def score_batch(self, query: Query) -> np.ndarray:
        """As BoundOracle.score_batch.

        Raises:
            ValueError: a search found more than max_states; names the sentence.
        """
        trees = self.trees
        with self.lock:
            scores, refused, expanded = score_batch(
                trees.heads,
                trees.offsets,
                self.lists,
                self.degree,
                self.memo,
                self.unguided_states,
                self.max_states,
                *query.arrays,
            )
            self.expanded += expanded
        if refused >= 0:
            s = int(query.sentences[refused])
            raise ValueError(
                f"sentence {s} (counted from 0, {trees.lengths[s]} tokens): attardi_search cannot score a configuration within "
                f"{self.max_states} states at degree {self.degree}; use another degree, leave the sentence out, or raise "
                "max_states"
            )
        return scores
