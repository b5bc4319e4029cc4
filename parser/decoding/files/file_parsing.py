"""Parsing a CoNLL-U file into another, in a stream: memory does not grow with the input.

The file is read in chunks of whole sentences. One thread processes a chunk in compiled code: it
finds the words (conllu/chunks.py) and the given arcs, numbers their attributes (word_cache.py),
parses (predictor.py), and inserts the trees between the other bytes. Chunks are written in the
order of the file. If tags or MISC are written too, the thread goes through the chunk line by line
instead (conllu/stream.py). A chunk with an error is read again once the number of lines before it
is known, so that errors name the line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise, takewhile
from math import isnan
from threading import Barrier
from typing import BinaryIO, TypeVar

import numpy as np

from parser import batch_sizes
from parser.conllu.checks import (
    BYTE_ORDER_MARK,
    DEPREL,
    EMPTY,
    FEATS,
    FORM,
    HEAD,
    LEMMA,
    MISC,
    UNKNOWN_HEAD,
    UPOS,
    XPOS,
    ConlluError,
    counted,
    is_blank,
)
from parser.conllu.chunks import (
    Chunk,
    TreeWriter,
    WordPositions,
    find_heads,
    find_words,
    read_chunks,
)
from parser.conllu.dicts import conllu_as_json
from parser.conllu.stream import RawSentence, read_raw_sentences, rewrite, without_multiwords
from parser.data.attributes import ATTRIBUTES, PREDICTED, never_seen
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding.files.missing_columns import refuse_missing_columns
from parser.decoding.files.word_cache import WordCache
from parser.decoding.given_arcs import MOST_WORDS, GivenArcs, root_fault
from parser.decoding.parse_options import OnError, OutputFormat, ParseOptions, TagUse
from parser.decoding.predictor import Prediction, Predictor
from parser.kernels.hash_tables import ByteTable
from parser.kernels.interpreted import Briefly, compile_from_now_on
from parser.transitions.decisions import required_root_relation

# Items per thread that are begun, or done and not yet yielded: enough to keep all threads busy
# while one item takes longer.
_AHEAD = 3
# Above this share of unseen tags, the input probably uses another tagset.
_SUSPICIOUS = 0.1
# In place of the number of a relation: the model does not know it.
_UNKNOWN = -2

_briefly = Briefly()  # in lines
_LONG_LINE = 100  # bytes; a line of a word of CoNLL-U has fewer


Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class FileCounts:
    """The counts of a parsed file.

    Attributes:
        lines: the number of lines of any kind.
        sentences: the number of sentences with at least one word.
        unknown: for each attribute, the number of words with a value (in FEATS, a feature) that was
            never seen in training.
        refused: the number of sentences that are not CoNLL-U, or whose given arcs cannot be kept.
        not_utf8: the number of the first line that is not UTF-8; None: there is none.
        unused_lexicon: whether there is a lexicon that had no entry for any word.
    """

    lines: int
    sentences: int
    words: int
    unknown: dict[str, int]
    refused: int = 0
    not_utf8: int | None = field(default=None, compare=False)
    unused_lexicon: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        size = f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}"
        unseen = never_seen(self.unknown, self.words)
        return f"{size}; {unseen}" if unseen else size

    def warnings(self) -> list[str]:
        """Return warnings for the user, such as the number of refused sentences."""
        messages = []
        if self.refused:
            are, were = ("is", "was") if self.refused == 1 else ("are", "were")
            messages.append(
                f"{counted(self.refused, 'sentence')} {are} not CoNLL-U, "
                f"or cannot keep the given arcs, and {were} not parsed"
            )
        elif not self.sentences:
            messages.append("the input has no sentence")
        if self.not_utf8 is not None:
            fix = "convert the file: iconv -f LATIN1 -t UTF-8, with its own encoding"
            messages.append(f"line {self.not_utf8:,} is not UTF-8; {fix}")
        if self.unused_lexicon and self.words:
            fix = "its lines must be form, UPOS as in the output (or _), lemma, separated by tabs"
            messages.append(f"no word of the input had an entry in the lexicon; {fix}")
        for name, count in self.unknown.items():
            if ATTRIBUTES[name].column != "forms" and count > _SUSPICIOUS * self.words:
                share = f"{100 * count / self.words:.1f}% of the words"
                messages.append(
                    f"{share} have a value of {name} that was never seen in training; "
                    "tag the input as the training data was"
                )
        return messages

    def add(self, part: FileCounts) -> None:
        """Add the counts of a part of the file."""
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
    predictor: Predictor,
    source: BinaryIO,
    target: BinaryIO,
    name: str = "-",
    *,
    threads: int = 1,
    report: Callable[[ConlluError], None] = lambda error: None,
    progress: Callable[[FileCounts], None] = lambda parsed: None,
) -> FileCounts:
    """Parse CoNLL-U: rewrite HEAD and DEPREL, set DEPS to ``_``, and copy every other byte.

    The predictor's options may ask for more: tags, several trees of a sentence, Prob in MISC.

    Args:
        target: the output; at most a few chunks per thread wait to be written.
        name: the name of the input in errors.
        threads: how many chunks are parsed at the same time; the output is the same for any number.
        report: called with the error of each refused sentence,
            unless the first error stops the program.
        progress: called after each chunk with the counts of everything written so far.

    Raises:
        ConlluError: the input is not CoNLL-U, or a given arc cannot be kept;
            the message names file, line and sentence.
        MissingColumnsError: a column that the model reads is empty; nothing has been written.
    """
    parser = ChunkParser(predictor, report)
    vocabularies = predictor.model.vocabularies.by_attribute
    chunks = read_chunks(source, batch_sizes.BYTES_PER_CHUNK, threads, name)
    if not predictor.options.allow_missing_columns:
        chunks = refuse_missing_columns(chunks, vocabularies, name)
    parsed = FileCounts(0, 0, 0, dict.fromkeys(vocabularies, 0))
    for chunk, result in parallel_map(parser.parse, chunks, threads):
        text, part = (
            parser.parse_faulty(chunk, name, parsed, result)
            if isinstance(result, ConlluError)
            else result
        )
        target.write(as_wanted(text, predictor.options, chunk.first))
        if parsed.not_utf8 is None:
            try:
                chunk.content.decode()
            except UnicodeDecodeError as error:
                parsed.not_utf8 = parsed.lines + 1 + chunk.content.count(b"\n", 0, error.start)
        parsed.add(part)
        progress(parsed)
    # an empty file has no chunk that prepares it, and must give the same errors
    predictor.prepare()
    parsed.unused_lexicon = predictor.lexicon is not None and not predictor.lexicon.applied
    return parsed


def as_wanted(
    content: bytes | memoryview, options: ParseOptions, first: bool = True
) -> bytes | memoryview:
    """Return whole sentences of parsed CoNLL-U as the options want them: as they are, as JSON, or
    without multiword tokens.

    Args:
        first: whether a file begins with them.
    """
    if options.format is OutputFormat.JSON:
        return conllu_as_json(bytes(content), first, options.words_only)
    return without_multiwords(bytes(content)) if options.words_only else content


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[tuple[Item, Result]]:
    """Yield every item with the function's result, in the order of the items;
    with ``threads=1``, start no thread.

    Only a few items per thread are in memory. An error of the function, or of the iterable, is
    raised after the results of all earlier items, for any number of threads.
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
            # All threads start now: one that starts while another runs Python code waits for it
            # several times.
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
            all_there.abort()  # if some threads could not start, those that did still wait
            for _, future in waiting:
                future.cancel()
    if failure is not None:
        raise failure


def warm_up(predictor: Predictor) -> None:
    """Compile the kernels that parse_file() needs with this predictor,
    or load them from the cache.
    """
    compile_from_now_on()
    lines = "".join(f"{word}\t_\t_\t_\t_\t_\t_\t_\t_\t_\n" for word in range(1, 4))
    ChunkParser(predictor).parse(Chunk(f"{lines}\n".encode(), first=True))


Parsed = tuple[bytes | memoryview, FileCounts]
"""The text of a chunk with trees, and its counts."""


class LostArcsError(ConlluError):
    """Given arcs are lost; parse_faulty() names them from the predictions.

    Attributes:
        results: the encoded sentences of a chunk, and the predictions for them.
    """

    def __init__(self, encoded: Sentences, prediction: Prediction) -> None:
        super().__init__(f"{counted(len(prediction.lost), 'given arc')} cannot be kept")
        self.results = encoded, prediction


class ChunkParser:
    """Parses chunks of a file; several threads may share it.

    Args:
        report: see parse_file().
    """

    def __init__(
        self, predictor: Predictor, report: Callable[[ConlluError], None] = lambda error: None
    ) -> None:
        self._predictor = predictor
        self._options = predictor.options
        self._vocabularies = predictor.model.vocabularies
        self._report = report
        self._word_cache = WordCache(self._vocabularies)
        symbols = predictor.model.relations.symbols
        self._writer = TreeWriter(symbols)
        self._relations = {
            EMPTY: NO_NODE,
            **{symbol: number for number, symbol in enumerate(symbols)},
        }

    def parse(self, chunk: Chunk) -> Parsed | ConlluError:
        """Return the chunk with trees and its counts, or an error that counts lines from 1:
        see parse_faulty().
        """
        lines = chunk.content.count(b"\n")
        with _briefly(max(lines, len(chunk.content) // _LONG_LINE)):
            return self._parse(chunk)

    def _parse(self, chunk: Chunk) -> Parsed | ConlluError:
        options = self._options
        # only trees are written
        if not (self._predictor.tags or options.probabilities or options.k_best):
            words = find_words(chunk)
            arcs = None if words is None else self._find_given_arcs(words)
            if words is not None and arcs is not None:
                return self._parse_words(words, arcs)
        try:
            return self._parse_lines(chunk, strict=True, lines_before=int(not chunk.first))
        except ConlluError as error:
            return error

    def parse_faulty(
        self, chunk: Chunk, name: str, before: FileCounts, error: ConlluError | None = None
    ) -> Parsed:
        """Parse a chunk with an error once the counts of all earlier chunks are known,
        so that errors name the line.

        Args:
            name: the name of the file in errors.
            before: the counts of the file before the chunk.
            error: the error that parse() returned; if only arcs were lost,
                the chunk is not parsed again.

        Raises:
            ConlluError: the input is not CoNLL-U, or given arcs cannot be kept,
                and ``on_error`` is STOP.
        """
        strict = self._options.on_error is OnError.STOP
        results = error.results if isinstance(error, LostArcsError) else None
        return self._parse_lines(
            chunk, strict, name, before.lines, before.sentences + before.refused, results
        )

    def _find_given_arcs(self, words: WordPositions) -> Parses | None:
        """Return the arcs of a chunk to keep; None if they have to be read line by line,
        for example because a relation is new to the model.
        """
        # one root before each sentence
        arcs = Parses.allocate(words.offsets + np.arange(len(words.offsets)))
        if not self._options.keep_heads:
            return arcs
        if int(np.diff(words.offsets).max(initial=0)) > MOST_WORDS:
            return None
        result = find_heads(words, self._options.several_roots)
        if result is None:
            return None
        heads, (begins, ends) = result
        is_word = np.ones(len(arcs.heads), np.bool_)
        is_word[arcs.offsets[:-1]] = False
        arcs.heads[is_word] = heads
        if self._options.keep_relations:
            has_head, table = heads != UNKNOWN_HEAD, ByteTable()
            entries = table.look_up(words.text, begins[has_head], ends[has_head])
            numbers = np.array(
                [self._relations.get(relation, _UNKNOWN) for relation in table.strings(0)],
                np.int32,
            )
            if (numbers == _UNKNOWN).any():
                return None
            given = numbers[entries]
            root = required_root_relation(self._predictor.model.system, self._options.single_root)
            is_root_relation, is_root = given == root, heads[has_head] == 0
            if root != NO_NODE and (is_root_relation != is_root)[given != NO_NODE].any():
                return None
            arcs.relations[np.flatnonzero(is_word)[has_head]] = given
        return arcs

    def _parse_words(self, words: WordPositions, arcs: Parses) -> Parsed | ConlluError:
        """Parse a chunk's words in compiled code, and keep the given arcs."""
        encoded = self._word_cache.encode(words)
        some = arcs if (arcs.heads != UNKNOWN_HEAD).any() else None
        prediction = self._predictor.predict(
            encoded, given=some, single_root=self._options.single_root
        )
        if len(prediction.lost):
            return LostArcsError(encoded, prediction)
        parses = prediction.parses
        is_word = parses.heads >= 0
        text = self._writer.write(words, parses.heads[is_word], parses.relations[is_word])
        unknown = self._vocabularies.unknown_counts(encoded)
        return text, FileCounts(words.n_lines, len(encoded), len(words.forms), unknown)

    def _parse_lines(
        self,
        chunk: Chunk,
        strict: bool,
        name: str = "-",
        lines_before: int = 0,
        sentences_before: int = 0,
        results: tuple[Sentences, Prediction] | None = None,
    ) -> Parsed:
        """Parse a chunk line by line.

        Args:
            strict: raise the first error.
            name: the name of the file in errors.
            lines_before, sentences_before: how many there are before the chunk.
            results: the encoded sentences and the prediction for them, if these are known.
        """
        source = BytesIO(chunk.content), name, lines_before, sentences_before
        sentences = list(read_raw_sentences(*source, strict=strict))
        if self._options.keep_heads:
            for sentence in sentences:
                self._check_given_arcs(sentence, strict)
        for sentence in sentences:
            if sentence.error is not None:
                self._report(sentence.error)
        encoded = results[0] if results else self._encoded(sentences)
        texts = (
            self._best_texts(sentences, encoded, strict, results and results[1])
            if self._options.k_best is None
            else self._k_best_texts(sentences, encoded)
        )
        skipped = self._options.on_error is OnError.SKIP
        text = "".join(
            "".join(takewhile(is_blank, sentence.lines)) if sentence.error and skipped else text
            for sentence, text in zip(sentences, [*texts], strict=True)
        )
        part = FileCounts(
            lines=sum(len(sentence.lines) for sentence in sentences),
            sentences=sum(len(sentence) > 0 and sentence.error is None for sentence in sentences),
            words=sum(len(sentence) for sentence in sentences if sentence.error is None),
            unknown=self._vocabularies.unknown_counts(encoded),
            refused=sum(sentence.error is not None for sentence in sentences),
        )
        return text.encode("utf-8", "surrogateescape"), part

    def texts(self, sentences: list[RawSentence]) -> list[str]:
        """Return the text of each sentence with its tree;
        the sentences may come from several files.
        """
        return [*self._best_texts(sentences, self._encoded(sentences), strict=False)]

    def _encoded(self, sentences: list[RawSentence]) -> Sentences:
        return self._word_cache.encode_slowly([RawColumns(sentence) for sentence in sentences])

    def _best_texts(
        self,
        sentences: list[RawSentence],
        encoded: Sentences,
        strict: bool,
        prediction: Prediction | None = None,
    ) -> Iterator[str]:
        """Yield the text of each sentence with its tree, as in ``prediction`` if that is known.

        Raises:
            LostArcsError: a given arc is lost, if ``strict`` and without ``prediction``.
            ConlluError: a given arc is lost, if ``strict`` and with ``prediction``; the message
                names the arc.
        """
        if prediction is None:
            prediction = self._predictor.predict(
                encoded,
                [sentence.column(FORM) for sentence in sentences],
                self._given_arcs(sentences),
                self._given_tags(sentences),
                single_root=self._options.single_root,
            )
            if strict and len(prediction.lost):
                raise LostArcsError(encoded, prediction)
        self._refuse_lost(sentences, prediction, strict)
        heads = prediction.parses.heads.tolist()
        for sentence, (start, end) in zip(
            sentences, pairwise(encoded.offsets.tolist()), strict=True
        ):
            words = slice(start + 1, end)
            if sentence.error is not None:
                yield "".join(sentence.lines)
                continue
            misc = None
            if self._options.probabilities:
                misc = _with_probabilities(
                    sentence, prediction.probabilities[words], self._options.keep_heads
                )
            tags = tags_to_write(sentence, prediction.tags.values, words, self._predictor.tag_use)
            yield rewrite(sentence, heads[words], prediction.deprels[words], others=tags, misc=misc)

    def _given_arcs(self, sentences: list[RawSentence]) -> GivenArcs | None:
        """Return the arcs to keep; None without ``keep_heads``."""
        if not self._options.keep_heads:
            return None
        heads = [sentence.heads(several_roots=True, partial=True) for sentence in sentences]
        return GivenArcs(
            heads,
            (
                [sentence.column(DEPREL) for sentence in sentences]
                if self._options.keep_relations
                else None
            ),
        )

    def _given_tags(self, sentences: list[RawSentence]) -> list[dict[str, list[str]]]:
        """Return, for each sentence, the tag columns that are not ``_`` throughout; [] unless the
        option is ``tags=fill``.
        """
        if self._predictor.tag_use is not TagUse.FILL:
            return []
        return [given_tags(sentence) for sentence in sentences]

    def _check_given_arcs(self, sentence: RawSentence, strict: bool) -> None:
        """Refuse a sentence whose given heads cannot be part of a tree, or whose given relations do
        not fit the root, or that is too long to keep them.
        """
        options = self._options
        try:
            if sentence.error is None and len(sentence) > MOST_WORDS:
                told = (
                    f"{len(sentence):,} words; "
                    f"given heads are kept in sentences of up to {MOST_WORDS:,}; split it"
                )
                raise ConlluError(f"{sentence.place()}: {told}")
            if sentence.error is None:
                heads = sentence.heads(several_roots=options.several_roots, partial=True)
                system, deprels = self._predictor.model.system, sentence.column(DEPREL)
                if options.keep_relations and (
                    fault := root_fault(system, options.single_root, heads, deprels)
                ):
                    where = sentence.place(sentence.word_lines[fault.row])
                    raise ConlluError(f"{where}: {fault}")
        except ConlluError as error:
            if strict:
                raise
            sentence.refuse(error)

    def _refuse_lost(
        self, sentences: list[RawSentence], prediction: Prediction, strict: bool
    ) -> None:
        """Refuse sentences that lost a given arc; if ``strict``, raise the first error."""
        offsets = prediction.parses.offsets
        for place in prediction.lost.tolist():
            number = int(np.searchsorted(offsets, place, side="right")) - 1
            sentence, word = sentences[number], place - int(offsets[number])
            where = sentence.place(sentence.word_lines[word - 1])
            lost = f"the arc from {sentence.columns[word - 1][HEAD]} to {word} is lost"
            why = (
                f"system={self._predictor.model.system.name} cannot make it together with the "
                "other given arcs"
            )
            error = ConlluError(f"{where}: {lost}: {why}")
            if strict:
                raise ConlluError(
                    f"{error}; --on-error=keep copies the sentence unchanged, "
                    "--on-error=skip leaves it out"
                )
            self._report(error)
            sentence.error = error

    def _k_best_texts(self, sentences: list[RawSentence], encoded: Sentences) -> Iterator[str]:
        """Yield the text of each sentence, repeated with each of its best trees;
        without words, once.
        """
        forms = [sentence.column(FORM) for sentence in sentences]
        encoded, tags = self._predictor.tag(encoded, forms, self._given_tags(sentences))
        best_trees = self._predictor.k_best(encoded, single_root=self._options.single_root)
        symbols = self._predictor.model.relations.symbols
        for sentence, trees, (start, end) in zip(
            sentences, best_trees, pairwise(encoded.offsets.tolist()), strict=True
        ):
            if len(sentence) == 0:
                yield "".join(sentence.lines)
                continue
            written = tags_to_write(
                sentence, tags.values, slice(start + 1, end), self._predictor.tag_use
            )
            copies = [
                rewrite(
                    sentence,
                    tree.heads.tolist(),
                    [symbols[relation] for relation in tree.relations.tolist()],
                    [("beam_rank", str(rank)), ("beam_score", f"{tree.score:.6f}")],
                    written,
                )
                for rank, tree in enumerate(trees, 1)
            ]
            first, *others = copies
            between = _missing_end(sentence)
            yield between.join([first, *(copy.removeprefix(BYTE_ORDER_MARK) for copy in others)])


def given_tags(sentence: RawSentence) -> dict[str, list[str]]:
    """Return the columns of tags and lemmas that are not ``_`` throughout."""
    columns = {name: sentence.column(number) for name, number in PREDICTED.items()}
    return {name: values for name, values in columns.items() if {*values} - {EMPTY}}


def tags_to_write(
    sentence: RawSentence, predicted: Mapping[str, Sequence[str]], words: slice, use: TagUse
) -> dict[int, Sequence[str]]:
    """Return, by number of the column, the values of words 1..n that replace the input's.

    Args:
        predicted: for each column, the values of the words of all sentences.
        words: where the words of this sentence are in ``predicted``.
        use: which columns are written.
    """
    if use is TagUse.KEEP:
        return {}
    written = {
        PREDICTED[column]: values[words]
        for column, values in predicted.items()
        if column in PREDICTED
    }
    if use is TagUse.OVERWRITE:
        return written
    return {
        column: values
        for column, values in written.items()
        if set(sentence.column(column)) <= {EMPTY}
    }


def _with_probabilities(
    sentence: RawSentence, probabilities: np.ndarray, keep_heads: bool
) -> list[str]:
    """Return MISC of the words of a sentence, with the probabilities of their arcs.

    Args:
        probabilities: float64[n], 0 to 1; NaN where not known.
        keep_heads: whether the arcs of the input are kept; these have no probability.
    """
    written = []
    for columns, probability in zip(sentence.columns, probabilities.tolist(), strict=True):
        said = [
            entry
            for entry in columns[MISC].split("|")
            if entry != EMPTY and not entry.startswith("Prob=")
        ]
        is_known = not isnan(probability) and not (keep_heads and columns[HEAD] != EMPTY)
        written.append("|".join([*said, f"Prob={probability:.2f}"] if is_known else said) or EMPTY)
    return written


def _missing_end(sentence: RawSentence) -> str:
    """Return the line ends to add if another sentence follows this one,
    which may be the last of its file.
    """
    last = sentence.lines[-1]
    end = last[len(last.rstrip("\r\n")) :]
    newline = end or ("\r\n" if sentence.lines[0].endswith("\r\n") else "\n")
    return ("" if end else newline) + ("" if is_blank(last) else newline)
