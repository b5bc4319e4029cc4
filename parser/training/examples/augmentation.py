"""Training sentences in other ways that people write: in capitals, in lower case, with other
quotes, without the final mark.

Each epoch learns from all sentences as they are, and from changed copies of some, drawn for each
epoch (as in spaCy). Heads, relations and tags stay; the tagger and the characters see the changed
forms. Lemmas are learned separately, from the sentences as they are.

Copies follow the sentences in ``TrainingSentences``, each with its own tree and its own examples.
``active`` says which copies an epoch learns from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from parser.data.changed_text import (
    FormChange,
    in_capitals,
    in_lower_case,
    other_quotes,
    without_final_mark,
)
from parser.data.treebank import Sentence
from parser.data.vocabularies import Vocabularies
from parser.training.examples.examples import TrainingSentences

_CHANGES: dict[str, FormChange] = {
    "capitals": in_capitals,
    "lower": in_lower_case,
    "quotes": other_quotes,
}


def copies_of(
    sentences: Sequence[Sentence], shares: Mapping[str, float]
) -> tuple[list[Sentence], list[Sentence]]:
    """Return two lists of copies that epochs learn from: copies of all sentences, to be changed,
    and copies without final marks. A list is empty if its ``shares`` are 0.
    """
    changed = [*sentences] if any(shares.get(name, 0.0) for name in _CHANGES) else []
    short = (
        [copy for sentence in sentences if (copy := without_final_mark(sentence))]
        if shares.get("unfinished", 0.0)
        else []
    )
    return changed, short


class Augmentation:
    """Draws the copies of an epoch. They depend only on the seed and the number of the epoch, so
    that a resumed run draws the same.

    Args:
        shares: the share of the sentences for each name in AUGMENTS; missing ones are 0.
        data: the sentences; then, if any share of a change is not 0, a copy of each; then copies
            without final marks.
        sentences: the sentences as read, without copies.
        vocabularies: they encode the copies.
        seed: the seed of the run, and the pass.
    """

    def __init__(
        self,
        shares: Mapping[str, float],
        data: TrainingSentences,
        sentences: Sequence[Sentence],
        vocabularies: Vocabularies,
        seed: Sequence[int],
    ) -> None:
        self._shares, self._data, self._sentences = shares, data, sentences
        self._vocabularies, self._seed = vocabularies, [*seed]

    def of(self, epoch: int) -> TrainingSentences:
        """Return the sentences of an epoch, with its changed copies;
        ``active`` marks those that it learns from.
        """
        generator = np.random.default_rng([*self._seed, epoch])
        data = self._data
        n = len(self._sentences)
        drawn, below = generator.random(len(data)), 0.0
        active = np.zeros(len(data), np.bool_)
        active[:n] = True
        values = data.sentences.values.copy()
        for name, change in _CHANGES.items():
            share = self._shares.get(name, 0.0)
            numbers = n + np.flatnonzero(
                (below <= drawn[n : 2 * n]) & (drawn[n : 2 * n] < below + share)
            )
            below += share
            changed = [
                replace(sentence, forms=change(sentence.forms))
                for sentence in (self._sentences[i - n] for i in numbers.tolist())
            ]
            if changed:
                active[numbers] = True
                values[:, data.sentences.places(numbers)] = self._vocabularies.encode(
                    changed
                ).values
        short = slice(2 * n if below else n, None)
        active[short] = drawn[short] < self._shares.get("unfinished", 0.0)
        return replace(data, sentences=replace(data.sentences, values=values), active=active)
