"""Kinds of text that most treebanks keep in one token, whatever marks they have within: addresses, paths, dates, numbers.

A treebank that has enough of a kind decides itself whether they are one token. Too few say nothing: then they are, as in
UD_English-EWT, which has no other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from parser.text.characters import (
    AT,
    COLON,
    COMMA,
    HYPHEN,
    N_CLASSES,
    NUMBER_SIGN,
    PARAGRAPH,
    PERIOD,
    SLASH,
    SYMBOL,
    TextCharacters,
    folded,
)

_NAME = r"[\w-]+"
_END = r"(?<![.,;:!?'])"  # a mark at the end belongs to the sentence
_ADDRESS = rf"(?:[A-Za-z0-9._~:/?#@!$&'*+,;=%-]|\([^\s()]*\))+{_END}"
_EXTENSIONS = (
    "pdf|docx?|xlsx?|pptx?|odt|txt|csv|tsv|json|xml|ya?ml|html?|css|[jt]sx?|py|java|cpp|php|sql|md|tex|zip|gz|tar|exe|jpe?g|png|"
    "gif|svg|mp[34]"
)
_DOMAINS = "com|org|net|edu|gov|mil|info|biz|int|io|eu|uk|us|ie|de|fr|es|pt|br|it|nl|ru|vn|kr|am|jp|cn|in|au|ca"
_PICTURE = "[\u2190-\u2bff\U0001f000-\U0001faff]"

# In the order of which wins where several match.
KINDS = {
    "url": rf"(?:https?|ftp)://{_ADDRESS}|www\.{_ADDRESS}",
    "email": rf"[\w.+-]{{1,64}}@{_NAME}(?:\.{_NAME})+",
    "domain": rf"{_NAME}(?:\.{_NAME})*\.(?:{_DOMAINS})\b(?:/{_ADDRESS})?",
    "path": rf"(?:~|\.{{1,2}})?(?:/[\w.-]+){{2,}}/?{_END}|[A-Za-z]:\\\S+{_END}",
    "file": rf"{_NAME}(?:\.{_NAME})*\.(?:{_EXTENSIONS})\b",
    "date": r"\d{4}-\d{2}-\d{2}\b|\d{1,2}/\d{1,2}/\d{2,4}\b",
    "fraction": r"\d+/\d+(?![\d/])",
    "time": r"\d{1,2}:\d{2}(?::\d{2})?(?!\d)",
    "number": r"(?<!\d,)(?:\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|\d+[.,]\d+)(?![\d.,]*\d)",
    "hashtag": r"#\w*[^\W\d_]\w*",
    "mention": r"@\w+",
    "emoji": rf"[\U0001f1e6-\U0001f1ff]{{2}}|{_PICTURE}(?:[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d{_PICTURE})+",
}
# A kind begins after white space, an opening mark, or a character that is no letter, digit or part of an address.
_PATTERN = re.compile(rf"(?<![\w@/.#&-])(?:{'|'.join(f'(?P<{kind}>{pattern})' for kind, pattern in KINDS.items())})")

# Where an abbreviation may begin.
_WORD_BEGINS = re.compile(r"(?<![\w.])\w")

# With fewer occurrences a treebank says nothing about a kind.
_ENOUGH = 3


# Between characters of these classes and others without white space, a kind may be.
_HINTS = np.zeros(N_CLASSES, np.bool_)
_HINTS[[PERIOD, COMMA, COLON, SLASH, AT, NUMBER_SIGN, HYPHEN, SYMBOL]] = True


def joined_places(text: TextCharacters, kinds: Iterable[str]) -> np.ndarray:
    """Return bool[n]: whether a character and the next one are within one stretch of one of the kinds."""
    joined = np.zeros(len(text.kinds), np.bool_)
    wanted = frozenset(kinds)
    for kind, start, end in find_kinds(text):
        if kind in wanted:
            joined[start : end - 1] = True
    return joined


def find_kinds(text: TextCharacters) -> Iterator[tuple[str, int, int]]:
    """Yield the kind of each such stretch of a text, and where it begins and ends; each is within one chunk."""
    hints = np.flatnonzero(_HINTS[text.kinds[:-1]] & (text.kinds[1:] > PARAGRAPH))
    for chunk in np.unique(text.chunks[hints]).tolist():
        start, end = int(text.chunk_starts[chunk]), int(text.chunk_ends[chunk])
        characters = text.codes[start:end].tobytes().decode("utf-32-le", "surrogatepass")
        for found in _PATTERN.finditer(characters):
            yield str(found.lastgroup), start + found.start(), start + found.end()


def join_abbreviations(text: TextCharacters, abbreviations: Collection[str], joined: np.ndarray) -> None:
    """Mark the places within abbreviations with marks or digits within, such as *z.B.*; see joined_places().

    ``abbreviations``: as folded() gives them.
    """
    if not abbreviations:
        return
    longest = max(map(len, abbreviations))
    for chunk in np.unique(text.chunks[text.kinds == PERIOD]).tolist():
        start, end = int(text.chunk_starts[chunk]), int(text.chunk_ends[chunk])
        characters = folded(text.codes[start:end].tobytes().decode("utf-32-le", "surrogatepass"))
        for word in _WORD_BEGINS.finditer(characters):
            begin = word.start()
            stops = [stop for stop in range(begin + 2, min(begin + longest, end - start) + 1) if characters[stop - 1] == "."]
            if found := [stop for stop in stops if characters[begin:stop] in abbreviations]:
                joined[start + begin : start + found[-1] - 1] = True


def whole_kinds(text: TextCharacters, tokens: np.ndarray) -> list[str]:
    """Return the kinds that are never cut in a treebank, or in EWT where the treebank has too few.

    Args:
        text: of the treebank.
        tokens: int32[2, tokens], where each of its tokens begins and ends.
    """
    ends = np.zeros(len(text.kinds) + 1, np.bool_)
    ends[tokens[1]] = True
    seen, whole = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for kind, start, end in find_kinds(text):
        seen[kind] += 1
        whole[kind] += not ends[start + 1 : end].any()
    return [kind for kind in KINDS if seen[kind] < _ENOUGH or 2 * whole[kind] > seen[kind]]
