"""Models of every kind: which there are, and loading a folder that holds one of them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

from parser.data.vocabulary import Vocabularies, Vocabulary
from parser.linear.model import LinearModel
from parser.model import Model
from parser.model_folder import SETTINGS, ModelError, find_model, read_json
from parser.transitions.system import TransitionSystem


class AnyModel(Protocol):
    """What models of all kinds have.

    Attributes:
        kind: the name of the kind.
        vocabularies: of the attributes that it reads.
        relations: those that it knows.
        system: the transition system over these relations.
        contextual: whether the last digits of scores may depend on the sentences that are parsed together.
    """

    kind: ClassVar[str]
    vocabularies: Vocabularies
    relations: Vocabulary
    system: TransitionSystem

    @property
    def contextual(self) -> bool:
        """See the class."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the model's folder, whole or not at all; an older model there is replaced."""


# By what settings.json says; a model with a classifier says nothing, for once there was no other kind.
_LOADERS: dict[str, Callable[[Path], AnyModel]] = {Model.kind: Model.load, LinearModel.kind: LinearModel.load}


def load(folder: Path) -> AnyModel:
    """Reads the folder of a model of any kind, or that within a run's folder.

    Raises:
        ModelError: a part is missing or damaged, or the format is another one.
    """
    folder = find_model(folder)
    kind = read_json(folder, SETTINGS).get("model", Model.kind)
    if not isinstance(kind, str) or kind not in _LOADERS:
        raise ModelError(
            f"{folder / SETTINGS}: models of kind {reprlib.repr(kind)} are unknown; known: {', '.join(_LOADERS)}; use the "
            "version that wrote it"
        )
    return _LOADERS[kind](folder)
