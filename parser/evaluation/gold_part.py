"""A part of a treebank that parses are compared with, while a parser trains and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from parser.data.parses import Parses
from parser.data.treebank import Sentence
from parser.data.vocabulary import N_RESERVED, Sentences, Vocabularies, Vocabulary
from parser.evaluation import attachment_scores, universal


@dataclass(frozen=True)
class GoldPart:
    """Encoded sentences and their gold edges, one entry per word.

    Attributes:
        sentences: the encoded sentences.
        heads: int32[words].
        relations: int64[words]; the parser's relations have its numbers, those that it does not know follow.
        universal: int64[relations], the number of the universal relation of each.
        punctuation: bool[words].
        tags: int32[tags, total], the columns that a tagger predicts, as Vocabularies.encode_tags.
    """

    sentences: Sentences
    heads: np.ndarray
    relations: np.ndarray
    universal: np.ndarray
    punctuation: np.ndarray
    tags: np.ndarray

    @classmethod
    def of(cls, sentences: list[Sentence], vocabularies: Vocabularies, relations: Vocabulary) -> GoldPart:
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
            tags=vocabularies.encode_tags(sentences),
        )

    def scores(self, parses: Parses) -> dict[str, float]:
        """Compares parses of the sentences; percentages under the keys of metrics.json (see attachment_scores)."""
        heads, relations = self._of_words(parses)
        return attachment_scores(self.heads, self.relations, heads, relations, self.punctuation, self.universal)

    def tag_scores(self, predicted: Mapping[str, np.ndarray]) -> dict[str, float]:
        """The percentage of words whose value is right, by column that is predicted.

        Args:
            predicted: by column in the order of ``tags``, int32[total]: numbers of values, as of TokenRepresentation.tags_of.
        """
        words = np.ones(int(self.sentences.offsets[-1]), np.bool_)
        words[self.sentences.offsets[:-1]] = False
        rows = zip(predicted.items(), self.tags, strict=True)
        return {column: 100 * float((found + N_RESERVED == gold)[words].mean()) for (column, found), gold in rows}

    def correct(self, parses: Parses) -> tuple[np.ndarray, np.ndarray]:
        """int64[words], 1 where the head of a parse is right, and 1 where head and relation are."""
        heads, relations = self._of_words(parses)
        attached = heads == self.heads
        return attached.astype(np.int64), (attached & (relations == self.relations)).astype(np.int64)

    def _of_words(self, parses: Parses) -> tuple[np.ndarray, np.ndarray]:
        """int32[words] predicted heads and relations, without the entries of the roots."""
        words = np.ones(len(parses.heads), np.bool_)
        words[parses.offsets[:-1]] = False
        return parses.heads[words], parses.relations[words]
