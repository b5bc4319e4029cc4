"""Word vectors: trained on the training forms with gensim's Word2Vec,
or read from a file of word2vec or fastText.

Nederhof (2019), Section 8, uses vectors of length 100. A form without a vector gets the mean vector
of the forms seen least often: an unknown form is rare, so what the classifier learned about rare
forms applies.

Formats: word2vec and GloVe, as text or binary, and fastText. Text has a line for each word: the
word and its numbers, separated by spaces. A first line, which GloVe does not have, gives the number
of words and of numbers per word. Binary files of word2vec have float32 numbers. Both may be
compressed (.gz, .xz, .bz2, or .zip with a single file). A word may contain spaces. A repeated word
keeps its first vector; entries that are no vector or no UTF-8 are left out; a warning counts both.
gensim reads binary files of fastText.

Training takes about as long as everything else before the first update of a run, and is independent
of it. So another process trains the vectors while this one loads torch and reads the treebank:

    with background_vectors(plan.vector_request) as vectors:
        from parser.training.run import train  # loads torch
        train(plan, folder, vectors=vectors)
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import logging
import lzma
import mmap
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from oracles.errors import OptimalStepError
from parser import failures
from parser.child_process import end_with_parent
from parser.conllu.checks import counted, shortened
from parser.conllu.formats import foreign_file
from parser.data.attributes import attribute_values
from parser.data.treebank import TrainingFiles
from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, UNKNOWN, Vocabulary

log = logging.getLogger(__name__)

# The vector of unknown forms is the mean of this many of the rarest forms, if the file has no
# frequencies. Files are sorted by frequency, so the last forms are the rarest.
_RAREST = 1000


@dataclass(frozen=True)
class VectorTraining:
    """How word vectors are trained.

    Attributes:
        dimensions: the length of a vector.
        window: how many words of context a word has on either side.
        epochs: how often the sentences are read. A treebank of some 40,000 words needs dozens.
        min_count: rarer forms get no vector of their own. With 2 or more,
            the classifier learns to handle unknown forms.
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
        matrix: float32[len(vocabulary), dimensions]; the rows ABSENT and ROOT are zero,
            UNKNOWN is the mean of the rarest.
    """

    vocabulary: Vocabulary
    matrix: np.ndarray

    @classmethod
    def from_forms(cls, forms: list[str], vectors: np.ndarray, rare: np.ndarray) -> WordVectors:
        """Add the reserved rows to ``vectors`` (float32[forms, dimensions]); ``rare`` (bool[forms])
        marks the rarest forms.
        """
        matrix = np.zeros((N_RESERVED + len(forms), vectors.shape[1]), np.float32)
        matrix[N_RESERVED:] = vectors
        matrix[UNKNOWN] = vectors[rare].mean(axis=0) if rare.any() else 0.0
        assert not matrix[[ABSENT, ROOT]].any()
        return cls(Vocabulary(forms), matrix)

    @classmethod
    def train(cls, sentences: list[list[str]], how: VectorTraining, seed: int) -> WordVectors:
        """Train Word2Vec on forms, reproducibly: one worker,
        and a hash of words that does not depend on the process.

        Args:
            sentences: forms by sentence.
            how: dimensions, window, epochs, and so on.
            seed: the seed of the first vectors and of all draws.
        """
        most = max(Counter(chain.from_iterable(sentences)).values(), default=0)
        min_count = how.min_count
        if most < min_count:
            log.warning(
                "no form occurs %d times; vectors are trained with vectors.min_count=%d",
                min_count,
                most,
            )
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
    def read(
        cls, path: Path, limit: int | None = None, wanted: Collection[str] | None = None
    ) -> WordVectors:
        """Read a file of vectors; the module's docstring has the formats.

        Memory: the vectors that are read, 4 bytes per number, twice while the result is made. A
        binary file of fastText is read whole, and its n-grams take memory as well.

        Args:
            path: the file.
            limit: how many vectors are read, from the first on; None for all.
            wanted: the values that need vectors; None for all. A binary file of fastText has
                vectors for all values: for words that it does not know, it makes them from
                characters.

        Raises:
            VectorFileError: the file is missing, damaged or in another format.
            OptimalStepError: the file has no wanted vector.
        """
        file = _read_file(path, limit)
        forms = file.forms
        rare = np.arange(len(forms)) >= len(forms) - _RAREST
        if wanted is None:
            return cls.from_forms(forms, file.vectors, rare)
        kept = [i for i, form in enumerate(forms) if form in wanted]
        more = (
            sorted(set(wanted) - {forms[i] for i in kept})
            if file.from_characters is not None
            else []
        )
        if not kept and not more:
            raise OptimalStepError(
                f"{path}: none of its forms is in the training part; "
                "is it for this language (vectors.restrict)?"
            )
        made = (
            []
            if file.from_characters is None
            else [file.from_characters(form)[None] for form in more]
        )
        vectors = np.concatenate([file.vectors[kept], *made])
        _check_finite(vectors[len(kept) :], more, path)
        unknown = file.vectors[rare].mean(axis=0)
        found = cls.from_forms(
            [*(forms[i] for i in kept), *more], vectors, np.zeros(len(vectors), bool)
        )
        found.matrix[UNKNOWN] = unknown
        return found


def _stable_hash(word: str) -> int:
    """Hash a word for gensim, as the seed of its first vector;
    Python's own hash changes from process to process.
    """
    value = 5381
    for character in word:
        value = (value * 33 + ord(character)) & 0xFFFFFFFF
    return value


class VectorFileError(OptimalStepError):
    """A file of word vectors cannot be read; the message names the file and says what to do."""


class _VectorFile(NamedTuple):
    """The contents of a file.

    Attributes:
        forms: the words, each once, in the order of the file.
        vectors: float32[forms, dimensions].
        from_characters: makes float32[dimensions] from the characters of any other form; None if
            the file cannot.
    """

    forms: list[str]
    vectors: np.ndarray
    from_characters: Callable[[str], np.ndarray] | None = None


_Entries = Iterable[tuple[str, bytes, np.ndarray | None]]
"""The place of each word in a file, the word, and its vector; None if the entry is no vector."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# Above this share of entries that are no vectors, the file is refused.
_MOST_LEFT_OUT = 0.5
_LONGEST_LINE = 2**20  # bytes of a line that are read to tell text from numbers

# A generous bound on the numbers of a vector. It catches impossible files: a vector of a binary
# file takes as much memory as its first line says.
_MOST_DIMENSIONS = 1_000_000
# Bytes by which files of other formats are recognized.
_BEGINNING = 64
# The first bytes of binary files of fastText: its magic number, 793712314, in little-endian order.
_FASTTEXT = (793712314).to_bytes(4, "little")
# Then: the version, 12 settings, the share of frequent words that is sampled, the sizes of the
# dictionary; then the words. https://github.com/facebookresearch/fastText/blob/main/src/args.cc and
# dictionary.cc
_BEFORE_WORDS = struct.Struct("<4x i 12i d 3i 2q")
_COUNT_AND_TYPE = struct.calcsize("<qb")


def _read_file(path: Path, limit: int | None) -> _VectorFile:
    """Return the vectors of a file; of word2vec, the first ``limit``.

    Raises:
        VectorFileError: the file is missing, damaged or in another format,
            or has numbers that are not finite.
    """
    if not path.is_file():
        raise VectorFileError(f"{path}: no such file of word vectors; see vectors.file")
    if path.suffix == ".kv":
        convert = "KeyedVectors.load(FILE).save_word2vec_format('vectors.vec')"
        raise VectorFileError(
            f"{path}: gensim's own format is a pickle, which could run any code; "
            f"convert it: {convert}"
        )
    try:
        with _opened(path) as file:
            beginning: bytes = file.peek(_BEGINNING)[:_BEGINNING]
            if described := foreign_file(beginning):
                raise VectorFileError(f"{path}: this is {described}")
            found = (
                _fasttext(path, limit)
                if beginning.startswith(_FASTTEXT)
                else _word2vec(file, path, limit)
            )
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise VectorFileError(
            f"{path}: this file is damaged or cut off ({error}); fetch it again"
        ) from error
    _check_finite(found.vectors, found.forms, path)
    return found


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader[Any]]:
    with ExitStack() as stack:
        file: Any
        if path.suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                fix = "unpack it and name the one with the vectors"
                raise VectorFileError(f"{path}: {len(names)} files are in this archive; {fix}")
            file = archive.open(names[0])
        else:
            file = _COMPRESSED.get(path.suffix, open)(path, "rb")
        yield stack.enter_context(io.BufferedReader(file))


def _word2vec(file: BinaryIO, path: Path, limit: int | None) -> _VectorFile:
    first = file.readline(_LONGEST_LINE)
    count, dimensions, says = _beginning(first.removeprefix(_BYTE_ORDER_MARK), path)
    row = file.readline(_LONGEST_LINE)
    if count is None:
        entries = _text_entries(
            chain([first.removeprefix(_BYTE_ORDER_MARK), row], file), dimensions, 1
        )
    elif _is_text(row) or _vector(row.split(), dimensions) is not None:
        if not row.strip():
            missing = "line 2 is blank" if row else "no vectors follow"
            raise VectorFileError(
                f"{path}: {says}, but {missing}; it is damaged or cut off: fetch it again"
            )
        if (numbers := len(row.split()) - 1) != dimensions:
            raise VectorFileError(
                f"{path}: {says}, but line 2 has {numbers:,}; correct the line, or fetch it again"
            )
        entries = _text_entries(chain([row], file), dimensions, 2)
    else:
        file.seek(len(first))
        entries = _binary_entries(file, count, dimensions)
    there = twice = 0
    left_out: list[str] = []
    without_vector: list[str] = []
    found: dict[str, np.ndarray] = {}
    vector = None
    for place, word, vector in islice(entries, limit):
        there += 1
        form = _decoded(word)
        if vector is None or form is None:
            left_out.append(place)
            without_vector += [place] if vector is None else []
        elif form in found:
            twice += 1
        else:
            found[form] = vector
    if (there and vector is None) or len(left_out) > _MOST_LEFT_OUT * there:
        if len(without_vector) > 1:
            why = (
                f"{without_vector[0]} has not, nor have {len(without_vector) - 1:,} after it; are "
                "they written with decimal points? Correct them, or fetch it again"
            )
        elif without_vector:
            why = f"{without_vector[0]} has not; it is damaged or cut off: fetch it again"
        else:
            why = f"{left_out[0]} is not UTF-8, nor are most others; convert it, or fetch it again"
        raise VectorFileError(f"{path}: {says}, but {why}")
    if count is not None and there != (count if limit is None else min(count, limit)):
        least = "at least " if there == limit else ""
        raise VectorFileError(
            f"{path}: {says}, but there are {least}{there:,}; fetch it again, or correct the line"
        )
    _warn(path, twice, left_out)
    return _VectorFile(
        list(found), np.array(list(found.values()), np.float32).reshape(len(found), dimensions)
    )


def _beginning(line: bytes, path: Path) -> tuple[int | None, int, str]:
    """Return what the first line says: the number of vectors, None if it is missing;
    their length; and both in words.
    """
    fields = line.split()
    try:
        count, dimensions = map(int, fields)
    except ValueError:
        count = dimensions = 0
    if dimensions > _MOST_DIMENSIONS:
        raise VectorFileError(
            f"{path}: its first line says {shortened(str(dimensions))} numbers a vector; "
            "correct it, or fetch it"
        )
    if min(count, dimensions) > 0:
        says = f"its first line says {counted(count, 'vector')} of {counted(dimensions, 'number')}"
        return count, dimensions, says
    # a file of GloVe begins with the first vector
    if len(fields) > 2 and _vector(fields, len(fields) - 1) is not None:
        return None, len(fields) - 1, f"the first line has {len(fields) - 1} numbers"
    raise VectorFileError(
        f"{path} is not a text file of word vectors, nor a binary one: it does not begin with a "
        "line 'COUNT DIMENSIONS', nor with a word and its numbers"
    )


def _text_entries(lines: Iterable[bytes], dimensions: int, first: int) -> _Entries:
    for number, line in enumerate(lines, first):
        if fields := line.split():
            yield f"line {number:,}", b" ".join(fields[:-dimensions]), _vector(fields, dimensions)


def _binary_entries(file: BinaryIO, count: int, dimensions: int) -> _Entries:
    for number in range(1, count + 1):
        word = b"".join(
            takewhile(lambda byte: byte not in (b" ", b""), iter(partial(file.read, 1), None))
        )
        numbers = file.read(4 * dimensions)
        whole = len(numbers) == 4 * dimensions
        yield (
            f"word {number:,}",
            word.lstrip(b"\n"),
            np.frombuffer(numbers, "<f4") if whole else None,
        )
        if not whole:
            return


def _vector(fields: list[bytes], dimensions: int) -> np.ndarray | None:
    """Return the numbers that follow a word in a line; None if they are no vector."""
    if len(fields) <= dimensions:
        return None
    try:
        return np.array(fields[-dimensions:]).astype(np.float32)
    except ValueError:
        return None


def _decoded(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None


def _is_text(line: bytes) -> bool:
    return b"\0" not in line and _decoded(line) is not None


def _warn(path: Path, twice: int, left_out: list[str]) -> None:
    if twice:
        log.warning(
            "%s: repeated words were left out (%d); the first vector of each is kept", path, twice
        )
    if left_out:
        found = f"{len(left_out)}; the first is {left_out[0]}"
        log.warning("%s: entries that are no vector, or not UTF-8, were left out (%s)", path, found)


def _gensim() -> Any:
    """Return gensim.models: a slow import, which parsing does not need, and which asks for a home
    folder without using it.
    """
    homeless = os.path.expanduser("~") == "~"
    os.environ |= {"HOME": os.devnull} if homeless else {}
    from gensim import models

    if homeless:
        del os.environ["HOME"]
    return models


def _fasttext(path: Path, limit: int | None) -> _VectorFile:
    if path.suffix in (*_COMPRESSED, ".zip"):
        raise VectorFileError(
            f"{path}: binary files of fastText are not read compressed; uncompress it first"
        )
    fix = (
        "is it whole, and of word vectors (skipgram or cbow) that are not quantized? Fetch it "
        "again, or give its .vec"
    )
    try:
        _check_words(path)
        found = _gensim().fasttext.load_facebook_vectors(str(path))
    except Exception as error:  # gensim, and what it calls, may raise any error
        raise VectorFileError(
            f"{path}: this file of fastText cannot be read ({error}); {fix}"
        ) from error
    return _VectorFile(
        list(found.index_to_key)[:limit], found.vectors[:limit], from_characters=found.get_vector
    )


def _check_words(path: Path) -> None:
    """Check that all words of a file of fastText end: in a cut file, gensim waits forever for the
    end of a word.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        *_, n_entries, _, _, _, _ = _BEFORE_WORDS.unpack_from(content)
        at = _BEFORE_WORDS.size
        for _ in range(n_entries):
            if (end := content.find(b"\0", at)) < 0:
                raise OptimalStepError("it ends among its words")
            at = end + 1 + _COUNT_AND_TYPE


def _check_finite(vectors: np.ndarray, forms: list[str], path: Path) -> None:
    """Refuse vectors with NaN or infinity; name the first form that has one."""
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        form = forms[int(finite.argmin())]
        raise VectorFileError(
            f"{path}: the vector of {form[:60]!r} holds NaN or infinity; remove it, "
            "or fetch the file again"
        )


@dataclass(frozen=True)
class VectorRequest:
    """Which word vectors to train.

    Attributes:
        files: the files of the training part.
        subset: whether only sentences with projective trees are read.
        attribute: the attribute whose values get vectors.
        training: how the vectors are trained.
        seed: the seed of the run.
    """

    files: TrainingFiles
    subset: bool
    attribute: str
    training: VectorTraining
    seed: int

    def trained(self) -> WordVectors:
        """Train the vectors."""
        train, _, _ = self.files.split(self.files.read())
        values = attribute_values(
            train.projective_subset if self.subset else train.sentences, self.attribute
        )
        return WordVectors.train(values, self.training, self.seed)


BackgroundVectors = Callable[[], WordVectors]
"""Waits for word vectors, once; raises ChildProcessError, with the reason,
if they could not be trained.
"""


@contextmanager
def background_vectors(request: VectorRequest | None) -> Iterator[BackgroundVectors | None]:
    """Start to train the word vectors of a run in another process.

    Yields:
        A function that waits for them; None if none are wanted, or the training part is missing.
    """
    if request is None or not all(Path(file).is_file() for file in request.files.paths):
        yield None
        return
    # -P: do not import a parser.py in the current folder. A new session:
    # Ctrl-C is for the waiting process only.
    command = [sys.executable, "-P", "-c", "from parser.data.word_vectors import answer; answer()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # the process has died; _result() reports it
                process.stdin.write(json.dumps(asdict(request)).encode() + b"\n")
                process.stdin.flush()
            yield partial(_result, process)
        finally:
            process.kill()  # the vectors are no longer needed


def answer() -> None:
    """Run in the other process: read a request from standard input,
    and write an .npz with the vectors or the error.
    """
    fields = json.loads(sys.stdin.buffer.readline())
    end_with_parent()
    parts = {
        "files": TrainingFiles(**fields["files"]),
        "training": VectorTraining(**fields["training"]),
    }
    arrays: dict[str, Any]
    try:
        found = VectorRequest(**(fields | parts)).trained()
        arrays = {
            "forms": _text_array(json.dumps(found.vocabulary.symbols)),
            "matrix": found.matrix,
        }
    except Exception as error:
        arrays = {"error": _text_array(failures.told(error))}
        failures.show_traceback(error)
    file = io.BytesIO()
    np.savez(file, **arrays)
    sys.stdout.buffer.write(file.getvalue())


def _text_array(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)


def _result(process: subprocess.Popen[bytes]) -> WordVectors:
    assert process.stdout is not None
    error = "its process died; is there enough memory?"
    if written := process.stdout.read():
        with np.load(io.BytesIO(written), allow_pickle=False) as arrays:
            if "matrix" in arrays:
                return WordVectors(
                    Vocabulary(json.loads(arrays["forms"].tobytes())), arrays["matrix"]
                )
            error = arrays["error"].tobytes().decode("utf-8", "surrogateescape")
    raise ChildProcessError(f"training the word vectors failed: {error}")
