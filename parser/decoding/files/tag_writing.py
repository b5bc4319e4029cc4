"""The tags that a model predicts, and which of them are written."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import cast

import numpy as np

from parser.conllu.checks import EMPTY
from parser.conllu.stream import RawSentence
from parser.data.attributes import COLUMN_NUMBERS
from parser.data.sentences import Sentences
from parser.decoding import batch_sizes
from parser.inference.weights import TaggingEncoder
from parser.model.loading import AnyModel
from parser.model.model import Model


class TagUse(StrEnum):
    """How the columns UPOS, XPOS and FEATS are written."""

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
        self._encoder = cast(TaggingEncoder, model.weights().encoder)  # only these predict tags
        self._symbols = {column: known.symbols for column, known in model.vocabularies.tags.items()}

    def __call__(self, sentences: Sentences) -> tuple[Sentences, dict[str, list[str]]]:
        """The sentences, now with the vectors that the parser will read, too; and their tags.

        These are, by column that is predicted, the values of all tokens in the layout of ``Sentences``; those of roots mean
        nothing.
        """
        # As many at a time as most parsers take, so that scores are the same, to the last digit, with tags and without.
        parts = [self._encoder.encode_with_tags(sentences.span(*span)) for span in sentences.spans(batch_sizes.TOKENS_PER_SPAN)]
        if not parts:
            return sentences, {column: [] for column in self._symbols}
        tags = {
            column: [symbols[value] for _, predicted in parts for value in predicted[column].tolist()]
            for column, symbols in self._symbols.items()
        }
        return replace(sentences, vectors=np.concatenate([vectors for vectors, _ in parts])), tags


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
