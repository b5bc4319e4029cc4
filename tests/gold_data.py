"""What training reads of sentences with gold trees."""

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


def gold_data(
    sentences: Sequence[Sentence], vocabularies: Vocabularies, relations: Vocabulary
) -> TrainingSentences:
    """Return the sentences, their trees and the numbers of their relations,
    negative where the vocabulary has none.
    """
    trees = Trees.from_heads(s.heads for s in sentences)
    numbers = np.full(len(trees.heads), NO_NODE, np.int32)
    numbers[trees.heads >= 0] = (
        np.array(relations.encode(chain.from_iterable(s.deprels for s in sentences))) - N_RESERVED
    )
    return TrainingSentences(vocabularies.encode(sentences), trees, numbers)


def vocabularies_of(sentences: Sequence[Sentence], *attributes: str) -> Vocabularies:
    """Vocabularies of some of form, upos and feats, with all values of the sentences."""
    columns = {"form": "forms", "upos": "upos", "feats": "feats"}
    values = {
        name: [value for s in sentences for value in getattr(s, columns[name])]
        for name in attributes
    }
    return Vocabularies(
        {name: Vocabulary.of(of_attribute) for name, of_attribute in values.items()}
    )


def encoded(treebank: Sequence[Sentence]) -> tuple[Vocabularies, TrainingSentences]:
    """Vocabularies of what linear models read in a treebank, and its data with RELATIONS."""
    vocabularies = vocabularies_of(treebank, "form", "upos", "feats")
    return vocabularies, gold_data(treebank, vocabularies, RELATIONS)
