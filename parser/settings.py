"""The typed settings of a training run. configs/train.yaml gives their values and says what each is for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

import oracles

# Choices are plain strings, checked in settings_check.py: hydra would ask for the members of an enumeration by their names in
# capitals. This module loads fast, for it does not know what the choices mean.


class SettingsError(ValueError):
    """A setting has a value that it cannot have; the message names the key and lists what it can be."""


class TrainingTrees(StrEnum):
    """Which trees of the training part a pass works on."""

    PROJECTIVE_SUBSET = "projective_subset"
    PROJECTIVIZED = "projectivized"
    ORIGINAL = "original"


class VocabularySource(StrEnum):
    """Which training sentences vocabularies and word vectors are made of: all, or those that the first pass learns from."""

    ALL = "all"
    FIRST_PASS = "first_pass"


class ExampleUse(StrEnum):
    """What becomes of the first pass's examples in the second pass."""

    REPLACE = "replace"
    JOIN = "join"


class Mode(StrEnum):
    """What is learned.

    * STATIC: of the optimal moves of a gold computation, the one that comes first in the eager order.
    * NONDET: all optimal moves, on gold computations.
    * EXPLORE: all optimal moves, along the parser's own predictions.
    """

    STATIC = "static"
    NONDET = "nondet"
    EXPLORE = "explore"


class OnlineSentences(StrEnum):
    """Which sentences are learned from."""

    ALL = "all"
    PROJECTIVE = "projective"


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
class ClassifierSettings:
    """The shape of the classifier; see classifier/classifier.py."""

    hidden: int = MISSING
    activation: str = MISSING
    dropout: float = MISSING
    input_dropout: float = MISSING
    slot_dropout: float = MISSING
    word_dropout: float = MISSING


@dataclass
class CharacterSettings:
    """How the encoder reads the characters of forms; see classifier/character_encoder.py."""

    embedding: int = MISSING
    hidden: int = MISSING
    longest: int = MISSING


@dataclass
class TaggerSettings:
    """How the encoder predicts tags; see classifier/tagger.py. ``weights``: by column, that of its loss beside the parser's."""

    layer: int = MISSING
    size: int = MISSING
    dropout: float = MISSING
    weights: dict[str, float] = MISSING


@dataclass
class EncoderSettings:
    """The encoder of sentences, and what slots read of it; see classifier/bilstm.py."""

    layers: int = MISSING
    hidden: int = MISSING
    dropout: float = MISSING
    attribute_dropout: float = MISSING
    max_grad_norm: float = MISSING
    slots: dict[str, list[str]] = MISSING
    characters: CharacterSettings | None = None
    tagger: TaggerSettings | None = None


@dataclass
class OptimizerSettings:
    """How the classifier is fitted; see training/fitter.py."""

    name: str = MISSING
    learning_rate: float = MISSING
    schedule: str = MISSING
    schedule_over: str = MISSING
    momentum: float = MISSING
    weight_decay: float = MISSING
    batch_size: int = MISSING


@dataclass
class OnlineSettings:
    """How a linear model learns; see training/online.py."""

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
    """What the second pass learns from another model, beside the oracle; see training/teacher.py."""

    teacher: str | None = None
    weight: float = MISSING
    over: str = MISSING


@dataclass
class BeamTrainingSettings:
    """The pass over whole computations; see training/beam_updates.py and training/exact_fitter.py. None: of a beam alone."""

    epochs: int = MISSING
    objective: str = MISSING
    update: str | None = MISSING
    gold_size: int | None = MISSING
    learning_rate: float = MISSING
    batch_sentences: int = MISSING


@dataclass
class BeamSettings:
    """How the trained parser searches; see beam_settings.py. ``training``: of global training alone; None: of a beam alone."""

    name: str = MISSING
    size: int | None = MISSING
    merge: str | None = MISSING
    training: BeamTrainingSettings | None = None


@dataclass
class LatticeSettings:
    """Word lattices of the parts of the treebank, and how they are learned from; see training/lattice_corpus.py."""

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
    """What the events of a run hold besides curves; see training/tensorboard.py."""

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


@dataclass
class Settings:
    """Everything that a run depends on, but for the files themselves."""

    treebank: TreebankFiles = field(default_factory=TreebankFiles)
    table7: dict[str, Column] = field(default_factory=dict)
    column: int | None = MISSING
    recipe: str = MISSING
    system: str = MISSING
    degree: int | None = None
    model: str = MISSING
    oracle: str = MISSING
    strategy: str = MISSING
    ties: str | None = None
    projectivization: str = MISSING
    vocabulary_from: str = MISSING
    seed: int = MISSING
    device: str = MISSING
    threads: int = MISSING
    single_root: bool = MISSING
    keep: str = MISSING
    resume: bool = MISSING
    tokenizer: str = "none"
    paths: Paths = field(default_factory=Paths)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    features: dict[str, list[str]] = MISSING
    embeddings: dict[str, int] = field(default_factory=dict)
    classifier: ClassifierSettings = field(default_factory=ClassifierSettings)
    encoder: EncoderSettings | None = None
    online: OnlineSettings | None = None
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    first_pass: FirstPass = field(default_factory=FirstPass)
    second_pass: SecondPass = field(default_factory=SecondPass)
    distillation: DistillationSettings = field(default_factory=DistillationSettings)
    beam: BeamSettings = field(default_factory=BeamSettings)
    lattice: LatticeSettings = field(default_factory=LatticeSettings)
    tensorboard: TensorBoardSettings = field(default_factory=TensorBoardSettings)


def check_column(settings: Settings) -> None:
    """Refuses a column that there is not. To be called first: oracle and trees follow from the column, and cannot be read else.

    Raises:
        SettingsError: names the column and lists those that there are.
    """
    if settings.column is not None and str(settings.column) not in settings.table7:
        raise SettingsError(f"column={settings.column} is unknown; known: {', '.join(settings.table7)} (configs/table7.yaml)")


def vocabulary_is_of_subset(settings: Settings) -> bool:
    """Whether vocabularies and word vectors are made of the sentences with projective trees alone."""
    source, trees = settings.vocabulary_from, settings.first_pass.trees
    return source == VocabularySource.FIRST_PASS and trees == TrainingTrees.PROJECTIVE_SUBSET


def training_files(settings: Settings) -> list[str]:
    """The files of the training part; none if there is none."""
    train = settings.treebank.train
    return [] if train is None else [train] if isinstance(train, str) else list(train)


def held_out(settings: Settings) -> float:
    """The share of the training sentences that are held out as the dev part; 0 where there is a dev part already."""
    return 0.0 if settings.treebank.dev is not None else settings.treebank.held_out


def system_options(settings: Settings) -> dict[str, int]:
    """What the transition system and its oracles are made with besides the relations."""
    return {} if settings.degree is None else {"degree": settings.degree}


def register() -> None:
    """Makes known to hydra what the defaults list of configs/train.yaml names: the schema, the group oracle, and who hears of
    sweeps.

    An oracle of your own is a choice of the group if it was registered (``oracles.register``) before.
    """
    store = ConfigStore.instance()
    for name in oracles.all_names():
        store.store(group="oracle", name=name, node={"oracle": name}, package="_global_")
    store.store(name="settings_schema", node=Settings)
    callback = {"_target_": "parser.training.sweeps.CurrentSweep"}
    store.store(group="hydra/callbacks", name="sweeps", node={"sweeps": callback}, package="hydra.callbacks")
