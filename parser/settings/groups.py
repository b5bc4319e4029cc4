"""The settings of a training run, as hydra composes them from configs/: their names,
types and ranges.

A group with choices has a dataclass for each choice, so that hydra itself refuses a key that the
choice does not have: ``model=`` chooses the class of all settings (MODELS), ``beam=`` the class of
``beam`` (BEAMS). The field of a number declares its range, the field of a word its possible values;
rules.py checks how settings fit one another. Members of enumerations are named as on the command
line. configs/ has the values and explains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Any, get_type_hints

from omegaconf import MISSING

import oracles
from oracles import arc_eager
from oracles.errors import OptimalStepError
from parser.beam_settings import MAX_SIZE, Merge
from parser.data.attributes import ATTRIBUTES
from parser.data.word_vectors import VectorTraining
from parser.lattices.gold_paths import MissingPath
from parser.model_folder import MAX_LOOKAHEAD
from parser.network_spec import (
    BiLSTMSpec,
    CharacterSpec,
    HeadSpec,
    LemmaSpec,
    MlpSpec,
    Range,
    TaggerSpec,
    between,
    dataclass_of,
    range_of,
)


class SettingsError(OptimalStepError):
    """A setting has an invalid value; the message names the key and lists the valid values."""


class PathKind(StrEnum):
    """What a path among the settings names.

    * FILE: a file that is read.
    * MODEL: the folder of a run or of a model.
    * PRETRAINED: the folder of a pretrained encoder.
    * FOLDER: a folder in which files are looked up.
    * OUTPUT: a folder that is written.
    """

    FILE = "file"
    MODEL = "model"
    PRETRAINED = "pretrained"
    FOLDER = "folder"
    OUTPUT = "output"


KeptEpoch = StrEnum("KeptEpoch", ["last", "best"])
"""Which epoch of a pass is kept: the last, or the best one on dev."""

OptimizerName = StrEnum("OptimizerName", ["sgd", "adam"])
Schedule = StrEnum("Schedule", ["constant", "cosine", "linear"])

ScheduleSpan = StrEnum("ScheduleSpan", ["pass", "run"])
"""Whether the learning rate falls over each pass, or over the first two together."""

OnTreebankError = StrEnum("OnTreebankError", ["stop", "skip"])
"""What to do with a faulty sentence of the treebank: end the run, or leave it out."""

TokenizerName = StrEnum("TokenizerName", ["none", "characters"])
SegmenterName = StrEnum("SegmenterName", ["none", "auto", "bilstm"])

TrainingTrees = StrEnum("TrainingTrees", ["projective_subset", "projectivized", "original"])
"""Which trees of the training part a pass works on."""

VocabularySource = StrEnum("VocabularySource", ["all", "first_pass"])
"""Which training sentences vocabularies and word vectors are made from: all,
or those of the first pass.
"""

ExampleUse = StrEnum("ExampleUse", ["replace", "join"])
"""How the second pass uses the first pass's examples."""

Mode = StrEnum("Mode", ["static", "nondet", "explore"])
"""Which transitions an online learner updates towards, and along which computations.

* static: the optimal transition of a gold computation that comes first in the eager order.
* nondet: all optimal transitions, on gold computations.
* explore: all optimal transitions, along the parser's own predictions.
"""

OnlineSentences = StrEnum("OnlineSentences", ["all", "projective"])
"""Which sentences an online learner reads."""

Target = StrEnum("Target", ["own_best", "fixed_order"])
"""What an example teaches where several transitions are optimal.

* own_best: the optimal output that the classifier scores highest (Nederhof 2019 leaves the choice
  open).
* fixed_order: the optimal transition that comes first in the system's eager order,
  which attaches as soon as possible.
"""

Policy = StrEnum("Policy", ["prediction", "mixed", "sample"])
"""Which transitions exploration takes.

* prediction: the transition that the classifier scores highest (Nederhof 2019, Section 8).
* mixed: the prediction with a given probability, otherwise the optimal transition that the
  classifier scores highest (Goldberg and Nivre 2012, Algorithm 3).
* sample: a transition drawn from the classifier's distribution over the applicable outputs.
"""

UpdateStep = StrEnum("UpdateStep", ["early", "max_violation"])
"""The step of a search that training uses.

* early: the first step without a gold item in the beam; the last step if there always is one
  (Collins and Roark 2004).
* max_violation: the step with the highest loss (Huang, Fayong and Guo 2012).
"""

CHANGES = ("capitals", "lower", "quotes")
"""The changes that training makes to the forms of sentences, at most one to a sentence; see
training/examples/augmentation.py.
"""

AUGMENTS = (*CHANGES, "unfinished")
"""The ways in which training changes sentences: a change of the forms, or no final mark."""

_EPOCHS = 100_000


@dataclass(frozen=True)
class PathSetting:
    """The mark of a setting that names a path; see paths.py.

    Attributes:
        kind: what the path names.
        several: whether it may be a list of paths.
        inside: whether it may be a dictionary, whose values are paths.
    """

    kind: PathKind
    several: bool = False
    inside: bool = False


_FILE, _FILES = PathSetting(PathKind.FILE), PathSetting(PathKind.FILE, several=True)
_SPLIT_FILES = PathSetting(PathKind.FILE, several=True, inside=True)
_FOLDER = PathSetting(PathKind.MODEL)
_PRETRAINED, _PLACE = PathSetting(PathKind.PRETRAINED), PathSetting(PathKind.FOLDER)


def number(
    lowest: float, highest: float, what: str, *, default: Any = MISSING, **ends: bool
) -> Any:
    """Return a field that is a number, or a dictionary of numbers, with its range. ``ends`` are
    ``above`` and ``below``; see Range.
    """
    return field(default=default, metadata=between(lowest, highest, what, **ends))


def word(words: Iterable[str | None]) -> Any:
    """Return a field whose value is one of the known words."""
    return field(default=MISSING, metadata={"words": [*words]})


def path(kind: PathSetting, default: Any = None) -> Any:
    """Return a field that names a path."""
    return field(default=default, metadata={"path": kind})


def no_group(chosen_by: str) -> Any:
    """Return a field that is a group of settings, or null unless ``chosen_by`` is chosen."""
    return field(default=None, metadata={"chosen_by": chosen_by})


@dataclass
class Paths:
    """Folders of this machine."""

    treebanks: str = path(_PLACE, MISSING)


@dataclass
class TreebankFiles:
    """The parts of a treebank; a missing part is null.

    A part is a file, a list of files, or, for a model of several treebanks, a dictionary of these
    by treebank. ``held_out`` is the share of the training sentences used as dev part if there is no
    dev file, or a list of two shares, for dev and test. ``fold`` is the number of the fold that is
    the test part; null: each in turn.
    """

    name: str = MISSING
    # str | list[str] | dict[str, str | list[str]] | None, for which OmegaConf has no type
    train: Any = path(_SPLIT_FILES)
    dev: Any = path(_SPLIT_FILES)
    test: Any = path(_SPLIT_FILES)
    held_out: Any = 0.0  # float | list[float], for which OmegaConf has no type
    folds: int | None = number(2, 1000, "the number of folds", default=None)
    fold: int | None = number(1, 1000, "the number of a fold", default=None)
    on_error: OnTreebankError = OnTreebankError.stop
    partial: bool = False


@dataclass
class VectorSettings:
    """How word vectors are trained, or where they are read from; see data/word_vectors.py."""

    file: str | None = path(_FILE)
    limit: int | None = number(1, 1e9, "the number of vectors", default=None)
    restrict: bool = False
    dimensions: int = number(1, 10_000, "the length of a vector")
    window: int = number(1, 1000, "the number of words to either side")
    epochs: int = number(1, _EPOCHS, "the number of epochs")
    min_count: int = number(1, 1e9, "the lowest count of a form")
    skip_gram: bool = MISSING
    attribute: str | None = word([None, *ATTRIBUTES])
    trained: bool = MISSING
    subwords: str | None = path(_PRETRAINED)

    @property
    def training(self) -> VectorTraining:
        """How they are trained, if they are not read from a file."""
        return VectorTraining(
            self.dimensions, self.window, self.epochs, self.min_count, self.skip_gram
        )


@dataclass
class ClassifierSettings(MlpSpec):
    """The hidden layer. For ``word_dropout``, see training/fitting/sentence_batches.py."""

    word_dropout: float = number(0, 1e6, "the constant of word dropout")


@dataclass
class TaggerSettings(TaggerSpec):
    """How the encoder predicts tags. ``weights`` has the weight of each column's loss relative to
    the parser's loss.
    """

    weights: dict[str, float] = number(0, 1e6, "the weight of a loss", above=True)


@dataclass
class HeadSettings(HeadSpec):
    """The biaffine scorer, an auxiliary task. ``weight`` is the weight of its loss relative to the
    parser's loss.
    """

    weight: float = number(0, 1e6, "the weight of a loss", above=True)


@dataclass
class LemmaSettings(LemmaSpec):
    """How the encoder predicts lemmas, which it learns after the parser, in ``epochs``; see
    training/lemma_training.py.
    """

    epochs: int = number(1, _EPOCHS, "the number of epochs")


@dataclass
class EncoderSettings(BiLSTMSpec):
    """The encoder of sentences, and the slots that read its output.

    ``augment`` has the share of the training sentences that each epoch changes, by name in
    AUGMENTS.
    """

    characters: CharacterSpec | None = no_group(chosen_by="recipe=text model=bilstm")
    tagger: TaggerSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    heads: HeadSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    lemmas: LemmaSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    augment: dict[str, float] = number(0, 1, "a share of sentences")
    pretrained: str | None = path(_PRETRAINED)
    slots: dict[str, list[str]] = MISSING


@dataclass
class PretrainedSettings:
    """How a pretrained encoder is used, and trained; see networks/pretrained.py."""

    tune: bool = MISSING
    learning_rate: float = number(0, 1e6, "the learning rate", above=True)
    warmup: int = number(0, 1e9, "the number of updates")
    save: bool = MISSING
    cache: str | None = path(_PLACE)
    layers: int | None = number(1, 1000, "the number of layers", default=None)
    pieces: int | None = number(1, 1e7, "the number of pieces", default=None)


@dataclass
class OptimizerSettings:
    """How the classifier is fitted; see training/fitting/."""

    name: OptimizerName = MISSING
    learning_rate: float = number(0, 1e6, "the learning rate", above=True)
    schedule: Schedule = MISSING
    schedule_over: ScheduleSpan = MISSING
    batch_size: int = number(1, 1e6, "the number of examples in a batch")


@dataclass
class FirstPass:
    """The pass over gold computations."""

    trees: TrainingTrees = MISSING
    epochs: int = number(1, _EPOCHS, "the number of epochs")


@dataclass
class SecondPass:
    """The pass over the parser's own computations; see training/examples/exploration.py."""

    trees: TrainingTrees | None = MISSING
    epochs: int = number(1, _EPOCHS, "the number of epochs")
    most_words: int | None = number(1, 1e9, "the number of words")
    target: Target = MISSING
    start_from_first_pass: bool = MISSING
    examples: ExampleUse = MISSING
    explore_every: int = number(0, _EPOCHS, "the number of epochs between explorations")
    policy: Policy = MISSING
    exploration_probability: float = number(0, 1, "a probability")


@dataclass
class LatticeSettings:
    """Word lattices of the parts of the treebank, and how training uses them; see
    training/examples/lattices.py.
    """

    train: str | None = path(_FILE)
    dev: str | None = path(_FILE)
    test: str | None = path(_FILE)
    lookahead: int = number(1, MAX_LOOKAHEAD, "the number of words ahead")
    gold: str = word(MissingPath)
    max_arcs: int | None = number(1, 1e9, "the number of arcs")
    choices: bool = MISSING
    beam: int = number(1, MAX_SIZE, "the number of items")


@dataclass
class OnlineSettings:
    """How a linear model learns; see training/passes/online.py."""

    mode: Mode = MISSING
    iterations: int = number(1, _EPOCHS, "the number of iterations")
    explore_after: int = number(0, _EPOCHS, "the number of iterations without exploration")
    exploration_probability: float = number(0, 1, "a probability")
    sentences: OnlineSentences = MISSING


@dataclass
class BeamSettings:
    """How the trained parser searches; with beam=none it is greedy."""

    name: str = MISSING


@dataclass
class LocalBeamSettings(BeamSettings):
    """A beam over the probabilities of the transitions."""

    size: int = number(1, MAX_SIZE, "the number of items")
    merge: str = word(Merge)


@dataclass
class BeamTrainingSettings:
    """The pass over whole computations that compete in a beam; see training/fitting/."""

    epochs: int = number(1, _EPOCHS, "the number of epochs")
    learning_rate: float = number(0, 1e6, "the learning rate", above=True)
    batch_sentences: int = number(1, 1e6, "the number of sentences in a batch")
    update: UpdateStep = MISSING
    gold_size: int = number(1, MAX_SIZE, "the number of gold items")


@dataclass
class GlobalBeamSettings(LocalBeamSettings):
    """A beam over scores that are trained for it."""

    training: BeamTrainingSettings = field(default_factory=BeamTrainingSettings)


@dataclass
class TensorBoardSettings:
    """What is logged besides curves; see training/observers/tensorboard.py."""

    trees: int = number(0, 1000, "the number of sentences")
    figures: bool = MISSING


@dataclass
class Column:
    """A column of Table 7, Nederhof (2019): the trees of both passes,
    and oracle and ties of the second pass.
    """

    first_pass: TrainingTrees = MISSING
    second_pass: TrainingTrees | None = MISSING
    oracle: str = MISSING
    ties: str | None = None


@dataclass
class Settings:
    """All that determines a run, except the contents of files."""

    treebank: TreebankFiles = field(default_factory=TreebankFiles)
    table7: dict[str, Column] = field(default_factory=dict)
    column: int | None = MISSING
    recipe: str = MISSING
    system: str = MISSING
    degree: int | None = number(1, 9, "the degree of a transition system", default=None)
    nonmonotonic: bool | None = None
    model: str = MISSING
    oracle: str = MISSING
    strategy: str = word(oracles.Strategy)
    ties: str | None = word([None, *oracles.TIES[1:], *arc_eager.TIES])
    projectivization: str = word(oracles.PROJECTIVIZATIONS)
    vocabulary_from: VocabularySource = MISSING
    start: str | None = path(_FOLDER)
    seed: int = number(0, 2**32 - 1, "a seed")
    device: str = MISSING
    threads: int = number(1, 1024, "the number of threads")
    single_root: bool = MISSING
    keep: KeptEpoch = MISSING
    resume: bool = MISSING
    tokenizer: TokenizerName = TokenizerName.none
    segmenter: SegmenterName = SegmenterName.auto
    paths: Paths = field(default_factory=Paths)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    features: dict[str, list[str]] = MISSING
    embeddings: dict[str, int] = number(1, 10_000, "the length of a vector")
    classifier: ClassifierSettings = MISSING
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    first_pass: FirstPass = field(default_factory=FirstPass)
    second_pass: SecondPass = field(default_factory=SecondPass)
    beam: BeamSettings = field(default_factory=BeamSettings)
    tensorboard: TensorBoardSettings = field(default_factory=TensorBoardSettings)


@dataclass
class MlpSettings(Settings):
    """The settings with model=mlp."""

    lattice: LatticeSettings = field(default_factory=LatticeSettings)


@dataclass
class BiLSTMSettings(Settings):
    """The settings with model=bilstm."""

    encoder: EncoderSettings = MISSING
    pretrained: PretrainedSettings = field(default_factory=PretrainedSettings)


@dataclass
class LinearSettings(Settings):
    """The settings with model=linear."""

    online: OnlineSettings = field(default_factory=OnlineSettings)


MODELS: dict[str, type[Settings]] = {
    "mlp": MlpSettings,
    "bilstm": BiLSTMSettings,
    "linear": LinearSettings,
}
BEAMS: dict[str, type[BeamSettings]] = {
    "none": BeamSettings,
    "local": LocalBeamSettings,
    "global": GlobalBeamSettings,
}


@dataclass
class Key:
    """A setting, or a group of them.

    Attributes:
        name: the name with dots.
        choices: the choices that have it, such as "beam=local"; empty: every run has it.
        type, range, path: what its field declares.
        optional: whether its default is null.
    """

    name: str
    choices: list[str]
    type: Any
    range: Range | None = None
    path: PathSetting | None = None
    optional: bool = False

    @property
    def is_group(self) -> bool:
        """Whether it is a group of settings."""
        return dataclass_of(self.type) is not None

    @property
    def is_dictionary(self) -> bool:
        """Whether users choose the keys in it."""
        return str(self.type).startswith("dict")


@cache
def keys() -> dict[str, Key]:
    """Return every setting, for any choice of the groups, except the columns of Table 7."""
    by_name: dict[str, Key] = {}
    every = [*keys_of(Settings)]
    every += [key for name, model in MODELS.items() for key in keys_of(model, "", f"model={name}")]
    every += [key for name, kind in BEAMS.items() for key in keys_of(kind, "beam.", f"beam={name}")]
    for key in every:
        first = by_name.setdefault(key.name, key)
        first.choices += [
            choice for choice in key.choices if first.choices and choice not in first.choices
        ]
    return by_name


@cache
def path_settings() -> dict[str, PathSetting]:
    """Return the settings that name paths."""
    return {key.name: key.path for key in keys().values() if key.path is not None}


def keys_of(kind: type, prefix: str = "", choice: str = "") -> Iterator[Key]:
    """Yield the settings that a dataclass declares, and the settings of its groups."""
    types = get_type_hints(kind)
    for setting in fields(kind):
        name = f"{prefix}{setting.name}"
        hint = types[setting.name]
        by = setting.metadata.get("chosen_by", choice)
        yield Key(
            name,
            [by] if by else [],
            hint,
            range_of(setting),
            setting.metadata.get("path"),
            setting.default is None,
        )
        if (nested := dataclass_of(hint)) is not None:
            yield from keys_of(nested, f"{name}.", by)
