"""A trained parser, and the folder that holds it.

The folder: ``settings.json`` (the format's number, the features, the classifier's shape, versions), ``vocabularies.json``
(the values of every attribute, the relations) and ``classifier.safetensors`` (weights and word vectors). That is all that
parsing needs: no training data, no gensim, and nothing that is unpickled or that names code to run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from parser import transitions
from parser.atomic import replacing_folder, write_json
from parser.classifier.classifier import Classifier
from parser.classifier.scorer import Scorer
from parser.classifier.shape import ClassifierShape, new_classifier
from parser.data.set_vocabulary import vocabulary_for
from parser.data.vocabulary import Sentences, Vocabularies, Vocabulary
from parser.model_formats import FORMAT, FORMATS, upgrade
from parser.transitions.features import FeatureTable, Slot
from parser.transitions.system import TransitionSystem
from parser.versions import versions

_T = TypeVar("_T")

SETTINGS, VOCABULARIES, TENSORS = "settings.json", "vocabularies.json", "classifier.safetensors"

# The relation that UD reserves for the child of the artificial root.
UD_ROOT = "root"


class ModelError(ValueError):
    """A folder is not a model that this version can load; the message names the part and the fix."""


@dataclass
class Model:
    """A parser: vocabularies, transition system, features and classifier.

    Attributes:
        vocabularies: of the attributes.
        relations: the relations; relation number i is ``relations.symbols[i]``.
        slots: the feature slots.
        shape: how the classifier is built.
        classifier: its weights.
        system: the transition system over these relations.
    """

    vocabularies: Vocabularies
    relations: Vocabulary
    slots: list[Slot]
    shape: ClassifierShape
    classifier: Classifier
    system: TransitionSystem

    def __post_init__(self) -> None:
        self.table = FeatureTable(self.slots, self.classifier.tokens.attributes, self.system.anchors)

    @classmethod
    def new(
        cls,
        vocabularies: Vocabularies,
        relations: Vocabulary,
        slots: list[Slot],
        shape: ClassifierShape,
        system: str = "arc_standard",
        options: Mapping[str, int] | None = None,
    ) -> Model:
        """A model with fresh weights, drawn from torch's global generator.

        Args:
            vocabularies, relations, slots, shape: see the class.
            system: the name of the transition system.
            options: of the transition system, such as its degree.
        """
        root_relation = relations.symbols.index(UD_ROOT) if UD_ROOT in relations else None
        parses_with = transitions.create(system, len(relations.symbols), root_relation, **(options or {}))
        classifier = new_classifier(shape, slots, vocabularies, relations, parses_with.n_outputs)
        return cls(vocabularies, relations, slots, shape, classifier, parses_with)

    def is_like(self, other: Model) -> bool:
        """Whether the weights of the one would mean the same in the other."""
        return self._description() == other._description()

    def _description(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings and vocabularies as they stand in the folder, versions left out."""
        settings = {
            "format": FORMAT,
            "transition_system": self.system.name,
            **({"transition_options": self.system.options} if self.system.options else {}),
            "slots": [str(slot) for slot in self.slots],
            "classifier": asdict(self.shape),
        }
        vocabularies = {
            "attributes": {name: vocabulary.symbols for name, vocabulary in self.vocabularies.by_attribute.items()},
            "relations": self.relations.symbols,
        }
        return settings, vocabularies

    def scorer(self, sentences: Sentences | None = None) -> Scorer:
        """The classifier as a function from features to scores, numpy to numpy, without dropout.

        Args:
            sentences: those that the features will be read in; needed where the token representation is contextual.
        """
        with torch.no_grad():
            vectors = self.classifier.tokens.vectors_of(sentences)
        device = self.classifier.output.weight.device

        def score(features: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return self.classifier(torch.from_numpy(features).to(device), vectors).cpu().numpy()

        return score

    def save(self, folder: Path) -> None:
        """Writes the model's folder, whole or not at all; an older model there is replaced."""
        with replacing_folder(folder) as temporary:
            settings, vocabularies = self._description()
            write_json(temporary / SETTINGS, settings | {"versions": versions()})
            write_json(temporary / VOCABULARIES, vocabularies)
            tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.classifier.state_dict().items()}
            (temporary / TENSORS).write_bytes(save(tensors))

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> Model:
        """Reads a model's folder.

        Raises:
            ModelError: a part is missing or damaged, or the format is another one.
        """
        if not folder.is_dir():
            raise ModelError(f"{folder}: no such model folder; scripts/train.py writes one, RUN_FOLDER/model")
        settings = _read_json(folder, SETTINGS)
        if settings.get("format") not in FORMATS:
            raise ModelError(
                f"{folder / SETTINGS}: the model has format {settings.get('format')!r}, this version reads formats "
                f"{' and '.join(map(str, FORMATS))}; train it again, or use the version that wrote it"
            )
        vocabularies = _read_json(folder, VOCABULARIES)
        tensors = _read_tensors(folder)
        settings, tensors = _fields(folder / SETTINGS, lambda: upgrade(settings, tensors))
        shape = _fields(folder / SETTINGS, lambda: ClassifierShape.of_fields(settings["classifier"]))
        slots = _fields(folder / SETTINGS, lambda: [Slot.parse(text) for text in settings["slots"]])
        attributes, relations = _fields(
            folder / VOCABULARIES,
            lambda: (
                {name: vocabulary_for(name, symbols) for name, symbols in vocabularies["attributes"].items()},
                Vocabulary(vocabularies["relations"]),
            ),
        )
        system, options = settings.get("transition_system", "arc_standard"), settings.get("transition_options", {})
        model = _fields(folder / SETTINGS, lambda: cls.new(Vocabularies(attributes), relations, slots, shape, system, options))
        try:
            model.classifier.load_state_dict(tensors)
        except RuntimeError as error:
            raise ModelError(f"{folder / TENSORS}: the tensors belong to another model ({error})") from error
        model.classifier.to(device)
        return model


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: this part of the model is missing; copy the whole folder again") from None
    except ValueError as error:
        raise ModelError(f"{path}: this part of the model is damaged ({error}); copy the folder again") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path}: this part of the model is damaged (not an object); copy the folder again")
    return value


def _read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    path = folder / TENSORS
    if not path.is_file():
        raise ModelError(f"{path}: this part of the model is missing; copy the whole folder again")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ModelError(f"{path}: this part of the model is damaged ({error}); copy the folder again") from error


def _fields(path: Path, read: Callable[[], _T]) -> _T:
    """What ``read`` makes of a part of the model; a missing or impossible field is an error that names the part."""
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{path}: a field is missing or impossible ({error!r}); copy the folder again") from error
