"""The parser as a library:

    from parser import Parser

    parser = Parser.load("RUN_FOLDER/model")
    [sentence] = parser.parse([["A", "kutya", "ugat", "."]])
    print(sentence.heads, sentence.deprels, sentence.probabilities)
    print(sentence.draw())

Threads may share a Parser. It parses like optimal-step parse, and also says how probable each arc
is. A Parser loaded from a folder can be pickled, and so sent to other processes, which load it from
the folder again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from itertools import islice, pairwise
from numbers import Integral
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, cast, overload

import numpy as np

from oracles.errors import did_you_mean
from parser import batch_sizes
from parser.beam_settings import Beam, Merge
from parser.conllu.checks import EMPTY, FORM
from parser.conllu.formats import is_conllu
from parser.data.attributes import COLUMN_NUMBERS
from parser.data.lemma_lexicon import LemmaLexicon
from parser.data.sentences import Sentences
from parser.decoding.files.missing_columns import MissingColumnsError, check_columns
from parser.decoding.given_arcs import GivenArcs
from parser.decoding.parse_options import (
    ParseOptions,
    SentenceEnds,
    TokenEnds,
    predicted_tags,
    truth,
)
from parser.decoding.predictor import Predictor, load_model
from parser.kernels import show_compilation
from parser.library.parsed_sentence import (
    InputError,
    ParsedSentence,
    ParsedSentences,
    Word,
    WordColumns,
    named,
    read_arcs,
    read_words,
)
from parser.model.packs import lasting, named_folder
from parser.model.parser_model import ParserModel
from parser.text.abbreviations import read_abbreviations
from parser.text.pipeline import IS_CONLLU, BlankSplitter, TextPipeline
from parser.text.tokens import TokenizedSentence, TokenizerError

# Items of Parser.pipe() that are parsed together: enough words to fill the matrix products,
# even of short sentences.
_ITEMS_PER_BATCH = 256

log = logging.getLogger(__name__)


class Parser:
    """A trained parser.

    Args:
        model: a loaded model, whose weights must not be changed afterwards.
        tokenizer: splits the text for parse_text().
        folder: the folder that has the tokenizer for parse_text() if none is given.
        beam: how to search; None: as the model folder says, or greedily.
        lexicon: lemmas that take precedence over predicted lemmas.

    Raises:
        BeamError: the model does not support this beam.
        NoTagsError: a lexicon is given, but the model predicts no lemmas.
        TypeError: ``model`` is a path.
    """

    def __init__(
        self,
        model: ParserModel,
        tokenizer: TextPipeline | None = None,
        folder: Path | None = None,
        beam: Beam | None = None,
        lexicon: LemmaLexicon | None = None,
    ) -> None:
        if isinstance(model, str | PathLike):
            raise TypeError(
                f"Parser() takes a model, not a path; Parser.load({str(model)!r}) reads the model "
                "of a folder"
            )
        show_compilation()
        self.model = model
        self._pipelines: dict[str, TextPipeline] = (
            {} if tokenizer is None else {TokenEnds.MODEL: tokenizer}
        )
        # The working folder may change before the tokenizer is read.
        self._abbreviations: dict[str, bool] | None = None
        self._folder, self._called = None if folder is None else lasting(folder), folder
        options = ParseOptions(beam=beam, tags=predicted_tags(model), lexicon=lexicon)
        self._predictor = Predictor(model, options, steps=True)
        self._predictor.prepare()
        self._encoding = Lock()  # encoding changes the caches of vocabularies
        self._options: tuple[Any, ...] | None = None  # the arguments of load()

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: str = "cpu",
        tokenizer: str | Path | None = None,
        beam: int | None = None,
        merge: str | None = None,
        int8: bool | None = None,
        rerank: bool = False,
        treebank: str | None = None,
        lexicon: str | Path | None = None,
        abbreviations: str | Path | None = None,
    ) -> Parser:
        """Load the model of a model folder or a run folder.

        Args:
            folder: the folder, or a name that ``optimal-step get`` lists, such as ``en``.
            device: ``cpu`` or ``cuda``, for a pretrained encoder; all else runs on the CPU.
            tokenizer: the tokenizer of another model for parse_text(): the model's name or folder,
                or its file tokenizer.json; None: the tokenizer in the model folder, if there is
                one.
            beam: items of the beam, 1 for greedy parsing; None: as the model folder says.
            merge: which items of the beam are merged: ``none``, ``configuration`` or ``signature``;
                None: as the folder says.
            int8: multiply in 8 bits, which is faster and nearly as accurate; only with an encoder
                and on the CPU. False: in single precision; None: as the folder says. Like every
                boolean option, it also accepts 0, 1 and a bool of numpy.
            rerank: rank the trees of the beam also by the heads that the encoder predicts
                (recipe=text).
            treebank: for a model of several treebanks: the one that the input resembles; None:
                the first one.
            lexicon: a file of lemmas that take precedence over predicted lemmas; a line has form,
                UPOS or ``_``, lemma and, if they matter, FEATS, separated by tabs.
            abbreviations: for parse_text(), a file of abbreviations of your own: one on each line
                with its period, and ``+`` after it if a name or a number follows. Abbreviations
                keep their period, and end a sentence only before a word that often begins one.

        Relative paths are made absolute, so the working folder may change afterwards.

        Raises:
            ModelError: the folder has no model that this version can load.
            OptimalStepError: the value of a boolean option is not a boolean.
            TokenizerError: the given tokenizer cannot be loaded.
            BeamError: the model does not support this beam.
            Int8Error: the model does not support 8-bit products.
            ConlluError: the lexicon cannot be read.
            OptimalStepError: a line of ``abbreviations`` is not an abbreviation.
            NoTagsError: a lexicon is given, but the model predicts no lemmas.
        """
        options = ParseOptions(
            treebank=treebank,
            beam=beam,
            merge=cast(Merge | None, merge),  # the beam converts a str, or refuses it
            rerank=rerank,
            int8=int8 is not None and truth("int8", int8),
            float32=int8 is not None and not truth("int8", int8),
            device=device,
        )
        model = load_model(Path(folder), options)
        lemmas = None if lexicon is None else LemmaLexicon.read(Path(lexicon))
        short = None if abbreviations is None else read_abbreviations(Path(abbreviations))
        pipeline = None if tokenizer is None else TextPipeline.of_file(Path(tokenizer), short)
        named = named_folder(Path(folder)).absolute()
        loaded = cls(model, pipeline, named, options.search(model), lemmas)
        loaded._called, loaded._abbreviations = Path(folder), short
        files = [
            None if path is None else Path(path).absolute()
            # of a tokenizer its file, as a name is no path
            for path in (None if pipeline is None else pipeline.path, lexicon, abbreviations)
        ]
        loaded._options = (
            named,
            device,
            files[0],
            beam,
            merge,
            options.arithmetic,
            options.rerank,
            treebank,
            *files[1:],
        )
        return loaded

    def __reduce__(self) -> tuple[Callable[..., Parser], tuple[Any, ...]]:
        """Pickle only the options of load(); unpickling loads the model again.

        Raises:
            TypeError: the parser was not loaded from a folder.
        """
        if self._options is None:
            raise TypeError(
                "only a parser that Parser.load() has made can be pickled; save the model, "
                "and load it"
            )
        return type(self).load, self._options

    def __repr__(self) -> str:
        called = "" if self._called is None else f"{str(self._called)!r}, "
        return f"Parser({called}{self.model.system.name})"

    def __call__(self, given: str | Iterable[Iterable[Word]], **options: Any) -> ParsedSentences:
        """Call parse_text() for a str, and parse() for anything else, with their options."""
        return (
            self.parse_text(given, **options)
            if isinstance(given, str)
            else self.parse(given, **options)
        )

    def parse(
        self,
        sentences: Iterable[Iterable[Word]],
        *,
        single_root: bool = True,
        allow_missing_columns: bool = False,
        heads: Iterable[Iterable[int | None]] | None = None,
        deprels: Iterable[Iterable[str | None]] | None = None,
        fit_tags: bool = True,
    ) -> ParsedSentences:
        """Parse sentences.

        Args:
            sentences: each is a list of words, or a ``conllu.TokenList``, whose multiword tokens
                and empty nodes are left out. A word is a form, or a tuple (form, upos, xpos, feats)
                of which only the form is required.
            single_root: make valid UD trees, with exactly one root.
            allow_missing_columns: parse even if the words lack columns that the model reads;
                accuracy is then far lower.
            heads: the given heads of each sentence, 0 for the root, None for unknown heads. All are
                kept if the transition system can make all of them together, otherwise as many as
                possible.
            deprels: with ``heads``: the relations of the given arcs, None for unknown relations.
                The root of a sentence has the relation ``root``, and no other word has it.
            fit_tags: predict tags and lemmas that fit the given tags; False: as if none were given.

        Raises:
            InputError: the input has something other than sentences and words,
                the given heads are not part of a tree, or a given relation does not fit the root.
            OptimalStepError: the value of a boolean option is not a boolean.
            GivenArcsError, BeamError: this model, or its search, cannot keep given arcs.
            MissingColumnsError: the words lack a column that the model reads.
        """
        if isinstance(sentences, str | Mapping) or not isinstance(sentences, Iterable):
            raise InputError(
                f"{named(sentences)} is not a list of sentences; give a list, "
                "each sentence a list of its words"
            )
        single_root = truth("single_root", single_root)
        allow_missing_columns = truth("allow_missing_columns", allow_missing_columns)
        fit_tags = truth("fit_tags", fit_tags)
        word_columns = [
            read_words(sentence, number) for number, sentence in enumerate(sentences, 1)
        ]
        if not allow_missing_columns:
            self._check_columns(word_columns)
        arcs = (
            None
            if heads is None and deprels is None
            else GivenArcs(*read_arcs(word_columns, heads, deprels, single_root, self.model.system))
        )
        return ParsedSentences(self._trees(word_columns, single_root, arcs, fit_tags))

    def _trees(
        self,
        word_columns: list[WordColumns],
        single_root: bool,
        arcs: GivenArcs | None = None,
        fit_tags: bool = True,
    ) -> Iterator[ParsedSentence]:
        """Yield the trees of sentences, with the given arcs."""
        with self._encoding:
            encoded = self.model.vocabularies.encode(word_columns)
        for first, last in encoded.spans(batch_sizes.TOKENS_PER_SPAN):
            part = arcs and arcs.span(first, last)
            yield from self._parsed(
                word_columns[first:last], encoded.span(first, last), single_root, part, fit_tags
            )

    def _parsed(
        self,
        word_columns: list[WordColumns],
        encoded: Sentences,
        single_root: bool,
        arcs: GivenArcs | None,
        fit_tags: bool,
    ) -> Iterator[ParsedSentence]:
        """Yield the trees of sentences that were read and encoded, with the given arcs."""
        given_tags = [
            {name: values for name, values in columns.tags().items() if set(values) - {EMPTY}}
            for columns in word_columns
        ]
        fitting, forms = given_tags if fit_tags else [], [columns.forms for columns in word_columns]
        prediction = self._predictor.predict(encoded, forms, arcs, fitting, single_root=single_root)
        assert prediction.steps is not None, "the predictor was made with steps=True"
        for s, (start, end) in enumerate(pairwise(prediction.parses.offsets.tolist())):
            words = slice(start + 1, end)
            yield ParsedSentence(
                forms=word_columns[s].forms,
                heads=prediction.parses.heads[words].tolist(),
                deprels=prediction.deprels[words],
                probabilities=prediction.probabilities[words].tolist(),
                probability=float(np.exp(prediction.steps.trees[s])),
                tags={column: values[words] for column, values in prediction.tags.values.items()},
                given=given_tags[s],
                text=word_columns[s].text,
            )

    def parse_text(
        self,
        text: str,
        *,
        sentences: str = SentenceEnds.MODEL,
        tokens: str = TokenEnds.MODEL,
        single_root: bool = True,
        allow_missing_columns: bool = False,
    ) -> ParsedSentences:
        """Split text into sentences and words, and parse them.

        Args:
            text: any text; a blank line ends a sentence. A byte order mark before it is left out.
            sentences: where sentences end: ``model``: where the model finds an end; ``line``: at
                the end of each line; ``paragraph``: at the end of each line, and within a line
                where the model finds an end.
            tokens: where tokens end: ``model``: where the tokenizer finds an end; ``space``:
                at spaces, without a tokenizer.
            single_root: see parse().
            allow_missing_columns: see parse().

        Raises:
            InputError: the text is not a str, or has half of a surrogate pair, which is not a
                character; or ``sentences`` or ``tokens`` has an unknown value.
            OptimalStepError: the value of a boolean option is not a boolean.
            TokenizerError: there is no tokenizer, or no segmenter to find sentences.
            MissingColumnsError: the model reads tags, which text does not have.
        """
        if not isinstance(text, str):
            raise InputError(f"{named(text)} is not text; give a str")
        _check_text_options(sentences, tokens)
        single_root = truth("single_root", single_root)
        allow_missing_columns = truth("allow_missing_columns", allow_missing_columns)
        _check_characters(text, "the text")
        tokenized = self._pipeline(tokens).read(text, SentenceEnds(sentences))
        if is_conllu(text):
            log.warning("the text: %s; give its words to parse()", IS_CONLLU)
        word_columns = _words_of(tokenized)
        if not allow_missing_columns:
            self._check_columns(word_columns)
        return _placed(text, tokenized, self._trees(word_columns, single_root))

    @overload
    def pipe(  # type: ignore[overload-overlap]  # a str is a list of forms to mypy, and a text here
        self,
        texts: Iterable[str],
        *,
        batch_size: int = ...,
        progress: bool = ...,
        sentences: str = ...,
        tokens: str = ...,
        single_root: bool = ...,
        allow_missing_columns: bool = ...,
    ) -> Iterator[ParsedSentences]: ...

    @overload
    def pipe(
        self,
        texts: Iterable[Iterable[Word]],
        *,
        batch_size: int = ...,
        progress: bool = ...,
        sentences: str = ...,
        tokens: str = ...,
        single_root: bool = ...,
        allow_missing_columns: bool = ...,
    ) -> Iterator[ParsedSentence]: ...

    def pipe(
        self,
        texts: Iterable[str | Iterable[Word]],
        *,
        batch_size: int = _ITEMS_PER_BATCH,
        progress: bool = False,
        sentences: str = SentenceEnds.MODEL,
        tokens: str = TokenEnds.MODEL,
        single_root: bool = True,
        allow_missing_columns: bool = False,
    ) -> Iterator[Any]:
        """Parse any number of texts or sentences, many at a time, which is faster than one by one.

        A ``str`` is a text, and yields its sentences, as parse_text() returns them. Anything else
        is a sentence, a list of words as for parse(), and yields its tree. Both kinds may be mixed.
        Items are read as their results are needed, so they may come from an endless generator; only
        one batch is in memory. An error is raised after the results of everything before it. With
        an encoder, the last digits of probabilities may depend on what is parsed together.

        Args:
            texts: the texts or sentences.
            batch_size: how many items are read and parsed together; 1 parses them one by one.
            progress: show on standard error how many items are done.
            sentences: where the sentences of texts end; see parse_text().
            tokens: where the tokens of texts end; see parse_text().
            single_root: see parse().
            allow_missing_columns: see parse().

        Raises:
            InputError: an item is neither a text nor a sentence; the message gives its number,
                counted from 1. Or an option has an unknown value.
            OptimalStepError: the value of a boolean option is not a boolean.
            TokenizerError: there is no tokenizer for texts, or no segmenter to find sentences.
            MissingColumnsError: an item lacks a column that the model reads.
        """
        if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable):
            raise InputError(
                f"{named(texts)} is not a list of texts or sentences; give a list, "
                "or call parse_text() for a text"
            )
        if not isinstance(batch_size, Integral) or isinstance(batch_size, bool) or batch_size < 1:
            raise InputError(f"batch_size={batch_size!r} is not possible; give a number from 1")
        _check_text_options(sentences, tokens)
        results = self._piped(
            texts,
            int(batch_size),
            SentenceEnds(sentences),
            tokens,
            truth("single_root", single_root),
            truth("allow_missing_columns", allow_missing_columns),
        )
        return _shown(results, texts) if truth("progress", progress) else results

    def _piped(
        self,
        items: Iterable[Any],
        batch_size: int,
        sentences: SentenceEnds,
        tokens: str,
        single_root: bool,
        allow_missing_columns: bool,
    ) -> Iterator[ParsedSentences | ParsedSentence]:
        source = enumerate(items, 1)
        failure: Exception | None = None
        while failure is None:
            batch: list[str | list[WordColumns]] = []  # a text, or a list of one sentence
            try:
                for number, item in islice(source, batch_size):
                    if isinstance(item, str):
                        _check_characters(item, f"text {number}")
                        batch.append(item)
                    else:
                        batch.append([read_words(item, number)])
            except Exception as error:  # raised below, after the results of the items before it
                failure = error
            texts = [item for item in batch if isinstance(item, str)]
            tokenized = self._pipeline(tokens).read_all(texts, sentences) if texts else []
            of_texts = iter(tokenized)
            batch_columns = [
                _words_of(next(of_texts)) if isinstance(item, str) else item for item in batch
            ]
            if not allow_missing_columns:
                for place, item_columns in enumerate(batch_columns):
                    try:
                        self._check_columns(item_columns)
                    except MissingColumnsError as error:
                        failure, batch_columns = error, batch_columns[:place]
                        break
            trees = self._trees(
                [columns for item_columns in batch_columns for columns in item_columns],
                single_root,
            )
            of_texts = iter(tokenized)
            for item, item_columns in zip(batch, batch_columns, strict=False):
                parsed = islice(trees, len(item_columns))
                yield (
                    _placed(item, next(of_texts), parsed) if isinstance(item, str) else next(parsed)
                )
            if len(batch) < batch_size:
                break
        if failure is not None:
            raise failure

    def _pipeline(self, tokens: str) -> TextPipeline:
        """Return the pipeline that splits text; ``tokens``: a member of TokenEnds."""
        if tokens not in self._pipelines:
            model_pipeline = self._pipelines.get(TokenEnds.MODEL)
            if tokens == TokenEnds.SPACE and (model_pipeline is not None or self._folder is None):
                self._pipelines[tokens] = TextPipeline(
                    BlankSplitter(), None if model_pipeline is None else model_pipeline.segmenter
                )
            elif self._folder is not None:
                self._pipelines[tokens] = TextPipeline.of_model(
                    *(self._folder, None, tokens, self._abbreviations),
                    treebank=self.model.vocabularies.treebank,
                )
            else:
                raise TokenizerError(
                    "this parser has no tokenizer; give one, Parser(model, "
                    "TextPipeline.of_model(folder))"
                )
        return self._pipelines[tokens]

    def _check_columns(self, sentences: list[WordColumns]) -> None:
        empty = [
            number
            for column, number in COLUMN_NUMBERS.items()
            if number != FORM  # an underscore is an ordinary form here
            and all(value == EMPTY for sentence in sentences for value in getattr(sentence, column))
        ]
        n_words = sum(len(sentence.forms) for sentence in sentences)
        check_columns(
            empty,
            n_words,
            self.model.vocabularies.by_attribute,
            "the sentences",
            "allow_missing_columns=True",
        )


def _check_text_options(sentences: str, tokens: str) -> None:
    for name, value, choices in (
        ("sentences", sentences, SentenceEnds),
        ("tokens", tokens, TokenEnds),
    ):
        if value not in list(choices):
            near = did_you_mean(str(value), choices)
            raise InputError(f"{name}={value!r} is unknown{near}; known: {', '.join(choices)}")


def _check_characters(text: str, name: str) -> None:
    """Refuse half of a surrogate pair, which no tokenizer reads."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        which = (
            f"character {error.start + 1:,} of {name} is {text[error.start]!a}, "
            "half of a surrogate pair"
        )
        raise InputError(f"{which}; decode the text with errors='replace'") from error


def _words_of(sentences: Iterable[TokenizedSentence]) -> list[WordColumns]:
    """Return the columns of sentences of a text."""
    return [
        read_words([word for token in sentence.tokens for word in token.words], number)
        for number, sentence in enumerate(sentences, 1)
    ]


def _placed(
    text: str, tokenized: list[TokenizedSentence], parsed: Iterable[ParsedSentence]
) -> ParsedSentences:
    """Return the trees of a text's sentences with their tokens,
    and the place of each token in the text.
    """
    return ParsedSentences(
        replace(
            sentence,
            tokens=source.tokens,
            spans=[(token.start, token.end) for token in source.tokens],
            text=text[source.tokens[0].start : source.tokens[-1].end],
        )
        for sentence, source in zip(parsed, tokenized, strict=True)
    )


def _shown(results: Iterator[Any], items: Iterable[Any]) -> Iterator[Any]:
    """Yield results, while a bar on standard error shows how many there were."""
    from tqdm.auto import tqdm

    with tqdm(total=len(items) if isinstance(items, Sized) else None, unit=" items") as bar:
        for result in results:
            bar.update()
            yield result
