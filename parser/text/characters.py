"""The characters of a text as kernels read them: in NFC, folded, classified, and with each run of
white space as one character.

A tokenizer decides by what characters have in common. So letters are compared in lower case,
typographic apostrophes and quotes are compared as those of ASCII, and each character has one of
some thirty classes, such as a digit, a capital or a currency sign. The output keeps the characters
of the text: ``starts`` and ``ends`` say where they stand there.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import compress
from typing import NamedTuple

import numpy as np

from parser.data.spelling import INVISIBLE
from parser.kernels import kernel

# Classes of characters. The first is NONE, for no character. The next three are white space,
# in the order of how strongly they separate.
NONE, BLANK, LINE, PARAGRAPH = range(4)
LOWER, UPPER, LETTER, MARK, DIGIT = range(4, 9)
PERIOD, COMMA, SEMICOLON, STOP, ELLIPSIS, APOSTROPHE, QUOTE, OPENING, CLOSING = range(9, 18)
HYPHEN, DASH, SLASH, AT, NUMBER_SIGN, CURRENCY, MATH, JOINER, SYMBOL, OTHER = range(18, 28)
COLON, AMPERSAND, ACCENT = range(28, 31)
N_CLASSES = 32
_UNKNOWN = 255  # a character that classify() has not seen yet

_APOSTROPHES, _QUOTES = "'\u2019\u2018`\u00b4\u02bc", '"\u201c\u201d\u201e\u00ab\u00bb'
_CLASSES = {
    ".": PERIOD, ",": COMMA, ";": SEMICOLON, ":": COLON, "\u2026": ELLIPSIS, "@": AT,
    "#": NUMBER_SIGN, "%": MATH, "&": AMPERSAND, "\0": BLANK, "\ufeff": NONE,
    **dict.fromkeys("!?\u037e\u3002\uff01\uff1f\u0589", STOP), **dict.fromkeys("_*~^", JOINER),
    **dict.fromkeys("-\u2010\u2011", HYPHEN), **dict.fromkeys("\u2013\u2014", DASH),
    **dict.fromkeys("/\\", SLASH), **dict.fromkeys("\u055e\u055b\u055c", ACCENT),
    **dict.fromkeys(_APOSTROPHES, APOSTROPHE), **dict.fromkeys(_QUOTES, QUOTE),
    **dict.fromkeys("\n\r\v\x85\u2028", LINE), **dict.fromkeys("\f\u2029", PARAGRAPH),
}  # fmt: skip
_CATEGORIES = {
    "Ll": LOWER, "Lu": UPPER, "Lt": UPPER, "Lo": LETTER, "Lm": LETTER,
    "Mn": MARK, "Mc": MARK, "Me": MARK, "Nd": DIGIT, "Nl": DIGIT, "No": DIGIT,
    "Pd": DASH, "Ps": OPENING, "Pe": CLOSING, "Pi": QUOTE, "Pf": QUOTE, "Pc": JOINER,
    "Sm": MATH, "Sc": CURRENCY, "So": SYMBOL, "Sk": SYMBOL,
}  # fmt: skip

# The number of empty characters around each paragraph: functions that read neighbours need not look
# for its ends.
EDGE = 8
# Longer stretches have the hash of their last characters.
LONGEST = 250

_BASE = 0x100000001B3
POWERS = np.array([pow(_BASE, exponent, 1 << 64) for exponent in range(LONGEST + 1)], np.uint64)

_classes = np.full(0x110000, _UNKNOWN, np.uint8)
_folded = np.zeros(0x110000, np.int32)


class TextCharacters(NamedTuple):
    """The characters of a text; EDGE characters without a meaning stand around each paragraph.

    Attributes:
        codes: int32[n], code points in NFC; a run of white space is one space, or a line feed if it
            has a line end.
        kinds: uint8[n], the classes; around paragraphs PARAGRAPH.
        starts, ends: int32[n], where each character stands in the original text.
        hashes: uint64[n + 1], the hashes of the folded characters before each place; see stretch().
        shapes: uint64[n + 1], the hashes of the classes of these characters.
        chunks: int32[n], for each character the number of its chunk, which ends at white space;
            0 for white space.
        chunk_starts, chunk_ends: int32[chunks]; chunk 0, and the chunk at the end of each
            paragraph, are empty.
    """

    codes: np.ndarray
    kinds: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    hashes: np.ndarray
    shapes: np.ndarray
    chunks: np.ndarray
    chunk_starts: np.ndarray
    chunk_ends: np.ndarray


def characters_of(text: str, *, lines: bool = False) -> TextCharacters:
    """Return the characters of a text, which may have any number of paragraphs;
    with ``lines``, each line is one.
    """
    composed, starts, ends = composed_text(text)
    codes = np.frombuffer(composed.encode("utf-32-le", "surrogatepass"), np.int32)
    classify(codes)
    kinds = _classes[codes]
    if lines:
        kinds[kinds == LINE] = PARAGRAPH
    size = len(codes) + EDGE * (2 + int(np.count_nonzero((kinds == LINE) | (kinds == PARAGRAPH))))
    arrays = (
        np.empty(size, np.int32),
        np.empty(size, np.uint8),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
    )
    n = _collapse(codes, kinds, starts, ends, *arrays)
    filled = [array[:n] for array in arrays]
    hashes = np.empty(n + 1, np.uint64)
    shapes = np.empty(n + 1, np.uint64)
    chunks = np.empty(n, np.int32)
    bounds = np.zeros((2, n + 2), np.int32)
    n_chunks = _analyse(filled[0], filled[1], _folded, hashes, shapes, chunks, bounds)
    return TextCharacters(
        filled[0],
        filled[1],
        filled[2],
        filled[3],
        hashes,
        shapes,
        chunks,
        bounds[0, :n_chunks],
        bounds[1, :n_chunks],
    )


def composed_text(text: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the text in NFC and without invisible characters, and int32[n] where each of its
    characters begins and ends in the original.

    A run of invisible characters belongs to the character before it, or else to the one after it.
    Byte order marks at the outer end of the run belong to no character. Between blanks, a run
    stays in the text.
    """
    text, first, stop = _visible_text(text)
    if unicodedata.is_normalized("NFC", text):
        return text, first, stop
    composed, starts, ends = [], [], []
    place = 0
    for cluster in _clusters(text):
        piece = unicodedata.normalize("NFC", cluster)
        composed.append(piece)
        last = len(cluster) - 1
        fewer = len(cluster) - len(piece)  # the first one of the piece stands for so many more
        starts += [place, *(place + min(max(fewer, 0) + n, last) for n in range(1, len(piece)))]
        ends += [place + min(max(fewer, 0) + n, last) for n in range(len(piece))]
        place += len(cluster)
    return "".join(composed), first[starts], stop[ends]


def _visible_text(text: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the text without the invisible characters that belong to others, and int32[n] where
    each of its characters begins and ends in the original.
    """
    starts = np.arange(len(text), dtype=np.int32)
    ends = starts + 1
    if text.isascii():
        return text, starts, ends
    stays = np.ones(len(text), np.bool_)
    for run in INVISIBLE.finditer(text):
        first, stop = run.span()
        if first and not _is_gap(text[first - 1]):
            ends[first - 1] = first + len(run[0].rstrip("\ufeff"))
        elif stop < len(text) and not _is_gap(text[stop]):
            starts[stop] = stop - len(run[0].lstrip("\ufeff"))
        else:
            continue
        stays[first:stop] = False
    if stays.all():
        return text, starts, ends
    return "".join(compress(text, stays)), starts[stays], ends[stays]


def _is_gap(character: str) -> bool:
    """Return whether a character is no part of a token."""
    return class_of(character) <= PARAGRAPH


def _clusters(text: str) -> Iterator[str]:
    """Yield the text in pieces that are composed independently of one another."""
    begun = 0
    for place in range(1, len(text)):
        if not joins_character_before(text[place]) or text[place - 1].isspace():
            yield text[begun:place]
            begun = place
    yield text[begun:]


def joins_character_before(character: str) -> bool:
    """Return whether NFC may compose a character with one before it: combining marks,
    vowels and finals of Hangul.
    """
    return character > "\u02ff" and (
        unicodedata.combining(character) != 0
        or "\u1161" <= character <= "\u11ff"
        or unicodedata.category(character) in ("Mc", "Mn")
    )


def folded(form: str) -> str:
    """Return a form as it is compared: in NFC and lower case, with apostrophes and quotes of ASCII.

    It is as long as the form in NFC.
    """
    if form.isascii():
        return form.lower().replace("`", "'")
    composed = unicodedata.normalize("NFC", form)
    return "".join(map(_folded_character, composed))


def hash_of(form: str) -> int:
    """Return the hash of a form, as stretch() finds it in a text."""
    value = 0
    for character in folded(form)[-LONGEST:]:
        value = (value * _BASE + ord(character) + 1) % (1 << 64)
    return value


def classify(codes: np.ndarray) -> None:
    """Fill in the class and the folded form of code points (int32[n]) that no text had before."""
    if len(codes) and (unknown := codes[_classes[codes] == _UNKNOWN]).size:
        for code in np.unique(unknown).tolist():
            character = chr(code)
            _folded[code] = ord(_folded_character(character))
            _classes[code] = class_of(character)


def class_of(character: str) -> int:
    """Return the class of a character."""
    kind = _CLASSES.get(character)
    if kind is None:
        kind = (
            BLANK
            if character.isspace()
            else _CATEGORIES.get(unicodedata.category(character), OTHER)
        )
    return kind


def _folded_character(character: str) -> str:
    if character in _APOSTROPHES:
        return "'"
    if character in _QUOTES:
        return '"'
    small = character.lower()
    return small if len(small) == 1 else character


@kernel()
def _collapse(codes, kinds, starts, ends, to_codes, to_kinds, to_starts, to_ends):
    """Copy characters, each run of white space as one, and EDGE empty ones around each paragraph;
    return how many there are.
    """
    n = 0
    gap = np.uint8(PARAGRAPH)
    last = 0
    for place in range(len(codes) + 1):
        kind = kinds[place] if place < len(codes) else np.uint8(PARAGRAPH)
        if kind == NONE:
            continue
        if kind <= PARAGRAPH:
            if kind == LINE and place > 0 and codes[place] == 10 and codes[place - 1] == 13:
                continue
            gap = np.uint8(PARAGRAPH) if kind == LINE and gap >= LINE else max(gap, kind)
            if place < len(codes):
                continue
        if gap == PARAGRAPH:
            for _ in range(EDGE):
                to_codes[n], to_kinds[n], to_starts[n], to_ends[n] = 12, PARAGRAPH, last, last
                n += 1
            # the text begins or ends with white space, or is empty
            if n > EDGE and to_kinds[n - EDGE - 1] == PARAGRAPH:
                n -= EDGE
        elif gap > 0:
            to_codes[n] = 32 if gap == BLANK else 10
            to_kinds[n] = gap
            to_starts[n] = last
            to_ends[n] = starts[place]
            n += 1
        if place < len(codes):
            to_codes[n] = codes[place]
            to_kinds[n] = kind
            to_starts[n] = starts[place]
            to_ends[n] = ends[place]
            last = ends[place]
            n += 1
        gap = np.uint8(0)
    return n


@kernel()
def _analyse(codes, kinds, folded_codes, hashes, shapes, chunks, bounds):
    """Fill in hashes, shapes, chunks and their bounds.

    Return the number of chunks, with an empty one at each paragraph's end.
    """
    base = np.uint64(_BASE)
    hashes[0] = shapes[0] = 0
    n_chunks = 1
    inside = False
    for place in range(len(codes)):
        kind = kinds[place]
        small = 32 if kind <= PARAGRAPH else folded_codes[codes[place]]
        hashes[place + 1] = hashes[place] * base + np.uint64(small) + np.uint64(1)
        shapes[place + 1] = shapes[place] * base + np.uint64(kind) + np.uint64(1)
        chunks[place] = 0
        if kind > PARAGRAPH:
            if not inside:
                bounds[0, n_chunks] = place
            inside = True
            chunks[place] = n_chunks
        else:
            if inside:
                bounds[1, n_chunks] = place
                n_chunks += 1
                if kind == PARAGRAPH:
                    bounds[0, n_chunks] = bounds[1, n_chunks] = place
                    n_chunks += 1
            inside = False
    return n_chunks


@kernel(forceinline=True)
def stretch(hashes, powers, start, end):
    """Return the hash of the characters from start to before end."""
    start = max(start, end - LONGEST)
    return hashes[end] - hashes[start] * powers[end - start]
