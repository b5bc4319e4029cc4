"""The lemmas that training saw, with the UPOS of their words, in whatever spelling.

Most words that are new are new forms of known lemmas. Where spelling is not settled, as in old manuscripts, a rule may make of
such a form the known lemma, but spelled as the form is. Which characters are written for others training shows: two forms of
one lemma with the same tags that differ in one character are the same word, as a rule. A character that often stands in such a
pair is written for that of the other form, the more frequent one, or for nothing. Of UD 2.2, Old Church Slavonic has ten, such
as the front jer for the back one and accents for nothing, Ancient Greek its grave accents for acute ones, most others none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

# What a rule's score (a logit) gains if its lemma is known, and what more if it is known with the same UPOS.
KNOWN_LEMMA, SAME_UPOS = 4.0, 2.0

# Of the forms with a character, what share must have a partner without it, and how many of them at least. A lemma that has more
# forms with the same tags than this many stands for words of a kind, as numbers or what is unknown.
_SHARE, _FEWEST, _SPELLINGS = 0.1, 2, 20

# Characters: of longer beginnings of lemmas, and of longer forms, nothing is kept, as it takes the square of their length.
_LONGEST = 50

LemmaOfUpos = tuple[str, str]
"""A lemma and a UPOS; "" for any UPOS."""


class KnownLemmas:
    """Lemmas by which rules are preferred to others.

    Args:
        by_upos: by UPOS, those of words that have it, the most frequent first; under "" those whose UPOS is not known.
        written_for: by character, another that it is written for, or nothing.

    Attributes:
        by_upos, written_for: as given.
    """

    def __init__(self, by_upos: Mapping[str, Sequence[str]], written_for: Mapping[str, str]) -> None:
        self.by_upos, self.written_for = by_upos, written_for
        self._known: dict[str, set[str]] = {}
        for upos, lemmas in by_upos.items():
            for lemma in lemmas:
                self._known.setdefault(lemma, {""}).add(upos)
        self._settled = str.maketrans(dict(written_for))
        self._spelled: dict[str, str] = {}
        for lemma in self._known if written_for else ():
            self._spelled.setdefault(lemma.translate(self._settled), lemma)
        self._beginnings = {
            key[:length] for key in map(self._key, self._known) for length in range(min(len(key), _LONGEST) + 1)
        }

    def _key(self, characters: str) -> str:
        """The same for lemmas that differ in case and spelling alone; each character becomes one or none."""
        small = characters.lower().replace("\N{GREEK SMALL LETTER FINAL SIGMA}", "\N{GREEK SMALL LETTER SIGMA}")
        return small.translate(self._settled)

    def extended(self, new: KnownLemmas) -> KnownLemmas:
        """With those of other sentences, which are spelled as here, if characters are written for others here."""
        by_upos = {
            upos: [*dict.fromkeys([*self.by_upos.get(upos, ()), *new.by_upos.get(upos, ())])]
            for upos in {**self.by_upos, **new.by_upos}
        }
        return KnownLemmas(by_upos, self.written_for or new.written_for)

    def spelled(self, lemma: str, without: Collection[LemmaOfUpos] = ()) -> str:
        """A lemma as it is known, if only its spelling is not; else as it is.

        Args:
            lemma: the lemma.
            without: what is taken for not known.
        """
        if not self._spelled or lemma in self._known:
            return lemma
        found = self._spelled.get(lemma.translate(self._settled), lemma)
        return lemma if (found, "") in without else found

    def beginning(self, form: str) -> int:
        """How many of the first characters of a form a known lemma begins with, at most, in whatever case and spelling."""
        key = self._key(form)
        if len(form.lower()) == len(key) == len(form):
            for length in range(1, min(len(form), _LONGEST) + 1):
                if key[:length] not in self._beginnings:
                    return length - 1
        return len(form)

    def gain(self, lemma: str, upos: str, without: Collection[LemmaOfUpos] = ()) -> float:
        """What the score of a rule gains by giving a word this lemma.

        Args:
            lemma: as it is known.
            upos: the UPOS that the word is predicted to have, or "".
            without: what is taken for not known.
        """
        if (known := self._known.get(lemma)) is None or (lemma, "") in without:
            return 0.0
        return KNOWN_LEMMA + SAME_UPOS * (upos != "" and upos in known and (lemma, upos) not in without)


def interchangeable(words: Iterable[Iterable[str]]) -> dict[str, str]:
    """By character, in lower case, another that it is written for, or nothing.

    Args:
        words: of each lemma with the same tags, the forms.
    """
    times: Counter[str] = Counter({"": 1 << 60})  # nothing is everywhere
    pairs: Counter[tuple[str, str]] = Counter()
    for forms in words:
        small = {form.lower() for form in forms if len(form) <= _LONGEST}
        around: dict[tuple[str, str], set[str]] = {}
        for form in small if len(small) <= _SPELLINGS else ():
            times.update(set(form))
            for place in range(len(form) + 1):
                around.setdefault((form[:place], form[place:]), set()).add("")
                around.setdefault((form[:place], form[place + 1 :]), set()).add(form[place : place + 1])
        for characters in around.values():
            pairs.update(combinations(sorted(one for one in characters if not one.isdigit()), 2))
    found: dict[str, str] = {}
    for pair, number in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        common, rare = sorted(pair, key=lambda character: -times[character])
        if number >= max(_FEWEST, _SHARE * times[rare]):
            found.setdefault(rare, common)
    for character, other in found.items():
        while other in found:
            other = found[other]
        found[character] = other
    return found
