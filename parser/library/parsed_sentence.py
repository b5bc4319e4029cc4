"""What a Parser makes of a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from parser.conllu.checks import EMPTY, shortened
from parser.library.words import TAG_COLUMNS, InputError
from parser.text.tokens import Token, conllu_lines, text_of

# What ends a column or a line of CoNLL-U, or cannot be encoded.
_UNWRITABLE = re.compile(r"[\t\n\r\ud800-\udfff]")


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence with its tree. Word i is at index i - 1 of each list.

    Attributes:
        forms: the words.
        heads: the numbers of their heads, 0 for the root of the sentence.
        deprels: their relations.
        probabilities: 0 to 1: how probable it is that a word's head and relation are right, from the probability of the step
            that made the arc, calibrated on the dev part of the model's training; without a dev part, not calibrated. NaN for
            a linear model, whose scores are not probabilities.
        probability: 0 to 1, that of all steps together, as the model sees it; NaN for a linear model.
        tags: by column that the model predicts (upos, xpos, feats), the values of the words.
        tokens: of text, the tokens, of which some have several words; see Token. A form is as it was written, but that any
            spaces within it are one.
        spans: of text, where each of the tokens stands in it: from character ``start`` to before ``end``.
        given: by column (upos, xpos, feats) that was given for any of the words, the values, ``_`` for none.
    """

    forms: list[str]
    heads: list[int]
    deprels: list[str]
    probabilities: list[float]
    probability: float
    tags: dict[str, list[str]] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    given: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.forms)

    def conllu(self) -> str:
        """The sentence in CoNLL-U, with the blank line after it; nothing of a sentence without words.

        Columns of tags that were not given are those that the model predicts, as with ``parse.py --tags=fill``. Of text there
        are multiword tokens, SpaceAfter=No, and the comment text.

        Raises:
            InputError: a value is empty, or has something in it that cannot be written, such as a tab.
        """
        if not self.forms:
            return ""
        tags = [(self.tags | self.given).get(column, [EMPTY] * len(self)) for column in TAG_COLUMNS]
        for number, values in enumerate(zip(self.forms, *tags, strict=True), 1):
            for value in values:
                if not value or _UNWRITABLE.search(value):
                    raise InputError(f"word {number}: {shortened(repr(value))} cannot be written in CoNLL-U; change it")
        columns = zip(*tags, map(str, self.heads), self.deprels, strict=True)
        between = ["\t".join([EMPTY, *of_word, EMPTY]) for of_word in columns]
        tokens = self.tokens or [Token(form, (form,), True) for form in self.forms]
        lines = [*([f"# text = {text_of(self.tokens)}"] if self.tokens else []), *conllu_lines(tokens, between), ""]
        return "".join(f"{line}\n" for line in lines)
