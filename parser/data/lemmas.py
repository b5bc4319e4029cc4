"""Lemmas of words: from a lexicon, from training, and by rules that an encoder chooses among.

A form with its predicted tags takes the lemma in the lexicon, if there is one; otherwise the lemma
that it always had in training, or had most often with these tags; otherwise its lemma in the list
of irregular forms (irregular_forms/); otherwise the lemma of the best rule that applies
(lemma_rules.py). A rule whose lemma occurs in training gets a bonus (known_lemmas.py). A rule does
not apply if it leaves too little of a new form (new_forms.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from oracles.errors import OptimalStepError
from parser.conllu.checks import EMPTY
from parser.data.attributes import AttributeColumns
from parser.data.irregular_forms import irregular_forms, irregular_lists
from parser.data.known_lemmas import (
    KNOWN_LEMMA,
    SAME_UPOS,
    KnownLemmas,
    LemmaOfUpos,
    interchangeable,
)
from parser.data.lemma_lexicon import LemmaLexicon
from parser.data.lemma_rules import (
    CASINGS,
    LemmaRule,
    casings_of,
    choose_rules,
    in_capitals,
    is_lemma,
    odd_rules,
    rule_elements,
    rules_for,
)
from parser.data.lemma_use import LemmaUse, StoredLemmaUse, absent_forms, alike
from parser.data.new_forms import (
    LIKE,
    UNHEARD_OF,
    Endings,
    has_digits,
    is_symbol,
    keeps_half,
    keeps_numbers,
    often_far,
    unwritten_marks,
    without_marks,
)
from parser.data.vocabulary import ROOT, UNKNOWN, SetVocabulary
from parser.model_folder import check_written
from parser.stored_values import checked

if TYPE_CHECKING:
    from parser.data.tasks.task import FormScores

Seen = dict[tuple[str, ...], dict[str, str]]
"""By tags, by form: the lemma. Forms that always had the same lemma are under (), no tags."""


class _StoredKnownLemmas(TypedDict):
    by_upos: dict[str, list[str]]
    written_for: dict[str, str]


class _StoredLemmas(TypedDict):
    """The lemmas' part of vocabularies.json."""

    rules: list[str]
    columns: list[str]
    seen: dict[str, dict[str, str]]
    known: NotRequired[_StoredKnownLemmas]
    use: NotRequired[StoredLemmaUse]
    casings: NotRequired[dict[str, list[str]]]
    odd: NotRequired[list[str]]
    irregular: NotRequired[str]


# The largest bonus of a rule.
_MOST = KNOWN_LEMMA + SAME_UPOS

# If a form was spelt right more than this many times as often as it was misspelt, only the lemma
# that it had when spelt right counts.
_USUAL = 10

AUX = "AUX"

# Up to _FEW rules are tried without asking which can lead to a known lemma; _FAR is a number of
# characters that no form has.
_FEW, _FAR = 4, 1 << 31

# The length of the longest prefix and suffix of a form that rules are chosen by.
_PREFIX, _SUFFIX = 3, 5


def affixes(forms: Sequence[str], buckets: int, trigrams: int = 0) -> np.ndarray:
    """Return the properties of forms that rules are chosen by, as numbers: prefixes and suffixes in
    lower case, the places of capitals, whether all characters are letters, and trigrams that end 1,
    2, ... characters before the end.

    Args:
        buckets: how many numbers there are; properties with the same hash are not distinguished.
        trigrams: how many trigrams are read.

    Returns:
        int64[forms, affixes], numbers below ``buckets``.
        An affix that is longer than the form has a special number.
    """
    small = [form.lower() for form in forms]
    codes = np.frombuffer("".join(small).encode("utf-32-le", "surrogatepass"), np.uint32).astype(
        np.uint64
    )
    codes = np.append(codes, np.uint64(0))
    lengths = np.fromiter(map(len, small), np.int64, len(small))
    ends = np.cumsum(lengths)
    properties = np.empty((len(forms), _PREFIX + _SUFFIX + 1 + trigrams), np.uint64)
    hashed = np.full(len(forms), 1, np.uint64)
    for length in range(1, _PREFIX + 1):
        place = np.where(length <= lengths, ends - lengths + length - 1, -1)
        properties[:, length - 1] = hashed = _mixed(hashed, codes[place])
    hashed = np.full(len(forms), 2, np.uint64)
    for length in range(1, _SUFFIX + 1):
        place = np.where(length <= lengths, ends - length, -1)
        properties[:, _PREFIX + length - 1] = hashed = _mixed(hashed, codes[place])
    shapes = [
        (form[:1] != low[:1]) + 2 * (form[1:] != low[1:]) + 4 * (not low.isalpha())
        for form, low in zip(forms, small, strict=True)
    ]
    properties[:, _PREFIX + _SUFFIX] = _mixed(
        np.full(len(forms), 3, np.uint64), np.array(shapes, np.uint64)
    )
    for number in range(1, trigrams + 1):
        hashed = np.full(len(forms), 3 + number, np.uint64)
        for distance in range(number + 1, number + 4):
            place = np.where(distance <= lengths, ends - distance, -1)
            hashed = _mixed(hashed, codes[place])
        properties[:, _PREFIX + _SUFFIX + number] = hashed
    return ((properties >> np.uint64(33)) % np.uint64(buckets)).astype(np.int64)


def _mixed(hashed: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return uint64[m], the hash extended by one more code (the finalizer of MurmurHash3)."""
    mixed = (hashed * np.uint64(0x9E3779B97F4A7C15)) ^ codes
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.asarray(mixed ^ (mixed >> np.uint64(33)))


class Lemmas:
    """The lemmas that a model knows, and its rules for other lemmas.

    Args:
        rules: the symbols of the rules, the most used ones first.
        columns: the columns of tags that decide between several lemmas of a form.
        seen: the lemma of each form that always had the same one; for other forms, by the tags in
            ``columns``, the lemma that they had most often.
        known: the known lemmas; None: the lemmas in ``seen``.
        casings: the casings of new forms with capitals, see casings_of(); None, in older models:
            such forms are not changed.
        odd: the symbols of rules that do not apply to new forms, see odd_rules().
        use: how each UPOS got its lemmas; None, in older models: what ``seen`` and ``known`` imply
            about it.
        irregular: the code of the language whose list of irregular forms is read; None: no list.

    Attributes:
        rules: the vocabulary of rules; a rule is the set of its parts.
        columns, seen, known, casings, odd, irregular: as passed.

    Raises:
        OptimalStepError: there are no rules, a rule is listed twice, or a symbol is not a rule's.
    """

    def __init__(
        self,
        rules: Sequence[str],
        columns: Sequence[str] = (),
        seen: Seen | None = None,
        known: KnownLemmas | None = None,
        casings: Mapping[str, Sequence[str]] | None = None,
        odd: Iterable[str] = (),
        use: LemmaUse | None = None,
        irregular: str | None = None,
    ) -> None:
        self._use, self.irregular = use, irregular
        self._rules = [LemmaRule.of(symbol) for symbol in rules]
        # For each rule that does not change the beginning, how many characters it cuts at the end.
        kept = [not rule.front and not rule.prefix for rule in self._rules]
        self._ends = np.array(
            [
                min(rule.end, _FAR) if same else _FAR
                for rule, same in zip(self._rules, kept, strict=True)
            ]
        )
        # The rules without their suffixes, and for each rule, which of these it is.
        cuts = [rule._replace(suffix="") for rule in self._rules]
        self._cuts = [*dict.fromkeys(cuts)]
        places = {cut: place for place, cut in enumerate(self._cuts)}
        self._cut_of = [places[cut] for cut in cuts]
        self.rules = SetVocabulary(rules, rule_elements)
        self.columns = list(columns)
        self.seen = seen or {}
        self.known = known or KnownLemmas(
            {"": [lemma for forms in self.seen.values() for lemma in forms.values()]}, {}
        )
        self.casings, self.odd = casings, {*odd}
        self._not_for_new = {number for number, symbol in enumerate(rules) if symbol in self.odd}
        self._endings = Endings(self.seen.values())
        # the lemma of misspelt words, by UPOS and form
        self._misspelt: dict[tuple[str, str], str] = {}
        for tags, forms in self.seen.items() if {"upos", "feats"} <= {*columns} else ():
            if "Typo=Yes" in tags[self.columns.index("feats")] if tags else False:
                upos = tags[self.columns.index("upos")]
                self._misspelt |= {(upos, form): lemma for form, lemma in forms.items()}
        # the lemma of forms that have one lemma with all tags of a UPOS
        self._by_upos: dict[tuple[str, str], str] = {}
        for tags, forms in self.seen.items() if casings and "upos" in columns else ():
            for form, lemma in forms.items() if tags else ():
                key = tags[self.columns.index("upos")], form
                self._by_upos[key] = lemma if self._by_upos.get(key, lemma) == lemma else ""

    @property
    def knows_use(self) -> bool:
        """Whether ``use`` covers all of training; for an older model, ``use`` is derived."""
        return self._use is not None

    @cached_property
    def use(self) -> LemmaUse:
        """How each UPOS got its lemmas; derived in a second for an older model."""
        return self._use or LemmaUse.derived(self._rules, self.columns, self.seen, self.known)

    @cached_property
    def _forms(self) -> set[str]:
        return {form for forms in self.seen.values() for form in forms}

    @cached_property
    def _irregular(self) -> Mapping[tuple[str, str], str]:
        """The lemmas of irregular forms, by UPOS and form."""
        return {} if self.irregular is None else irregular_forms(self.irregular)

    @cached_property
    def _often_far(self) -> bool:
        """Whether lemmas often keep less than half of their letters; then rules may do so."""
        return often_far(self.seen.values())

    @cached_property
    def _unwritten_marks(self) -> frozenset[str]:
        """The thousands marks that lemmas leave out."""
        return unwritten_marks(self.seen.values())

    @classmethod
    def of(
        cls,
        sentences: Iterable[AttributeColumns],
        columns: Sequence[str],
        by_tags: Collection[str] = (),
        irregular: str | None = None,
    ) -> Lemmas | None:
        """Return the lemmas of a treebank; None if it has no lemmas.

        Args:
            sentences: the treebank.
            columns: the columns of tags that decide between several lemmas of a form.
            by_tags: forms known to have several lemmas, even if they have one here.
            irregular: the code of the language whose list of irregular forms is read for forms
                that the treebank lacks; None: no list.
        """
        by_form: dict[str, Counter[str]] = {}
        tagged: dict[tuple[str, ...], dict[str, Counter[str]]] = {}
        by_lemma: dict[tuple[str, ...], set[str]] = {}
        frequencies: Counter[LemmaOfUpos] = Counter()
        words: set[tuple[str, str]] = set()
        misspelt: Counter[tuple[str, str, tuple[str, ...], str]] = Counter()
        alike: set[tuple[str, str, str]] = set()
        for sentence in sentences:
            tags = [getattr(sentence, column) for column in columns]
            apart = _words_apart(sentence)
            for place, (form, lemma, *values) in enumerate(
                zip(sentence.forms, sentence.lemmas, *tags, strict=True)
            ):
                if _is_known(form, lemma):
                    words.add((form, lemma))
                if not _is_known(form, lemma) or place in apart:
                    continue
                upos = values[columns.index("upos")] if "upos" in columns else ""
                if "Typo=Yes" in sentence.feats[place]:
                    misspelt[form, lemma, tuple(values), upos] += 1
                else:
                    alike.add((form, lemma, upos))
                    by_form.setdefault(form, Counter())[lemma] += 1
                    tagged.setdefault(tuple(values), {}).setdefault(form, Counter())[lemma] += 1
                    by_lemma.setdefault((lemma, *values), set()).add(form)
                    frequencies[lemma, upos] += 1
        if all(lemma == EMPTY for _, lemma in words):
            return None
        slips = Counter(form for form, _, _, _ in misspelt.elements())
        usual = {
            form
            for form, number in slips.items()
            if form in by_form and by_form[form].total() > _USUAL * number
        }
        # a misspelt word is no model for other forms, only for the same form
        for (form, lemma, own_tags, _), number in misspelt.items():
            if form not in usual:
                by_form.setdefault(form, Counter())[lemma] += number
                tagged.setdefault(own_tags, {}).setdefault(form, Counter())[lemma] += number
        seen: Seen = {}
        for own_tags, forms in ((), by_form), *tagged.items():
            for form, counts in forms.items():
                (lemma, times), *others = counts.most_common(2)
                rivals = 0 if not others else others[0][1]
                rivals = times if not own_tags and (others or form in by_tags) else rivals
                if rivals < times and form not in seen.get((), {}):
                    seen.setdefault(own_tags, {})[form] = lemma
        by_upos: dict[str, list[str]] = {}
        for (lemma, upos), _ in frequencies.most_common():
            by_upos.setdefault(upos, []).append(lemma)
        known_lemmas = KnownLemmas(by_upos, interchangeable(by_lemma.values()))
        rules = choose_rules(words)
        odd_symbols = [rule.symbol for rule in odd_rules(rules, (word[:2] for word in alike))]
        use = LemmaUse.of(
            alike,
            rules,
            seen.get((), {}),
            known_lemmas,
            {(form, upos) for form, _, _, upos in misspelt},
        )
        return cls(
            [rule.symbol for rule in rules],
            columns,
            seen,
            known_lemmas,
            casings_of(alike),
            odd_symbols,
            use,
            irregular,
        )

    @classmethod
    def read(cls, content: Any, tags: Collection[str]) -> Lemmas:
        """Read what described() returned; its columns must be among the predicted tags.

        Raises:
            KeyError, TypeError, ValueError: something is missing or invalid.
        """
        stored = checked(content, _StoredLemmas, "lemmas")
        rules, columns = stored["rules"], stored["columns"]
        if unknown := [column for column in columns if column not in tags]:
            raise OptimalStepError(f"lemmas.columns has {unknown[0]!r}, which is not predicted")
        seen: Seen = {}
        for key, forms in stored["seen"].items():
            for lemma in forms.values():
                _check_lemma(lemma)
            seen[tuple(key.split("\t")) if key else ()] = forms
        for rule in rules:
            check_written("rule for lemmas", rule.replace("\t", ""))
        casings = stored.get("casings")
        if any(len(two) != 2 or {*two} - {*CASINGS} for two in (casings or {}).values()):
            raise OptimalStepError("lemmas.casings does not have two casings of each UPOS")
        known_lemmas = _read_known(stored["known"]) if "known" in stored else None
        use = LemmaUse.read(stored["use"], len(rules)) if "use" in stored else None
        irregular = stored.get("irregular")
        if irregular is not None and irregular not in irregular_lists():
            raise OptimalStepError(
                f"lemmas.irregular names a list {irregular!r}, and this version has "
                f"{', '.join(irregular_lists())}"
            )
        odd = stored.get("odd", [])
        return cls(rules, columns, seen, known_lemmas, casings or None, odd, use, irregular)

    def described(self) -> dict[str, Any]:
        """Return the lemmas' part of vocabularies.json."""
        seen = {"\t".join(tags): forms for tags, forms in self.seen.items()}
        known_lemmas = {"by_upos": self.known.by_upos, "written_for": self.known.written_for}
        content = {
            "rules": self.rules.symbols,
            "columns": self.columns,
            "seen": seen,
            "known": known_lemmas,
        }
        if self._use is not None:
            content["use"] = self._use.described()
        if self.irregular is not None:
            content["irregular"] = self.irregular
        return (
            content
            if self.casings is None
            else content | {"casings": self.casings, "odd": sorted(self.odd)}
        )

    def cased(self, form: str, upos: str, first: bool) -> str:
        """Return a new form as rules read it: a form in capitals, or the first of a sentence,
        gets the case of most lemmas.
        """
        casing, capitals = (self.casings or {}).get(upos, ("keep", "keep"))
        if in_capitals(form):
            return CASINGS[capitals](form)
        return CASINGS[casing](form) if first and form == form.capitalize() else form

    def always(self, form: str, upos: str = "", strictly: bool = True) -> str | None:
        """Return the lemma that a form always had; None if it had several,
        or if its lemma does not fit this UPOS.

        Args:
            upos: "", or a UPOS that the lemma must have had; if ``strictly``, with this form. A
                UPOS that is new to the model fits every lemma.
            strictly: see ``upos``.
        """
        lemma = self.seen.get((), {}).get(form)
        if (
            lemma is None
            or not upos
            or not (upos_of_lemma := self.known.upos(lemma))
            or upos not in self.known.by_upos
        ):
            return lemma
        fitting = [other for other in alike(upos) if other in upos_of_lemma]
        return (
            lemma if any(not strictly or self.use.had(form, other) for other in fitting) else None
        )

    def remembered(
        self,
        form: str,
        cased: str,
        values: tuple[str, ...],
        upos: str,
        given: str,
        binding: tuple[str, bool] = ("", True),
    ) -> str | None:
        """Return the lemma that a form with the tags ``values`` (in ``columns``) had in training,
        or that it has as an irregular form; otherwise that of the form with fewer capitals.

        For tags unseen in training, return the only lemma that the form has with the ``given``
        UPOS. For ``binding``, see always().
        """
        forms, least, all_capitals = [form, cased], 0.0, in_capitals(form)
        if self.casings and form != form.lower() and (form.isupper() or form == form.capitalize()):
            most, capitals = self.casings.get(upos, ("keep", "keep"))
            fewer = (
                [form.lower(), form.capitalize()]
                if most == "lower"
                else [form.capitalize(), form.lower()]
            )
            # The name Baker is not a baker, but BAKER may be one.
            forms += fewer if form.isupper() or most == "lower" else fewer[:1]
            least = _MOST if all_capitals and capitals == "keep" else 0.0  # WHO is not who
        by_form, first_lemma = self.seen.get(values, {}), None
        for cased_form in forms:
            lemma = (
                self.always(cased_form, *binding)
                or by_form.get(cased_form)
                or self._by_upos.get((given, cased_form))
            )
            lemma = lemma or self._misspelt.get((upos, cased_form))
            lemma = lemma or self._irregular.get((upos, cased_form))
            if lemma and (cased_form == form or self.known.gain(lemma, upos) >= least):
                first_lemma = first_lemma or lemma
                if not all_capitals or self.known.gain(lemma, upos) == _MOST:
                    return lemma  # otherwise another case may have a lemma of this UPOS
        return first_lemma

    def of_numbers_and_symbols(self, form: str) -> tuple[str, str | None]:
        """Return a new form without the thousands marks that lemmas leave out,
        and its lemma if it is a symbol.
        """
        if is_symbol(form):
            return form, form
        return without_marks(form, self._unwritten_marks) if has_digits(form) else form, None

    def extended(self, new: Lemmas) -> Lemmas:
        """Return these lemmas extended by new ones with the same columns; where they differ, the
        new ones take precedence.
        """
        seen = {tags: dict(forms) for tags, forms in self.seen.items()}
        renewed = {form for forms in new.seen.values() for form in forms}
        seen[()] = {form: lemma for form, lemma in seen.get((), {}).items() if form not in renewed}
        for tags, forms in new.seen.items():
            seen.setdefault(tags, {}).update(forms)
        rules = self.rules.extended(new.rules.symbols)
        casings = {**(new.casings or {}), **(self.casings or {})}
        general = {
            symbol
            for lemmas in (self, new)
            for symbol in lemmas.rules.symbols
            if symbol not in lemmas.odd
        }
        known_lemmas = self.known.extended(new.known)
        numbers = {symbol: number for number, symbol in enumerate(rules)}
        use = None
        if self._use is not None:
            used = {upos: {*rule_numbers} for upos, rule_numbers in self.use.rules.items()}
            for upos, rule_numbers in new.use.rules.items():
                used.setdefault(upos, set()).update(
                    numbers[new.rules.symbols[number]] for number in rule_numbers
                )
            had_by = [lemmas.always for lemmas in (self, new)]
            use = LemmaUse(
                used,
                absent_forms(
                    seen[()],
                    known_lemmas,
                    lambda form, upos: any(had(form, upos) for had in had_by),
                ),
            )
        irregular = new.irregular or self.irregular
        odd = {*rules} - general
        return Lemmas(rules, self.columns, seen, known_lemmas, casings, odd, use, irregular)

    @property
    def told_by_tags(self) -> set[str]:
        """The forms whose lemma depends on their tags."""
        return {form for tags, forms in self.seen.items() if tags for form in forms}

    def encode(self, sentences: Iterable[AttributeColumns]) -> np.ndarray:
        """Return int32[total]: the numbers of the words' rules, ROOT before each sentence, UNKNOWN
        without lemma or rule.
        """
        numbers_by_word: dict[tuple[str, str], int] = {}
        numbers: list[int] = []
        for sentence in sentences:
            numbers.append(ROOT)
            for word in zip(sentence.forms, sentence.lemmas, strict=True):
                if word not in numbers_by_word:
                    rule_numbers = (
                        self.rules.encode_exactly(rule.symbol for rule in rules_for(*word))
                        if _is_known(*word)
                        else []
                    )
                    numbers_by_word[word] = min(
                        (number for number in rule_numbers if number != UNKNOWN), default=UNKNOWN
                    )
                numbers.append(numbers_by_word[word])
        return np.array(numbers, np.int32)

    def by_rules(self, forms: Sequence[str], upos: Sequence[str], scores: np.ndarray) -> list[str]:
        """Return the lemmas of forms by the best rule that applies to each;
        the form itself if no rule applies.

        Args:
            upos: the forms' predicted UPOS, or "".
            scores: float32[forms, rules], without the bonus of known lemmas; minus infinity:
                not this rule.
        """
        best = scores.max(axis=1, initial=-np.inf)
        rows, numbers = np.nonzero(
            scores >= (best - np.float32(_MOST + UNHEARD_OF))[:, None]
        )  # can win, if the best one applies
        starts = np.searchsorted(rows, np.arange(len(forms) + 1)).tolist()
        lemmas = []
        for row, (form, form_scores) in enumerate(zip(forms, scores, strict=True)):
            near = numbers[starts[row] : starts[row + 1]]
            near = near[np.argsort(-form_scores[near], kind="stable")] if len(near) > 1 else near
            if not len(near) or self._apply(near[0], form, upos[row]) is None:
                near = np.argsort(-form_scores, kind="stable")
                near = near[form_scores[near] != -np.inf]
                apply = (self._apply(number, form, upos[row]) is not None for number in near)
                near = near[next((place for place, applies in enumerate(apply) if applies), 0) :]
            if len(near) > _FEW:  # all but the best one need a known lemma to win
                possible = self._ends[near] >= len(form) - self.known.beginning(form)
                possible |= form_scores[near] >= form_scores[near[0]] - LIKE - UNHEARD_OF
                near = near[possible]
            lemmas.append(self._best(form, upos[row], form_scores[near].tolist(), near.tolist()))
        return lemmas

    def _apply(self, number: int, form: str, upos: str) -> str | None:
        """Return the lemma of a form by a rule; None if the rule does not apply.
        A rule that is odd or keeps too little does not apply to a new form.

        Auxiliaries are a closed class: their known lemmas may be far from new forms,
        such as Turkish *dü* from *i*.
        """
        rule = self._rules[number]
        lemma = rule(form)
        if lemma is None or form in self._forms:
            return lemma
        if number in self._not_for_new:
            return None
        if lemma == form:
            return lemma
        if has_digits(form) or has_digits(lemma):
            return lemma if keeps_numbers(form, lemma) else None
        if (
            keeps_half(form, rule, lemma)
            or self._often_far
            or (upos == AUX and upos in self.known.upos(lemma))
        ):
            return lemma
        return None

    def _best(self, form: str, upos: str, scores: list[float], ranked: list[int]) -> str:
        """Return the lemma by the rule with the highest score, its bonus included; the first if
        several are equal.

        Among rules with similar scores, the ending of the form decides. But a known lemma is not
        replaced by an unknown one if training has any form with this ending and its rule's change.
        """
        highest = -math.inf
        by_lemma = dict[str, tuple[float, float, LemmaRule]]()
        is_new = form not in self._forms
        beginnings = dict[int, str | None]()  # many rules differ in their suffixes alone
        for number, score in zip(ranked, scores, strict=True):
            if by_lemma and score + _MOST + LIKE <= highest:
                break
            if score < highest - LIKE:  # only a known lemma can win
                if (cut := self._cut_of[number]) not in beginnings:
                    beginnings[cut] = self._cuts[cut].beginning(form)
                beginning, suffix = beginnings[cut], self._rules[number].suffix
                if beginning is None or not self.known.has(beginning + suffix):
                    continue
            if (raw_lemma := self._rules[number](form)) is None:
                continue
            lemma = self.known.spelled(raw_lemma)
            bonus = self.known.gain(lemma, upos)
            # What scores too little is left out before more is asked about it, which takes longer.
            if score + bonus < highest - LIKE or self._apply(number, form, upos) is None:
                continue
            loss = self._endings.loss(form, self._rules[number]) if is_new else 0.0
            total = score + bonus - loss
            highest = max(highest, total)
            if lemma not in by_lemma or total > by_lemma[lemma][0]:
                by_lemma[lemma] = total, bonus, self._rules[number]
        if not by_lemma:
            return form
        like = [lemma for lemma, (score, _, _) in by_lemma.items() if not score < highest - LIKE]
        best = max(like, key=lambda lemma: by_lemma[lemma][0])
        if len(like) > 1:
            gains = dict(
                zip(
                    like,
                    self._endings.gains(form, [by_lemma[lemma][2] for lemma in like]),
                    strict=True,
                )
            )
            if gains[best]:
                like = [lemma for lemma in like if by_lemma[lemma][1] >= by_lemma[best][1]]
            best = max(like, key=lambda lemma: by_lemma[lemma][0] + gains[lemma])
        if self.casings and _mixes(best) and not _mixes(form):
            return CASINGS[self.casings.get(upos, ["lower"])[0]](best)
        return best

    def rules_by_lemma(self, form: str, without: Collection[LemmaOfUpos]) -> dict[str, list[int]]:
        """Return, for each possible lemma of a form, the rules that give it.

        ``without``: lemmas that count as unknown.
        """
        by_lemma: dict[str, list[int]] = {}
        for number, rule in enumerate(self._rules):
            if (raw_lemma := rule(form)) is not None:
                by_lemma.setdefault(self.known.spelled(raw_lemma, without), []).append(number)
        return by_lemma


def _read_known(stored: _StoredKnownLemmas) -> KnownLemmas:
    """Return the known lemmas of a model's folder.

    Raises:
        ValueError: a value is invalid.
    """
    for lemmas in stored["by_upos"].values():
        for lemma in lemmas:
            _check_lemma(lemma)
    for character, other in stored["written_for"].items():
        if len(character) != 1 or len(other) > 1:
            raise OptimalStepError(
                f"{character!r} is not one character, or {other!r} is more than one"
            )
    return KnownLemmas(stored["by_upos"], stored["written_for"])


def _check_lemma(value: str) -> None:
    """Raise ValueError if a value is not a lemma."""
    if not is_lemma(value):
        raise OptimalStepError(f"{value!r} is not a lemma")
    check_written("lemma", value)


def tokens_of(sentences: Iterable[Sequence[str]]) -> list[str]:
    """Return the forms of the tokens of sentences. Each sentence begins with the root,
    whose form is empty.
    """
    return [form for forms in sentences for form in ("", *forms)]


def _is_known(form: str, lemma: str) -> bool:
    """Return whether the lemma of a word is annotated: _ means that it is not,
    unless the form is _.
    """
    return is_lemma(lemma) and (lemma != EMPTY or form == EMPTY)


def _words_apart(sentence: AttributeColumns) -> set[int]:
    """Return the places of the parts of words that are written apart (goeswith). Nothing is learned
    from their lemmas, for other forms or for their own.
    """
    deprels, heads = getattr(sentence, "deprels", ()), getattr(sentence, "heads", ())
    apart = {place for place, deprel in enumerate(deprels) if deprel.split(":")[0] == "goeswith"}
    return apart | {heads[place] - 1 for place in apart}


def _mixes(word: str) -> bool:
    """Return whether a word mixes cases: it is not in lower case, not in capitals,
    and not capitalized.
    """
    return word not in (word.lower(), word.upper(), word.capitalize())


def lemmatize(
    lemmas: Lemmas,
    forms: Sequence[str],
    tags: Mapping[str, Sequence[str]],
    scores: FormScores,
    given: Sequence[str] = (),
    lexicon: LemmaLexicon | None = None,
    binding: Sequence[tuple[str, bool]] = (),
) -> list[str]:
    """Return the lemmas of tokens.

    Args:
        lemmas: the lemmas of the model.
        forms: the forms of the tokens; an empty one, of a root, gets no lemma.
        tags: for each predicted column, the tags of the tokens.
        scores: scores rules, for the tokens that need one.
        given: the UPOS of tokens in the input, "" for predicted ones.
        lexicon: a lexicon whose entries take precedence.
        binding: for each token the UPOS that its lemma must fit, "" for none,
            and whether strictly: see LemmaUse.
    """
    binding = binding or [("", True)] * len(forms)
    columns = [tags[column] for column in lemmas.columns]
    seen, nothing = lemmas.seen, dict[str, str]()
    always = seen.get((), nothing)
    token_tags = zip(*columns, strict=True) if columns else repeat((), len(forms))
    token_lemmas = [
        always.get(form) or seen.get(values, nothing).get(form)
        for form, values in zip(forms, token_tags, strict=True)
    ]
    for place, (word_upos, strictly) in enumerate(binding):
        if word_upos and forms[place] in always:
            token_lemmas[place] = lemmas.always(forms[place], word_upos, strictly)
    all_upos = tags.get("upos", [""] * len(forms))
    for place, lemma in enumerate(token_lemmas):
        if (
            lemma
            and forms[place].isupper()
            and in_capitals(forms[place])
            and lemmas.known.gain(lemma, all_upos[place]) < _MOST
        ):
            token_lemmas[place] = None  # another case may have a lemma of this UPOS
    if lexicon is not None:
        upos, feats = (tags.get(column, repeat(EMPTY, len(forms))) for column in ("upos", "feats"))
        written = map(lexicon.lemma, forms, upos, feats)
        token_lemmas = [
            lemma if first is None else first
            for first, lemma in zip(written, token_lemmas, strict=True)
        ]
    places = [place for place, lemma in enumerate(token_lemmas) if lemma is None and forms[place]]
    cased = {
        place: lemmas.cased(forms[place], all_upos[place], not place or not forms[place - 1])
        for place in places
    }
    for place, form in cased.items():
        values = tuple(column[place] for column in columns)
        word_upos = given[place] if given else ""
        token_lemmas[place] = lemmas.remembered(
            forms[place], form, values, all_upos[place], word_upos, binding[place]
        )
        if token_lemmas[place] is None:
            cased[place], token_lemmas[place] = lemmas.of_numbers_and_symbols(form)
    if left := [place for place in places if token_lemmas[place] is None]:
        new, upos = [cased[place] for place in left], [all_upos[place] for place in left]
        rule_scores = scores(new, np.array(left, np.int64))
        for row, place in enumerate(left):
            word_upos, strictly = binding[place]
            if word_upos and strictly:
                rule_scores[row, lemmas.use.excluded(word_upos, rule_scores.shape[1])] = -np.inf
        by_rules = lemmas.by_rules(new, upos, rule_scores)
        for place, lemma in zip(left, by_rules, strict=True):
            token_lemmas[place] = lemma
    return [lemma or EMPTY for lemma in token_lemmas]
