"""A model at work on requests. It parses the sentences of many requests together,
in larger matrix products.

A request to /process has the parameters of UDPipe's REST interface
(https://lindat.mff.cuni.cz/services/udpipe/api-reference.php). A step is done if its parameter is
there: ``tokenizer``, ``tagger``, ``parser``. Besides CoNLL-U there are the simple formats of
UDPipe: ``horizontal`` has one sentence per line, its words separated by spaces; ``vertical`` has
one word per line and blank lines between sentences. Both write spaces within words as no-break
spaces. ``output=json`` gives what ``optimal-step parse --format json`` writes, see
parser.conllu.dicts.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO

from oracles.errors import OptimalStepError, did_you_mean
from parser.beam_settings import BeamError
from parser.conllu.checks import BYTE_ORDER_MARK, DEPREL, DEPS, FORM, HEAD, describe_place
from parser.conllu.chunks import read_chunks
from parser.conllu.dicts import json_lines
from parser.conllu.stream import RawSentence, read_raw_sentences, rewrite, sent_id
from parser.data.attributes import ATTRIBUTES
from parser.decoding.files.file_parsing import ChunkParser, RawColumns, tags_to_write
from parser.decoding.files.missing_columns import refuse_missing_columns
from parser.decoding.given_arcs import GivenArcsError
from parser.decoding.parse_options import ParseOptions, SentenceEnds, TagUse
from parser.decoding.predictor import Predictor
from parser.model.parser_model import ParserModel
from parser.serving.corrections import CorrectingParser, Correction, no_such_word
from parser.text.pipeline import TextPipeline
from parser.text.tokens import words_at_spaces

PRESEGMENTED, PARAGRAPH, RANGES = "presegmented", "paragraph", "ranges"
# The values of the parameter ``tokenizer`` that say where sentences end.
TOKENIZER_OPTIONS = {PRESEGMENTED: SentenceEnds.LINE, PARAGRAPH: SentenceEnds.PARAGRAPH}
FORMATS = ("conllu", "horizontal", "vertical")
JSON = "json"
OUTPUT_FORMATS = (*FORMATS, JSON)

# Most words of a sentence. UDPipe's service takes 1000. Treebanks have no sentence of this length,
# but text without full stops may.
LONGEST = 2000

# Words that are parsed together; deadlines are checked between two such shares.
_SHARE = 4000


class RequestError(OptimalStepError):
    """A request cannot be answered; its sender is sent the message."""


@dataclass(frozen=True)
class Request:
    """A document, and what to do with it.

    Attributes:
        data: the document.
        model: the name of the model; None for any.
        tokenizer: whether the document is text, to be split into sentences and words.
        sentences: where the sentences of the text end.
        ranges: whether to write the place of each token in the text.
        tagger: whether to write the tags that the model predicts.
        fill: with ``tagger``, whether to keep the tags of the document and write only those that
            are missing, as ``parse --tags fill`` does. Only the page sets it.
        parser: whether to write trees.
        input: one of FORMATS; with ``tokenizer`` the input is text instead.
        output: one of OUTPUT_FORMATS.
        allow_missing_columns: parse even if the document does not have tags that the model reads.
            Only the page sets it.
        way_to_allow: how errors describe the way to set it.
        corrections: what a person has corrected in single words; heads in the document are then
            ignored. Only the page sets it.
        deadline: the time (of time.monotonic) after which nobody waits for the answer.
    """

    data: str
    model: str | None = None
    tokenizer: bool = False
    sentences: SentenceEnds = SentenceEnds.MODEL
    ranges: bool = False
    tagger: bool = False
    fill: bool = False
    parser: bool = False
    input: str = "conllu"
    output: str = "conllu"
    allow_missing_columns: bool = False
    way_to_allow: str = "the server's --allow-missing-columns"
    corrections: tuple[Correction, ...] = ()
    deadline: float = float("inf")

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Request:
        """Return the request of these parameters; unknown parameters are ignored, as by UDPipe.

        Raises:
            RequestError: ``data`` is missing, or a parameter has an unknown value.
        """
        if "data" not in fields:
            raise RequestError(
                "data is missing; give the text, or the sentences, as the parameter data"
            )
        options = {option for option in fields.get("tokenizer", "").split(";") if option}
        if unknown := sorted(options - {*TOKENIZER_OPTIONS, RANGES}):
            known = (
                f"leave it empty, or say {PRESEGMENTED} or {PARAGRAPH}, {RANGES}, "
                "or two with ; between them"
            )
            near = did_you_mean(unknown[0], (*TOKENIZER_OPTIONS, RANGES))
            raise RequestError(f"tokenizer={_shown(unknown[0])} is not known{near}; {known}")
        sentences = [TOKENIZER_OPTIONS[option] for option in options if option in TOKENIZER_OPTIONS]
        if len(sentences) > 1:
            raise RequestError(
                f"tokenizer has {PRESEGMENTED} and {PARAGRAPH}, which exclude each other; "
                "leave one out"
            )
        for step in ("tagger", "parser"):
            if given := fields.get(step, ""):
                raise RequestError(f"{step}={_shown(given)} is not known; leave it empty")
        formats = {name: fields.get(name, FORMATS[0]) for name in ("input", "output")}
        if formats["output"] == "conllu=v2":  # UDPipe's name for the version of CoNLL-U
            formats["output"] = "conllu"
        for (name, given), choices in zip(formats.items(), (FORMATS, OUTPUT_FORMATS), strict=True):
            if given not in choices:
                near = did_you_mean(given, choices)
                raise RequestError(
                    f"{name}={_shown(given)} is not known{near}; known: {', '.join(choices)}"
                )
        return cls(
            data=fields["data"],
            model=fields.get("model") or None,
            tokenizer="tokenizer" in fields,
            sentences=sentences[0] if sentences else SentenceEnds.MODEL,
            ranges=RANGES in options,
            tagger="tagger" in fields,
            parser="parser" in fields,
            input=formats["input"],
            output=formats["output"],
        )


def _shown(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:60]}..."


class TooLateError(OptimalStepError):
    """A request took too long; the message says what to do."""

    def __init__(self) -> None:
        super().__init__("this took too long; send a shorter document, or try again later")


class Service:
    """A model that answers requests. Use it in one thread at a time.

    Args:
        model: the model.
        name: the name of the model in requests.
        options: how to parse; tags are written if a request asks for them.
        tokenizer: the tokenizer for text, if there is one.
        without: what an error says about the model if a request has text and there is no tokenizer.
        example: CoNLL-U of a sentence to try the model with, if there is one.

    Raises:
        OptimalStepError: the model does not support an option; see Predictor.
    """

    def __init__(
        self,
        model: ParserModel,
        name: str,
        options: ParseOptions | None = None,
        tokenizer: TextPipeline | None = None,
        example: str | None = None,
        without: str = "has no tokenizer",
    ) -> None:
        self.model = model
        self.name = name
        self.example = example
        self.tokenizer = tokenizer
        self._without = without
        options = ParseOptions() if options is None else options
        self._tags = bool(model.vocabularies.predicted)
        self._frozen = model.frozen()
        self._tagger = plain = Predictor(self._frozen, replace(options, lexicon=None))
        if self._tags or options.lexicon is not None:
            self._tagger = Predictor(self._frozen, replace(options, tags=TagUse.OVERWRITE))
        for predictor in (plain, self._tagger):
            predictor.prepare()
        self._options = replace(options, lexicon=self._tagger.lexicon)
        self._parser, self._tagging_parser = ChunkParser(plain), ChunkParser(self._tagger)
        self._filling_parser = self._tagging_parser
        if self._tags:
            filling = Predictor(self._frozen, replace(self._options, tags=TagUse.FILL))
            self._filling_parser = ChunkParser(filling)

    @property
    def steps(self) -> list[str]:
        """The steps that the model can do, as /models lists them."""
        able = {"tokenizer": self.tokenizer is not None, "tagger": self._tags, "parser": True}
        return [step for step, there in able.items() if there]

    @property
    def keeps_heads(self) -> bool:
        """Whether this model can keep given heads, with this beam; otherwise nothing can be
        corrected.
        """
        return self._correcting is not None

    @property
    def relations(self) -> list[str]:
        """The relations that a word may be given; empty if nothing can be corrected."""
        return [] if self._correcting is None else self._correcting.relations

    @property
    def upos(self) -> list[str]:
        """The values of UPOS that a word may be given; empty if nothing can be corrected."""
        return [] if self._correcting is None else self._correcting.upos

    @cached_property
    def _correcting(self) -> CorrectingParser | None:
        try:
            return CorrectingParser(self._frozen, self._options)
        except (GivenArcsError, BeamError):
            return None

    @property
    def needs_tags(self) -> bool:
        """Whether the model reads tags of the input."""
        return any(
            ATTRIBUTES[attribute].column != "forms"
            for attribute in self.model.vocabularies.by_attribute
        )

    def answers(self, requests: Sequence[Request]) -> list[str | Exception]:
        """Return the result of each request, or the error that says why there is none: bad input,
        or a fault of the parser.
        """
        found: list[str | Exception | None] = [None] * len(requests)
        documents: list[list[RawSentence]] = [[] for _ in requests]
        texts: list[list[str]] = [[] for _ in requests]
        alike: defaultdict[tuple[bool, bool, bool], list[tuple[int, int]]] = defaultdict(list)
        for number, request in enumerate(requests):
            try:
                documents[number] = sentences = self.read(request)
                texts[number] = ["".join(sentence.lines) for sentence in sentences]
                corrected = self._corrected(sentences, request)
                for place, text in corrected.items():
                    texts[number][place] = text
                if request.tagger or request.parser:
                    others = [
                        (number, place) for place in range(len(sentences)) if place not in corrected
                    ]
                    alike[request.tagger, request.fill, request.parser] += others
            except Exception as error:  # a fault concerns this request alone
                found[number] = error
        for steps, places in alike.items():
            for share in _shares(places, documents):
                now = time.monotonic()
                for number in {number for number, _ in share if requests[number].deadline < now}:
                    found[number] = TooLateError()
                share = [place for place in share if found[place[0]] is None]
                rewritten = self._rewritten(
                    [documents[number][place] for number, place in share], *steps
                )
                for (number, place), text in zip(share, rewritten, strict=True):
                    texts[number][place] = text
        results = (error or "".join(text) for error, text in zip(found, texts, strict=True))
        return [
            _written(result, request.output)
            for result, request in zip(results, requests, strict=True)
        ]

    def read(self, request: Request) -> list[RawSentence]:
        """Return the sentences of a request.

        Raises:
            TooLateError: the deadline passes before all sentences are found.
            RequestError: there is no such model, it cannot do a step, or a sentence is too long.
            ConlluError: the document is not CoNLL-U, or a column that the model reads is missing.
        """
        if request.model is not None and not f"{self.name}-".startswith(f"{request.model}-"):
            raise RequestError(
                f"model={request.model[:60]} is not served here; the model is {self.name}"
            )
        if request.tagger and not self._tags:
            raise RequestError(
                f"{self.name} predicts no tags; leave out tagger, "
                "and if the model reads tags, give CoNLL-U"
            )
        content = self._conllu(request).encode()
        if request.parser and not (
            self._options.allow_missing_columns or request.allow_missing_columns
        ):
            known = self.model.vocabularies.by_attribute
            refuse_missing_columns(
                read_chunks(BytesIO(content)), known, "data", request.way_to_allow
            )
        sentences = list(read_raw_sentences(BytesIO(content), "data"))
        for sentence in sentences:
            if len(sentence) > LONGEST:
                words = f"{len(sentence):,} words, but at most {LONGEST:,} are allowed; split it"
                raise RequestError(f"{_place(sentence, request)}: {words}")
        return sentences

    def _corrected(self, sentences: list[RawSentence], request: Request) -> dict[int, str]:
        """Return, by place, the texts of the sentences that were corrected, with trees and tags.

        Raises:
            TooLateError: the deadline passes.
            RequestError: the model cannot keep heads.
            CorrectionError: a correction cannot be kept.
        """
        if not request.corrections:
            return {}
        if self._correcting is None:
            raise RequestError(f"{self.name} cannot keep given heads; leave them out")
        by_number: defaultdict[int, list[Correction]] = defaultdict(list)
        for one in request.corrections:
            by_number[one.sentence].append(one)
        places = {
            sentence.number: place for place, sentence in enumerate(sentences) if len(sentence)
        }
        if unknown := sorted(by_number.keys() - places):
            raise no_such_word(by_number[unknown[0]][0])
        texts = {}
        for number, corrections in by_number.items():
            _refuse_late(request.deadline)
            texts[places[number]] = self._correcting.text(sentences[places[number]], corrections)
        return texts

    def _conllu(self, request: Request) -> str:
        if not request.tokenizer:
            if request.input != "conllu":
                return conllu_of_words(read_words(request.data, request.input))
            if "\t" not in request.data and any(
                line[:1] != "#" and line.strip() for line in request.data.splitlines()
            ):
                ways = "" if self.tokenizer is None else "tokenizer= for text, or "
                raise RequestError(
                    f"data has no tabs, so it is not CoNLL-U; send {ways}input=horizontal for "
                    "words separated by spaces"
                )
            return request.data
        if self.tokenizer is None:
            raise RequestError(
                f"{self.name} {self._without}; give words, with input=conllu, "
                "horizontal or vertical"
            )
        _refuse_late(request.deadline)
        pieces = []
        ranges = request.ranges or request.output == JSON
        for piece in self.tokenizer.conllu(
            BytesIO(request.data.encode()), "data", request.sentences, ranges
        ):
            pieces.append(piece)
            _refuse_late(request.deadline)
        return b"".join(pieces).decode()

    def _rewritten(
        self, sentences: list[RawSentence], tagger: bool, fill: bool, parser: bool
    ) -> list[str]:
        if parser:
            tagging = self._filling_parser if fill else self._tagging_parser
            return (tagging if tagger else self._parser).texts(sentences)
        read = [RawColumns(sentence) for sentence in sentences]
        encoded, tags = self._tagger.tag(
            self.model.vocabularies.encode(read), [columns.forms for columns in read]
        )
        texts = []
        for sentence, end in zip(sentences, encoded.offsets[1:].tolist(), strict=True):
            words = slice(end - len(sentence), end)
            kept = {column: sentence.column(column) for column in (HEAD, DEPREL, DEPS)}
            others = kept | tags_to_write(sentence, tags.values, words, TagUse.OVERWRITE)
            texts.append(rewrite(sentence, [0] * len(sentence), kept[DEPREL], others=others))
        return texts


def _place(sentence: RawSentence, request: Request) -> str:
    """Return the beginning of an error message. It names no line if the data is not CoNLL-U,
    because its sender has then not seen the lines.
    """
    if request.input == "conllu" and not request.tokenizer:
        return sentence.place()
    return describe_place(sentence.path, None, sentence.number, sent_id(sentence.lines))


def _written(result: str | Exception, layout: str) -> str | Exception:
    if isinstance(result, Exception) or layout == "conllu":
        return result
    sentences = read_raw_sentences(BytesIO(result.encode()), "data")
    return "".join(json_lines(sentences)) if layout == JSON else write_words(sentences, layout)


def _refuse_late(deadline: float) -> None:
    if deadline < time.monotonic():
        raise TooLateError


def _shares(
    places: list[tuple[int, int]], documents: list[list[RawSentence]]
) -> Iterator[list[tuple[int, int]]]:
    """Yield the places of sentences (number of the document, place in it) in shares."""
    share: list[tuple[int, int]] = []
    words = 0
    for number, place in places:
        share.append((number, place))
        words += len(documents[number][place])
        if words >= _SHARE:
            yield share
            share, words = [], 0
    if share:
        yield share


_NO_BREAK = "\u00a0"


def conllu_of_words(sentences: Iterable[Sequence[str]]) -> str:
    """Return numbered sentences of forms as CoNLL-U; sentences without words are left out."""
    lines: list[str] = []
    for number, words in enumerate(filter(None, sentences), 1):
        lines += [f"# sent_id = {number}", f"# text = {' '.join(words)}"]
        lines += ["\t".join([str(place), word, *"_" * 8]) for place, word in enumerate(words, 1)]
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def read_words(data: str, layout: str) -> list[list[str]]:
    """Return the sentences of a document in ``horizontal`` or ``vertical`` layout.

    Words are separated by spaces and tabs; in vertical layout, a word ends at the first tab of its
    line. A no-break space is a space within a word.
    """
    lines = data.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if layout == "horizontal":
        return [words_at_spaces(line) for line in lines]
    sentences: list[list[str]] = [[]]
    for line in lines:
        word = line.split("\t")[0].replace(_NO_BREAK, " ").strip(" ")
        if word:
            sentences[-1].append(word)
        elif sentences[-1]:
            sentences.append([])
    return sentences


def write_words(sentences: Iterable[RawSentence], layout: str) -> str:
    """Return the forms of sentences in ``horizontal`` or ``vertical`` layout."""
    words = [
        [form.replace(" ", _NO_BREAK) for form in sentence.column(FORM)]
        for sentence in sentences
        if len(sentence)
    ]
    if layout == "horizontal":
        return "".join(f"{' '.join(forms)}\n" for forms in words)
    return "".join("".join(f"{form}\n" for form in forms) + "\n" for forms in words)
