"""Where sentences end: a decision after each token, from left to right, from the forms, affixes and
shapes of the tokens around it, from the statistics of these forms in training, from the sentence so
far, and from the ends of lines.

A line end says more if the next word would still have fitted into the line than if the line is
wrapped. Whether the lines of a paragraph are wrapped is decided from this paragraph only, so that
cutting the text between paragraphs changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.kernels import kernel
from parser.text.characters import (
    CLOSING,
    COMMA,
    CURRENCY,
    DIGIT,
    EDGE,
    LINE,
    LOWER,
    N_CLASSES,
    OPENING,
    PARAGRAPH,
    PERIOD,
    QUOTE,
    UPPER,
    TextCharacters,
    stretch,
)  # fmt: skip
from parser.text.decisions import (
    ABBREVIATION,
    BEFORE_NAME,
    BEGINS,
    CAPITALS,
    ENDS,
    LISTED,
    OWN_ABBREVIATION,
    compiled_templates,
    form_value,
    score,
)

# Rows of properties of each token. ``kinds`` are the classes of its first and last character,
# ``gap`` the white space after it, ``line`` how a line ends after it, ``ends`` to ``capitals`` the
# odds in training, ``listed`` whether it is a known abbreviation.
ROWS = (
    *("form", "prefix3", "suffix3", "suffix2", "suffix1", "shape", "kfirst", "klast", "gap"),
    *("line", "ends", "begins", "capitals", "listed"),
)
FORM, PREFIX3, SUFFIX3, SUFFIX2, SUFFIX1, SHAPE, KFIRST, KLAST, GAP = range(9)
LINE_END, ODDS_END, ODDS_BEGIN, ODDS_CAPITAL, KIND_LISTED = range(9, len(ROWS))

# Nobody wraps lines at fewer characters: in such a paragraph each line ends a sentence.
_NARROW = 30
_NO_LINE, SHORT_LINE = 1, 5

# Classes of the odds to begin a sentence: 6 to 15 percent of the occurrences,
# and a form with too few of them.
_OFTEN, _FEW = 4, 8

_BEFORE, _AFTER = 3, 4
# Atoms of the token at a distance, such as ``form-1`` and ``form+2``, and of the sentence so far.
_WINDOW = [(row, distance) for row in range(len(ROWS)) for distance in range(-_BEFORE, _AFTER + 1)]
_HISTORY = ("length", "quotes", "opener", "kopener")
ATOMS = (
    *(f"{ROWS[row]}{distance:+d}" if distance else ROWS[row] for row, distance in _WINDOW),
    *_HISTORY,
)

TEMPLATES = (
    *(
        atom
        for atom in ATOMS
        if atom.startswith(("form", "suffix3", "prefix3", "suffix1", "shape"))
    ),
    *("ends", "begins+1", "begins+2", "ends-1", "capitals+1"),
    *("capitals-1", "length", "quotes", "opener"),
    *("line", "gap-1", "gap+1 line+1"),
    *("form form+1", "form-1 form", "form+1 form+2", "form-1 form+1", "form form+2"),
    *("form-1 form form+1", "form form+1 form+2"),
    *("form-2 form-1 form", "form+2 form+3", "form+1 form+2 form+3"),
    *("suffix2 prefix3+1", "suffix3-1 form", "suffix2 suffix2+1", "suffix2-1 suffix2 suffix2+1"),
    *("suffix2 suffix2+1 suffix2+2", "suffix2 shape+1", "suffix1 shape+1", "suffix3 shape+1"),
    *("suffix1 suffix1+1", "suffix1-1 suffix1 suffix1+1", "suffix2 begins+1 begins+2"),
    *("shape shape+1 gap", "shape-1 shape shape+1"),
    *("shape shape+1 shape+2", "shape-2 shape-1 shape shape+1 shape+2"),
    *("form shape+1 gap", "shape form+1 gap", "form-1 form shape+1"),
    *("shape-1 form shape+1", "form shape+1 shape+2"),
    *("form kfirst-1 klast-1 gap", "form gap gap-1", "form kfirst+1 klast+1 gap"),
    *("ends begins+1", "form begins+1", "form+1 ends"),
    *("form capitals+1 kfirst+1", "ends begins+1 begins+2 ends-1"),
    *("form ends-1 capitals-1", "shape begins+1 capitals+1 kfirst+1"),
    "form capitals+1 capitals-1 kfirst+1 kfirst-1",
    *("form begins+1 begins+2 gap", "form length", "form+1 length"),
    *("form quotes", "form quotes kfirst+1 klast+1"),
    *("opener form", "kopener length shape"),
    *("line klast", "line klast kfirst+1", "line kfirst+1"),
    *("form line", "form+1 line", "line length"),
    *("listed", "listed kfirst+1", "listed shape"),
    *("listed kfirst+1 capitals+1", "listed kfirst+1 begins+1", "listed line"),
)
PROGRAM = compiled_templates(TEMPLATES, ATOMS)
PLACES = np.array(_WINDOW, np.int32)


class SentenceEndModel(NamedTuple):
    """The learned model of the ends of sentences.

    Attributes:
        weights: uint16[2^k]; see decisions.packed().
        templates: int32[templates, most atoms].
        places: int32[atoms of tokens, 2], the row of each and the distance of its token.
        forms: uint32[2^k]; see decisions.packed_forms().
        threshold: a sentence ends where the score is higher, in steps.
    """

    weights: np.ndarray
    templates: np.ndarray
    places: np.ndarray
    forms: np.ndarray
    threshold: int

    @classmethod
    def new(cls, weights: np.ndarray, forms: np.ndarray, threshold: int) -> SentenceEndModel:
        """Return the model with the templates of this module."""
        return cls(weights, PROGRAM, PLACES, forms, threshold)


def find_ends(
    text: TextCharacters, tokens: np.ndarray, model: SentenceEndModel, powers: np.ndarray
) -> np.ndarray:
    """Return bool[tokens], whether a sentence ends after each token.

    ``tokens`` is int32[2, tokens], as find_tokens() returns it.
    """
    rows = token_rows(text, tokens, model.forms, powers)
    ends = np.zeros(tokens.shape[1], np.bool_)
    atoms, keys = np.empty(len(ATOMS), np.uint64), np.empty(len(TEMPLATES), np.uint64)
    _find_ends(
        rows, np.ascontiguousarray(tokens), paragraph_ends(text, tokens), model, atoms, keys, ends
    )
    return ends


def paragraph_ends(text: TextCharacters, tokens: np.ndarray) -> np.ndarray:
    """Return bool[tokens], whether a paragraph ends after each token."""
    return text.kinds[tokens[1]] == PARAGRAPH


def token_rows(
    text: TextCharacters, tokens: np.ndarray, forms: np.ndarray, powers: np.ndarray
) -> np.ndarray:
    """Return uint64[rows, tokens + empty ones], the properties of tokens; EDGE empty tokens stand
    around each paragraph.
    """
    paragraphs = int(np.count_nonzero(paragraph_ends(text, tokens)))
    rows = np.zeros((len(ROWS), tokens.shape[1] + EDGE * (paragraphs + 1)), np.uint64)
    _fill_rows(text, np.ascontiguousarray(tokens), forms, powers, rows)
    return rows


@kernel()
def _fill_rows(text, tokens, forms, powers, rows):
    kinds, hashes = text.kinds, text.hashes
    n = tokens.shape[1]
    at = EDGE
    first = np.int64(0)  # of the paragraph; a literal 0 would compile _fill_lines twice
    for t in range(n):
        # int64, so that the kernels below are compiled for no other integers
        start, end = np.int64(tokens[0, t]), np.int64(tokens[1, t])
        form = stretch(hashes, powers, start, end)
        rows[FORM, at] = form
        rows[PREFIX3, at] = stretch(hashes, powers, start, min(start + 3, end))
        rows[SUFFIX3, at] = stretch(hashes, powers, max(end - 3, start), end)
        rows[SUFFIX2, at] = stretch(hashes, powers, max(end - 2, start), end)
        rows[SUFFIX1, at] = stretch(hashes, powers, end - 1, end)
        rows[SHAPE, at] = shape_of(kinds, start, end)
        rows[KFIRST, at] = kinds[start]
        rows[KLAST, at] = kinds[end - 1]
        gap = kinds[end]
        rows[GAP, at] = gap + 1 if gap <= PARAGRAPH else 1
        value = form_value(forms, form)
        rows[ODDS_END, at] = (value >> ENDS & 15) + 1
        rows[ODDS_BEGIN, at] = (value >> BEGINS & 15) + 1
        rows[ODDS_CAPITAL, at] = (value >> CAPITALS & 3) + 1
        listed = value >> LISTED & 3
        if listed == 0 and kinds[end] == PERIOD:  # the period is a token of its own
            listed = form_value(forms, stretch(hashes, powers, start, end + 1)) >> LISTED & 3
        if listed == OWN_ABBREVIATION:  # training has not seen it
            listed = ABBREVIATION
        rows[KIND_LISTED, at] = listed + 1
        at += 1
        if gap == PARAGRAPH:
            _fill_lines(text, tokens, first, t + 1, rows[LINE_END, at - (t + 1 - first) : at])
            first = np.int64(t + 1)
            at += EDGE


@kernel()
def _fill_lines(text, tokens, first, stop, lines):
    """Fill in how a line ends after each token of a paragraph,
    from the first one until ``stop``; see line_ends().
    """
    kinds = text.kinds
    longest = 0
    begun = tokens[0, first]
    for t in range(first, stop):
        if kinds[tokens[1, t]] >= LINE and kinds[tokens[1, t]] <= PARAGRAPH:
            longest = max(longest, tokens[1, t] - begun)
            begun = tokens[1, t] + 1
    begun = tokens[0, first]
    for t in range(first, stop):
        end = tokens[1, t]
        lines[t - first] = 1
        if kinds[end] == LINE:
            following = text.chunks[end + 1]
            free = (
                longest
                - (end - begun)
                - 1
                - (text.chunk_ends[following] - text.chunk_starts[following])
            )
            lines[t - first] = (
                SHORT_LINE if longest < _NARROW else 2 if free < 0 else 3 if free < 12 else 4
            )
            begun = end + 1


@kernel()
def _fill_all_lines(text, tokens, lines):
    first = np.int64(0)  # as in _fill_rows
    for t in range(tokens.shape[1]):
        if text.kinds[tokens[1, t]] == PARAGRAPH:
            _fill_lines(text, tokens, first, t + 1, lines[first : t + 1])
            first = np.int64(t + 1)


def line_ends(text: TextCharacters, tokens: np.ndarray) -> np.ndarray:
    """Return uint64[tokens], how a line ends after each: 1 no line ends, 2 the line is full, 3
    nearly full, 4 another word would still have fitted.

    It is SHORT_LINE if no line of the paragraph is long enough to be wrapped. For ``tokens``, see
    find_ends().
    """
    lines = np.ones(tokens.shape[1], np.uint64)
    if np.any(text.kinds == LINE):
        _fill_all_lines(text, np.ascontiguousarray(tokens), lines)
    return lines


@kernel(forceinline=True)
def shape_of(kinds, start, end):
    """Return a hash of the classes of up to five runs of characters, and of whether the first is
    longer than a character.
    """
    shape = np.uint64(7)
    previous = np.uint8(0)
    runs = 0
    for place in range(start, end):
        kind = kinds[place]
        if kind != previous:
            runs += 1
            if runs > 5:
                break
            shape = (shape ^ np.uint64(kind)) * np.uint64(0x100000001B3)
        elif place == start + 1:
            shape = (shape ^ np.uint64(N_CLASSES)) * np.uint64(0x100000001B3)
        previous = kind
    return shape


@kernel(forceinline=True)
def fill_atoms(atoms, rows, places, at, begun, quotes):
    """Fill in the atoms of the token in a column of the rows,
    in a sentence that began in the column ``begun``.

    See ATOMS.
    """
    n = len(places)
    for a in range(n):
        atoms[a] = rows[places[a, 0], at + places[a, 1]]
    length = at - begun
    atoms[n] = 1 + (
        length
        if length < 4
        else 4 + (length > 5) + (length > 8) + (length > 13) + (length > 19) + (length > 29)
    )
    atoms[n + 1] = quotes + 1
    atoms[n + 2] = rows[FORM, begun]
    atoms[n + 3] = rows[SHAPE, begun]


@kernel(forceinline=True)
def quotes_after(quotes, rows, at):
    """Return the state of quotes and brackets after a token: 1 within quotes,
    and 2 for each open bracket, up to three.
    """
    if rows[KFIRST, at] != rows[KLAST, at]:
        return quotes
    kind = rows[KFIRST, at]
    if kind == QUOTE:
        return quotes ^ 1
    if kind == OPENING:
        return min(quotes + 2, 6 + (quotes & 1))
    if kind == CLOSING:
        return max(quotes - 2, quotes & 1)
    return quotes


@kernel()
def _begins_anew(rows, at, likely):
    """Return whether a token begins a sentence after one of the user's own abbreviations;
    ``likely`` says whether the model says so.

    A word with a capital does if it often begins sentences, and seldom has a capital within them,
    such as *The*.
    """
    kind = rows[KFIRST, at]
    if kind == UPPER:
        often, capital = rows[ODDS_BEGIN, at] - 1, rows[ODDS_CAPITAL, at] - 1
        return often != _FEW and (
            often >= _OFTEN if capital == 0 else often > _OFTEN and capital == 1
        )
    return likely and kind != LOWER and kind != DIGIT and kind != COMMA


@kernel()
def _find_ends(rows, tokens, last_of_paragraph, model, atoms, keys, ends):
    # int64, as literals are types of their own, for which kernels would be compiled too
    at = begun = np.int64(EDGE)
    quotes = np.int64(0)
    for t in range(tokens.shape[1]):
        quotes = quotes_after(quotes, rows, at)
        if last_of_paragraph[t]:
            ends[t] = True
            at += EDGE
        elif rows[LINE_END, at] == SHORT_LINE:
            ends[t] = True
        elif rows[KIND_LISTED, at] == BEFORE_NAME + 1 and rows[KLAST, at] == PERIOD:
            ends[t] = False
        else:
            fill_atoms(atoms, rows, model.places, at, begun, quotes)
            ends[t] = score(model.weights, atoms, model.templates, keys) > model.threshold
            if (
                rows[KIND_LISTED, at] == ABBREVIATION + 1
                and rows[KLAST, at] == PERIOD
                and rows[LINE_END, at] == _NO_LINE
            ):
                if rows[KFIRST, at + 1] == CURRENCY:  # approx. $5
                    ends[t] = False
                elif form_value(model.forms, rows[FORM, at]) >> LISTED & 3 == OWN_ABBREVIATION:
                    ends[t] = _begins_anew(rows, at + 1, ends[t])
        at += 1
        if ends[t]:
            begun, quotes = at, np.int64(0)
