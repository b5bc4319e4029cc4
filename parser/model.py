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
from parser.classifier.bilstm import EncoderShape, SentenceEncoder
from parser.classifier.classifier import Classifier, Embedding
from parser.classifier.context import CONTEXT, ContextEncoder
from parser.classifier.context_classifier import ContextClassifier
from parser.classifier.scorer import Scorer
from parser.data.set_vocabulary import Elements, SetVocabulary, vocabulary_for
from parser.data.vocabulary import N_RESERVED, Encoder, Sentences, Vocabulary
from parser.transitions.features import RELATION, FeatureTable, Slot
from parser.transitions.system import TransitionSystem
from parser.versions import versions

FORMAT = 1

_T = TypeVar("_T")

SETTINGS, VOCABULARIES, TENSORS = "settings.json", "vocabularies.json", "classifier.safetensors"

# The relation that UD reserves for the child of the artificial root.
UD_ROOT = "root"


class ModelError(ValueError):
    """A folder is not a model that this version can load; the message names the part and the mend."""


@dataclass(frozen=True)
class ClassifierShape:
    """What is needed to build the classifier again; see Classifier for the meanings, and EncoderShape where there is one."""

    hidden: int
    activation: str
    dropout: float
    input_dropout: float
    slot_dropout: float
    embeddings: dict[str, Embedding]
    encoder: EncoderShape | None = None


@dataclass
class Model:
    """A parser: encoder, transition system, features and classifier.

    Attributes:
        encoder: the vocabularies of the attributes.
        relations: the relations; relation number i is ``relations.symbols[i]``.
        slots: the feature slots.
        shape: how the classifier is built.
        classifier: its weights.
        system: the transition system over these relations.
    """

    encoder: Encoder
    relations: Vocabulary
    slots: list[Slot]
    shape: ClassifierShape
    classifier: Classifier
    system: TransitionSystem

    def __post_init__(self) -> None:
        self.table = FeatureTable(self.slots, self.encoder.attributes, self.system.anchors)

    @classmethod
    def new(
        cls,
        encoder: Encoder,
        relations: Vocabulary,
        slots: list[Slot],
        shape: ClassifierShape,
        system: str = "arc_standard",
        options: Mapping[str, int] | None = None,
    ) -> Model:
        """A model with fresh weights, drawn from torch's global generator.

        Args:
            encoder, relations, slots, shape: see the class.
            system: the name of the transition system.
            options: of the transition system, such as its degree.
        """
        root_relation = relations.symbols.index(UD_ROOT) if UD_ROOT in relations else None
        parses_with = transitions.create(system, len(relations.symbols), root_relation, **(options or {}))
        sizes = {name: len(vocabulary) for name, vocabulary in encoder.vocabularies.items()} | {RELATION: len(relations)}
        elements = {
            name: Elements.of(vocabulary)
            for name, vocabulary in encoder.vocabularies.items()
            if isinstance(vocabulary, SetVocabulary) and name in shape.embeddings
        }
        layer = (shape.hidden, parses_with.n_outputs, shape.activation, shape.dropout, shape.input_dropout, shape.slot_dropout)
        if shape.encoder is None:
            classifier = Classifier(slots, sizes, shape.embeddings, *layer, elements)
        else:
            of_words = {name: sizes[name] for name in encoder.vocabularies}
            words = SentenceEncoder(of_words, shape.embeddings, shape.encoder, elements)
            embeddings = {name: e for name, e in shape.embeddings.items() if name == RELATION}
            embeddings[CONTEXT] = Embedding(2 * shape.encoder.hidden, trained=True)
            classifier = ContextClassifier(words, slots, sizes | {CONTEXT: N_RESERVED}, embeddings, *layer)
        return cls(encoder, relations, slots, shape, classifier, parses_with)

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
            "attributes": {name: vocabulary.symbols for name, vocabulary in self.encoder.vocabularies.items()},
            "relations": self.relations.symbols,
        }
        return settings, vocabularies

    def reader(self, sentences: Sentences) -> Classifier:
        """The classifier for these sentences: where there is an encoder, it has read them."""
        return self.classifier.read(sentences) if isinstance(self.classifier, ContextClassifier) else self.classifier

    def scorer(self, sentences: Sentences | None = None) -> Scorer:
        """The classifier as a function from features to scores, numpy to numpy, without dropout.

        Args:
            sentences: those that the features will be of; needed where there is an encoder.
        """
        classifier = self.classifier if sentences is None else self.reader(sentences)
        device = classifier.output.weight.device

        def score(features: np.ndarray) -> np.ndarray:
            classifier.eval()
            with torch.inference_mode():
                return classifier(torch.from_numpy(features).to(device)).cpu().numpy()

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
        if settings.get("format") != FORMAT:
            raise ModelError(
                f"{folder / SETTINGS}: the model has format {settings.get('format')!r}, this version reads format {FORMAT}; "
                "train it again, or use the version that wrote it"
            )
        vocabularies = _read_json(folder, VOCABULARIES)
        shape = _fields(folder / SETTINGS, lambda: _shape(settings["classifier"]))
        slots = _fields(folder / SETTINGS, lambda: [Slot.parse(text) for text in settings["slots"]])
        attributes, relations = _fields(
            folder / VOCABULARIES,
            lambda: (
                {name: vocabulary_for(name, symbols) for name, symbols in vocabularies["attributes"].items()},
                Vocabulary(vocabularies["relations"]),
            ),
        )
        system, options = settings.get("transition_system", "arc_standard"), settings.get("transition_options", {})
        model = _fields(
            folder / SETTINGS, lambda: cls.new(_encoder(attributes, shape), relations, slots, shape, system, options)
        )
        path = folder / TENSORS
        if not path.is_file():
            raise ModelError(f"{path}: this part of the model is missing; copy the whole folder again")
        try:
            model.classifier.load_state_dict(load_file(path))
        except (SafetensorError, RuntimeError) as error:
            raise ModelError(f"{path}: the tensors are damaged or belong to another model ({error})") from error
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


def _fields(path: Path, read: Callable[[], _T]) -> _T:
    """What ``read`` makes of a part of the model; a missing or impossible field is an error that names the part."""
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{path}: a field is missing or impossible ({error!r}); copy the folder again") from error


def _encoder(vocabularies: dict[str, Vocabulary], shape: ClassifierShape) -> Encoder:
    return Encoder(vocabularies) if shape.encoder is None else ContextEncoder(vocabularies)


def _shape(fields: dict[str, Any]) -> ClassifierShape:
    embeddings = {name: Embedding(**embedding) for name, embedding in fields["embeddings"].items()}
    encoder = fields.get("encoder")
    encoder = encoder if encoder is None else EncoderShape(**encoder)
    return ClassifierShape(**(fields | {"embeddings": embeddings, "encoder": encoder}))
