"""The tags that words had together in training, so that predicted tags fit given ones.

A tagger predicts each column by itself: for *the felt* its XPOS is VBD even where UPOS is given as
NOUN. No word in training had both. So where a tag is given, the predicted ones are the most
probable of those that some word in training had with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.attributes import AttributeColumns
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.stored_values import checked

# Instead of the number of a given value: no value is given; the value was never seen in training.
NOT_GIVEN, NEVER_SEEN = -1, -2

# Added to the score of a value that has been decided on: the softmax gives it all probability.
_CERTAIN = np.float32(1e4)

# From an older model's folder, only some sets are known. Then a predicted value does not fit the
# given ones if no known set has both, although at least this many forms would have both by chance.
# Of 0.5, 3 and 10, 10 gives the best XPOS and FEATS on the dev parts of the shipped models.
_EXPECTED = 10


class TagSets:
    """The sets of tags that words had in training, one value of each predicted column.

    Args:
        columns: the predicted columns.
        sets: the numbers of the values in each set, in the order of the columns;
            the most frequent set first.
        forms: None if these are all sets of training. If training had more sets,
            the number of forms that had each of these.
        feats: if ``forms`` are given, int[values of feats], the same number for values that are
            taken to be in the same sets.

    Attributes:
        columns: as passed.
        sets: int32[sets, columns].
        complete: whether these are all sets of training.
    """

    def __init__(
        self,
        columns: Sequence[str],
        sets: Iterable[Sequence[int]],
        forms: Sequence[int] | None = None,
        feats: np.ndarray | None = None,
    ) -> None:
        self.columns, self.complete = list(columns), forms is None
        self.sets = np.array([*sets], np.int32).reshape(-1, len(self.columns))
        self._known = {*map(tuple, self.sets.tolist())}
        self._forms = np.ones(len(self.sets)) if forms is None else np.array(forms, np.float64)
        # ``_alike`` has, for some columns, a number for each value, the same for values that are
        # taken to be in the same sets. ``_kinds`` has, for each column, int[sets]: these numbers if
        # the column has them, otherwise the values themselves.
        self._alike = {"feats": feats} if feats is not None else {}
        self._kinds = [self._kind(c, values) for c, values in enumerate(self.sets.T)]
        self._fitting = cache(self._find_fitting)

    @classmethod
    def of(cls, sentences: Iterable[AttributeColumns], tags: Mapping[str, Vocabulary]) -> TagSets:
        """Return the sets in a treebank; ``tags`` has the values of each column."""
        counts: Counter[tuple[str, ...]] = Counter()
        for sentence in sentences:
            counts.update(zip(*(getattr(sentence, column) for column in tags), strict=True))
        return cls.of_values([values for values, _ in counts.most_common()], tags)

    @classmethod
    def of_values(
        cls,
        sets: Sequence[Sequence[str]],
        tags: Mapping[str, Vocabulary],
        forms: Sequence[int] | None = None,
    ) -> TagSets:
        """Return sets given by their values; sets with an unknown value are left out.

        Args:
            tags: the values of each column.
            forms: see the class; then FEATS with the same attributes are taken to be in the same
                sets.
        """
        columns = [
            numbers_of(values, vocabulary)
            for values, vocabulary in zip(zip(*sets, strict=True), tags.values(), strict=False)
        ]
        numbered = np.array(columns, np.int32).reshape(len(tags), -1).T
        is_known = (numbered >= 0).all(axis=1)
        if forms is None:
            return cls([*tags], numbered[is_known].tolist())
        feats = _kinds_of_feats(tags["feats"].symbols) if "feats" in tags else None
        return cls([*tags], numbered[is_known].tolist(), np.array(forms)[is_known].tolist(), feats)

    @classmethod
    def read(cls, content: Any, tags: Mapping[str, Vocabulary]) -> TagSets:
        """Read what described() returned; ``tags`` has the values of each column.

        Raises:
            TypeError, ValueError: something is invalid.
        """
        stored = checked(content, list[list[int]], "tag_sets")
        for numbers in stored:
            if len(numbers) != len(tags):
                raise OptimalStepError(
                    f"a set of tag_sets has {len(numbers)} values for {len(tags)} columns"
                )
            for value, vocabulary in zip(numbers, tags.values(), strict=True):
                if not 0 <= value < len(vocabulary.symbols):
                    raise OptimalStepError(
                        f"tag_sets has the value {value}, and its column has "
                        f"{len(vocabulary.symbols)} values"
                    )
        return cls([*tags], stored)

    def described(self) -> list[list[int]]:
        """Return the part of vocabularies.json."""
        numbers: list[list[int]] = self.sets.tolist()
        return numbers

    def extended(self, new: TagSets) -> TagSets:
        """Return these sets and new ones, which number the values in the same way;
        both are complete.
        """
        return TagSets(
            self.columns,
            dict.fromkeys([*map(tuple, self.sets.tolist()), *map(tuple, new.sets.tolist())]),
        )

    def settled(
        self, scores: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray]
    ) -> Mapping[str, np.ndarray]:
        """Return scores in which given values, and the best values that fit them, are certain;
        the scores of other words are unchanged.

        A word keeps its predicted values if each of them occurred with the given ones. If nothing
        occurred with the given ones, as for a new UPOS, the scores decide alone.

        Args:
            scores: for each column, float32[tokens, values].
            given: for each column, int32[tokens], the number of the given value, NOT_GIVEN or
                NEVER_SEEN.

        Returns:
            ``scores`` itself if the given values change nothing.
        """
        predicted = np.stack([scores[column].argmax(axis=1) for column in self.columns]).astype(
            np.int32
        )
        nothing = np.full(predicted.shape[1], NOT_GIVEN, np.int32)
        wanted = np.stack([given.get(column, nothing) for column in self.columns])
        chosen = np.where(wanted >= 0, wanted, predicted)
        for token in np.flatnonzero((wanted >= 0).any(axis=0)).tolist():
            values = chosen[:, token].tolist()
            if tuple(values) in self._known:
                continue
            fitting = self._fitting(tuple(wanted[:, token].tolist()))
            free = np.flatnonzero(wanted[:, token] == NOT_GIVEN).tolist()
            as_given = bool((wanted[:, token] == predicted[:, token])[wanted[:, token] >= 0].all())
            if len(fitting) and not all(self._fits(c, values[c], fitting, as_given) for c in free):
                totals = sum(scores[self.columns[c]][token, self.sets[fitting, c]] for c in free)
                chosen[free, token] = self.sets[fitting[int(np.argmax(totals))], free]
        changed = np.flatnonzero((chosen != predicted).any(axis=0))
        if not len(changed):
            return scores
        new_scores = {column: column_scores.copy() for column, column_scores in scores.items()}
        for column, numbers in zip(self.columns, chosen, strict=True):
            column_scores = new_scores[column]
            column_scores[changed, numbers[changed]] = column_scores[changed].max(axis=1) + _CERTAIN
        return new_scores

    def _kind(self, column: int, values: np.ndarray) -> np.ndarray:
        alike = self._alike.get(self.columns[column])
        return values if alike is None else alike[values]

    def _fits(self, column: int, value: int, fitting: np.ndarray, as_given: bool) -> bool:
        """Return whether a predicted value occurs in one of the ``fitting`` sets.

        If all sets of training are known, each value occurs in some of them. If only some sets are
        known, a value fits in two more cases. It occurs in none of the known sets; or the given
        tags were predicted with it (``as_given``), and not many forms would have both by chance.
        """
        has_value = self._kinds[column] == self._kind(column, np.array(value))
        if has_value[fitting].any() or not has_value.any():
            return True
        expected = self._forms[has_value].sum() * self._forms[fitting].sum() / self._forms.sum()
        return not self.complete and as_given and bool(expected < _EXPECTED)

    def _find_fitting(self, wanted: tuple[int, ...]) -> np.ndarray:
        """Return the places of the sets with all given values; if there are none,
        of those with the given UPOS, if any.
        """
        only_upos = [
            value if column == "upos" else NOT_GIVEN
            for column, value in zip(self.columns, wanted, strict=True)
        ]
        fitting = np.empty(0, np.int64)
        for values in (wanted, only_upos):
            if not len(fitting) and max(values) >= 0:
                fits = [
                    self.sets[:, c] == value for c, value in enumerate(values) if value != NOT_GIVEN
                ]
                fitting = np.flatnonzero(np.logical_and.reduce(fits))
        return fitting


def numbers_of(values: Sequence[str], known: Vocabulary) -> np.ndarray:
    """Return the numbers of given values, int32[n], for TagSets.settled();
    an empty value is NOT_GIVEN.
    """
    numbers = np.array(known.encode_exactly(values), np.int32) - N_RESERVED
    return np.where(
        numbers >= 0, numbers, [NEVER_SEEN if value else NOT_GIVEN for value in values]
    ).astype(np.int32)


def _kinds_of_feats(values: Sequence[str]) -> np.ndarray:
    """Return int[values], the same number for FEATS with the same attributes."""
    numbers: dict[tuple[str, ...], int] = {}
    attributes = [
        tuple(feature.partition("=")[0] for feature in value.split("|")) for value in values
    ]
    return np.array([numbers.setdefault(names, len(numbers)) for names in attributes])
