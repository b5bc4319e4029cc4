"""The tags and lemmas that a model predicts, and which of them are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import cast

import numpy as np

from parser import batch_sizes
from parser.conllu.checks import EMPTY
from parser.conllu.stream import RawSentence
from parser.data.attributes import PREDICTED
from parser.data.lemmas import LemmaLexicon, Lemmatizer, tokens_of
from parser.data.sentences import Sentences
from parser.inference.weights import TaggingEncoder
from parser.model.loading import AnyModel
from parser.model.model import Model


class TagUse(StrEnum):
    """How the columns LEMMA, UPOS, XPOS and FEATS are written."""

    KEEP = "keep"  # they pass through
    FILL = "fill"  # one that is _ in all words of a sentence is written; in FEATS a single _ is a value, no features
    OVERWRITE = "overwrite"  # those that the model predicts are written


class NoTagsError(ValueError):
    """A model predicts no tags, or no lemmas; the message says what to do."""


class TagPredictor:
    """The tags and lemmas of a model with its weights as they are now.

    Args:
        model: the model.
        lexicon: of lemmas, which comes before what the model knows.

    Raises:
        NoTagsError: it predicts no tags, or there is a lexicon and it predicts no lemmas.
    """

    def __init__(self, model: AnyModel, lexicon: LemmaLexicon | None = None) -> None:
        if not isinstance(model, Model) or not model.vocabularies.predicted:
            raise NoTagsError(
                "this model predicts no tags; train one with recipe=text, which does, or leave the tags alone (--tags=keep)"
            )
        lemmas = model.vocabularies.lemmas
        if lexicon is not None and lemmas is None:
            raise NoTagsError("this model predicts no lemmas; train one with recipe=text on lemmas, or leave the lexicon out")
        self._lemmatizer = None if lemmas is None else Lemmatizer(lemmas, lexicon)
        self._encoder = cast(TaggingEncoder, model.weights().encoder)  # only these predict tags
        self._columns = model.vocabularies.predicted
        self._symbols = {column: known.symbols for column, known in model.vocabularies.tags.items()}

    def __call__(
        self, sentences: Sentences, forms: Iterable[Sequence[str]], given: Sequence[Mapping[str, Sequence[str]]] = ()
    ) -> tuple[Sentences, dict[str, list[str]]]:
        """The sentences, now with the vectors that the parser will read, too; and their tags.

        These are, by column that is predicted (upos, xpos, feats, lemma), the values of all tokens in the layout of
        ``Sentences``; those of roots mean nothing.

        Args:
            sentences: the sentences.
            forms: their words.
            given: of each sentence, by column, tags that lemmas follow in place of predicted ones.
        """
        own: dict[str, list[str]] = {column: [""] * int(sentences.offsets[-1]) for column in self._symbols if any(given)}
        for start, columns in zip(sentences.offsets.tolist(), given, strict=False):
            for column in columns.keys() & own:
                values = ["" if column != "feats" and value == EMPTY else value for value in columns[column]]
                own[column][start + 1 : start + 1 + len(values)] = values
        found: dict[str, list[str]] = {column: [] for column in self._columns}
        tokens = [] if self._lemmatizer is None else tokens_of(forms)
        made = []
        # As many at a time as most parsers take, so that scores are the same, to the last digit, with tags and without.
        for span in sentences.spans(batch_sizes.TOKENS_PER_SPAN):
            vectors, predicted, rule_scores = self._encoder.encode_with_tags(sentences.span(*span))
            made.append(vectors)
            tags = {
                column: [symbols[value] for value in predicted[column].tolist()] for column, symbols in self._symbols.items()
            }
            if self._lemmatizer is not None and rule_scores is not None:
                first, last = sentences.offsets[list(span)].tolist()
                known = {c: [one or other for one, other in zip(v[first:last], tags[c], strict=True)] for c, v in own.items()}
                tags["lemma"] = self._lemmatizer(
                    tokens[first:last], known or tags, rule_scores, own.get("upos", [])[first:last]
                )
            for column, values in tags.items():
                found[column] += values
        return (replace(sentences, vectors=np.concatenate(made)) if made else sentences), found


def given_tags(sentence: RawSentence) -> dict[str, list[str]]:
    """Return the columns that the input fills in for at least one word, by their names in PREDICTED."""
    return {name: sentence.column(number) for name, number in PREDICTED.items() if set(sentence.column(number)) - {EMPTY}}


def tags_to_write(sentence: RawSentence, predicted: dict[str, list[str]], use: TagUse) -> dict[int, list[str]]:
    """By number of the column, the values of the words 1..n that take the place of those that are there.

    Args:
        sentence: as it was read.
        predicted: by column, the values of its words.
        use: which columns are written.
    """
    written = {PREDICTED[column]: values for column, values in predicted.items()}
    if use is TagUse.FILL:
        return {column: values for column, values in written.items() if set(sentence.column(column)) <= {EMPTY}}
    return {} if use is TagUse.KEEP else written
