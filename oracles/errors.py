"""The base class of all errors that bad input raises, here and in the parser that builds on the
oracles; and the hint in errors about an unknown name: the known name that was probably meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType

# How similar (0 to 1) a name must be to be suggested. The second bound is for names of three
# letters or fewer: one letter may be wrong.
_ALIKE, _SHORT_ALIKE = 0.7, 0.65
# The bound for words that stand for names (``elsewhere``). It is higher: there are many such words,
# and ordinary words resemble some of them.
_WORDS_ALIKE = 0.8
# In names of two letters, one letter may be wrong, or the two may be swapped.
_SHORT = 2
# The similarity of a name to its own beginning, if the beginning has three letters or more.
_BEGINNING = 0.8
# A name is not suggested if its similarity is below the highest by more than this.
_CLOSE = 0.05
_MOST = 3
# How many letters of a name are compared: the name may be a whole text that somebody has sent.
_LONGEST = 80


class OptimalStepError(ValueError):
    """Bad input; the message says what is wrong, where, and how to fix it.

    A command prints only the message, on one line, and exits with status 1. Any other error is a
    fault of this project, and keeps its traceback.
    """


def nearest(
    given: str,
    known: Iterable[str],
    elsewhere: Mapping[str, str] = MappingProxyType({}),
    least: float | None = None,
) -> list[str]:
    """Return the known names that somebody who wrote ``given`` may have meant,
    the most likely first; none if no name is similar.

    Case, dashes and underscores do not matter.

    Args:
        elsewhere: further words that stand for known names, such as ``{"hungarian": "hu"}``; words
            that stand for unknown names are ignored.
        least: the least similarity of a suggested name, 0 to 1; None: as similar as after a typo.
    """
    names = [str(name) for name in known]
    words = {word: name for word, name in elsewhere.items() if name in names} | {
        name: name for name in names
    }
    plain = _plain(given[:_LONGEST])
    if same := [name for word, name in words.items() if plain and _plain(word) == plain]:
        return list(dict.fromkeys(same))[:_MOST]
    matcher = SequenceMatcher(b=plain, autojunk=False)
    alike: dict[str, float] = {}
    for word, name in words.items():
        matcher.set_seq1(other := _plain(word))
        ratio = matcher.ratio()
        needed = least or (_SHORT_ALIKE if max(len(plain), len(other)) <= _SHORT + 1 else _ALIKE)
        if word != name:
            needed = max(needed, _WORDS_ALIKE)
        elif len(plain) > _SHORT and other.startswith(plain):
            ratio = max(ratio, _BEGINNING)
        elif len(plain) == len(other) == _SHORT and (plain[0] == other[0] or plain == other[::-1]):
            ratio = _ALIKE
        if ratio >= needed:
            alike[name] = max(alike.get(name, 0.0), ratio)
    best = max(alike.values(), default=0.0)
    return sorted(
        (name for name, ratio in alike.items() if ratio >= best - _CLOSE),
        key=lambda name: -alike[name],
    )[:_MOST]


def did_you_mean(
    given: str, known: Iterable[str], elsewhere: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the hint for an error about an unknown name, `` (did you mean parse?)``; nothing if no
    known name is similar.
    """
    return question(nearest(given, known, elsewhere))


def question(names: Sequence[str]) -> str:
    """Return the hint that asks for one of these names, `` (did you mean A, B or C?)``;
    nothing without names.
    """
    if not names:
        return ""
    *others, last = names
    return f" (did you mean {', '.join(others)}{' or ' if others else ''}{last}?)"


def _plain(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))
