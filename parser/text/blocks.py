"""Text in blocks: whole paragraphs, or a part of a very long one,
so that memory does not grow with the text.

A line ends with LF, CR LF, CR, a vertical tab, U+0085 or U+2028; a paragraph ends with a blank
line, a form feed or U+2029.
A block is the text as it came, and where it is cut depends on the text alone,
not on how it arrives.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from parser.conllu.checks import BYTE_ORDER_MARK, describe_file
from parser.conllu.formats import TO_UTF8
from parser.data.spelling import INVISIBLE
from parser.decoding.parse_options import SentenceEnds
from parser.text.tokens import TokenizerError

_LINE = "(?>\r\n|[\n\r\v\x85\u2028])"
LINE_END = re.compile(f"{_LINE}|[\f\u2029]")
# White space within a line; a byte order mark and a NUL count as white space here.
_BLANK = f"[^\\S\n\r\v\x85\u2028\f\u2029]|\0|{BYTE_ORDER_MARK}"
PARAGRAPH_END = re.compile(f"{_LINE}(?:{_BLANK})*+{_LINE}|[\f\u2029]")

# The marks of a sentence end, and closing quotes and brackets after them.
_MARKS = ".!?\u3002\uff01\uff1f"
_SENTENCE_END = f"(?<![{_MARKS}])[{_MARKS}]++[\"')\\]\u00bb\u2019\u201d\u300d\u300f\uff09]*+"
# Where a very long paragraph is cut: after a line that ends a sentence, otherwise after a sentence,
# a line or a word.
_PLACES_TO_CUT = [
    re.compile(end) for end in (_SENTENCE_END + _LINE, rf"{_SENTENCE_END}\s", _LINE, r"\s")
]

# A block ends with the first paragraph that ends after _BLOCK characters;
# a paragraph of more than _LONGEST characters is cut.
_BLOCK = 2**16
_LONGEST = 2**17
_READ_BYTES = 2**16


class Block(NamedTuple):
    """A stretch of a text.

    Attributes:
        start: how many characters of the text are before it.
        text: the text as it was read.
    """

    start: int
    text: str


def paragraph_ends(sentences: SentenceEnds) -> re.Pattern[str]:
    """Return the pattern of the end of a paragraph: with SentenceEnds.PARAGRAPH,
    each line is one.
    """
    return LINE_END if sentences == SentenceEnds.PARAGRAPH else PARAGRAPH_END


def blocks_of(
    source: BinaryIO, name: str, sentences: SentenceEnds = SentenceEnds.MODEL
) -> Iterator[Block]:
    """Yield a text in blocks.

    Args:
        source: the text in UTF-8.
        name: what errors call the text.
        sentences: where they end; with LINE, no line is cut, however long it is.

    Raises:
        TokenizerError: the text is not UTF-8.
    """
    start, held, searched = 0, "", 0
    for text in _decoded(source, name):
        held += text
        while (cut := _place_to_cut(held, sentences, searched)) is not None:
            yield Block(start, held[:cut])
            start, held, searched = start + cut, held[cut:], 0
        searched = len(held)
    if held:
        yield Block(start, held)


def _place_to_cut(held: str, sentences: SentenceEnds, searched: int) -> int | None:
    """Return where the next block ends; None if more must be read. ``searched`` is the number of
    characters known to have no line end.
    """
    if sentences == SentenceEnds.LINE:
        line = LINE_END.search(held, max(_BLOCK - 1, searched))
        return None if line is None else line.end()
    ends = paragraph_ends(sentences)
    if (match := ends.search(held, _BLOCK - 1, _LONGEST)) is not None:
        return match.end()
    if len(held) < _LONGEST:
        return None
    before = [match.end() for match in ends.finditer(held, 0, _LONGEST)]
    return before[-1] if before else _place_within_paragraph(held[:_LONGEST])


def _place_within_paragraph(text: str) -> int:
    """Return where to cut, in the second half."""
    half = len(text) // 2
    for end in _PLACES_TO_CUT:
        if places := [match.end() for match in end.finditer(text, half)]:
            return places[-1]
    # imported only here: it has compiled loops that CoNLL-U does not need
    from parser.text.characters import joins_character_before

    # there is no space: cut before a letter, not before its accents
    cut = len(text) - 1
    while cut > half and (joins_character_before(text[cut]) or INVISIBLE.match(text[cut])):
        cut -= 1
    return max(cut, 1)


def _decoded(source: BinaryIO, name: str) -> Iterator[str]:
    """Yield a text as it is read, except that a CR comes with the LF that may follow it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_bytes = lines = 0
    carriage_return = ""
    while piece := source.read(_READ_BYTES):
        text = carriage_return + _decode(decoder, piece, name, n_bytes, lines)
        carriage_return = "\r" if text.endswith("\r") else ""
        yield text.removesuffix("\r")
        n_bytes += len(piece)
        lines += piece.count(b"\n")
    _decode(decoder, b"", name, n_bytes, lines)
    if carriage_return:
        yield carriage_return


def _decode(
    decoder: codecs.IncrementalDecoder, piece: bytes, name: str, n_bytes: int, lines: int
) -> str:
    """Return the text of a piece; the last one is empty. ``n_bytes`` and ``lines`` are the numbers
    of bytes and line ends before it.
    """
    begun = len(decoder.getstate()[0])
    try:
        return decoder.decode(piece, final=not piece)
    except UnicodeDecodeError as error:
        line = lines + 1 + piece[: max(error.start - begun, 0)].count(b"\n")
        place = n_bytes - begun + error.start
        why = f"not UTF-8 at byte {place:,} ({error.reason}); {TO_UTF8}"
        raise TokenizerError(f"{describe_file(name)}, line {line:,}: {why}") from error
