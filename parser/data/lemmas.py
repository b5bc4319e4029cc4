"""Where the lemmas of words come from: a lexicon, what training saw, and rules that an encoder chooses among.

A form with its predicted tags takes the lemma that the lexicon has for it, if there is a lexicon; else the one that it always
had in training, or always with these tags; else that of the most probable rule that applies (lemma_rules.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path

import numpy as np

from parser.conllu.checks import EMPTY, ConlluError
from parser.conllu.files import open_input
from parser.data.attributes import AttributeColumns
from parser.data.lemma_rules import LemmaRule, choose_rules, is_lemma, rule_elements, rules_for
from parser.data.vocabularies import ROOT, UNKNOWN, SetVocabulary

Seen = dict[tuple[str, ...], dict[str, str]]
"""By tags, by form: the lemma. Those of forms that always had the same are under no tags, ()."""

RuleScores = Callable[[np.ndarray], np.ndarray]
"""From int[m], places of tokens, to float32[m, rules], the scores of the rules for each of them."""


class Lemmas:
    """What a model knows of lemmas.

    Args:
        rules: the symbols of the rules, those of most words first.
        columns: the columns of tags that forms with several lemmas are told apart by.
        seen: the forms that always had the same lemma, and which; and by the tags in these columns those that had with them.

    Attributes:
        rules: the vocabulary of rules; a rule is the set of its parts.
        columns, seen: as given.

    Raises:
        ValueError: there are no rules, a rule is there twice, or it is none.
    """

    def __init__(self, rules: Sequence[str], columns: Sequence[str] = (), seen: Seen | None = None) -> None:
        self._rules = [LemmaRule.of(symbol) for symbol in rules]
        self.rules = SetVocabulary(rules, rule_elements)
        self.columns = list(columns)
        self.seen = seen or {}

    @classmethod
    def of(cls, sentences: Iterable[AttributeColumns], columns: Sequence[str]) -> Lemmas | None:
        """Those of a treebank; None if it has no lemmas."""
        of_forms: dict[str, set[str]] = {}
        of_words: dict[tuple[str, ...], dict[str, set[str]]] = {}
        for sentence in sentences:
            tags = [getattr(sentence, column) for column in columns]
            for form, lemma, *values in zip(sentence.forms, sentence.lemmas, *tags, strict=True):
                if _is_known(form, lemma):
                    of_forms.setdefault(form, set()).add(lemma)
                    of_words.setdefault(tuple(values), {}).setdefault(form, set()).add(lemma)
        words = {(form, lemma) for form, found in of_forms.items() for lemma in found}
        if all(lemma == EMPTY for _, lemma in words):
            return None
        seen: Seen = {}
        for of_tags, forms in ((), of_forms), *of_words.items():
            for form, found in forms.items():
                if len(found) == 1 and form not in seen.get((), {}):
                    seen.setdefault(of_tags, {})[form] = next(iter(found))
        return cls([rule.symbol for rule in choose_rules(words)], columns, seen)

    def encode(self, sentences: Iterable[AttributeColumns]) -> np.ndarray:
        """int32[total]: the numbers of the words' own rules, ROOT before each sentence, UNKNOWN without lemma or rule."""
        known: dict[tuple[str, str], int] = {}
        numbers: list[int] = []
        for sentence in sentences:
            numbers.append(ROOT)
            for word in zip(sentence.forms, sentence.lemmas, strict=True):
                if word not in known:
                    found = self.rules.encode_exactly(rule.symbol for rule in rules_for(*word)) if _is_known(*word) else []
                    known[word] = min((number for number in found if number != UNKNOWN), default=UNKNOWN)
                numbers.append(known[word])
        return np.array(numbers, np.int32)

    def by_rules(self, forms: Sequence[str], scores: np.ndarray) -> list[str]:
        """The lemmas of forms, each by the rule with the highest score that applies to it; where none does, the form.

        Args:
            forms: the forms.
            scores: float32[forms, rules].
        """
        best = [self._rules[number](form) for form, number in zip(forms, scores.argmax(axis=1).tolist(), strict=True)]
        return [self._by_next(*word) if lemma is None else lemma for lemma, *word in zip(best, forms, scores, strict=True)]

    def _by_next(self, form: str, scores: np.ndarray) -> str:
        ranked = (self._rules[number](form) for number in np.argsort(-scores, kind="stable").tolist())
        return next((lemma for lemma in ranked if lemma is not None), form)


def tokens_of(sentences: Iterable[Sequence[str]]) -> list[str]:
    """The forms of the tokens of sentences of words: a root, whose form is empty, is the first of each."""
    return [form for forms in sentences for form in ("", *forms)]


def _is_known(form: str, lemma: str) -> bool:
    """Whether a treebank says the lemma of a word: _ means that it does not, unless that is the word."""
    return is_lemma(lemma) and (lemma != EMPTY or form == EMPTY)


class LemmaLexicon:
    """Lemmas that somebody has written down.

    Args:
        lemmas: by UPOS and FEATS, either of them ``_`` for any, by form, the lemma.
    """

    def __init__(self, lemmas: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self._lemmas = lemmas

    @classmethod
    def read(cls, path: Path) -> LemmaLexicon:
        """A file of lines: form, UPOS or _, lemma, and FEATS if they matter, with tabs between; the first of equals counts.

        Raises:
            ConlluError: it cannot be read, or a line is something else.
        """
        lemmas: dict[tuple[str, str], dict[str, str]] = {}
        with open_input(path) as source:
            for number, line in enumerate(source, 1):
                try:
                    columns = line.decode("utf-8" if number > 1 else "utf-8-sig").rstrip("\r\n").split("\t")
                except UnicodeDecodeError:
                    columns = []
                if len(columns) == 3:
                    columns.append(EMPTY)
                if len(columns) != 4 or not columns[0] or not is_lemma(columns[2]):
                    expected = "form, UPOS or _, lemma, and FEATS if they matter, in UTF-8, with tabs between them"
                    raise ConlluError(f"{path}, line {number}: a line of a lexicon is {expected}; correct it")
                form, upos, lemma, feats = columns
                lemmas.setdefault((upos, feats), {}).setdefault(form, lemma)
        return cls(lemmas)

    def lemma(self, form: str, upos: str, feats: str) -> str | None:
        """The lemma of a word; what is said of its tags comes before what is said of any."""
        for tags in ((upos, feats), (upos, EMPTY), (EMPTY, feats), (EMPTY, EMPTY)):
            if (lemma := self._lemmas.get(tags, {}).get(form)) is not None:
                return lemma
        return None


class Lemmatizer:
    """Gives words their lemmas.

    Args:
        lemmas: what the model knows.
        lexicon: comes before it; None: there is none.
    """

    def __init__(self, lemmas: Lemmas, lexicon: LemmaLexicon | None = None) -> None:
        self._lemmas = lemmas
        self._lexicon = lexicon

    def __call__(self, forms: Sequence[str], tags: Mapping[str, Sequence[str]], scores: RuleScores) -> list[str]:
        """The lemmas of tokens.

        Args:
            forms: theirs; one without characters, as a root is, needs no lemma.
            tags: by column that is predicted, theirs.
            scores: of rules, asked for those tokens that need one.
        """
        columns = [tags[column] for column in self._lemmas.columns]
        seen, nothing = self._lemmas.seen, dict[str, str]()
        always = seen.get((), nothing)
        of_tokens = zip(*columns, strict=True) if columns else repeat((), len(forms))
        found = [always.get(form) or seen.get(values, nothing).get(form) for form, values in zip(forms, of_tokens, strict=True)]
        if self._lexicon is not None:
            upos, feats = (tags.get(column, repeat(EMPTY, len(forms))) for column in ("upos", "feats"))
            written = map(self._lexicon.lemma, forms, upos, feats)
            found = [lemma if first is None else first for first, lemma in zip(written, found, strict=True)]
        places = np.array([place for place, lemma in enumerate(found) if lemma is None and forms[place]], np.int64)
        if len(places):
            by_rules = self._lemmas.by_rules([forms[place] for place in places.tolist()], scores(places))
            for place, lemma in zip(places.tolist(), by_rules, strict=True):
                found[place] = lemma
        return [lemma or EMPTY for lemma in found]
