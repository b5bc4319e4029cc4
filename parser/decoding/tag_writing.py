"""The tags that a model predicts, and which of them are written."""

from __future__ import annotations

from enum import StrEnum
from typing import cast

from parser.classifier.weights import TaggingEncoder
from parser.conllu.checks import EMPTY
from parser.conllu.stream import RawSentence
from parser.data.attributes import COLUMN_NUMBERS
from parser.data.sentences import Sentences
from parser.model import Model
from parser.models import AnyModel


class TagUse(StrEnum):
    """What becomes of the columns UPOS, XPOS and FEATS."""

    KEEP = "keep"  # they pass through
    FILL = "fill"  # one that is _ in all words of a sentence is written; in FEATS a single _ is a value, no features
    OVERWRITE = "overwrite"  # those that the model predicts are written


class NoTagsError(ValueError):
    """A model predicts no tags; the message says what to do."""


class TagPredictor:
    """The tags of a model with its weights as they are now.

    Raises:
        NoTagsError: it predicts none.
    """

    def __init__(self, model: AnyModel) -> None:
        if not isinstance(model, Model) or not model.vocabularies.tags:
            raise NoTagsError(
                "this model predicts no tags; train one with recipe=text, which does, or leave the tags alone (--tags=keep)"
            )
        # Tags are exact even where the parser multiplies in 8 bits.
        encoder = model.classifier.tokens.at_rest() if model.int8 else model.weights().encoder
        self._encoder = cast(TaggingEncoder, encoder)  # only these predict tags
        self._symbols = {column: known.symbols for column, known in model.vocabularies.tags.items()}

    def __call__(self, sentences: Sentences) -> dict[str, list[str]]:
        """By column that is predicted, the values of all tokens in the layout of ``Sentences``; those of roots mean nothing."""
        predicted = self._encoder.tags_of(sentences)
        return {column: [self._symbols[column][value] for value in values.tolist()] for column, values in predicted.items()}


def tags_to_write(sentence: RawSentence, predicted: dict[str, list[str]], use: TagUse) -> dict[int, list[str]]:
    """By number of the column, the values of the words 1..n that take the place of those that are there.

    Args:
        sentence: as it was read.
        predicted: by column, the values of its words.
        use: which columns are written.
    """
    written = {COLUMN_NUMBERS[column]: values for column, values in predicted.items()}
    if use is TagUse.FILL:
        return {column: values for column, values in written.items() if set(sentence.column(column)) <= {EMPTY}}
    return {} if use is TagUse.KEEP else written
