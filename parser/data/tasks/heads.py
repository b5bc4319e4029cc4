"""Heads and relations of all pairs of words, an auxiliary task;
pointers and reranking use it in parsing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oracles.trees import Trees
from parser.data.attributes import AttributeColumns
from parser.data.parts.part import Labels
from parser.data.tasks.task import Task, TaskSource
from parser.data.vocabulary import Vocabulary
from parser.model_folder import Contents
from parser.network_spec import ClassifierSpec, Shapes


class HeadTask(Task):
    """Heads, and relations to known heads.

    Args:
        relations: the parser's relations.
    """

    name = "heads"

    def __init__(self, relations: Vocabulary) -> None:
        self.relations = relations

    @classmethod
    def new(cls, source: TaskSource) -> HeadTask | None:
        return _of(source.wanted.spec, source.relations)

    def extended(self, source: TaskSource) -> HeadTask | None:
        return _of(source.wanted.spec, source.relations)

    def gold(
        self, sentences: Sequence[AttributeColumns], trees: Trees, relations: np.ndarray
    ) -> np.ndarray:
        """Return int32[2, tokens]: the positions of the heads in their sentences,
        and relations; negative if unknown.
        """
        return np.stack([trees.heads, relations])

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        assert spec.encoder is not None, "an encoder predicts heads"
        assert spec.encoder.heads is not None, "it has a biaffine scorer"
        return spec.encoder.heads.shapes(spec.encoder.size, len(self.relations.symbols))

    def labels(self) -> dict[str, Labels]:
        return {f"relation_product.{kind}": self.relations.symbols for kind in ("weight", "bias")}

    @classmethod
    def read(
        cls, contents: Contents, relations: Vocabulary, tasks: Sequence[Task]
    ) -> HeadTask | None:
        return _of(contents.spec, relations)


def _of(spec: ClassifierSpec | None, relations: Vocabulary) -> HeadTask | None:
    return (
        None
        if spec is None or spec.encoder is None or spec.encoder.heads is None
        else HeadTask(relations)
    )
