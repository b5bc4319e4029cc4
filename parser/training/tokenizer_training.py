"""Trains the tokenizer (text/character_tokenizer.py) on the tokens of a treebank: logistic regressions over hashed features.

It learns from the text of the treebank, and from a second copy as people write: with lines that end anywhere or after each
sentence, without final marks, in lower case or in capitals, with typographic quotes. How much the copy counts is chosen on dev,
as it is and disturbed in the same ways, half each, since dev alone prefers none.

What training says of a form (how often it is a token, or ends a sentence) would be known better of the forms that are learned
from than of the forms of a new text. So each token reads what the other folds of the training part say.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from parser.kernels import kernel
from parser.model_folder import TOKENIZER
from parser.text import multiword, sentence_ends, token_ends
from parser.text.abbreviations import abbreviations_of
from parser.text.character_tokenizer import CharacterTokenizer
from parser.text.characters import (
    DIGIT,
    EDGE,
    LOWER,
    N_CLASSES,
    PARAGRAPH,
    POWERS,
    UPPER,
    TextCharacters,
    characters_of,
    hash_of,
)
from parser.text.decisions import (
    ABBREVIATION,
    BEFORE_NAME,
    BEGINS,
    CAPITALS,
    ENDS,
    KNOWN,
    LISTED,
    STEP,
    form_value,
    key_of,
    packed,
    packed_forms,
)
from parser.text.kinds import whole_kinds
from parser.text.multiword import MultiwordRules, WordSplitter
from parser.text.pipeline import TextPipeline
from parser.text.sentence_ends import (
    FORM,
    GAP,
    KFIRST,
    ODDS_BEGIN,
    ODDS_CAPITAL,
    ODDS_END,
    SentenceEndModel,
    paragraph_ends,
    token_rows,
)
from parser.text.token_ends import TokenEndModel
from parser.text.tokens import Paragraph, SplitSentence, Token, read_paragraphs

log = logging.getLogger(__name__)

_FOLDS = 10
_SENTENCES_OF_FOLD = 20  # neighbours, which share rare forms, are in one fold

# Between classes of letters and digits that training has cut less often than this, no token ends.
_RARE_CUT = 0.0005
# Tokens have blanks within where training has at least this share of such tokens.
_RARE_BLANK = 0.001
# The marks of a treebank have blanks before them if this share of them has.
_SPACED_MARKS = 0.9

_MARKS = re.compile(r"[.,;:!?\u2026)\]}\u00bb\u201d]+")
_FINAL = re.compile("[.!?]")

# An abbreviation of a list is not used if training has it, without its period and before a blank, oftener than this: a number,
# and as a share of the tokens. So *in.* and *go.* are not used.
_FEW, _COMMON = 2, 0.0003
_OPENING = ("(", "[", "\u201c", "\u00ab")

# Thresholds to choose from on dev, in steps of the weights; without dev, the first.
_THRESHOLDS = tuple(round(score / STEP) for score in (0, -4, -3, -2, -1.5, -1, -0.5, 0.5, 1, 2, 3, 4))


@dataclass(frozen=True)
class TokenizerTraining:
    """How a tokenizer is trained; chosen on dev of vi, ko, got, pt, hu and en.

    Attributes:
        epochs: of each decision.
        rate: of Adagrad; it falls with the root of the share of epochs that are left.
        drop: share of the features that are left out of each example.
        least: how often training must have a feature.
        copies: weights of the disturbed copy to choose from on dev; without dev, the first.
    """

    epochs: int = 8
    rate: float = 0.2
    drop: float = 0.2
    least: int = 2
    copies: tuple[float, ...] = (0.25, 1.0, 0.0)


# ------------------------------------------------------------------------------------------------------------------ texts
@dataclass
class LearningText:
    """A text with its tokens.

    Attributes:
        text: the text.
        places: where each token begins and ends in it.
        ends: whether each token ends a sentence.
        folds: the fold of each token.
        words: of each token.
    """

    text: str = ""
    places: list[tuple[int, int]] = field(default_factory=list)
    ends: list[bool] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    words: list[tuple[str, ...]] = field(default_factory=list)


class _Writer:
    """Writes a text token by token."""

    def __init__(self) -> None:
        self.made = LearningText()
        self._pieces: list[str] = []
        self._size = self.column = 0

    def separate(self, separator: str) -> None:
        self._pieces.append(separator)
        self._size += len(separator)
        self.column = 0 if "\n" in separator else self.column + len(separator)

    def add(self, form: str, words: tuple[str, ...], fold: int, ends: bool) -> None:
        self._pieces.append(form)
        self.made.places.append((self._size, self._size + len(form)))
        self._size += len(form)
        self.column += len(form)
        self.made.ends.append(ends)
        self.made.folds.append(fold)
        self.made.words.append(words)

    def finished(self) -> LearningText:
        self.made.text = "".join(self._pieces)
        return self.made


def plain_text(paragraphs: Iterable[Paragraph]) -> LearningText:
    """Return the text of paragraphs, with a blank between sentences and a blank line between paragraphs."""
    writer = _Writer()
    number = 0
    for paragraph in paragraphs:
        for place, sentence in enumerate(paragraph):
            if number:
                writer.separate(" " if place else "\n\n")
            for token, is_last in _with_last(sentence):
                writer.add(token.form, token.words, number // _SENTENCES_OF_FOLD % _FOLDS, is_last)
                if token.space_after and not is_last:
                    writer.separate(" ")
            number += 1
    return writer.finished()


def disturbed_text(paragraphs: Iterable[Paragraph], seed: int, *, attach: bool) -> LearningText:
    """Return the text of paragraphs as people write: groups of sentences in lines, without marks, in other letters and quotes.

    Args:
        paragraphs: the sentences.
        seed: of what is changed.
        attach: take away the blanks before most marks, for a treebank whose marks all have one.
    """
    random, writer = np.random.default_rng(seed), _Writer()
    paragraphs = list(paragraphs)
    small = [sentence[0].form[:1].islower() for sentence in chain.from_iterable(paragraphs)]
    lower = min(0.06, sum(small) / max(len(small), 1))
    how, left, number = _Disturbance.drawn(random, lower), 0, 0
    for paragraph in paragraphs:
        for place, sentence in enumerate(paragraph):
            separator = " " if place else "\n\n"
            if left == 0 or not place:
                before, how = how, _Disturbance.drawn(random, lower)
                left = int(random.choice((3, 6, 12, 25)))
                if place and (how.mode != "plain" or before.mode in ("chat", "lines")):
                    separator = "\n" if random.random() < 0.5 else "\n\n"
            elif place and (how.mode == "chat" or (how.mode == "lines" and random.random() < 0.7)):
                separator = "\n"
            left -= 1
            if number:
                writer.separate(separator)
            tokens = _attached(sentence) if attach and random.random() < 0.8 else sentence
            if how.mode == "chat" and len(tokens) > 1 and _FINAL.fullmatch(tokens[-1].form) and random.random() < 0.5:
                tokens = tokens[:-1]
            for token, is_last in _with_last(tokens):
                form, words = how.written(token)
                writer.add(form, words, number // _SENTENCES_OF_FOLD % _FOLDS, is_last)
                if token.space_after and not is_last:
                    wraps = how.mode == "wrap" and writer.column > how.width - 8
                    writer.separate("\n" if wraps else " ")
            number += 1
    return writer.finished()


@dataclass
class _Disturbance:
    """How a group of sentences is written.

    Attributes:
        mode: wrap: lines of a width; lines: most sentences end a line; chat: all do, and half have no final mark; plain.
        width: of wrapped lines.
        letters: lower, upper or "" for those of the treebank.
        curly: whether quotes and apostrophes are typographic.
    """

    mode: str
    width: int
    letters: str
    curly: bool
    opened: bool = False

    @classmethod
    def drawn(cls, random: np.random.Generator, lower: float) -> _Disturbance:
        mode = str(random.choice(("wrap", "wrap", "lines", "lines", "chat", "plain")))
        width, share, curly = int(random.integers(35, 100)), random.random(), bool(random.random() < 0.5)
        return cls(mode, width, "lower" if share < lower else "upper" if share > 0.95 else "", curly)

    def written(self, token: Token) -> tuple[str, tuple[str, ...]]:
        form, *words = (self._written(text) for text in (token.form, *token.words))
        if self.curly and token.form == '"':
            self.opened = not self.opened
            form = "\u201c" if self.opened else "\u201d"
            words = [form]
        return form, tuple(words)

    def _written(self, text: str) -> str:
        other = {"lower": text.lower(), "upper": text.upper()}.get(self.letters, text)
        text = other if len(other) == len(text) else text
        return text.replace("'", "\u2019") if self.curly else text


def _attached(tokens: Sequence[Token]) -> list[Token]:
    """Take away the blanks before marks and after opening brackets."""
    following = [token.form for token in tokens[1:]] + [""]
    return [
        Token(token.form, token.words, token.space_after and not _MARKS.fullmatch(then) and token.form not in _OPENING)
        for token, then in zip(tokens, following, strict=True)
    ]


def _with_last(tokens: Sequence[Token]) -> Iterator[tuple[Token, bool]]:
    return ((token, number == len(tokens)) for number, token in enumerate(tokens, 1))


def has_spaced_marks(paragraphs: Iterable[Paragraph]) -> bool:
    """Return whether a treebank has blanks before its marks, as no text that people write."""
    before = [
        first.space_after
        for sentence in chain.from_iterable(paragraphs)
        for first, then in pairwise(sentence)
        if then.form in (".", ",", "!", "?")
    ]
    return bool(before) and float(np.mean(before)) > _SPACED_MARKS


# ---------------------------------------------------------------------------------------------------------------- learning
@kernel()
def _count(atoms, templates, counts):
    """Count, up to 255, how often features occur, at places that their keys determine."""
    mask = np.uint64(len(counts) - 1)
    for row in range(len(atoms)):
        for number in range(len(templates)):
            key = key_of(atoms[row], templates, number)
            if key != 0:
                place = (key >> np.uint64(20)) & mask
                if counts[place] < 255:
                    counts[place] += 1


@kernel(forceinline=True)
def _slot(keys, key):
    mask = np.uint64(len(keys) - 1)
    place = key & mask
    while keys[place] != key and keys[place] != 0:
        place = (place + np.uint64(1)) & mask
    return np.int64(place)


@kernel()
def _enter(atoms, templates, counts, least, keys):
    """Enter the features that occur often enough into a table; return how many there are, -1 if it is full."""
    mask = np.uint64(len(counts) - 1)
    n = 0
    for row in range(len(atoms)):
        for number in range(len(templates)):
            key = key_of(atoms[row], templates, number)
            if key != 0 and counts[(key >> np.uint64(20)) & mask] >= least:
                slot = _slot(keys, key)
                if keys[slot] == 0:
                    keys[slot] = key
                    n += 1
                    if 2 * n > len(keys):
                        return -1
    return n


@kernel()
def _epoch(atoms, gold, weights, templates, order, keys, values, rate, drop, seed, used):
    """Run an epoch of Adagrad.

    Args:
        atoms, gold, weights: uint64[examples, atoms], bool[examples], float32[examples].
        templates: int32[templates, most atoms].
        order: int64[examples].
        keys, values: the table of features: uint64[2^k], and float32[2^k, 2], the weight and the sum of squared gradients.
        rate, drop: the learning rate, and the share of features left out.
        seed: of what is left out.
        used: int64[templates], workspace.
    """
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    limit = np.uint64(drop * 2.0**32)
    scale = 1 / (1 - drop)
    for row in order:
        n = 0
        total = 0.0
        for number in range(len(templates)):
            key = key_of(atoms[row], templates, number)
            if key == 0:
                continue
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            if number > 0 and (state >> np.uint64(32)) < limit:
                continue
            slot = _slot(keys, key)
            if keys[slot] != 0:
                used[n] = slot
                n += 1
                total += values[slot, 0]
        likely = 1 / (1 + math.exp(-min(max(total * scale, -30.0), 30.0)))
        gradient = (likely - gold[row]) * weights[row]
        if abs(gradient) < 1e-4:
            continue
        for k in range(n):
            slot = used[k]
            values[slot, 1] += np.float32(gradient * gradient)
            values[slot, 0] -= np.float32(rate * gradient / math.sqrt(values[slot, 1]))


@dataclass(frozen=True)
class DecisionExamples:
    """Decisions with the right answer: uint64[examples, atoms], bool[examples]."""

    atoms: np.ndarray
    gold: np.ndarray


def fitted(
    examples: Sequence[DecisionExamples], shares: Sequence[float], templates: np.ndarray, how: TokenizerTraining, seed: int
) -> np.ndarray:
    """Return the packed weights learned from examples of several texts; ``shares``: how much each text counts."""
    chosen = [(some, share) for some, share in zip(examples, shares, strict=True) if share > 0 and len(some.gold)]
    if not chosen:
        return packed(np.zeros(0, np.uint64), np.zeros(0))
    atoms = np.concatenate([some.atoms for some, _ in chosen])
    gold = np.concatenate([some.gold for some, _ in chosen])
    weights = np.concatenate([np.full(len(some.gold), share, np.float32) for some, share in chosen])
    counts = np.zeros(1 << 24, np.uint8)
    _count(atoms, templates, counts)
    bits = int(4 * np.count_nonzero(counts >= how.least)).bit_length()
    while True:
        keys = np.zeros(1 << bits, np.uint64)
        if _enter(atoms, templates, counts, how.least, keys) >= 0:
            break
        bits += 1
    values = np.zeros((len(keys), 2), np.float32)
    values[:, 1] = 0.01
    random, used = np.random.default_rng(seed), np.empty(len(templates), np.int64)
    for epoch in range(how.epochs):
        rate = how.rate * math.sqrt(1 - epoch / how.epochs)
        _epoch(
            atoms,
            gold,
            weights,
            templates,
            random.permutation(len(gold)),
            keys,
            values,
            rate,
            how.drop,
            seed * 1000 + epoch + 1,
            used,
        )
    there = keys != 0
    return packed(keys[there], values[there, 0])


# ------------------------------------------------------------------------------------------------------------------- forms
def _form_tables(
    text: TextCharacters, tokens: np.ndarray, ends: np.ndarray, folds: np.ndarray, abbreviations: Mapping[str, bool]
) -> tuple[np.ndarray, list[str]]:
    """Return what training says of forms, and the abbreviations that are used.

    Args:
        text, tokens, ends, folds: the plain text.
        abbreviations: with their period; whether a name or a number follows. Common words, such as *in.*, are not used.

    Returns:
        uint32[folds + 1, 2^k], see packed_forms(): what the other folds say, and at last what all say; and the abbreviations.
    """
    rows = token_rows(text, tokens, np.zeros(2, np.uint32), POWERS)[:, _columns(text, tokens)]
    forms, inverse = np.unique(rows[FORM], return_inverse=True)
    begins = np.concatenate([[True], ends[:-1]])
    capital = rows[KFIRST] == UPPER
    conditions = (np.ones(len(ends), bool), ends, begins, capital & ~begins, ~begins)
    counts = np.zeros((len(conditions), _FOLDS, len(forms)), np.int64)
    for own, condition in zip(counts, conditions, strict=True):
        np.add.at(own, (folds[condition], inverse[condition]), 1)
    total = counts.sum(1)
    seen = frozenset(forms.tolist())
    alone = np.bincount(inverse[rows[GAP] > 1], minlength=len(forms))
    common = frozenset(forms[alone > max(_FEW, _COMMON * len(ends))].tolist())
    used = {short: before for short, before in abbreviations.items() if hash_of(short[:-1]) not in common}
    listed = {hash_of(short): (BEFORE_NAME if before else ABBREVIATION) << LISTED for short, before in used.items()}
    own = np.array([listed.get(form, 0) for form in forms.tolist()], np.uint16)
    new = [form for form in listed if form not in seen]
    all_forms = np.concatenate([forms, np.array(new, np.uint64)])
    of_new = np.array([listed[form] for form in new], np.uint16)
    said = [*(total - counts[:, fold] for fold in range(_FOLDS)), total]
    tables = [packed_forms(all_forms, np.concatenate([_form_values(*one) | own, of_new])) for one in said]
    return np.array(tables), sorted(used)


def _form_values(
    seen: np.ndarray, ends: np.ndarray, begins: np.ndarray, capitals: np.ndarray, within: np.ndarray
) -> np.ndarray:
    """Return uint16[forms], the counts of each form as classes; see decisions.py."""
    known = np.digitize(seen, (1, 2, 4))
    capital = np.where(within == 0, 2, np.digitize(capitals / np.maximum(within, 1), (0.1, 0.9)))
    capital = np.where((within > 0) & (capital == 2), 3, capital)
    return (known << KNOWN | _odds(ends, seen) << ENDS | _odds(begins, seen) << BEGINS | capital << CAPITALS).astype(np.uint16)


def _odds(count: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the class of a share of occurrences: 0 without any, 1 to 7 from rare to frequent, 8 if it is small, of few."""
    bins = 1 + np.digitize((count + 0.02) / (total + 0.5), (0.005, 0.02, 0.06, 0.15, 0.4, 0.75))
    return np.where(total == 0, 0, np.where((total > 3) | (bins > 3), bins, 8))


def _columns(text: TextCharacters, tokens: np.ndarray) -> np.ndarray:
    """Return int64[tokens], the column of each in token_rows()."""
    before = np.concatenate([[0], np.cumsum(paragraph_ends(text, tokens))[:-1]])
    return np.arange(tokens.shape[1]) + EDGE * (1 + before)


# ---------------------------------------------------------------------------------------------------------------- examples
@dataclass(frozen=True)
class _Prepared:
    """A text as kernels read it: characters, int32[2, tokens], bool[tokens] and int64[tokens]."""

    characters: TextCharacters
    tokens: np.ndarray
    ends: np.ndarray
    folds: np.ndarray

    @classmethod
    def of(cls, text: LearningText) -> _Prepared:
        characters = characters_of(text.text)
        places = np.array(text.places, np.int64).T.reshape(2, -1)
        tokens = np.searchsorted(characters.starts, places).astype(np.int32)
        return cls(characters, tokens, np.array(text.ends, bool), np.array(text.folds, np.int64))


def _cuts(texts: Iterable[_Prepared]) -> tuple[np.ndarray, bool]:
    """Return bool[classes, classes], between which classes of characters a token may end, and whether tokens have blanks."""
    cut, inner = np.zeros((2, N_CLASSES, N_CLASSES))
    blanks = tokens = 0
    for text in texts:
        kinds = text.characters.kinds
        last = text.tokens[1] - 1
        np.add.at(cut, (kinds[last], kinds[last + 1]), 1)
        within = np.zeros(len(kinds) + 1, np.int64)
        np.add.at(within, text.tokens[0], 1)
        np.add.at(within, last, -1)
        inside = np.flatnonzero(np.cumsum(within)[:-1] > 0)
        np.add.at(inner, (kinds[inside], kinds[inside + 1]), 1)
        blanks += int(np.count_nonzero(kinds[inside] <= PARAGRAPH))
        tokens += len(last)
    classes = np.arange(N_CLASSES)
    letters = (classes >= LOWER) & (classes <= DIGIT)
    rare = (cut < _RARE_CUT * (inner + cut)) & np.outer(letters, letters)
    return ~rare, blanks > _RARE_BLANK * tokens


def _token_examples(text: _Prepared, candidates: np.ndarray, joins: bool, tables: np.ndarray) -> DecisionExamples:
    kinds = text.characters.kinds
    n = _count_open(kinds, text.tokens, candidates, joins)
    atoms, gold = np.empty((n, len(token_ends.ATOMS)), np.uint64), np.empty(n, np.bool_)
    _fill_token_examples(text.characters, text.tokens, text.folds, candidates, joins, tables, POWERS, atoms, gold)
    return DecisionExamples(atoms, gold)


@kernel()
def _count_open(kinds, tokens, candidates, joins):
    n = 0
    for t in range(tokens.shape[1]):
        i = tokens[0, t]
        while i < tokens[1, t]:
            j = i + 1
            if kinds[j] < PARAGRAPH:
                j += 1
            n += kinds[j] != PARAGRAPH and token_ends.is_open(kinds, i, j, candidates, joins)
            i = j
    return n


@kernel()
def _fill_token_examples(text, tokens, folds, candidates, joins, tables, powers, atoms, gold):
    kinds = text.kinds
    n = 0
    for t in range(tokens.shape[1]):
        i = tokens[0, t]
        while i < tokens[1, t]:
            j = i + 1
            if kinds[j] < PARAGRAPH:
                j += 1
            if kinds[j] != PARAGRAPH and token_ends.is_open(kinds, i, j, candidates, joins):
                token_ends.fill_atoms(atoms[n], i, j, tokens[0, t], text, tables[folds[t]], powers)
                gold[n] = j >= tokens[1, t]
                n += 1
            i = j


def _sentence_examples(text: _Prepared, tables: np.ndarray) -> DecisionExamples:
    rows = token_rows(text.characters, text.tokens, tables[-1], POWERS)
    columns, last = _columns(text.characters, text.tokens), paragraph_ends(text.characters, text.tokens)
    _set_odds(rows, columns, text.folds, tables)
    n = int(np.count_nonzero(~last))
    atoms = np.empty((n, len(sentence_ends.ATOMS)), np.uint64)
    _fill_sentence_examples(rows, columns, last, text.ends, sentence_ends.PLACES, atoms)
    return DecisionExamples(atoms, text.ends[~last])


@kernel()
def _set_odds(rows, columns, folds, tables):
    for t in range(len(columns)):
        at = columns[t]
        value = form_value(tables[folds[t]], rows[FORM, at])
        rows[ODDS_END, at] = (value >> ENDS & 15) + 1
        rows[ODDS_BEGIN, at] = (value >> BEGINS & 15) + 1
        rows[ODDS_CAPITAL, at] = (value >> CAPITALS & 3) + 1


@kernel()
def _fill_sentence_examples(rows, columns, last, ends, places, atoms):
    n = 0
    begun, quotes = EDGE, 0
    for t in range(len(columns)):
        at = columns[t]
        quotes = sentence_ends.quotes_after(quotes, rows, at)
        if not last[t]:
            sentence_ends.fill_atoms(atoms[n], rows, places, at, begun, quotes)
            n += 1
        if ends[t]:
            begun, quotes = at + 1 + EDGE * last[t], 0


def _word_examples(text: LearningText, rules: MultiwordRules) -> DecisionExamples:
    forms = [text.text[start:stop] for start, stop in text.places]
    splitter = WordSplitter(rules, np.zeros(2, np.uint16))
    atoms, gold = [], []
    for t, (form, words) in enumerate(zip(forms, text.words, strict=True)):
        right = rules.rule_of(form, words) if words != (form,) else None
        before = forms[t - 1] if t and not text.ends[t - 1] else ""
        after = "" if text.ends[t] else forms[t + 1]
        for candidate in rules.candidates(form, right, learning=True):
            atoms.append(splitter.with_neighbours(candidate, before, after))
            gold.append(candidate.words == words)
    return DecisionExamples(np.array(atoms, np.uint64).reshape(len(atoms), len(multiword.ATOMS)), np.array(gold, bool))


# ------------------------------------------------------------------------------------------------------------------ training
def write_tokenizer(
    train: Sequence[str | Path], dev: str | Path | None, folder: Path, seed: int, language: str | None = None
) -> TextPipeline | None:
    """Train a tokenizer into a model's folder, and return it; None if the training part is no running text.

    Args:
        train: files of CoNLL-U to learn from.
        dev: CoNLL-U to choose on; None: nothing is chosen.
        folder: of the model.
        seed: of what is learned.
        language: its code, by which a list of abbreviations is known; None: none is used.

    Raises:
        ConlluError: a file is not CoNLL-U.
    """
    paragraphs = [paragraph for path in train for paragraph in read_paragraphs(path)]
    if all(token.space_after for sentence in chain.from_iterable(paragraphs) for token in sentence[:-1]):
        log.warning("no tokenizer is trained: without SpaceAfter=No, the training part does not say how words are written")
        return None
    log.info("training a tokenizer: %s", folder / TOKENIZER)
    held_out = None if dev is None else read_paragraphs(dev)
    tokenizer = train_tokenizer(paragraphs, held_out, seed, abbreviations_of(language))
    notes = {}
    if held_out:
        tokens, sentences = f1(plain := plain_text(held_out), tokenizer.split(plain.text))
        notes = {"dev_token_f1": round(tokens, 2), "dev_sentence_f1": round(sentences, 2)}
        log.info("tokenizer: dev has F1 of %.2f for tokens, and of %.2f for sentences", tokens, sentences)
    tokenizer.save(folder, notes)
    return TextPipeline.of_file(folder / TOKENIZER)


def train_tokenizer(
    train: Sequence[Paragraph],
    dev: Sequence[Paragraph] | None,
    seed: int,
    abbreviations: Mapping[str, bool] | None = None,
    how: TokenizerTraining = TokenizerTraining(),
) -> CharacterTokenizer:
    """Train a tokenizer; on dev the weights of the disturbed copy and the threshold of sentences are chosen."""
    attach = has_spaced_marks(train)
    texts = [plain_text(train), disturbed_text(train, seed, attach=attach)]
    prepared = [_Prepared.of(text) for text in texts]
    plain = prepared[0]
    whole = whole_kinds(plain.characters, plain.tokens)
    tables, listed = _form_tables(plain.characters, plain.tokens, plain.ends, plain.folds, abbreviations or {})
    candidates, joins = _cuts(prepared)

    token_examples = [_token_examples(text, candidates, joins, tables) for text in prepared]
    choices = how.copies if dev else how.copies[:1]
    tokens = [
        TokenEndModel.new(fitted(token_examples, (1.0, share), token_ends.PROGRAM, how, seed), candidates, joins, tables[-1])
        for share in choices
    ]
    del token_examples
    rules = MultiwordRules.learned(
        (texts[0].text[a:b], words) for (a, b), words in zip(texts[0].places, texts[0].words, strict=True)
    )
    words = WordSplitter(rules, fitted([_word_examples(texts[0], rules)], (1.0,), multiword.PROGRAM, how, seed))
    sentence_examples = [_sentence_examples(text, tables) for text in prepared]
    sentences = [
        SentenceEndModel.new(fitted(sentence_examples, (1.0, share), sentence_ends.PROGRAM, how, seed), tables[-1], 0)
        for share in choices
    ]
    if not dev:
        return CharacterTokenizer(tokens[0], sentences[0], words, whole, listed)
    measured = [plain_text(dev), disturbed_text(dev, seed + 1, attach=attach)]
    best_tokens = max(tokens, key=lambda one: _f1_of(CharacterTokenizer(one, sentences[0], words, whole), measured)[0])
    tried = []
    for one in sentences:
        for threshold in _THRESHOLDS:
            found = CharacterTokenizer(best_tokens, one._replace(threshold=threshold), words, whole)
            tried.append((_f1_of(found, measured)[1] - 1e-4 * (threshold != 0), found))
    best = max(tried, key=lambda pair: pair[0])[1]
    return CharacterTokenizer(best.tokens, best.sentences, words, whole, listed)


def _f1_of(tokenizer: CharacterTokenizer, texts: Sequence[LearningText]) -> tuple[float, float]:
    """Return the means over texts of F1 of tokens and of sentences, in percent."""
    scores = [f1(text, tokenizer.split(text.text)) for text in texts]
    return sum(score[0] for score in scores) / len(scores), sum(score[1] for score in scores) / len(scores)


def f1(text: LearningText, found: Sequence[SplitSentence]) -> tuple[float, float]:
    """Return F1 of tokens and of sentences in percent."""
    gold_tokens, tokens = set(text.places), {place for sentence in found for place in sentence.places}
    stops = [place[1] for place, ends in zip(text.places, text.ends, strict=True) if ends]
    gold_sentences, sentences = set(pairwise([0, *stops])), set(pairwise([0, *(one.places[-1][1] for one in found)]))
    return _f1(gold_tokens, tokens), _f1(gold_sentences, sentences)


def _f1(gold: set[tuple[int, int]], found: set[tuple[int, int]]) -> float:
    return 200 * len(gold & found) / (len(gold) + len(found)) if gold or found else 100.0
