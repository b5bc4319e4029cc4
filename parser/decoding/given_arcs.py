"""Parsing with arcs that are given: all of them are kept wherever the system can have them together, else as many as possible.

The given arcs are the gold tree of an exact oracle, one that is known in part (oracles/trees.py), and of the transitions only
those may be taken that are optimal by it: they lose none of the arcs, or the fewest. Among these the classifier chooses, with a
beam or without. So a system that can make any tree keeps all of them, and what nobody gave goes well with them. Where all arcs
are given, there is nothing to choose but the way: so the computations of whole trees are made again, see replay().
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import NamedTuple

import numpy as np

import oracles
from oracles import NOT_APPLICABLE
from parser import transitions
from parser.beam_settings import Beam, BeamError, Merge, is_greedy
from parser.conllu.checks import UNKNOWN_HEAD
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding.greedy.batched import Allowed, BatchedParser, Restriction, StepProbabilities
from parser.model.loading import AnyModel
from parser.model.model import Model
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import optimal_transitions, query, required_root_relation
from parser.transitions.system import Transitions, TransitionSystem

# Of a sentence: what the oracles of all systems have memory for.
MOST_WORDS = 9000


class GivenArcsError(ValueError):
    """Arcs cannot be kept with this model, or with this search; the message says the fix."""


class GivenArcs(NamedTuple):
    """The arcs that are given of some sentences.

    Attributes:
        heads: of the words of each sentence, UNKNOWN_HEAD where none is given.
        deprels: relations of the words, of which those of given arcs count; ``_`` where none is given. None: none counts.
    """

    heads: Sequence[Sequence[int]]
    deprels: Sequence[Sequence[str]] | None = None

    def span(self, first: int, last: int) -> GivenArcs:
        """Those of the sentences from number ``first`` to before ``last``."""
        return GivenArcs(self.heads[first:last], None if self.deprels is None else self.deprels[first:last])

    def numbered(self, relations: Sequence[str], offsets: np.ndarray) -> Parses:
        """Return them in the layout of ``Sentences`` with these offsets, NO_NODE where none is given, or no known relation."""
        given = Parses.allocate(offsets)
        numbers = {relation: number for number, relation in enumerate(relations)}
        for start, own in zip(offsets.tolist(), self.heads, strict=False):
            given.heads[start + 1 : start + 1 + len(own)] = own
        if self.deprels is not None:
            for start, own_deprels in zip(offsets.tolist(), self.deprels, strict=False):
                words = slice(start + 1, start + 1 + len(own_deprels))
                given.relations[words] = [numbers.get(deprel, NO_NODE) for deprel in own_deprels]
            given.relations[given.heads == UNKNOWN_HEAD] = NO_NODE
        return given


def lost_arcs(given: Parses, parses: Parses) -> np.ndarray:
    """int64[m]: the places of words that have another head than the given one."""
    return np.flatnonzero((given.heads != UNKNOWN_HEAD) & (given.heads != parses.heads))


def steps_keeping(given: Parses, system: TransitionSystem, single_root: bool) -> Callable[[int, int], Restriction]:
    """What allows only transitions that lose none of the given arcs, or the fewest: for sentences from the first number to
    before the second."""
    # Any strategy: the parser may have deferred what another one takes at once.
    kind = oracles.oracle_class(system.oracles[0])
    knows_roots = "single_root" in signature(kind).parameters
    options = {**system.options, **({"single_root": single_root} if knows_roots else {})}
    oracle = oracles.create(kind.name, oracles.Strategy.ANY, **options)
    root = required_root_relation(system, single_root)

    def restriction_of(first: int, last: int) -> Restriction:
        part = given.span(first, last)
        offsets = part.offsets
        bound = oracle.bind(oracles.Trees(part.heads, offsets))
        roots = np.zeros(len(offsets) - 1, np.int32)  # the given child of the artificial root
        places = np.flatnonzero(part.heads == 0)
        of_places = np.searchsorted(offsets, places, side="right") - 1
        roots[of_places] = places - offsets[of_places]

        def restrict(now: Configurations, rows: np.ndarray, numbers: np.ndarray, transitions: Transitions) -> Allowed:
            scores = bound.score_batch(query(numbers.astype(np.int32), now, rows))
            if single_root and not knows_roots:  # another child of the artificial root is in the way of the given one
                own = roots[numbers]
                waits = (own > 0) & (now.heads[rows, own] == NO_NODE)
                scores = scores - (waits[:, None] & (transitions.heads == 0) & (transitions.children != own[:, None]))
            columns = optimal_transitions(np.where(transitions.rows == NO_NODE, NOT_APPLICABLE, scores))
            places = offsets[numbers][:, None] + np.maximum(transitions.children, 0)
            relations = np.where(transitions.children == NO_NODE, NO_NODE, part.relations[places])
            can_bear = (root == NO_NODE) | ((transitions.heads == 0) == (relations == root))
            return Allowed(columns, np.where(can_bear, relations, NO_NODE))

        return restrict

    return restriction_of


def _keeps_arcs(system: TransitionSystem | type[TransitionSystem]) -> bool:
    return oracles.oracle_class(system.oracles[0]).takes_partial_gold


def check_keeps_arcs(model: AnyModel, search: Beam, sentences: Sentences | None = None) -> None:
    """Refuse a model, a search or sentences with which given arcs cannot be kept.

    Raises:
        GivenArcsError: the model is linear, or its transition system has no exact oracle; or a sentence is longer than
            MOST_WORDS.
        BeamError: the beam merges by signature, or reranks.
    """
    system = model.system
    if not _keeps_arcs(system):
        able = ", ".join(name for name in transitions.names() if _keeps_arcs(transitions.system_class(name)))
        raise GivenArcsError(f"system={system.name} has no exact oracle, so given arcs cannot be kept; those that can: {able}")
    if not isinstance(model, Model):
        raise GivenArcsError(f"given arcs cannot be kept with model={model.kind}; use a model=mlp or model=bilstm")
    if not is_greedy(search) and (search.rerank or search.merge is Merge.SIGNATURE):
        raise BeamError(
            "given arcs are kept greedily or with a beam, not with merge=signature or with rerank; "
            f"search with a beam of another kind, such as --beam 8 --merge {Merge.CONFIGURATION}"
        )
    longest = 0 if sentences is None else int(sentences.lengths.max(initial=0))
    if longest > MOST_WORDS:
        raise GivenArcsError(
            f"a sentence has {longest:,} words, and given arcs are kept in sentences of up to {MOST_WORDS:,}; split it, or "
            "give no arcs"
        )


def replay(
    parses: Parses,
    sentences: Sentences,
    parser: BatchedParser | None,
    system: TransitionSystem,
    probabilities: StepProbabilities,
    single_root: bool = True,
) -> None:
    """Replay the computations of trees, and record the probabilities of their steps.

    A beam keeps no steps, and what it merges was made in several ways. So its trees are made once more, by the highest-scoring
    steps among those that lead to the tree, as an exact oracle says (Nederhof 2019, Section 4: those that lose none of its
    arcs). Of a tree that was parsed greedily these are the parser's own.

    Args:
        parses: the trees.
        sentences: their sentences.
        parser: scores the steps; None: the model is linear, and its scores are no probabilities.
        system: its transition system.
        probabilities: filled in; NaN of a linear model, and where a sentence is longer than oracles can say how its tree is
            made (MOST_WORDS).
        single_root: whether the trees have one root each.
    """
    short = np.flatnonzero(np.diff(sentences.offsets) <= MOST_WORDS + 1)
    if parser is None or len(short) < len(sentences):
        probabilities.arcs[:], probabilities.trees[:] = np.nan, np.nan
    if parser is None or not len(short):
        return
    some, places = sentences.take(short), sentences.places(short)
    trees = Parses(parses.heads[places], parses.relations[places], some.offsets)
    found = StepProbabilities.allocate(some)
    made_again = steps_keeping(trees, system, single_root)
    parser.parse(some, single_root=single_root, probabilities=found, restriction_of=made_again)
    probabilities.arcs[places], probabilities.trees[short] = found.arcs, found.trees
