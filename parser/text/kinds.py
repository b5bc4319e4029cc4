"""Kinds of text that most treebanks keep in one token, whatever marks they have within:
addresses, paths, dates, numbers.

If a treebank has enough occurrences of a kind, most of them decide whether the kind is one token.
If it has too few, the kind is one token, as it always is in UD_English-EWT.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from parser.text.characters import (
    AT,
    COLON,
    COMMA,
    DIGIT,
    HYPHEN,
    JOINER,
    LOWER,
    MATH,
    N_CLASSES,
    NUMBER_SIGN,
    PARAGRAPH,
    PERIOD,
    SLASH,
    SYMBOL,
    UPPER,
    TextCharacters,
    folded,
)

# Increase it when patterns change. Tokenizers keep the patterns that they were trained with.
VERSION = 2

_NAME = r"[\w-]+"
_END = r"(?<![.,;:!?'])"  # a mark at the end belongs to the sentence
_MARKS_OF_ADDRESS = "._~:/?#@!$&*+,;=%-"
# Letters of scripts that have spaces between words; in others, words may follow an address at once.
_LETTERS = "A-Za-z0-9\u00c0-\u052f\u0531-\u0587"
_ADDRESS = (
    rf"(?:[{_LETTERS}{_MARKS_OF_ADDRESS}]|['\u2019](?!s\W*$)|\([^\s()]*\))+(?<![.,;:!?'\u2019])"
)
_ADDRESS_BEFORE = rf"(?:[A-Za-z0-9{_MARKS_OF_ADDRESS}']|\([^\s()]*\))+{_END}"
_EXTENSIONS = (
    "pdf|docx?|xlsx?|pptx?|odt|txt|csv|tsv|json|xml|ya?ml|html?|css|[jt]sx?|py|java|cpp|php|sql|md|"
    "tex|zip|gz|tar|exe|jpe?g|png|gif|svg|mp[34]"
)
_COUNTRIES = "eu|uk|us|ie|de|fr|es|pt|br|it|nl|ru|vn|kr|am|jp|cn|in|au|ca"
_DOMAINS = f"com|org|net|edu|gov|mil|info|biz|int|io|{_COUNTRIES}"
_PICTURE, _SHADES, _FLAG = (
    "[\u2190-\u2bff\U0001f000-\U0001faff]",
    "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]",
    "[\U0001f1e6-\U0001f1ff]{2}",
)
_FILE = rf"{_NAME}(?:\.{_NAME})*\.(?:{_EXTENSIONS})\b"
_PATH = rf"(?:~|\.{{1,2}})?(?:/[\w.-]+){{2,}}/?{_END}|[A-Za-z]:\\\S+{_END}"
_UNFINISHED = r"(?:[-+.]?(?:alpha|beta|rc|dev|pre)[.-]?\d*)?(?!\w)"

# If several kinds match, the first one wins.
KINDS = {
    "url": rf"(?:https?|ftp)://{_ADDRESS}|www\.{_ADDRESS}",
    "email": rf"[\w.+-]{{1,64}}@{_NAME}(?:\.{_NAME})+",
    "domain": rf"{_NAME}(?:\.{_NAME})*\.(?:{_DOMAINS})\b(?::\d+)?(?:/{_ADDRESS})?",
    "path": rf"{_PATH}|[\w-][\w.-]*/(?:[\w.-]+/)*{_FILE}",
    "file": _FILE,
    "date": r"\d{4}-\d{2}-\d{2}\b|\d{1,2}/\d{1,2}/\d{2,4}\b",
    "fraction": r"\d+/\d+(?![\d/])",
    "time": r"\d{1,2}:\d{2}(?::\d{2})?(?!\d)",
    "number": r"(?<!\d,)(?:\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|\d+[.,]\d+)(?![\d.,]*\d)",
    "version": rf"(?:[vV]\d+(?:\.\d+)*|\d+(?:\.\d+){{2,}}){_UNFINISHED}",
    "identifier": r"[^\W_]+(?:_[^\W_]+)+",
    "hashtag": r"#\w*[^\W\d_]\w*",
    "mention": r"@\w+",
    "emoji": rf"(?:{_FLAG}|{_PICTURE}{_SHADES}*(?:\u200d{_PICTURE}{_SHADES}*)*)+",
}
_CHANGED = {
    "url": rf"(?:https?|ftp)://{_ADDRESS_BEFORE}|www\.{_ADDRESS_BEFORE}",
    "domain": rf"{_NAME}(?:\.{_NAME})*\.(?:{_DOMAINS})\b(?:/{_ADDRESS_BEFORE})?",
    "path": _PATH,
    "emoji": rf"{_FLAG}|{_PICTURE}(?:{_SHADES}|\u200d{_PICTURE})+",
}
_KINDS_BEFORE = {
    name: _CHANGED.get(name, pattern)
    for name, pattern in KINDS.items()
    if name not in ("version", "identifier")
}


def _compiled(kinds: Mapping[str, str], anywhere: Collection[str] = ()) -> re.Pattern[str]:
    """Return the pattern of kinds. They begin after white space, an opening mark, or another
    character that belongs to no word or address.

    Kinds of ``anywhere`` also begin within a word.
    """
    begins = "|".join(
        f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items() if kind not in anywhere
    )
    return re.compile(
        "|".join(
            [rf"(?<![\w@/.#&-])(?:{begins})", *(f"(?P<{kind}>{kinds[kind]})" for kind in anywhere)]
        )
    )


_PATTERNS = {1: _compiled(_KINDS_BEFORE), VERSION: _compiled(KINDS, ["emoji"])}

# Where an abbreviation may begin.
_WORD_BEGINS = re.compile(r"(?<![\w.])\w")

# With fewer occurrences a treebank says nothing about a kind.
_ENOUGH = 3


# A chunk may contain a kind if a character of these classes is followed by another character
# without white space; in version 2, also if a digit follows a letter.
_HINTS = np.zeros(N_CLASSES, np.bool_)
_HINTS[[PERIOD, COMMA, COLON, SLASH, AT, NUMBER_SIGN, HYPHEN, SYMBOL]] = True
_HINTS_NOW = _HINTS.copy()
_HINTS_NOW[[JOINER, MATH]] = True


def joined_places(text: TextCharacters, kinds: Iterable[str], version: int = VERSION) -> np.ndarray:
    """Return bool[n]: whether a character and the next one are within one stretch of one of the
    kinds; see find_kinds().
    """
    joined = np.zeros(len(text.kinds), np.bool_)
    wanted = frozenset(kinds)
    for kind, start, end in find_kinds(text, version):
        if kind in wanted:
            joined[start : end - 1] = True
    return joined


def find_kinds(text: TextCharacters, version: int = VERSION) -> Iterator[tuple[str, int, int]]:
    """Yield the stretches of a text that are of a kind: the kind, and where the stretch begins and
    ends. Each is within one chunk.

    ``version`` is the version of the patterns that the tokenizer was trained with.
    """
    kinds, following = text.kinds[:-1], text.kinds[1:]
    hints = (_HINTS if version == 1 else _HINTS_NOW)[kinds] & (following > PARAGRAPH)
    if version > 1:
        hints |= (following == DIGIT) & ((kinds == LOWER) | (kinds == UPPER))
    pattern = _PATTERNS[version]
    for chunk in np.unique(text.chunks[np.flatnonzero(hints)]).tolist():
        start, end = int(text.chunk_starts[chunk]), int(text.chunk_ends[chunk])
        characters = text.codes[start:end].tobytes().decode("utf-32-le", "surrogatepass")
        for match in pattern.finditer(characters):
            # a single character, such as a picture, cannot be cut
            if match.end() - match.start() > 1:
                yield str(match.lastgroup), start + match.start(), start + match.end()


def join_abbreviations(
    text: TextCharacters, abbreviations: Collection[str], joined: np.ndarray
) -> None:
    """Mark the places within abbreviations that contain marks or digits, such as *z.B.*; see
    joined_places().

    ``abbreviations`` are as folded() gives them.
    """
    if not abbreviations:
        return
    longest = max(map(len, abbreviations))
    for chunk in np.unique(text.chunks[text.kinds == PERIOD]).tolist():
        start, end = int(text.chunk_starts[chunk]), int(text.chunk_ends[chunk])
        characters = folded(text.codes[start:end].tobytes().decode("utf-32-le", "surrogatepass"))
        for word in _WORD_BEGINS.finditer(characters):
            begin = word.start()
            stops = [
                stop
                for stop in range(begin + 2, min(begin + longest, end - start) + 1)
                if characters[stop - 1] == "."
            ]
            if ends := [stop for stop in stops if characters[begin:stop] in abbreviations]:
                joined[start + begin : start + ends[-1] - 1] = True


def whole_kinds(text: TextCharacters, tokens: np.ndarray) -> list[str]:
    """Return the kinds that are to be one token: most occurrences in a treebank are one token,
    or the treebank has too few occurrences.

    Args:
        text: the text of the treebank.
        tokens: int32[2, tokens], where each of its tokens begins and ends.
    """
    ends = np.zeros(len(text.kinds) + 1, np.bool_)
    ends[tokens[1]] = True
    seen, whole = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for kind, start, end in find_kinds(text):
        seen[kind] += 1
        whole[kind] += not ends[start + 1 : end].any()
    return [kind for kind in KINDS if seen[kind] < _ENOUGH or 2 * whole[kind] > seen[kind]]
