"""The checks that all readers of CoNLL-U share: the ids of the lines, and heads that make a tree.

Format: https://universaldependencies.org/format.html. Words have the ids 1, 2, 3... The line of a
multiword token, ``3-4``, is before its first word. An empty node, ``3.1``, is after word 3 (``0.1``
before word 1). Only words are nodes of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from oracles.errors import OptimalStepError

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
N_COLUMNS = 10
COLUMN_NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

STANDARD_STREAM = "-"  # the name of standard input and output
EMPTY = "_"  # the value of an empty column
NO_SPACE = "SpaceAfter=No"  # in MISC: the next token follows without a space
UNKNOWN_HEAD = -1  # as oracles.UNKNOWN_HEAD
BYTE_ORDER_MARK = "\ufeff"  # some editors write it before a text in UTF-8

_ID = re.compile(r"([0-9]+)(?:([-.])([0-9]+))?")

# The digits of the longest number that is converted exactly. A longer one is too large for any
# sentence, and Python would not convert more than 4,300 digits.
_MAX_DIGITS = 18

# How many characters of a text an error quotes.
_QUOTED = 60


class ConlluError(OptimalStepError):
    """A file cannot be read as CoNLL-U. The message names the file, the line,
    the sentence and the fix.
    """


class LineError(OptimalStepError):
    """A fault in one line of a sentence; the reader, which knows file and line,
    makes a ConlluError of it.

    Attributes:
        row: number of the line among the lines of the sentence that are not comments, from 0.
    """

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


@dataclass(slots=True)
class Rows:
    """The lines of a sentence by kind, counted from 0, without comments.

    Attributes:
        words: the lines of the words 1..n, in order.
        multiwords: (line, first word, last word) of each multiword token.
        empty_nodes: the lines of the empty nodes.
    """

    words: list[int] = field(default_factory=list)
    multiwords: list[tuple[int, int, int]] = field(default_factory=list)
    empty_nodes: list[int] = field(default_factory=list)


def shortened(text: str) -> str:
    """Return a text as errors show it: a long text is cut, and its length added."""
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}... ({len(text):,} characters)"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: ``1 sentence``, ``2 sentences``."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def describe_file(path: str) -> str:
    """Return the name of a file in messages; ``-`` is standard input."""
    return "standard input" if path == STANDARD_STREAM else path


def describe_place(path: str, line: int | None, sentence: int, sent_id: str | None = None) -> str:
    """Return the beginning of an error about a sentence; ``line`` (None: not named) and
    ``sentence`` count from 1.
    """
    named = f" (sent_id {shortened(sent_id)})" if sent_id else ""
    return (
        f"{describe_file(path)}{'' if line is None else f', line {line}'}, "
        f"sentence {sentence}{named}"
    )


def is_blank(line: str) -> bool:
    """Return whether a line ends a sentence. A line of tabs does not:
    it is a token with empty columns.
    """
    return not line.strip(" \r\n")


def sort_rows(ids: Sequence[str]) -> Rows:
    """Sort lines into words, multiword tokens and empty nodes by their ids, in linear time.

    Raises:
        LineError: an id is invalid, or out of order.
    """
    # nearly every sentence of most treebanks
    if all(map(str.__eq__, ids, map(str, range(1, len(ids) + 1)))):
        return Rows(list(range(len(ids))))
    rows = Rows()
    covered = 0  # the last word of the previous multiword token
    for row, identifier in enumerate(ids):
        following = len(rows.words) + 1
        if identifier == str(following):
            rows.words.append(row)
            continue
        match = _ID.fullmatch(identifier)
        if match is None:
            raise _not_an_id(row, identifier)
        first, separator, second = match.groups()
        named, begins = shortened(identifier), ""
        if row > 0 and first == ("0" if separator == "." else "1"):
            begins = ", or put an empty line before it if a sentence begins here"
        if separator is None:
            fix = (
                begins
                if row > 0
                else ", or remove the empty line before it if the sentence began above"
            )
            raise LineError(
                row,
                f"word {named} where word {following} is expected; number the words 1, "
                f"2, 3...{fix}",
            )
        if separator == ".":
            if _number(first) != following - 1:
                place = f"its place is after word {shortened(first)}"
                raise LineError(
                    row, f"empty node {named} after word {following - 1}; {place}{begins}"
                )
            rows.empty_nodes.append(row)
        elif _number(second) < _number(first):
            raise LineError(
                row, f"multiword token {named} ends before it begins; write the lower id first"
            )
        elif _number(first) != following:
            fix = f"put its line before its first word{begins}"
            raise LineError(row, f"multiword token {named} before word {following}; {fix}")
        elif following <= covered:
            raise LineError(
                row,
                f"multiword token {named} overlaps the one before it; "
                "put every word in at most one",
            )
        else:
            covered = _number(second)
            rows.multiwords.append((row, following, covered))
    if covered > len(rows.words):
        row = rows.multiwords[-1][0]
        raise LineError(
            row, f"multiword token {shortened(ids[row])} ends after the last word; correct its id"
        )
    return rows


def _number(digits: str) -> int:
    """Convert digits to int; a number of more than _MAX_DIGITS digits is truncated, and is still
    too large for any sentence.
    """
    return int(digits) if len(digits) <= _MAX_DIGITS else int(digits.lstrip("0")[:_MAX_DIGITS] or 0)


def id_faults(ids: Sequence[str]) -> list[LineError]:
    """Return the faults of all invalid ids; if all are valid, of the first one out of order,
    which may cause the others.
    """
    faults = [
        _not_an_id(row, identifier)
        for row, identifier in enumerate(ids)
        if _ID.fullmatch(identifier) is None
    ]
    if not faults:
        try:
            sort_rows(ids)
        except LineError as error:
            faults.append(error)
    return faults


def _not_an_id(row: int, identifier: str) -> LineError:
    fix = "write 1 for a word, 1-2 for a multiword token, 1.1 for an empty node"
    if identifier == COLUMN_NAMES[ID]:
        fix = "remove the line with the names of the columns"
    elif identifier.startswith(BYTE_ORDER_MARK):
        fix = "remove the byte order mark (U+FEFF); only the beginning of a file may have one"
    return LineError(row, f"{shortened(identifier)!r} is not an id; {fix}")


def head_faults(texts: Sequence[str], n: int, partial: bool = False) -> Iterator[LineError]:
    """Yield a fault for each HEAD that is not an integer in 0..n;
    ``row`` is the word's place among the words, from 0.
    """
    for row, text in enumerate(texts):
        fix = "write the id of a word, or 0 for the root"
        if partial and text == EMPTY:
            continue
        if not (text.isascii() and text.isdigit()):
            fault = f"the head {shortened(text)!r} is not a number"
        elif _number(text) > n:
            fault = f"the head {shortened(text)} is outside 0..{n}"
        else:
            continue
        yield LineError(row, f"{fault}; {fix}")


def parse_heads(texts: Sequence[str], partial: bool = False) -> list[int]:
    """Return the column HEAD of the words 1..n as integers; ``partial``: ``_`` is UNKNOWN_HEAD.

    Raises:
        LineError: not an integer in 0..n; ``row`` is the word's place among the words, from 0.
    """
    heads = [_number(text) if text.isascii() and text.isdigit() else UNKNOWN_HEAD for text in texts]
    if heads and not (min(heads) >= 0 and max(heads) <= len(heads)):
        for fault in head_faults(texts, len(texts), partial):
            raise fault
    return heads


def check_tree(heads: Sequence[int], several_roots: bool = False) -> None:
    """Refuse heads that are not a tree, or a part of one, with exactly one child of the root,
    as in UD.

    Args:
        heads: [h_1, ..., h_n], each in 0..n, or UNKNOWN_HEAD.
        several_roots: whether the root may have several children.

    Raises:
        LineError: the first of tree_faults().
    """
    for fault in tree_faults(heads, several_roots):
        raise fault


def tree_faults(heads: Sequence[int], several_roots: bool = False) -> Iterator[LineError]:
    """Yield why heads are not a tree: several roots, no root, and each cycle;
    ``row`` is the place, from 0, of a wrong word.

    Linear: every word is visited once.
    """
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    if len(roots) > 1 and not several_roots:
        listed = ", ".join(map(str, roots[:5])) + (", ..." if len(roots) > 5 else "")
        yield LineError(
            roots[1] - 1,
            f"several roots: the words {listed} have head 0; give all but one of them another head",
        )
    if heads and not roots and UNKNOWN_HEAD not in heads:
        yield LineError(0, "no root: no word has head 0; give the root of the sentence head 0")
    seen_from = [0] * (len(heads) + 1)  # the word whose path to the root came here first
    seen_from[0] = -1
    for start in range(1, len(heads) + 1):
        word = start
        while not seen_from[word]:
            seen_from[word] = start
            word = max(heads[word - 1], 0)
        if seen_from[word] == start:
            cycle = [word]
            while (parent := heads[cycle[-1] - 1]) != word:
                cycle.append(parent)
            path = " -> ".join(map(str, [*cycle[:8], *(["..."] if len(cycle) > 8 else []), word]))
            yield LineError(
                word - 1, f"a cycle: the heads lead from {path}; attach one of them elsewhere"
            )
