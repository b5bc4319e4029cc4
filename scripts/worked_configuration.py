"""A configuration of arc-standard worked through as in Nederhof 2019, Sections 4 and 5,
for a page of the documentation.

The configuration is the first sentence of a CoNLL-U file, with its projective gold tree and the
comments ``# stack = 0 1 2`` and ``# buffer = 3 4``. The strategy is left_before_right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from oracles import Trees
from oracles.arc_standard.critical_nodes import critical_nodes
from oracles.arc_standard.tabular import ArcStandardGrammar
from oracles.errors import OptimalStepError
from oracles.tabular import MAX_PLUS, Configuration, Transition, WeightedChart, fill_chart
from oracles.trees import GoldChildren
from parser.conllu.checks import FORM
from parser.conllu.stream import RawSentence, read_sentences
from parser.drawing import read_trees
from parser.drawing.configurations import configuration_as_svg

ROOT = Path(__file__).resolve().parents[1]
_NODES = re.compile(r"# (stack|buffer) = ([\d ]*)")


@dataclass(frozen=True)
class WorkedTransition:
    """A transition, and the chart of the configuration after it,
    without the buffer nodes that are not critical.

    Attributes:
        stack, buffer: the nodes of the configuration after the transition; the buffer has only
            those in the chart.
        own: 1 if the transition makes a gold edge, else 0.
        aside: the number of gold edges inside the buffer that the chart does not have, because one
            of their nodes is not critical.
        chart: the table of the paper; positions are places among stack and buffer.
    """

    transition: Transition
    stack: tuple[int, ...]
    buffer: tuple[int, ...]
    own: int
    aside: int
    chart: WeightedChart[float]

    @property
    def score(self) -> int:
        """The most gold edges that can still be made, the transition's own included."""
        return self.own + int(self.chart.weight) + self.aside


class WorkedConfiguration:
    """A configuration of a sentence with a projective gold tree."""

    def __init__(
        self,
        forms: Sequence[str],
        heads: Sequence[int],
        stack: Sequence[int],
        buffer: Sequence[int],
    ) -> None:
        self.forms = forms
        self.heads = heads
        self.stack = tuple(stack)
        self.buffer = tuple(buffer)

    @classmethod
    def read(cls, path: Path) -> WorkedConfiguration | None:
        """Read the first sentence of a file; None if its comments name no stack."""
        sentence = next(iter(read_sentences(path)))
        nodes = nodes_of(sentence)
        if "stack" not in nodes:
            return None
        return cls(sentence.column(FORM), sentence.heads(), nodes["stack"], nodes["buffer"])

    @cached_property
    def transitions(self) -> list[WorkedTransition]:
        """The applicable transitions, in the order shift, reduce_left, reduce_right."""
        grammar = ArcStandardGrammar()
        return [
            self._worked(grammar, step)
            for step in grammar.transitions(Configuration(self.stack, self.buffer))
        ]

    def _worked(self, grammar: ArcStandardGrammar, transition: Transition) -> WorkedTransition:
        after = transition.after
        kept = self._critical(after)
        nodes = after.stack + kept
        inside = sum(self.heads[node - 1] in after.buffer for node in after.buffer)
        in_chart = sum(self.heads[node - 1] in kept for node in kept)

        def edge(i: int, j: int) -> float:
            head, child = nodes[i], nodes[j]
            if child == 0 or (child < head and head in after.no_left_children):
                return MAX_PLUS.zero
            return MAX_PLUS.edge(self._gold(head, child), head, child)

        chart = fill_chart(
            grammar.grammar, grammar.terminals(Configuration(after.stack, kept)), edge, MAX_PLUS
        )
        own = 0 if transition.edge is None else self._gold(*transition.edge)
        return WorkedTransition(transition, after.stack, kept, own, inside - in_chart, chart)

    def _critical(self, configuration: Configuration) -> tuple[int, ...]:
        """Return the nodes of the buffer that the chart keeps."""
        trees = Trees.from_heads([self.heads])
        position = np.full(len(self.heads) + 1, -1, np.int32)
        position[list(configuration.stack)] = range(len(configuration.stack))
        stack, k = np.array(configuration.stack, np.int32), len(configuration.stack) - 1
        front = configuration.buffer[0] if configuration.buffer else len(self.heads) + 1
        return tuple(
            critical_nodes(
                trees.heads, 0, stack, k, front, GoldChildren.of(trees), position
            ).tolist()
        )

    def _gold(self, head: int, child: int) -> int:
        return int(self.heads[child - 1] == head)

    def word(self, node: int) -> str:
        """Return a node as a page names it."""
        return f"*{self.forms[node - 1]}*" if node else "ROOT"

    def words(self, nodes: Sequence[int]) -> str:
        """Return nodes as a page names them."""
        return " ".join(map(self.word, nodes))


def nodes_of(sentence: RawSentence) -> dict[str, list[int]]:
    """Return the nodes that the comments of a sentence name as stack and as buffer."""
    found = [match for line in sentence.lines if (match := _NODES.match(line))]
    return {match[1]: [int(node) for node in match[2].split()] for match in found}


def picture(path: Path) -> str | None:
    """Return a drawing of the configuration of a file; None if its comments name no stack."""
    configuration = WorkedConfiguration.read(path)
    if configuration is None:
        return None
    return configuration_as_svg(
        next(read_trees(path)).tree, configuration.stack, configuration.buffer
    )


def step_table(file: str) -> str:
    """Return a table of the transitions of a configuration of the checkout,
    with the terms of their scores.
    """
    configuration = _read(file)
    best = max(step.score for step in configuration.transitions)
    columns = (
        "step",
        "stack after it",
        "buffer in the chart",
        "its own arc",
        "chart",
        "other arcs",
        "score",
    )
    rows = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for step in configuration.transitions:
        score = f"**{step.score}**" if step.score == best else str(step.score)
        after = f"{configuration.words(step.stack)} | {configuration.words(step.buffer)}"
        rows.append(
            f"| {step.transition.name} | {after} | {step.own} | {step.chart.weight} | {step.aside} "
            f"| {score} |"
        )
    return "\n".join(rows)


def chart_table(file: str, transition: str) -> str:
    """Return the chart of the configuration after a transition: for each span,
    the weights of arcs and of halves.
    """
    configuration = _read(file)
    step = next(step for step in configuration.transitions if step.transition.name == transition)
    nodes, chart = step.stack + step.buffer, step.chart
    rows = ["| from | to | arcs | halves |", "|---|---|---|---|"]
    for width in range(1, len(nodes)):
        for i in range(len(nodes) - width):
            j = i + width
            low, high = configuration.word(nodes[i]), configuration.word(nodes[j])
            arcs = _entries(chart.right_arc, i, j, f"{low} → {high}") + _entries(
                chart.left_arc, i, j, f"{low} ← {high}"
            )
            halves = _entries(chart.right, i, j, f"{low} to the right") + _entries(
                chart.left, i, j, f"{high} to the left"
            )
            rows.append(f"| {low} | {high} | {_listed(arcs)} | {_listed(halves)} |")
    return "\n".join(rows)


def _entries(table: dict[tuple, float], i: int, j: int, what: str) -> list[str]:
    """Return the entries of a span that have a derivation, each with its states."""
    entries = sorted(
        (item[:-2], weight)
        for item, weight in table.items()
        if item[-2:] == (i, j) and weight != MAX_PLUS.zero
    )
    return [f"{what} ({', '.join(states)}): {int(weight)}" for states, weight in entries]


def _listed(entries: Sequence[str]) -> str:
    return " <br> ".join(entries) or "\u2013"


def _read(file: str) -> WorkedConfiguration:
    configuration = WorkedConfiguration.read(ROOT / file)
    if configuration is None:
        raise OptimalStepError(f"{file}: no comment '# stack = ...' before the first sentence")
    return configuration


MAKERS: dict[str, Callable[..., str]] = {"worked_steps": step_table, "worked_chart": chart_table}
