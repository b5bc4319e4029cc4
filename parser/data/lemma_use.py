"""The rules for lemmas that each UPOS had in training, and the forms that never had it,
so that lemmas fit a given UPOS.

The form *felt* always had the lemma *feel* in training, as a verb. If its UPOS is given as NOUN,
that lemma is of no use: the form is new as a noun, and only rules that nouns had may make its
lemma.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.known_lemmas import KnownLemmas
from parser.data.lemma_rules import IDENTITY, LemmaRule, rules_for

# In UD, only the use of a word decides between the two UPOS of such a pair.
# So forms that are known with one UPOS count as known with the other.
_TWINS = {"AUX": "VERB", "VERB": "AUX", "DET": "PRON", "PRON": "DET"}


class StoredLemmaUse(TypedDict):
    """How a model's folder stores a LemmaUse."""

    rules: dict[str, list[int]]
    absent: dict[str, list[str]]


class LemmaUse:
    """How words of each UPOS got their lemmas.

    Args:
        rules: for each UPOS, the numbers of the rules that gave the lemma of one of its words, and
            the number of the rule that changes nothing.
        absent: for each UPOS, the forms that never had it, although they always had the same lemma
            and other forms of this lemma had the UPOS.

    Attributes:
        rules, absent: as passed, as sets.
    """

    def __init__(
        self, rules: Mapping[str, Iterable[int]], absent: Mapping[str, Iterable[str]]
    ) -> None:
        self.rules = {upos: {*numbers} for upos, numbers in rules.items()}
        self.absent = {upos: {*forms} for upos, forms in absent.items()}

    @classmethod
    def of(
        cls,
        words: Collection[tuple[str, str, str]],
        rules: Sequence[LemmaRule],
        always: Mapping[str, str],
        known: KnownLemmas,
        further: Collection[tuple[str, str]] = (),
    ) -> LemmaUse:
        """Return how words of a treebank got their lemmas.

        Args:
            words: their forms, lemmas and UPOS.
            rules: the rules by number.
            always: the lemma of each form that always had the same one.
            further: forms of further words, such as misspelt ones, which teach no rules,
                and their UPOS.
        """
        numbers = _Numbers(rules)
        used: dict[str, set[int]] = {}
        for form, lemma, upos in words:
            used.setdefault(upos, numbers.of("", "")).update(numbers.of(form, lemma))
        had = {(form, upos) for form, _, upos in words} | {*further}
        return cls(used, absent_forms(always, known, lambda form, upos: (form, upos) in had))

    @classmethod
    def derived(
        cls,
        rules: Sequence[LemmaRule],
        columns: Sequence[str],
        seen: Mapping[tuple[str, ...], Mapping[str, str]],
        known: KnownLemmas,
    ) -> LemmaUse:
        """Return the use that an older model's lemmas imply.

        The tags of a form determine its UPOS; without tags, its lemma does, if it has only one
        UPOS. If the lemma has several, the form is taken to have had each UPOS whose words use a
        rule that gives the form's lemma; if there is none, the UPOS with which the lemma is most
        frequent.
        """
        numbers, place = _Numbers(rules), columns.index("upos") if "upos" in columns else None
        used: dict[str, set[int]] = {}
        for tags, forms in seen.items():
            for form, lemma in forms.items():
                all_upos = (
                    known.upos(lemma) if not tags else {tags[place]} if place is not None else set()
                )
                if len(all_upos) == 1:
                    used.setdefault(min(all_upos), numbers.of("", "")).update(
                        numbers.of(form, lemma)
                    )
        always = seen.get((), {})
        ranks = {
            upos: {lemma: rank for rank, lemma in enumerate(lemmas)}
            for upos, lemmas in known.by_upos.items()
        }

        def had(form: str, upos: str) -> bool:
            lemma = always[form]
            all_upos, rules_of_form = known.upos(lemma), numbers.of(form, lemma)
            able = {
                candidate
                for candidate in all_upos
                if not used.get(candidate, set()).isdisjoint(rules_of_form)
            }
            return upos in (
                able or {min(sorted(all_upos), key=lambda candidate: ranks[candidate][lemma])}
            )

        return cls(used, absent_forms(always, known, had))

    @classmethod
    def read(cls, stored: StoredLemmaUse, n_rules: int) -> LemmaUse:
        """Read what described() returned.

        Raises:
            ValueError: there is no such rule.
        """
        for numbers in stored["rules"].values():
            for number in numbers:
                if not 0 <= number < n_rules:
                    raise OptimalStepError(
                        f"lemmas.use has the rule {number}, and there are {n_rules} rules"
                    )
        return cls(stored["rules"], stored["absent"])

    def described(self) -> StoredLemmaUse:
        """Return the part of vocabularies.json."""
        return {
            "rules": {upos: sorted(numbers) for upos, numbers in sorted(self.rules.items())},
            "absent": {upos: sorted(forms) for upos, forms in sorted(self.absent.items())},
        }

    def had(self, form: str, upos: str) -> bool:
        """Return whether a form had this UPOS. The answer is valid only for a form that always had
        the same lemma, and if some form of this lemma had the UPOS.
        """
        return form not in self.absent.get(upos, ())

    def excluded(self, upos: str, n_rules: int) -> np.ndarray:
        """Return bool[rules], the rules that no word of this UPOS had;
        no rule, if the UPOS is not known.
        """
        excluded = np.full(n_rules, upos in self.rules)
        excluded[[*self.rules.get(upos, ())]] = False
        return excluded


def alike(upos: str) -> tuple[str, ...]:
    """Return the UPOS whose words have the same lemmas as words of this UPOS, itself included."""
    return (upos, _TWINS[upos]) if upos in _TWINS else (upos,)


def absent_forms(
    always: Mapping[str, str], known: KnownLemmas, had: Callable[[str, str], bool]
) -> dict[str, set[str]]:
    """Return LemmaUse.absent.

    Args:
        always: the lemma of each form that always had the same one.
        had: returns whether a form had a UPOS.
    """
    absent: dict[str, set[str]] = {}
    for form, lemma in always.items():
        for upos in known.upos(lemma):
            if not had(form, upos):
                absent.setdefault(upos, set()).add(form)
    return absent


class _Numbers:
    """The numbers of the rules that give the lemma of a form."""

    def __init__(self, rules: Sequence[LemmaRule]) -> None:
        self._numbers = {rule: number for number, rule in enumerate(rules)}

    def of(self, form: str, lemma: str) -> set[int]:
        rules = [IDENTITY] if form == lemma else rules_for(form, lemma)
        return {number for rule in rules if (number := self._numbers.get(rule)) is not None}
