"""What a tokenizer finds in a text, where it stands there, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from parser.conllu.checks import BYTE_ORDER_MARK, EMPTY, FORM, MISC, NO_SPACE
from parser.conllu.stream import RawSentence


class TokenizerError(ValueError):
    """Text cannot be tokenized; the message says why, and the fix."""


@dataclass(frozen=True)
class Token:
    """A stretch of text without spaces in most languages: one word, or a multiword token.

    Attributes:
        form: as it was written, except that spaces within it are single.
        words: its words; for most tokens, the form alone.
        space_after: whether a separator follows in the text.
        misc: the column MISC, if add_misc() has written it; tokens that differ in it alone are equal.
    """

    form: str
    words: tuple[str, ...]
    space_after: bool
    misc: str = field(default="", compare=False)


@dataclass(frozen=True)
class TokenizedSentence:
    """A sentence as the tokenizer found it.

    Attributes:
        text: as it was written, except that runs of spaces are one space.
        tokens: of it.
        begins_paragraph: whether a paragraph begins with it.
    """

    text: str
    tokens: list[Token]
    begins_paragraph: bool

    def joined(self, other: TokenizedSentence) -> TokenizedSentence:
        """One sentence of both, the other one right after."""
        return TokenizedSentence(self.text + other.text, self.tokens + other.tokens, self.begins_paragraph)


def tokens_of(sentence: RawSentence) -> Iterator[Token]:
    """Yield the surface tokens of a sentence of CoNLL-U; an empty FORM is ``_``, and a carriage return within it a space."""
    forms = sentence.column(FORM)
    for columns, words in sentence.surface_tokens():
        form, *of_words = (one.replace("\r", " ") or EMPTY for one in (columns[FORM], *forms[words.start : words.stop]))
        yield Token(form, tuple(of_words), NO_SPACE not in columns[MISC].split("|"))


def text_of(tokens: Iterable[Token]) -> str:
    """The text that tokens were found in, but for runs of spaces, and for one at its end."""
    return "".join(token.form + " " if token.space_after else token.form for token in tokens).rstrip(" ")


_NO_BREAK = "\u00a0"
_SPACES = re.compile(rf"(?:[^\S{_NO_BREAK}]|\0)+")


def words_at_spaces(line: str) -> list[str]:
    """The words of a line that spaces separate. A no-break space is a space within a word, as in UDPipe's ``horizontal``."""
    words = (word.replace(_NO_BREAK, " ").strip(" ") for word in _SPACES.split(line))
    return [word for word in words if word]


def conllu_lines(tokens: list[Token], columns: Sequence[str] | None = None) -> Iterator[str]:
    """The lines of a sentence in CoNLL-U, without comments.

    Args:
        tokens: of the sentence.
        columns: of each word, what stands between FORM and MISC; without, it is empty.
    """
    empty = "\t".join(EMPTY * 7)
    word = 0
    for token in tokens:
        misc = token.misc or (EMPTY if token.space_after else NO_SPACE)
        if token.words != (token.form,):
            yield f"{word + 1}-{word + len(token.words)}\t{token.form}\t{empty}\t{misc}"
            misc = EMPTY
        for form in token.words:
            yield f"{word + 1}\t{form}\t{empty if columns is None else columns[word]}\t{misc}"
            word += 1


def spans(text: str, sentences: Iterable[list[Token]]) -> list[list[tuple[int, int]]]:
    """Where the tokens of a text stand in it, each as (start, end); those of UDPipe's option ``ranges``.

    Nothing but what separates stands between two tokens, or in place of a space within one, and no token begins with it: so
    what is between the spaces of a form is where it comes next.

    Args:
        text: as tokenize() was given it.
        sentences: what tokenize() found.

    Raises:
        TokenizerError: they are of another text.
    """
    end = 0
    places = None  # of the characters in the text, if byte order marks are left out
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
    """Return the tokens with MISC as UDPipe writes it, from which the text can be rebuilt to the last character.

    SpacesBefore is what the text begins with. SpacesAfter stands between a token and the next one; a single space, and nothing
    (SpaceAfter=No), go without it. SpacesInToken is the token as it stands in the text, where that is not its form.

    Args:
        text: the text, or from the first of these tokens on.
        sentences: some of its sentences.
        places: of their tokens in ``text``, as spans() finds them.
        end: where the token after them begins; None: there is none.
        offset: where ``text`` begins in the whole text, to write TokenRange; None: do not.
    """
    text = text.replace("\0", " ")  # which it counts as, and CoNLL-U cannot hold
    flat = list(chain.from_iterable(places))
    following = [*(start for start, _ in flat[1:]), len(text) if end is None else end][: len(flat)]
    found: list[Token] = []
    for token, (start, stop), then in zip(chain.from_iterable(sentences), flat, following, strict=True):
        after, written = text[stop:then], text[start:stop]
        if found and offset is None and written == token.form and after == " " * token.space_after:
            found.append(token)  # nearly all are as they were
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
