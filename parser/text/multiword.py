"""Splitting of multiword tokens into words, by rules learned from training.

A rule rewrites one end of a token: ``'s`` at the end of *Germany's* becomes a word of its own,
``do`` at the beginning of a token becomes *de* and *o*, or a mark within it becomes the second
word. Of the rules that fit a token, a linear decision takes the best, or none. Rules that training
has seen with several forms are also tried with new forms. If no rule gives the words of a token,
such as French *au*, the words themselves are stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parser.kernels import kernel
from parser.text.characters import folded, hash_of
from parser.text.decisions import compiled_templates, score

ATOMS = (
    *("rule", "kind", "share", "form"),
    *("stem1", "stem2", "stem3", "stemn", "case", "stemknown"),
    *("before", "after", "before2", "after2"),
)
TEMPLATES = (
    *("rule", "kind share", "rule share", "form rule", "form after", "form before"),
    *(f"rule {atom}" for atom in ATOMS[4:]),
)
PROGRAM = compiled_templates(TEMPLATES, ATOMS)

# A rule is tried with new forms if it occurs in training with at least this many forms, and with at
# least this share of the forms that it fits.
_LEAST_FORMS, _LEAST_SHARE = 2, 0.08
# A form that is this frequent in training is split as it was split there; a rarer one may be a slip
# of the annotators.
_OFTEN = 4
# The length of the longest end of a form that a rule rewrites.
_LONGEST_END = 7
_KEPT_FORMS = 100_000
# How many more ends are split off a token; without a limit, a long token of nothing but ends would
# take quadratic time.
_FURTHER_ENDS = 3

SUFFIX, PREFIX, MARK = "suffix", "prefix", "mark"


class Rule(NamedTuple):
    """A way to split a token.

    Attributes:
        kind: SUFFIX: the token ends in ``part``; PREFIX: the token begins with ``part``; MARK:
            ``part`` is within the token.
        part: the part of the token, folded.
        words: SUFFIX: the end of the first word, and the words after it; PREFIX: the words before
            the last one, and the beginning of the last one; MARK: none, the mark becomes the second
            word.
    """

    kind: str
    part: str
    words: tuple[str, ...] = ()

    def apply(self, form: str) -> tuple[str, ...] | None:
        """Return the words of a token, in its own characters and case where the rule keeps them;
        None if a word is empty.
        """
        if self.kind == MARK:
            words: tuple[str, ...] = (form.replace(self.part, "", 1), self.part)
        elif self.kind == SUFFIX:
            stem, end = form[: len(form) - len(self.part)], form[len(form) - len(self.part) :]
            first, *others = (_as_written(word, end, form) for word in self.words)
            words = (stem + first, *others)
        else:
            stem, begin = form[len(self.part) :], form[: len(self.part)]
            *others, last = (_as_written(word, begin, form) for word in self.words)
            if form[:1].isupper() and others:
                others[0] = others[0][:1].upper() + others[0][1:]
            words = (*others, last + stem)
        return words if all(words) else None


def _as_written(word: str, part: str, form: str) -> str:
    """Return a word of a rule with the characters of the token's part where it has them, in
    capitals if the token is.
    """
    place = folded(part).rfind(word)
    if word and place >= 0:
        return part[place : place + len(word)]
    return word.upper() if len(form) > 1 and form.isupper() else word


def rules_of(form: str, words: Sequence[str]) -> list[Rule]:
    """Return the rules that give these words of a token; there may be none."""
    small, parts = folded(form), [folded(word) for word in words]
    if len(small) != len(form):
        return []
    same, end = _common(small, parts[0]), _common(small[::-1], parts[-1][::-1])
    candidates = []
    if len(words) == 2 and len(words[1]) == 1 and words[1] in form[:-1]:
        candidates.append(Rule(MARK, words[1]))
    if same:
        candidates.append(Rule(SUFFIX, small[same:], (parts[0][same:], *parts[1:])))
    if end:
        candidates.append(
            Rule(
                PREFIX, small[: len(small) - end], (*parts[:-1], parts[-1][: len(parts[-1]) - end])
            )
        )
    return [rule for rule in candidates if rule.apply(form) == tuple(words)]


def _common(first: str, second: str) -> int:
    """Return the length of the longest common beginning of two strings."""
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )


@dataclass(frozen=True)
class SplitCandidate:
    """A rule that fits a token, the words that it gives, and the atoms of the decision,
    uint64[atoms], without those of the neighbours.
    """

    rule: Rule
    words: tuple[str, ...]
    atoms: np.ndarray


class MultiwordRules:
    """The rules for multiword tokens that training gives, without the weights of the decision.

    Args:
        exact: words of tokens that no rule gives.
        rules: for each folded form, how often each rule was right for it in training.
        totals: how often these forms occur in training.
        open_rules: the rules for new forms.
        seen: a function that returns how often a folded form occurs in training; 4 stands for any
            larger number.
    """

    def __init__(
        self,
        exact: Mapping[str, Sequence[str]],
        rules: Mapping[str, Mapping[Rule, int]],
        totals: Mapping[str, int],
        open_rules: Iterable[Rule],
        seen: Callable[[str], int],
    ) -> None:
        self.exact = {form: tuple(words) for form, words in exact.items()}
        self.rules, self.totals, self.seen = rules, totals, seen
        self.open_rules = dict.fromkeys(open_rules)
        self._open: defaultdict[tuple[str, str], list[Rule]] = defaultdict(list)
        for rule in self.open_rules:
            self._open[rule.kind, rule.part].append(rule)
        parts = {
            kind: tuple(part for rule_kind, part in self._open if rule_kind == kind)
            for kind in (SUFFIX, PREFIX, MARK)
        }
        self._suffixes = parts[SUFFIX]
        self._prefixes = parts[PREFIX]
        self._marks = frozenset(parts[MARK])

    @classmethod
    def learned(cls, tokens: Iterable[tuple[str, tuple[str, ...]]]) -> MultiwordRules:
        """Return the rules learned from tokens, each with its words."""
        forms: Counter[str] = Counter()
        split: Counter[tuple[str, tuple[str, ...]]] = Counter()
        for form, words in tokens:
            forms[folded(form)] += 1
            if words != (form,):
                split[form, words] += 1
        possible = {token: rules_of(*token) for token in split}
        followed = {
            (folded(form), rule)
            for (form, _), form_rules in possible.items()
            for rule in form_rules
        }
        support = Counter(rule for _, rule in followed)
        rules: defaultdict[str, Counter[Rule]] = defaultdict(Counter)
        exact: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for (form, words), count in split.items():
            if form_rules := possible[form, words]:
                # of several rules, the one that most forms have
                rules[folded(form)][max(form_rules, key=support.__getitem__)] += count
            else:
                exact[form][words] += count
        usual = {form: counts.most_common(1)[0][0] for form, counts in exact.items()}
        totals = {small: forms[small] for small in rules}
        open_rules = _open_rules(support, forms)
        return cls(usual, rules, totals, open_rules, lambda small: min(forms[small], _OFTEN))

    def rule_of(self, form: str, words: Sequence[str]) -> Rule | None:
        """Return the rule by which training splits a token into these words;
        None if it has none.
        """
        form_rules = self.rules.get(folded(form), {})
        return next((rule for rule in rules_of(form, words) if rule in form_rules), None)

    def candidates(
        self, form: str, right: Rule | None = None, *, learning: bool = False
    ) -> list[SplitCandidate]:
        """Return the rules that fit a form.

        If ``learning``, this occurrence of the form does not count; ``right`` is its rule, or None.
        """
        small = folded(form)
        if len(small) != len(form) or len(form) < 2:
            return []
        is_open = (
            small.endswith(self._suffixes)
            or small.startswith(self._prefixes)
            or not self._marks.isdisjoint(small)
        )
        if not is_open and small not in self.rules:  # nearly every form
            return []
        wanted = [
            rule
            for rule, count in self.rules.get(small, {}).items()
            if count > (learning and rule == right)
        ]
        finished = set()
        for kind, part in _parts_of(small):
            more = (
                [rule for rule in self._open.get((kind, part), ()) if rule not in wanted]
                if kind not in finished
                else ()
            )
            if more:
                finished.add(kind)
                wanted += more
        splits = [(rule, rule.apply(form)) for rule in wanted]
        return [
            SplitCandidate(rule, words, self._atoms(rule, form, small, right, learning))
            for rule, words in splits
            if words is not None
        ]

    def _atoms(
        self, rule: Rule, form: str, small: str, right: Rule | None, learning: bool
    ) -> np.ndarray:
        total = self.totals.get(small) or self.seen(small)
        total -= learning
        count = self.rules.get(small, {}).get(rule, 0) - (learning and rule == right)
        is_rare = total < _OFTEN and rule in self.open_rules
        share = "new"
        if total > 0:
            share = "rare" if is_rare else f"{min(total, 3)} {round(4 * count / total)}"
        stem = (
            small[: len(small) - len(rule.part)] if rule.kind == SUFFIX else small[len(rule.part) :]
        )
        near = stem[::-1] if rule.kind == SUFFIX else stem
        case = "upper" if form.isupper() else "title" if form[:1].isupper() else "lower"
        texts = [
            "\t".join([rule.kind, rule.part, *rule.words]),
            rule.kind,
            share,
            small if total >= _OFTEN else "",
        ]
        texts += [
            near[:1],
            near[:2],
            near[:3],
            str(min(len(stem), 4)),
            case,
            str(min(self.seen(stem), 2)),
        ]
        return np.array([hash_of(text) for text in texts] + [0] * 4, np.uint64)


def _open_rules(support: Mapping[Rule, int], forms: Iterable[str]) -> list[Rule]:
    """Return the rules that occur in training with several forms, and with enough of the forms that
    they fit.

    ``support`` says how many forms each rule can split as in training, even if another rule fits
    more forms: *you're* may have *you* or *'re* split off, but only *'re* says how *who're* is.
    """
    parts = {(rule.kind, rule.part) for rule in support}
    fitting = Counter(part for form in forms for part in {*_parts_of(form)} & parts)
    return [
        rule
        for rule, count in support.items()
        if count >= _LEAST_FORMS
        and rule.part
        and count >= _LEAST_SHARE * fitting[rule.kind, rule.part]
    ]


def _parts_of(small: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a form that a rule may rewrite, the longest first."""
    for length in range(min(len(small) - 1, _LONGEST_END), 0, -1):
        yield SUFFIX, small[-length:]
        yield PREFIX, small[:length]
    for mark in dict.fromkeys(small[:-1]):
        yield MARK, mark


class WordSplitter:
    """A splitter of the multiword tokens of sentences.

    ``weights`` is uint16[2^k], the weights of the decision; see decisions.packed().
    """

    def __init__(self, rules: MultiwordRules, weights: np.ndarray) -> None:
        self.rules, self.weights = rules, weights
        self._candidates: dict[str, list[SplitCandidate]] = {}
        self._neighbours: dict[str, tuple[int, int, int]] = {}

    def words(
        self, forms: Sequence[str], bounds: Iterable[tuple[int, int]]
    ) -> list[tuple[str, ...]]:
        """Return the words of each token.

        Args:
            forms: the forms of the tokens.
            bounds: the first token of each sentence, and the one after its last.
        """
        words: list[tuple[str, ...]] = [(form,) for form in forms]
        if not self.rules.rules and not self.rules.exact:
            return words
        open_: list[tuple[int, SplitCandidate]] = []
        atoms: list[np.ndarray] = []
        for first, stop in bounds:
            for t in range(first, stop):
                form = forms[t]
                if candidates := self._of_form(form):
                    if form in self.rules.exact:
                        words[t] = self.rules.exact[form]
                        continue
                    before = forms[t - 1] if t > first else ""
                    after = forms[t + 1] if t + 1 < stop else ""
                    for candidate in candidates:
                        open_.append((t, candidate))
                        atoms.append(self.with_neighbours(candidate, before, after))
        if open_:
            scores = np.empty(len(open_), np.int64)
            scores_of(
                self.weights, np.array(atoms), PROGRAM, np.empty(len(TEMPLATES), np.uint64), scores
            )
            best: dict[int, tuple[int, SplitCandidate]] = {}
            for (t, candidate), its_score in zip(open_, scores.tolist(), strict=True):
                if its_score > best.get(t, (0,))[0]:
                    best[t] = its_score, candidate
            for t, (_, candidate) in best.items():
                words[t] = self._split_again(forms[t], candidate)
        return words

    def _split_again(self, form: str, candidate: SplitCandidate) -> tuple[str, ...]:
        """Return the words that a candidate gives a form, with the word that its rule leaves split
        while another end can be split off: *I'd've* has the words *I*, *'d* and *'ve*.
        """
        before: tuple[str, ...] = ()
        after: tuple[str, ...] = ()
        words = candidate.words
        for _ in range(_FURTHER_ENDS):
            place = 0 if candidate.rule.kind == SUFFIX else len(words) - 1
            left = words[place]
            # A rule may leave a word as long as the form; it would fit that word again.
            if candidate.rule.kind == MARK or len(left) >= len(form):
                break
            before, after = before + words[:place], words[place + 1 :] + after
            words = (left,)
            best = self._best_end(left, before[-1] if before else "", after[0] if after else "")
            if best is None:
                break
            form, candidate, words = left, best, best.words
        return before + words + after

    def _best_end(self, form: str, before: str, after: str) -> SplitCandidate | None:
        """Return the best rule that splits an end off a form; None if none does."""
        candidates = [
            candidate for candidate in self._of_form(form) if candidate.rule.kind == SUFFIX
        ]
        if not candidates:
            return None
        atoms = [self.with_neighbours(candidate, before, after) for candidate in candidates]
        scores = np.empty(len(candidates), np.int64)
        keys = np.empty(len(TEMPLATES), np.uint64)
        scores_of(self.weights, np.array(atoms), PROGRAM, keys, scores)
        return candidates[int(scores.argmax())] if scores.max() > 0 else None

    def with_neighbours(self, candidate: SplitCandidate, before: str, after: str) -> np.ndarray:
        """Return uint64[atoms] of a decision, with the forms before and after the token; "":
        there is none.
        """
        atoms = candidate.atoms.copy()
        earlier, later = self._hashes(before), self._hashes(after)
        atoms[-4:] = earlier[0], later[0], earlier[2], later[1]
        return atoms

    def _hashes(self, form: str) -> tuple[int, int, int]:
        """Return the hashes of a form, of its first two and of its last two characters; for an
        empty form, those of a space.
        """
        if (hashes := self._neighbours.get(form)) is None:
            shown = form or " "
            hashes = hash_of(shown), hash_of(shown[:2]), hash_of(shown[-2:])
            if len(self._neighbours) < _KEPT_FORMS:
                self._neighbours[form] = hashes
        return hashes

    def _of_form(self, form: str) -> list[SplitCandidate]:
        if (kept := self._candidates.get(form)) is not None:
            return kept
        candidates = self.rules.candidates(form)
        if form in self.rules.exact and not candidates:
            candidates = [
                SplitCandidate(
                    Rule(MARK, ""), self.rules.exact[form], np.zeros(len(ATOMS), np.uint64)
                )
            ]
        if len(self._candidates) < _KEPT_FORMS:
            self._candidates[form] = candidates
        return candidates


@kernel()
def scores_of(weights, atoms, templates, keys, scores):
    """Fill in int64[decisions] with the score of each row of atoms, uint64[decisions, atoms]; for
    ``keys``, see score().
    """
    for row in range(len(atoms)):
        scores[row] = score(weights, atoms[row], templates, keys)
