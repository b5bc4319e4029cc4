"""A trained parser, and the folder that holds it.

The folder has ``settings.json`` (format, features, the classifier's spec, versions), ``vocabularies.json`` (the values of all
attributes, the relations; characters, tags and lemmas if the model has them) and ``classifier.safetensors`` (weights and word
vectors); ``subwords.json`` if it reads subwords. Parsing needs nothing else: no training data, no gensim, nothing that is
unpickled or names code to run. The exception is a pretrained encoder that reads the sentences first. settings.json has the
checksums of its files; the folder holds the encoder, as ``pretrained/``, if training tuned it, or with pretrained.save=true.

Torch is imported with the first classifier that needs it: to train, or on another device. Parsing takes the weights as numpy
arrays (inference/weights.py), so that it starts fast.
"""

from __future__ import annotations

import copy
import logging
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from safetensors.numpy import save

from parser import beam_settings, transitions
from parser.beam_settings import Beam
from parser.data.sentences import Sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.inference.biaffine import FrozenBiaffineScorer
from parser.inference.calibration import Calibration
from parser.inference.layouts import TOKENS, Layout
from parser.inference.precomputed import Scorer
from parser.inference.weights import ArcScores, ClassifierWeights, no_int8, under
from parser.model_folder import (
    FORMAT,
    FORMATS,
    SETTINGS,
    TENSORS,
    VOCABULARIES,
    Contents,
    ModelError,
    check_settings,
    check_tensors,
    errors_named,
    find_model,
    read_header,
    read_settings,
    read_tensors,
    scores_older_lemmas,
    upgrade,
)
from parser.network_spec import ClassifierSpec
from parser.storage import replacing_folder, versions, write_json
from parser.transitions.features import TOKEN, FeatureTable, Slot
from parser.transitions.system import TransitionSystem

if TYPE_CHECKING:
    from parser.networks.classifier import Classifier

log = logging.getLogger(__name__)


@dataclass
class Model:
    """A parser: vocabularies, transition system, features and classifier.

    Attributes:
        vocabularies: of all that it reads and predicts.
        relations: the relations; relation number i is ``relations.symbols[i]``.
        slots: the feature slots.
        spec: how the classifier is built.
        system: the transition system over these relations.
        beam: how optimal-step parse searches by default; None: it parses greedily.
        lattice_beam: how optimal-step parse searches lattices by default; None: as other input.
        calibration: of the probabilities of its arcs.
        lookahead: for a model trained on lattices, how many arcs of the path are decided ahead; it then has an output for
            choices, after those of the transitions (decoding/lattice/compiled.py). None: it has learned no choices.
        int8: whether it parses with 8-bit products (inference/arithmetic.py); only with an encoder.
        int8_lost_las: the LAS that they lost on dev in training; None: not measured.
    """

    kind: ClassVar[str] = "classifier"

    vocabularies: Vocabularies
    relations: Vocabulary
    slots: list[Slot]
    spec: ClassifierSpec
    system: TransitionSystem
    beam: Beam | None = None
    lattice_beam: Beam | None = None
    calibration: Calibration = field(default_factory=Calibration)
    lookahead: int | None = None
    int8: bool = False
    int8_lost_las: float | None = None

    def __post_init__(self) -> None:
        attributes = self.vocabularies.attributes if self.spec.encoder is None else [TOKEN]
        self.table = FeatureTable(self.slots, attributes, self.system.candidate_positions)
        # The weights are those of the classifier if there is one, else of the folder that the model was loaded from.
        self._classifier: Classifier | None = None
        self._tensors: dict[str, np.ndarray] = {}
        self._frozen: ClassifierWeights | None = None
        self._readers: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.system.name}, {len(self.relations.symbols)} relations)"

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
    ) -> Model:
        """Return a model with fresh weights, drawn from torch's global generator.

        Args:
            vocabularies, relations, slots, spec: see the class.
            system: the name of the transition system.
            options: the system's options, such as its degree.
            lookahead: see the class.
        """
        parses_with = transitions.create_for(relations, system, options or {})
        model = cls(vocabularies, relations, slots, spec, parses_with, lookahead=lookahead)
        model._classifier = model._new_classifier()
        return model

    @property
    def classifier(self) -> Classifier:
        """The classifier, a torch module; a loaded model builds it on first use."""
        if self._classifier is None:
            import torch  # see the module's docstring

            made = self._new_classifier()
            # Readers of whole sentences have their weights already.
            made.load_state_dict(made.state_dict() | {name: torch.from_numpy(array) for name, array in self._tensors.items()})
            self._classifier, self._tensors = made, {}  # once it is complete: other threads may read the weights
        return self._classifier

    @property
    def n_outputs(self) -> int:
        """The number of outputs: those of the transitions, and the one for choices, if any."""
        return self.system.n_outputs + (self.lookahead is not None)

    def _new_classifier(self) -> Classifier:
        from parser.networks.classifier import new_classifier

        own = self.spec, self.slots, self.vocabularies, self.relations, self.n_outputs
        return new_classifier(*own, self.readers())

    def readers(self) -> dict[str, Any]:
        """Return the readers of whole sentences, by name of their part; the first call loads them, with torch.

        Raises:
            PretrainedError: one cannot be loaded, or a package is not installed.
        """
        for part in self.vocabularies.parts:
            if part.in_sentences and part.name not in self._readers:
                from parser.networks.parts import reader_of  # it loads torch

                self._readers[part.name] = reader_of(part, self.spec)
        return self._readers

    def _layout(self) -> Layout:
        return Layout(self.spec, self.slots, self.vocabularies, self.relations, self.n_outputs)

    def biaffine_scorer(self) -> FrozenBiaffineScorer | None:
        """Return a scorer of heads and relations with the present weights; None if the encoder predicts none."""
        if self.spec.encoder is None or self.spec.encoder.heads is None:
            return None
        prefix = f"{TOKENS}heads."
        if self._classifier is None:
            return FrozenBiaffineScorer(under(prefix, self._tensors))
        state = under(prefix, self._classifier.state_dict())
        return FrozenBiaffineScorer({name: tensor.numpy(force=True) for name, tensor in state.items()})

    def frozen(self) -> Model:
        """Return the model with its present weights; parsers and taggers made from it share what they precompute."""
        if self._frozen is not None:
            return self
        model = copy.copy(self)
        model._frozen = self.weights()
        return model

    def weights(self) -> ClassifierWeights:
        """Return the present weights, for parsing; without torch if nothing has needed it yet.

        Raises:
            Int8Error: 8-bit products are requested, and not available.
        """
        if self._frozen is not None:
            return self._frozen
        if self._classifier is None:
            weights = self._layout().weights(self._tensors, self.int8, self.readers())
        else:
            weights = self._classifier.weights(self.int8)
        ends = [Slot(position, TOKEN) for position in self.system.arc_positions]
        if not ends or not set(ends) <= set(self.slots) or (scorer := self.biaffine_scorer()) is None:
            return weights
        return replace(weights, arcs=ArcScores(scorer, *map(self.slots.index, ends)))

    @property
    def contextual(self) -> bool:
        """Whether an encoder reads the sentences."""
        return self.spec.encoder is not None

    @property
    def arithmetic(self) -> dict[str, Any]:
        """The entries of settings.json and metrics.json about 8-bit products; empty if these were not measured."""
        return {} if self.int8_lost_las is None else {"int8": self.int8, "int8_lost_las": self.int8_lost_las}

    def _description(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of network and system, and the vocabularies, as in the folder."""
        settings = {
            "format": FORMAT,
            "transition_system": self.system.name,
            **({"transition_options": self.system.options} if self.system.options else {}),
            **({} if self.lookahead is None else {"lattice": {"lookahead": self.lookahead}}),
            "slots": [str(slot) for slot in self.slots],
            "classifier": {name: value for name, value in asdict(self.spec).items() if name != "pretrained" or value},
        }
        return settings, self.vocabularies.described(self.relations)

    def scorer(self, sentences: Sentences | None = None) -> Scorer:
        """Return a function from features to scores, numpy to numpy, without dropout.

        Args:
            sentences: the sentences of the features; needed with a contextual token representation.
        """
        return self.classifier.scorer(sentences)

    def save(self, folder: Path) -> None:
        """Write the model's folder, whole or not at all; replace an older model there."""
        with replacing_folder(folder) as temporary:
            settings, vocabularies = self._description()
            for part in self.vocabularies.parts:
                settings |= part.save(temporary, self.readers().get(part.name))
            searches = {"beam": self.beam, "lattice_beam": self.lattice_beam}
            beam = {key: beam_settings.as_fields(search) for key, search in searches.items() if search is not None}
            further = {"calibration": asdict(self.calibration), **self.arithmetic, "versions": versions()}
            write_json(temporary / SETTINGS, settings | beam | further)
            write_json(temporary / VOCABULARIES, vocabularies)
            state = self.classifier.state_dict()
            # The state also has readers of whole sentences that are trained.
            tensors = {name: state[name].detach().cpu().contiguous().numpy() for name in self._layout().shapes}
            for name in (f"{TOKENS}{name}" for part in self.vocabularies.parts for name in part.half):
                tensors[name] = tensors[name].astype(np.float16)
            (temporary / TENSORS).write_bytes(save(tensors))

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", int8: bool | None = None) -> Model:
        """Read a model's folder, or the one within a run's folder.

        Args:
            folder: the folder.
            device: where the classifier runs.
            int8: see the class; None: as the folder says, but single precision on another device than the CPU.

        Raises:
            ModelError: a part is missing or damaged, or its format is unknown.
            Int8Error: 8-bit products are requested, but the model has no encoder.
            PretrainedError: the pretrained encoder that it needs is missing.
        """
        folder = find_model(folder)
        settings = read_settings(folder)
        if "model" in settings:
            raise ModelError(
                f"{folder / SETTINGS}: this is a model of kind {reprlib.repr(settings['model'])}, where one with a classifier "
                "is needed; name a model that was trained with model=mlp or model=bilstm"
            )
        header = read_header(folder)
        if settings.get("format") not in FORMATS:
            raise ModelError(
                f"{folder / SETTINGS}: the model has format {reprlib.repr(settings.get('format'))}, this version reads formats "
                f"{' and '.join(map(str, FORMATS))}; train it again, or use the version that wrote it"
            )
        stored = settings
        with errors_named(folder / SETTINGS):
            settings, header = upgrade(stored, header)
            older_lemmas = scores_older_lemmas(stored)
            spec = check_settings(settings, header)
            slots = [Slot.parse(text) for text in settings["slots"]]
            beam = Beam(**settings["beam"]) if "beam" in settings else None
            lattice_beam = Beam(**settings["lattice_beam"]) if "lattice_beam" in settings else None
            calibration = Calibration.of_fields(settings.get("calibration", {}))
        vocabularies, relations = Vocabularies.read(Contents(folder, settings, spec, without_lemmas=older_lemmas))
        if older_lemmas:
            fix = "train it again, or continue its training with start="
            log.warning("%s: it parses and tags as before; its lemmatizer, of an older version, is ignored; %s", folder, fix)
        options = settings.get("transition_options", {})
        if int8 and spec.encoder is None:
            raise no_int8(folder)
        with errors_named(folder / SETTINGS):
            system = transitions.create_for(relations, settings.get("transition_system", "arc_standard"), options)
            lookahead = settings.get("lattice", {}).get("lookahead")
            own = settings.get("int8", False) and device == "cpu"
            model = cls(vocabularies, relations, slots, spec, system, beam, lattice_beam, calibration, lookahead)
            model.int8, model.int8_lost_las = own if int8 is None else int8, settings.get("int8_lost_las")
            expected = model._layout().shapes
        with errors_named(folder / TENSORS):
            check_tensors(header, expected)
            _, model._tensors = upgrade(stored, read_tensors(folder))
        if device != "cpu":
            model.classifier.to(device)
        return model
