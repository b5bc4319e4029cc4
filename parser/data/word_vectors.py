"""Word vectors: trained on the training forms with gensim's Word2Vec, or read from a file of word2vec or fastText.

Nederhof (2019), Section 8, uses vectors of length 100. A form without a vector gets the mean vector of the rarest forms
(those seen least often): an unknown form is a rare one, and what the classifier learned of rare ones applies.

Files are read through gensim: word2vec's, as text or binary, and fastText's. What a file is follows from its name (.bin is
binary) and its first bytes (those of fastText's binary files). What gensim would take on trust, so that it would wait for ever
or ask for memory that no machine has, is checked before: no size may be larger than the file's.
"""

from __future__ import annotations

import gzip
import logging
import mmap
import struct
import zlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

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
        """Reads a file of word2vec or fastText: text, as fastText's .vec, or binary if named .bin; .gz too, but for fastText's.

        Memory is that of the vectors that are read, 4 bytes per number, once more while the result is made of them; of a binary
        file of fastText, that of its n-grams on top.

        Args:
            path: the file.
            limit: how many vectors are read, the first ones; None for all.
            wanted: the values that vectors are for; None for all. A binary file of fastText has vectors for all of them, made
                of their characters where it knows none.

        Raises:
            VectorFileError: the file is missing, damaged or in none of these formats.
            ValueError: it has no vector that is wanted.
        """
        keyed, from_characters = read_vector_file(path, limit)
        forms = list(keyed.index_to_key)[:limit]
        rare = np.arange(len(forms)) >= len(forms) - _RAREST
        if wanted is None:
            return cls.from_forms(forms, keyed.vectors[: len(forms)], rare)
        kept = [i for i, form in enumerate(forms) if form in wanted]
        more = sorted(set(wanted) - {forms[i] for i in kept}) if from_characters else []
        if not kept and not more:
            raise ValueError(f"{path}: none of its forms is in the training part; is it for this language (vectors.restrict)?")
        vectors = np.concatenate([keyed.vectors[kept], *(keyed.get_vector(form)[None] for form in more)])
        check_finite(vectors[len(kept) :], more, path)
        unknown = keyed.vectors[: len(forms)][rare].mean(axis=0)
        found = cls.from_forms([*(forms[i] for i in kept), *more], vectors, np.zeros(len(vectors), bool))
        found.matrix[UNKNOWN] = unknown
        return found


def _stable_hash(word: str) -> int:
    """Python's own hash of strings changes from process to process; gensim seeds a word's first vector with it."""
    value = 5381
    for character in word:
        value = (value * 33 + ord(character)) & 0xFFFFFFFF
    return value


# How binary files of fastText begin: its magic number, 793712314, in the order of bytes of all machines of today.
_FASTTEXT = (793712314).to_bytes(4, "little")
_NUMBER_BYTES = 4  # float32
# After magic number and version: 12 settings, the share of frequent words that is sampled; sizes of the dictionary.
# https://github.com/facebookresearch/fastText/blob/main/src/args.cc and dictionary.cc
_SETTINGS = struct.Struct("<12id")
_MODEL = 7  # of the settings, the kind of model
_SUPERVISED = 3
_DICTIONARY = struct.Struct("<3i2q")
_COUNT_AND_TYPE = struct.Struct("<qb")
_MATRIX = struct.Struct("<?2q")
# No gzip file is larger by more when it is uncompressed.
_GZIP_FACTOR = 1032
_CHECKED = 2**16  # vectors that are checked at a time


class VectorFileError(ValueError):
    """A file of word vectors cannot be read; the message names it, and the fix."""


def read_vector_file(path: Path, limit: int | None = None) -> tuple[Any, bool]:
    """Gensim's vectors of a file, and whether they make vectors of the characters of other forms, too.

    Args:
        path: the file.
        limit: how many vectors are wanted, the first ones; None: all. Of a file of fastText all are read.

    Raises:
        VectorFileError: it is missing, damaged or in none of the formats, or has numbers that are not finite.
    """
    if not path.is_file():
        raise VectorFileError(f"{path}: no such file of word vectors; see vectors.file")
    try:
        with _opened(path) as file:
            beginning = file.read(len(_FASTTEXT))
        if beginning == _FASTTEXT:
            return _fasttext(path), True
        return _word2vec(path, ".bin" in path.suffixes, limit), False
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise VectorFileError(f"{path}: this file is damaged or cut off ({error}); fetch it again") from error


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _word2vec(path: Path, binary: bool, limit: int | None) -> Any:
    from gensim.models import KeyedVectors

    kind = "binary" if binary else "text"
    with _opened(path) as file:
        header = file.readline(100)
        try:
            count, dimensions = (int(number) for number in header.split())
        except ValueError:
            count = dimensions = 0
        if count < 1 or dimensions < 1:
            raise VectorFileError(
                f"{path} is not a word2vec {kind} file, nor one of fastText: it does not begin with a line 'COUNT DIMENSIONS'; "
                "add the line, or name a binary file .bin"
            )
        size = path.stat().st_size * (_GZIP_FACTOR if path.suffix == ".gz" else 1)
        of_vector = dimensions * (_NUMBER_BYTES if binary else 2) + 1
        wanted = count if limit is None else min(count, limit)
        says = f"its first line says {count:,} vectors of {dimensions:,} numbers"
        if wanted * of_vector > size:
            raise VectorFileError(
                f"{path}: {says}, but the file cannot hold more than {size // of_vector:,}; fetch it again, or correct the line"
            )
        if not binary:
            _check_lines(file, dimensions, None if limit is None else wanted, count, f"{path}: {says}")
    try:
        keyed = KeyedVectors.load_word2vec_format(str(path), binary=binary, limit=limit)
    except ValueError as error:
        raise VectorFileError(f"{path}: {says}, but they cannot be read ({error}); fetch it again, or correct it") from error
    check_finite(keyed.vectors, keyed.index_to_key, path)
    return keyed


def _check_lines(file: BinaryIO, dimensions: int, limit: int | None, count: int, says: str) -> None:
    """Refuses lines with another number of numbers, which gensim may stretch to a vector, and another number of lines."""
    there = 0
    for number, line in enumerate(islice(file, limit), 2):
        if not line.strip():
            continue
        there += 1
        if (found := line.rstrip().count(b" ")) != dimensions:
            raise VectorFileError(f"{says}, but line {number:,} has {found:,} numbers; fetch it again, or correct the line")
    if limit is None and there != count:
        raise VectorFileError(f"{says}, but there are {there:,}; fetch it again, or correct the line")


def _fasttext(path: Path) -> Any:
    from gensim.models.fasttext import load_facebook_vectors

    if path.suffix == ".gz":
        raise VectorFileError(f"{path}: binary files of fastText are not read compressed; uncompress it first")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            _check_fasttext(content, path)
        except struct.error as error:
            raise VectorFileError(f"{path}: this file of fastText is cut off; fetch it again") from error
    try:
        found = load_facebook_vectors(str(path))
    except ValueError as error:
        raise VectorFileError(f"{path}: gensim cannot read this file of fastText ({error}); give its .vec") from error
    check_finite(found.vectors, found.index_to_key, path)
    return found


def _check_fasttext(content: mmap.mmap, path: Path) -> None:
    """Walks through a file up to its vectors: gensim waits for ever for the end of a word in a file that is cut off."""
    at = 2 * _NUMBER_BYTES
    settings = _SETTINGS.unpack_from(content, at)
    at += _SETTINGS.size
    n_entries, n_words, n_labels, _, n_pruned = _DICTIONARY.unpack_from(content, at)
    at += _DICTIONARY.size
    if settings[_MODEL] == _SUPERVISED or n_labels:
        raise VectorFileError(f"{path}: this model of fastText classifies texts; give one of word vectors (skipgram or cbow)")
    for _ in range(n_entries):
        end = content.find(b"\0", at)
        if end < 0:
            raise VectorFileError(f"{path}: this file of fastText is cut off among its words; fetch it again")
        at = end + 1
        _COUNT_AND_TYPE.unpack_from(content, at)
        at += _COUNT_AND_TYPE.size
    at += max(0, n_pruned) * 2 * _NUMBER_BYTES
    compressed, rows, columns = _MATRIX.unpack_from(content, at)
    at += _MATRIX.size
    if compressed:
        raise VectorFileError(f"{path}: this model of fastText is compressed (quantized); give the whole one, or its .vec")
    bucket = settings[8]
    if rows != n_words + bucket or columns != settings[0] or rows < 1 or columns < 1:
        raise VectorFileError(f"{path}: the sizes in this file of fastText do not fit together; fetch it again")
    if rows * columns * _NUMBER_BYTES > len(content) - at:
        raise VectorFileError(f"{path}: this file of fastText is cut off among its vectors; fetch it again")


def check_finite(vectors: np.ndarray, forms: list[str], path: Path) -> None:
    """Refuses vectors with NaN or infinity.

    Raises:
        VectorFileError: names the first form.
    """
    for start in range(0, len(vectors), _CHECKED):
        finite = np.isfinite(vectors[start : start + _CHECKED]).all(axis=1)
        if not finite.all():
            form = forms[start + int(finite.argmin())]
            raise VectorFileError(
                f"{path}: the vector of {form[:60]!r} holds NaN or infinity; remove it, or fetch the file again"
            )
