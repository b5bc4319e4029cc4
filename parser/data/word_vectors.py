"""Word vectors: trained on the training forms with gensim's Word2Vec, or read from a file of word2vec or fastText.

Nederhof (2019), Section 8, uses vectors of length 100. A form without a vector gets the mean vector of the rarest forms
(those seen least often): an unknown form is a rare one, and what the classifier learned of rare ones applies.

Files are read by vector_files.py.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from parser.data.vector_files import check_finite, read_vector_file
from parser.data.vocabularies import ABSENT, N_RESERVED, ROOT, UNKNOWN, Vocabulary

log = logging.getLogger(__name__)

# Rarest forms whose mean stands for unknown ones, when the file does not say how often a form was seen (files are sorted by
# frequency, so the last ones are the rarest).
_RAREST = 1000


@dataclass(frozen=True)
class VectorTraining:
    """How word vectors are trained.

    Attributes:
        dimensions: length of a vector.
        window: words to either side that a word is seen with.
        epochs: times that the sentences are gone through. Over a treebank of some 40,000 words it takes dozens.
        min_count: rarer forms get no vector of their own. From 2 on, the classifier learns what to do about unknown forms.
        skip_gram: predict the neighbours from the word, not the word from its neighbours.
    """

    dimensions: int = 100
    window: int = 2
    epochs: int = 50
    min_count: int = 2
    skip_gram: bool = False


@dataclass(frozen=True)
class WordVectors:
    """Vectors for the numbers of a vocabulary.

    Attributes:
        vocabulary: the forms that have a vector.
        matrix: float32[len(vocabulary), dimensions]; the rows ABSENT and ROOT are zero, UNKNOWN is the mean of the rarest.
    """

    vocabulary: Vocabulary
    matrix: np.ndarray

    @classmethod
    def from_forms(cls, forms: list[str], vectors: np.ndarray, rare: np.ndarray) -> WordVectors:
        """Adds the reserved rows to ``vectors`` (float32[forms, dimensions]); ``rare`` (bool[forms]) marks the rarest."""
        matrix = np.zeros((N_RESERVED + len(forms), vectors.shape[1]), np.float32)
        matrix[N_RESERVED:] = vectors
        matrix[UNKNOWN] = vectors[rare].mean(axis=0) if rare.any() else 0.0
        assert not matrix[[ABSENT, ROOT]].any()
        return cls(Vocabulary(forms), matrix)

    @classmethod
    def train(cls, sentences: list[list[str]], how: VectorTraining, seed: int) -> WordVectors:
        """Trains Word2Vec on forms, reproducibly: one worker, and a hash of words that does not depend on the process.

        Args:
            sentences: forms by sentence.
            how: dimensions, window, epochs, and so on.
            seed: of the first vectors and of all draws.
        """
        from gensim.models import Word2Vec  # a slow import, not needed to parse

        most, min_count = max(Counter(chain.from_iterable(sentences)).values(), default=0), how.min_count
        if most < min_count:
            log.warning("no form occurs %d times; vectors are trained with vectors.min_count=%d", min_count, most)
            min_count = most
        model = Word2Vec(
            sentences,
            vector_size=how.dimensions,
            window=how.window,
            epochs=how.epochs,
            min_count=min_count,
            sg=int(how.skip_gram),
            seed=seed,
            workers=1,
            hashfxn=_stable_hash,
        )
        forms = list(model.wv.index_to_key)
        counts = np.array([model.wv.get_vecattr(form, "count") for form in forms])
        return cls.from_forms(forms, model.wv.vectors, counts == counts.min())

    @classmethod
    def read(cls, path: Path, limit: int | None = None, wanted: Collection[str] | None = None) -> WordVectors:
        """Reads a file of vectors; see vector_files.py for the formats.

        Memory is that of the vectors that are read, 4 bytes per number, once more while the result is made of them; of a binary
        file of fastText, that of its n-grams on top.

        Args:
            path: the file.
            limit: how many vectors are read, the first ones; None for all.
            wanted: the values that vectors are for; None for all. A binary file of fastText has vectors for all of them, made
                of their characters where it knows none.

        Raises:
            VectorFileError: the file is missing, damaged or in none of the formats.
            ValueError: it has no vector that is wanted.
        """
        file = read_vector_file(path, limit)
        forms = file.forms
        rare = np.arange(len(forms)) >= len(forms) - _RAREST
        if wanted is None:
            return cls.from_forms(forms, file.vectors, rare)
        kept = [i for i, form in enumerate(forms) if form in wanted]
        more = sorted(set(wanted) - {forms[i] for i in kept}) if file.of_characters is not None else []
        if not kept and not more:
            raise ValueError(f"{path}: none of its forms is in the training part; is it for this language (vectors.restrict)?")
        made = [] if file.of_characters is None else [file.of_characters(form)[None] for form in more]
        vectors = np.concatenate([file.vectors[kept], *made])
        check_finite(vectors[len(kept) :], more, path)
        unknown = file.vectors[rare].mean(axis=0)
        found = cls.from_forms([*(forms[i] for i in kept), *more], vectors, np.zeros(len(vectors), bool))
        found.matrix[UNKNOWN] = unknown
        return found


def _stable_hash(word: str) -> int:
    """Python's own hash of strings changes from process to process; gensim seeds a word's first vector with it."""
    value = 5381
    for character in word:
        value = (value * 33 + ord(character)) & 0xFFFFFFFF
    return value
