"""The parser as a library:

    from parser import Parser

    parser = Parser.load("RUN_FOLDER/model")
    [sentence] = parser.parse([["A", "kutya", "ugat", "."]])
    print(sentence.heads, sentence.deprels, sentence.probabilities)

A Parser may be shared by threads. It does what scripts/parse.py does, and says besides how sure it is of each arc. One that
was loaded from a folder can be pickled, and so sent to other processes; each loads it from the folder again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np

from parser.beam_settings import BeamError as BeamError
from parser.beam_settings import Merge, Search
from parser.classifier.weights import Int8Error as Int8Error
from parser.conllu.checks import EMPTY, shortened
from parser.data.vocabulary import COLUMN_NUMBERS
from parser.decoding.missing_columns import MissingColumnsError as MissingColumnsError
from parser.decoding.missing_columns import check_columns
from parser.decoding.probabilities import ProbabilityParser
from parser.decoding.tag_writing import TagPredictor
from parser.model import Model
from parser.model_folder import ModelError as ModelError
from parser.models import AnyModel, load_for_parsing
from parser.text.token_spans import spans
from parser.text.tokenizer import Tokenizer, model_tokenizer
from parser.text.tokens import Token, conllu_lines, text_of
from parser.text.tokens import TokenizerError as TokenizerError

_TAGS = ("upos", "xpos", "feats")
# What ends a column or a line of CoNLL-U, or cannot be encoded.
_UNWRITABLE = re.compile(r"[\t\n\r\ud800-\udfff]")

Word = str | Sequence[str | None] | Mapping[str, Any]
"""A form; a tuple (form, upos, xpos, feats), of which only the form must be there; or a token of the library ``conllu``."""


class InputError(ValueError):
    """What was given to a Parser is not a sentence or not text; the message names the word or character, counted from 1."""


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
        tags = [(self.tags | self.given).get(column, [EMPTY] * len(self)) for column in _TAGS]
        for number, values in enumerate(zip(self.forms, *tags, strict=True), 1):
            for value in values:
                if not value or _UNWRITABLE.search(value):
                    raise InputError(f"word {number}: {shortened(repr(value))} cannot be written in CoNLL-U; change it")
        columns = zip(*tags, map(str, self.heads), self.deprels, strict=True)
        between = ["\t".join([EMPTY, *of_word, EMPTY]) for of_word in columns]
        tokens = self.tokens or [Token(form, (form,), True) for form in self.forms]
        lines = [*([f"# text = {text_of(self.tokens)}"] if self.tokens else []), *conllu_lines(tokens, between), ""]
        return "".join(f"{line}\n" for line in lines)


@dataclass
class _Columns:
    """What is read of a sentence."""

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]


class Parser:
    """A trained parser.

    Args:
        model: the model; its weights must stay as they are.
        tokenizer: for parse_text().
        folder: where parse_text() finds its tokenizer if none is given.
        beam: how to search; None: as the model remembers, or greedily.

    Raises:
        BeamError: the model cannot be searched with this beam.
    """

    def __init__(
        self, model: AnyModel, tokenizer: Tokenizer | None = None, folder: Path | None = None, beam: Search | None = None
    ) -> None:
        self.model = model
        self._tokenizer = tokenizer
        self._folder = folder
        with model.sharing_weights():
            self._parser = ProbabilityParser(model, beam or model.beam)
            self._predict_tags = TagPredictor(model) if model.vocabularies.tags else None
        self._encoding = Lock()  # vocabularies remember what they have looked up
        self._options: tuple[Any, ...] | None = None  # those of load()

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: str = "cpu",
        tokenizer: str | Path | None = None,
        beam: int | str | None = None,
        merge: str | None = None,
        int8: bool = False,
    ) -> Parser:
        """Reads a model's folder, or that within a run's folder.

        Args:
            folder: the folder.
            device: ``cpu`` or ``cuda``.
            tokenizer: a file of UDPipe 1's for parse_text(); without, the one in the model's folder, if there is one.
            beam: items of the beam to search with, 1 for none; "exact": to search exactly; None: as the model remembers.
            merge: which items of the beam become one, ``none``, ``configuration`` or ``signature``; None: as it remembers.
            int8: multiply in 8 bits, which is faster and nearly as accurate; only with an encoder and on the CPU.

        Raises:
            ModelError: the folder holds no model that this version can load.
            TokenizerError: the tokenizer that is named cannot be loaded.
            BeamError: the model cannot be searched with this beam.
            Int8Error: the model, or this processor, has no products of 8 bits.
        """
        of_beam = cast(Merge | None, merge)  # which the beam makes of a str, or refuses
        model, search = load_for_parsing(Path(folder), beam, of_beam, device, int8)
        loaded = cls(model, None if tokenizer is None else Tokenizer(Path(tokenizer)), Path(folder), search)
        tokenizer = None if tokenizer is None else Path(tokenizer).absolute()
        loaded._options = (Path(folder).absolute(), device, tokenizer, beam, merge, int8)
        return loaded

    def __reduce__(self) -> tuple[Callable[..., Parser], tuple[Any, ...]]:
        """A pickled parser is the options of load(), and no model: it is loaded again where it is unpickled.

        Raises:
            TypeError: it was not loaded from a folder.
        """
        if self._options is None:
            raise TypeError("only a parser that Parser.load() has made can be pickled; save the model, and load it")
        return type(self).load, self._options

    def parse(
        self, sentences: Iterable[Iterable[Word]], *, single_root: bool = True, allow_missing_columns: bool = False
    ) -> list[ParsedSentence]:
        """Parses sentences.

        Args:
            sentences: each a sequence of words: forms; tuples (form, upos, xpos, feats), of which only the form is required;
                or a ``conllu.TokenList``, whose multiword tokens and empty nodes are left out.
            single_root: make valid UD trees, with exactly one root.
            allow_missing_columns: parse words without the columns that the model reads anyway, far less accurately.

        Raises:
            InputError: something is not a sentence, or not a word.
            MissingColumnsError: the model reads a column that the words do not have.
        """
        if isinstance(sentences, str | Mapping) or not isinstance(sentences, Iterable):
            raise InputError(f"{_named(sentences)} is not a list of sentences; give one, each sentence a list of its words")
        read = [_read(sentence, number) for number, sentence in enumerate(sentences, 1)]
        if not allow_missing_columns:
            self._check_columns(read)
        with self._encoding:
            encoded = self.model.vocabularies.encode(read)
        parses, probabilities = self._parser.parse(encoded, single_root=single_root)
        of_arcs = self.model.calibration(probabilities.arcs) if isinstance(self.model, Model) else probabilities.arcs
        relations = self.model.relations.symbols
        tags = {} if self._predict_tags is None else self._predict_tags(encoded)
        found = []
        for s, (start, end) in enumerate(pairwise(parses.offsets.tolist())):
            words = slice(start + 1, end)
            found.append(
                ParsedSentence(
                    forms=read[s].forms,
                    heads=parses.heads[words].tolist(),
                    deprels=[relations[relation] for relation in parses.relations[words].tolist()],
                    probabilities=of_arcs[words].tolist(),
                    probability=float(np.exp(probabilities.trees[s])),
                    tags={column: values[words] for column, values in tags.items()},
                    given={column: values for column in _TAGS if set(values := getattr(read[s], column)) - {EMPTY}},
                )
            )
        return found

    def parse_text(self, text: str, *, single_root: bool = True, allow_missing_columns: bool = False) -> list[ParsedSentence]:
        """Splits text into sentences and words, and parses them.

        Args:
            text: any text; a blank line ends a sentence. A byte order mark before it is left out.
            single_root: see parse().
            allow_missing_columns: see parse().

        Raises:
            InputError: it is not a str, or contains half of a surrogate pair, which is not a character.
            TokenizerError: there is no tokenizer.
            MissingColumnsError: the model reads tags, which text does not have.
        """
        if not isinstance(text, str):
            raise InputError(f"{_named(text)} is not text; give a str")
        if self._tokenizer is None:
            if self._folder is None:
                raise TokenizerError("this parser has no tokenizer; give one, Parser(model, Tokenizer(path))")
            self._tokenizer = model_tokenizer(self._folder)
        try:
            tokenized = self._tokenizer.tokenize(text)
        except UnicodeEncodeError as error:
            named = f"character {error.start + 1:,} of the text is {text[error.start]!a}, half of a surrogate pair"
            raise InputError(f"{named}; decode the text with errors='replace'") from error
        words = [[word for token in tokens for word in token.words] for tokens in tokenized]
        parsed = self.parse(words, single_root=single_root, allow_missing_columns=allow_missing_columns)
        for sentence, tokens, places in zip(parsed, tokenized, spans(text, tokenized), strict=True):
            sentence.tokens.extend(tokens)
            sentence.spans.extend(places)
        return parsed

    def _check_columns(self, sentences: list[_Columns]) -> None:
        empty = [
            number
            for column, number in COLUMN_NUMBERS.items()
            if all(value == EMPTY for sentence in sentences for value in getattr(sentence, column))
        ]
        n_words = sum(len(sentence.forms) for sentence in sentences)
        check_columns(empty, n_words, self.model.vocabularies.by_attribute, "the sentences", "allow_missing_columns=True")


def _read(sentence: Iterable[Word], number: int) -> _Columns:
    """The columns of a sentence; ``number`` is the sentence's, for errors."""
    columns = _Columns([], [], [], [], [])
    if isinstance(sentence, str):
        raise InputError(f"sentence {number} is a str; give a list of its words, or parse_text() the text")
    if isinstance(sentence, bytes | Mapping) or not isinstance(sentence, Iterable):
        raise InputError(f"sentence {number} is {_named(sentence)}; give a list of its words")
    for place, word in enumerate(sentence, 1):
        lemma = None
        if isinstance(word, Mapping):
            if not isinstance(word.get("id", place), int):
                continue  # a multiword token or an empty node
            lemma = word.get("lemma")
            values: Sequence[Any] = (word.get("form"), word.get("upos"), word.get("xpos"), _written(word.get("feats")))
        else:
            values = tuple(word) if isinstance(word, list | tuple) else (word,)
        if not 1 <= len(values) <= 4 or not isinstance(values[0], str):
            raise InputError(f"sentence {number}, word {place}: give a form, or a tuple (form, upos, xpos, feats)")
        columns.forms.append(values[0])
        others = (lemma, *values[1:], None, None, None)
        read = (columns.lemmas, columns.upos, columns.xpos, columns.feats)
        for name, column, value in zip(("lemma", *_TAGS), read, others, strict=False):
            if not (value is None or isinstance(value, str)):
                raise InputError(f"sentence {number}, word {place}: its {name} is {_named(value)}; give a str, or None")
            column.append(value or EMPTY)
    return columns


def _written(feats: Any) -> Any:
    """FEATS as ``conllu`` writes them, where they are a mapping: "" is of an attribute without =, None of one without value."""
    if not isinstance(feats, Mapping):
        return feats
    return "|".join(str(key) if value == "" else f"{key}={EMPTY if value is None else value}" for key, value in feats.items())


def _named(value: object) -> str:
    """A value as errors show it."""
    return "None" if value is None else f"{type(value).__name__} {shortened(repr(value))}"
