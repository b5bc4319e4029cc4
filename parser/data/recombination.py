"""New sentences made from those of a treebank: subtrees of one kind take each other's place (Dehouck and Gómez-Rodríguez 2020).

A subtree may stand where another one stood if its top has the same relation (subtypes left out), UPOS and FEATS, and if both
are stretches of words without gaps. So the new sentences are as grammatical as agreement and word order allow, if not always
sensible. They are text for a parser with an encoder to parse, and its trees are what another parser learns from it
(parser/training/examples/teacher.py): of the treebank's own sentences, which it has learned by heart, the encoder has little to
tell.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from parser.data.treebank import Sentence

# Of a sentence, the share of its words that a subtree may have at most.
_LARGEST = 0.6


class _Kind(NamedTuple):
    """What the tops of subtrees that may take each other's place have in common."""

    relation: str
    upos: str
    feats: str


@dataclass(frozen=True)
class _Subtree:
    """The words ``first`` to ``last`` of sentence number ``sentence``, under the word ``top``, all counted from 1."""

    sentence: int
    top: int
    first: int
    last: int

    def meets(self, other: _Subtree) -> bool:
        """Whether they have words in common, if they are of one sentence."""
        return self.first <= other.last and other.first <= self.last


def recombine(sentences: Sequence[Sentence], copies: int, share: float, seed: int) -> Iterator[Sentence]:
    """New sentences, ``copies`` of each; other words than those of their subtrees stay, and so do all relations to tops.

    Args:
        sentences: those of a treebank.
        copies: new sentences for each.
        share: how probable it is that a subtree is replaced, if no other that it meets has been.
        seed: of the choices.
    """
    choices = random.Random(seed)
    subtrees = [list(_subtrees(number, sentence)) for number, sentence in enumerate(sentences)]
    of_kind: dict[_Kind, list[_Subtree]] = defaultdict(list)
    for of_sentence, sentence in zip(subtrees, sentences, strict=True):
        for subtree in of_sentence:
            of_kind[_kind(sentence, subtree)].append(subtree)
    for _ in range(copies):
        for number, sentence in enumerate(sentences):
            order = choices.sample(subtrees[number], len(subtrees[number]))
            replaced: dict[int, tuple[_Subtree, _Subtree]] = {}  # by first word, the subtree and what stands there instead
            for subtree in order:
                if choices.random() >= share or any(subtree.meets(other) for other, _ in replaced.values()):
                    continue
                other = choices.choice(of_kind[_kind(sentence, subtree)])
                if other.sentence != number:
                    replaced[subtree.first] = subtree, other
            yield _with(sentence, replaced, sentences)


def _kind(sentence: Sentence, subtree: _Subtree) -> _Kind:
    top = subtree.top - 1
    return _Kind(sentence.deprels[top].partition(":")[0], sentence.upos[top], sentence.feats[top])


def _subtrees(number: int, sentence: Sentence) -> Iterator[_Subtree]:
    """Those that may be replaced: without gaps, not under the root, and not too large."""
    n = len(sentence)
    first, last, size = list(range(n + 1)), list(range(n + 1)), [1] * (n + 1)
    for word in _from_below(sentence.heads):
        head = sentence.heads[word - 1]
        first[head], last[head] = min(first[head], first[word]), max(last[head], last[word])
        size[head] += size[word]
    for top in range(1, n + 1):
        whole = last[top] - first[top] + 1 == size[top]
        if whole and sentence.heads[top - 1] != 0 and size[top] <= _LARGEST * n:
            yield _Subtree(number, top, first[top], last[top])


def _from_below(heads: Sequence[int]) -> list[int]:
    """The words, each after all that are under it."""
    children: dict[int, list[int]] = defaultdict(list)
    for word, head in enumerate(heads, 1):
        children[head].append(word)
    order = [0]
    for word in order:
        order += children[word]
    return order[:0:-1]


def _with(sentence: Sentence, replaced: dict[int, tuple[_Subtree, _Subtree]], sentences: Sequence[Sentence]) -> Sentence:
    """The sentence with other subtrees in place of some."""
    words: list[tuple[Sentence, int]] = []  # of the new sentence: where each comes from
    places: dict[tuple[int, int], int] = {}  # where the words of the sentence (0) and of each subtree (its first word) now are
    instead: dict[tuple[int, int], int] = {}  # for the top of a subtree that is new, the one that stood there
    word = 1
    while word <= len(sentence):
        if word not in replaced:
            words.append((sentence, word))
            places[0, word] = len(words)
            word += 1
            continue
        subtree, other = replaced[word]
        instead[word, other.top] = subtree.top
        for of_other in range(other.first, other.last + 1):
            words.append((sentences[other.sentence], of_other))
            places[word, of_other] = len(words)
        word = subtree.last + 1
    heads, deprels = [0] * len(words), [""] * len(words)
    for (group, number), place in places.items():
        source = words[place - 1][0]
        top = instead.get((group, number))
        if top is not None:  # what was the head of the subtree's top is the head of this one
            source, group, number = sentence, 0, top
        deprels[place - 1] = source.deprels[number - 1]
        head = source.heads[number - 1]
        heads[place - 1] = 0 if head == 0 else places[group, head]
    columns: dict[str, Any] = {
        name: [getattr(source, name)[number - 1] for source, number in words]
        for name in ("forms", "lemmas", "upos", "xpos", "feats")
    }
    return replace(sentence, **columns, heads=heads, deprels=deprels)
