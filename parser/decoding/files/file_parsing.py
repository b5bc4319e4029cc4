"""Parsing a CoNLL-U file into another, in a stream: memory does not grow with the input.

The file is read in chunks of whole sentences. A thread does everything with a chunk in compiled code: it finds the words
(conllu/chunks.py), numbers their attributes (word_cache.py), parses (greedy/compiled.py), and puts the trees between the other
bytes. Chunks are written in their order. One in which something is wrong goes through conllu/stream.py instead, which names the
line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from io import BytesIO
from itertools import pairwise, takewhile
from threading import Barrier, Lock
from typing import BinaryIO, Final, Generic, NamedTuple, TypeVar

import numpy as np

from parser.beam_settings import Beam
from parser.conllu.checks import (
    DEPREL,
    EMPTY,
    FEATS,
    FORM,
    LEMMA,
    MISC,
    UNKNOWN_HEAD,
    UPOS,
    XPOS,
    ConlluError,
    counted,
    is_blank,
)
from parser.conllu.chunks import CHUNK_BYTES, Chunk, TreeWriter, WordPositions, find_words, has_heads, read_chunks
from parser.conllu.stream import RawSentence, read_raw_sentences, rewrite
from parser.data.attributes import ATTRIBUTES
from parser.data.lemmas import LemmaLexicon
from parser.data.sentences import Parses, Sentences
from parser.decoding.files.missing_columns import refuse_missing_columns
from parser.decoding.files.tag_writing import TagPredictor, TagUse, given_tags, tags_to_write
from parser.decoding.files.word_cache import WordCache
from parser.decoding.given_arcs import MOST_WORDS, KeepingParser, given_arcs, kept_relations, lost_arcs
from parser.decoding.parsers import beam_parser_of, parser_with_beam
from parser.decoding.probabilities import CalibratedParser
from parser.decoding.sentence_parser import KBestParser
from parser.model.loading import AnyModel
from parser.model.model import Model

# Of words whose tag training never saw, the share beyond which the input is probably not tagged as the training data was.
_SUSPICIOUS = 0.1


class OnError(StrEnum):
    """How a sentence that is not valid CoNLL-U is handled."""

    STOP = "stop"  # it is an error, and nothing behind it is parsed
    SKIP = "skip"  # it is left out
    KEEP = "keep"  # it passes through as it is


class Keep(StrEnum):
    """What of the input's trees is kept; HEAD is ``_`` where nothing is given."""

    NOTHING = "nothing"
    HEADS = "heads"  # the arcs
    RELATIONS = "relations"  # the arcs with their relations, but for those that are ``_``


@dataclass
class FileCounts:
    """How much a file held.

    Attributes:
        lines: lines of any kind.
        sentences: sentences with at least one word.
        words: words.
        unknown: by attribute, how many words have a value that training never saw; of FEATS as a set, an element of one.
        refused: sentences that are not CoNLL-U, or whose given arcs cannot be kept.
        not_utf8: the first value of an attribute's column that is not UTF-8.
        unused_lexicon: whether there is a lexicon that has had no entry for any word.
    """

    lines: int
    sentences: int
    words: int
    unknown: dict[str, int]
    refused: int = 0
    not_utf8: str | None = field(default=None, compare=False)
    unused_lexicon: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {100 * count / max(1, self.words):.2f}%" for name, count in self.unknown.items())
        return f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}; unknown to the model: {shares}"

    def warnings(self) -> list[str]:
        """What people should know of the result: sentences that were refused, and tags unlike those of the training data."""
        found = []
        if self.refused:
            are, were = ("is", "was") if self.refused == 1 else ("are", "were")
            found.append(
                f"{counted(self.refused, 'sentence')} {are} not CoNLL-U, or cannot keep the given arcs, and {were} not parsed"
            )
        elif not self.sentences:
            found.append("there is no sentence in it")
        if self.not_utf8 is not None:
            shown = ascii(self.not_utf8.encode("utf-8", "surrogateescape"))[2:-1]
            fix = "convert it: iconv -f ENCODING -t UTF-8, such as LATIN1"
            found.append(f"it is not UTF-8 (the first such word is {shown}); {fix}")
        if self.unused_lexicon and self.words:
            fix = "its lines are form, UPOS or _, lemma, with tabs between them, and UPOS is as in the output"
            found.append(f"no word of the input had an entry in the lexicon; {fix}")
        for name, count in self.unknown.items():
            if ATTRIBUTES[name].column != "forms" and count > _SUSPICIOUS * self.words:
                share = f"{100 * count / self.words:.1f}% of the words"
                found.append(f"{share} have a value of {name} that training never saw; tag the input as the training data was")
        return found

    def add(self, part: FileCounts) -> None:
        """Adds what a part of the file held."""
        self.lines += part.lines
        self.sentences += part.sentences
        self.words += part.words
        self.refused += part.refused
        for name, count in part.unknown.items():
            self.unknown[name] += count


class RawColumns:
    """The columns of a raw sentence under the names of gold data."""

    def __init__(self, sentence: RawSentence) -> None:
        self.forms = sentence.column(FORM)
        self.lemmas = sentence.column(LEMMA)
        self.upos = sentence.column(UPOS)
        self.xpos = sentence.column(XPOS)
        self.feats = sentence.column(FEATS)


def parse_file(
    model: AnyModel,
    source: BinaryIO,
    target: BinaryIO,
    name: str = "-",
    *,
    single_root: bool = True,
    threads: int = 1,
    on_error: OnError = OnError.STOP,
    report: Callable[[ConlluError], None] = lambda error: None,
    allow_missing_columns: bool = False,
    beam: Beam | None = None,
    k_best: int | None = None,
    tags: TagUse = TagUse.KEEP,
    lexicon: LemmaLexicon | None = None,
    keep: Keep = Keep.NOTHING,
    probabilities: bool = False,
    chunk_bytes: int = CHUNK_BYTES,
) -> FileCounts:
    """Parses CoNLL-U; HEAD and DEPREL are rewritten, DEPS becomes ``_``, and every other byte passes through.

    With another ``tags`` than KEEP, tags that the model predicts are written, too.

    Args:
        model: the parser.
        source: the input.
        target: where to write; nothing is held back beyond a few chunks per thread.
        name: what errors call the input.
        single_root: make valid UD trees with exactly one child of the root.
        threads: how many chunks are parsed side by side; the output is the same for any number.
        on_error: how a sentence that is not valid CoNLL-U is handled.
        report: called with each of them, unless the first one is the end.
        allow_missing_columns: parse also where a column that the model reads is empty from the beginning on.
        beam: how to search; None: greedily.
        k_best: write this many trees of each sentence, or as many as the beam has found, the best first, one after the other:
            each a copy of the sentence with its rank and its score in comments.
        tags: whether predicted LEMMA, UPOS, XPOS and FEATS are written.
        lexicon: lemmas that come before those that the model predicts.
        keep: what of the input's trees is kept. Where the system cannot make all given arcs of a sentence together, it is
            handled as ``on_error`` says.
        probabilities: write into MISC how probable it is that head and relation are right, as Prob=0.87, in place of a former
            Prob. Given arcs have none: a former one is removed, for the parser did not choose them.
        chunk_bytes: how much is read at a time; the output is the same for any number.

    Raises:
        NoTagsError: tags are asked for of a model that predicts none, or lemmas.
        ConlluError: the input is not CoNLL-U, or a given arc cannot be kept; the message names file, line and sentence.
        BeamError: the model cannot be searched with this beam, or the beam cannot find that many trees.
        Int8Error: 8-bit products are requested of the model, and not available.
        MissingColumnsError: a column that the model reads is empty; nothing has been written.
        ProbabilityError: probabilities are asked for of a model that is not calibrated.
    """
    if k_best is not None:
        (beam or Beam(1)).check_k_best(k_best)
    parser = ChunkParser(model, single_root, on_error, report, beam, k_best, tags, lexicon, keep, probabilities)
    chunks = read_chunks(source, chunk_bytes, threads, name)
    if not allow_missing_columns:
        chunks = refuse_missing_columns(chunks, model.vocabularies.by_attribute, name)
    parsed = FileCounts(0, 0, 0, dict.fromkeys(model.vocabularies.by_attribute, 0))
    for chunk, result in parallel_map(parser.parse, chunks, threads):
        text, part = parser.parse_faulty(chunk, name, parsed) if result is FAULTY else result
        target.write(text)
        parsed.add(part)
    parser.prepare()  # where there was no chunk to do so: an empty file has the same errors
    parsed.not_utf8 = parser.not_utf8
    parsed.unused_lexicon = lexicon is not None and not lexicon.applied
    return parsed


def warm_up(model: AnyModel, beam: Beam | None = None, tags: TagUse = TagUse.KEEP) -> None:
    """Compiles all that parse_file() needs for such a call, or loads it where it has been compiled before."""
    lines = "".join(f"{word}\t_\t_\t_\t_\t_\t0\t_\t_\t_\n" for word in range(1, 4))
    parse_file(model, BytesIO(f"{lines}\n".encode()), BytesIO(), allow_missing_columns=True, beam=beam, tags=tags)


Parsed = tuple[bytes | memoryview, FileCounts]
"""A chunk with trees, and what it held."""


class Faulty(Enum):
    """What is made of a chunk that is to be read again, by the thread that knows how many lines came before it."""

    FAULTY = 0


FAULTY: Final = Faulty.FAULTY


class _Place(NamedTuple):
    """Where a chunk stands: in which file, after how many of its lines and sentences."""

    name: str
    lines: int
    sentences: int


class ChunkParser:
    """Parses chunks of a file; threads may parse side by side.

    Args:
        model: the parser.
        single_root: make valid UD trees with exactly one child of the root.
        on_error, report, beam, k_best, tags, lexicon, keep, probabilities: see parse_file().
    """

    def __init__(
        self,
        model: AnyModel,
        single_root: bool = True,
        on_error: OnError = OnError.STOP,
        report: Callable[[ConlluError], None] = lambda error: None,
        beam: Beam | None = None,
        k_best: int | None = None,
        tags: TagUse = TagUse.KEEP,
        lexicon: LemmaLexicon | None = None,
        keep: Keep = Keep.NOTHING,
        probabilities: bool = False,
    ) -> None:
        self._tag_use = tags
        self._keep = keep
        self._model = model
        self._single_root = single_root
        self._on_error = on_error
        self._report = report
        self._word_cache = WordCache(model.vocabularies)
        if tags is not TagUse.KEEP or lexicon is not None:
            model = model.frozen()
        self._parser = Later(lambda: parser_with_beam(model, beam))
        self._probable = CalibratedParser(model, beam) if probabilities else None
        self._keeping = None if keep is Keep.NOTHING else KeepingParser(model, beam)
        self._predict_tags = None
        if tags is not TagUse.KEEP or lexicon is not None:
            self._predict_tags = TagPredictor(model, lexicon)
            self.prepare()
        elif beam is not None or (isinstance(model, Model) and model.int8):
            self.prepare()  # where there may be no such parser, it is refused before anything is read
        self._k_best = None if k_best is None else (beam_parser_of(model, beam or Beam(1)), k_best)
        self._writer = TreeWriter(model.relations.symbols)

    @property
    def not_utf8(self) -> str | None:
        """The first value of a column that the model reads which is not UTF-8; None: there is none."""
        return self._word_cache.not_utf8

    def prepare(self) -> None:
        """Lays the weights out now; otherwise, the thread that parses the first chunk does so, and others begin meanwhile.

        Raises:
            BeamError: see parsers.parser_with_beam().
            Int8Error: 8-bit products are requested, and not available.
        """
        self._parser.get()

    def parse(self, chunk: Chunk) -> Parsed | Faulty:
        """The chunk with trees, and what it holds; FAULTY, where something is wrong in it: see parse_faulty()."""
        self._parser.begin()
        if self._k_best is None and self._predict_tags is None and self._probable is None:
            words = find_words(chunk)
            if words is not None and not (self._keeping is not None and _may_be_given(words)):
                return self._parse_words(words)
        try:
            return self._parse_lines(chunk, _Place("-", lines=int(not chunk.first), sentences=0), strict=True)
        except ConlluError:
            return FAULTY

    def parse_faulty(self, chunk: Chunk, name: str, before: FileCounts) -> Parsed:
        """The same, once it is known what came before the chunk, so that errors name the line.

        Args:
            chunk: the chunk.
            name: what errors call the file.
            before: what the file held before the chunk.

        Raises:
            ConlluError: the input is not CoNLL-U, or given arcs cannot be kept, and that is the end.
        """
        place = _Place(name, before.lines, before.sentences + before.refused)
        return self._parse_lines(chunk, place, strict=self._on_error is OnError.STOP)

    def _parse_words(self, words: WordPositions) -> Parsed:
        """In compiled code."""
        encoded = self._word_cache.encode(words)
        parses = self._parser.get().parse(encoded, single_root=self._single_root)
        is_word = parses.heads >= 0
        text = self._writer.write(words, parses.heads[is_word], parses.relations[is_word])
        unknown = self._model.vocabularies.unknown_counts(encoded)
        return text, FileCounts(words.n_lines, len(encoded), len(words.forms), unknown)

    def _parse_lines(self, chunk: Chunk, place: _Place, strict: bool) -> Parsed:
        """Line by line."""
        lines = BytesIO(chunk.content)
        sentences = list(
            read_raw_sentences(lines, place.name, place.lines, place.sentences, strict=strict, layout=chunk.layout)
        )
        if self._keeping is not None:
            for sentence in sentences:
                self._check_given(sentence, strict)
        for sentence in sentences:
            for error in filter(None, (sentence.error, sentence.glued)):
                self._report(error)
        encoded = self._word_cache.encode_slowly([RawColumns(sentence) for sentence in sentences])
        encoded, tags = self._tagged(sentences, encoded)
        texts = [
            *(
                self._best_texts(sentences, encoded, tags, strict)
                if self._k_best is None
                else self._k_best_texts(sentences, encoded, tags, *self._k_best)
            )
        ]
        text = "".join(
            (_beginning(sentence) if sentence.error and self._on_error is OnError.SKIP else text)
            + ("" if sentence.glued is None else _missing_end(sentence))
            for sentence, text in zip(sentences, texts, strict=True)
        )
        part = FileCounts(
            lines=sum(len(sentence.lines) for sentence in sentences),
            sentences=sum(len(sentence) > 0 and sentence.error is None for sentence in sentences),
            words=sum(len(sentence) for sentence in sentences if sentence.error is None),
            unknown=self._model.vocabularies.unknown_counts(encoded),
            refused=sum(sentence.error is not None for sentence in sentences),
        )
        return text.encode("utf-8", "surrogateescape"), part

    def texts(self, sentences: list[RawSentence]) -> list[str]:
        """The text of each sentence with its tree; they may be of several files."""
        encoded = self._word_cache.encode_slowly([RawColumns(sentence) for sentence in sentences])
        return [*self._best_texts(sentences, *self._tagged(sentences, encoded), strict=False)]

    def _tagged(self, sentences: list[RawSentence], encoded: Sentences) -> tuple[Sentences, list[dict[int, list[str]]]]:
        """The encoded sentences; and for each, by column that is written, the tags of its words."""
        if self._predict_tags is None:
            return encoded, [{}] * len(sentences)
        given = [given_tags(sentence) for sentence in sentences] if self._tag_use is TagUse.FILL else []
        encoded, predicted = self._predict_tags(encoded, [sentence.column(FORM) for sentence in sentences], given)
        tags = []
        for sentence, (start, end) in zip(sentences, pairwise(encoded.offsets.tolist()), strict=True):
            of_sentence = {column: values[start + 1 : end] for column, values in predicted.items()}
            tags.append(tags_to_write(sentence, of_sentence, self._tag_use))
        return encoded, tags

    def _best_texts(
        self, sentences: list[RawSentence], encoded: Sentences, tags: list[dict[int, list[str]]], strict: bool
    ) -> Iterator[str]:
        """The text of each sentence with its tree; ``strict``: an arc that is lost is an error."""
        given = None if self._keeping is None else self._given(sentences, encoded)
        probabilities = None
        if self._probable is not None:
            parses, probabilities = self._probable.parse(encoded, given, self._single_root)
        elif self._keeping is None or given is None:
            parses = self._parser.get().parse(encoded, single_root=self._single_root)
        else:
            parses = self._keeping.parse(encoded, given, single_root=self._single_root)
        deprels = self._deprels(parses.relations)
        if given is not None:
            self._keep_relations(sentences, given, parses, deprels)
            self._refuse_lost(sentences, given, parses, strict)
        heads = parses.heads.tolist()
        for sentence, written, (start, end) in zip(sentences, tags, pairwise(parses.offsets.tolist()), strict=True):
            words = slice(start + 1, end)
            if sentence.error is not None:
                yield "".join(sentence.lines)
                continue
            misc = None
            if probabilities is not None:
                is_given = None if given is None else given.heads[words] != UNKNOWN_HEAD
                misc = _with_probabilities(sentence.column(MISC), probabilities[words], is_given)
            yield rewrite(sentence, heads[words], deprels[words], others=written, misc=misc)

    def _check_given(self, sentence: RawSentence, strict: bool) -> None:
        """Refuses given heads that are no part of a tree, or cannot be kept, as what is not CoNLL-U."""
        try:
            if sentence.error is None and len(sentence) > MOST_WORDS:
                told = f"{len(sentence):,} words; given heads are kept in sentences of up to {MOST_WORDS:,}; split it"
                raise ConlluError(f"{sentence.place()}: {told}")
            if sentence.error is None:
                sentence.heads(several_roots=not self._single_root, partial=True)
        except ConlluError as error:
            if strict:
                raise
            sentence.refuse(error)

    def _given(self, sentences: list[RawSentence], encoded: Sentences) -> Parses:
        """The arcs that are given."""
        heads = [sentence.heads(several_roots=True, partial=True) for sentence in sentences]
        deprels = [sentence.column(DEPREL) for sentence in sentences] if self._keep is Keep.RELATIONS else None
        return given_arcs(heads, deprels, self._model.relations.symbols, encoded.offsets)

    def _keep_relations(self, sentences: list[RawSentence], given: Parses, parses: Parses, deprels: list[str]) -> None:
        """Puts the given relations of arcs that are kept into ``deprels``, also those that the model does not know."""
        if self._keep is Keep.RELATIONS:
            for sentence, (start, end) in zip(sentences, pairwise(given.offsets.tolist()), strict=True):
                words = slice(start + 1, end)
                heads = parses.heads[words].tolist(), given.heads[words].tolist()
                deprels[words] = kept_relations(deprels[words], heads[0], sentence.column(DEPREL), heads[1])

    def _refuse_lost(self, sentences: list[RawSentence], given: Parses, parses: Parses, strict: bool) -> None:
        """Refuses sentences of whose given arcs one is lost; the first one at once, if ``strict``."""
        for place in lost_arcs(given, parses).tolist():
            number = int(np.searchsorted(given.offsets, place, side="right")) - 1
            sentence, word = sentences[number], place - int(given.offsets[number])
            where = sentence.place(sentence.word_lines[word - 1])
            why = f"system={self._model.system.name} cannot make it together with the other given arcs"
            error = ConlluError(f"{where}: the arc from {given.heads[place]} to {word} is lost: {why}")
            if strict:
                raise ConlluError(f"{error}; --on-error=keep passes the sentence through as it is, skip leaves it out")
            self._report(error)
            sentence.error = error

    def _k_best_texts(
        self,
        sentences: list[RawSentence],
        encoded: Sentences,
        tags: list[dict[int, list[str]]],
        parser: KBestParser,
        k: int,
    ) -> Iterator[str]:
        """The text of each sentence with each of its best trees, one after the other; without words it comes once."""
        found = parser.k_best(encoded, k, single_root=self._single_root)
        for sentence, trees, written in zip(sentences, found, tags, strict=True):
            if len(sentence) == 0:
                yield "".join(sentence.lines)
                continue
            copies = [
                rewrite(
                    sentence,
                    tree.heads.tolist(),
                    self._deprels(tree.relations),
                    [("beam_rank", str(rank)), ("beam_score", f"{tree.score:.6f}")],
                    written,
                )
                for rank, tree in enumerate(trees, 1)
            ]
            first, *others = copies
            between = _missing_end(sentence)
            yield between.join([first, *(copy.removeprefix(sentence.head_of_file) for copy in others)])

    def _deprels(self, relations: np.ndarray) -> list[str]:
        return [self._model.relations.symbols[relation] for relation in relations.tolist()]


def _may_be_given(words: WordPositions) -> bool:
    """Whether some head is given, or a sentence is longer than those that heads are kept in."""
    return has_heads(words) or bool(np.diff(words.offsets).max(initial=0) > MOST_WORDS)


def _with_probabilities(misc: list[str], probabilities: np.ndarray, is_given: np.ndarray | None) -> list[str]:
    """MISC of the words of a sentence.

    Args:
        misc: as it was.
        probabilities: float64[n], 0 to 1; NaN where none is known.
        is_given: bool[n], whose arcs are given; None: nobody's.
    """
    hidden = np.isnan(probabilities) if is_given is None else np.isnan(probabilities) | is_given
    written = []
    for before, probability, is_hidden in zip(misc, probabilities.tolist(), hidden.tolist(), strict=True):
        said = [one for one in before.split("|") if one != EMPTY and not one.startswith("Prob=")]
        written.append("|".join(said if is_hidden else [*said, f"Prob={probability:.2f}"]) or EMPTY)
    return written


def _missing_end(sentence: RawSentence) -> str:
    """What must stand between a sentence and another one, if it is the last of a file, or glued to the next one."""
    last = sentence.lines[-1]
    end = last[len(last.rstrip("\r\n")) :]
    newline = end or ("\r\n" if sentence.lines[0].endswith("\r\n") else "\n")
    return ("" if end else newline) + ("" if is_blank(last) else newline)


def _beginning(sentence: RawSentence) -> str:
    """What stays of a sentence that is left out: the columns of CoNLL-U Plus, if they are named there, and blank lines.

    These may as well be at the end of the chunk before.
    """
    columns = "" if sentence.layout is None else sentence.head_of_file
    return columns + "".join(takewhile(is_blank, sentence.lines))


Made = TypeVar("Made")


class Later(Generic[Made]):
    """Made once, by the thread that is the first to begin.

    Args:
        make: makes it; what it raises, get() raises.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._begun = Lock()  # never released
        self._made: Future[Made] = Future()

    def begin(self) -> None:
        """Makes it, unless another thread does or has done so: does not wait for that one. Errors are kept for get()."""
        if self._begun.acquire(blocking=False):
            try:
                made = self._make()
            except BaseException as error:
                self._made.set_exception(error)
                if not isinstance(error, Exception):  # an interrupt
                    raise
            else:
                self._made.set_result(made)

    def get(self) -> Made:
        """Waits until it is made."""
        self.begin()
        return self._made.result()


Item = TypeVar("Item")
Result = TypeVar("Result")

# Items begun, or done and not yet asked for, per thread: enough to keep all threads busy while one item takes longer.
_AHEAD = 3


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[tuple[Item, Result]]:
    """Yields every item with what the function makes of it, in the order of the items; with one thread, without any other.

    Memory is that of a few items per thread. An error, of the function or of the items, is raised where its item would come,
    after all results before it, whatever the number of threads.
    """
    if threads == 1:
        for item in items:
            yield item, function(item)
        return
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    reader = iter(items)
    failure: Exception | None = None
    with ThreadPoolExecutor(threads) as pool:
        all_there = Barrier(threads)
        try:
            # All begin now: a thread that begins while another one runs Python code waits for it several times.
            wait([pool.submit(all_there.wait) for _ in range(threads)])
            reading = True
            while reading or waiting:
                if reading and len(waiting) < _AHEAD * threads:
                    try:
                        item = next(reader)
                    except StopIteration:
                        reading = False
                    except Exception as error:
                        reading, failure = False, error
                    else:
                        waiting.append((item, pool.submit(function, item)))
                else:
                    item, future = waiting.popleft()
                    yield item, future.result()
        finally:
            all_there.abort()  # those that wait, if not all could begin
            for _, future in waiting:
                future.cancel()
    if failure is not None:
        raise failure
