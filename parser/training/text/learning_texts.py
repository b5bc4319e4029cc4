"""Texts with their tokens and sentences, from a treebank: as it is, and as people write it.

The text as people write it has lines that end anywhere, after each sentence or after each
paragraph. It also has sentences without final marks, lower case, capitals and typographic quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np

from parser.text.blocks import PARAGRAPH_END, Block
from parser.text.characters import TextCharacters, characters_of
from parser.text.pipeline import tokens_of_block
from parser.text.sentence_ends import line_ends
from parser.text.tokens import Paragraph, SplitSentence, Token

# A fold has neighbouring sentences, which share rare forms.
FOLDS = 10
_SENTENCES_OF_FOLD = 20

# A treebank has spaces before its marks if more than this share of them have one.
_SPACED_MARKS = 0.9

# A script has no spaces if at most this share of the tokens within sentences has one after it.
_UNSPACED = 0.1

# How groups of sentences are written, see _Disturbance. The share of groups in lower case is the
# share of sentences that begin in lower case, within these limits. Without such groups, hardly any
# sentence end was right in cy's text in lower case.
_MODES = (*2 * ("wrap", "lines", "paragraphs"), "chat", "plain")
_LEAST_LOWER, _MOST_LOWER = 0.03, 0.06

_MARKS = re.compile(r"[.,;:!?\u2026)\]}\u00bb\u201d]+")
_FINAL = re.compile("[.!?]")
_OPENING = ("(", "[", "\u201c", "\u00ab")


@dataclass
class LearningText:
    """A text with its tokens.

    Attributes:
        text: the text.
        places: where each token begins and ends in it.
        ends: whether each token ends a sentence.
        folds: the fold of each token.
        words: the words of each token.
    """

    text: str = ""
    places: list[tuple[int, int]] = field(default_factory=list)
    ends: list[bool] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    words: list[tuple[str, ...]] = field(default_factory=list)

    def tokens(self, characters: TextCharacters) -> np.ndarray:
        """Return int32[2, tokens], where each token begins and ends in the characters of the
        text.
        """
        places = np.array(self.places, np.int64).T.reshape(2, -1)
        return np.searchsorted(characters.starts, places).astype(np.int32)

    def split(self) -> list[SplitSentence]:
        """Return the sentences of the text."""
        characters = characters_of(self.text)
        tokens = self.tokens(characters)
        forms = [self.text[start:stop] for start, stop in self.places]
        lines = line_ends(characters, tokens).tolist()
        bounds = pairwise([0, *(number for number, ends in enumerate(self.ends, 1) if ends)])
        return [
            SplitSentence(forms[a:b], self.words[a:b], self.places[a:b], lines[a:b])
            for a, b in bounds
        ]


class _Writer:
    """A writer of a text, token by token."""

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
    """Return the text of paragraphs, with a space between sentences, unless the script has none,
    and a blank line between paragraphs.
    """
    writer, paragraphs = _Writer(), list(paragraphs)
    number, unspaced = 0, is_unspaced(paragraphs)
    for paragraph in paragraphs:
        for place, sentence in enumerate(paragraph):
            if number:
                writer.separate(_before(paragraph, place, unspaced))
            for token, is_last in _with_last(sentence):
                writer.add(token.form, token.words, number // _SENTENCES_OF_FOLD % FOLDS, is_last)
                if token.space_after and not is_last:
                    writer.separate(" ")
            number += 1
    return writer.finished()


def disturbed_text(paragraphs: Iterable[Paragraph], seed: int, *, attach: bool) -> LearningText:
    """Return the text of paragraphs as people write it: groups of sentences in lines, without
    marks, in other letters and quotes.

    Args:
        seed: the seed of the changes.
        attach: whether to remove the spaces before most marks, for a treebank whose marks all have
            one.
    """
    random, writer = np.random.default_rng(seed), _Writer()
    paragraphs = list(paragraphs)
    small = [sentence[0].form[:1].islower() for sentence in chain.from_iterable(paragraphs)]
    lower = min(max(sum(small) / max(len(small), 1), _LEAST_LOWER), _MOST_LOWER)
    how, left, number = _Disturbance.drawn(random, lower), 0, 0
    unspaced = is_unspaced(paragraphs)
    for paragraph in paragraphs:
        for place, sentence in enumerate(paragraph):
            separator = _before(paragraph, place, unspaced)
            if left == 0 or not (place or how.mode == "paragraphs"):
                before, how = how, _Disturbance.drawn(random, lower)
                left = int(random.choice((3, 6, 12, 25)))
                if place and (
                    how.mode != "plain" or before.mode in ("chat", "lines", "paragraphs")
                ):
                    separator = "\n" if random.random() < 0.5 else "\n\n"
            elif not place or how.mode == "chat" or (how.mode == "lines" and random.random() < 0.7):
                separator = "\n"
            left -= 1
            if number:
                writer.separate(separator)
            tokens = _attached(sentence) if attach and random.random() < 0.8 else sentence
            if (
                how.mode == "chat"
                and len(tokens) > 1
                and _FINAL.fullmatch(tokens[-1].form)
                and random.random() < 0.5
            ):
                tokens = tokens[:-1]
            for token, is_last in _with_last(tokens):
                form, words = how.written(token)
                writer.add(form, words, number // _SENTENCES_OF_FOLD % FOLDS, is_last)
                if token.space_after and not is_last:
                    wraps = how.mode == "wrap" and writer.column > how.width - 8
                    writer.separate("\n" if wraps else " ")
            number += 1
    return writer.finished()


@dataclass
class _Disturbance:
    """The way in which a group of sentences is written.

    Attributes:
        mode: wrap: lines of a width; lines: most sentences end a line; chat: all sentences end a
            line, half of them without a final mark; paragraphs: each paragraph is a line; plain: as
            in the treebank.
        width: the width of wrapped lines.
        letters: lower, upper, or "" if they stay as they are.
        curly: whether quotes and apostrophes are typographic.
    """

    mode: str
    width: int
    letters: str
    curly: bool
    opened: bool = False

    @classmethod
    def drawn(cls, random: np.random.Generator, lower: float) -> _Disturbance:
        mode = str(random.choice(_MODES))
        width = int(random.integers(35, 100))
        share = random.random()
        curly = bool(random.random() < 0.5)
        return cls(
            mode, width, "lower" if share < lower else "upper" if share > 0.95 else "", curly
        )

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
    """Remove the spaces before marks and after opening brackets."""
    following = [token.form for token in tokens[1:]] + [""]
    attached = []
    for token, then in zip(tokens, following, strict=True):
        space_after = (
            token.space_after and not _MARKS.fullmatch(then) and token.form not in _OPENING
        )
        attached.append(Token(token.form, token.words, space_after))
    return attached


def is_unspaced(paragraphs: Sequence[Paragraph]) -> bool:
    """Return whether a treebank's script has no spaces between words and sentences, as in Chinese.

    Elsewhere, SpaceAfter=No at the end of a sentence often says only that the sentence ends.
    """
    after = [
        token.space_after for sentence in chain.from_iterable(paragraphs) for token in sentence[:-1]
    ]
    return bool(after) and float(np.mean(after)) <= _UNSPACED


def _before(paragraph: Paragraph, place: int, unspaced: bool) -> str:
    """Return what separates a sentence of a paragraph from the sentence before it."""
    if not place:
        return "\n\n"
    return "" if unspaced and not paragraph[place - 1][-1].space_after else " "


def _with_last(tokens: Sequence[Token]) -> Iterator[tuple[Token, bool]]:
    return ((token, number == len(tokens)) for number, token in enumerate(tokens, 1))


def paragraphs_of(text: str, sentences: Sequence[SplitSentence]) -> list[Paragraph]:
    """Return the paragraphs of a text that was split."""
    paragraphs: list[Paragraph] = []
    last = None
    for tokens in tokens_of_block(Block(0, text), sentences):
        if last is None or PARAGRAPH_END.search(text, last, tokens[0].start):
            paragraphs.append([])
        paragraphs[-1].append(tokens)
        last = tokens[-1].end
    return paragraphs


def has_spaced_marks(paragraphs: Iterable[Paragraph]) -> bool:
    """Return whether a treebank has spaces before its marks, unlike text that people write."""
    before = [
        first.space_after
        for sentence in chain.from_iterable(paragraphs)
        for first, then in pairwise(sentence)
        if then.form in (".", ",", "!", "?")
    ]
    return bool(before) and float(np.mean(before)) > _SPACED_MARKS


def f1(text: LearningText, predicted: Sequence[SplitSentence]) -> tuple[float, float]:
    """Return F1 of tokens and of sentences in percent."""
    gold_tokens = set(text.places)
    tokens = {place for sentence in predicted for place in sentence.places}
    stops = [place[1] for place, ends in zip(text.places, text.ends, strict=True) if ends]
    gold_sentences, sentences = (
        set(pairwise([0, *stops])),
        set(pairwise([0, *(sentence.places[-1][1] for sentence in predicted)])),
    )
    return f1_of(gold_tokens, tokens), f1_of(gold_sentences, sentences)


def f1_of(gold: set[tuple[int, int]], predicted: set[tuple[int, int]]) -> float:
    """Return F1 in percent of predicted places."""
    return (
        200 * len(gold & predicted) / (len(gold) + len(predicted)) if gold or predicted else 100.0
    )
