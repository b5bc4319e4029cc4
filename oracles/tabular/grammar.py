"""Split grammars, written as in Nederhof 2019: context-free grammars whose nodes take left and right children apart.

A nonterminal A stands for a node with all its children, a pair (B,C) for a node of which the left half is in state B and the
right half in state C. The rules (Section 3):

    (B,C) -> a          a terminal is a node without children yet, with its halves in these states
    (D,_) -> A (B,_)    a left half in state B takes an A as its next child to the left, and is in state D then
    (_,D) -> (_,B) A    a right half in state B takes an A as its next child to the right, and is in state D then
    A -> (B,C)          a node with its halves in these states is complete

Children are taken from the node outwards. The two halves of a node know nothing of each other until it is complete, which
is what makes cubic time possible; so each terminal has exactly one rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class SplitGrammar:
    """The rules by kind, each as the symbols in the order in which they are written.

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
        """Reads rules, one a line, in the notation above; ``#`` begins a comment.

        Raises:
            ValueError: a line is none of the four kinds of rules, or a second rule for a terminal.
        """
        terminals: dict[str, tuple[str, str]] = {}
        kinds: dict[str, list[tuple[str, str, str]]] = {"left": [], "right": [], "complete": []}
        for line in rules.splitlines():
            rule = re.sub(r"\s+", "", line.partition("#")[0])
            if not rule:
                continue
            matches = [(kind, match) for kind, pattern in _PATTERNS.items() if (match := re.fullmatch(pattern, rule))]
            if not matches:
                raise ValueError(f"not a rule of a split grammar: {line.strip()!r}")
            kind, match = matches[0]
            if kind != "terminal":
                kinds[kind].append((match[1], match[2], match[3]))
            elif match[3] in terminals:
                raise ValueError(f"a second rule for the terminal {match[3]}: {line.strip()!r}")
            else:
                terminals[match[3]] = match[1], match[2]
        return cls(start, terminals, tuple(kinds["left"]), tuple(kinds["right"]), tuple(kinds["complete"]))

    def without(self, *rules: str) -> SplitGrammar:
        """The grammar without the given rules for children."""
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

# Table 3: all projective trees over a a ... a, each by exactly one derivation.
PROJECTIVE_TREES = SplitGrammar.parse(
    "S",
    """
    (S,S) -> a
    S -> (S,S)
    (S,_) -> S (S,_)
    (_,S) -> (_,S) S
    """,
)

# Table 4: what arc-standard computations can make of p^k s^(m+1), k stack elements below the top, the top, and the buffer.
# An element below the top is a P until it takes its first right child, which holds the top; only then it is on the top
# itself and can take left children, which are still childless.
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

# The same for strict_left_before_right: elements below the top take no left children.
ARC_STANDARD_STRICT = ARC_STANDARD.without("(S,_) -> P (P,_)")
