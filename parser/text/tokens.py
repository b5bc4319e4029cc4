"""Tokens and sentences of a text, their places in it, and how they are written in CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from oracles.errors import OptimalStepError
from parser.conllu.checks import BYTE_ORDER_MARK, EMPTY, FORM, MISC, NO_SPACE
from parser.conllu.stream import RawSentence, read_sentences


class TokenizerError(OptimalStepError):
    """Text cannot be tokenized; the message says why, and how to mend it."""


@dataclass(frozen=True)
class Token:
    """A word or a multiword token of a text; in most languages it has no spaces.

    Attributes:
        form: as in the text, except that runs of spaces within it are one space.
        words: its words; for most tokens, only the form.
        space_after: whether a separator follows in the text.
        misc: the column MISC, if add_misc() has set it; tokens that differ only in it are equal.
        line: how a line ends after it, see sentence_ends.line_ends(); it does not count either.
    """

    form: str
    words: tuple[str, ...]
    space_after: bool
    misc: str = field(default="", compare=False)
    line: int = field(default=1, compare=False)


@dataclass(frozen=True)
class TokenizedSentence:
    """A sentence as the tokenizer found it.

    Attributes:
        text: as in the text, except that runs of spaces are one space.
        tokens: its tokens.
        begins_paragraph: whether it is the first sentence of a paragraph.
    """

    text: str
    tokens: list[Token]
    begins_paragraph: bool


def tokens_of(sentence: RawSentence) -> Iterator[Token]:
    """Yield the surface tokens of a sentence of CoNLL-U; an empty FORM is ``_``, and a carriage return within it a space."""
    forms = sentence.column(FORM)
    for columns, words in sentence.surface_tokens():
        form, *parts = (one.replace("\r", " ") or EMPTY for one in (columns[FORM], *forms[words.start : words.stop]))
        yield Token(form, tuple(parts), NO_SPACE not in columns[MISC].split("|"))


Paragraph = list[list[Token]]

# The comments with which a paragraph or a document begins.
_BEGINNINGS = ("# newpar", "# newdoc")


def read_paragraphs(path: str | Path) -> list[Paragraph]:
    """Return the paragraphs of a file, each a list of sentences; a file without marks is one paragraph.

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
    return "".join(token.form + " " if token.space_after else token.form for token in tokens).rstrip(" ")


_NO_BREAK = "\u00a0"
_SPACES = re.compile(rf"(?:[^\S{_NO_BREAK}]|\0)+")


def words_at_spaces(line: str) -> list[str]:
    """Split a line at spaces. A no-break space is a space within a word."""
    words = (word.replace(_NO_BREAK, " ").strip(" ") for word in _SPACES.split(line))
    return [word for word in words if word]


def conllu_rows(tokens: list[Token], columns: Sequence[Sequence[str]] | None = None) -> Iterator[list[str]]:
    """Yield the ten columns of each line of a sentence in CoNLL-U.

    Args:
        tokens: of the sentence.
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


def conllu_lines(tokens: list[Token], columns: Sequence[Sequence[str]] | None = None) -> Iterator[str]:
    """Yield the lines of a sentence in CoNLL-U, without comments; see conllu_rows()."""
    return map("\t".join, conllu_rows(tokens, columns))


def spans(text: str, sentences: Iterable[list[Token]]) -> list[list[tuple[int, int]]]:
    """Return the places of the tokens of a text, each as (start, end).

    Between tokens, and where a form has a space, the text has only separators. No token begins with one. So each part of a
    form between spaces is found at its next occurrence.

    Args:
        text: as given to tokenize().
        sentences: as returned by tokenize().

    Raises:
        TokenizerError: the sentences are from another text.
    """
    end = 0
    places = None  # of the characters in the text, if it has byte order marks, which are left out
    if BYTE_ORDER_MARK in text:
        places = [place for place, character in enumerate(text) if character != BYTE_ORDER_MARK]
        text = text.replace(BYTE_ORDER_MARK, "")
    found: list[list[tuple[int, int]]] = []
    for tokens in sentences:
        found.append([])
        for token in tokens:
            starts = []
            for part in token.form.split(" ") if " " in token.form else (token.form,):
                if (start := text.find(part, end)) < 0:
                    raise TokenizerError(
                        f"{token.form!r} is not in the text after character {end:,}; give the text it comes from"
                    )
                starts.append(start)
                end = start + len(part)
            found[-1].append((starts[0], end) if places is None else (places[starts[0]], places[end - 1] + 1))
    return found


_ESCAPES = str.maketrans({" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"})


def add_misc(
    text: str,
    sentences: Sequence[list[Token]],
    places: Iterable[list[tuple[int, int]]],
    end: int | None = None,
    offset: int | None = None,
) -> list[list[Token]]:
    """Return the tokens with MISC from which the text can be rebuilt to the last character.

    SpacesBefore holds the spaces at the beginning of the text, SpacesAfter the spaces after a token, unless there is one space
    or none (SpaceAfter=No). SpacesInToken holds the token as it is in the text, if that differs from its form.

    Args:
        text: the text, or its rest from the first of these tokens on.
        sentences: some of its sentences.
        places: of their tokens in ``text``, as spans() finds them.
        end: where the token after them begins; None: there is none.
        offset: where ``text`` begins in the whole text, for TokenRange; None: do not write TokenRange.
    """
    text = text.replace("\0", " ")  # a NUL counts as a space, and CoNLL-U cannot hold it
    flat = list(chain.from_iterable(places))
    following = [*(start for start, _ in flat[1:]), len(text) if end is None else end][: len(flat)]
    found: list[Token] = []
    for token, (start, stop), then in zip(chain.from_iterable(sentences), flat, following, strict=True):
        after, written = text[stop:then], text[start:stop]
        if found and offset is None and written == token.form and after == " " * token.space_after:
            found.append(token)  # nearly all tokens need no MISC
            continue
        fields = {
            "SpacesBefore": "" if found else text[:start],
            "SpaceAfter": "" if after.strip(BYTE_ORDER_MARK) else "No",
            "SpacesAfter": "" if after == " " else after,
            "SpacesInToken": "" if written == token.form else written,
            "TokenRange": "" if offset is None else f"{offset + start}:{offset + stop}",
        }
        misc = "|".join(f"{name}={value.translate(_ESCAPES)}" for name, value in fields.items() if value) or EMPTY
        found.append(replace(token, misc=misc))
    tokens = iter(found)
    return [list(islice(tokens, len(sentence))) for sentence in sentences]
