"""Weighted parsing with split grammars over semirings: Nederhof 2019, Section 3 and Tables 2 to 4.

Read it beside the paper, and check fast code against it; it is not fast.

A split grammar is a context-free grammar in which a node takes its left and right children
separately. A nonterminal A is a node with all its children; a pair (B,C) is a node whose left half
is in state B and whose right half is in state C. The rules:

    (B,C) -> a          a terminal is a node without children, with its halves in these states
    (D,_) -> A (B,_)    a left half in state B takes an A as its next child to the left;
                        then it is in state D
    (_,D) -> (_,B) A    a right half in state B takes an A as its next child to the right;
                        then it is in state D
    A -> (B,C)          a node with its halves in these states is complete

A node takes its nearest children first. Its two halves are independent until it is complete; this
makes cubic time possible, and requires exactly one rule for each terminal.

A semiring defines weights, how alternatives are summed (plus), and how parts are combined (times).
An edge from head to child with an integer score has the weight ``edge(score, head, child)``. The
weight of a derivation is the product of its edges; the weight of a string is the sum over its
derivations. Tabular parsing needs associative operations, a commutative plus, a times that
distributes over plus, and zero and one as usual (Goodman 1999).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from oracles.errors import OptimalStepError


@dataclass(frozen=True)
class SplitGrammar:
    """The rules by kind; a rule is the tuple of its symbols in written order.

    Attributes:
        start: the nonterminal of a whole string; its node is the first of the string.
        terminals: {a: (B, C)} for (B,C) -> a.
        lefts: [(D, A, B)] for (D,_) -> A (B,_).
        rights: [(D, B, A)] for (_,D) -> (_,B) A.
        complete: [(A, B, C)] for A -> (B,C).
    """

    start: str
    terminals: dict[str, tuple[str, str]]
    lefts: tuple[tuple[str, str, str], ...]
    rights: tuple[tuple[str, str, str], ...]
    complete: tuple[tuple[str, str, str], ...]

    @classmethod
    def parse(cls, start: str, rules: str) -> SplitGrammar:
        """Read rules, one per line, in the notation of this module; ``#`` begins a comment.

        Raises:
            OptimalStepError: a line is not a rule of the four kinds,
                or is a second rule for a terminal.
        """
        terminals: dict[str, tuple[str, str]] = {}
        kinds: dict[str, list[tuple[str, str, str]]] = {"left": [], "right": [], "complete": []}
        for line in rules.splitlines():
            rule = re.sub(r"\s+", "", line.partition("#")[0])
            if not rule:
                continue
            matches = [
                (kind, match)
                for kind, pattern in _PATTERNS.items()
                if (match := re.fullmatch(pattern, rule))
            ]
            if not matches:
                raise OptimalStepError(f"not a rule of a split grammar: {line.strip()!r}")
            kind, match = matches[0]
            if kind != "terminal":
                kinds[kind].append((match[1], match[2], match[3]))
            elif match[3] in terminals:
                raise OptimalStepError(
                    f"a second rule for the terminal {match[3]}: {line.strip()!r}"
                )
            else:
                terminals[match[3]] = match[1], match[2]
        return cls(
            start, terminals, tuple(kinds["left"]), tuple(kinds["right"]), tuple(kinds["complete"])
        )

    def without(self, *rules: str) -> SplitGrammar:
        """Return the grammar without the given rules for children."""
        dropped = SplitGrammar.parse(self.start, "\n".join(rules))
        lefts = tuple(rule for rule in self.lefts if rule not in dropped.lefts)
        rights = tuple(rule for rule in self.rights if rule not in dropped.rights)
        return SplitGrammar(self.start, self.terminals, lefts, rights, self.complete)


_NAME = r"(\w*[A-Za-z]\w*)"
_PATTERNS = {
    "left": rf"\({_NAME},_\)->{_NAME}\({_NAME},_\)",
    "right": rf"\(_,{_NAME}\)->\(_,{_NAME}\){_NAME}",
    "complete": rf"{_NAME}->\({_NAME},{_NAME}\)",
    "terminal": rf"\({_NAME},{_NAME}\)->{_NAME}",
}

# Table 3: all projective trees over a a ... a, with exactly one derivation for each.
PROJECTIVE_TREES = SplitGrammar.parse(
    "S",
    """
    (S,S) -> a
    S -> (S,S)
    (S,_) -> S (S,_)
    (_,S) -> (_,S) S
    """,
)

# Table 4: the trees that arc-standard computations can make from p^k s^(m+1): k stack elements
# below the top, the top, and the buffer. An element below the top is a P until it takes its first
# right child, which contains the top. Only then is it the top itself and can take left children,
# which are still childless.
ARC_STANDARD = SplitGrammar.parse(
    "S",
    """
    (P,P) -> p
    (S,S) -> s
    P -> (P,P)              # childless
    S -> (P,S)              # below the top, with right children and without left ones
    S -> (S,S)              # with both, or the top, or a buffer node
    (S,_) -> P (P,_)        # an element from below the top takes its first left child
    (S,_) -> P (S,_)
    (S,_) -> S (S,_)
    (_,S) -> (_,P) S        # its first right child
    (_,S) -> (_,S) S
    """,
)

# For strict_left_before_right: elements below the top take no left children.
ARC_STANDARD_STRICT = ARC_STANDARD.without("(S,_) -> P (P,_)")


Weight = TypeVar("Weight")
Table = dict[tuple, Weight]


@dataclass(frozen=True)
class Semiring(Generic[Weight]):
    """The operations; ``zero`` is the weight of an underivable string, ``one`` the weight of a
    derivation without edges.
    """

    zero: Weight
    one: Weight
    plus: Callable[[Weight, Weight], Weight]
    times: Callable[[Weight, Weight], Weight]
    edge: Callable[[int, int, int], Weight]

    def sum(self, weights: Iterator[Weight]) -> Weight:
        """Return the sum of all weights."""
        total = self.zero
        for weight in weights:
            total = self.plus(total, weight)
        return total


# The best score of a derivation; -inf if there is none.
MAX_PLUS: Semiring[float] = Semiring(
    zero=-math.inf,
    one=0,
    plus=max,
    times=lambda a, b: a + b,
    edge=lambda score, head, child: score,
)


@dataclass(frozen=True)
class WeightedChart(Generic[Weight]):
    """The weights of all parts of derivations, by states and positions i <= j; a part without a
    derivation has the weight zero.

    The paper's W of one nonterminal and a span is ``left`` or ``right`` here; its W of two
    nonterminals and a span is ``left_arc`` or ``right_arc``.

    Attributes:
        left: left[B, i, j]: left halves of node j, in state B, that reach to i.
        right: right[C, i, j]: right halves of node i, in state C, that reach to j.
        right_arc: right_arc[C, B, i, j]: j becomes a right child of i. All nodes between them
            belong to the right half of i, in state C before it takes j, or to the left half of j,
            complete in state B.
        left_arc: left_arc[C, B, i, j]: i becomes a left child of j. The right half of i is complete
            in state C; the left half of j is in state B before it takes i.
        weight: the weight of the string. Its head is node 0, the artificial root at the bottom of
            the stack, which has no left children: as in the paper, left[B, 0, 0] times
            right[C, 0, n].
    """

    left: Table
    right: Table
    left_arc: Table
    right_arc: Table
    weight: Weight


def parse(
    grammar: SplitGrammar,
    string: Sequence[str],
    edge: Callable[[int, int], Weight],
    semiring: Semiring[Weight],
) -> Weight:
    """Return the weight of a string, the sum over its derivations from the start symbol;
    see fill_chart().
    """
    return fill_chart(grammar, string, edge, semiring).weight


def fill_chart(
    grammar: SplitGrammar,
    string: Sequence[str],
    edge: Callable[[int, int], Weight],
    semiring: Semiring[Weight],
) -> WeightedChart[Weight]:
    """Fill in the chart of a string: Table 2, after Eisner and Satta 1999.

    It takes O(n^3) semiring operations for a string of n + 1 nodes, times the size of the grammar,
    and keeps O(n^2) weights.

    Args:
        string: terminals, one for each node; node 0 is the head of the string.
        edge: edge(head, child) = the weight of an edge between these positions;
            ``semiring.zero`` forbids it.

    Raises:
        KeyError: a terminal is not in the grammar.
    """
    n = len(string) - 1
    times, total = semiring.times, semiring.sum
    left: Table = {}
    right: Table = {}
    left_arc: Table = {}
    right_arc: Table = {}

    for i, terminal in enumerate(string):
        left_state, right_state = grammar.terminals[terminal]
        left[left_state, i, i] = right[right_state, i, i] = semiring.one

    def get(table: Table, *item: object) -> Weight:
        return table.get(item, semiring.zero)

    states = {state for pair in grammar.terminals.values() for state in pair}
    states |= {rule[0] for rule in (*grammar.lefts, *grammar.rights)}

    for width in range(1, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            for c in states:
                for b in states:
                    halves = total(
                        times(get(right, c, i, m), get(left, b, m + 1, j)) for m in range(i, j)
                    )
                    right_arc[c, b, i, j] = times(halves, edge(i, j))
                    left_arc[c, b, i, j] = times(halves, edge(j, i))
            for state in states:
                # (_,state) -> (_,c) A with A -> (b, e): the last right child of i is d,
                # and e reaches to j.
                right[state, i, j] = total(
                    times(right_arc[c, b, i, d], get(right, e, d, j))
                    for to, c, child in grammar.rights
                    if to == state
                    for completed, b, e in grammar.complete
                    if completed == child
                    for d in range(i + 1, j + 1)
                )
                # (state,_) -> A (b,_) with A -> (e, c): the last left child of j is d,
                # and e reaches to i.
                left[state, i, j] = total(
                    times(get(left, e, i, d), left_arc[c, b, d, j])
                    for to, child, b in grammar.lefts
                    if to == state
                    for completed, e, c in grammar.complete
                    if completed == child
                    for d in range(i, j)
                )

    weight = total(
        times(get(left, b, 0, 0), get(right, c, 0, n))
        for completed, b, c in grammar.complete
        if completed == grammar.start
    )
    return WeightedChart(left, right, left_arc, right_arc, weight)
