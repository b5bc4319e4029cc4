"""What training reads of sentences with gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from oracles import Trees
from parser.data.sentences import NO_NODE
from parser.data.treebank import Sentence
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.training.examples.examples import TrainingSentences

RELATIONS = Vocabulary(["det", "root", "obj", "nsubj", "punct"])


def gold_data(sentences: Sequence[Sentence], vocabularies: Vocabularies, relations: Vocabulary) -> TrainingSentences:
    """The sentences, their trees and the numbers of their relations, negative where the vocabulary has none."""
    trees = Trees.from_heads(s.heads for s in sentences)
    numbers = np.full(len(trees.heads), NO_NODE, np.int32)
    numbers[trees.heads >= 0] = np.array(relations.encode(chain.from_iterable(s.deprels for s in sentences))) - N_RESERVED
    return TrainingSentences(vocabularies.encode(sentences), trees, numbers)


def encoded(treebank: Sequence[Sentence]) -> tuple[Vocabularies, TrainingSentences]:
    """Vocabularies of what linear models read in a treebank, and its data with RELATIONS."""
    vocabularies = Vocabularies(
        {
            "form": Vocabulary.of(form for s in treebank for form in s.forms),
            "upos": Vocabulary.of(tag for s in treebank for tag in s.upos),
            "feats": Vocabulary.of(value for s in treebank for value in s.feats),
        }
    )
    return vocabularies, gold_data(treebank, vocabularies, RELATIONS)
