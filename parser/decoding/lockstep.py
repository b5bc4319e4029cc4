"""Greedy parsing of many sentences in lockstep: the best applicable action of every sentence, step after step.

Any classifier can be parsed with this way. greedy.py gives the same result sooner for the one that we have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parser.classifier.scorer import Scorer
from parser.data.vocabulary import Sentences
from parser.transitions.arc_standard import NO_NODE, ArcStandard, Configurations
from parser.transitions.features import FeatureTable

# Sentences that advance together. More fill the matrix products no better, and cost memory.
LOCKSTEP = 1024


@dataclass(frozen=True)
class Parses:
    """Predicted trees in the layout of ``Sentences``: the entries of the roots are NO_NODE.

    Attributes:
        heads: int32[total].
        relations: int32[total].
        offsets: int64[sentences + 1].
    """

    heads: np.ndarray
    relations: np.ndarray
    offsets: np.ndarray


def parse_in_lockstep(
    sentences: Sentences, system: ArcStandard, table: FeatureTable, scorer: Scorer, *, single_root: bool = True
) -> Parses:
    """Parses sentences greedily.

    Args:
        sentences: encoded sentences.
        system: the transition system.
        table: the features.
        scorer: the classifier.
        single_root: make valid UD trees with exactly one child of the root, which alone bears the root relation.
    """
    heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
    relations = heads.copy()
    order = np.argsort(sentences.lengths, kind="stable")
    for start in range(0, len(order), LOCKSTEP):
        numbers = order[start : start + LOCKSTEP]
        configurations = Configurations.initial(sentences.lengths[numbers])
        while len(rows := configurations.unfinished()):
            scores = scorer(table.extract(configurations, rows, sentences, numbers))
            actions = system.best_actions(scores, configurations, rows, single_root)
            system.apply(configurations, rows, actions)
        columns = np.arange(configurations.heads.shape[1])
        inside = (columns >= 1) & (columns <= configurations.lengths[:, None])
        places = (sentences.offsets[numbers][:, None] + columns)[inside]
        heads[places] = configurations.heads[inside]
        relations[places] = configurations.relations[inside]
    return Parses(heads, relations, sentences.offsets)
