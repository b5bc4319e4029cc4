"""The settings of a training run, as hydra composes them from configs/: their names, types and ranges, and what they depend on.

A group of which there are several has a dataclass for each choice, so that hydra itself refuses a key that the choice does not
have: ``model=`` chooses the class of all settings (MODELS), ``beam=`` that of ``beam`` (BEAMS). A number says its range, and a
setting that is read only beside a certain other one says beside which. The values are in configs/, and what they are for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from parser.beam_settings import MAX_SIZE
from parser.model_folder import MAX_LOOKAHEAD
from parser.network_spec import BiaffineSpec, BiLSTMSpec, CharacterSpec, MlpSpec, TaggerSpec, between
from parser.settings.choices import (
    ExampleUse,
    Keep,
    Mode,
    OnlineSentences,
    OptimizerName,
    Over,
    Policy,
    Schedule,
    ScheduleSpan,
    Segmenter,
    Target,
    Tokenizer,
    TrainingTrees,
    UpdateStep,
    VocabularySource,
)

_EPOCHS = 100_000
_NETWORK = "model=mlp or model=bilstm"


def number(lowest: float, highest: float, what: str, *, default: Any = MISSING, read: str = "", **ends: bool) -> Any:
    """A field that is a number, or a dictionary of numbers, with its range; ``ends``: above, below; ``read``: see setting()."""
    return setting(default, read=read, **between(lowest, highest, what, **ends))


def setting(default: Any = MISSING, *, read: str = "", **metadata: Any) -> Any:
    """A field; ``read``: the settings that it is read beside, such as "KEY=VALUE and KEY=FILE"; in capitals: any value."""
    return field(default=default, metadata={"read": read, **metadata})


def group(kind: type, *, read: str = "") -> Any:
    """A field that is a group of settings; ``read`` is of all of them."""
    return field(default_factory=kind, metadata={"read": read})


def no_group(chosen_by: str) -> Any:
    """A field that is a group of settings, or null unless ``chosen_by`` is chosen."""
    return field(default=None, metadata={"chosen_by": chosen_by})


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
    held_out: float = number(0, 0.5, "a share of sentences", default=0.0)


@dataclass
class VectorSettings:
    """How word vectors are trained, or where they are read; see data/word_vectors.py."""

    file: str | None = None
    limit: int | None = number(1, 1e9, "the number of vectors", read="vectors.file=FILE", default=None)
    restrict: bool = setting(False, read="vectors.file=FILE")
    dimensions: int = number(1, 10_000, "the length of a vector")
    window: int = number(1, 1000, "the number of words to either side")
    epochs: int = number(1, _EPOCHS, "the number of epochs")
    min_count: int = number(1, 1e9, "the lowest count of a form")
    skip_gram: bool = MISSING
    attribute: str | None = MISSING
    trained: bool = MISSING


@dataclass
class ClassifierSettings(MlpSpec):
    """The hidden layer. ``word_dropout``: see training/fitting/word_dropout.py."""

    word_dropout: float = number(0, 1e6, "the constant of word dropout")


@dataclass
class TaggerSettings(TaggerSpec):
    """How the encoder predicts tags. ``weights``: by column, that of its loss beside the parser's."""

    weights: dict[str, float] = number(0, 1e6, "the weight of a loss", above=True)


@dataclass
class BiaffineSettings(BiaffineSpec):
    """The biaffine scorer, an auxiliary task. ``weight``: of its loss relative to the parser's."""

    weight: float = number(0, 1e6, "the weight of a loss", above=True)


@dataclass
class EncoderSettings(BiLSTMSpec):
    """The encoder of sentences, and what slots read of it."""

    characters: CharacterSpec | None = no_group(chosen_by="recipe=text model=bilstm")
    tagger: TaggerSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    heads: BiaffineSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    max_grad_norm: float = number(0, 1e9, "the norm of a gradient", above=True)
    slots: dict[str, list[str]] = MISSING


@dataclass
class OptimizerSettings:
    """How the classifier is fitted; see training/fitting/."""

    name: OptimizerName = MISSING
    learning_rate: float = number(0, 1e6, "the learning rate", above=True)
    schedule: Schedule = MISSING
    schedule_over: ScheduleSpan = MISSING
    momentum: float = number(0, 1, "the momentum", below=True, read="optimizer.name=sgd")
    weight_decay: float = number(0, 1, "the weight decay")
    batch_size: int = number(1, 1e6, "the number of examples in a batch")


@dataclass
class FirstPass:
    """The pass over gold computations."""

    trees: TrainingTrees = MISSING
    epochs: int = number(1, _EPOCHS, "the number of epochs")
    model: str | None = None


@dataclass
class SecondPass:
    """The pass over the parser's own computations; see training/examples/exploration.py."""

    trees: TrainingTrees | None = MISSING
    epochs: int = number(1, _EPOCHS, "the number of epochs")
    target: Target = MISSING
    start_from_first_pass: bool = MISSING
    examples: ExampleUse = MISSING
    explore_every: int = number(0, _EPOCHS, "the number of epochs between explorations")
    policy: Policy = MISSING
    follow: float = number(0, 1, "a probability", read="second_pass.policy=mixed")


@dataclass
class DistillationSettings:
    """What the second pass learns from other models, beside the oracle; see training/examples/teacher.py."""

    teacher: Any = None  # str | list[str] | None, for which OmegaConf has no type
    weight: float = number(0, 1e6, "the weight of a loss", above=True, read="distillation.teacher=RUN_FOLDER")
    temperature: float = number(0, 1e3, "what scores are divided by", above=True, read="distillation.teacher=RUN_FOLDER")
    over: Over = setting(read="distillation.teacher=RUN_FOLDER")


@dataclass
class LatticeSettings:
    """Word lattices of the parts of the treebank, and how they are learned from; see training/examples/lattices.py."""

    train: str | None = None
    dev: str | None = None
    test: str | None = None
    lookahead: int = number(1, MAX_LOOKAHEAD, "the number of words ahead", read="lattice.train=FILE")
    gold: str = setting(read="lattice.train=FILE")
    max_arcs: int | None = number(1, 1e9, "the number of arcs", read="lattice.train=FILE", default=None)
    choices: bool = setting(read="lattice.train=FILE")
    beam: int = number(1, MAX_SIZE, "the number of items", read="lattice.train=FILE and beam=none")


@dataclass
class OnlineSettings:
    """How a linear model learns; see training/passes/online.py."""

    mode: Mode = MISSING
    iterations: int = number(1, _EPOCHS, "the number of iterations")
    explore_after: int = number(0, _EPOCHS, "the number of iterations without exploration")
    follow: float = number(0, 1, "a probability")
    sentences: OnlineSentences = MISSING
    feats: bool = MISSING


@dataclass
class BeamSettings:
    """How the trained parser searches: beam=none, greedily."""

    name: str = MISSING


@dataclass
class LocalBeamSettings(BeamSettings):
    """With a beam, over the probabilities of the transitions."""

    size: int = number(1, MAX_SIZE, "the number of items")
    merge: str = MISSING


@dataclass
class ExactTrainingSettings:
    """The pass over whole computations. ``start``: the model that it begins with."""

    start: str | None = None
    epochs: int = number(1, _EPOCHS, "the number of epochs")
    learning_rate: float = number(0, 1e6, "the learning rate", above=True, read=_NETWORK)
    batch_sentences: int = number(1, 1e6, "the number of sentences in a batch", read=_NETWORK)


@dataclass
class BeamTrainingSettings(ExactTrainingSettings):
    """The pass over whole computations that compete in a beam; see training/fitting/."""

    update: UpdateStep = MISSING
    gold_size: int = number(1, MAX_SIZE, "the number of gold items")


@dataclass
class GlobalBeamSettings(LocalBeamSettings):
    """With a beam, over scores that are trained for it."""

    training: BeamTrainingSettings = field(default_factory=BeamTrainingSettings)


@dataclass
class ExactSettings(BeamSettings):
    """Exactly; ``training``: None: over the probabilities of the transitions."""

    training: ExactTrainingSettings | None = None


@dataclass
class TensorBoardSettings:
    """What the events of a run hold besides curves; see training/observers/tensorboard.py."""

    trees: int = number(0, 1000, "the number of sentences")
    figures: bool = MISSING
    projector: bool = setting(read=_NETWORK)


@dataclass
class Column:
    """A column of Table 7, Nederhof (2019): the trees of the two passes, and the oracle of the second with its ties."""

    first_pass: TrainingTrees = MISSING
    second_pass: TrainingTrees | None = MISSING
    oracle: str = MISSING
    ties: str | None = None


@dataclass
class Settings:
    """What every run depends on, but for the files themselves."""

    treebank: TreebankFiles = field(default_factory=TreebankFiles)
    table7: dict[str, Column] = field(default_factory=dict)
    column: int | None = setting(read=_NETWORK)
    recipe: str = setting(read=_NETWORK)
    system: str = MISSING
    degree: int | None = number(1, 9, "the degree of a transition system", default=None)
    model: str = MISSING
    oracle: str = MISSING
    strategy: str = MISSING
    ties: str | None = None
    projectivization: str = MISSING
    vocabulary_from: VocabularySource = setting(read=_NETWORK)
    seed: int = number(0, 2**32 - 1, "a seed")
    device: str = MISSING
    threads: int = number(1, 1024, "the number of threads")
    single_root: bool = MISSING
    keep: Keep = MISSING
    resume: bool = MISSING
    tokenizer: Tokenizer = setting(Tokenizer.none)
    segmenter: Segmenter = setting(Segmenter.bilstm, read="tokenizer=udpipe")
    paths: Paths = field(default_factory=Paths)
    vectors: VectorSettings = group(VectorSettings, read=_NETWORK)
    features: dict[str, list[str]] = setting(read=_NETWORK)
    embeddings: dict[str, int] = number(1, 10_000, "the length of a vector", read=_NETWORK)
    classifier: ClassifierSettings = setting(read=_NETWORK)
    optimizer: OptimizerSettings = group(OptimizerSettings, read=_NETWORK)
    first_pass: FirstPass = group(FirstPass, read=_NETWORK)
    second_pass: SecondPass = group(SecondPass, read=_NETWORK)
    beam: BeamSettings = field(default_factory=BeamSettings)
    tensorboard: TensorBoardSettings = field(default_factory=TensorBoardSettings)


@dataclass
class MlpSettings(Settings):
    """Those of model=mlp."""

    distillation: DistillationSettings = field(default_factory=DistillationSettings)
    lattice: LatticeSettings = field(default_factory=LatticeSettings)


@dataclass
class BiLSTMSettings(Settings):
    """Those of model=bilstm."""

    encoder: EncoderSettings = MISSING


@dataclass
class LinearSettings(Settings):
    """Those of model=linear."""

    online: OnlineSettings = field(default_factory=OnlineSettings)


MODELS: dict[str, type[Settings]] = {"mlp": MlpSettings, "bilstm": BiLSTMSettings, "linear": LinearSettings}
BEAMS: dict[str, type[BeamSettings]] = {
    "none": BeamSettings,
    "local": LocalBeamSettings,
    "global": GlobalBeamSettings,
    "exact": ExactSettings,
}
