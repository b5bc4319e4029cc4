"""Tokens, phrases, and how they are written as CoNLL-U.

A phrase is a list of tokens in their order together with its head. Heads are references, not numbers, so a piece of a
phrase can be put anywhere in the sentence: that is how extraction and extraposition make non-projective trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(eq=False)
class Token:
    """One syntactic word.

    Attributes:
        joined: no space before it (punctuation).
        fused: it is part of one multiword token with the word before it, as n't in don't.
    """

    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str = "_"
    head: Token | None = None
    deprel: str = "root"
    joined: bool = False
    fused: bool = False


@dataclass(eq=False)
class Phrase:
    """Tokens in order and their head; number and person are those that a verb agrees with."""

    tokens: list[Token]
    head: Token
    number: str = "Sing"
    person: int = 3

    def depend(self, head: Token, deprel: str) -> Phrase:
        """Attaches the phrase to ``head``; gives the phrase itself, to be put in its place."""
        self.head.head = head
        self.head.deprel = deprel
        return self

    def before(self, *others: Phrase) -> Phrase:
        """Appends the tokens of the others, which are attached already."""
        for other in others:
            self.tokens.extend(other.tokens)
        return self

    def after(self, *others: Phrase) -> Phrase:
        """Puts the tokens of the others, which are attached already, in front."""
        self.tokens[:0] = [token for other in others for token in other.tokens]
        return self


def word(form: str, lemma: str, upos: str, xpos: str, feats: str = "_") -> Phrase:
    """A phrase of one word."""
    token = Token(form, lemma, upos, xpos, feats)
    return Phrase([token], token)


def punctuation(mark: str, head: Token) -> Phrase:
    """A mark that follows the word before it without a space."""
    phrase = word(mark, mark, "PUNCT", "." if mark in ".?!" else ",").depend(head, "punct")
    phrase.head.joined = True
    return phrase


def text(tokens: list[Token]) -> str:
    """The sentence as it is printed."""
    pieces = []
    for i, token in enumerate(tokens):
        if i and not (token.joined or token.fused):
            pieces.append(" ")
        pieces.append(token.form)
    return "".join(pieces)


def heads(tokens: list[Token]) -> list[int]:
    """[h_1, ..., h_n], counted from 1, 0 for the root."""
    position = {id(token): i for i, token in enumerate(tokens, start=1)}
    return [position[id(token.head)] if token.head else 0 for token in tokens]


def conllu(tokens: list[Token], sent_id: str) -> str:
    """The sentence in CoNLL-U, with the empty line at its end."""
    return "\n".join([f"# sent_id = {sent_id}", f"# text = {text(tokens)}", *_lines(tokens), "", ""])


def _lines(tokens: list[Token]) -> Iterator[str]:
    joined_on = [token.joined for token in tokens[1:]] + [False]
    fused_on = [token.fused for token in tokens[1:]] + [False]
    for i, (token, head) in enumerate(zip(tokens, heads(tokens), strict=True)):
        if fused_on[i] and not token.fused:
            end = i + 1
            while fused_on[end]:
                end += 1
            surface = "".join(part.form for part in tokens[i : end + 1])
            yield "\t".join([f"{i + 1}-{end + 1}", surface, *"_______", _space(joined_on[end])])
        in_multiword = token.fused or fused_on[i]
        misc = "_" if in_multiword else _space(joined_on[i])
        columns = [str(i + 1), token.form, token.lemma, token.upos, token.xpos, token.feats]
        yield "\t".join([*columns, str(head), token.deprel, "_", misc])


def _space(next_is_joined: bool) -> str:
    return "SpaceAfter=No" if next_is_joined else "_"
