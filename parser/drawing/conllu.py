"""The sentences of CoNLL-U files as trees to draw, one file against another where there are two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from parser.conllu.checks import DEPREL, FORM, UPOS, ConlluError
from parser.conllu.files import open_input
from parser.conllu.stream import RawSentence, read_raw_sentences, sent_id
from parser.drawing.drawn_tree import DrawnTree


@dataclass(frozen=True)
class NamedTree:
    """A tree with the number of its sentence, from 1, and its sent_id, which may be empty."""

    number: int
    sent_id: str
    tree: DrawnTree

    @property
    def title(self) -> str:
        """For people."""
        return f"sentence {self.number}" + (f", {self.sent_id}" if self.sent_id else "")


def read_trees(path: str | Path, gold: str | Path | None = None) -> Iterator[NamedTree]:
    """The trees of a file, each drawn against that of the same sentence of a gold file, if there is one.

    Raises:
        ConlluError: a file is not CoNLL-U, HEAD is not a tree, or the files have other words.
    """
    for ours, golden in zip_longest(_sentences(path), _sentences(gold) if gold is not None else ()):
        if gold is None:
            yield _named(ours, DrawnTree(*_words(ours), ours.heads(several_roots=True), ours.column(DEPREL)))
            continue
        if ours is None or golden is None or ours.column(FORM) != golden.column(FORM):
            place = (ours or golden).place()
            raise ConlluError(f"{place}: {path} and {gold} differ in their words here; give two files of the same sentences")
        trees = [(s.heads(several_roots=True), s.column(DEPREL)) for s in (ours, golden)]
        yield _named(ours, DrawnTree(*_words(ours), *trees[0], *trees[1]))


def _sentences(path: str | Path) -> Iterator[RawSentence]:
    with open_input(path) as stream:
        for sentence in read_raw_sentences(stream, str(path)):
            if len(sentence):
                yield sentence


def _words(sentence: RawSentence) -> tuple[list[str], list[str]]:
    return sentence.column(FORM), sentence.column(UPOS)


def _named(sentence: RawSentence, tree: DrawnTree) -> NamedTree:
    return NamedTree(sentence.number, sent_id(sentence.lines), tree)
