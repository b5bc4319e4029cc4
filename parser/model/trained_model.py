"""A network that is trained: its classifier is a module of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save

from parser import beam_settings, transitions
from parser.data.sentences import Sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.inference.heads import FrozenHeadScorer
from parser.inference.layouts import TOKENS
from parser.inference.precomputed import Scorer
from parser.inference.weights import under
from parser.model.model import FrozenModel, NetworkModel
from parser.model_folder import SETTINGS, TENSORS, VOCABULARIES
from parser.network_spec import ClassifierSpec
from parser.networks.classifier import Classifier, new_classifier
from parser.networks.parts import reader_of
from parser.storage import replacing_folder, versions, write_json
from parser.transitions.features import Slot


@dataclass(repr=False)
class TrainedModel(NetworkModel):
    """A network with a classifier of torch, for training and for other devices than the CPU.

    ``int8`` says how it parses once it is saved, or frozen.

    Attributes:
        classifier: the classifier.
        readers: the readers of whole sentences, by name of their part.

    Raises:
        PretrainedError: a reader cannot be loaded, or a package is not installed.
    """

    classifier: Classifier = field(kw_only=True)
    readers: dict[str, Any] = field(kw_only=True)

    @classmethod
    def new(
        cls,
        vocabularies: Vocabularies,
        relations: Vocabulary,
        slots: list[Slot],
        spec: ClassifierSpec,
        system: str = "arc_standard",
        options: Mapping[str, int] | None = None,
        lookahead: int | None = None,
    ) -> TrainedModel:
        """Return a model with fresh weights, drawn from torch's global generator.

        Args:
            vocabularies, relations, slots, spec: see NetworkModel.
            system: the name of the transition system.
            options: the system's options, such as its degree.
            lookahead: see NetworkModel.
        """
        parses_with = transitions.create_for(relations, system, options or {})
        return cls._of(
            NetworkModel(vocabularies, relations, slots, spec, parses_with, lookahead=lookahead)
        )

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", int8: bool | None = None) -> TrainedModel:
        """Read a model's folder, or the one within a run's folder; see FrozenModel.load().

        Args:
            folder: the folder.
            device: where the classifier runs;
                other devices than the CPU compute in single precision.
            int8: see NetworkModel; None: as the folder says.
        """
        frozen = FrozenModel.load(folder, int8)
        model = cls._of(frozen)
        # Readers of whole sentences have their weights already.
        known = {name: torch.from_numpy(array) for name, array in frozen.tensors.items()}
        model.classifier.load_state_dict(model.classifier.state_dict() | known)
        if device != "cpu":
            model.int8 = bool(int8)
            model.classifier.to(device)
        return model

    @classmethod
    def _of(cls, model: NetworkModel) -> TrainedModel:
        """Return a model of this description, with fresh weights."""
        own = model.spec, model.slots, model.vocabularies, model.relations, model.n_outputs
        readers = {
            part.name: reader_of(part, model.spec)
            for part in model.vocabularies.parts
            if part.in_sentences
        }
        trained = cls(
            **model.arguments(), classifier=new_classifier(*own, readers), readers=readers
        )
        trained.table = model.table
        return trained

    def scorer(self, sentences: Sentences | None = None) -> Scorer:
        """Return a function from features to scores, numpy to numpy, without dropout.

        Args:
            sentences: the sentences of the features; needed with a contextual token representation.
        """
        return self.classifier.scorer(sentences)

    def frozen(self, int8: bool | None = None) -> FrozenModel:
        """Return the model with its present weights;
        parsers and taggers made from it share what they precompute.

        Args:
            int8: whether it parses with 8-bit products; None: as the model itself says.

        Raises:
            Int8Error: 8-bit products are requested, and not available.
        """
        int8 = self.int8 if int8 is None else int8
        heads = None
        if self.predicts_heads:
            state = under(f"{TOKENS}heads.", self.classifier.state_dict())
            heads = FrozenHeadScorer(
                {name: tensor.numpy(force=True) for name, tensor in state.items()}
            )
        return FrozenModel.of(self, self.classifier.weights(int8), heads, int8)

    def save(self, folder: Path) -> None:
        """Write the model's folder, whole or not at all; replace an older model there."""
        with replacing_folder(folder) as temporary:
            settings, vocabularies = self.described()
            for part in self.vocabularies.parts:
                settings |= part.save(temporary, self.readers.get(part.name))
            searches = {"beam": self.beam, "lattice_beam": self.lattice_beam}
            beam = {
                key: beam_settings.as_fields(search)
                for key, search in searches.items()
                if search is not None
            }
            further = {
                "calibration": asdict(self.calibration),
                **self.arithmetic,
                "versions": versions(),
            }
            write_json(temporary / SETTINGS, settings | beam | further)
            write_json(temporary / VOCABULARIES, vocabularies)
            state = self.classifier.state_dict()
            # The state also has readers of whole sentences that are trained.
            tensors = {
                name: state[name].detach().cpu().contiguous().numpy() for name in self.layout.shapes
            }
            for name in (
                f"{TOKENS}{name}" for part in self.vocabularies.parts for name in part.half
            ):
                tensors[name] = tensors[name].astype(np.float16)
            (temporary / TENSORS).write_bytes(save(tensors))
