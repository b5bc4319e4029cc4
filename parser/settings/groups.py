"""The groups of settings, as the files under configs/ hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from parser.network_spec import BiaffineSpec, BiLSTMSpec, MlpSpec, TaggerSpec
from parser.ranges import between

_LOSS_WEIGHT = between(0, 1e6, "the weight of a loss", above=True)


@dataclass
class Paths:
    """Where things lie on this machine."""

    treebanks: str = MISSING


@dataclass
class TreebankFiles:
    """The parts of a treebank; null where there is none.

    ``train`` is a file or a list of files. ``held_out`` is the share of its sentences that are the dev part, where no file is.
    """

    name: str = MISSING
    train: Any = None  # str | list[str] | None, for which OmegaConf has no type
    dev: str | None = None
    test: str | None = None
    held_out: float = 0.0


@dataclass
class VectorSettings:
    """How word vectors are trained, or where they are read; see word_vectors.py."""

    file: str | None = None
    limit: int | None = None
    restrict: bool = False
    dimensions: int = MISSING
    window: int = MISSING
    epochs: int = MISSING
    min_count: int = MISSING
    skip_gram: bool = MISSING
    attribute: str | None = MISSING
    trained: bool = MISSING


@dataclass
class ClassifierSettings(MlpSpec):
    """The hidden layer. ``word_dropout``: see training/fitting/word_dropout.py."""

    word_dropout: float = field(default=MISSING, metadata=between(0, 1e6, "the weight of unknown values"))


@dataclass
class TaggerSettings(TaggerSpec):
    """How the encoder predicts tags. ``weights``: by column, that of its loss beside the parser's."""

    weights: dict[str, float] = field(default=MISSING, metadata=_LOSS_WEIGHT)


@dataclass
class BiaffineSettings(BiaffineSpec):
    """How training asks the encoder for heads. ``weight``: that of the loss beside the parser's."""

    weight: float = field(default=MISSING, metadata=_LOSS_WEIGHT)


@dataclass
class EncoderSettings(BiLSTMSpec):
    """The encoder of sentences, and what slots read of it."""

    tagger: TaggerSettings | None = None
    heads: BiaffineSettings | None = None
    max_grad_norm: float = field(default=MISSING, metadata=between(0, 1e9, "the norm of a gradient", above=True))
    slots: dict[str, list[str]] = MISSING


@dataclass
class OptimizerSettings:
    """How the classifier is fitted; see training/fitting/trainer.py."""

    name: str = MISSING
    learning_rate: float = MISSING
    schedule: str = MISSING
    schedule_over: str = MISSING
    momentum: float = MISSING
    weight_decay: float = MISSING
    batch_size: int = MISSING


@dataclass
class OnlineSettings:
    """How a linear model learns; see training/passes/online.py."""

    mode: str = MISSING
    iterations: int = MISSING
    explore_after: int = MISSING
    follow: float = MISSING
    sentences: str = MISSING
    feats: bool = MISSING


@dataclass
class FirstPass:
    """The pass over gold computations."""

    trees: str = MISSING
    epochs: int = MISSING
    model: str | None = None


@dataclass
class SecondPass:
    """The pass over the parser's own computations; see exploration.py."""

    trees: str | None = MISSING
    epochs: int = MISSING
    target: str = MISSING
    start_from_first_pass: bool = MISSING
    examples: str = MISSING
    explore_every: int = MISSING
    policy: str = MISSING
    follow: float = MISSING


@dataclass
class DistillationSettings:
    """What the second pass learns from other models, beside the oracle; see training/examples/teacher.py."""

    teacher: Any = None  # str | list[str] | None, for which OmegaConf has no type
    weight: float = MISSING
    temperature: float = MISSING
    over: str = MISSING


@dataclass
class BeamTrainingSettings:
    """The pass over whole computations; see training/fitting/beam_objective.py and exact_objective.py. None: only for a beam.

    ``start``: the model that it begins with.
    """

    start: str | None = None
    epochs: int = MISSING
    update: str | None = None
    gold_size: int | None = MISSING
    learning_rate: float = MISSING
    batch_sentences: int = MISSING


@dataclass
class BeamSettings:
    """How the trained parser searches; see beam_settings.py. ``training``: of global training alone; None: only for a beam."""

    name: str = MISSING
    size: int | None = MISSING
    merge: str | None = MISSING
    training: BeamTrainingSettings | None = None


@dataclass
class LatticeSettings:
    """Word lattices of the parts of the treebank, and how they are learned from; see training/examples/lattices.py."""

    train: str | None = None
    dev: str | None = None
    test: str | None = None
    lookahead: int = MISSING
    gold: str = MISSING
    max_arcs: int | None = None
    choices: bool = MISSING
    beam: int = MISSING


@dataclass
class TensorBoardSettings:
    """What the events of a run hold besides curves; see training/observers/tensorboard.py."""

    trees: int = MISSING
    figures: bool = MISSING
    projector: bool = MISSING


@dataclass
class Column:
    """A column of Table 7, Nederhof (2019): the trees of the two passes, and the oracle of the second with its ties."""

    first_pass: str = MISSING
    second_pass: str | None = MISSING
    oracle: str = MISSING
    ties: str | None = None
