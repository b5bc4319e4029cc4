"""The vocabularies of a model: for all that it reads and predicts of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.attributes import TREEBANK, AttributeColumns
from parser.data.lemmas import Lemmas, tokens_of
from parser.data.parts import PARTS
from parser.data.parts.attributes import Attributes
from parser.data.parts.part import WordPart
from parser.data.sentences import Sentences
from parser.data.similar import (
    SimilarQuotes,
    SimilarVocabulary,
    attribute_vocabulary,
    looks_up_similar,
)
from parser.data.spelling import ColumnSpelling, Spelling
from parser.data.tag_sets import TagSets
from parser.data.tasks import TASKS
from parser.data.tasks.lemmas import LemmaTask
from parser.data.tasks.tags import TagTask
from parser.data.tasks.task import Task
from parser.data.vocabulary import Elements, SetVocabulary, Vocabulary
from parser.model_folder import Contents, check_written
from parser.stored_values import checked

# The first keys of vocabularies.json.
_ORDER = ("attributes", "relations", "characters", "tags", "tag_sets", "lemmas")


_Kind = TypeVar("_Kind", bound=Task)


class Vocabularies:
    """The values that a model reads and predicts of words.

    Args:
        by_attribute: the vocabularies of attributes, in a fixed order.
        parts: further parts of words that an encoder reads.
        tasks: what an encoder predicts, in the order of TASKS.
        treebank: in a model of several treebanks, the treebank of sentences without one; None: the
            first one.

    Attributes:
        by_attribute: as passed.
        parts: all parts, the attributes first, and parts that read whole sentences last.
        tasks: as passed, a list.
    """

    def __init__(
        self,
        by_attribute: dict[str, Vocabulary],
        parts: Sequence[WordPart] = (),
        tasks: Sequence[Task] = (),
        treebank: str | None = None,
    ) -> None:
        self.by_attribute, self.tasks = by_attribute, list(tasks)
        self._attributes = Attributes(
            by_attribute, next(iter(self.treebanks), "") if treebank is None else treebank
        )
        self.parts: list[WordPart] = [
            self._attributes,
            *sorted(parts, key=lambda part: part.in_sentences),
        ]
        self._spelled = ColumnSpelling(by_attribute)
        self._spelled_for_lemmas = Spelling(self._forms_with_lemmas)

    @property
    def treebanks(self) -> list[str]:
        """The names of the model's treebanks; empty if there is only one."""
        return self.by_attribute[TREEBANK].symbols if TREEBANK in self.by_attribute else []

    @property
    def treebank(self) -> str | None:
        """The treebank that sentences are encoded as; None if the model has only one."""
        return self._attributes.treebank if self.treebanks else None

    def for_treebank(self, name: str) -> Vocabularies:
        """Return the same vocabularies for sentences of another treebank."""
        return Vocabularies(self.by_attribute, self.parts[1:], self.tasks, name)

    def task(self, kind: type[_Kind]) -> _Kind | None:
        """Return the task of this kind; None if the model does not have it."""
        return next((task for task in self.tasks if isinstance(task, kind)), None)

    @property
    def columns(self) -> dict[str, Vocabulary]:
        """The values of each column that the tasks choose among."""
        return {
            column: vocabulary for task in self.tasks for column, vocabulary in task.columns.items()
        }

    @property
    def tags(self) -> Mapping[str, Vocabulary]:
        """The values of each column that a tagger predicts (upos, xpos, feats); input need not have
        them.
        """
        return {} if (task := self.task(TagTask)) is None else task.columns

    @property
    def lemmas(self) -> Lemmas | None:
        """The known lemmas and rules, if lemmas are predicted."""
        return None if (task := self.task(LemmaTask)) is None else task.lemmas

    @property
    def tag_sets(self) -> TagSets:
        """The tags that words had together in training; of an older model,
        those of forms with several lemmas.
        """
        if (tagger := self.task(TagTask)) is not None and tagger.sets is not None:
            return tagger.sets
        if self.lemmas is None or self.lemmas.columns != [*self.tags]:
            return TagSets([*self.tags], [], [])
        forms = sorted(
            ((tags, len(lemmas)) for tags, lemmas in self.lemmas.seen.items() if tags),
            key=lambda pair: -pair[1],
        )
        return TagSets.of_values(
            [tags for tags, _ in forms], self.tags, [number for _, number in forms]
        )

    @property
    def similar(self) -> bool:
        """Whether unknown forms count as similar known ones."""
        return any(
            isinstance(vocabulary, SimilarVocabulary) for vocabulary in self.by_attribute.values()
        )

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes, in the order of ``Sentences.values``."""
        return list(self.by_attribute)

    @property
    def n_rows(self) -> int:
        """The number of rows of ``Sentences.values``."""
        return sum(part.rows for part in self.parts)

    @property
    def placed(self) -> Iterator[tuple[WordPart, slice]]:
        """The parts, and the rows of each."""
        first = 0
        for part in self.parts:
            yield part, slice(first, first + part.rows)
            first += part.rows

    @property
    def tables(self) -> dict[str, int]:
        """The number of rows of each table of vectors that an encoder reads, by the table's
        name.
        """
        return {name: rows for part in self.parts for name, rows in part.tables().items()}

    @property
    def elements(self) -> dict[str, Elements]:
        """The elements of attributes whose values are sets."""
        return {
            name: vocabulary.elements
            for name, vocabulary in self.by_attribute.items()
            if isinstance(vocabulary, SetVocabulary)
        }

    @property
    def predicted(self) -> list[str]:
        """The names of the tasks' predictions: keys of PREDICTED for tags and lemmas, the task's
        own names for other predictions.
        """
        return [name for task in self.tasks for name in task.predicted]

    def for_column(self, column: str) -> tuple[Vocabularies, np.ndarray]:
        """Return the vocabularies of the parts that read only one column.

        Args:
            column: an attribute of AttributeColumns.

        Returns:
            The vocabularies, and int64[rows]: the numbers of their rows among all rows of
            ``Sentences.values``, followed by ``Sentences.unseen``.
        """
        attributes = self._attributes.for_column(column)
        rows = [row for row, name in enumerate(self.by_attribute) if name in attributes]
        unseen = [
            self.n_rows + number
            for number, name in enumerate(self._attributes.sets)
            if name in attributes
        ]
        further = [(part, place) for part, place in [*self.placed][1:] if part.column == column]
        places = [row for _, place in further for row in range(place.start, place.stop)]
        vocabularies = Vocabularies(
            attributes, [part for part, _ in further], treebank=self._attributes.treebank
        )
        return vocabularies, np.array([*rows, *places, *unseen], np.int64)

    def encode(self, sentences: Sequence[AttributeColumns]) -> Sentences:
        """Encode the words of the sentences; unknown values become UNKNOWN (unknown_counts() counts
        them).

        Forms and lemmas are looked up in NFC, see spelling.py.
        """
        sentences, offsets = self._spelled(sentences), _offsets(sentences)
        values = np.empty((self.n_rows + len(self._attributes.sets), offsets[-1]), np.int32)
        for part, rows in self.placed:
            values[rows] = part.encode(sentences)
        for row, unseen in zip(
            values[self.n_rows :], self._attributes.unseen(sentences), strict=True
        ):
            row[:] = unseen
        return Sentences(values[: self.n_rows], offsets, unseen=values[self.n_rows :])

    def tokens_to_lemmatize(self, sentences: Iterable[Sequence[str]]) -> list[str]:
        """Return the forms of the tokens of sentences as lemmas are predicted from them;
        see tokens_of().

        They are in NFC. A form without a known lemma gets the quotes of a similar form that has
        one. If there is no such form, it gets quotes that occur in forms with lemmas.
        """
        tokens = tokens_of(map(self._spelled_for_lemmas, sentences))
        return tokens if self.lemmas is None else [*map(self._with_known_lemmas.spelled, tokens)]

    @cached_property
    def _with_known_lemmas(self) -> SimilarQuotes:
        assert self.lemmas is not None, "the vocabularies have lemmas"
        return SimilarQuotes({form: None for forms in self.lemmas.seen.values() for form in forms})

    def _forms_with_lemmas(self) -> Iterator[str]:
        yield from self._spelled.known_forms()
        for forms in self.lemmas.seen.values() if self.lemmas is not None else ():
            yield from forms

    def unknown_counts(
        self, sentences: Sentences, places: Sequence[int] | slice = slice(None)
    ) -> dict[str, int]:
        """Return, for each attribute, how many tokens have a value unseen in training; see
        Attributes.
        """
        return self._attributes.unknown_counts(sentences, places)

    def described(self, relations: Vocabulary) -> dict[str, Any]:
        """Return the content of vocabularies.json, including the relations."""
        content: dict[str, Any] = {"relations": relations.symbols}
        for part in self.parts:
            content |= part.described()
        for task in self.tasks:
            content |= task.described()
        return {name: content[name] for name in (*_ORDER, *content) if name in content}

    @classmethod
    def read(cls, contents: Contents) -> tuple[Vocabularies, Vocabulary]:
        """Return the vocabularies of a model's folder, and the relations.

        Raises:
            ModelError: a part is missing or damaged.
            SubwordError, PretrainedError: a package or file that a part needs is missing.
        """
        encoder = None if contents.spec is None else contents.spec.encoder
        parts = (
            [part for kind in PARTS if (part := kind.read(contents)) is not None]
            if encoder is not None
            else []
        )
        content = contents.vocabularies
        with contents.errors_in_vocabularies():
            named = checked(content["attributes"], dict[str, list[str]], "attributes")
            symbols = checked(content["relations"], list[str], "relations")
            for relation in symbols:
                check_written("relation", relation)
            relations, tasks = Vocabulary(symbols), list[Task]()
            for kind in TASKS:
                if (task := kind.read(contents, relations, tasks)) is not None:
                    tasks.append(task)
            similar = looks_up_similar(content)
            by_attribute = {
                name: attribute_vocabulary(name, symbols, similar)
                for name, symbols in named.items()
            }
        read = cls(by_attribute, parts, tasks)
        if (treebank := contents.settings.get("treebank")) is not None:
            with contents.errors_in_settings():
                checked(treebank, str, "treebank")
                if treebank not in read.treebanks:
                    raise OptimalStepError(
                        f"its treebank is {treebank!r}, and the model knows "
                        f"{', '.join(read.treebanks) or 'none by name'}"
                    )
            read = read.for_treebank(treebank)
        return read, relations


def _offsets(sentences: Sequence[AttributeColumns]) -> np.ndarray:
    """Return int64[sentences + 1], where the sentences begin, each with its root."""
    offsets = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum(
        np.array([len(sentence.forms) + 1 for sentence in sentences], np.int64), out=offsets[1:]
    )
    return offsets
