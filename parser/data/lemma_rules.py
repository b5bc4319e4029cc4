"""Lemmas as rules on forms: change the case, cut characters at both ends, add others (Chrupała
2006; Straka 2018, Section 3.2).

A rule is (casing; cut i characters at the front, put p there; cut k at the end, put q there). It
keeps a longest common substring of the lemma and the form in one of the casings; a word may have
several such rules. A treebank gets few rules: the next rule is always the one that gives the lemmas
of the most words without a rule (Johnson 1974, the greedy algorithm for set covers).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from oracles.errors import OptimalStepError

# The casings, with their functions; if several give the same lemmas, the first is taken. Names and
# acronyms keep capitals inside; a word all in capitals may be a name with a single capital.
CASINGS: dict[str, Callable[[str], str]] = {
    "keep": str,
    "lower": str.lower,
    "capitalize": str.capitalize,
}
_ORDER = {casing: number for number, casing in enumerate(CASINGS)}

# In longer words substrings are not searched for:
# the time grows with the third power of the length.
_LONG = 100


class LemmaRule(NamedTuple):
    """A rule that makes a lemma from a form.

    Attributes:
        casing: one of CASINGS, applied first.
        front: how many characters are cut at the front.
        prefix: the characters added at the front.
        end: how many characters are cut at the end.
        suffix: the characters added at the end.
    """

    casing: str
    front: int
    prefix: str
    end: int
    suffix: str

    @classmethod
    def of(cls, symbol: str) -> LemmaRule:
        """Return the rule with this ``symbol``.

        Raises:
            OptimalStepError: no rule has this symbol.
        """
        fields = symbol.split("\t")
        if (
            len(fields) == len(cls._fields)
            and fields[0] in CASINGS
            and fields[1].isdecimal()
            and fields[3].isdecimal()
        ):
            rule = cls(fields[0], int(fields[1]), fields[2], int(fields[3]), fields[4])
            if rule.symbol == symbol:
                return rule
        raise OptimalStepError(f"{symbol!r} is not a rule for lemmas")

    @property
    def symbol(self) -> str:
        """The fields of the rule, separated by tabs, which no column of CoNLL-U contains."""
        return "\t".join(map(str, self))

    def __call__(self, form: str) -> str | None:
        """Return the lemma; None if the rule does not apply: the form is too short, or the result
        is not a valid column.
        """
        beginning = self.beginning(form)
        if beginning is None:
            return None
        lemma = beginning + self.suffix
        return lemma if is_lemma(lemma) else None

    def beginning(self, form: str) -> str | None:
        """Return the lemma without ``suffix``; None if the form is too short."""
        cased = CASINGS[self.casing](form)
        if self.front + self.end > len(cased):
            return None
        return self.prefix + cased[self.front : len(cased) - self.end]


IDENTITY = LemmaRule("keep", 0, "", 0, "")


def casings_of(words: Iterable[tuple[str, str, str]]) -> dict[str, list[str]]:
    """Return, for each UPOS, two names of CASINGS: the casing of most lemmas, and that of lemmas of
    forms in capitals.
    """
    times: dict[str, tuple[Counter[str], Counter[str]]] = {}
    for form, lemma, upos in {*words}:
        most, capitals = times.setdefault(upos, (Counter(), Counter()))
        casing = next(
            name for name in ("lower", "capitalize", "keep") if CASINGS[name](lemma) == lemma
        )
        most[casing] += 1
        capitals[casing] += in_capitals(form)
    for most, capitals in times.values():
        capitals[max(CASINGS, key=most.__getitem__)] += 1
    return {
        upos: [max(CASINGS, key=counts.__getitem__) for counts in both]
        for upos, both in sorted(times.items())
    }


def in_capitals(form: str) -> bool:
    """Return whether all letters of a form are capitals, at least two."""
    return form.isupper() and sum(map(str.isupper, form)) > 1


def is_lemma(value: str) -> bool:
    """Return whether a value is not empty and has no space at its ends."""
    return value != "" and value[0] != " " != value[-1]


def rule_elements(symbol: str) -> list[str]:
    """Return the parts of a rule, given by its symbol: the casing, the edit at the front,
    and the edit at the end.
    """
    casing, front, prefix, end, suffix = symbol.split("\t")
    return [casing, f"{front}\t{prefix}\t", f"\t{end}\t{suffix}"]


def rules_for(form: str, lemma: str) -> Iterator[LemmaRule]:
    """Yield the rules that make this lemma from the form and keep a longest common substring; at
    least one, if is_lemma().
    """
    for casing, change in CASINGS.items():
        cased = change(form)
        for start, place, length in _longest_common_substrings(cased, lemma):
            yield LemmaRule(
                casing, start, lemma[:place], len(cased) - start - length, lemma[place + length :]
            )


def _longest_common_substrings(first: str, second: str) -> list[tuple[int, int, int]]:
    """Return, for each longest common substring, its places in both words and its length;
    if there is none, an empty substring at both beginnings.
    """
    if max(len(first), len(second)) > _LONG:
        different = (
            place
            for place, (mine, its) in enumerate(zip(first, second, strict=False))
            if mine != its
        )
        return [(0, 0, next(different, min(len(first), len(second))))]
    for length in range(min(len(first), len(second)), 0, -1):
        places = []
        for start in range(len(first) - length + 1):
            place = second.find(first[start : start + length])
            while place >= 0:
                places.append((start, place, length))
                place = second.find(first[start : start + length], place + 1)
        if places:
            return places
    return [(0, 0, 0)]


def choose_rules(words: Iterable[tuple[str, str]]) -> list[LemmaRule]:
    """Return few rules, including the identity, so that each word has a rule that gives its lemma;
    the first such rule counts.

    Args:
        words: forms and lemmas; their order and number do not matter.
    """
    by_rule: dict[LemmaRule, list[tuple[str, str]]] = {}
    left = set(words)
    for word in left:
        for rule in {*rules_for(*word)}:
            by_rule.setdefault(rule, []).append(word)
    # For each rule, minus the number of words that have no rule yet and whose lemma it gives.
    # An outdated number is corrected when it is popped.
    heap = [(-len(rule_words), _ORDER[rule.casing], rule) for rule, rule_words in by_rule.items()]
    heapq.heapify(heap)
    chosen = []
    while left:
        claimed, order, rule = heapq.heappop(heap)
        rule_words = left.intersection(by_rule[rule])
        if len(rule_words) == -claimed:
            chosen.append(rule)
            left -= rule_words
        elif rule_words:
            heapq.heappush(heap, (-len(rule_words), order, rule))
    return chosen if IDENTITY in chosen else [*chosen, IDENTITY]


def odd_rules(rules: Iterable[LemmaRule], words: Iterable[tuple[str, str]]) -> list[LemmaRule]:
    """Return the rules that would spread an odd lemma: they give the lemma of a single form,
    and keep little of the form.

    A rule keeps enough if it keeps two characters, and a third of the lemma's length.
    Rules for lemmas with three forms or more are never odd.
    """
    forms_of: dict[str, set[str]] = {}
    for form, lemma in (pairs := {*words}):
        forms_of.setdefault(lemma, set()).add(form.lower())
    forms_by_rule: dict[LemmaRule, set[str]] = {IDENTITY: {"", " "}}
    for form, lemma in pairs:
        for rule in rules_for(form, lemma):
            kept = len(form) - rule.front - rule.end
            enough = kept >= min(2, len(form)) and 3 * kept >= len(lemma)
            regular = len(forms_of[lemma]) > 2
            forms_by_rule.setdefault(rule, set()).update(
                ("", " ") if enough or regular else (form.lower(),)
            )
    return [rule for rule in rules if len(forms_by_rule.get(rule, ())) < 2]
