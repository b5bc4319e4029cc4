"""A word lattice: the words that a sentence may have, as arcs between nodes 0 to N (More et al. 2018, CoNLL-UL).

Every path from node 0 to node N is a way to read the sentence. Nodes are in topological order, so that every arc leads to a
higher number. A surface token is the stretch of nodes between which its arcs lie; no arc leads from one token into another.

The length of an arc, the nodes that it advances by, is what the clock of a search counts (decoding/lattice/compiled.py): all
paths have the length N, whatever the number of their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from parser.conllu.checks import EMPTY

# Longer arcs count as ones of this length where their length is read as an attribute.
_LONGEST = 9


class SurfaceToken(NamedTuple):
    """A token as it is written: the nodes between which its arcs lie, its form, and its column MISC."""

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
    """A lattice; its arcs are in the order of the nodes that they start from, and serve as the columns of words (Columns).

    Attributes:
        starts, ends: int32[arcs], the nodes of each arc.
        forms, lemmas, upos, xpos, feats: of each arc.
        tokens: the surface tokens, in order; together they cover 0 to N.
        comments: the lines of comments, without line ends.
        where: file, first line, number and sent_id, with which to begin an error message about the sentence.
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
        """A lattice of arcs in any order; those that start from the same node keep theirs. Nothing is checked."""
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
        """How many arcs there are."""
        return len(self.forms)

    @property
    def last_node(self) -> int:
        """N, the node at which all paths end."""
        return self.tokens[-1].end if self.tokens else 0

    @property
    def lengths(self) -> list[str]:
        """The nodes that each arc advances by, as text: an attribute of words."""
        return list(map(str, np.minimum(self.ends - self.starts, _LONGEST).tolist()))

    @property
    def arc(self) -> list[Arc]:
        """The arcs."""
        ends = self.starts.tolist(), self.ends.tolist()
        return [Arc(*arc) for arc in zip(*ends, self.forms, self.lemmas, self.upos, self.xpos, self.feats, strict=True)]

    def first_arcs(self) -> np.ndarray:
        """int32[N + 2]: the arcs that start from node v are the numbers from entry v to before entry v + 1."""
        return np.searchsorted(self.starts, np.arange(self.last_node + 2)).astype(np.int32)

    def of_token(self, token: SurfaceToken) -> range:
        """The numbers of the arcs of a surface token."""
        first, last = np.searchsorted(self.starts, [token.start, token.end])
        return range(int(first), int(last))

    def is_path(self, arcs: Sequence[int]) -> bool:
        """Whether arcs, by their numbers, are a path from node 0 to node N."""
        nodes = [0, *self.ends[list(arcs)].tolist()]
        return self.starts[list(arcs)].tolist() == nodes[:-1] and nodes[-1] == self.last_node


def conllu(
    lattice: Lattice,
    arcs: Sequence[int],
    heads: Sequence[int],
    deprels: Sequence[str],
    comments: Sequence[tuple[str, str]] = (),
) -> str:
    """The text of a sentence, the blank line after it included.

    A token of several words, or of one word with another form than its own, has the line of a multiword token.

    Args:
        lattice: the lattice.
        arcs: a path, by the numbers of its arcs.
        heads: [h_1, ..., h_n], by the places of words in the path, 0 = the root.
        deprels: the relations of the words.
        comments: keys and values of further comments, which go after those that are there.

    Raises:
        ValueError: the arcs are not a path, or there are not as many heads or relations.
    """
    if not lattice.is_path(arcs):
        raise ValueError(f"{lattice.where}: arcs {[*arcs]} are not a path")
    rows = list(zip(arcs, heads, deprels, strict=True))
    lines, word = [*lattice.comments, *(f"# {key} = {value}" for key, value in comments)], 0
    for token in lattice.tokens:
        last = word
        while last < len(rows) and lattice.starts[rows[last][0]] < token.end:
            last += 1
        is_word = last - word == 1 and lattice.forms[rows[word][0]] == token.form
        if not is_word:
            lines.append("\t".join([f"{word + 1}-{last}", token.form, *"_______", token.misc]))
        for number, (arc, head, deprel) in enumerate(rows[word:last], word + 1):
            columns = [column[arc] for column in (lattice.forms, lattice.lemmas, lattice.upos, lattice.xpos, lattice.feats)]
            lines.append("\t".join([str(number), *columns, str(head), deprel, "_", token.misc if is_word else "_"]))
        word = last
    return "\n".join([*lines, "", ""])
