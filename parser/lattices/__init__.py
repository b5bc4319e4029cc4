"""Word lattices: the words that a sentence may have, as arcs between nodes 0 to N,
and how CoNLL-UL writes them.

Every path from node 0 to node N is a way to read the sentence. Nodes are in topological order, so
that every arc leads to a higher number. A surface token is the stretch of nodes between which its
arcs lie; no arc leads from one token into another.

The length of an arc is the number of nodes that it advances by. A search counts its steps in these
lengths (decoding/lattice/compiled.py): all paths have the length N, whatever the number of their
words.

CoNLL-UL is lattices as lines of text (More et al. 2018, https://conllul.github.io). A sentence is
comments, ``# key = value``, and lines of two kinds, until a blank line:

    a-b <TAB> form [<TAB> misc]                           a surface token, between the nodes a and b
    u <TAB> v <TAB> form lemma upos xpos feats [misc [_]]  an arc from node u to node v;
                                                           7 to 9 columns

A token may have no line if all its arcs lead from one node to the next; its form is then that of
the first arc. From the MISC of arcs, only SpaceAfter=No is read, because in some files MISC marks
the gold arcs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from oracles.errors import OptimalStepError
from parser.conllu.checks import (
    BYTE_ORDER_MARK,
    EMPTY,
    NO_SPACE,
    ConlluError,
    LineError,
    describe_place,
    is_blank,
    shortened,
)
from parser.conllu.files import open_input
from parser.conllu.formats import TO_UTF8
from parser.conllu.stream import sent_id

# In the attribute of lengths, longer arcs have this length.
_LONGEST = 9


class SurfaceToken(NamedTuple):
    """A token of the text: the nodes between which its arcs lie, its form, and its column MISC."""

    start: int
    end: int
    form: str
    misc: str = EMPTY


class Arc(NamedTuple):
    """A word that a sentence may have, between two nodes; columns as in CoNLL-U."""

    start: int
    end: int
    form: str
    lemma: str = EMPTY
    upos: str = EMPTY
    xpos: str = EMPTY
    feats: str = EMPTY


@dataclass(slots=True)
class Lattice:
    """A lattice; its arcs are in the order of the nodes that they start from, and serve as the
    columns of words (AttributeColumns).

    Attributes:
        starts, ends: int32[arcs], the nodes of each arc.
        forms, lemmas, upos, xpos, feats: the columns of each arc.
        tokens: the surface tokens, in order; together they cover 0 to N.
        comments: the lines of comments, without line ends.
        where: file, first line, number and sent_id:
            the beginning of an error message about the sentence.
        sent_id: the value of the comment sent_id, empty if there is none.
    """

    starts: np.ndarray
    ends: np.ndarray
    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    tokens: list[SurfaceToken]
    comments: list[str] = field(default_factory=list)
    where: str = ""
    sent_id: str = ""

    @classmethod
    def of(
        cls,
        arcs: Iterable[Arc],
        tokens: Sequence[SurfaceToken],
        comments: Sequence[str] = (),
        where: str = "",
        sent_id: str = "",
    ) -> Lattice:
        """Return a lattice of arcs in any order; arcs from the same node keep their order.
        Nothing is checked.
        """
        chosen = sorted(arcs, key=lambda arc: arc.start)
        return cls(
            starts=np.array([arc.start for arc in chosen], np.int32),
            ends=np.array([arc.end for arc in chosen], np.int32),
            forms=[arc.form for arc in chosen],
            lemmas=[arc.lemma for arc in chosen],
            upos=[arc.upos for arc in chosen],
            xpos=[arc.xpos for arc in chosen],
            feats=[arc.feats for arc in chosen],
            tokens=list(tokens),
            comments=list(comments),
            where=where,
            sent_id=sent_id,
        )

    def __len__(self) -> int:
        """Return the number of arcs."""
        return len(self.forms)

    @property
    def last_node(self) -> int:
        """N, the node at which all paths end."""
        return self.tokens[-1].end if self.tokens else 0

    @property
    def lengths(self) -> list[str]:
        """How many nodes each arc advances by, as text: an attribute of words."""
        return list(map(str, np.minimum(self.ends - self.starts, _LONGEST).tolist()))

    @property
    def arcs(self) -> list[Arc]:
        """The arcs."""
        nodes = self.starts.tolist(), self.ends.tolist()
        return [
            Arc(*arc)
            for arc in zip(
                *nodes, self.forms, self.lemmas, self.upos, self.xpos, self.feats, strict=True
            )
        ]

    def first_arcs(self) -> np.ndarray:
        """Return int32[N + 2]: the arcs from node v have the numbers from entry v to before entry
        v + 1.
        """
        return np.searchsorted(self.starts, np.arange(self.last_node + 2)).astype(np.int32)

    def token_arcs(self, token: SurfaceToken) -> range:
        """Return the numbers of the arcs of a surface token."""
        first, last = np.searchsorted(self.starts, [token.start, token.end])
        return range(int(first), int(last))

    def is_path(self, arcs: Sequence[int]) -> bool:
        """Return whether arcs, by their numbers, are a path from node 0 to node N."""
        nodes = [0, *self.ends[list(arcs)].tolist()]
        return self.starts[list(arcs)].tolist() == nodes[:-1] and nodes[-1] == self.last_node


def conllu(
    lattice: Lattice,
    arcs: Sequence[int],
    heads: Sequence[int],
    deprels: Sequence[str],
    comments: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the CoNLL-U of a sentence, including the blank line after it.

    A token of several words, or of a single word with another form,
    has the line of a multiword token.

    Args:
        arcs: a path, by the numbers of its arcs.
        heads: [h_1, ..., h_n], by the places of words in the path, 0 = the root.
        deprels: the relations of the words.
        comments: keys and values of further comments, added after the sentence's own.

    Raises:
        OptimalStepError: the arcs are not a path, or the number of heads or relations differs.
    """
    if not lattice.is_path(arcs):
        raise OptimalStepError(f"{lattice.where}: arcs {[*arcs]} are not a path")
    rows = list(zip(arcs, heads, deprels, strict=True))
    values = lattice.forms, lattice.lemmas, lattice.upos, lattice.xpos, lattice.feats
    lines, word = [*lattice.comments, *(f"# {key} = {value}" for key, value in comments)], 0
    for token in lattice.tokens:
        last = word
        while last < len(rows) and lattice.starts[rows[last][0]] < token.end:
            last += 1
        is_word = last - word == 1 and lattice.forms[rows[word][0]] == token.form
        if not is_word:
            lines.append("\t".join([f"{word + 1}-{last}", token.form, *"_______", token.misc]))
        for number, (arc, head, deprel) in enumerate(rows[word:last], word + 1):
            columns = [column[arc] for column in values]
            lines.append(
                "\t".join(
                    [str(number), *columns, str(head), deprel, "_", token.misc if is_word else "_"]
                )
            )
        word = last
    return "\n".join([*lines, "", ""])


# The ending of files of lattices, before the ending of a compression.
_ENDING, _COMPRESSED = ".conllul", (".gz", ".xz", ".bz2")

_TOKEN_ID = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_UNDECODED = re.compile("[\ud800-\udfff]")
_NODE = re.compile(r"[0-9]{1,9}")

# Parsing takes memory for every node, so a few bytes must not name a billion nodes.
# Without gaps every node has an arc.
_NODES_PER_ARC = 10


class LatticeError(ConlluError):
    """A file cannot be read as CoNLL-UL. The message names the file, the line,
    the sentence and the fix.
    """


def is_named_lattices(path: str) -> bool:
    """Return whether a file's name is that of a file of lattices."""
    for ending in _COMPRESSED:
        path = path.removesuffix(ending)
    return path.endswith(_ENDING)


def read_lattices(path: str | Path, max_arcs: int | None = None) -> list[Lattice]:
    """Read a file: plain, or compressed if its name ends in ``.gz``, ``.xz`` or ``.bz2``.

    Args:
        max_arcs: sentences with more arcs are refused; None: no limit.

    Raises:
        LatticeError: a sentence is not a lattice.
        ConlluError: the file cannot be read.
    """
    with open_input(path) as stream:
        return list(stream_lattices(stream, str(path), max_arcs))


def stream_lattices(
    stream: Iterable[bytes],
    path: str,
    max_arcs: int | None = None,
    report: Callable[[LatticeError], None] | None = None,
) -> Iterator[Lattice]:
    """Yield the sentences of a stream of bytes, one by one.

    Args:
        stream: its lines, each with its line end.
        path: the name for error messages.
        max_arcs: see read_lattices().
        report: called for each sentence that cannot be read, which is left out; None:
            such a sentence is an error.
    """
    number = 0
    for first_line, lines in _sentences(stream):
        if all(line.startswith("#") for line in lines):
            continue
        number += 1
        identifier = sent_id(lines)
        try:
            yield _read(
                lines, max_arcs, describe_place(path, first_line, number, identifier), identifier
            )
        except LineError as error:
            refused = LatticeError(
                f"{describe_place(path, first_line + error.row, number, identifier)}: {error}"
            )
            if report is None:
                raise refused from error
            report(refused)


def _sentences(stream: Iterable[bytes]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line of each sentence, from 1, and its lines."""
    lines: list[str] = []
    for number, raw in enumerate(chain(stream, [b"\n"]), 1):
        # _read() refuses sentences that are not UTF-8
        line = raw.decode("utf-8", "surrogateescape")
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not is_blank(line):
            lines.append(line.rstrip("\r\n"))
        elif lines:
            yield number - len(lines), lines
            lines = []


def _read(lines: Sequence[str], max_arcs: int | None, where: str, identifier: str) -> Lattice:
    tokens: list[tuple[int, SurfaceToken]] = []  # with their lines
    arcs: list[tuple[int, Arc, str]] = []  # with their lines and MISC
    for row, line in enumerate(lines):
        if _UNDECODED.search(line):
            raise LineError(row, f"this is not UTF-8; {TO_UTF8}")
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if match := _TOKEN_ID.fullmatch(columns[0]):
            tokens.append((row, _token(row, columns, int(match[1]), int(match[2]))))
        else:
            arcs.append((row, _arc(row, columns), columns[7] if len(columns) > 7 else EMPTY))
    if max_arcs is not None and len(arcs) > max_arcs:
        raise LineError(
            0,
            f"{len(arcs):,} arcs, and at most {max_arcs:,} are allowed; "
            "raise lattice.max_arcs (--max-arcs) or split it",
        )
    tokens = _all_tokens(tokens, arcs)
    _check_tokens(tokens, _NODES_PER_ARC * (len(arcs) + 1))
    _check_arcs(arcs, [token for _, token in tokens])
    _check_paths(tokens, arcs)
    comments = [line for line in lines if line.startswith("#")]
    return Lattice.of(
        [arc for _, arc, _ in arcs], [token for _, token in tokens], comments, where, identifier
    )


def _token(row: int, columns: Sequence[str], start: int, end: int) -> SurfaceToken:
    if len(columns) not in (2, 3):
        raise LineError(
            row,
            f"{len(columns)} columns where the line of a token has 2 or 3; separate them by tabs",
        )
    if start >= end:
        raise LineError(
            row,
            f"token {columns[0]} ends where it begins, or before; "
            "write its first and its last node",
        )
    if not columns[1]:
        raise LineError(row, "an empty form; write the form of the token")
    return SurfaceToken(
        start, end, columns[1], space_after_of(columns[2] if len(columns) == 3 else EMPTY)
    )


def _arc(row: int, columns: Sequence[str]) -> Arc:
    if not _NODE.fullmatch(columns[0]):
        raise LineError(
            row,
            f"{shortened(columns[0])!r} is not an id; write 0-2 for a token, "
            "or the number of the node at which an arc starts",
        )
    if not 7 <= len(columns) <= 9:
        raise LineError(
            row,
            f"{len(columns)} columns where an arc has 7 to 9; "
            "separate the columns by tabs and write _ in an empty one",
        )
    if not _NODE.fullmatch(columns[1]):
        raise LineError(
            row,
            f"{shortened(columns[1])!r} is not a node; "
            "write the number of the node at which the arc ends",
        )
    start, end = int(columns[0]), int(columns[1])
    if end <= start:
        raise LineError(
            row,
            f"the arc goes backwards, from node {start} to {end}; "
            "number the nodes in the order of the text",
        )
    if not columns[2]:
        raise LineError(row, "an empty form; write the form of the word")
    return Arc(start, end, *columns[2:7])


def space_after_of(misc: str) -> str:
    """Return SpaceAfter=No if the column has it, and ``_`` otherwise."""
    return NO_SPACE if NO_SPACE in misc.split("|") else EMPTY


def _all_tokens(
    tokens: Sequence[tuple[int, SurfaceToken]], arcs: Sequence[tuple[int, Arc, str]]
) -> list[tuple[int, SurfaceToken]]:
    """Return all tokens in order, including tokens without a line."""
    ends = sorted(node for _, token in tokens for node in (token.start, token.end))
    tokens_by_nodes = {(token.start, token.end): (row, token) for row, token in tokens}
    for row, arc, misc in arcs:
        # Nodes come in pairs: a place after an odd number of them is within a token.
        within = bisect_right(ends, arc.start) % 2 == 1
        if not within and arc.end == arc.start + 1 and (arc.start, arc.end) not in tokens_by_nodes:
            tokens_by_nodes[arc.start, arc.end] = (
                row,
                SurfaceToken(arc.start, arc.end, arc.form, space_after_of(misc)),
            )
    return [tokens_by_nodes[nodes] for nodes in sorted(tokens_by_nodes)]


def _check_tokens(tokens: Sequence[tuple[int, SurfaceToken]], most: int) -> None:
    """Refuse tokens that overlap or leave nodes out, and nodes with a number above ``most``."""
    node = 0
    for row, token in tokens:
        name = f"{token.start}-{token.end}"
        if token.start < node:
            raise LineError(
                row,
                f"token {name} overlaps the one before it, which ends at node {node}; "
                "correct the nodes",
            )
        if token.start > node:
            raise LineError(
                row,
                f"token {name} where one from node {node} is expected; correct the nodes, "
                "or add its token",
            )
        node = token.end
        if node > most:
            raise LineError(
                row,
                f"node {node} in a sentence with far fewer arcs; number the nodes without gaps",
            )


def _check_arcs(arcs: Sequence[tuple[int, Arc, str]], tokens: Sequence[SurfaceToken]) -> None:
    """Refuse arcs that do not lie within one token."""
    starts = [token.start for token in tokens]
    for row, arc, _ in arcs:
        place = bisect_right(starts, arc.start) - 1
        if place < 0 or arc.end > tokens[place].end:
            raise LineError(
                row,
                f"the arc from node {arc.start} to {arc.end} crosses a token boundary; "
                "let each arc lie within one token",
            )


def _check_paths(
    tokens: Sequence[tuple[int, SurfaceToken]], arcs: Sequence[tuple[int, Arc, str]]
) -> None:
    """Refuse tokens without arcs, and arcs that are on no path."""
    reached, reaching = {0}, {token.end for _, token in tokens}
    ordered = sorted(arcs, key=lambda entry: entry[1].start)
    for _, arc, _ in ordered:
        if arc.start in reached:
            reached.add(arc.end)
    for _, arc, _ in reversed(ordered):
        if arc.end in reaching:
            reaching.add(arc.start)
    begun = {arc.start for _, arc, _ in arcs}
    for row, token in tokens:
        if token.start not in begun:
            raise LineError(row, f"token {token.start}-{token.end} has no arc; write at least one")
    for row, arc, _ in arcs:
        if arc.start not in reached:
            raise LineError(
                row,
                f"node {arc.start} cannot be reached from node 0; let an arc end there, "
                "or drop this one",
            )
        if arc.end not in reaching:
            raise LineError(
                row,
                f"no path leads on from node {arc.end}; let an arc start there, or drop this one",
            )


def text_of(lattice: Lattice) -> str:
    """Return a lattice as CoNLL-UL, including the blank line after it."""
    lines, arcs = [*lattice.comments], lattice.arcs
    for token in lattice.tokens:
        lines.append(f"{token.start}-{token.end}\t{token.form}\t{token.misc}")
        lines += [
            "\t".join([*map(str, arcs[number]), EMPTY]) for number in lattice.token_arcs(token)
        ]
    return "\n".join([*lines, "", ""])
