"""New sentences made from those of a treebank: subtrees of the same kind are swapped (Dehouck and Gómez-Rodríguez 2020).

A subtree may replace another one if both tops have the same relation (without subtypes), UPOS and FEATS, and both cover words
without gaps. So the new sentences are as grammatical as agreement and word order allow, but not always sensible. A parser with
an encoder parses them, and another parser learns from its trees (parser/training/examples/teacher.py). On the treebank's own
sentences, which the encoder has memorized, it has little to teach.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from parser.data.treebank import Sentence

# The largest share of a sentence's words that a subtree may have.
_LARGEST = 0.6


class _Kind(NamedTuple):
    """What the tops of subtrees that may replace each other have in common."""

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
        """Return whether two subtrees of one sentence share words."""
        return self.first <= other.last and other.first <= self.last


def recombine(sentences: Sequence[Sentence], copies: int, share: float, seed: int) -> Iterator[Sentence]:
    """Yield ``copies`` new sentences of each sentence; words outside replaced subtrees and relations to tops stay.

    Args:
        sentences: the sentences of a treebank.
        copies: how many new sentences are made of each.
        share: the probability that a subtree is replaced, unless it shares words with a replaced one.
        seed: the seed of the random choices.
    """
    choices = random.Random(seed)
    subtrees = [list(_subtrees(number, sentence)) for number, sentence in enumerate(sentences)]
    by_kind: dict[_Kind, list[_Subtree]] = defaultdict(list)
    for own, sentence in zip(subtrees, sentences, strict=True):
        for subtree in own:
            by_kind[_kind(sentence, subtree)].append(subtree)
    for _ in range(copies):
        for number, sentence in enumerate(sentences):
            order = choices.sample(subtrees[number], len(subtrees[number]))
            replaced: dict[int, tuple[_Subtree, _Subtree]] = {}  # by first word, the subtree and its replacement
            for subtree in order:
                if choices.random() >= share or any(subtree.meets(other) for other, _ in replaced.values()):
                    continue
                other = choices.choice(by_kind[_kind(sentence, subtree)])
                if other.sentence != number:
                    replaced[subtree.first] = subtree, other
            yield _with(sentence, replaced, sentences)


def _kind(sentence: Sentence, subtree: _Subtree) -> _Kind:
    top = subtree.top - 1
    return _Kind(sentence.deprels[top].partition(":")[0], sentence.upos[top], sentence.feats[top])


def _subtrees(number: int, sentence: Sentence) -> Iterator[_Subtree]:
    """Yield the subtrees that may be replaced: without gaps, not under the root, and not too large."""
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
    """Return the words, each after all its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for word, head in enumerate(heads, 1):
        children[head].append(word)
    order = [0]
    for word in order:
        order += children[word]
    return order[:0:-1]


def _with(sentence: Sentence, replaced: dict[int, tuple[_Subtree, _Subtree]], sentences: Sequence[Sentence]) -> Sentence:
    """Return the sentence with some subtrees replaced."""
    words: list[tuple[Sentence, int]] = []  # the source of each word of the new sentence
    places: dict[tuple[int, int], int] = {}  # the new places of the sentence's words (0) and of each subtree's (its first word)
    instead: dict[tuple[int, int], int] = {}  # by top of a new subtree, the top that it replaces
    word = 1
    while word <= len(sentence):
        if word not in replaced:
            words.append((sentence, word))
            places[0, word] = len(words)
            word += 1
            continue
        subtree, other = replaced[word]
        instead[word, other.top] = subtree.top
        for new in range(other.first, other.last + 1):
            words.append((sentences[other.sentence], new))
            places[word, new] = len(words)
        word = subtree.last + 1
    heads, deprels = [0] * len(words), [""] * len(words)
    for (group, number), place in places.items():
        source = words[place - 1][0]
        top = instead.get((group, number))
        if top is not None:  # the new top takes the head of the old one
            source, group, number = sentence, 0, top
        deprels[place - 1] = source.deprels[number - 1]
        head = source.heads[number - 1]
        heads[place - 1] = 0 if head == 0 else places[group, head]
    columns: dict[str, Any] = {
        name: [getattr(source, name)[number - 1] for source, number in words]
        for name in ("forms", "lemmas", "upos", "xpos", "feats")
    }
    return replace(sentence, **columns, heads=heads, deprels=deprels)
