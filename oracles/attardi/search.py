"""Exact optimal transitions of Attardi's system for any gold tree and any degree,
by best-first search.

We know of no such oracle in the literature: Gómez-Rodríguez, Sartorio and Satta 2014 have a tabular
oracle for degree 2 and gold trees that the system can parse (oracles.attardi.tabular), polynomial
but of high degree.

A gold edge is alive while both its ends are on the stack or in the buffer.
The score of a transition is

    [its own edge is gold] + alive edges after it - loss(configuration after it)

where loss is the least number of alive edges that any computation from there fails to make. It is
found by a search over configurations, in the order of the cost of the path to them:

1. A configuration is normalised (oracles.attardi.states):
   all nodes are removed that can be removed without loss.
2. Its successors, also normalised, are the shift, which costs nothing, and the sacrifice of each
   node x != 0 at depth 0..D. A sacrifice costs the alive gold children of x + [its own edge is
   alive, but x cannot go to its gold head now], at least 1.
3. Configurations wait in buckets by cost + a lower bound of their loss (A*). A sacrifice is made
   only when the search reaches its cost; among equals, the one that has waited longest comes first,
   because a wrong transition buries nodes nearby. A state is added again only at a lower cost. The
   search ends in the final configuration, or in one of known loss.
4. The memo of the sentence (oracles.attardi.states) keeps the loss of every configuration on the
   best path. For all others that were expanded it keeps the lower bound that the search has proved:
   loss of the first configuration - cost of the path (adaptive A*, Koenig and Likhachev 2005).
   Along a computation, the memo answers for most configurations.
5. A search that has found many states starts again, guided. The loss of a configuration is at least
   the loss among its stack nodes without a buffer, plus the loss in its buffer without a stack: no
   edge is lost twice, and a computation can continue after nodes are removed (the first of the
   bounds below). With D fixed, the loss of the stack takes polynomial time: below the lowest
   removed node the stack is unchanged, and above it at most D nodes are left. Without guidance, an
   error deep in the stack shows its cost only when everything above it is gone, after all other
   choices on the path.

Bounds of the loss L after a transition, from the loss L0 of the configuration before it:

* A removal of x: L <= L0, because every computation can continue without x; and L >= L0 - (alive
  edges of x).
* The shift: L >= L0, because it costs nothing; and L <= L0 + the cost to sacrifice the shifted
  token at once.

So if no further edge has to be lost (L0 = 0), as along a correct computation of a tree that the
system can parse, only the shift is searched.

With ``single_root``, 0 takes only the last node, when the buffer is empty; so a node that is alone
above 0 stays until the next shift. This loses nothing: it does not matter which of two nodes stays.

Complexity: exponential at worst, in the number of edges that must be lost;
experiments/system_oracles.py measures the time for the scores of a configuration along
computations. A sentence that needs more than ``max_states`` is refused.

Memory: the memo takes about 1 KB per token along one computation per sentence, at most
``max_bytes`` for all sentences; it is reserved by bind() and taken when written. A search takes 60
bytes per state, and 8 more for every 64 tokens; it frees them at its end.
"""

from __future__ import annotations

from threading import Lock
from typing import ClassVar

import numpy as np

from oracles.attardi.best_first import least_loss, new_space
from oracles.attardi.states import count_alive_children, flip, is_present, words_of
from oracles.attardi.system import AttardiOracle
from oracles.errors import OptimalStepError
from oracles.interface import NOT_APPLICABLE, BoundOracle, Query, Strategy
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees

MAX_STATES = 2**20
UNGUIDED_STATES = 2**6  # see BoundSearch
MAX_BYTES = 2**30

# The most memory for the memo of a batch: a step for every token,
# and space for some hard sentences.
_MEMO_BYTES_PER_TOKEN = 2**14
_MEMO_BYTES_OF_HARD_SENTENCES = 2**24


class SearchLimitError(OptimalStepError):
    """A configuration cannot be scored within ``max_states``; ``sentence`` is the number of its
    tree, from 0.
    """

    sentence = -1


class AttardiSearch(AttardiOracle):
    """The oracle to train with: exact for any gold tree,
    and fast along the computation of a parser.

    Args:
        strategy: ``any``; there is no other.
        degree: D, 1 to 9.
        max_states: how many states one search may find before the sentence is refused.
        max_bytes: the most memory for the memo of all bound sentences; 0: no memo.
        single_root: whether only computations count in which the artificial root gets one child, as
            the last transition. Transitions of other computations are not applicable.

    Raises:
        OptimalStepError: an unknown strategy or degree, max_states below 1 or max_bytes below 0.
    """

    name: ClassVar[str] = "attardi_search"
    takes_partial_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "at worst exponential in the number of arcs that must be lost"
    source: ClassVar[str] = "this project"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        degree: int = 2,
        max_states: int = MAX_STATES,
        max_bytes: int = MAX_BYTES,
        single_root: bool = False,
    ) -> None:
        super().__init__(strategy, degree)
        if max_states < 1 or max_bytes < 0:
            raise OptimalStepError(
                f"oracle {self.name}: max_states must be at least 1 and max_bytes at least 0, "
                f"not {max_states} and {max_bytes}"
            )
        self.max_states = max_states
        self.max_bytes = max_bytes
        self.single_root = bool(single_root)

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundSearch(trees, self.degree, self.max_states, self.max_bytes, self.single_root)


class BoundSearch(BoundOracle):
    """It keeps a memo, so it answers one call at a time (threads wait for each other).

    Attributes:
        unguided_states: how many states a search may find, besides two for each token,
            before it is guided.
        expanded: how many states were expanded since the trees were bound, for benchmarks.
    """

    def __init__(
        self, trees: Trees, degree: int, max_states: int, max_bytes: int, single_root: bool = False
    ) -> None:
        super().__init__(trees)
        self.degree = degree
        self._single_root = np.bool_(single_root)
        self.unguided_states = UNGUIDED_STATES
        self.max_states = max_states
        children = GoldChildren.of(trees)
        self.lists = children.last, children.previous
        # Not touched here: the operating system provides pages when they are first written.
        wanted = _MEMO_BYTES_OF_HARD_SENTENCES + _MEMO_BYTES_PER_TOKEN * len(trees.heads)
        arena = np.empty(min(wanted, max_bytes) // np.dtype(np.int64).itemsize, np.int64)
        begins = np.zeros(len(trees), np.int64)
        capacities = np.zeros(len(trees), np.int64)
        counts = np.zeros(len(trees), np.int64)
        self.memo = arena, begins, capacities, counts, np.zeros(1, np.int64)
        self.expanded = 0
        self.lock = Lock()

    def score_batch(self, query: Query) -> np.ndarray:
        """Score a batch; see BoundOracle.score_batch().

        Raises:
            SearchLimitError: a search found more than ``max_states``;
                the message names the sentence.
        """
        trees = self.trees
        with self.lock:
            scores, refused, expanded = score_batch(
                trees.heads,
                trees.offsets,
                self.lists,
                self.degree,
                self._single_root,
                self.memo,
                self.unguided_states,
                self.max_states,
                *query.arrays,
            )
            self.expanded += expanded
        if refused >= 0:
            s = int(query.sentences[refused])
            error = SearchLimitError(
                f"sentence {s} (counted from 0, {trees.lengths[s]} tokens): attardi_search cannot "
                f"score a configuration within {self.max_states} states at degree {self.degree}; "
                "use another degree, leave the sentence out, or raise max_states"
            )
            error.sentence = s
            raise error
        return scores


@array_kernel()
def _alive_edges(heads, words, stack, k, front):
    """Return how many gold edges have both ends on the stack or in the buffer; O(n)."""
    alive = 0
    for d in range(1, k + 1):
        alive += is_present(words, 0, front, heads[stack[d]])
    for token in range(front, len(heads)):
        alive += is_present(words, 0, front, heads[token])
    return alive


@array_kernel()
def _cost_of_front(tree, degree, single_root, words, stack, k, front):
    """Return how many alive gold edges are lost if the front of the buffer is shifted and
    sacrificed at once.
    """
    heads, last_child, sibling = tree
    cost = count_alive_children(last_child, sibling, words, 0, front, front)
    if is_present(words, 0, front, heads[front]):
        cost += 1
        for d in range(min(degree, k + 1)):
            if stack[k - d] == heads[front] and not (single_root and stack[k - d] == 0):
                cost -= 1
    return cost


@array_kernel()
def score_batch(
    all_heads,
    offsets,
    lists,
    degree,
    single_root,
    memo,
    unguided,
    max_states,
    sentences,
    stacks,
    stack_sizes,
    buffer_fronts,
):
    """Score a batch of configurations; see BoundOracle.score_batch.

    Args:
        all_heads, offsets: the trees, see Trees.
        lists: ``last`` and ``previous`` of GoldChildren.
        degree, single_root: see AttardiSearch.
        memo: see oracles.attardi.states.
        unguided, max_states: see least_loss().
        sentences, stacks, stack_sizes, buffer_fronts: the batch.

    Returns:
        The scores, int16[batch, 1 + 2 * degree]; the row of the first configuration whose search
        found more than ``max_states``, or -1; and how many states were expanded.
    """
    scores = np.full((len(sentences), 1 + 2 * degree), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s] - 1)
    spaces = (
        new_space(words_of(longest), longest, degree),
        new_space(words_of(longest), longest, degree),
    )
    here = np.empty(words_of(longest), np.int64)
    expanded = 0
    for row in range(len(sentences)):
        s = sentences[row]
        start, end = offsets[s], offsets[s + 1]
        n = end - start - 1
        heads = all_heads[start:end]
        tree = heads, lists[0][start:end], lists[1][start:end]
        width = words_of(n)
        k = stack_sizes[row] - 1
        front = buffer_fronts[row]
        stack = stacks[row]
        here[:width] = 0
        flip(here, 0, front)
        for d in range(k + 1):
            flip(here, 0, stack[d])
        alive = _alive_edges(heads, here, stack, k, front)

        # -2: the configuration itself, whose loss bounds the others. -1: the shift. d >= 0: the
        # removal of the node at depth d; all ra_d remove the top, at depth 0.
        loss_here = np.int64(0)
        for transition in range(-2, min(degree, k - 1) + 1):
            if (transition == -1 and front > n) or (
                transition == 0 and (k == 0 or (single_root and k == 1 and front <= n))
            ):
                continue
            words = spaces[0][0]
            for w in range(width):
                words[w] = here[w]
            node = np.int64(0)
            front_after, after = front, alive
            lower, upper = np.int64(0), np.int64(n + 1)
            if transition == -1:
                front_after = front + 1
                flip(words, 0, front_after)
                lower = loss_here
                upper = loss_here + _cost_of_front(tree, degree, single_root, here, stack, k, front)
            elif transition >= 0:
                node = np.int64(stack[k - transition])
                flip(words, 0, node)
                after -= is_present(here, 0, front, heads[node])
                after -= count_alive_children(tree[1], tree[2], here, 0, front, node)
                lower = max(np.int64(0), loss_here - (alive - after))
                upper = loss_here
            loss, spaces, taken = least_loss(
                *(
                    tree,
                    degree,
                    single_root,
                    memo,
                    s,
                    width,
                    spaces,
                    front_after,
                    lower,
                    upper,
                    unguided,
                    max_states,
                )
            )
            expanded += taken
            if loss < 0:
                return scores, row, expanded
            if transition == -2:
                loss_here = loss
            elif transition == -1:
                scores[row, 0] = after - loss
            elif transition == 0:
                for d in range(1, min(degree, k) + 1):
                    if single_root and d == k > 1:
                        continue  # the artificial root takes only the last node
                    scores[row, 2 * d - 1] = after - loss + (heads[node] == stack[k - d])
            else:
                scores[row, 2 * transition] = after - loss + (heads[node] == stack[k])
    return scores, -1, expanded
