"""A trained parser, and the folder that holds it.

The folder: ``settings.json`` (the format's number, the features, the classifier's shape, versions), ``vocabularies.json``
(the values of every attribute, the relations; characters and tags where the model has them) and ``classifier.safetensors``
(weights and word vectors). That is all that parsing needs: no training data, no gensim, and nothing that is unpickled or that
names code to run.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from parser import transitions
from parser.atomic import replacing_folder, write_json
from parser.classifier.calibration import Calibration
from parser.classifier.classifier import Classifier
from parser.classifier.scorer import Scorer
from parser.classifier.shape import ClassifierShape, new_classifier
from parser.data.characters import Characters
from parser.data.set_vocabulary import tag_vocabulary, vocabulary_for
from parser.data.vocabulary import UD_ROOT, Sentences, Vocabularies, Vocabulary
from parser.model_folder import (
    SETTINGS,
    TENSORS,
    VOCABULARIES,
    ModelError,
    check_settings,
    check_tensors,
    check_vocabularies,
    find_model,
    read_header,
    read_json,
    read_tensors,
    told,
    without_memory,
)
from parser.model_formats import FORMAT, FORMATS, upgrade
from parser.transitions.features import FeatureTable, Slot
from parser.transitions.system import TransitionSystem
from parser.versions import versions


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
        calibration: of the probabilities of its arcs.
    """

    vocabularies: Vocabularies
    relations: Vocabulary
    slots: list[Slot]
    shape: ClassifierShape
    classifier: Classifier
    system: TransitionSystem
    calibration: Calibration = field(default_factory=Calibration)

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
        vocabularies: dict[str, Any] = {
            "attributes": {name: vocabulary.symbols for name, vocabulary in self.vocabularies.by_attribute.items()},
            "relations": self.relations.symbols,
        }
        if self.vocabularies.characters is not None:
            vocabularies["characters"] = self.vocabularies.characters.symbols
        if self.vocabularies.tags:
            vocabularies["tags"] = {column: known.symbols for column, known in self.vocabularies.tags.items()}
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
            settings |= {"calibration": asdict(self.calibration), "versions": versions()}
            write_json(temporary / SETTINGS, settings)
            write_json(temporary / VOCABULARIES, vocabularies)
            tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.classifier.state_dict().items()}
            (temporary / TENSORS).write_bytes(save(tensors))

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> Model:
        """Reads a model's folder, or that within a run's folder.

        Raises:
            ModelError: a part is missing or damaged, or the format is another one.
        """
        folder = find_model(folder)
        settings, vocabularies, header = read_json(folder, SETTINGS), read_json(folder, VOCABULARIES), read_header(folder)
        if settings.get("format") not in FORMATS:
            raise ModelError(
                f"{folder / SETTINGS}: the model has format {reprlib.repr(settings.get('format'))}, this version reads formats "
                f"{' and '.join(map(str, FORMATS))}; train it again, or use the version that wrote it"
            )
        stored = settings
        with told(folder / SETTINGS):
            settings, header = upgrade(stored, header)
            check_settings(settings, header)
            shape = ClassifierShape.of_fields(settings["classifier"])
            slots = [Slot.parse(text) for text in settings["slots"]]
            calibration = Calibration(**settings.get("calibration", {}))
        with told(folder / VOCABULARIES):
            check_vocabularies(vocabularies)
            attributes = {name: vocabulary_for(name, symbols) for name, symbols in vocabularies["attributes"].items()}
            read = shape.encoder and shape.encoder.characters
            characters = Characters(vocabularies["characters"], read.longest) if read else None
            tags = {column: tag_vocabulary(column, symbols) for column, symbols in vocabularies.get("tags", {}).items()}
            relations = Vocabulary(vocabularies["relations"])
        system, options = settings.get("transition_system", "arc_standard"), settings.get("transition_options", {})

        def new() -> Model:
            return cls.new(Vocabularies(attributes, characters, tags), relations, slots, shape, system, options)

        with told(folder / SETTINGS), without_memory():
            expected = new().classifier.state_dict()
        with told(folder / TENSORS):
            check_tensors(header, expected)
            _, tensors = upgrade(stored, read_tensors(folder))
            model = new()
            model.classifier.load_state_dict(tensors)
        model.calibration = calibration
        model.classifier.to(device)
        return model
