"""The data that the tokenizer's decisions are learned from: statistics of each form,
and an example for each decision.

Statistics say how often a form is a token, or ends a sentence, in training. They would fit the text
that they were counted in better than a new text. So each token reads the statistics of the other
folds of the training part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from parser.kernels import kernel
from parser.text import multiword, sentence_ends, token_ends
from parser.text.characters import (
    DIGIT,
    EDGE,
    LOWER,
    MARK,
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
    OWN_ABBREVIATION,
    form_value,
    packed_forms,
)
from parser.text.kinds import joined_places
from parser.text.multiword import MultiwordRules, WordSplitter
from parser.text.sentence_ends import (
    FORM,
    GAP,
    KFIRST,
    ODDS_BEGIN,
    ODDS_CAPITAL,
    ODDS_END,
    paragraph_ends,
    token_rows,
)
from parser.text.token_ends import TokenPlaces
from parser.training.text.learning_texts import FOLDS, LearningText, f1_of
from parser.training.text.logistic_regression import DecisionExamples

# No token ends between two classes of letters or digits if tokens in training end at a smaller
# share of such places.
_RARE_CUT = 0.0005
# Tokens may contain spaces if at least this share of the tokens in training do.
_RARE_BLANK = 0.001

# A listed abbreviation is not used if it occurs in training without its period, before a space,
# more often than this: a number, and a share of the tokens. So *in.* and *go.* are not used.
_FEW, _COMMON = 2, 0.0003
# If training has this many tokens, but none that is the abbreviation, with its period or without,
# it is treated as a user's own. It is then not also a common word, and training says nothing about
# it.
_MUCH = 50_000


def form_tables(
    text: TextCharacters,
    tokens: np.ndarray,
    ends: np.ndarray,
    folds: np.ndarray,
    abbreviations: Mapping[str, bool],
) -> tuple[np.ndarray, list[str]]:
    """Return the statistics of forms in training, and the abbreviations that are used.

    Args:
        text, tokens, ends, folds: the plain text.
        abbreviations: abbreviations with their period, and whether a name or a number follows.
            Common words, such as *in.*, are not used.

    Returns:
        uint32[folds + 1, 2^k], see packed_forms(): for each fold the statistics of the other
        folds, then those of all folds; all have the abbreviations.
    """
    rows = token_rows(text, tokens, np.zeros(2, np.uint32), POWERS)[:, _columns(text, tokens)]
    forms, inverse = np.unique(rows[FORM], return_inverse=True)
    begins = np.concatenate([[True], ends[:-1]])
    capital = rows[KFIRST] == UPPER
    conditions = (np.ones(len(ends), bool), ends, begins, capital & ~begins, ~begins)
    counts = np.zeros((len(conditions), FOLDS, len(forms)), np.int64)
    for condition_counts, condition in zip(counts, conditions, strict=True):
        np.add.at(condition_counts, (folds[condition], inverse[condition]), 1)
    total = counts.sum(1)
    seen = frozenset(forms.tolist())
    alone = np.bincount(inverse[rows[GAP] > 1], minlength=len(forms))
    common = frozenset(forms[alone > max(_FEW, _COMMON * len(ends))].tolist())

    def is_new(short: str) -> bool:
        return len(ends) >= _MUCH and hash_of(short) not in seen and hash_of(short[:-1]) not in seen

    used = {
        short: before
        for short, before in abbreviations.items()
        if hash_of(short[:-1]) not in common
    }
    listed = {
        hash_of(short): (
            BEFORE_NAME if before else OWN_ABBREVIATION if is_new(short) else ABBREVIATION
        )
        << LISTED
        for short, before in used.items()
    }
    abbreviation_kinds = np.array([listed.get(form, 0) for form in forms.tolist()], np.uint16)
    new = [form for form in listed if form not in seen]
    all_forms = np.concatenate([forms, np.array(new, np.uint64)])
    of_new = np.array([listed[form] for form in new], np.uint16)
    said = [*(total - counts[:, fold] for fold in range(FOLDS)), total]
    tables = [
        packed_forms(
            all_forms, np.concatenate([_form_values(*fold_counts) | abbreviation_kinds, of_new])
        )
        for fold_counts in said
    ]
    return np.array(tables), sorted(used)


def _form_values(
    seen: np.ndarray, ends: np.ndarray, begins: np.ndarray, capitals: np.ndarray, within: np.ndarray
) -> np.ndarray:
    """Return uint16[forms], the counts of each form as classes; see decisions.py."""
    seen_class = np.digitize(seen, (1, 2, 4))
    capital = np.where(within == 0, 2, np.digitize(capitals / np.maximum(within, 1), (0.1, 0.9)))
    capital = np.where((within > 0) & (capital == 2), 3, capital)
    return (
        seen_class << KNOWN
        | _odds(ends, seen) << ENDS
        | _odds(begins, seen) << BEGINS
        | capital << CAPITALS
    ).astype(np.uint16)


def _odds(count: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the class of a share of occurrences: 0 without any, 1 to 7 from rare to frequent, 8
    for a small share of at most three occurrences.
    """
    bins = 1 + np.digitize((count + 0.02) / (total + 0.5), (0.005, 0.02, 0.06, 0.15, 0.4, 0.75))
    return np.where(total == 0, 0, np.where((total > 3) | (bins > 3), bins, 8))


def _columns(text: TextCharacters, tokens: np.ndarray) -> np.ndarray:
    """Return int64[tokens], the column of each in token_rows()."""
    before = np.concatenate([[0], np.cumsum(paragraph_ends(text, tokens))[:-1]])
    return np.arange(tokens.shape[1]) + EDGE * (1 + before)


@dataclass(frozen=True)
class PreparedText:
    """A text as kernels read it: characters, int32[2, tokens], bool[tokens] and int64[tokens]."""

    characters: TextCharacters
    tokens: np.ndarray
    ends: np.ndarray
    folds: np.ndarray

    @classmethod
    def of(cls, text: LearningText) -> PreparedText:
        """Return a text as kernels read it."""
        characters = characters_of(text.text)
        return cls(
            characters,
            text.tokens(characters),
            np.array(text.ends, bool),
            np.array(text.folds, np.int64),
        )

    def token_f1(self, tokens: np.ndarray) -> float:
        """Return F1 in percent of predicted tokens, int32[2, tokens]."""
        return f1_of(
            set(zip(*self.tokens.tolist(), strict=True)), set(zip(*tokens.tolist(), strict=True))
        )

    def sentence_f1(self, ends: np.ndarray) -> float:
        """Return F1 in percent of the sentences that end where ``ends``, bool[tokens], says."""
        gold, predicted = (
            set(pairwise([0, *np.flatnonzero(sentence_ends).tolist()]))
            for sentence_ends in (self.ends, ends)
        )
        return f1_of(gold, predicted)


def cuts(texts: Iterable[PreparedText], whole: Collection[str]) -> TokenPlaces:
    """Return where tokens of a treebank may end, besides the ends within the kinds of text that
    are one token.

    No token ends between letters or digits, or before a combining mark, if this is rare or was
    never seen: chance would decide.
    """
    cut, inner = np.zeros((2, N_CLASSES, N_CLASSES))
    blanks = tokens = 0
    marks = np.zeros((2, 2), np.int64)
    for text in texts:
        characters = text.characters
        kinds = characters.kinds
        last = text.tokens[1] - 1
        np.add.at(cut, (kinds[last], kinds[last + 1]), 1)
        within = np.zeros(len(kinds) + 1, np.int64)
        np.add.at(within, text.tokens[0], 1)
        np.add.at(within, last, -1)
        goes_on = np.cumsum(within)[:-1] > 0
        inside = np.flatnonzero(goes_on)
        np.add.at(inner, (kinds[inside], kinds[inside + 1]), 1)
        blanks += int(np.count_nonzero(kinds[inside] <= PARAGRAPH))
        tokens += len(last)
        _count_marks(characters.codes, kinds, goes_on, joined_places(characters, whole), marks)
    classes = np.arange(N_CLASSES)
    letters = (classes >= LOWER) & (classes <= DIGIT)
    rare = (cut < _RARE_CUT * (inner + cut)) | (inner + cut == 0)
    rare &= np.outer(letters, letters) | (classes == MARK)
    dashes, relations = (2 * marks[:, 1] > marks[:, 0]).tolist()
    return TokenPlaces(~rare, blanks > _RARE_BLANK * tokens, dashes, relations)


@kernel()
def _count_marks(codes, kinds, goes_on, joined, counts):
    """Count the places beside a dash between words, and between a relation sign and a word: all,
    and those within a token.
    """
    for i in range(1, len(kinds) - 2):
        if joined[i] or kinds[i] <= PARAGRAPH or kinds[i + 1] <= PARAGRAPH:
            continue
        if token_ends.is_beside_dash(codes, kinds, i, i + 1):
            counts[0, 0] += 1
            counts[0, 1] += goes_on[i]
        if token_ends.is_beside_relation(codes, kinds, i, i + 1):
            counts[1, 0] += 1
            counts[1, 1] += goes_on[i]


def token_examples(text: PreparedText, places: TokenPlaces, tables: np.ndarray) -> DecisionExamples:
    """Return an example for each place where a token of the text may end."""
    kinds = text.characters.kinds
    n = _count_open(kinds, text.tokens, places)
    atoms, gold = np.empty((n, len(token_ends.ATOMS)), np.uint64), np.empty(n, np.bool_)
    _fill_token_examples(
        text.characters, text.tokens, text.folds, places, tables, POWERS, atoms, gold
    )
    return DecisionExamples(atoms, gold)


@kernel()
def _count_open(kinds, tokens, places):
    n = 0
    for t in range(tokens.shape[1]):
        # int64, for which parsing compiles the kernels below
        begun, end = np.int64(tokens[0, t]), np.int64(tokens[1, t])
        i = begun
        while i < end:
            j = i + 1
            if kinds[j] < PARAGRAPH:
                j += 1
            n += kinds[j] != PARAGRAPH and token_ends.is_open(kinds, i, j, places)
            i = j
    return n


@kernel()
def _fill_token_examples(text, tokens, folds, places, tables, powers, atoms, gold):
    kinds = text.kinds
    n = 0
    for t in range(tokens.shape[1]):
        # int64, for which parsing compiles the kernels below
        begun, end = np.int64(tokens[0, t]), np.int64(tokens[1, t])
        i = begun
        while i < end:
            j = i + 1
            if kinds[j] < PARAGRAPH:
                j += 1
            if kinds[j] != PARAGRAPH and token_ends.is_open(kinds, i, j, places):
                token_ends.fill_atoms(atoms[n], i, j, begun, text, tables[folds[t]], powers)
                gold[n] = j >= end
                n += 1
            i = j


def sentence_examples(text: PreparedText, tables: np.ndarray) -> DecisionExamples:
    """Return an example for each token that does not end a paragraph."""
    rows = token_rows(text.characters, text.tokens, tables[-1], POWERS)
    columns = _columns(text.characters, text.tokens)
    last = paragraph_ends(text.characters, text.tokens)
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
    begun, quotes = np.int64(EDGE), np.int64(0)  # literals would be types of their own
    for t in range(len(columns)):
        at = columns[t]
        quotes = sentence_ends.quotes_after(quotes, rows, at)
        if not last[t]:
            sentence_ends.fill_atoms(atoms[n], rows, places, at, begun, quotes)
            n += 1
        if ends[t]:
            begun, quotes = np.int64(at + 1 + EDGE * last[t]), np.int64(0)


def word_examples(text: LearningText, rules: MultiwordRules) -> DecisionExamples:
    """Return an example for each way to split a token that may be a multiword token."""
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
    return DecisionExamples(
        np.array(atoms, np.uint64).reshape(len(atoms), len(multiword.ATOMS)), np.array(gold, bool)
    )
