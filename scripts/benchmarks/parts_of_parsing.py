"""What of parsing can be measured alone, so that a benchmark tells where the time goes."""

from __future__ import annotations

import io
from collections.abc import Mapping

from parser.conllu.chunks import find_words, read_chunks
from parser.conllu.stream import read_raw_sentences
from parser.data.sentences import Sentences
from parser.decoding.files.file_parsing import Columns
from parser.decoding.files.word_cache import WordCache
from parser.decoding.greedy.compiled import SHARE, CompiledParser
from parser.decoding.parsers import parser_of
from parser.model.loading import AnyModel
from scripts.benchmarks.ratios import job_name

READING = job_name("reading", 1)
WORD_ROWS = job_name("rows of words", 1)


def read(model: AnyModel, text: bytes) -> None:
    """From bytes to numbers, as parse_file() reads them."""
    cache = WordCache(model.vocabularies)
    for chunk in read_chunks(io.BytesIO(text)):
        if (words := find_words(chunk)) is not None:
            cache.encode(words)
        else:
            cache.encode_slowly([Columns(sentence) for sentence in read_raw_sentences(io.BytesIO(chunk.content))])


def has_word_rows(model: AnyModel) -> bool:
    """Whether what words contribute to the hidden layer is worked out before the steps."""
    return isinstance(parser_of(model), CompiledParser)


def make_word_rows(model: AnyModel, sentences: Sentences) -> None:
    """What decoding works out before the first step: for each word type, or each word that an encoder has read, its rows."""
    parser = parser_of(model)
    assert isinstance(parser, CompiledParser)
    for span in sentences.spans(SHARE):
        parser.words_of(sentences.span(*span))


def microseconds_per_word(rates: Mapping[str, float]) -> dict[str, float]:
    """Where the time goes of parsing a file with one thread.

    Args:
        rates: words per second, by job: "end to end, 1 thread", "decoding, 1 thread", READING, and WORD_ROWS where they are
            worked out before.
    """
    whole, decoding, reading = (1e6 / rates[job] for job in (job_name("end to end", 1), job_name("decoding", 1), READING))
    rows = 1e6 / rates[WORD_ROWS] if WORD_ROWS in rates else 0.0
    parts = {"reading": reading, "rows of words": rows, "steps": decoding - rows}
    return parts | {"writing, and the rest": whole - reading - decoding}
