"""What of spaCy's tokens the parser reads and writes: tags, and whitespace that is a token of its own."""

from __future__ import annotations

from collections.abc import Callable

from spacy.parts_of_speech import IDS as POS_IDS
from spacy.tokens import Span, Token

# What spaCy calls the relation of a root, and ours of whitespace, which no word has.
ROOT = "ROOT"
_SPACE = "dep"
# The part of speech of values that UD does not have; spaCy takes no others.
_OTHER_POS = "X"

# By column that may be set, what spaCy calls it.
ATTRIBUTES = {"upos": "POS", "xpos": "TAG", "feats": "MORPH"}


def _set_pos(token: Token, value: str) -> None:
    token.pos_ = "" if value == "_" else value if value in POS_IDS else _OTHER_POS


def _set_tag(token: Token, value: str) -> None:
    token.tag_ = "" if value == "_" else value


def _set_morph(token: Token, value: str) -> None:
    token.set_morph("" if value == "_" else value)


# By column, what sets it.
SETTERS: dict[str, Callable[[Token, str], None]] = {"upos": _set_pos, "xpos": _set_tag, "feats": _set_morph}


def columns(token: Token) -> tuple[str, str, str, str]:
    """What the parser reads of a token."""
    return token.text, token.pos_, token.tag_, str(token.morph)


def heads_of_spaces(sentences: list[Span], n: int) -> tuple[list[int], list[str]]:
    """Heads and relations of all n tokens as if they were whitespace: on the word before it, or the first of the sentence."""
    heads, deps = list(range(n)), [_SPACE] * n
    for sentence in sentences:
        last = next((token.i for token in sentence if not token.is_space), sentence.start)
        if sentence[last - sentence.start].is_space:
            deps[last] = ROOT
        for token in sentence:
            heads[token.i] = last
            if not token.is_space:
                last = token.i
    return heads, deps
