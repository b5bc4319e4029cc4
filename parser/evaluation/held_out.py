"""A part of a treebank that a parser is measured on, while it trains and at the end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from parser.data.treebank import Sentence
from parser.data.vocabulary import N_RESERVED, Sentences, Vocabularies, Vocabulary
from parser.evaluation import attachment_scores, universal
from parser.model import Model


@dataclass(frozen=True)
class HeldOut:
    """Encoded sentences and their gold edges, one entry per word.

    Attributes:
        sentences: the encoded sentences.
        heads: int32[words].
        relations: int64[words]; the parser's relations have its numbers, those that it does not know follow.
        universal: int64[relations], the number of the universal relation of each.
        punctuation: bool[words].
    """

    sentences: Sentences
    heads: np.ndarray
    relations: np.ndarray
    universal: np.ndarray
    punctuation: np.ndarray

    @classmethod
    def of(cls, sentences: list[Sentence], vocabularies: Vocabularies, relations: Vocabulary) -> HeldOut:
        """Encodes gold sentences for a parser with these vocabularies and relations."""
        deprels = list(chain.from_iterable(sentence.deprels for sentence in sentences))
        unseen = sorted({deprel for deprel in deprels if deprel not in relations})
        numbering = Vocabulary([*relations.symbols, *unseen])
        _, universal_numbers = np.unique([universal(deprel) for deprel in numbering.symbols], return_inverse=True)
        return cls(
            sentences=vocabularies.encode(sentences),
            heads=np.fromiter(chain.from_iterable(sentence.heads for sentence in sentences), np.int32),
            relations=np.array(numbering.encode(deprels)) - N_RESERVED,
            universal=universal_numbers,
            punctuation=np.array([tag == "PUNCT" for sentence in sentences for tag in sentence.upos]),
        )

    def measure(self, model: Model, single_root: bool) -> dict[str, float]:
        """Parses the sentences; percentages under the keys of metrics.json (see attachment_scores)."""
        heads, relations = self._parse(model, single_root)
        return attachment_scores(self.heads, self.relations, heads, relations, self.punctuation, self.universal)

    def correct(self, model: Model, single_root: bool) -> tuple[np.ndarray, np.ndarray]:
        """Parses the sentences; int64[words], 1 where the head is right, and 1 where head and relation are."""
        heads, relations = self._parse(model, single_root)
        attached = heads == self.heads
        return attached.astype(np.int64), (attached & (relations == self.relations)).astype(np.int64)

    def _parse(self, model: Model, single_root: bool) -> tuple[np.ndarray, np.ndarray]:
        """int32[words] heads and relations that the model predicts."""
        parses = model.greedy_parser().parse(self.sentences, single_root=single_root)
        words = np.ones(len(parses.heads), np.bool_)
        words[parses.offsets[:-1]] = False
        return parses.heads[words], parses.relations[words]
