"""CoNLL-U read and rewritten sentence by sentence; only HEAD, DEPREL and DEPS of the words change,
unless more is asked for.

Everything else is written byte for byte as it was read: comments anywhere, multiword tokens, empty
nodes, CRLF, a byte order mark, a missing last newline, blank lines between sentences and after the
last one, bytes that are not UTF-8 (as lone surrogates, see ``parser.conllu.files``). Lines are only
split at tabs; only one sentence is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from conllu.parser import parse_comment_line

from parser.conllu.checks import (
    BYTE_ORDER_MARK,
    EMPTY,
    HEAD,
    ID,
    MISC,
    ConlluError,
    LineError,
    check_tree,
    describe_place,
    head_faults,
    id_faults,
    is_blank,
    parse_heads,
    sort_rows,
    tree_faults,
)
from parser.conllu.files import open_input
from parser.conllu.formats import check_line_ends, split_columns


@dataclass(slots=True)
class RawSentence:
    """The lines up to a blank line or the end of the file;
    n = 0 words if all are comments or blank.

    Attributes:
        lines: the lines as in the file, with their line ends: comments, tokens,
            and the blank line at the end.
        columns: the ten columns of the words 1..n, without the line end.
        word_lines: the places of the words 1..n among the lines.
        multiwords: (place among the lines, first word, last word) of every multiword token.
        empty_nodes: the places of the empty nodes among the lines.
        error: why it could not be read, if it was read without ``strict``; it then has no words.
        path, first_line, number: the file, the number of the first line, and of the sentence, both
            from 1 (sentences without words do not count).
    """

    lines: list[str]
    columns: list[list[str]]
    word_lines: list[int]
    multiwords: list[tuple[int, int, int]]
    path: str
    first_line: int
    number: int
    empty_nodes: list[int] = field(default_factory=list)
    error: ConlluError | None = None

    def __len__(self) -> int:
        return len(self.columns)

    def column(self, number: int) -> list[str]:
        """Return one column of the words 1..n; the numbers are ``FORM``, ``UPOS``... of
        ``parser.conllu.checks``.
        """
        return [columns[number] for columns in self.columns]

    def surface_tokens(self) -> Iterator[tuple[list[str], range]]:
        """Yield the tokens of the text, words or multiword tokens: the columns of each, and its
        words, counted from 0.
        """
        multiwords = {first: (place, last) for place, first, last in self.multiwords}
        word = 0
        while word < len(self):
            place, end = multiwords.get(word + 1, (None, word + 1))
            columns = (
                self.columns[word]
                if place is None
                else split_columns(0, self.lines[place].rstrip("\r\n"))
            )
            yield columns, range(word, end)
            word = end

    def heads(self, several_roots: bool = False, partial: bool = False) -> list[int]:
        """Return the column HEAD as a tree [h_1, ..., h_n].

        Args:
            several_roots: whether the root may have several children.
            partial: whether heads may be ``_``, which is UNKNOWN_HEAD.

        Raises:
            ConlluError: HEAD is not a tree.
        """
        try:
            heads = parse_heads(self.column(HEAD), partial)
            check_tree(heads, several_roots)
        except LineError as error:
            raise ConlluError(f"{self.place(self.word_lines[error.row])}: {error}") from error
        return heads

    def faults(self, partial: bool = False) -> list[tuple[str, bool]]:
        """Return, in order, the faults that the lines have as gold data,
        and for each whether parsing refuses it.

        A fault that only follows from another one is left out. For ``partial``, see heads().
        """
        faults: list[tuple[int, LineError, bool]] = []
        rows: list[tuple[int, list[str]]] = []
        table = _table(self.lines, self.first_line)
        for place, line in table:
            try:
                rows.append((place, split_columns(0, line)))
            except LineError as error:
                faults.append((place, error, True))
        if not faults:
            faults += [
                (rows[error.row][0], error, True)
                for error in id_faults([columns[ID] for _, columns in rows])
            ]
        words = [(place, columns[HEAD]) for place, columns in rows if columns[ID].isdecimal()]
        texts = [text for _, text in words]
        wrong_heads = [*head_faults(texts, len(table) if faults else len(words), partial)]
        if not faults and not wrong_heads:
            wrong_heads = [*tree_faults(parse_heads(texts, partial))]
        faults += [(words[error.row][0], error, False) for error in wrong_heads]
        return [
            (f"{self.place(place)}: {error}", parsing)
            for place, error, parsing in sorted(faults, key=itemgetter(0))
        ]

    def refuse(self, error: ConlluError) -> None:
        """Turn this sentence into one that could not be read, without words."""
        self.error = error
        self.columns, self.word_lines, self.multiwords, self.empty_nodes = [], [], [], []

    def place(self, line: int = 0) -> str:
        """Return the beginning of an error message about one of the lines."""
        return describe_place(self.path, self.first_line + line, self.number, sent_id(self.lines))


def sent_id(lines: Iterable[str]) -> str:
    """Return the value of the comment ``# sent_id = ...``, empty if there is none. The library
    ``conllu`` reads comments.
    """
    for line in lines:
        comment = line.removeprefix(BYTE_ORDER_MARK)
        if comment.startswith("#"):
            for key, value in parse_comment_line(comment):
                if key == "sent_id" and value:
                    return value
    return ""


def read_sentences(path: str | Path, *, strict: bool = True) -> Iterator[RawSentence]:
    """Yield the sentences of a file; see open_input() and read_raw_sentences()."""
    with open_input(path) as stream:
        yield from read_raw_sentences(stream, str(path), strict=strict)


def read_raw_sentences(
    stream: Iterable[bytes],
    path: str = "-",
    lines_before: int = 0,
    sentences_before: int = 0,
    *,
    strict: bool = True,
) -> Iterator[RawSentence]:
    """Read a stream of bytes, as from open_input(),
    and yield each sentence before the next one is read.

    The lines of all sentences, one after the other, are the lines of the file.

    Args:
        stream: its lines, each with its line end.
        path: the name for error messages.
        lines_before, sentences_before: how many lines and sentences of the file precede the stream;
            errors count them.
        strict: whether a sentence that cannot be read raises its error; otherwise it has no words,
            and the error is stored in it.

    Raises:
        ConlluError: a line does not have ten columns, or an id is invalid.
            HEAD and DEPREL are not checked.
    """
    lines: list[str] = []
    begun = False  # whether some line is not blank
    number, n_read = sentences_before, lines_before
    for raw in stream:
        line = raw.decode("utf-8", "surrogateescape")
        if not n_read and not lines:
            check_line_ends(line, path)
        lines.append(line)
        if not is_blank(line):
            begun = True
        elif begun:
            sentence = _sentence(lines, path, n_read + 1, number + 1, strict)
            n_read += len(lines)
            number += bool(sentence.columns or sentence.error)
            yield sentence
            lines, begun = [], False
    if lines:
        yield _sentence(lines, path, n_read + 1, number + 1, strict)


def _sentence(
    lines: list[str], path: str, first_line: int, number: int, strict: bool
) -> RawSentence:
    """Return the sentence in the lines."""
    sentence = RawSentence(lines, [], [], [], path, first_line, number)
    placed = _table(lines, first_line)
    places = [place for place, _ in placed]
    table: list[list[str]] = []
    try:
        for row, (_, line) in enumerate(placed):
            table.append(split_columns(row, line))
        rows = sort_rows([columns[ID] for columns in table])
    except LineError as error:
        refused = ConlluError(f"{sentence.place(places[error.row])}: {error}")
        if strict:
            raise refused from error
        sentence.error = refused
        return sentence
    if len(rows.words) == len(table):
        sentence.columns, sentence.word_lines = table, places
    else:
        sentence.columns = [table[row] for row in rows.words]
        sentence.word_lines = [places[row] for row in rows.words]
        sentence.multiwords = [(places[row], first, last) for row, first, last in rows.multiwords]
        sentence.empty_nodes = [places[row] for row in rows.empty_nodes]
    return sentence


def _table(lines: Sequence[str], first_line: int) -> list[tuple[int, str]]:
    """Return the lines that are neither comments nor blank, without their ends: pairs of place and
    line.
    """
    if first_line == 1:
        lines = [lines[0].removeprefix(BYTE_ORDER_MARK), *lines[1:]]
    return [
        (place, line.rstrip("\r\n"))
        for place, line in enumerate(lines)
        if line[:1] != "#" and not is_blank(line)
    ]


def rewrite(
    sentence: RawSentence,
    heads: Sequence[int | str],
    deprels: Sequence[str],
    comments: Sequence[tuple[str, str]] = (),
    others: Mapping[int, Sequence[str]] | None = None,
    misc: Sequence[str] | None = None,
) -> str:
    """Return the text of the sentence with a new tree in HEAD and DEPREL of the words.

    DEPS of the words becomes ``_``, because the enhanced graph of another tree would contradict
    this one. The lines of multiword tokens and empty nodes do not change: empty nodes have their
    relations in DEPS only.

    Args:
        sentence: a sentence of n words; with n = 0 its text is returned unchanged.
        heads: [h_1, ..., h_n], 0 = the root; ``_`` if unknown.
        deprels: the relations of the words 1..n.
        comments: keys and values of further comments, added after the sentence's own.
        others: the values of other columns, except MISC, for the words 1..n, by column number.
        misc: MISC of the words 1..n.

    Raises:
        OptimalStepError: the number of heads or relations is not n.
    """
    lines = sentence.lines.copy()
    more = [*(others or {}).items()]
    for word, (place, head, deprel) in enumerate(
        zip(sentence.word_lines, heads, deprels, strict=True)
    ):
        columns = lines[place].split("\t")
        columns[HEAD:MISC] = str(head), deprel, EMPTY
        for column, values in more:
            columns[column] = values[word]
        if misc is not None:
            columns[MISC] = misc[word] + columns[MISC][len(columns[MISC].rstrip("\r\n")) :]
        lines[place] = "\t".join(columns)
    if comments:
        mark = BYTE_ORDER_MARK if lines[0].startswith(BYTE_ORDER_MARK) else ""
        lines[0] = lines[0].removeprefix(mark)
        first = next(
            place for place, line in enumerate(lines) if line[:1] != "#" and not is_blank(line)
        )
        text = lines[first]
        end = text[len(text.rstrip("\r\n")) :] or "\n"
        lines[first:first] = [f"# {key} = {value}{end}" for key, value in comments]
        lines[0] = mark + lines[0]
    return "".join(lines)


_MULTIWORD_LINE = re.compile(rb"^(\xef\xbb\xbf)?[0-9]+-[0-9]+\t.*\n", re.MULTILINE)


def without_multiwords(content: bytes) -> bytes:
    """Return whole sentences of CoNLL-U without the lines of multiword tokens;
    a byte order mark stays.
    """
    return _MULTIWORD_LINE.sub(rb"\1", content)
