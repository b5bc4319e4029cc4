"""Exact search: of all computations of a sentence the best one, for arc-hybrid over two vectors of an encoder.

Shi, Huang and Lee (2017), Section 4: a BiLSTM sees the whole sentence, so that the top of the stack and the front of the buffer
are features enough, and then all computations fit into a chart (chart.py). The classifier scores all pairs of tokens.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np

from parser.beam_settings import Beam, Exact, Scores
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.data.vocabularies import ABSENT
from parser.decoding import batch_sizes
from parser.decoding.beam.batched import BatchedBeamParser
from parser.decoding.exact.chart import ChartRules, StateScores, best_tree, choose_outputs, n_states, states
from parser.decoding.sentence_parser import Tree, write_trees
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.inference.weights import ClassifierWeights
from parser.transitions.features import FeatureTable
from parser.transitions.system import TransitionSystem

log = logging.getLogger(__name__)

# The longest sentence that is searched exactly: its chart takes some 60 megabytes, and a second or two. Of longer ones, where
# the one grows with the square and the other with the cube, a beam of this size finds a good tree.
LONGEST = 1_000
BEAM_OF_LONGER = 8

_STACK = 0  # see features.program_of


class ExactParser:
    """Parses exactly with the weights of a classifier; see KBestParser. Threads may share it.

    Sentences of more than LONGEST tokens are searched with a beam, and a warning says how many there were.

    Args:
        weights, system, table: of a model that check_exact() lets pass.
        search: what transitions cost.
    """

    def __init__(self, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable, search: Exact) -> None:
        self._weights = weights
        self._system = system
        self._table = table
        self._search = search
        self._of_longer = BatchedBeamParser.of_weights(weights, system, table, Beam(BEAM_OF_LONGER, scores=search.scores))

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences; see SentenceParser."""
        parses = Parses.allocate(sentences.offsets)
        write_trees(self._trees(sentences, single_root), parses)
        return parses

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """See KBestParser; k is 1."""
        self._search.check_k_best(k)
        return [[tree] for tree in self._trees(sentences, single_root)]

    def _trees(self, sentences: Sentences, single_root: bool) -> Iterator[Tree]:
        """The best tree of each sentence."""
        if too_long := int((sentences.lengths > LONGEST).sum()):
            text = "sentences of more than %d words are not searched exactly, but with a beam of %d: %d"
            log.warning(text, LONGEST, BEAM_OF_LONGER, too_long)
        rules = ChartRules.of(self._system, single_root)
        for first, last in sentences.spans(batch_sizes.TOKENS_PER_SEARCH):
            part = sentences.span(first, last)
            scorer = precomputed_scorer(self._weights, self._table, part)
            for s, n in enumerate(part.lengths.tolist()):
                if n > LONGEST:
                    yield self._of_longer.k_best(part.span(s, s + 1), 1, single_root=single_root)[0][0]
                else:
                    yield self._tree(part, s, n, scorer, rules)

    def _tree(self, sentences: Sentences, s: int, n: int, scorer: Scorer, rules: ChartRules) -> Tree:
        """The best tree of sentence ``s``, of n tokens."""
        tops, fronts = states(n)
        features = features_of_states(self._table, sentences, s)
        transitions = StateScores.allocate(n_states(n))
        for first in range(0, len(features), batch_sizes.STATES_PER_BATCH):
            some = slice(first, first + batch_sizes.STATES_PER_BATCH)
            local = self._search.scores is Scores.LOCAL
            choose_outputs(scorer(features[some]), tops[some], fronts[some], n, rules, local, first, transitions)
        heads, relations = np.full((2, n + 1), NO_NODE, np.int32)
        score = best_tree(n, rules.n_relations, transitions, heads, relations)
        return Tree(float(score), heads[1:], relations[1:])


def features_of_states(table: FeatureTable, sentences: Sentences, s: int) -> np.ndarray:
    """int32[states, slots]: what a table of slots at s0, b0, b1, ... reads in all states of sentence ``s``."""
    n = int(sentences.lengths[s])
    tops, fronts = states(n)
    values = table.values(sentences)[:, sentences.offsets[s] : sentences.offsets[s + 1]]
    features = np.empty((len(tops), len(table.columns)), np.int32)
    for column, (position, row) in enumerate(table.columns.tolist()):
        base, index = table.programs[position, :2].tolist()
        nodes = tops if base == _STACK else fronts + index
        features[:, column] = np.where(nodes <= n, values[row, np.minimum(nodes, n)], ABSENT)
    return features
