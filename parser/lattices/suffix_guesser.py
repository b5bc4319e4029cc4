"""Tags of forms that a lexicon does not know, by their last letters (Samuelsson 1993; Brants 2000, Section 2.3).

The probability of tags given the last k letters is their share of the forms that end so, smoothed by the probability given the
last k - 1; k = 0 is all forms. Forms count, not tokens: a form once for each of its tags, since a new form is like the rare
ones. Words with a capital letter or with digits are apart from the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

Tags = tuple[str, str, str]
"""UPOS, XPOS and FEATS."""

# What a shorter suffix weighs compared with a longer one, and how long they are at most. On dev of hu and got the right
# tags are equally often among the first 5 (within 1%) for weights from 0.1 to 1 and 4 to 10 letters.
_WEIGHT, _LONGEST = 0.3, 6


class SuffixGuesser:
    """Guesses the tags of a form from those of the forms that end like it."""

    def __init__(self, forms: Iterable[tuple[str, Collection[Tags]]], most: int) -> None:
        """``forms`` are known ones with the tags that each may have, or none; of a new one, ``most`` are guessed."""
        self._most = most
        self._counts: dict[tuple[bool, bool, str], Counter[Tags]] = defaultdict(Counter)
        for form, tags in forms:
            for length in range(min(_LONGEST, len(form)) + 1 if tags else 0):
                self._counts[_ending(form, length)].update(tags)

    def __call__(self, form: str) -> list[Tags]:
        """The most probable tags, the best first; none if no known form is of its kind (capitals, digits)."""
        probabilities: dict[Tags, float] = {}
        for length in range(min(_LONGEST, len(form)) + 1):
            counts = self._counts.get(_ending(form, length))
            if counts is None:
                break
            forms = counts.total()
            shorter = probabilities or {tags: count / forms for tags, count in counts.items()}
            probabilities = {
                tags: (counts[tags] / forms + _WEIGHT * probability) / (1 + _WEIGHT) for tags, probability in shorter.items()
            }
        return sorted(probabilities, key=lambda tags: (-probabilities[tags], tags))[: self._most]


def _ending(form: str, length: int) -> tuple[bool, bool, str]:
    return form[:1].isupper(), any(map(str.isdigit, form)), form[len(form) - length :].lower()
