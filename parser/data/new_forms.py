"""Checks that keep the lemmas of new forms close to the forms.

A rule that some word in training needed may leave hardly anything of a new form (*apples* becomes
*be*), or turn it into another number (*5,000,000* becomes *2000000*). Four checks prevent this:

* Half of the letters of a lemma come from the form, unless lemmas in training are often far from
  their forms.
* Numbers stay as they are, except thousands marks: if most lemmas in training leave them out
  (*1,000* has the lemma *1000*), all do.
* Symbols and emoji, which have neither letters nor digits, are their own lemmas.
* A rule counts for more if forms in training with the same ending had the same change. It counts
  for less if it cuts letters that it never cut in training (such as *-les*, with a rule that makes
  *-y* from *-ies*): see Endings.

All of this comes from the forms and lemmas of training, which the folder of every model has.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from unicodedata import normalize

from parser.data.lemma_rules import LemmaRule

# In characters: in longer words only the common substring counts,
# because the time grows with the square of the length.
_LONG = 100

# A mark between groups of three digits, or of two as in India: 12,34,567.
# The first group has no leading zero.
_GROUPS = re.compile(
    r"(?<![\d.,])[1-9]\d{0,2}([,.'\u2019\u066c \u00a0\u2009\u202f])(?:\d{2,3}\1)*\d{3}(?!\1?\d)"
)

# A number with its marks: 1,000.5, 12:30, 1/2.
_NUMBER = re.compile(r"\d+(?:[,.'\u2019\u066b\u066c:/]\d+)*")

# Endings have this many characters, or fewer if no form of training has the longer ending.
_ENDING = 4

# How many forms of training are looked at. If more than this share of their lemmas is far from the
# forms, rules may make lemmas that are far. The shares: 6.3% in cu, 2.6% in cy, 1.8% in ga and got,
# 1.6% in el, 1.3% in hy, 1.1% in pt, 0.5% in tr, 0.4% in en.
_SAMPLE, _FAR = 3000, 0.012

# An ending needs this many forms with one of the changes, or else a shorter ending decides.
_FEWEST = 3

# A rule gains this times log(1 + n) if n forms of training with the same ending had the same change
# of their end.
_GAIN = 0.3

# A rule loses this if no form of training lost the same letters at its end in the same change.
UNHEARD_OF = 1.0

# A rule can win by its ending if its score (a logit) is at most this much below the best one.
LIKE = 0.5


def is_symbol(form: str) -> bool:
    """Return whether a form has neither a letter nor a digit, as symbols, punctuation and emoji."""
    return not form.isalpha() and not any(
        character.isalpha() or character.isdigit() for character in form
    )


def has_digits(form: str) -> bool:
    """Return whether a form has a digit of any script."""
    return not form.isalpha() and any(map(str.isdigit, form))


def keeps_numbers(form: str, lemma: str) -> bool:
    """Return whether a form and its lemma have the same numbers,
    and the same digits outside of them, such as ².
    """
    digits, lemma_digits = (
        [character for character in word if character.isdigit()] for word in (form, lemma)
    )
    return digits == lemma_digits and _NUMBER.findall(form) == _NUMBER.findall(lemma)


def keeps_half(form: str, rule: LemmaRule, lemma: str) -> bool:
    """Return whether a rule keeps a part of a form, and half of its lemma's letters are letters of
    the form, in the same order.

    Letters are compared in NFD: accents do not count, and each part of a Hangul syllable does.
    A lemma without letters shares none with the form.
    """
    kept = len(form) - rule.front - rule.end
    if kept <= 0 or (form.isalpha() and kept >= len(rule.prefix) + len(rule.suffix)):
        return kept > 0
    return 2 * kept >= len(lemma) if len(form) + len(lemma) > _LONG else _shares_half(form, lemma)


def _shares_half(form: str, lemma: str) -> bool:
    form_letters, letters = _letters(form), _letters(lemma)
    return 0 < len(letters) <= 2 * len(form_letters) and len(letters) <= 2 * _common(
        form_letters, letters
    )


def often_far(seen: Iterable[Mapping[str, str]]) -> bool:
    """Return whether many lemmas of training share less than half of their letters with a form:
    more than the share _FAR of a sample.

    This is so in Old Church Slavonic, which abbreviates under a titlo, and in Welsh, whose frequent
    verbs change their stems.

    Args:
        seen: lemmas by form.
    """
    words = [
        (form, lemma)
        for forms in seen
        for form, lemma in forms.items()
        if form.isalpha() and len(lemma) < _LONG
    ]
    sample = words[:: len(words) // _SAMPLE + 1]
    near = (
        form.startswith(lemma[: (len(lemma) + 1) // 2]) or _shares_half(form[:_LONG], lemma)
        for form, lemma in sample
    )
    return len(sample) - sum(near) > _FAR * len(sample)


@lru_cache(4096)
def _letters(word: str) -> str:
    return "".join(filter(str.isalpha, normalize("NFD", word.lower())))


@lru_cache(4096)
def _places(word: str) -> dict[str, int]:
    """Return, for each character, the bits of its places."""
    places: dict[str, int] = {}
    for place, character in enumerate(word):
        places[character] = places.get(character, 0) | 1 << place
    return places


def _common(first: str, second: str) -> int:
    """Return the length of a longest common subsequence (the bits of Hyyrö 2004:
    a row of the table is an integer).
    """
    places, row = _places(first), (1 << len(first)) - 1
    for character in second:
        same = row & places.get(character, 0)
        row = (row + same) | (row - same)
    return len(first) - (row & (1 << len(first)) - 1).bit_count()


def unwritten_marks(seen: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Return the thousands marks that most lemmas of training leave out.

    Args:
        seen: lemmas by form.
    """
    votes: Counter[str] = Counter()
    for forms in seen:
        for form, lemma in forms.items():
            if form[:1].isdigit() and (match := _GROUPS.match(form)) is not None:
                votes[match[1]] += (match[0].replace(match[1], "") in lemma) - (match[0] in lemma)
    return frozenset(mark for mark, number in votes.items() if number > 0)


def without_marks(form: str, marks: Iterable[str]) -> str:
    """Return a form whose numbers have none of these thousands marks."""
    return _GROUPS.sub(
        lambda match: match[0].replace(match[1], "") if match[1] in marks else match[0], form
    )


class Endings:
    """How many forms of training with the same ending had the same change of their end.

    Args:
        seen: lemmas by form.
    """

    def __init__(self, seen: Iterable[Mapping[str, str]]) -> None:
        self._seen = seen
        self._counts: dict[tuple[str, int, str], int] = {}

    @cached_property
    def _words(self) -> list[tuple[str, str]]:
        """The forms backwards, sorted, and their lemmas; in lower case."""
        return sorted(
            {
                (form.lower()[::-1], lemma.lower())
                for forms in self._seen
                for form, lemma in forms.items()
            }
        )

    def gains(self, form: str, rules: Sequence[LemmaRule]) -> list[float]:
        """Return what each rule's score gains by the ending of a new form: 0 for all rules,
        if they change its end in the same way.

        The ending is the longest one, of at most _ENDING characters, with which enough forms of
        training had one of the changes of these rules.
        """
        changes = [(rule.end, rule.suffix.lower()) for rule in rules]
        if len({*changes}) > 1 and max(changes)[0] < len(form):
            backwards = form.lower()[::-1][:_ENDING]
            for length in range(len(backwards), 0, -1):
                counts = [self._count(backwards[:length], *change) for change in changes]
                if sum(counts) >= _FEWEST:
                    return [_GAIN * math.log1p(count) for count in counts]
        return [0.0] * len(rules)

    def loss(self, form: str, rule: LemmaRule) -> float:
        """Return what a rule's score loses by the letters that the rule takes away at the end of a
        new form.
        """
        if not 0 < rule.end < len(form):
            return 0.0
        removed = form[-rule.end :].lower()[::-1]
        return 0.0 if self._count(removed, rule.end, rule.suffix.lower()) else UNHEARD_OF

    def _count(self, backwards: str, end: int, suffix: str) -> int:
        """Return how many forms with this ending (given ``backwards``) have a lemma that ends as if
        the change had been made.

        The lemma must keep what the change leaves of the ending, or one character before it if the
        change leaves nothing.
        """
        key = backwards, end, suffix
        if (number := self._counts.get(key)) is None:
            number, words = 0, self._words
            first = bisect_left(words, (backwards,))
            last = bisect_left(words, (f"{backwards}\U0010ffff",))
            kept = max(len(backwards), end + 1)
            for form, lemma in words[first:last]:
                number += len(form) >= end and lemma.endswith(f"{form[end:kept][::-1]}{suffix}")
            self._counts[key] = number
        return number
