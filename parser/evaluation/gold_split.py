"""A gold split (dev or test) of a treebank, which parses are compared with during training and at
its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from parser.conllu.checks import EMPTY, UNKNOWN_HEAD
from parser.data.sentences import Parses, Sentences
from parser.data.treebank import Sentence
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.evaluation import attachment_scores, universal
from parser.evaluation.evaluated_text import universal_features

# Columns whose values are compared only in part: the universal features,
# as in the official evaluation.
_COMPARED: dict[str, Callable[[str], str]] = {"feats": universal_features}


# The key of the number of words whose head is known.
KNOWN_HEADS = "known_heads"


def counted_by(score: str) -> str:
    """Return the kind of words that a score counts, a key of GoldSplit.counted_words()."""
    name, slash, _ = score.rpartition("/")
    if slash:
        return f"{name}/labelled"
    kind = {"las": "labelled", "uas": "known"}.get(score.partition("_")[0], "words")
    return f"{kind}_nopunct" if score.endswith("_nopunct") else kind


@dataclass(frozen=True)
class GoldSplit:
    """Encoded sentences and their gold edges, one entry per word.

    Attributes:
        heads: int32[words]; a word with UNKNOWN_HEAD does not count.
        relations: int64[words]; relations that the parser does not know are numbered after its own.
        universal: int64[relations], the number of each relation's universal relation.
        labelled: bool[words], whether head and relation are known.
        punctuation: bool[words], UPOS is PUNCT.
        source: the sentences as they were read.
        tags: for each column that tasks choose among and that has gold values: int64[words], the
            gold values of the words, and int64[values], the values of the task; each value is
            numbered by the part of it that is compared.
    """

    sentences: Sentences
    heads: np.ndarray
    relations: np.ndarray
    universal: np.ndarray
    labelled: np.ndarray
    punctuation: np.ndarray
    source: list[Sentence]
    tags: dict[str, tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(
        cls, sentences: list[Sentence], vocabularies: Vocabularies, relations: Vocabulary
    ) -> GoldSplit:
        """Encode gold sentences for a parser with these vocabularies and relations."""
        deprels = list(chain.from_iterable(sentence.deprels for sentence in sentences))
        unseen = sorted({deprel for deprel in deprels if deprel not in relations})
        numbering = Vocabulary([*relations.symbols, *unseen])
        _, universal_numbers = np.unique(
            [universal(deprel) for deprel in numbering.symbols], return_inverse=True
        )
        heads = np.fromiter(chain.from_iterable(sentence.heads for sentence in sentences), np.int32)
        return cls(
            sentences=vocabularies.encode(sentences),
            heads=heads,
            relations=np.array(numbering.encode(deprels)) - N_RESERVED,
            universal=universal_numbers,
            labelled=(heads != UNKNOWN_HEAD)
            & np.array([deprel != EMPTY for deprel in deprels], np.bool_),
            punctuation=np.array(
                [tag == "PUNCT" for sentence in sentences for tag in sentence.upos]
            ),
            source=sentences,
            tags={
                column: _compared(values, vocabulary.symbols, _COMPARED.get(column, str))
                for task in vocabularies.tasks
                for column, vocabulary in task.columns.items()
                if has_values(
                    values := [
                        value for sentence in sentences for value in task.values(sentence, column)
                    ]
                )
            },
        )

    def scores(self, parses: Parses) -> dict[str, float]:
        """Compare parses of the sentences; return percentages under the keys of metrics.json (see
        attachment_scores).

        UAS counts words whose head is known; ``known_heads`` is their number, unless all are known.
        LAS counts words whose head and relation are known. A score without words is left out.
        """
        arcs = self.word_arcs(parses)

        def scored(words: np.ndarray | slice) -> dict[str, float]:
            gold = (self.heads[words], self.relations[words])
            predicted = (arcs[0][words], arcs[1][words])
            return attachment_scores(*gold, *predicted, self.punctuation[words], self.universal)

        if self.labelled.all():
            return scored(slice(None))
        has_head = self.heads != UNKNOWN_HEAD
        labelled = {
            key: score for key, score in scored(self.labelled).items() if key.startswith("las")
        }
        counts = self.counted_words()
        scores = scored(has_head) | labelled | {KNOWN_HEADS: int(has_head.sum())}
        return {
            key: score
            for key, score in scores.items()
            if key == KNOWN_HEADS or counts[counted_by(key)]
        }

    def counted_words(self) -> dict[str, int]:
        """Return how many words scores count, under the keys of counted_by()."""
        numbers: dict[str, int] = {}
        for kind, words in (
            ("words", slice(None)),
            ("known", self.heads != UNKNOWN_HEAD),
            ("labelled", self.labelled),
        ):
            numbers |= {
                kind: len(self.heads[words]),
                f"{kind}_nopunct": int((~self.punctuation[words]).sum()),
            }
        names, counts = np.unique(self._treebanks[self.labelled], return_counts=True)
        return numbers | {
            f"{name}/labelled": int(count)
            for name, count in zip(names, counts, strict=True)
            if name
        }

    def scores_by_treebank(self, parses: Parses) -> dict[str, float]:
        """Return UAS and LAS of each treebank, ``NAME/uas`` and ``NAME/las``,
        if the sentences are from several.
        """
        names = self._treebanks
        right = dict(zip(("uas", "las"), self.correct(parses), strict=True))
        treebanks = np.unique(names[self.labelled]).tolist()
        by_key = {
            f"{name}/{key}": some[(names == name) & self.labelled]
            for name in treebanks
            for key, some in right.items()
        }
        return (
            {key: 100 * float(some.mean()) for key, some in by_key.items()}
            if len(treebanks) > 1
            else {}
        )

    @property
    def _treebanks(self) -> np.ndarray:
        """str[words], the name of each word's treebank; empty if there is only one treebank."""
        return np.repeat(
            [sentence.treebank or "" for sentence in self.source],
            [len(sentence) for sentence in self.source],
        )

    def tag_scores(self, predicted: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return, by predicted column, the percentage of words whose value is right; for feats,
        the universal features.

        A column without gold values has no score.

        Args:
            predicted: for each column, int32[total], the numbers of values; see
                TokenRepresentation.tags_and_rules.
        """
        scores = {}
        for column, (words, values) in self.tags.items():
            if column not in predicted:
                continue
            numbers = predicted[column]
            scores[column] = 100 * float(
                (values[np.delete(numbers, self.sentences.offsets[:-1])] == words).mean()
            )
        return scores

    def correct(self, parses: Parses) -> tuple[np.ndarray, np.ndarray]:
        """Return int64[words], 1 where the head is right, and int64[words],
        1 where head and relation are.

        Words that are not ``labelled`` do not count.
        """
        heads, relations = self.word_arcs(parses)
        attached = heads == self.heads
        return attached.astype(np.int64), (attached & (relations == self.relations)).astype(
            np.int64
        )

    def word_arcs(self, parses: Parses) -> tuple[np.ndarray, np.ndarray]:
        """Return int32[words] predicted heads and relations, without the entries of the roots."""
        roots = parses.offsets[:-1]
        return np.delete(parses.heads, roots), np.delete(parses.relations, roots)


def has_values(column: Iterable[str]) -> bool:
    """Return whether a column has any value but ``_``."""
    return any(value != EMPTY for value in column)


def _compared(
    gold: list[str], values: list[str], what: Callable[[str], str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the compared parts, as numbers, of the words' gold values and of the task's values."""
    _, numbers = np.unique([what(value) for value in [*gold, *values]], return_inverse=True)
    return numbers[: len(gold)], numbers[len(gold) :]
