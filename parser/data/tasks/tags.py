"""The tags of words: columns of gold data that a tagger predicts, upos, xpos and feats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oracles.errors import OptimalStepError
from parser.data.attributes import TAGS
from parser.data.parts.part import Labels
from parser.data.tag_sets import TagSets
from parser.data.tasks.task import Task, TaskSource, labels_of_values
from parser.data.vocabulary import Vocabulary, tag_vocabulary
from parser.model_folder import Contents, check_written
from parser.network_spec import ClassifierSpec, Shapes, TaggerSpec
from parser.stored_values import checked


class TagTask(Task):
    """Tags.

    Args:
        columns: the values of each column; at least one column.
        sets: the tags that words had together; None, in older models: not known.
    """

    name = "tagger"

    def __init__(self, columns: Mapping[str, Vocabulary], sets: TagSets | None = None) -> None:
        self._columns, self.sets = columns, sets

    @property
    def columns(self) -> Mapping[str, Vocabulary]:
        return self._columns

    @classmethod
    def new(cls, source: TaskSource) -> TagTask | None:
        """Return the task; columns with a single value are left out."""
        wanted = [column for column in source.wanted.task_weights if column in TAGS]
        values = {
            column: [value for s in source.sentences for value in getattr(s, column)]
            for column in wanted
        }
        symbols = {
            column: Vocabulary.of(column_values).symbols for column, column_values in values.items()
        }
        columns = {
            column: tag_vocabulary(column, column_symbols)
            for column, column_symbols in symbols.items()
            if len(column_symbols) > 1
        }
        return cls(columns, TagSets.of(source.sentences, columns)) if columns else None

    def extended(self, source: TaskSource) -> TagTask:
        columns = {
            column: tag_vocabulary(
                column,
                vocabulary.extended(value for s in source.tagged for value in getattr(s, column)),
            )
            for column, vocabulary in self.columns.items()
        }
        if self.sets is None or not self.sets.complete:
            return TagTask(columns)
        return TagTask(columns, self.sets.extended(TagSets.of(source.sentences, columns)))

    @classmethod
    def weights(cls, settings: Any) -> dict[str, float]:
        """Return the weights by column."""
        return {} if settings is None else dict(settings.weights)

    @classmethod
    def learned_with(cls, columns: Iterable[str]) -> dict[str, Any]:
        return {"weights": dict.fromkeys(columns, 1.0)}

    def layer(self, spec: ClassifierSpec) -> int:
        return _known(spec).layer

    def width(self, spec: ClassifierSpec) -> int:
        return _known(spec).size * len(self.columns)

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        assert spec.encoder is not None, "an encoder predicts tags"
        return _known(spec).shapes(
            spec.encoder.size,
            {column: vocabulary.counts for column, vocabulary in self.columns.items()},
        )

    def labels(self) -> dict[str, Labels]:
        labels: dict[str, Labels] = {
            f"biases.{column}": vocabulary.symbols for column, vocabulary in self.columns.items()
        }
        for column, vocabulary in self.columns.items():
            labels |= labels_of_values(f"outputs.{column}", vocabulary) | labels_of_values(
                f"inputs.{column}", vocabulary
            )
        return labels

    @property
    def symbols(self) -> dict[str, list[str]]:
        return {
            f"tags of {column}": vocabulary.symbols for column, vocabulary in self.columns.items()
        }

    def described(self) -> dict[str, Any]:
        content: dict[str, Any] = {
            "tags": {column: vocabulary.symbols for column, vocabulary in self.columns.items()}
        }
        return content if self.sets is None else content | {"tag_sets": self.sets.described()}

    @classmethod
    def read(
        cls, contents: Contents, relations: Vocabulary, tasks: Sequence[Task]
    ) -> TagTask | None:
        tags = checked(contents.vocabularies.get("tags", {}), dict[str, list[str]], "tags")
        for column, values in tags.items():
            for value in values:
                check_written(f"value of {column}", value)
        columns = {column: tag_vocabulary(column, symbols) for column, symbols in tags.items()}
        if columns and (
            contents.spec is None
            or contents.spec.encoder is None
            or contents.spec.encoder.tagger is None
        ):
            raise OptimalStepError("there are tags, but there is no tagger to predict them")
        named = "tag_sets" in contents.vocabularies
        sets = TagSets.read(contents.vocabularies["tag_sets"], columns) if named else None
        return cls(columns, sets) if columns else None


def _known(spec: ClassifierSpec) -> TaggerSpec:
    assert spec.encoder is not None, "an encoder predicts tags"
    assert spec.encoder.tagger is not None, "it has a tagger"
    return spec.encoder.tagger
