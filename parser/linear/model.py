"""The linear model and its folder.

The folder: ``settings.json`` (the kind of model, the templates, versions), ``vocabularies.json`` as
for any model, and ``weights.safetensors``: the averaged weights in compressed rows (keys, starts,
outputs, values; see weights.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors.numpy import save

from oracles.errors import OptimalStepError
from parser import beam_settings, transitions
from parser.beam_settings import Beam
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.inference.calibration import Calibration
from parser.linear.templates import Templates
from parser.linear.weights import HashedWeights
from parser.model_folder import (
    SETTINGS,
    VOCABULARIES,
    Contents,
    ModelError,
    StoredSystem,
    errors_named,
    find_model,
    read_header,
    read_settings,
    read_tensors,
)
from parser.storage import replacing_folder, versions, write_json
from parser.stored_values import checked
from parser.transitions.system import TransitionSystem

WEIGHTS = "weights.safetensors"
FORMAT = 1

# The type that the header of the weights must give each tensor, an argument of HashedWeights.
_TYPES = {"keys": "U64", "starts": "I64", "outputs": "I32", "values": "F32"}


@dataclass
class LinearModel:
    """A linear parser: vocabularies of the attributes, a transition system,
    templates of features, and their weights.

    Relation number i is ``relations.symbols[i]``.
    The parser searches with ``beam`` by default; None: greedily.
    """

    kind: ClassVar[str] = "linear"
    gives_probabilities: ClassVar[bool] = False

    # Properties that only networks have.
    contextual: ClassVar[bool] = False  # scores do not depend on the batch
    int8: ClassVar[bool] = False
    predicts_heads: ClassVar[bool] = False
    reads_pretrained: ClassVar[bool] = False
    lattice_beam: ClassVar[Beam | None] = None
    calibration: ClassVar[Calibration] = Calibration()
    arithmetic: ClassVar[dict[str, Any]] = {}

    vocabularies: Vocabularies
    relations: Vocabulary
    system: TransitionSystem
    templates: Templates
    weights: HashedWeights
    beam: Beam | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.system.name}, {len(self.relations.symbols)} relations)"

    @classmethod
    def new(
        cls,
        vocabularies: Vocabularies,
        relations: Vocabulary,
        templates: Sequence[str],
        system: str = "arc_standard",
        options: Mapping[str, int] | None = None,
    ) -> LinearModel:
        """Return a model whose weights are all 0.

        Args:
            vocabularies, relations: see the class.
            templates: the texts of the templates; see templates.py.
            system: the name of the transition system.
            options: options of the transition system, such as its degree.
        """
        parses_with = transitions.create_for(relations, system, options or {})
        features = Templates(templates, vocabularies.attributes, type(parses_with))
        nothing = (
            np.zeros(0, np.uint64),
            np.zeros(1, np.int64),
            np.zeros(0, np.int32),
            np.zeros(0, np.float32),
        )
        return cls(
            vocabularies,
            relations,
            parses_with,
            features,
            HashedWeights(*nothing, parses_with.n_outputs),
        )

    def frozen(self) -> LinearModel:
        """Return the model itself: its weights need no preparation."""
        return self

    def save(self, folder: Path) -> None:
        """Write the model's folder, whole or not at all; replace an older model there."""
        settings: dict[str, Any] = {
            "format": FORMAT,
            "model": self.kind,
            "transition_system": self.system.name,
            **({"transition_options": self.system.options} if self.system.options else {}),
            "templates": self.templates.texts,
            **({} if self.beam is None else {"beam": beam_settings.as_fields(self.beam)}),
        }
        with replacing_folder(folder) as temporary:
            write_json(temporary / SETTINGS, settings | {"versions": versions()})
            write_json(temporary / VOCABULARIES, self.vocabularies.described(self.relations))
            (temporary / WEIGHTS).write_bytes(
                save({name: getattr(self.weights, name) for name in _TYPES})
            )

    @classmethod
    def load(cls, folder: Path) -> LinearModel:
        """Read a model's folder, or the one within a run's folder.

        Raises:
            ModelError: a part is missing or damaged, or the model is of another kind.
        """
        folder = find_model(folder)
        settings, header = read_settings(folder), read_header(folder, WEIGHTS)
        vocabularies, relations = Vocabularies.read(Contents(folder, settings))
        with errors_named(folder / SETTINGS):
            if settings["model"] != cls.kind or settings["format"] != FORMAT:
                raise ModelError(
                    f"{folder / SETTINGS}: not a linear model of format {FORMAT}; train it again"
                )
            checked(settings, StoredSystem, "settings")
            templates = checked(settings["templates"], list[str], "templates")
            name, options = settings["transition_system"], settings.get("transition_options", {})
            model = cls.new(vocabularies, relations, templates, name, options)
            model.beam = Beam(**settings["beam"]) if "beam" in settings else None
        with errors_named(folder / WEIGHTS):
            if {name: info.type for name, info in header.items()} != _TYPES:
                raise OptimalStepError("these are not the tensors of a linear model")
            if any(len(info.shape) != 1 for info in header.values()):
                raise OptimalStepError("a tensor has more than one dimension")
            model.weights = HashedWeights(
                **read_tensors(folder, WEIGHTS), n_outputs=model.system.n_outputs
            )
        return model
