"""The project's own tokenizer: one pass over characters finds tokens, the ends of sentences, and
the words of multiword tokens.

Three linear models over hashed features decide (token_ends.py, sentence_ends.py, multiword.py). The
model folder holds them: ``tokenizer.json`` has the rules of multiword tokens and the abbreviations,
``tokenizer.safetensors`` the weights. training/text/tokenizer.py trains them, in seconds.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np
from safetensors.numpy import load_file, save

from oracles.errors import OptimalStepError
from parser.conllu.checks import BYTE_ORDER_MARK
from parser.data.spelling import is_plain
from parser.decoding.parse_options import SentenceEnds
from parser.model_folder import TOKENIZER, TOKENIZER_TENSORS, errors_named, read_json
from parser.storage import replacing, write_json
from parser.stored_values import checked
from parser.text.characters import (
    N_CLASSES,
    POWERS,
    TextCharacters,
    characters_of,
    folded,
    hash_of,
)
from parser.text.decisions import BEFORE_NAME, KNOWN, OWN_ABBREVIATION, form_value, with_listed
from parser.text.kinds import VERSION, join_abbreviations, joined_places
from parser.text.multiword import MARK, PREFIX, SUFFIX, MultiwordRules, Rule, WordSplitter
from parser.text.sentence_ends import SentenceEndModel, find_ends, line_ends, paragraph_ends
from parser.text.token_ends import TokenEndModel, TokenPlaces, find_tokens, never_seen
from parser.text.tokens import SplitSentence

SETTINGS, TENSORS = TOKENIZER, TOKENIZER_TENSORS
# Increase it when the features change, so that older weights are refused rather than misread.
_FORMAT = 1
_WHITE = re.compile(r"[\s\0]+")


class _StoredTokenizer(TypedDict):
    """The contents of tokenizer.json; older folders lack some of its keys."""

    blanks_in_tokens: bool
    dashes_in_tokens: NotRequired[bool]
    relations_in_tokens: NotRequired[bool]
    threshold: int
    whole: list[str]
    kinds: NotRequired[int]
    abbreviations: list[str]
    rules: list[list[str]]
    open_rules: list[int]
    multiword: dict[str, list[Any]]  # a total, then pairs of a rule's number and a count
    exact: dict[str, list[str]]


class CharacterTokenizer:
    """A Splitter of pipeline.py: it splits text into sentences, tokens and words.
    Several threads may use it at once.

    Args:
        tokens: where tokens end.
        sentences: where sentences end.
        words: the words of multiword tokens.
        whole: the kinds of text that are never cut; see kinds.py.
        kinds: the version of their patterns.
        abbreviations: those in the table of forms, for people to read.
    """

    finds_sentences = True

    def __init__(
        self,
        tokens: TokenEndModel,
        sentences: SentenceEndModel,
        words: WordSplitter,
        whole: Iterable[str] = (),
        abbreviations: Iterable[str] = (),
        kinds: int = VERSION,
    ) -> None:
        self.tokens, self.sentences, self.words = tokens, sentences, words
        self.whole = list(whole)
        self.abbreviations = list(abbreviations)
        self.kinds = kinds
        # the user's own abbreviations that are not letters alone
        self._joined: frozenset[str] = frozenset()

    def with_abbreviations(self, abbreviations: Mapping[str, bool]) -> CharacterTokenizer:
        """Return a tokenizer that also knows a user's own abbreviations;
        see read_abbreviations().
        """
        hashes = np.array([hash_of(short) for short in abbreviations], np.uint64)
        kinds = np.array(
            [BEFORE_NAME if name else OWN_ABBREVIATION for name in abbreviations.values()],
            np.uint16,
        )
        forms = with_listed(self.tokens.forms, hashes, kinds)
        tokens, sentences = self.tokens._replace(forms=forms), self.sentences._replace(forms=forms)
        tokenizer = CharacterTokenizer(
            tokens, sentences, self.words, self.whole, self.abbreviations, self.kinds
        )
        tokenizer._joined = frozenset(
            folded(short) for short in abbreviations if not short[:-1].isalpha()
        )
        return tokenizer

    def split(self, text: str, sentences: SentenceEnds = SentenceEnds.MODEL) -> list[SplitSentence]:
        """Return the sentences of a text; none extends beyond its paragraph,
        or beyond its line with LINE and PARAGRAPH.

        The sentences of a paragraph do not depend on the other paragraphs.
        """
        characters = characters_of(text, lines=sentences != SentenceEnds.MODEL)
        joined = joined_places(characters, self.whole, self.kinds)
        join_abbreviations(characters, self._joined, joined)
        bounds = find_tokens(characters, joined, self.tokens, POWERS)
        if not bounds.shape[1]:
            return []
        if sentences == SentenceEnds.LINE:
            ends = paragraph_ends(characters, bounds)
        else:
            ends = find_ends(characters, bounds, self.sentences, POWERS)
        places = list(
            zip(
                characters.starts[bounds[0]].tolist(),
                characters.ends[bounds[1] - 1].tolist(),
                strict=True,
            )
        )
        composed, forms = _forms(characters, text, bounds, places)
        limits = list(pairwise([0, *(np.flatnonzero(ends) + 1).tolist()]))
        words = self.words.words(composed, limits)
        if forms is not composed:
            words = [
                _decomposed(token_words, form)
                for token_words, form in zip(words, forms, strict=True)
            ]
        lines = line_ends(characters, bounds).tolist()
        return [SplitSentence(forms[a:b], words[a:b], places[a:b], lines[a:b]) for a, b in limits]

    def save(self, folder: Path, notes: Mapping[str, Any] | None = None) -> None:
        """Write it into a folder; ``notes`` are for people to read."""
        places = self.tokens.places
        tensors = {
            "tokens.weights": self.tokens.weights,
            "tokens.candidates": places.candidates.astype(np.uint8),
            "forms": self.tokens.forms,
            "sentences.weights": self.sentences.weights,
            "words.weights": self.words.weights,
        }
        with replacing(folder / TENSORS) as temporary:
            temporary.write_bytes(save(tensors))
        rules = self.words.rules
        numbers = {
            rule: number
            for number, rule in enumerate(dict.fromkeys([*rules.open_rules, *_rules_of(rules)]))
        }
        settings = {
            "format": _FORMAT,
            **(notes or {}),
            "blanks_in_tokens": bool(places.joins),
            "dashes_in_tokens": bool(places.dashes),
            "relations_in_tokens": bool(places.relations),
            "threshold": self.sentences.threshold,
            "whole": self.whole,
            "kinds": self.kinds,
            "abbreviations": self.abbreviations,
            "rules": [[rule.kind, rule.part, *rule.words] for rule in numbers],
            "open_rules": [numbers[rule] for rule in rules.open_rules],
            "multiword": {
                form: [
                    rules.totals[form],
                    *((numbers[rule], count) for rule, count in form_rules.items()),
                ]
                for form, form_rules in rules.rules.items()
            },
            "exact": {form: list(words) for form, words in rules.exact.items()},
        }
        write_json(folder / SETTINGS, settings)

    @classmethod
    def load(cls, folder: Path) -> CharacterTokenizer:
        """Read a tokenizer from a folder.

        Raises:
            ModelError: a part is missing, damaged or of another version.
        """
        settings = read_json(folder, SETTINGS)
        with errors_named(folder / SETTINGS):
            if settings["format"] != _FORMAT:
                raise OptimalStepError(
                    f"its format is {settings['format']!r}, and this version reads {_FORMAT}; "
                    "train it again"
                )
            stored = checked(settings, _StoredTokenizer, "settings")
            kinds = stored.get("kinds", 1)
            if not 1 <= kinds <= VERSION:
                raise OptimalStepError(
                    f"its kinds of text are of version {kinds!r}, "
                    f"and this version reads 1 to {VERSION}"
                )
        with errors_named(folder / TENSORS):
            tensors = _tensors(folder / TENSORS)
        with errors_named(folder / SETTINGS):
            rules = _read_rules(stored, tensors["forms"])
        weights = tensors["tokens.weights"]
        candidates = tensors["tokens.candidates"].astype(np.bool_)
        if "dashes_in_tokens" not in stored:
            candidates &= ~never_seen(weights)
        places = TokenPlaces(
            candidates,
            stored["blanks_in_tokens"],
            stored.get("dashes_in_tokens", False),
            stored.get("relations_in_tokens", False),
        )
        tokens = TokenEndModel.new(weights, places, tensors["forms"])
        sentences = SentenceEndModel.new(
            tensors["sentences.weights"], tensors["forms"], stored["threshold"]
        )
        return cls(
            tokens,
            sentences,
            WordSplitter(rules, tensors["words.weights"]),
            stored["whole"],
            stored["abbreviations"],
            kinds,
        )


def _forms(
    characters: TextCharacters, text: str, bounds: np.ndarray, places: list[tuple[int, int]]
) -> tuple[list[str], list[str]]:
    """Return the tokens in NFC and without invisible characters, and as they stand in the text,
    each with single spaces within it.

    If all are plain, both are the same list.
    """
    flat = characters.codes.tobytes().decode("utf-32-le", "surrogatepass").replace("\n", " ")
    starts, stops = bounds.tolist()
    composed = [flat[start:stop] for start, stop in zip(starts, stops, strict=True)]
    if is_plain(text):
        return composed, composed
    return composed, [
        _WHITE.sub(" ", text[start:stop].replace(BYTE_ORDER_MARK, "")) for start, stop in places
    ]


def _decomposed(words: tuple[str, ...], form: str) -> tuple[str, ...]:
    """Return the words of a token in the normal form of the token."""
    if len(words) == 1:
        return (form,)
    return (
        tuple(unicodedata.normalize("NFD", word) for word in words)
        if unicodedata.is_normalized("NFD", form)
        else words
    )


def _rules_of(rules: MultiwordRules) -> Iterable[Rule]:
    return (rule for form_rules in rules.rules.values() for rule in form_rules)


def _tensors(path: Path) -> dict[str, np.ndarray]:
    """Return the tensors of a file, each of the type and shape that it must have."""
    tensors = load_file(path)
    expected = dict.fromkeys(
        ("tokens.weights", "sentences.weights", "words.weights"), np.uint16
    ) | {"forms": np.uint32}
    for name, kind in expected.items():
        table = tensors[name]
        if (
            table.dtype != kind
            or table.ndim != 1
            or len(table) & (len(table) - 1)
            or 2 * np.count_nonzero(table) > len(table)
        ):
            raise OptimalStepError(
                f"{name} is not a table of {kind.__name__} whose size is a power of 2 and that is "
                "half empty"
            )
    candidates = tensors["tokens.candidates"]
    if candidates.dtype != np.uint8 or candidates.shape != (N_CLASSES, N_CLASSES):
        raise OptimalStepError("tokens.candidates is not uint8 for each pair of classes")
    return tensors


def _read_rules(stored: _StoredTokenizer, forms: np.ndarray) -> MultiwordRules:
    rules = []
    for texts in stored["rules"]:
        kind, part, *words = texts
        if (
            kind not in (SUFFIX, PREFIX, MARK)
            or (not words) != (kind == MARK)
            or (kind == MARK and not part)
        ):
            raise OptimalStepError(f"{texts} is not a rule for multiword tokens")
        rules.append(Rule(kind, part, tuple(words)))
    totals: dict[str, int] = {}
    by_form: defaultdict[str, dict[Rule, int]] = defaultdict(dict)
    for form, (total, *counts) in stored["multiword"].items():
        totals[form] = checked(total, int, "multiword")
        for number, count in checked(counts, list[list[int]], "multiword"):
            by_form[form][_numbered(rules, number)] = count
    open_rules = [_numbered(rules, number) for number in stored["open_rules"]]
    for form, words in stored["exact"].items():
        if not words or not all(words):
            raise OptimalStepError(f"{form!r} has an empty word")

    def seen(small: str) -> int:
        return (0, 1, 2, 4)[form_value(forms, np.uint64(hash_of(small))) >> KNOWN & 3]

    return MultiwordRules(stored["exact"], by_form, totals, open_rules, seen)


def _numbered(rules: list[Rule], number: int) -> Rule:
    if not 0 <= number < len(rules):
        raise OptimalStepError(f"there is no rule {number!r}")
    return rules[number]
