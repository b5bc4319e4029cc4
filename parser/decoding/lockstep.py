"""Greedy parsing of many sentences in lockstep: the best applicable move of every sentence, step after step.

Any transition system and any classifier can be parsed with this way. greedy.py gives the same result sooner for arc-standard
and Attardi's system, spine.py for LR-spine.
"""

from __future__ import annotations

import numpy as np

from parser.classifier.precomputed_scorer import precomputed_scorer
from parser.classifier.scorer import Scorer
from parser.classifier.weights import ClassifierWeights
from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import Sentences
from parser.transitions.decisions import best
from parser.transitions.features import Features, FeatureTable
from parser.transitions.system import TransitionSystem

# Tokens that are parsed together with a contextual representation. What they contribute to the hidden layer is kept for each
# token and address: some kilobytes for a token.
_SHARE = 4_000

# Sentences that advance together. More fill the matrix products no better, and cost memory.
LOCKSTEP = 1024


def parse_in_lockstep(
    sentences: Sentences, system: TransitionSystem, features: Features, scorer: Scorer, *, single_root: bool = True
) -> Parses:
    """Parses sentences greedily.

    Args:
        sentences: encoded sentences.
        system: the transition system.
        features: what reads the features.
        scorer: the scores of the outputs, from features.
        single_root: make valid UD trees with exactly one child of the root, which alone bears the root relation.
    """
    heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
    relations = heads.copy()
    order = np.argsort(sentences.lengths, kind="stable")
    for start in range(0, len(order), LOCKSTEP):
        numbers = order[start : start + LOCKSTEP]
        now = system.initial(sentences.lengths[numbers])
        while len(rows := system.unfinished(now)):
            moves = system.moves(now, rows, single_root)
            scores = scorer(features.extract(now, rows, sentences, numbers, moves))
            system.apply(now, rows, moves, *best(system, scores, moves, single_root))
        columns = np.arange(now.heads.shape[1])
        inside = (columns >= 1) & (columns <= now.lengths[:, None])
        places = (sentences.offsets[numbers][:, None] + columns)[inside]
        heads[places] = now.heads[inside]
        relations[places] = now.relations[inside]
    return Parses(heads, relations, sentences.offsets)


class LockstepParser:
    """Parses with the weights of a classifier, for any transition system; see SentenceParser.

    Args:
        weights: the weights.
        system: the transition system.
        table: the features.
    """

    def __init__(self, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable) -> None:
        self._weights = weights
        self._system = system
        self._table = table

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see parse_in_lockstep."""
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()
        for first, last in sentences.spans(_SHARE if self._weights.contextual else len(heads)):
            part = sentences.span(first, last)
            scorer = precomputed_scorer(self._weights, self._table, part)
            parses = parse_in_lockstep(part, self._system, self._table, scorer, single_root=single_root)
            inside = slice(sentences.offsets[first], sentences.offsets[last])
            heads[inside], relations[inside] = parses.heads, parses.relations
        return Parses(heads, relations, sentences.offsets)
