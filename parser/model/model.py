"""A network that parses, and the folder that holds it.

The folder has ``settings.json`` (format, features, the classifier's spec, versions),
``vocabularies.json`` (the values of all attributes, the relations; characters, tags and lemmas if
the model has them) and ``classifier.safetensors`` (weights and word vectors); ``subwords.json`` if
it reads subwords. Parsing needs nothing else: no training data, no gensim, nothing that is
unpickled or names code to run. The exception is a pretrained encoder that reads the sentences
first. settings.json has the checksums of its files; the folder holds the encoder, as
``pretrained/``, if training tuned it, or with pretrained.save=true.

FrozenModel has the weights as arrays (inference/weights.py), so that parsing starts fast, without
torch. TrainedModel (trained_model.py) has a classifier of torch: to train, or to parse on another
device.
"""

from __future__ import annotations

import logging
import reprlib
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from parser import transitions
from parser.beam_settings import Beam
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.inference.calibration import Calibration
from parser.inference.heads import FrozenHeadScorer
from parser.inference.layouts import TOKENS, Layout
from parser.inference.parts import sentence_reader
from parser.inference.weights import ArcScores, ClassifierWeights, no_int8, under
from parser.model_folder import (
    FORMAT,
    FORMATS,
    SETTINGS,
    TENSORS,
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
from parser.transitions.features import TOKEN, FeatureTable, Slot
from parser.transitions.system import TransitionSystem

log = logging.getLogger(__name__)


@dataclass
class NetworkModel:
    """What frozen and trained models have in common.

    Attributes:
        vocabularies: the vocabularies of all that it reads and predicts.
        relations: the relations; relation number i is ``relations.symbols[i]``.
        slots: the feature slots.
        spec: how the classifier is built.
        system: the transition system over these relations.
        beam: how optimal-step parse searches by default; None: it parses greedily.
        lattice_beam: how optimal-step parse searches lattices by default; None: as other input.
        calibration: the calibration of the probabilities of its arcs.
        lookahead: how many arcs of the path are decided ahead, if the model was trained on
            lattices; it then has an output for choices, after those of the transitions
            (decoding/lattice/compiled.py). None: it has learned no choices.
        int8: whether it parses with 8-bit products (inference/arithmetic.py); only with an encoder.
        int8_lost_las: the LAS lost by 8-bit products, measured on dev in training; None: not
            measured.
    """

    kind: ClassVar[str] = "classifier"
    gives_probabilities: ClassVar[bool] = True

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.system.name}, {len(self.relations.symbols)} relations)"

    @cached_property
    def table(self) -> FeatureTable:
        """The features."""
        attributes = self.vocabularies.attributes if self.spec.encoder is None else [TOKEN]
        return FeatureTable(self.slots, attributes, self.system.candidate_positions)

    @property
    def n_outputs(self) -> int:
        """The number of outputs: one for each transition,
        and another where the model scores choices of a lattice.
        """
        return self.system.n_outputs + (self.lookahead is not None)

    @property
    def contextual(self) -> bool:
        """Whether an encoder reads the sentences."""
        return self.spec.encoder is not None

    @property
    def predicts_heads(self) -> bool:
        """Whether the encoder predicts the head of each word, which reranking needs."""
        return self.spec.encoder is not None and self.spec.encoder.heads is not None

    @property
    def reads_pretrained(self) -> bool:
        """Whether a pretrained encoder reads the sentences first."""
        return self.spec.pretrained is not None

    @property
    def arithmetic(self) -> dict[str, Any]:
        """The entries of settings.json and metrics.json about 8-bit products;
        empty if these were not measured.
        """
        return (
            {}
            if self.int8_lost_las is None
            else {"int8": self.int8, "int8_lost_las": self.int8_lost_las}
        )

    @property
    def layout(self) -> Layout:
        """The tensors of the model."""
        return Layout(self.spec, self.slots, self.vocabularies, self.relations, self.n_outputs)

    def frozen(self) -> FrozenModel:
        """Return the model with its present weights;
        parsers and taggers made from it share what they precompute.
        """
        raise NotImplementedError

    def described(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of network and system, and the vocabularies, as in the folder."""
        settings = {
            "format": FORMAT,
            "transition_system": self.system.name,
            **({"transition_options": self.system.options} if self.system.options else {}),
            **({} if self.lookahead is None else {"lattice": {"lookahead": self.lookahead}}),
            **({} if (name := self.vocabularies.treebank) is None else {"treebank": name}),
            "slots": [str(slot) for slot in self.slots],
            "classifier": {
                name: value
                for name, value in asdict(self.spec).items()
                if name != "pretrained" or value
            },
        }
        return settings, self.vocabularies.described(self.relations)

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Return the arguments that make another model of this description,
        with some of them changed.
        """
        return {one.name: getattr(self, one.name) for one in fields(NetworkModel)} | changes


@dataclass(repr=False)
class FrozenModel(NetworkModel):
    """A network for parsing, with its weights as arrays.

    Attributes:
        tensors: the tensors of the folder that it was read from;
            empty if it was made from a trained model.
    """

    tensors: dict[str, np.ndarray] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(
        cls,
        model: NetworkModel,
        weights: ClassifierWeights,
        heads: FrozenHeadScorer | None,
        int8: bool,
    ) -> FrozenModel:
        """Return a model with the weights of another one.

        Args:
            model: the other model.
            weights: the weights of its classifier, in 8 bits if ``int8``.
            heads: scores the heads that its encoder predicts.
            int8: see the class.
        """
        frozen = cls(**model.arguments(int8=int8))
        frozen.table = model.table
        frozen.head_scorer = heads
        frozen.weights = frozen._with_arcs(weights)
        return frozen

    def frozen(self) -> FrozenModel:
        """Return the model itself."""
        return self

    @cached_property
    def readers(self) -> dict[str, Any]:
        """The readers of whole sentences, by name of their part; the first use loads them,
        with torch for some encoders.

        Raises:
            PretrainedError: one cannot be loaded, or a package is not installed.
        """
        loaded: dict[str, Any] = {}
        for part in self.vocabularies.parts:
            if (
                part.in_sentences
                and (reader := sentence_reader(part, self.spec, self.int8)) is None
            ):
                from parser.networks.parts import reader_of  # it loads torch

                reader = reader_of(part, self.spec)
            if part.in_sentences:
                loaded[part.name] = reader
        return loaded

    @cached_property
    def weights(self) -> ClassifierWeights:
        """The weights of the classifier, made at the first use.

        Raises:
            Int8Error: 8-bit products are requested, and not available.
            PretrainedError: the pretrained encoder cannot be loaded.
        """
        return self._with_arcs(self.layout.weights(self.tensors, self.int8, self.readers))

    @cached_property
    def head_scorer(self) -> FrozenHeadScorer | None:
        """A scorer of heads and relations; None if the encoder predicts none."""
        return (
            FrozenHeadScorer(under(f"{TOKENS}heads.", self.tensors))
            if self.predicts_heads
            else None
        )

    def _with_arcs(self, weights: ClassifierWeights) -> ClassifierWeights:
        """Return the weights; if the features have both ends of an arc,
        they also add the scores of arcs.
        """
        ends = [Slot(position, TOKEN) for position in self.system.arc_positions]
        if not ends or not set(ends) <= set(self.slots) or self.head_scorer is None:
            return weights
        return replace(weights, arcs=ArcScores(self.head_scorer, *map(self.slots.index, ends)))

    @classmethod
    def load(cls, folder: Path, int8: bool | None = None) -> FrozenModel:
        """Read a model's folder, or the one within a run's folder.

        Args:
            folder: the folder.
            int8: see the class; None: as the folder says.

        Raises:
            ModelError: a part is missing or damaged, or its format is unknown.
            Int8Error: 8-bit products are requested, but the model has no encoder.
            PretrainedError: the pretrained encoder that it needs is missing.
        """
        folder = find_model(folder)
        settings = read_settings(folder)
        if "model" in settings:
            raise ModelError(
                f"{folder / SETTINGS}: this is a model of kind {reprlib.repr(settings['model'])}, "
                "where one with a classifier is needed; "
                "name a model that was trained with model=mlp or model=bilstm"
            )
        header = read_header(folder)
        if settings.get("format") not in FORMATS:
            raise ModelError(
                f"{folder / SETTINGS}: the model has format "
                f"{reprlib.repr(settings.get('format'))}, this version reads formats "
                f"{' and '.join(map(str, FORMATS))}; train it again, "
                "or use the version that wrote it"
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
        vocabularies, relations = Vocabularies.read(
            Contents(folder, settings, spec, without_lemmas=older_lemmas)
        )
        if older_lemmas:
            fix = "train it again, or continue its training with start="
            log.warning(
                "%s: it parses and tags as before; its lemmatizer, of an older version, "
                "is ignored; %s",
                folder,
                fix,
            )
        options = settings.get("transition_options", {})
        if int8 and spec.encoder is None:
            raise no_int8(folder)
        with errors_named(folder / SETTINGS):
            system = transitions.create_for(
                relations, settings.get("transition_system", "arc_standard"), options
            )
            lookahead = settings.get("lattice", {}).get("lookahead")
            model = cls(
                vocabularies,
                relations,
                slots,
                spec,
                system,
                beam,
                lattice_beam,
                calibration,
                lookahead,
            )
            model.int8 = settings.get("int8", False) if int8 is None else int8
            model.int8_lost_las = settings.get("int8_lost_las")
            expected, _ = model.layout.shapes, model.table  # which checks the slots
        with errors_named(folder / TENSORS):
            check_tensors(header, expected)
            _, model.tensors = upgrade(stored, read_tensors(folder))
        return model
