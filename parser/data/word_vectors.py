"""Word vectors: trained on the training forms with gensim's Word2Vec, or read from a file of word2vec or fastText.

Nederhof (2019), Section 8, uses vectors of length 100. A form without a vector gets the mean vector of the rarest forms
(those seen least often): an unknown form is a rare one, and what the classifier learned of rare ones applies.

Files are word2vec's and GloVe's, as text or binary, and fastText's. Text is a line for each word: the word, then its numbers,
with blanks between; before them, but not in GloVe's, a line says how many words there are and how many numbers each has. Files
may be compressed (.gz, .xz, .bz2, or .zip with one file in it). A word may hold blanks. A word that comes twice keeps its first
vector; lines that are no vector or no UTF-8 are left out, and a warning counts both.

Binary files (.bin) are read through gensim. What gensim would take on trust, so that it would wait for ever or ask for memory
that no machine has, is checked before: no size may be larger than the file's.
"""

from __future__ import annotations

import bz2
import gzip
import logging
import lzma
import mmap
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from parser.conllu.checks import counted
from parser.conllu.formats import foreign_file
from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, UNKNOWN, Vocabulary

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
        most, min_count = max(Counter(chain.from_iterable(sentences)).values(), default=0), how.min_count
        if most < min_count:
            log.warning("no form occurs %d times; vectors are trained with vectors.min_count=%d", min_count, most)
            min_count = most
        model = _gensim().Word2Vec(
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
        """Reads a file of vectors; see above for the formats.

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


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# If more than this share of the lines are no vectors, the file is taken to be something else.
_MOST_LEFT_OUT = 0.5
# No gzip file is larger by more when it is uncompressed.
_GZIP_FACTOR = 1032

# Bytes from which a file of something else is known.
_BEGINNING = 64
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
_CHECKED = 2**16  # vectors that are checked at a time
_LONGEST_LINE = 2**20  # that is looked at


class VectorFileError(ValueError):
    """A file of word vectors cannot be read; the message names it, and the fix."""


@dataclass(frozen=True)
class VectorFile:
    """What a file holds.

    Attributes:
        forms: the words, each once, in the order of the file.
        vectors: float32[forms, dimensions].
        of_characters: float32[dimensions] of any other form, made of its characters; None where the file cannot.
    """

    forms: list[str]
    vectors: np.ndarray
    of_characters: Callable[[str], np.ndarray] | None = None


def read_vector_file(path: Path, limit: int | None = None) -> VectorFile:
    """The vectors of a file.

    Args:
        path: the file.
        limit: how many vectors are wanted, the first ones; None: all. Of a file of fastText all are read.

    Raises:
        VectorFileError: it is missing, damaged or in none of the formats, or has numbers that are not finite.
    """
    if not path.is_file():
        raise VectorFileError(f"{path}: no such file of word vectors; see vectors.file")
    if path.suffix == ".kv":
        convert = "KeyedVectors.load(FILE).save_word2vec_format('vectors.vec')"
        raise VectorFileError(f"{path}: gensim's own format is a pickle, which could run any code; convert it: {convert}")
    try:
        with _opened(path) as file:
            beginning: bytes = file.peek(_BEGINNING)[:_BEGINNING]  # type: ignore[attr-defined]
            if described := foreign_file(beginning):
                raise VectorFileError(f"{path}: this is {described}")
            if ".bin" not in path.suffixes and not beginning.startswith(_FASTTEXT):
                found = _text(file, path, limit)
                check_finite(found.vectors, found.forms, path)
                return found
            if path.suffix not in (".bin", ".gz") and path.suffix in (*_COMPRESSED, ".zip"):
                raise VectorFileError(f"{path}: binary files are not read compressed like this; uncompress it first")
            if file.read(len(_FASTTEXT)) != _FASTTEXT:
                return _binary(path, limit)
        if path.suffix == ".gz":
            raise VectorFileError(f"{path}: binary files of fastText are not read compressed; uncompress it first")
        return _fasttext(path, limit)
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise VectorFileError(f"{path}: this file is damaged or cut off ({error}); fetch it again") from error


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path.suffix != ".zip":
        with cast(BinaryIO, _COMPRESSED.get(path.suffix, open)(path, "rb")) as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise VectorFileError(
                f"{path}: {len(names)} files are in this archive; unpack it and name the one with the vectors"
            )
        with archive.open(names[0]) as file:
            yield cast(BinaryIO, file)


def _header(line: bytes) -> tuple[int, int] | None:
    """Count and dimensions, if a line says these."""
    try:
        count, dimensions = (int(number) for number in line.split())
    except ValueError:
        return None
    return count, dimensions


def _text(file: BinaryIO, path: Path, limit: int | None) -> VectorFile:
    first = file.readline().removeprefix(_BYTE_ORDER_MARK)
    header = _header(first)
    fields = first.split()
    if header is None and len(fields) > 2 and _numbers(fields[1:]) is not None:  # GloVe's: a vector at once
        lines, dimensions, says = chain([first], file), len(fields) - 1, f"the first line has {len(fields) - 1} numbers"
    elif header is not None and min(header) > 0:
        lines, dimensions = chain((), file), header[1]
        says = _said(*header)
    else:
        raise VectorFileError(
            f"{path} is not a text file of word vectors: it does not begin with a line 'COUNT DIMENSIONS', nor with a word and "
            "its numbers; name a binary file .bin"
        )
    there = twice = 0
    left_out: list[str] = []
    found: dict[str, np.ndarray] = {}
    last_is_whole = True
    for number, line in enumerate(lines, 1 + (header is not None)):
        fields = line.split()
        if not fields:
            continue
        if there == limit:
            break
        there += 1
        vector = _numbers(fields[-dimensions:]) if len(fields) > dimensions else None
        if there == 1 and (vector is None or len(fields) != dimensions + 1):
            fix = "correct the line, or fetch it again" if _is_plain(line) else "this file is binary: name it .bin"
            raise VectorFileError(f"{path}: {says}, but line {number:,} has {len(fields) - 1:,}; {fix}")
        last_is_whole = vector is not None
        try:
            form = b" ".join(fields[:-dimensions]).decode()
        except UnicodeDecodeError:
            form, vector = "", None
        if vector is None:
            left_out.append(f"line {number:,}")
        elif form in found:
            twice += 1
        else:
            found[form] = vector
    if not last_is_whole or len(left_out) > _MOST_LEFT_OUT * there:
        raise VectorFileError(f"{path}: {says}, but {left_out[-1]} has not; it is damaged or cut off: fetch it again")
    if header is not None and limit is None and there != header[0]:
        raise VectorFileError(f"{path}: {says}, but there are {there:,}; fetch it again, or correct the line")
    _warn(path, twice, left_out)
    return VectorFile(list(found), np.array(list(found.values()), np.float32).reshape(len(found), dimensions))


def _said(count: int, dimensions: int) -> str:
    return f"its first line says {counted(count, 'vector')} of {counted(dimensions, 'number')}"


def _is_plain(line: bytes) -> bool:
    """Whether a line can be text."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in line


def _numbers(fields: list[bytes]) -> np.ndarray | None:
    try:
        return np.array(fields).astype(np.float32)
    except ValueError:
        return None


def _gensim() -> Any:
    """Return gensim.models, a slow import that parsing does not need, and that asks for a home folder without using it."""
    homeless = os.path.expanduser("~") == "~"
    os.environ |= {"HOME": os.devnull} if homeless else {}
    from gensim import models

    if homeless:
        del os.environ["HOME"]
    return models


def _warn(path: Path, twice: int, left_out: list[str]) -> None:
    if twice:
        log.warning("%s: repeated words were left out (%d); the first vector of each is kept", path, twice)
    if left_out:
        found = f"{len(left_out)}; the first is {left_out[0]}"
        log.warning("%s: entries that are no vector, or not UTF-8, were left out (%s)", path, found)


def _binary(path: Path, limit: int | None) -> VectorFile:
    """A binary file of word2vec."""
    with _opened(path) as file:
        header = _header(file.readline(100))
        if header is None or min(header) < 1:
            raise VectorFileError(
                f"{path} is not a word2vec binary file, nor one of fastText: it does not begin with a line 'COUNT DIMENSIONS'; "
                "name a text file .vec"
            )
        fields = file.readline(_LONGEST_LINE).split()
        if len(fields) > header[1] and _numbers(fields[-header[1] :]) is not None:
            raise VectorFileError(f"{path}: this file is text: name it .vec")
    count, dimensions = header
    says = _said(count, dimensions)
    size = path.stat().st_size * (_GZIP_FACTOR if path.suffix == ".gz" else 1)
    of_vector = dimensions * _NUMBER_BYTES + 1
    if (count if limit is None else min(count, limit)) * of_vector > size:
        raise VectorFileError(
            f"{path}: {says}, but the file cannot hold more than {size // of_vector:,}; fetch it again, or correct the line"
        )
    try:
        keyed = _gensim().KeyedVectors.load_word2vec_format(
            str(path), binary=True, limit=limit, unicode_errors="surrogateescape"
        )
    except ValueError as error:
        raise VectorFileError(f"{path}: {says}, but they cannot be read ({error}); fetch it again, or correct it") from error
    return VectorFile(*_clean(keyed, path, limit))


def _clean(keyed: Any, path: Path, limit: int | None) -> tuple[list[str], np.ndarray]:
    """Forms and vectors from gensim, which has None for repeated words, without those that are not UTF-8."""
    forms = list(keyed.index_to_key)[:limit]
    bad = [i for i, form in enumerate(forms) if form is not None and not _is_text(form)]
    _warn(path, sum(form is None for form in forms), [f"word {i + 1:,}" for i in bad])
    kept = [i for i, form in enumerate(forms) if form is not None and i not in set(bad)]
    vectors = keyed.vectors[kept] if len(kept) < len(keyed.vectors) else keyed.vectors
    found = [forms[i] for i in kept]
    check_finite(vectors, found, path)
    return found, vectors


def _is_text(form: str) -> bool:
    try:
        form.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fasttext(path: Path, limit: int | None) -> VectorFile:
    from gensim.models.fasttext import load_facebook_vectors

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            _check_fasttext(content, path)
        except struct.error as error:
            raise VectorFileError(f"{path}: this file of fastText is cut off; fetch it again") from error
    try:
        found = load_facebook_vectors(str(path))
    except ValueError as error:
        raise VectorFileError(f"{path}: gensim cannot read this file of fastText ({error}); give its .vec") from error
    return VectorFile(*_clean(found, path, limit), of_characters=found.get_vector)


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
