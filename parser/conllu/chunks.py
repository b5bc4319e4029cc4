"""CoNLL-U as bytes, many sentences at a time: finds words, and replaces trees. The compiled
counterpart of stream.py, for files without errors.

No object is made per word. stream.py reads chunks with errors, which it reports, and chunks with
rare content, such as an id of more than nine digits. Everything else is read here: comments,
multiword tokens, empty nodes, CRLF, a byte order mark, bytes that are not UTF-8, a missing last
newline. Time is linear in the bytes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader, BytesIO, FileIO
from typing import BinaryIO

import numpy as np

from parser import batch_sizes
from parser.conllu.checks import DEPS, HEAD, N_COLUMNS, UNKNOWN_HEAD, ConlluError, describe_file
from parser.conllu.formats import check_line_ends
from parser.kernels import kernel

# Bytes of a sentence: some 500,000 words. A file without blank lines, such as text,
# would be read as one sentence.
LONGEST_SENTENCE = 2**25

# Large chunks are faster, because equal words are computed once; but the last chunks should be
# small, so that several threads end together. If the size of the rest is known, a chunk is a
# thread's share of it. Otherwise chunks are small at first, and grow to this part of the bytes read
# so far.
_PART_OF_READ = 8
# For several threads, the smallest chunks are smaller than the largest by this factor.
_SMALLEST = 4

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK_LINE = re.compile(rb"\n[ \r]+\n")
# The shortest line of a word: an id, nine empty columns, and the line's end.
_MIN_LINE = N_COLUMNS + 1

_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
_HASH, _DASH, _DOT, _ZERO, _NINE, _UNDERSCORE = b"#-.09_"
_MAX_DIGITS = 9


@dataclass(frozen=True)
class Chunk:
    """Some bytes of a file: whole sentences, and the lines between them.

    Attributes:
        first: whether the file begins with them.
    """

    content: bytes
    first: bool


def read_chunks(
    stream: BinaryIO, size: int = batch_sizes.BYTES_PER_CHUNK, threads: int = 1, name: str = "-"
) -> Iterator[Chunk]:
    """Yield the bytes of a file, cut after blank lines.

    Args:
        size: bytes of a chunk; more if a sentence is longer.
        threads: how many threads share the chunks. For several, some chunks are smaller than
            ``size``, to balance their work.
        name: the name of the file in errors.

    Raises:
        ConlluError: a sentence is longer than LONGEST_SENTENCE; or see check_line_ends().
    """
    held = bytearray()
    first = True
    n_read = 0
    total = _bytes_left(stream) if threads > 1 else None
    while block := stream.read(size if threads == 1 else _size_for(threads, size, n_read, total)):
        n_read += len(block)
        searched = len(held)
        held += block
        end = _last_sentence_end(held, searched)
        if end:
            yield _chunk(held[:end], first, name)
            first = False
            del held[:end]
        elif len(held) > LONGEST_SENTENCE:
            raise ConlluError(
                f"{describe_file(name)}: from byte {n_read - len(held):,} on, there is no blank "
                f"line in {len(held):,} bytes; put one after each sentence; plain text can only "
                "be parsed: optimal-step parse --text"
            )
    if held:
        yield _chunk(held, first, name)


def _chunk(content: bytearray, first: bool, name: str) -> Chunk:
    if first:
        first_line, end, _ = content.partition(b"\n")
        check_line_ends((first_line + end).decode("utf-8", "replace"), name)
    return Chunk(bytes(content), first)


def _bytes_left(stream: BinaryIO) -> int | None:
    """Return how many bytes of a file on disk or in memory are left to read; None if that is
    unknown, as for a pipe.
    """
    if isinstance(stream, BytesIO):
        return len(stream.getbuffer()) - stream.tell()
    # not a compressed file
    if isinstance(stream, BufferedReader) and isinstance(stream.raw, FileIO):
        status = os.fstat(stream.fileno())
        return status.st_size - stream.tell() if stat.S_ISREG(status.st_mode) else None
    return None


def _size_for(threads: int, size: int, n_read: int, total: int | None) -> int:
    """Return the bytes of the next chunk for several threads.

    Args:
        size: the largest chunk.
        n_read: how many bytes have been read.
        total: how many bytes there are in all, if known. The file may have grown since.
    """
    wanted = (
        n_read // _PART_OF_READ if total is None or total <= n_read else (total - n_read) // threads
    )
    return min(size, max(1, size // _SMALLEST, wanted))


def _last_sentence_end(held: bytearray, searched: int) -> int:
    """Return the place after a blank line in the unsearched bytes (the last one, unless line ends
    are mixed); 0 if there is none.
    """
    for blank in (b"\n\n", b"\n\r\n"):
        place = held.rfind(blank, max(0, searched - len(blank) + 1))
        if place >= 0:
            return place + len(blank)
    end = 0
    for match in _BLANK_LINE.finditer(held, max(0, held.rfind(b"\n", 0, searched))):
        end = match.end()
    return end


@dataclass(frozen=True)
class WordPositions:
    """The positions of the words of a chunk, in bytes from its beginning.

    Attributes:
        text: uint8[bytes], the chunk.
        forms: int64[words], the positions of the columns FORM.
        heads: int64[words], the positions of the columns HEAD.
        miscs: int64[words], the positions of the tabs before the columns MISC.
        offsets: int64[sentences + 1]: the words of sentence s are from ``offsets[s]`` to before
            ``offsets[s + 1]``; only sentences with words count.
        n_lines: the number of lines in the chunk.
    """

    text: np.ndarray
    forms: np.ndarray
    heads: np.ndarray
    miscs: np.ndarray
    offsets: np.ndarray
    n_lines: int


def find_words(chunk: Chunk) -> WordPositions | None:
    """Return the positions of the words of a chunk; None if stream.py should read it."""
    text = np.frombuffer(chunk.content, np.uint8)
    at_most = len(text) // _MIN_LINE + 1
    places = np.empty((3, at_most), np.int64)
    offsets = np.empty(at_most + 1, np.int64)
    begin = (
        len(_BYTE_ORDER_MARK) if chunk.first and chunk.content.startswith(_BYTE_ORDER_MARK) else 0
    )
    n_words, n_sentences, n_lines = _find_words(
        text, begin, np.empty(N_COLUMNS, np.int64), places, offsets
    )
    if n_words < 0:
        return None
    forms, heads, miscs = places[:, :n_words]
    n_lines = n_lines or int(len(text) > 0)  # a byte order mark alone counts as a line
    return WordPositions(text, forms, heads, miscs, offsets[: n_sentences + 1], n_lines)


def find_heads(words: WordPositions, several_roots: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the heads of the words, and where their relations are;
    None if stream.py should read and check them.

    Args:
        several_roots: whether several words of a sentence may have head 0.

    Returns:
        int32[words], the heads, UNKNOWN_HEAD for ``_``, each sentence's part of a tree; and
        int64[2, words], where the columns DEPREL begin and end.
    """
    heads = np.empty(len(words.heads), np.int32)
    deprels = np.empty((2, len(words.heads)), np.int64)
    seen = np.empty(int(np.diff(words.offsets).max(initial=0)) + 1, np.int32)
    if not _find_heads(words.text, words.heads, words.offsets, several_roots, heads, deprels, seen):
        return None
    return heads, deprels


class TreeWriter:
    """Writes trees into chunks.

    Args:
        relations: the relations, in the order of their numbers.
    """

    def __init__(self, relations: Sequence[str]) -> None:
        symbols = [relation.encode("utf-8", "surrogateescape") for relation in relations]
        self._symbols = np.frombuffer(b"".join(symbols), np.uint8)
        self._ends = np.cumsum([0, *map(len, symbols)])
        self._longest = max(map(len, symbols), default=0)

    def write(self, words: WordPositions, heads: np.ndarray, relations: np.ndarray) -> memoryview:
        """Return the bytes of the chunk with new HEAD and DEPREL of the words, and ``_`` for DEPS.

        Args:
            heads: int32[words].
            relations: int32[words].
        """
        growth = len(heads) * (len(str(len(heads))) + self._longest)
        written = np.empty(len(words.text) + growth + (DEPS - HEAD + 1) * len(heads), np.uint8)
        end = _write_trees(
            words.text,
            words.heads,
            words.miscs,
            heads,
            relations,
            self._symbols,
            self._ends,
            written,
        )
        return written[:end].data


@kernel()
def _find_words(text, begin, tabs, places, offsets):
    """Fill in ``places`` and ``offsets``; return the numbers of words (-1 if something is
    uncommon), sentences and lines.

    ``tabs`` is workspace, int64[N_COLUMNS]. The checks are those of formats.split_columns and
    checks.sort_rows.
    """
    uncommon = (-1, 0, 0)
    n_words = n_sentences = n_lines = 0
    offsets[0] = 0
    covered = 0  # the last word of the sentence's last multiword token
    position = begin
    size = len(text)
    while position < size:
        begin = position
        n_tabs = 0
        while position < size and text[position] != _NEWLINE:
            if text[position] == _TAB:
                if n_tabs == N_COLUMNS - 1:
                    n_tabs += 1
                    break
                tabs[n_tabs] = position
                n_tabs += 1
            position += 1
        if n_tabs >= N_COLUMNS or text[begin] == _HASH:
            while position < size and text[position] != _NEWLINE:
                position += 1
        end = position
        position += 1
        n_lines += 1
        if begin < end and text[begin] == _HASH:
            continue
        if n_tabs == 0:
            blank = True
            for i in range(begin, end):
                blank &= text[i] == _SPACE or text[i] == _RETURN
            if not blank:
                return uncommon
            if covered > n_words - offsets[n_sentences]:
                return uncommon
            covered = 0
            if n_words > offsets[n_sentences]:
                n_sentences += 1
                offsets[n_sentences] = n_words
            continue
        if n_tabs != N_COLUMNS - 1:
            return uncommon

        following = n_words - offsets[n_sentences] + 1
        first, behind = _number_at(text, begin, tabs[0])
        if first < 0:
            return uncommon
        if behind == tabs[0]:
            if first != following or text[begin] == _ZERO:
                return uncommon
            places[0, n_words] = tabs[0] + 1
            places[1, n_words] = tabs[HEAD - 1] + 1
            places[2, n_words] = tabs[DEPS]
            n_words += 1
            continue
        second, last = _number_at(text, behind + 1, tabs[0])
        if second < 0 or last != tabs[0]:
            return uncommon
        if text[behind] == _DOT:
            if first != following - 1:
                return uncommon
        elif text[behind] == _DASH:
            if first != following or second < following or following <= covered:
                return uncommon
            covered = second
        else:
            return uncommon
    if covered > n_words - offsets[n_sentences]:
        return uncommon
    if n_words > offsets[n_sentences]:
        n_sentences += 1
        offsets[n_sentences] = n_words
    return n_words, n_sentences, n_lines


@kernel()
def _find_heads(text, places, offsets, several_roots, heads, deprels, seen):
    """Fill in ``heads`` and ``deprels``; return whether all are in order,
    as checks.head_faults and checks.tree_faults say.

    ``seen`` is workspace, int32[> words of each sentence].
    """
    for word in range(len(places)):
        position = places[word]
        heads[word] = UNKNOWN_HEAD
        if text[position] == _UNDERSCORE:
            position += 1
        else:
            number, position = _number_at(text, position, len(text))
            if number < 0:
                return False
            heads[word] = number
        if text[position] != _TAB:
            return False
        deprels[0, word] = position + 1
        position += 1
        while text[position] != _TAB:
            position += 1
        deprels[1, word] = position
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start
        roots = 0
        for word in range(1, n + 1):
            head = heads[start + word - 1]
            if head > n:
                return False
            roots += head == 0
            seen[word] = 0  # the word whose path to the root came here first
        if roots > 1 and not several_roots:
            return False
        for first in range(1, n + 1):
            word = first
            while word > 0 and seen[word] == 0:
                seen[word] = first
                word = heads[start + word - 1]
            # a cycle; if no word has head 0, and all heads are known, there is one
            if word > 0 and seen[word] == first:
                return False
    return True


@kernel()
def _number_at(text, begin, end):
    """Return the number of the digits from ``begin`` on, -1 if there are none or too many,
    and the position after them.
    """
    number = 0
    position = begin
    while position < end and _ZERO <= text[position] <= _NINE:
        number = 10 * number + (text[position] - _ZERO)
        position += 1
    return (number if 0 < position - begin <= _MAX_DIGITS else -1), position


@kernel()
def _write_trees(text, head_places, misc_places, heads, relations, symbols, ends, written):
    """Fill in ``written``; return the number of bytes."""
    end = copied = np.int64(0)
    for word in range(len(heads)):
        end = _copy(text, copied, head_places[word], written, end)
        head = heads[word]
        digits = 1
        power = 10
        while head >= power:
            digits += 1
            power *= 10
        for digit in range(digits - 1, -1, -1):
            written[end + digit] = _ZERO + head % 10
            head //= 10
        end += digits
        written[end] = _TAB
        relation = relations[word]
        end = _copy(symbols, ends[relation], ends[relation + 1], written, end + 1)
        written[end] = _TAB
        written[end + 1] = _UNDERSCORE
        end += 2
        copied = misc_places[word]
    return _copy(text, copied, len(text), written, end)


@kernel()
def _copy(source, first, last, target, at):
    """Copy ``source[first:last]`` to ``at`` in the target; return the position after it there."""
    for i in range(last - first):
        target[at + i] = source[first + i]
    return at + last - first
