"""Where tokens end: a decision at each place between two characters, greedily from left to right.

Only places at which tokens both end and continue in training are decided: pairs of classes of
characters, such as a letter before an apostrophe. At white space a token ends, unless the language
has words with spaces in them (``joins``), as Vietnamese does. Most treebanks have too few dashes
between words, and signs such as = and < beside words, to learn from. They are tokens, unless
training has them within tokens (``dashes``, ``relations``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.kernels import kernel
from parser.text.characters import (
    APOSTROPHE,
    AT,
    COLON,
    COMMA,
    CURRENCY,
    DIGIT,
    HYPHEN,
    LETTER,
    LINE,
    LOWER,
    MARK,
    N_CLASSES,
    PARAGRAPH,
    PERIOD,
    QUOTE,
    SEMICOLON,
    SLASH,
    STOP,
    UPPER,
    TextCharacters,
    stretch,
)
from parser.text.decisions import (
    ABBREVIATION,
    KNOWN,
    LISTED,
    are_known,
    compiled_templates,
    form_value,
    score,
)

# The atoms of a place between the characters i and j. A stretch is a hash of characters,
# folded; ``k`` are their classes.
_WINDOW = 6
ATOMS = (
    *(f"left{n}" for n in range(1, _WINDOW + 1)),  # the stretch of n characters up to i
    *(f"right{n}" for n in range(1, _WINDOW + 1)),  # and from j on
    *(f"kleft{n}" for n in range(1, _WINDOW)),  # the stretch of their classes
    *(f"kright{n}" for n in range(1, _WINDOW)),
    *("l2", "l3", "l4", "r2", "r3", "r4"),  # single characters at a distance
    "pair",  # classes of i and j, and the kind of white space between them
    *("chunk", "kchunk"),  # the characters between white space around i, and its place in them
    *("rest", "krest", "restn", "head"),  # the chunk from j on, its length, and the chunk up to i
    # classes of the chunk's last and first character, what follows it, what it holds
    *("last", "first", "after", "inside"),
    # the token so far, its length, and the token so far with the next character
    *("token", "ktoken", "tokenn", "token+1"),
    # the chunks before and after, and the class of the next one's first character
    *("next", "knext", "previous"),
    # how often the token so far, the rest, and the token with one more character occur in training
    *("known", "known-rest", "known+1"),
    "listed+1",  # whether the token and one character more is a known abbreviation
    *(
        "gap-left",
        "gap-right",
        "gap-joined",
        "gap-pair",
        "gap-next",
    ),  # at white space: the chunks on both sides, how known they are
)

_BOTH = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (1, 3), (3, 3), (4, 2), (2, 4)]
_CLASSES = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (2, 3), (3, 3), (5, 1), (1, 5), (5, 5)]
TEMPLATES = (
    "pair",
    *(f"{side}{n}" for n in range(1, _WINDOW + 1) for side in ("left", "right")),
    *(f"left{left} right{right}" for left, right in _BOTH),
    *("l2 pair", "l3 pair", "l4 pair", "r2 pair", "r3 pair", "r4 pair"),
    *(f"kleft{left} kright{right} pair" for left, right in _CLASSES),
    *("left1 kright1", "kleft1 right1"),
    *(
        "chunk",
        "kchunk",
        "rest",
        "krest pair",
        "head",
        "restn last pair",
        "first last after pair",
        "inside pair",
        "inside restn pair",
    ),
    *("token kright1", "token restn", "ktoken pair", "tokenn pair", "token+1", "token rest"),
    *("knext after restn pair", "token knext after restn", "next pair", "previous pair"),
    *("known pair", "known known-rest pair", "known known+1 pair", "known known-rest restn pair"),
    *(
        "gap-left",
        "gap-right",
        "gap-left gap-right",
        "previous gap-left gap-right",
        "gap-left gap-right next",
        "gap-right next",
    ),
    *(
        "previous gap-left",
        "token gap-right",
        "known gap-joined gap-next known-rest",
        "gap-joined gap-pair gap-next",
    ),
    *("token gap-joined gap-next", "listed+1 pair", "listed+1 restn pair"),
)
PROGRAM = compiled_templates(TEMPLATES, ATOMS)


class TokenPlaces(NamedTuple):
    """Where tokens of a language may end.

    Attributes:
        candidates: bool[classes, classes]: between which classes of characters there is a decision.
        joins: whether tokens may have white space in them.
        dashes: whether tokens may have a dash between letters or digits.
        relations: whether tokens may have a relation sign beside a letter or digit.
    """

    candidates: np.ndarray
    joins: bool
    dashes: bool
    relations: bool


class TokenEndModel(NamedTuple):
    """The learned model of the ends of tokens.

    Attributes:
        weights: uint16[2^k]; see decisions.packed().
        templates: int32[templates, most atoms].
        places: where tokens may end.
        forms: uint32[2^k]; see decisions.packed_forms().
    """

    weights: np.ndarray
    templates: np.ndarray
    places: TokenPlaces
    forms: np.ndarray

    @classmethod
    def new(cls, weights: np.ndarray, places: TokenPlaces, forms: np.ndarray) -> TokenEndModel:
        """Return the model with the templates of this module."""
        return cls(weights, PROGRAM, places, forms)


def never_seen(weights: np.ndarray) -> np.ndarray:
    """Return bool[classes, classes]: the pairs with letters without case or combining marks that
    were never seen in training, for a tokenizer from before cuts() in training/text/examples.py
    closed them.
    """
    letters = range(LOWER, DIGIT + 1)
    others = [(kind, MARK) for kind in range(LOWER, N_CLASSES)]
    with_letters = [pair for kind in letters for pair in ((kind, LETTER), (LETTER, kind))]
    pairs = np.array([*others, *with_letters, *((MARK, kind) for kind in letters)], np.uint64)
    values = ((pairs[:, 0] * np.uint64(N_CLASSES) + pairs[:, 1]) << np.uint64(2)) + np.uint64(1)
    unseen = pairs[~are_known(weights, PROGRAM, values)].astype(np.int64)
    table = np.zeros((N_CLASSES, N_CLASSES), np.bool_)
    table[unseen[:, 0], unseen[:, 1]] = True
    return table


def find_tokens(
    text: TextCharacters, joined: np.ndarray, model: TokenEndModel, powers: np.ndarray
) -> np.ndarray:
    """Return int32[2, tokens]: the first character of each token, and the one after its last,
    in the order of the text.

    ``joined`` is bool[characters], whether no token ends between a character and the next one; see
    kinds.py.
    """
    bounds = np.empty((2, len(text.codes)), np.int32)
    atoms, keys = np.empty(len(ATOMS), np.uint64), np.empty(len(TEMPLATES), np.uint64)
    n = _find_tokens(text, joined, model, powers, atoms, keys, bounds)
    return bounds[:, :n]


@kernel()
def _find_tokens(text, joined, model, powers, atoms, keys, bounds):
    kinds, places = text.kinds, model.places
    n = 0
    # int64, because a literal 0 has its own type, for which all kernels below would be compiled as
    # well
    place = np.int64(0)
    while place < len(kinds):
        if kinds[place] <= PARAGRAPH:
            place += 1
            continue
        begun = place
        while True:
            then = place + 1
            if kinds[then] == PARAGRAPH:
                break
            if kinds[then] <= LINE:
                then += 1
            if joined[place] or keeps_period(
                kinds, place, then, begun, text.hashes, model.forms, powers
            ):
                place = then
                continue
            if (
                (not places.dashes and is_beside_dash(text.codes, kinds, place, then))
                or (not places.relations and is_beside_relation(text.codes, kinds, place, then))
                or ends_abbreviation(kinds, place, then, begun, text.hashes, model.forms, powers)
            ):
                break
            if not is_open(kinds, place, then, places):
                if then > place + 1:
                    break
            else:
                fill_atoms(atoms, place, then, begun, text, model.forms, powers)
                if score(model.weights, atoms, model.templates, keys) > 0:
                    break
            place = then
        bounds[0, n], bounds[1, n] = begun, place + 1
        n += 1
        place = then
    return n


@kernel()
def keeps_period(kinds, i, j, begun, hashes, forms, powers):
    """Return whether the character j is the period of a known abbreviation, and is certainly in the
    same token.

    This holds for initials, for the user's own abbreviations, and for abbreviations that a name or
    a number follows. Other abbreviations may be words that end a sentence. For these it holds only
    if what follows begins no sentence; otherwise the model decides.
    """
    if j != i + 1 or kinds[j] != PERIOD or kinds[j + 1] == PERIOD:  # not of an ellipsis
        return False
    following = kinds[j + 2] if kinds[j + 1] <= LINE else kinds[j + 1]
    if i == begun and kinds[i] == UPPER and following == UPPER and is_in_name(kinds, i):
        return True
    listed = form_value(forms, stretch(hashes, powers, begun, j + 1)) >> LISTED & 3
    if listed != ABBREVIATION:
        return listed > 0
    return following in (LOWER, DIGIT, CURRENCY, COMMA, SEMICOLON, COLON, STOP)


@kernel()
def ends_abbreviation(kinds, i, j, begun, hashes, forms, powers):
    """Return whether the character j is a question or exclamation mark right after the period of a
    known abbreviation, which is a token of its own.
    """
    return (
        j == i + 1
        and kinds[i] == PERIOD
        and kinds[j] == STOP
        and (form_value(forms, stretch(hashes, powers, begun, j)) >> LISTED & 3) > 0
    )


@kernel()
def is_beside_dash(codes, kinds, i, j):
    """Return whether one of the characters i and j is a dash, without spaces between two words."""
    if j != i + 1:
        return False
    if is_dash(codes[j]):
        return is_of_word(kinds[i]) and is_of_word(kinds[j + 1])
    return is_dash(codes[i]) and is_of_word(kinds[i - 1]) and is_of_word(kinds[j])


@kernel(forceinline=True)
def is_dash(code):
    """Return whether a character is a figure dash, an en dash, an em dash or a horizontal bar."""
    return 0x2012 <= code <= 0x2015


@kernel(forceinline=True)
def is_of_word(kind):
    """Return whether a character of this class is a letter or a digit, or a quotation mark, which
    may stand between a dash and a word.
    """
    return LOWER <= kind <= DIGIT or kind in (APOSTROPHE, QUOTE)


@kernel()
def is_beside_relation(codes, kinds, i, j):
    """Return whether one of the characters i and j is a relation sign and the other one a letter
    or digit of another token, or the mark before a number, as in p=.05 and x=-3.

    The model decides about = before a letter, which may be a misprint or an emoticon, and about <3.
    """
    sign, word = (j, i) if is_relation(codes[j]) else (i, j)
    if j != i + 1 or not is_relation(codes[sign]):
        return False
    begins = word == j and kinds[j + 1] == DIGIT and kinds[j] in (PERIOD, HYPHEN, CURRENCY)
    if not begins and not LOWER <= kinds[word] <= DIGIT:
        return False
    if codes[sign] == ord("="):
        return not LOWER <= kinds[sign + 1] < DIGIT
    is_heart = codes[sign] == ord("<") and codes[sign + 1] == ord("3")
    within = LOWER <= kinds[sign + 2] <= DIGIT or kinds[sign + 3] == DIGIT
    return not is_heart or within or kinds[sign - 1] > PARAGRAPH


@kernel(forceinline=True)
def is_relation(code):
    """Return whether a character is one of = < >, plus-minus, times, divided by, almost or not
    equal, and less or greater than or equal to.
    """
    return 0x3C <= code <= 0x3E or code in (0xB1, 0xD7, 0xF7, 0x2248, 0x2260, 0x2264, 0x2265)


@kernel()
def is_in_name(kinds, i):
    """Return whether a single capital begins a paragraph, or follows a chunk with a capital,
    as the initials of names do.
    """
    if kinds[i - 1] > LINE or kinds[i - 1] == PARAGRAPH:
        return kinds[i - 1] == PARAGRAPH
    place = i - 2
    while kinds[place - 1] > PARAGRAPH:
        place -= 1
    return kinds[place] == UPPER


@kernel(forceinline=True)
def is_open(kinds, i, j, places):
    """Return whether there is a decision between the characters i and j,
    which may have white space between them.
    """
    return places.joins if j > i + 1 else places.candidates[kinds[i], kinds[j]]


@kernel()
def fill_atoms(atoms, i, j, begun, text, forms, powers):
    """Fill in the atoms of the place between the characters i and j,
    in a token that began at ``begun``; see ATOMS.
    """
    kinds, hashes, shapes = text.kinds, text.hashes, text.shapes
    n = 0
    for size in range(1, _WINDOW + 1):
        atoms[n] = stretch(hashes, powers, i + 1 - size, i + 1)
        atoms[n + _WINDOW] = stretch(hashes, powers, j, j + size)
        n += 1
    n += _WINDOW
    for size in range(1, _WINDOW):
        atoms[n] = stretch(shapes, powers, i + 1 - size, i + 1)
        atoms[n + _WINDOW - 1] = stretch(shapes, powers, j, j + size)
        n += 1
    n += _WINDOW - 1
    for distance in range(1, 4):
        atoms[n] = stretch(hashes, powers, i - distance, i - distance + 1)
        atoms[n + 3] = stretch(hashes, powers, j + distance, j + distance + 1)
        n += 1
    n += 3
    gap = np.uint64(kinds[i + 1]) if j > i + 1 else np.uint64(0)
    atoms[n] = (
        (np.uint64(kinds[i]) * np.uint64(N_CLASSES) + np.uint64(kinds[j])) << np.uint64(2) | gap
    ) + np.uint64(1)

    chunk, then = text.chunks[i], text.chunks[j]
    # int64, so that the kernels below are compiled for no other integers
    start, end = np.int64(text.chunk_starts[chunk]), np.int64(text.chunk_ends[chunk])
    stop = np.int64(text.chunk_ends[then])
    offset = np.uint64(i - start + 1) << np.uint64(56)
    rest = min(stop - j, 8)
    atoms[n + 1] = stretch(hashes, powers, start, end) ^ offset
    atoms[n + 2] = stretch(shapes, powers, start, end) ^ offset
    atoms[n + 3] = stretch(hashes, powers, j, stop)
    atoms[n + 4] = stretch(shapes, powers, j, stop)
    atoms[n + 5] = rest
    atoms[n + 6] = stretch(hashes, powers, start, i + 1)
    atoms[n + 7] = kinds[stop - 1]
    atoms[n + 8] = kinds[start]
    atoms[n + 9] = kinds[stop]
    atoms[n + 10] = contents_of(kinds, start, end) + 1
    token = stretch(hashes, powers, begun, i + 1)
    atoms[n + 11] = token
    atoms[n + 12] = stretch(shapes, powers, begun, i + 1)
    atoms[n + 13] = min(i + 1 - begun, 6)
    longer = stretch(hashes, powers, begun, j + 1)
    atoms[n + 14] = longer
    following, before = then + 1, chunk - 1
    next_start = np.int64(text.chunk_starts[following])
    next_end = np.int64(text.chunk_ends[following])
    earlier = stretch(
        hashes, powers, np.int64(text.chunk_starts[before]), np.int64(text.chunk_ends[before])
    )
    atoms[n + 15] = stretch(hashes, powers, next_start, next_end) + np.uint64(1)
    atoms[n + 16] = kinds[next_start]
    atoms[n + 17] = earlier + np.uint64(1)
    atoms[n + 18] = known(forms, token)
    atoms[n + 19] = known(forms, atoms[n + 3])
    value = form_value(forms, longer)
    atoms[n + 20] = (value >> KNOWN & 3) + 1
    atoms[n + 21] = value >> LISTED & 3
    n += 22
    if gap:
        atoms[n] = stretch(hashes, powers, start, end)
        atoms[n + 1] = stretch(hashes, powers, j, stop)
        atoms[n + 2] = known(forms, stretch(hashes, powers, begun, stop))
        atoms[n + 3] = known(forms, stretch(hashes, powers, start, stop))
        atoms[n + 4] = known(forms, stretch(hashes, powers, j, next_end))
    else:
        for k in range(n, n + 5):
            atoms[k] = 0


@kernel(forceinline=True)
def known(forms, hashed):
    """Return how often a form occurs in training, in four steps, 1 to 4: never, once, two or
    three times, more often.
    """
    return (form_value(forms, hashed) >> KNOWN & 3) + 1


@kernel()
def contents_of(kinds, start, end):
    """Return flags of marks within a chunk: an @ (1), a slash (2), a period before a letter (4),
    several apostrophes (8).
    """
    flags = 0
    apostrophes = 0
    for place in range(start, min(end - 1, start + 80)):
        kind = kinds[place]
        if kind == AT:
            flags |= 1
        elif kind == SLASH:
            flags |= 2
        elif kind == PERIOD and (kinds[place + 1] == LOWER or kinds[place + 1] == UPPER):
            flags |= 4
        elif kind == APOSTROPHE:
            apostrophes += 1
            if apostrophes == 2:
                flags |= 8
    return flags
