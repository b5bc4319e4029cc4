"""The lemmas seen in training, with the UPOS of their words, in any spelling.

Most new words are new forms of known lemmas. If spelling varies, as in old manuscripts, a rule may
turn such a form into the known lemma, but in the spelling of the form. Training shows which
characters replace each other: two forms of one lemma with the same tags that differ in one
character are usually the same word. A character that often occurs in such pairs is a variant of the
more frequent character of the pair, or of nothing. In UD 2.2, Old Church Slavonic has ten variants,
such as the front jer for the back jer and accents for nothing. Ancient Greek has grave accents for
acute accents. Most treebanks have none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

# The bonus of a rule's score (a logit) if its lemma is known,
# and the further bonus if it is known with the same UPOS.
KNOWN_LEMMA, SAME_UPOS = 4.0, 2.0

# A variant replaces another character in pairs of forms: in at least the share _SHARE of the forms
# that contain it, and in at least _FEWEST pairs. A lemma with more forms of the same tags than
# _SPELLINGS stands for a class of words, such as numbers.
_SHARE, _FEWEST, _SPELLINGS = 0.1, 2, 20

# In characters, the longest beginnings of lemmas and the longest forms that are compared.
_LONGEST = 50

LemmaOfUpos = tuple[str, str]
"""A lemma and a UPOS; "" for any UPOS."""


class KnownLemmas:
    """Known lemmas: rules that lead to them get a bonus.

    Args:
        by_upos: the lemmas by UPOS of their words, the most frequent first;
            under "" those of unknown UPOS.
        written_for: for each variant character, the character that it replaces, or "".

    Attributes:
        by_upos, written_for: as passed.
    """

    def __init__(
        self, by_upos: Mapping[str, Sequence[str]], written_for: Mapping[str, str]
    ) -> None:
        self.by_upos, self.written_for = by_upos, written_for
        self._known: dict[str, set[str]] = {}
        for upos, lemmas in by_upos.items():
            for lemma in lemmas:
                self._known.setdefault(lemma, {""}).add(upos)
        self._settled = str.maketrans(dict(written_for))
        self._spelled: dict[str, str] = {}
        for lemma in self._known if written_for else ():
            self._spelled.setdefault(lemma.translate(self._settled), lemma)
        self._keys = sorted({self._key(lemma)[:_LONGEST] for lemma in self._known})

    def _key(self, characters: str) -> str:
        """Return a key that is the same for lemmas that differ only in case and spelling; each
        character becomes one character or none.
        """
        small = characters.lower().replace(
            "\N{GREEK SMALL LETTER FINAL SIGMA}", "\N{GREEK SMALL LETTER SIGMA}"
        )
        return small.translate(self._settled)

    def upos(self, lemma: str) -> set[str]:
        """Return the UPOS that words with this lemma had."""
        return self._known.get(lemma, {""}) - {""}

    def extended(self, new: KnownLemmas) -> KnownLemmas:
        """Return these lemmas and new ones; if this object has variants of characters,
        they also apply to the new lemmas.
        """
        by_upos = {
            upos: [*dict.fromkeys([*self.by_upos.get(upos, ()), *new.by_upos.get(upos, ())])]
            for upos in {**self.by_upos, **new.by_upos}
        }
        return KnownLemmas(by_upos, self.written_for or new.written_for)

    def spelled(self, lemma: str, without: Collection[LemmaOfUpos] = ()) -> str:
        """Return the known spelling of a lemma; the lemma itself if it is known,
        or unknown in any spelling.

        ``without``: lemmas that count as unknown.
        """
        if not self._spelled or lemma in self._known:
            return lemma
        spelling = self._spelled.get(lemma.translate(self._settled), lemma)
        return lemma if (spelling, "") in without else spelling

    def has(self, lemma: str) -> bool:
        """Return whether a lemma is known, in any spelling."""
        return lemma in self._known or (
            bool(self._spelled) and lemma.translate(self._settled) in self._spelled
        )

    def beginning(self, form: str) -> int:
        """Return the length of the longest beginning that a form shares with a known lemma,
        in any case and spelling.
        """
        key = self._key(form)
        if len(form.lower()) == len(key) == len(form):
            begun = key[:_LONGEST]
            place = bisect_left(self._keys, begun)
            # Among sorted keys, those that share the longest beginning with a key stand next to it.
            near = self._keys[max(place - 1, 0) : place + 1]
            length = max((_shared(begun, other) for other in near), default=0)
            if length < len(begun):
                return length
        return len(form)

    def gain(self, lemma: str, upos: str, without: Collection[LemmaOfUpos] = ()) -> float:
        """Return the bonus of a rule that gives a word this lemma.

        Args:
            lemma: the lemma, in its known spelling.
            upos: the predicted UPOS of the word, or "".
            without: lemmas that count as unknown.
        """
        if (all_upos := self._known.get(lemma)) is None or (lemma, "") in without:
            return 0.0
        return KNOWN_LEMMA + SAME_UPOS * (
            upos != "" and upos in all_upos and (lemma, upos) not in without
        )


def _shared(first: str, second: str) -> int:
    """Return the length of the longest beginning that two strings share."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


def interchangeable(words: Iterable[Iterable[str]]) -> dict[str, str]:
    """Return, by variant character in lower case, the character that it replaces, or "".

    Args:
        words: the forms of each lemma with the same tags.
    """
    times: Counter[str] = Counter({"": 1 << 60})  # "" counts as the most frequent one
    pairs: Counter[tuple[str, str]] = Counter()
    for forms in words:
        small = {form.lower() for form in forms if len(form) <= _LONGEST}
        around: dict[tuple[str, str], set[str]] = {}
        for form in small if len(small) <= _SPELLINGS else ():
            times.update(set(form))
            for place in range(len(form) + 1):
                around.setdefault((form[:place], form[place:]), set()).add("")
                around.setdefault((form[:place], form[place + 1 :]), set()).add(
                    form[place : place + 1]
                )
        for characters in around.values():
            pairs.update(
                combinations(
                    sorted(character for character in characters if not character.isdigit()), 2
                )
            )
    variants: dict[str, str] = {}
    for pair, number in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        common, rare = sorted(pair, key=lambda character: -times[character])
        if number >= max(_FEWEST, _SHARE * times[rare]):
            variants.setdefault(rare, common)
    for character, other in variants.items():
        while other in variants:
            other = variants[other]
        variants[character] = other
    return variants
