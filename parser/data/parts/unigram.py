"""Segmentation into pieces by a unigram model (Kudo 2018), for plain tokenizers,
without the package ``tokenizers``.

A tokenizer is plain if it normalizes only by Unicode, has a mark for spaces before each word, and
no bytes for unknown characters. A model of recipe=tuned with such a tokenizer parses without
further packages. The pieces are the same as those of the package, ties included; all other
tokenizers need the package (subwords.py).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self, get_args

# How much more an unknown character costs than the least probable piece.
_UNKNOWN_COST = 10.0

_Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS: tuple[_Form, ...] = get_args(_Form)
_BLANKS = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}


class _Best(NamedTuple):
    """The best pieces of the beginning of a word: their score, and the last one.

    Attributes:
        score: the sum of their logarithmic probabilities.
        start: where the last piece begins.
        piece: its place in the vocabulary.
    """

    score: float
    start: int
    piece: int


class UnigramPieces:
    """A segmenter of forms. Threads may share it.

    Args:
        vocabulary: the pieces and their logarithmic probabilities.
        unknown: the place of the piece for unknown characters.
        forms: the normal forms of Unicode to which a text is converted, one after the other.
        joins_blanks: whether several spaces count as one.
        mark: the character that a word begins with.
        around: the places of the special tokens before and after a text.

    Attributes:
        around: as passed.
    """

    def __init__(
        self,
        vocabulary: list[tuple[str, float]],
        unknown: int,
        forms: list[_Form],
        joins_blanks: bool,
        mark: str,
        around: tuple[list[int], list[int]],
    ) -> None:
        self._places = {piece: place for place, (piece, _) in enumerate(vocabulary)}
        self._scores = [score for _, score in vocabulary]
        self._texts = [piece for piece, _ in vocabulary]
        self._unknown, self._cost = unknown, min(self._scores) - _UNKNOWN_COST
        self._longest = max(map(len, self._texts))
        self._forms, self._joins_blanks, self._mark, self.around = forms, joins_blanks, mark, around

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Self | None:
        """Return the segmenter of a tokenizer, in the JSON of the package ``tokenizers``;
        None if it is not plain.
        """
        try:
            model, metaspace = description["model"], description["pre_tokenizer"]
            normalizer = description.get("normalizer") or {"type": "Sequence", "normalizers": []}
            steps = normalizer["normalizers"] if normalizer["type"] == "Sequence" else [normalizer]
            joins_blanks = bool(steps) and steps[-1] == _BLANKS
            forms = [step["type"] for step in (steps[:-1] if joins_blanks else steps)]
            plain = (
                model["type"] == "Unigram"
                and model.get("byte_fallback", False) is False
                and set(forms) <= {*_FORMS}
            )
            plain = (
                plain
                and metaspace["type"] == "Metaspace"
                and metaspace.get("prepend_scheme") == "always"
            )
            if not plain or not metaspace.get("split", True) or description.get("added_tokens"):
                return None
            vocabulary = [(str(piece), float(score)) for piece, score in model["vocab"]]
            unknown, mark, around = (
                model["unk_id"],
                metaspace["replacement"],
                _around(description.get("post_processor")),
            )
            regular = len(dict(vocabulary)) == len(vocabulary) and all(
                math.isfinite(score) for _, score in vocabulary
            )
            known = type(unknown) is int and 0 <= unknown < len(vocabulary)
            if not regular or not known or len(mark) != 1 or around is None:
                return None
        except (LookupError, TypeError, ValueError, AttributeError):
            return None
        return cls(vocabulary, unknown, forms, joins_blanks, mark, around)

    def __len__(self) -> int:
        """Return how many pieces there are."""
        return len(self._texts)

    def pieces(self, form: str) -> tuple[list[int], list[str]]:
        """Return all pieces of a form: their places in the vocabulary, and their texts."""
        for normal_form in self._forms:
            form = unicodedata.normalize(normal_form, form)
        if self._joins_blanks:
            form = re.sub(" {2,}", " ", form)
        form = form.replace(" ", self._mark)
        if form and not form.startswith(self._mark):
            form = self._mark + form
        spans = [
            span
            for word in re.split(f"(?={re.escape(self._mark)})", form)
            if word
            for span in self._of_word(word)
        ]
        return [place for place, _ in spans], [text for _, text in spans]

    def _of_word(self, word: str) -> list[tuple[int, str]]:
        """Return the places and texts of the most probable pieces of a word (Viterbi)."""
        best: list[_Best | None] = [_Best(0.0, 0, -1), *[None] * len(word)]
        for start in range(len(word)):
            until = best[start]
            assert until is not None, "each character is a piece, or unknown"
            for end in range(start + 1, min(len(word), start + self._longest) + 1):
                if (place := self._places.get(word[start:end])) is not None:
                    _improve(best, end, _Best(until.score + self._scores[place], start, place))
            if word[start] not in self._places:
                _improve(best, start + 1, _Best(until.score + self._cost, start, self._unknown))
        found: list[tuple[int, str]] = []
        end = len(word)
        while end:
            last = best[end]
            assert last is not None, "it is on the best way"
            text = word[last.start : end]
            if found and last.piece == found[-1][0] == self._unknown:
                # unknown characters side by side are one piece
                found[-1] = self._unknown, text + found[-1][1]
            else:
                found.append((last.piece, text))
            end = last.start
        return found[::-1]


def _improve(best: list[_Best | None], end: int, way: _Best) -> None:
    """Record pieces that lead to ``end``, if they are better than the known ones."""
    known = best[end]
    if known is None or way.score > known.score:
        best[end] = way


def _around(post_processor: Mapping[str, Any] | None) -> tuple[list[int], list[int]] | None:
    """Return the places of the special tokens before and after a text;
    None if a template does not say which.
    """
    if post_processor is None:
        return [], []
    if post_processor["type"] != "TemplateProcessing":
        return None
    before: list[int] = []
    after: list[int] = []
    side = before
    for part in post_processor["single"]:
        if "Sequence" in part:
            side = after
        else:
            side += post_processor["special_tokens"][part["SpecialToken"]["id"]]["ids"]
    return before, after
