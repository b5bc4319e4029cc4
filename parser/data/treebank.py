"""Gold data: sentences with their trees, read from CoNLL-U as strictly as what is parsed (conllu/stream.py).

Beyond what parsing asks for, gold data is text in UTF-8, its trees have exactly one root, and every sentence has words. Words
alone are kept: multiword tokens and empty nodes are not nodes of the tree; they are counted and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING

from parser.conllu.checks import DEPREL, FEATS, FORM, LEMMA, UPOS, XPOS, ConlluError, is_blank
from parser.conllu.files import open_input
from parser.conllu.stream import RawSentence, read_raw_sentences

if TYPE_CHECKING:
    from oracles import Trees


# By form, deprel and head of a word.
_ODDITIES: dict[str, Callable[[str, str, int], bool]] = {
    "words have an empty FORM": lambda form, deprel, head: not form,
    "words have no DEPREL": lambda form, deprel, head: deprel in ("", "_"),
    "roots have a DEPREL other than root": lambda form, deprel, head: head == 0 and deprel != "root",
    "words have the DEPREL root but are not the root": lambda form, deprel, head: head != 0 and deprel == "root",
}


class TreebankError(ConlluError):
    """A treebank cannot be used as gold data. The message names the file, the line, the sentence and the fix."""


@dataclass(slots=True)
class Sentence:
    """The words 1..n of one sentence, one list per column; the entry of word i is at index i - 1.

    Attributes:
        forms, lemmas, upos, xpos, feats, deprels: the columns as written, ``_`` included; relations with their subtypes.
        heads: the heads [h_1, ..., h_n], 0 = the artificial root.
        where: file, first line, number and sent_id, with which to begin an error message about the sentence.
        lengths: of a path through a lattice, the nodes that each word advances by, as text; None: one.
    """

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]
    heads: list[int]
    deprels: list[str]
    where: str
    lengths: list[str] | None = None

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
        from oracles import Trees  # brings the compiled kernels, which reading by itself does not need

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

    def oddities(self) -> str:
        """What is read, but is probably a mistake: how many words, and where the first one is; empty if nothing is odd."""
        found = []
        for kind, is_odd in _ODDITIES.items():
            words = ((s.where, word) for s in self.sentences for word in zip(s.forms, s.deprels, s.heads, strict=True))
            places = [where for where, word in words if is_odd(*word)]
            if places:
                found.append(f"{len(places):,} {kind} (the first in {places[0].removeprefix(self.path + ', ')})")
        return "; ".join(found)

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
            for sentence in read_raw_sentences(_text_lines(stream, treebank.path), treebank.path):
                treebank.n_multiword_tokens += len(sentence.multiwords)
                treebank.n_empty_nodes += len(sentence.empty_nodes)
                if len(sentence):
                    treebank.sentences.append(_gold_sentence(sentence))
                elif sentence.empty_nodes:
                    place = sentence.place(sentence.empty_nodes[0])
                    raise TreebankError(f"{place}: a sentence without words; a sentence needs at least one word")
    except TreebankError:
        raise
    except ConlluError as error:
        raise TreebankError(str(error)) from error
    if not treebank.sentences:
        raise TreebankError(f"{path}: there is no sentence in this file; name a CoNLL-U file that has some")
    return treebank


def read_treebanks(paths: Sequence[str | Path]) -> Treebank:
    """Several files as one treebank, in their order; raises what read_treebank raises."""
    parts = [read_treebank(path) for path in paths]
    if len(parts) == 1:
        return parts[0]
    return Treebank(
        " + ".join(part.path for part in parts),
        [sentence for part in parts for sentence in part],
        sum(part.n_multiword_tokens for part in parts),
        sum(part.n_empty_nodes for part in parts),
    )


def without_held_out(treebank: Treebank, share: float) -> tuple[Treebank, Treebank | None]:
    """The treebank without a share of its sentences, and these as a treebank, None if the share is 0.

    They are every k-th sentence, k = 1 / share rounded, so that they come from all over the files and are always the same.

    Raises:
        TreebankError: there are fewer than k sentences.
    """
    if not share:
        return treebank, None
    every = max(2, round(1 / share))
    held = treebank.sentences[every - 1 :: every]
    if not held:
        raise TreebankError(f"{treebank.path}: of {len(treebank)} sentences none is the {every}th; raise treebank.held_out")
    kept = [sentence for number, sentence in enumerate(treebank.sentences, 1) if number % every]
    train = Treebank(treebank.path, kept, treebank.n_multiword_tokens, treebank.n_empty_nodes)
    return train, Treebank(f"{treebank.path} (every {every}th sentence, held out)", held)


def _text_lines(stream: Iterable[bytes], path: str) -> Iterator[bytes]:
    """The lines of a file, as far as they are text in UTF-8; what is parsed may hold any bytes, gold data may not."""
    for number, line in enumerate(stream, 1):
        if b"\0" in line:
            raise TreebankError(f"{path}, line {number}: a NUL byte, so this is not text; name a CoNLL-U file")
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TreebankError(f"{path}, line {number}: this is not UTF-8 ({error.reason}); convert it to UTF-8") from error
        yield line


def _gold_sentence(sentence: RawSentence) -> Sentence:
    first = next(place for place, line in enumerate(sentence.lines) if not is_blank(line))

    def column(number: int) -> list[str]:
        # Interned, because a treebank repeats itself: 5 MB where 20 would be, for 42,000 words of Greek.
        return [intern(value) for value in sentence.column(number)]

    return Sentence(
        forms=column(FORM),
        lemmas=column(LEMMA),
        upos=column(UPOS),
        xpos=column(XPOS),
        feats=column(FEATS),
        heads=sentence.heads(),
        deprels=column(DEPREL),
        where=sentence.place(first),
    )
