"""Gold data: sentences with their trees, read from CoNLL-U with the library ``conllu``.

The library tells comments and tokens apart and splits these into columns; they are taken from it as plain strings, which
is faster than its default (it parses FEATS, DEPS and MISC, which the features here use whole) and loses nothing. Words alone
are kept: multiword tokens and empty nodes are no nodes of the tree, they are counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from io import TextIOWrapper
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, TextIO

from conllu.exceptions import ParseException
from conllu.parser import parse_token_and_metadata

from parser.conllu.checks import (
    DEPREL,
    FEATS,
    FORM,
    HEAD,
    ID,
    LEMMA,
    UPOS,
    XPOS,
    ConlluError,
    LineError,
    check_columns,
    check_tree,
    describe_place,
    is_blank,
    parse_heads,
    sort_rows,
)
from parser.conllu.files import open_input

if TYPE_CHECKING:
    from oracles import Trees

# One field that holds all columns of a line: the library makes a small token of it, and the columns are counted here.
_FIELDS = ("columns",)
_FIELD_PARSERS = {"columns": lambda columns, _: columns}

# The library takes two spaces for a border of columns. In CoNLL-U they may stand in a form, so the second of them travels as
# a NUL, which no text contains (a file that does is refused).
_HIDDEN_SPACE = "\0"


class TreebankError(ConlluError):
    """A treebank cannot be used as gold data. The message names the file, the line, the sentence and the mend."""


@dataclass(slots=True)
class Sentence:
    """The words 1..n of one sentence, one list per column; the entry of word i is at index i - 1.

    Attributes:
        forms, lemmas, upos, xpos, feats, deprels: the columns as written, ``_`` included; relations with their subtypes.
        heads: the heads [h_1, ..., h_n], 0 = the artificial root.
        where: file, first line, number and sent_id, with which to begin an error message about the sentence.
    """

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    heads: list[int]
    deprels: list[str]
    where: str

    def __len__(self) -> int:
        return len(self.forms)


@dataclass
class Treebank:
    """The sentences of a file, in order, and what was left out of it."""

    path: str
    sentences: list[Sentence] = field(default_factory=list)
    n_multiword_tokens: int = 0
    n_empty_nodes: int = 0

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, s: int) -> Sentence:
        return self.sentences[s]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @cached_property
    def n_words(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))

    @cached_property
    def trees(self) -> Trees:
        """The gold trees, packed for the oracles."""
        from oracles import Trees  # brings the compiled kernels, which reading alone does not need

        return Trees.from_heads(sentence.heads for sentence in self.sentences)

    @property
    def projective_subset(self) -> list[Sentence]:
        """The sentences whose tree is projective."""
        return [sentence for sentence, projective in zip(self.sentences, self.trees.projective, strict=True) if projective]

    @cached_property
    def nonprojective_percent(self) -> float:
        """Percentage of the sentences whose tree, with the artificial root at the left, is not projective."""
        return 100 * float((~self.trees.projective).mean())

    @property
    def summary(self) -> dict[str, int | float]:
        """What was read, under the keys of metrics.json and those of what was left out."""
        return {
            "sentences": len(self),
            "words": self.n_words,
            "nonprojective_percent": self.nonprojective_percent,
            "multiword_tokens_skipped": self.n_multiword_tokens,
            "empty_nodes_skipped": self.n_empty_nodes,
        }

    def __str__(self) -> str:
        read = f"{len(self):,} sentences, {self.n_words:,} words, {self.nonprojective_percent:.1f}% non-projective trees"
        skipped = f"{self.n_multiword_tokens:,} multiword tokens, {self.n_empty_nodes:,} empty nodes"
        return f"{self.path}: {read} (skipped: {skipped})"


def read_treebank(path: str | Path) -> Treebank:
    """Reads a file of gold trees: CoNLL-U in UTF-8, plain or by its name ``.gz`` or ``.xz``; BOM and CRLF are fine.

    Raises:
        TreebankError: no such file, not CoNLL-U, a sentence that is not a tree with exactly one root, or no sentence.
    """
    treebank = Treebank(str(path))
    try:
        with open_input(path) as stream:
            text = TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")
            for number, (first_line, block) in enumerate(_blocks(text, treebank.path), 1):
                treebank.sentences.append(_read_sentence(treebank, number, first_line, block))
    except UnicodeDecodeError as error:
        # The decoder works ahead of the sentences, so the line is looked up from the bytes.
        raise TreebankError(
            f"{path}{_first_undecodable_line(path)}: this is not UTF-8 ({error.reason}); convert it to UTF-8"
        ) from error
    except TreebankError:
        raise
    except ConlluError as error:
        raise TreebankError(str(error)) from error
    if not treebank.sentences:
        raise TreebankError(f"{path}: there is no sentence in this file; name a CoNLL-U file that has some")
    return treebank


def _blocks(text: TextIO, path: str) -> Iterator[tuple[int, list[str]]]:
    """The stretches of lines between blank lines that hold a token, each with the number of its first line, from 1."""
    block: list[str] = []
    holds_token = False
    number = 0
    for number, line in enumerate(text, 1):
        if is_blank(line):
            if holds_token:
                yield number - len(block), block
            block, holds_token = [], False
            continue
        if _HIDDEN_SPACE in line:
            raise TreebankError(f"{path}, line {number}: a NUL byte, so this is no text; name a CoNLL-U file")
        if line.isspace():
            raise TreebankError(f"{path}, line {number}: nothing but tabs; write _ in an empty column, or leave the line out")
        block.append(line)
        holds_token = holds_token or not line.startswith("#")
    if holds_token:
        yield number + 1 - len(block), block


def _read_sentence(treebank: Treebank, number: int, first_line: int, block: list[str]) -> Sentence:
    data = "".join(block)
    spaced = "  " in data
    try:
        parsed = parse_token_and_metadata(data.replace("  ", " \0") if spaced else data, _FIELDS, _FIELD_PARSERS)
    except ParseException as error:
        line = first_line + next(i for i in _token_lines(block) if "\t" not in block[i].strip())
        raise TreebankError(
            f"{describe_place(treebank.path, line, number)}: this line has no tabs, so it is not CoNLL-U; "
            "separate its ten columns by tabs"
        ) from error
    sent_id = parsed.metadata.get("sent_id", "").replace(_HIDDEN_SPACE, " ")
    table = [token["columns"] for token in parsed]
    if spaced:
        table = [[column.replace(_HIDDEN_SPACE, " ") for column in columns] for columns in table]
    try:
        for row, columns in enumerate(table):
            check_columns(row, columns)
        rows = sort_rows([columns[ID] for columns in table])
        if len(rows.words) < len(table):
            treebank.n_multiword_tokens += len(rows.multiwords)
            treebank.n_empty_nodes += len(rows.empty_nodes)
            table = [table[row] for row in rows.words]
        if not table:
            raise LineError(0, "a sentence without words; a sentence has at least the word 1")
        heads = _check_tree([columns[HEAD] for columns in table], rows.words)
    except LineError as error:
        line = first_line + _token_lines(block)[error.row]
        raise TreebankError(f"{describe_place(treebank.path, line, number, sent_id)}: {error}") from error
    return Sentence(
        # Interned, because a treebank repeats itself: 5 MB where 20 would be, for 42,000 words of Greek.
        forms=[intern(columns[FORM]) for columns in table],
        lemmas=[intern(columns[LEMMA]) for columns in table],
        upos=[intern(columns[UPOS]) for columns in table],
        xpos=[intern(columns[XPOS]) for columns in table],
        feats=[intern(columns[FEATS]) for columns in table],
        heads=heads,
        deprels=[intern(columns[DEPREL]) for columns in table],
        where=describe_place(treebank.path, first_line, number, sent_id),
    )


def _check_tree(texts: list[str], word_rows: list[int]) -> list[int]:
    """The heads of a tree with one root. An error has its row among all rows, not among the words."""
    try:
        heads = parse_heads(texts)
        check_tree(heads)
    except LineError as error:
        raise LineError(word_rows[error.row], str(error)) from error
    return heads


def _token_lines(block: list[str]) -> list[int]:
    """The places in the block, from 0, of the lines that are not comments."""
    return [i for i, line in enumerate(block) if not line.strip().startswith("#")]


def _first_undecodable_line(path: str | Path) -> str:
    """``, line N`` of the first line that is not UTF-8; nothing if the file cannot be read twice."""
    if str(path) == "-":
        return ""
    with open_input(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f", line {number}"
    return ""
