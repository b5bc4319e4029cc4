"""Parsing with given arcs: all of them are kept if the transition system can make them together,
else as many as possible.

An exact oracle takes the given arcs as a gold tree that is known in part (oracles/trees.py). Only
transitions that the oracle calls optimal are allowed: they lose none of the given arcs, or the
fewest. The classifier chooses among these, greedily or with a beam. So a system that can make any
tree keeps all given arcs, and the other arcs fit them. If all arcs are given, only the order of the
steps is left to choose: replay() uses this to recover the computation of a tree.

Where an oracle knows a faster way (Oracle.bind_lossless), it chooses, before the first step, a
largest set of arcs that can be made together. Then only transitions that lose none of this set are
allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import signature
from typing import NamedTuple

import numpy as np

import oracles
from oracles import NOT_APPLICABLE
from oracles.errors import OptimalStepError
from parser.conllu.checks import EMPTY, UNKNOWN_HEAD, LineError, shortened
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.data.vocabulary import UD_ROOT
from parser.decoding.greedy.batched import Allowed, BatchedParser, Restriction, StepProbabilities
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import optimal_transitions, query, required_root_relation
from parser.transitions.system import Transitions, TransitionSystem

# The longest sentence that the oracles of all systems have memory for.
MOST_WORDS = 9000


class GivenArcsError(OptimalStepError):
    """The given arcs cannot be kept with this model or this search; the message says the fix."""


class GivenArcs(NamedTuple):
    """The given arcs of some sentences.

    Attributes:
        heads: the heads of each sentence's words; UNKNOWN_HEAD where none is given.
        deprels: the relations of each sentence's words, read where a head is given; ``_`` if the
            relation is not given. None: no relations.
    """

    heads: Sequence[Sequence[int]]
    deprels: Sequence[Sequence[str]] | None = None

    def span(self, first: int, last: int) -> GivenArcs:
        """Return the arcs of sentences ``first`` to ``last - 1``."""
        return GivenArcs(
            self.heads[first:last], None if self.deprels is None else self.deprels[first:last]
        )

    def numbered(self, relations: Sequence[str], offsets: np.ndarray) -> Parses:
        """Return the arcs in the layout of ``Sentences`` with these offsets;
        relations not given or unknown are NO_NODE.
        """
        arcs = Parses.allocate(offsets)
        numbers = {relation: number for number, relation in enumerate(relations)}
        for start, sentence_heads in zip(offsets.tolist(), self.heads, strict=False):
            arcs.heads[start + 1 : start + 1 + len(sentence_heads)] = sentence_heads
        if self.deprels is not None:
            for start, sentence_deprels in zip(offsets.tolist(), self.deprels, strict=False):
                words = slice(start + 1, start + 1 + len(sentence_deprels))
                arcs.relations[words] = [
                    numbers.get(deprel, NO_NODE) for deprel in sentence_deprels
                ]
            arcs.relations[arcs.heads == UNKNOWN_HEAD] = NO_NODE
        return arcs


def lost_arcs(given_arcs: Parses, parses: Parses) -> np.ndarray:
    """Return int64[m], the places of words whose head differs from the given one."""
    return np.flatnonzero((given_arcs.heads != UNKNOWN_HEAD) & (given_arcs.heads != parses.heads))


def steps_keeping(
    given_arcs: Parses, system: TransitionSystem, single_root: bool
) -> Callable[[int, int], Restriction]:
    """Return a function that, for a span of sentences,
    allows only transitions that lose the fewest given arcs.
    """
    # Strategy.ANY: the parser may take transitions later than an eager or lazy computation would.
    kind = oracles.oracle_class(system.oracles[0])
    knows_roots = "single_root" in signature(kind).parameters
    options = {**system.options, **({"single_root": single_root} if knows_roots else {})}
    oracle = oracles.create(kind.name, oracles.Strategy.ANY, **options)
    root = required_root_relation(system, single_root)

    def restriction_of(first: int, last: int) -> Restriction:
        part = given_arcs.span(first, last)
        trees = oracles.Trees(part.heads, part.offsets)
        bound = cache(partial(oracle.bind, trees))
        lossless = oracle.bind_lossless(trees)
        roots = np.zeros(len(trees), np.int32)  # the given child of the artificial root; 0: none
        places = np.flatnonzero(part.heads == 0)
        owners = np.searchsorted(part.offsets, places, side="right") - 1
        roots[owners] = places - part.offsets[owners]
        any_relation = bool((part.relations == NO_NODE).all())

        def optimal(
            now: Configurations, rows: np.ndarray, numbers: np.ndarray, transitions: Transitions
        ) -> np.ndarray:
            """Return the transitions that lose the fewest given arcs."""
            scores = bound().score_batch(query(numbers, now, rows))
            # another child of the artificial root would exclude the given one
            if single_root and not knows_roots:
                given_roots = roots[numbers]
                waits = (given_roots > 0) & (now.heads[rows, given_roots] == NO_NODE)
                scores = scores - (
                    waits[:, None]
                    & (transitions.heads == 0)
                    & (transitions.children != given_roots[:, None])
                )
            return optimal_transitions(
                np.where(transitions.rows == NO_NODE, NOT_APPLICABLE, scores)
            )

        def restrict(
            now: Configurations, rows: np.ndarray, numbers: np.ndarray, transitions: Transitions
        ) -> Allowed:
            numbers = numbers.astype(np.int32)
            if lossless is None:
                columns = optimal(now, rows, numbers, transitions)
            else:
                columns = lossless.allowed(query(numbers, now, rows)) & (
                    transitions.rows != NO_NODE
                )
            if any_relation:
                return Allowed(columns, None)
            places = part.offsets[numbers][:, None] + np.maximum(transitions.children, 0)
            relations = np.where(transitions.children == NO_NODE, NO_NODE, part.relations[places])
            can_bear = (root == NO_NODE) | ((transitions.heads == 0) == (relations == root))
            return Allowed(columns, np.where(can_bear, relations, NO_NODE))

        return restrict

    return restriction_of


def root_fault(
    system: TransitionSystem,
    single_root: bool,
    heads: Sequence[int],
    deprels: Sequence[str],
    none: str = EMPTY,
) -> LineError | None:
    """Return why the first of the given relations does not fit its head; None if all fit.

    As in predicted trees, words with head 0 have the relation ``root``, or a subtype of it, and no
    other word has ``root``. With several roots, or a model that does not know ``root``, predicted
    trees may have any relations, and so may given ones.

    Args:
        heads, deprels: those of a sentence, see GivenArcs.
        none: what the user writes if no relation is given.
    """
    if required_root_relation(system, single_root) == NO_NODE:
        return None
    for row, (head, deprel) in enumerate(zip(heads, deprels, strict=True)):
        if deprel == EMPTY or head == UNKNOWN_HEAD:
            continue
        if head == 0 and deprel.partition(":")[0] != UD_ROOT:
            fix = f"give {UD_ROOT}, or {none}"
        elif head and deprel == UD_ROOT:
            fix = f"give another relation, or {none}"
        else:
            continue
        which = f"word {row + 1}, with head {head}"
        return LineError(row, f"{which}, cannot have the relation {shortened(deprel)}; {fix}")
    return None


def has_exact_oracle(system: TransitionSystem | type[TransitionSystem]) -> bool:
    """Return whether a system has an oracle that is exact for a gold tree known in part; such a
    system keeps given arcs.
    """
    return oracles.oracle_class(system.oracles[0]).takes_partial_gold


def check_lengths(sentences: Sentences) -> None:
    """Refuse sentences in which given arcs cannot be kept.

    Raises:
        GivenArcsError: a sentence has more than MOST_WORDS words.
    """
    longest = int(sentences.lengths.max(initial=0))
    if longest > MOST_WORDS:
        raise GivenArcsError(
            f"a sentence has {longest:,} words, and given arcs are kept in sentences of up to "
            f"{MOST_WORDS:,}; split it, or omit its arcs"
        )


def replay(
    parses: Parses,
    sentences: Sentences,
    parser: BatchedParser | None,
    system: TransitionSystem,
    probabilities: StepProbabilities,
    single_root: bool = True,
) -> None:
    """Recover computations of trees, and record the probabilities of their steps.

    A beam does not record steps, and it merges computations. So each tree is built once more: of
    the steps that still lead to it, the one with the highest score is taken. An exact oracle finds
    these steps: they lose none of its arcs (Nederhof 2019, Section 4). For a tree that was parsed
    greedily, these are the parser's own steps.

    Args:
        parser: scores the steps; None: the model is linear, and its scores are not probabilities.
        probabilities: filled in; NaN for a linear model, and for sentences longer than MOST_WORDS.
        single_root: whether the trees have one root each.
    """
    short = np.flatnonzero(np.diff(sentences.offsets) <= MOST_WORDS + 1)
    if parser is None or len(short) < len(sentences):
        probabilities.arcs[:], probabilities.trees[:] = np.nan, np.nan
    if parser is None or not len(short):
        return
    some, places = sentences.take(short), sentences.places(short)
    trees = Parses(parses.heads[places], parses.relations[places], some.offsets)
    step_probabilities = StepProbabilities.allocate(some)
    restriction_of = steps_keeping(trees, system, single_root)
    parser.parse(
        some,
        single_root=single_root,
        probabilities=step_probabilities,
        restriction_of=restriction_of,
    )
    probabilities.arcs[places] = step_probabilities.arcs
    probabilities.trees[short] = step_probabilities.trees
