"""Weighted parsing with a split grammar over a semiring: Nederhof 2019, Table 2 (after Eisner and Satta 1999).

O(n^3) semiring operations for a string of n + 1 nodes, times the size of the grammar; O(n^2) weights are kept. Meant to be
read beside the paper and to check fast code against, not to be fast.

From the paper's symbols to the names here: positions i <= j; W of one nonterminal and a span is ``left`` or ``right``, W of two
nonterminals and a span is ``left_arc`` or ``right_arc``:

* left[B, i, j]: left halves of node j, in state B, that reach to i; right[C, i, j]: right halves of node i that reach to j.
* right_arc[C, B, i, j]: j becomes a right child of i. All between them belongs to the right half of i, in state C before it
  takes j, and to the left half of j, complete in state B.
* left_arc[C, B, i, j]: i becomes a left child of j. The right half of i is complete in state C, the left half of j is in
  state B before it takes i.

As in the print, the string weighs left[B, 0, 0] times right[C, 0, n]: its head is the first node, the artificial root or the
bottom of the stack, which has no left children.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oracles.tabular.grammar import SplitGrammar
from oracles.tabular.semiring import Semiring, Weight

Table = dict[tuple, Weight]


def parse(
    grammar: SplitGrammar, string: Sequence[str], edge: Callable[[int, int], Weight], semiring: Semiring[Weight]
) -> Weight:
    """The weight of a string: the sum over its derivations from the start symbol.

    Args:
        grammar: a split grammar.
        string: terminals, one for each node; node 0 is the head of all.
        edge: edge(head, child) = the weight of an edge between these positions; ``semiring.zero`` forbids it.
        semiring: what to calculate.

    Raises:
        KeyError: a terminal that the grammar does not know.
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
                    halves = total(times(get(right, c, i, m), get(left, b, m + 1, j)) for m in range(i, j))
                    right_arc[c, b, i, j] = times(halves, edge(i, j))
                    left_arc[c, b, i, j] = times(halves, edge(j, i))
            for state in states:
                # (_,state) -> (_,c) A with A -> (b, e): the last right child of i is d, and e reaches to j.
                right[state, i, j] = total(
                    times(right_arc[c, b, i, d], get(right, e, d, j))
                    for to, c, child in grammar.rights
                    if to == state
                    for completed, b, e in grammar.complete
                    if completed == child
                    for d in range(i + 1, j + 1)
                )
                # (state,_) -> A (b,_) with A -> (e, c): the last left child of j is d, and e reaches to i.
                left[state, i, j] = total(
                    times(get(left, e, i, d), left_arc[c, b, d, j])
                    for to, child, b in grammar.lefts
                    if to == state
                    for completed, e, c in grammar.complete
                    if completed == child
                    for d in range(i, j)
                )

    return total(
        times(get(left, b, 0, 0), get(right, c, 0, n)) for completed, b, c in grammar.complete if completed == grammar.start
    )
