"""Parsing a CoNLL-U file into another, in a stream: memory does not grow with the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from parser.conllu_checks import FEATS, FORM, UPOS, XPOS
from parser.conllu_stream import RawSentence, read_raw_sentences, rewrite
from parser.model import Model

# Enough for large batches in the classifier, little enough for the memory: about 20 MB.
CHUNK_WORDS = 50_000


@dataclass
class Parsed:
    """How much a file held.

    Attributes:
        sentences: sentences with at least one word.
        words: words.
        unknown: by attribute, how many words have a value that training never saw.
    """

    sentences: int
    words: int
    unknown: dict[str, int]

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {100 * count / max(1, self.words):.2f}%" for name, count in self.unknown.items())
        return f"{self.sentences:,} sentences, {self.words:,} words; unknown to the model: {shares}"


class Columns:
    """The columns of a raw sentence under the names of gold data."""

    def __init__(self, sentence: RawSentence) -> None:
        self.forms = sentence.column(FORM)
        self.upos = sentence.column(UPOS)
        self.xpos = sentence.column(XPOS)
        self.feats = sentence.column(FEATS)


def parse_file(
    model: Model, source: BinaryIO, target: TextIO, name: str = "-", *, single_root: bool = True, threads: int = 1
) -> Parsed:
    """Parses CoNLL-U; HEAD and DEPREL are rewritten, DEPS becomes ``_``, and every other byte passes through.

    Args:
        model: the parser.
        source: the input.
        target: where to write; nothing is buffered beyond a chunk.
        name: what errors call the input.
        single_root: make valid UD trees with exactly one child of the root.
        threads: how many sentences are parsed side by side.

    Raises:
        ConlluError: the input is not CoNLL-U; the message names file, line and sentence.
    """
    parsed = Parsed(0, 0, dict.fromkeys(model.encoder.attributes, 0))
    parser = model.greedy_parser(threads)
    relations = model.relations.symbols
    for chunk in _chunks(read_raw_sentences(source, name)):
        encoded = model.encoder.encode([Columns(sentence) for sentence in chunk])
        parses = parser.parse(encoded, single_root=single_root)
        heads = parses.heads.tolist()
        deprels = [relations[relation] for relation in parses.relations.tolist()]
        starts = parses.offsets.tolist()
        for sentence, start, end in zip(chunk, starts, starts[1:], strict=False):
            target.write(rewrite(sentence, heads[start + 1 : end], deprels[start + 1 : end]))
            parsed.sentences += len(sentence) > 0
            parsed.words += len(sentence)
        for name, count in model.encoder.unknown_counts(encoded).items():
            parsed.unknown[name] += count
    return parsed


def _chunks(sentences: Iterable[RawSentence]) -> Iterator[list[RawSentence]]:
    chunk: list[RawSentence] = []
    words = 0
    for sentence in sentences:
        chunk.append(sentence)
        words += len(sentence)
        if words >= CHUNK_WORDS:
            yield chunk
            chunk, words = [], 0
    if chunk:
        yield chunk
