"""Gold paths: the arcs of a lattice that are the words of the gold tree.

Tokens of the tree (its words and multiword tokens) and of the lattice are aligned one to one. In
each token the gold path has the forms of the gold words. Among several such paths, dynamic
programming finds the one that has the most gold UPOS, then the most gold FEATS, then the first. The
words of a path keep the lattice's lemmas and tags, even if the tree has others.

If no path has the gold forms, the sentence is left out (skip), or the gold words are added as arcs
(infused). Infusing is only for training; it adds nodes if the token has too few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat
from pathlib import Path

import numpy as np

from parser.conllu.checks import DEPREL, FEATS, FORM, LEMMA, UPOS, XPOS, ConlluError, counted
from parser.conllu.stream import RawSentence, read_sentences, sent_id
from parser.data.treebank import Sentence
from parser.lattices import Arc, Lattice, LatticeError, SurfaceToken

# The share of tokens whose form may differ from the tree's.
_MOST_DIFFERING = 0.1


class MissingPath(StrEnum):
    """How a sentence is treated if no path of its lattice has the gold forms;
    see the module's docstring.
    """

    INFUSED = "infused"
    SKIP = "skip"


@dataclass(frozen=True)
class GoldPath:
    """The gold tree as a path through a lattice.

    Attributes:
        lattice: the lattice, with missing gold arcs added.
        arcs: int32[n], the arc of each gold word.
        sentence: the path as a sentence, with the arcs' attributes and the gold heads and
            relations.
        with_forms: bool[tokens]: whether the original lattice has a path with the gold forms.
        with_upos: bool[tokens]: whether such a path also has the gold UPOS.
        differing: both forms of each token whose form in the tree differs from the lattice's.
    """

    lattice: Lattice
    arcs: np.ndarray
    sentence: Sentence
    with_forms: np.ndarray
    with_upos: np.ndarray
    differing: list[tuple[str, str]]


@dataclass
class GoldPathCounts:
    """Counts of gold paths."""

    sentences: int = 0
    with_forms: int = 0
    with_upos: int = 0
    tokens: int = 0
    tokens_with_forms: int = 0
    tokens_with_upos: int = 0
    tokens_differing: int = 0

    def add(self, path: GoldPath) -> None:
        """Count a sentence."""
        self.sentences += 1
        self.with_forms += bool(path.with_forms.all())
        self.with_upos += bool(path.with_upos.all())
        self.tokens += len(path.with_forms)
        self.tokens_with_forms += int(path.with_forms.sum())
        self.tokens_with_upos += int(path.with_upos.sum())
        self.tokens_differing += len(path.differing)

    def __str__(self) -> str:
        tokens, sentences = max(1, self.tokens) / 100, max(1, self.sentences) / 100
        differing = (
            f"; {self.tokens_differing:,} tokens are written differently in the trees"
            if self.tokens_differing
            else ""
        )
        return (
            f"{counted(self.sentences, 'sentence')}, {counted(self.tokens, 'token')}; a path has "
            f"the gold forms in {self.tokens_with_forms / tokens:.1f}% of the tokens (with UPOS: "
            f"{self.tokens_with_upos / tokens:.1f}%), {self.with_forms / sentences:.1f}% of the "
            f"sentences (with UPOS: {self.with_upos / sentences:.1f}%){differing}"
        )


def read_trees(path: str | Path) -> list[RawSentence]:
    """Return the sentences of a file of CoNLL-U that have words."""
    return [sentence for sentence in read_sentences(path) if len(sentence)]


def joined(
    lattices: Sequence[Lattice], trees: Sequence[RawSentence]
) -> Iterator[tuple[Lattice, RawSentence]]:
    """Yield pairs of lattice and tree: by sent_id, if all have one, leaving out those without a
    partner; otherwise in their order.

    Raises:
        LatticeError: the numbers of lattices and trees differ, or no sent_id is in both.
    """
    names = [lattice.sent_id for lattice in lattices]
    tree_names = [sent_id(tree.lines) for tree in trees]
    if all(names) and all(tree_names) and len({*tree_names}) == len(tree_names):
        by_name = dict(zip(tree_names, trees, strict=True))
        pairs = [
            (lattice, by_name[lattice.sent_id])
            for lattice in lattices
            if lattice.sent_id in by_name
        ]
        if not pairs and lattices:
            raise LatticeError(
                f"{lattices[0].where}: no sent_id of the lattices is in {trees[0].path}; "
                "name files of the same text"
            )
        yield from pairs
        return
    if len(lattices) != len(trees):
        where = lattices[0].where if lattices else "the lattices"
        raise LatticeError(
            f"{where}: {len(lattices):,} lattices for {len(trees):,} trees, and not all have a "
            "sent_id to join them by; give them one, or name files of the same sentences"
        )
    yield from zip(lattices, trees, strict=True)


def surface_tokens(tree: RawSentence) -> list[tuple[str, range]]:
    """Return the tokens of a tree: their forms, and their words from 0."""
    return [(columns[FORM], words) for columns, words in tree.surface_tokens()]


def gold_path(lattice: Lattice, tree: RawSentence) -> GoldPath:
    """Return the gold path of a sentence, infused if there is none.

    Raises:
        ConlluError: lattice and tree have different tokens, or HEAD is not a tree.
    """
    tokens = surface_tokens(tree)
    if len(tokens) != len(lattice.tokens):
        raise LatticeError(
            f"{lattice.where}: {len(lattice.tokens)} tokens, and {len(tokens)} in the tree "
            f"({tree.place()}); the tokens must be the same"
        )
    words = [[_word(tree.columns[w]) for w in numbers] for _, numbers in tokens]
    paths = list(map(_best_path, repeat(lattice), lattice.tokens, words))
    with_forms = np.array([path is not None for path in paths])
    with_upos = np.array(
        [
            path is not None
            and [lattice.upos[arc] for arc in path] == [word.upos for word in gold_words]
            for path, gold_words in zip(paths, words, strict=True)
        ]
    )
    if not with_forms.all():
        lattice = _infused(
            lattice,
            [
                gold_words if path is None else None
                for path, gold_words in zip(paths, words, strict=True)
            ],
        )
        paths = list(map(_best_path, repeat(lattice), lattice.tokens, words))
    arcs = np.array([arc for path in paths for arc in path or []], np.int32)
    forms = [(token.form, form) for token, (form, _) in zip(lattice.tokens, tokens, strict=True)]
    differing = [(ours, other) for ours, other in forms if ours != other]
    return GoldPath(
        lattice, arcs, _path_sentence(lattice, arcs, tree), with_forms, with_upos, differing
    )


def _path_sentence(lattice: Lattice, arcs: np.ndarray, tree: RawSentence) -> Sentence:
    """Return the words of a path, with heads and relations of the tree."""
    numbers, lengths = arcs.tolist(), lattice.lengths
    return Sentence(
        forms=[lattice.forms[number] for number in numbers],
        lemmas=[lattice.lemmas[number] for number in numbers],
        upos=[lattice.upos[number] for number in numbers],
        xpos=[lattice.xpos[number] for number in numbers],
        feats=[lattice.feats[number] for number in numbers],
        heads=tree.heads(),
        deprels=tree.column(DEPREL),
        where=lattice.where,
        lengths=[lengths[number] for number in numbers],
    )


def _word(columns: Sequence[str]) -> Arc:
    """Return a gold word as an arc without nodes."""
    return Arc(0, 0, *(columns[c] for c in (FORM, LEMMA, UPOS, XPOS, FEATS)))


def _best_path(lattice: Lattice, token: SurfaceToken, words: Sequence[Arc]) -> list[int] | None:
    """Return arcs of a token with the words' forms and the most of their UPOS, then FEATS;
    None if there are none.
    """
    numbers = lattice.token_arcs(token)
    # By node and number of words read: the best agreement so far, and its arcs.
    best: dict[tuple[int, int], tuple[tuple[int, int], list[int]]] = {
        (token.start, 0): ((0, 0), [])
    }
    for number in numbers:  # in the order of their start nodes: all paths to a start node are known
        start, end = int(lattice.starts[number]), int(lattice.ends[number])
        for done, word in enumerate(words):
            if lattice.forms[number] != word.form or (start, done) not in best:
                continue
            (upos, feats), path = best[start, done]
            agreement = (
                upos + (lattice.upos[number] == word.upos),
                feats + (lattice.feats[number] == word.feats),
            )
            if (end, done + 1) not in best or agreement > best[end, done + 1][0]:
                best[end, done + 1] = agreement, [*path, number]
    entry = best.get((token.end, len(words)))
    return None if entry is None else entry[1]


def _infused(lattice: Lattice, missing: Sequence[Sequence[Arc] | None]) -> Lattice:
    """Return the lattice with missing words as arcs; ``missing`` has the words of each token, or
    None.
    """
    moved = np.zeros(lattice.last_node + 1, np.int32)  # by how much the number of each node grows
    tokens, arcs, grown = [], [], 0
    for token, words in zip(lattice.tokens, missing, strict=True):
        start = token.start + grown
        moved[token.start : token.end] = grown
        if words is not None:
            grown += max(0, len(words) - (token.end - token.start))
        end = token.end + grown
        tokens.append(token._replace(start=start, end=end))
        for place, word in enumerate(words or []):
            last = place + 1 == len(words or [])
            arcs.append(word._replace(start=start + place, end=end if last else start + place + 1))
    moved[lattice.last_node] = grown
    old = [
        arc._replace(start=arc.start + int(moved[arc.start]), end=arc.end + int(moved[arc.end]))
        for arc in lattice.arcs
    ]
    return Lattice.of([*old, *arcs], tokens, lattice.comments, lattice.where, lattice.sent_id)


def gold_paths(
    lattices: Sequence[Lattice],
    trees: Sequence[RawSentence],
    gold: MissingPath = MissingPath.INFUSED,
) -> tuple[list[GoldPath], GoldPathCounts]:
    """Return the gold paths of a file, and their counts.

    Raises:
        ConlluError: lattices and trees have different tokens. (A few forms may differ: in the
            Hebrew lattices, numbers are written backwards.)
    """
    paths, counts, first = [], GoldPathCounts(), ""
    for lattice, tree in joined(lattices, trees):
        path = gold_path(lattice, tree)
        counts.add(path)
        if path.differing and not first:
            first = "{}: the token {!r} is {!r} in the tree ({})".format(
                lattice.where, *path.differing[0], tree.place()
            )
        if gold is MissingPath.INFUSED or path.with_forms.all():
            paths.append(path)
    if counts.tokens_differing > _MOST_DIFFERING * counts.tokens:
        raise LatticeError(
            f"{first}, and {counts.tokens_differing:,} of {counts.tokens:,} tokens differ; "
            "name files of the same text"
        )
    if not paths:
        raise ConlluError("no sentence has a gold path; choose gold=infused, or other lattices")
    return paths, counts
