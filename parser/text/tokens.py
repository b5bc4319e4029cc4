"""Tokens and sentences of a text, and how they are written in CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from oracles.errors import OptimalStepError
from parser.conllu.checks import BYTE_ORDER_MARK, EMPTY, FORM, MISC, NO_SPACE
from parser.conllu.stream import RawSentence, read_sentences


class TokenizerError(OptimalStepError):
    """Text cannot be tokenized; the message says why, and what to do."""


# never changed; frozen=True would take three times as long to make one
@dataclass(slots=True, unsafe_hash=True)
class Token:
    """A word or a multiword token of a text; in most languages it has no spaces.

    Tokens that differ only in ``misc``, ``start``, ``end`` and ``line`` are equal.

    Attributes:
        form: as in the text, except that runs of spaces within it are one space.
        words: its words; for most tokens, only the form.
        space_after: whether a separator follows in the text.
        misc: the column MISC of a token that a TextPipeline found.
        start, end: its place in the text, in characters.
        line: whether a line ends after it, and if so, how full that line is; see
            sentence_ends.line_ends().
    """

    form: str
    words: tuple[str, ...]
    space_after: bool
    misc: str = field(default="", compare=False)
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    line: int = field(default=1, compare=False)


@dataclass(frozen=True)
class TokenizedSentence:
    """A sentence of a text.

    ``begins_paragraph`` says whether it is the first sentence of a paragraph.
    """

    tokens: list[Token]
    begins_paragraph: bool

    @property
    def text(self) -> str:
        """The sentence as in the text, except that runs of spaces are one space."""
        return text_of(self.tokens)


class SplitSentence(NamedTuple):
    """A sentence that a Splitter finds in a stretch of a text.

    Attributes:
        forms: its tokens as in the text, but with single spaces within them.
        words: the words of each; of most tokens only the form.
        places: where each token begins and ends in the stretch, in characters.
        lines: how a line ends after each; see sentence_ends.line_ends().
    """

    forms: list[str]
    words: list[tuple[str, ...]]
    places: list[tuple[int, int]]
    lines: list[int]


def tokens_of(sentence: RawSentence) -> Iterator[Token]:
    """Yield the surface tokens of a sentence of CoNLL-U; an empty FORM becomes ``_``, and a
    carriage return within it becomes a space.
    """
    forms = sentence.column(FORM)
    for columns, words in sentence.surface_tokens():
        form, *parts = (
            value.replace("\r", " ") or EMPTY
            for value in (columns[FORM], *forms[words.start : words.stop])
        )
        yield Token(form, tuple(parts), NO_SPACE not in columns[MISC].split("|"))


Paragraph = list[list[Token]]

# The comments with which a paragraph or a document begins.
_BEGINNINGS = ("# newpar", "# newdoc")


def read_paragraphs(path: str | Path) -> list[Paragraph]:
    """Return the paragraphs of a file, each a list of sentences;
    a file without marks is one paragraph.

    Raises:
        ConlluError: the file is not CoNLL-U.
    """
    paragraphs: list[Paragraph] = []
    for sentence in read_sentences(path):
        begins = any(line.startswith(_BEGINNINGS) for line in sentence.lines)
        tokens = list(tokens_of(sentence))
        if begins or not paragraphs:
            paragraphs.append([])
        if tokens:
            paragraphs[-1].append(tokens)
    return [paragraph for paragraph in paragraphs if paragraph]


def text_of(tokens: Iterable[Token]) -> str:
    """Return the text of tokens, with single spaces, and none at the end."""
    return "".join(
        token.form + " " if token.space_after else token.form for token in tokens
    ).rstrip(" ")


_NO_BREAK = "\u00a0"
# A word between spaces; a NUL counts as a space.
_WORD = re.compile(rf"(?:[^\s\0]|{_NO_BREAK})+")


def blank_words(
    text: str, start: int = 0, end: int | None = None
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the words between spaces with their places.
    A no-break space becomes a space within a word; byte order marks are removed.
    """
    for match in _WORD.finditer(text, start, len(text) if end is None else end):
        inner = match[0].strip(_NO_BREAK + BYTE_ORDER_MARK)
        if inner:
            begin = match.start() + match[0].index(inner)
            yield (
                inner.replace(_NO_BREAK, " ").replace(BYTE_ORDER_MARK, ""),
                (begin, begin + len(inner)),
            )


def words_at_spaces(line: str) -> list[str]:
    """Split a line at spaces; see blank_words()."""
    return [word for word, _ in blank_words(line)]


def conllu_rows(
    tokens: list[Token], columns: Sequence[Sequence[str]] | None = None
) -> Iterator[list[str]]:
    """Yield the ten columns of each line of a sentence in CoNLL-U.

    Args:
        tokens: the tokens of the sentence.
        columns: for each word, the seven columns between FORM and MISC; None: they are ``_``.
    """
    empty = [EMPTY] * 7
    word = 0
    for token in tokens:
        misc = token.misc or (EMPTY if token.space_after else NO_SPACE)
        if token.words != (token.form,):
            yield [f"{word + 1}-{word + len(token.words)}", token.form, *empty, misc]
            misc = EMPTY
        for form in token.words:
            yield [str(word + 1), form, *(empty if columns is None else columns[word]), misc]
            word += 1


def conllu_lines(
    tokens: list[Token], columns: Sequence[Sequence[str]] | None = None
) -> Iterator[str]:
    """Yield the lines of a sentence in CoNLL-U, without comments; see conllu_rows()."""
    return map("\t".join, conllu_rows(tokens, columns))
