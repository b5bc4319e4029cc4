"""The vocabularies of a model: for all that it reads and predicts of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.attributes import TREEBANK, AttributeColumns
from parser.data.lemmas import Lemmas, tokens_of
from parser.data.parts import PARTS
from parser.data.parts.attributes import Attributes
from parser.data.parts.part import WordPart
from parser.data.sentences import Sentences
from parser.data.similar import SimilarQuotes, SimilarVocabulary, attribute_vocabulary, looks_up_similar
from parser.data.spelling import ColumnSpelling, Spelling
from parser.data.tag_sets import TagSets
from parser.data.vocabulary import ROOT, Elements, SetVocabulary, Vocabulary, tag_vocabulary
from parser.model_folder import Contents, check_written, strings
from parser.network_spec import check_type

# The first keys of vocabularies.json.
_ORDER = ("attributes", "relations", "characters", "tags", "tag_sets", "lemmas")


class Vocabularies:
    """What a model reads and predicts of words.

    Args:
        by_attribute: the vocabularies of attributes, in a fixed order.
        parts: further parts of words that an encoder reads.
        tags: by column that a tagger predicts (upos, xpos, feats), its values; input need not have them.
        lemmas: the known lemmas and rules, if lemmas are predicted.
        treebank: in a model of several treebanks, the treebank of sentences without one; None: the first.
        tag_sets: the tags that words had together; None, in older models: what the lemmas say of it.

    Attributes:
        by_attribute, tags, lemmas: as passed.
        parts: all parts, the attributes first, and parts that read whole sentences last.
    """

    def __init__(
        self,
        by_attribute: dict[str, Vocabulary],
        parts: Sequence[WordPart] = (),
        tags: Mapping[str, Vocabulary] | None = None,
        lemmas: Lemmas | None = None,
        treebank: str | None = None,
        tag_sets: TagSets | None = None,
    ) -> None:
        self._tag_sets = tag_sets
        self.by_attribute, self.tags, self.lemmas = by_attribute, dict(tags or {}), lemmas
        self._attributes = Attributes(by_attribute, next(iter(self.treebanks), "") if treebank is None else treebank)
        self.parts: list[WordPart] = [self._attributes, *sorted(parts, key=lambda part: part.in_sentences)]
        self._spelled = ColumnSpelling(by_attribute)
        self._spelled_for_lemmas = Spelling(self._forms_with_lemmas)

    @property
    def treebanks(self) -> list[str]:
        """The names of the model's treebanks; empty if there is only one."""
        return self.by_attribute[TREEBANK].symbols if TREEBANK in self.by_attribute else []

    def for_treebank(self, name: str) -> Vocabularies:
        """Return the same vocabularies for sentences of another treebank."""
        return Vocabularies(self.by_attribute, self.parts[1:], self.tags, self.lemmas, name, self._tag_sets)

    @property
    def tag_sets(self) -> TagSets:
        """The tags that words had together in training; of an older model, those of forms with several lemmas."""
        if self._tag_sets is not None:
            return self._tag_sets
        if self.lemmas is None or self.lemmas.columns != [*self.tags]:
            return TagSets([*self.tags], [], [])
        forms = sorted(((tags, len(own)) for tags, own in self.lemmas.seen.items() if tags), key=lambda one: -one[1])
        return TagSets.of_values([tags for tags, _ in forms], self.tags, [number for _, number in forms])

    @property
    def similar(self) -> bool:
        """Whether unknown forms count as similar known ones."""
        return any(isinstance(known, SimilarVocabulary) for known in self.by_attribute.values())

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
        """By name, the number of rows of each table of vectors that an encoder reads."""
        return {name: rows for part in self.parts for name, rows in part.tables().items()}

    @property
    def elements(self) -> dict[str, Elements]:
        """The elements of attributes whose values are sets."""
        return {name: known.elements for name, known in self.by_attribute.items() if isinstance(known, SetVocabulary)}

    @property
    def predicted(self) -> list[str]:
        """The keys of PREDICTED that the model predicts: tags, and the lemma."""
        return [*self.tags, *([] if self.lemmas is None else ["lemma"])]

    def for_column(self, column: str) -> tuple[Vocabularies, np.ndarray]:
        """Return the vocabularies of the parts that read only one column.

        Args:
            column: an attribute of AttributeColumns.

        Returns:
            The vocabularies, and int64[rows]: the numbers of their rows among all rows of ``Sentences.values``, followed by
            ``Sentences.unseen``.
        """
        attributes = self._attributes.for_column(column)
        rows = [row for row, name in enumerate(self.by_attribute) if name in attributes]
        unseen = [self.n_rows + number for number, name in enumerate(self._attributes.sets) if name in attributes]
        further = [(part, place) for part, place in [*self.placed][1:] if part.column == column]
        places = [row for _, place in further for row in range(place.start, place.stop)]
        found = Vocabularies(attributes, [part for part, _ in further], treebank=self._attributes.treebank)
        return found, np.array([*rows, *places, *unseen], np.int64)

    def encode(self, sentences: Sequence[AttributeColumns]) -> Sentences:
        """Encode the words of the sentences; unknown values become UNKNOWN (unknown_counts() counts them).

        Forms and lemmas are looked up in NFC, see spelling.py.
        """
        sentences, offsets = self._spelled(sentences), _offsets(sentences)
        values = np.empty((self.n_rows + len(self._attributes.sets), offsets[-1]), np.int32)
        for part, rows in self.placed:
            values[rows] = part.encode(sentences)
        for row, unseen in zip(values[self.n_rows :], self._attributes.unseen(sentences), strict=True):
            row[:] = unseen
        return Sentences(values[: self.n_rows], offsets, unseen=values[self.n_rows :])

    def tokens_to_lemmatize(self, sentences: Iterable[Sequence[str]]) -> list[str]:
        """Return the forms of the tokens of sentences as lemmas are predicted from them; see tokens_of().

        They are in NFC. A form whose lemma is unknown gets the quotes of one whose lemma is known, or else those quotes
        that forms with lemmas have.
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

    def unknown_counts(self, sentences: Sentences, places: Sequence[int] | slice = slice(None)) -> dict[str, int]:
        """Return, by attribute, how many tokens have a value that training never saw; see Attributes."""
        return self._attributes.unknown_counts(sentences, places)

    def encode_tags(self, sentences: Sequence[AttributeColumns]) -> np.ndarray:
        """Return int32[tags, total]: the columns that a tagger predicts, ROOT before each sentence, UNKNOWN if unknown."""
        numbers = [
            [number for sentence in sentences for number in (ROOT, *known.encode_exactly(getattr(sentence, column)))]
            for column, known in self.tags.items()
        ]
        return np.array(numbers, np.int32).reshape(len(self.tags), _offsets(sentences)[-1])

    def described(self, relations: Vocabulary) -> dict[str, Any]:
        """Return the content of vocabularies.json, including the relations."""
        found: dict[str, Any] = {"relations": relations.symbols}
        for part in self.parts:
            found |= part.described()
        if self.tags:
            found["tags"] = {column: known.symbols for column, known in self.tags.items()}
        if self._tag_sets is not None:
            found["tag_sets"] = self._tag_sets.described()
        if self.lemmas is not None:
            found["lemmas"] = self.lemmas.described()
        return {name: found[name] for name in (*_ORDER, *found) if name in found}

    @classmethod
    def read(cls, contents: Contents) -> tuple[Vocabularies, Vocabulary]:
        """Return the vocabularies of a model's folder, and the relations.

        Raises:
            ModelError: a part is missing or damaged.
            SubwordError, PretrainedError: a package or file that a part needs is missing.
        """
        encoder = None if contents.spec is None else contents.spec.encoder
        parts = [part for kind in PARTS if (part := kind.read(contents)) is not None] if encoder is not None else []
        found = contents.vocabularies
        with contents.errors_in_vocabularies():
            for group in ("attributes", "tags"):
                check_type(found.get(group, {}), dict, group)
            named = {name: strings(values, f"attributes.{name}") for name, values in found["attributes"].items()}
            values = {f"value of {column}": strings(own, f"tags.{column}") for column, own in found.get("tags", {}).items()}
            values["relation"] = strings(found["relations"], "relations")
            for called, written in values.items():
                for value in written:
                    check_written(called, value)
            tags = {column: tag_vocabulary(column, symbols) for column, symbols in found.get("tags", {}).items()}
            if tags and (encoder is None or encoder.tagger is None):
                raise OptimalStepError("there are tags, but there is no tagger to predict them")
            lemmas = Lemmas.read(found["lemmas"], tags) if "lemmas" in found and not contents.without_lemmas else None
            if lemmas is not None and (encoder is None or encoder.lemmas is None):
                raise OptimalStepError("there are rules for lemmas, but there is nothing to score them")
            tag_sets = TagSets.read(found["tag_sets"], tags) if "tag_sets" in found else None
            similar = looks_up_similar(found)
            by_attribute = {name: attribute_vocabulary(name, symbols, similar) for name, symbols in named.items()}
            return cls(by_attribute, parts, tags, lemmas, tag_sets=tag_sets), Vocabulary(found["relations"])


def _offsets(sentences: Sequence[AttributeColumns]) -> np.ndarray:
    """Return int64[sentences + 1], where the sentences begin, each with its root."""
    offsets = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum(np.array([len(sentence.forms) + 1 for sentence in sentences], np.int64), out=offsets[1:])
    return offsets
