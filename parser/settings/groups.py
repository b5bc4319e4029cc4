"""The settings of a training run, as hydra composes them from configs/: their names, types and ranges.

A group of which there are several has a dataclass for each choice, so that hydra itself refuses a key that the choice does not
have: ``model=`` chooses the class of all settings (MODELS), ``beam=`` that of ``beam`` (BEAMS), ``tokenizer=`` that of
``tokenizer`` (TOKENIZERS). A number says its range, and a word what it can be; rules.py has what settings have to do with one
another. Members of enumerations are named as on the command line. The values are in configs/, and what they are for.
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
from parser.beam_settings import MAX_SIZE, Merge
from parser.data.attributes import ATTRIBUTES
from parser.data.word_vectors import VectorTraining
from parser.lattices.gold_paths import MissingPath
from parser.model_folder import MAX_LOOKAHEAD
from parser.network_spec import (
    BiaffineSpec,
    BiLSTMSpec,
    CharacterSpec,
    LemmaSpec,
    MlpSpec,
    Range,
    TaggerSpec,
    between,
    dataclass_of,
    range_of,
)


class SettingsError(ValueError):
    """A setting has a value that it cannot have; the message names the key and lists what it can be."""


class PathKind(StrEnum):
    """What a path among the settings is: of something that is there, or, OUTPUT, of a folder that is written.

    * FILE: it is read.
    * MODEL: a run's folder, or a model's.
    * PRETRAINED: the folder of a pretrained encoder.
    * FOLDER: one in which something is looked for.
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

OnFault = StrEnum("OnFault", ["stop", "skip"])
"""What to do with a sentence of the treebank that cannot be used: end the run, or leave it out."""

SegmenterName = StrEnum("SegmenterName", ["none", "bilstm"])

TrainingTrees = StrEnum("TrainingTrees", ["projective_subset", "projectivized", "original"])
"""Which trees of the training part a pass works on."""

VocabularySource = StrEnum("VocabularySource", ["all", "first_pass"])
"""Which training sentences vocabularies and word vectors are made of: all, or those that the first pass learns from."""

ExampleUse = StrEnum("ExampleUse", ["replace", "join"])
"""How the second pass uses the first pass's examples."""

Mode = StrEnum("Mode", ["static", "nondet", "explore"])
"""Which transitions an online learner updates towards, and along which computations.

* static: of the optimal transitions of a gold computation, the one that comes first in the eager order.
* nondet: all optimal transitions, on gold computations.
* explore: all optimal transitions, along the parser's own predictions.
"""

OnlineSentences = StrEnum("OnlineSentences", ["all", "projective"])
"""Which sentences are learned from."""

Target = StrEnum("Target", ["own_best", "fixed_order"])
"""What an example teaches where several transitions are optimal.

* own_best: the optimal output that the classifier scores highest (Nederhof 2019 leaves the choice open).
* fixed_order: the first optimal transition of the system's eager order: attach as soon as possible.
"""

Policy = StrEnum("Policy", ["prediction", "mixed", "sample"])
"""Which transitions exploration takes.

* prediction: the one that the classifier scores highest (Nederhof 2019, Section 8).
* mixed: that one with a certain probability, otherwise the best optimal one (Goldberg and Nivre 2012, Algorithm 3).
* sample: one drawn from the classifier's distribution over the applicable outputs.
"""

UpdateStep = StrEnum("UpdateStep", ["early", "max_violation"])
"""The step of a search that is learned from.

* early: the first without a gold item in the beam; the last if there always is one (Collins and Roark 2004).
* max_violation: the one with the highest loss (Huang, Fayong and Guo 2012).
"""

_EPOCHS = 100_000


@dataclass(frozen=True)
class PathSetting:
    """That a setting names a path; see paths.py.

    Attributes:
        kind: what is there.
        several: whether it may be a list of paths.
        inside: whether it may be a dictionary, whose values are paths.
    """

    kind: PathKind
    several: bool = False
    inside: bool = False


_FILE, _FILES = PathSetting(PathKind.FILE), PathSetting(PathKind.FILE, several=True)
_PARTS = PathSetting(PathKind.FILE, several=True, inside=True)
_FOLDER, _FOLDERS = PathSetting(PathKind.MODEL), PathSetting(PathKind.MODEL, several=True)
_PRETRAINED, _PLACE = PathSetting(PathKind.PRETRAINED), PathSetting(PathKind.FOLDER)


def number(lowest: float, highest: float, what: str, *, default: Any = MISSING, **ends: bool) -> Any:
    """Return a field that is a number, or a dictionary of numbers, with its range; ``ends``: above, below."""
    return field(default=default, metadata=between(lowest, highest, what, **ends))


def word(known: Iterable[str | None]) -> Any:
    """Return a field that is one of the known words, which are no enumeration here."""
    return field(default=MISSING, metadata={"words": [*known]})


def path(kind: PathSetting, default: Any = None) -> Any:
    """Return a field that names a path."""
    return field(default=default, metadata={"path": kind})


def no_group(chosen_by: str) -> Any:
    """Return a field that is a group of settings, or null unless ``chosen_by`` is chosen."""
    return field(default=None, metadata={"chosen_by": chosen_by})


@dataclass
class Paths:
    """Where things lie on this machine."""

    treebanks: str = path(_PLACE, MISSING)


@dataclass
class TreebankFiles:
    """The parts of a treebank; null where there is none.

    Each is a file or a list of files, or these by the name of a treebank, where one model is of several. ``held_out`` is the
    share of the training sentences that are the dev part, where no file is, or a list of two, for dev and test. ``fold``: of
    ``folds``, the one that is the test part; null: each in its turn.
    """

    name: str = MISSING
    # str | list[str] | dict[str, str | list[str]] | None, for which OmegaConf has no type
    train: Any = path(_PARTS)
    dev: Any = path(_PARTS)
    test: Any = path(_PARTS)
    held_out: Any = 0.0  # float | list[float], for which OmegaConf has no type
    folds: int | None = number(2, 1000, "the number of folds", default=None)
    fold: int | None = number(1, 1000, "the number of a fold", default=None)
    on_error: OnFault = OnFault.stop
    partial: bool = False


@dataclass
class VectorSettings:
    """How word vectors are trained, or where they are read; see data/word_vectors.py."""

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
        """How they are trained, where they are."""
        return VectorTraining(self.dimensions, self.window, self.epochs, self.min_count, self.skip_gram)


@dataclass
class ClassifierSettings(MlpSpec):
    """The hidden layer. ``word_dropout``: see training/fitting/sentence_batches.py."""

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
class LemmaSettings(LemmaSpec):
    """How the encoder predicts lemmas. ``epochs``: of learning them, after the parser; see training/lemma_training.py."""

    epochs: int = number(1, _EPOCHS, "the number of epochs")


@dataclass
class EncoderSettings(BiLSTMSpec):
    """The encoder of sentences, and what slots read of it."""

    characters: CharacterSpec | None = no_group(chosen_by="recipe=text model=bilstm")
    tagger: TaggerSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    heads: BiaffineSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    lemmas: LemmaSettings | None = no_group(chosen_by="recipe=text model=bilstm")
    pretrained: str | None = path(_PRETRAINED)
    slots: dict[str, list[str]] = MISSING


@dataclass
class PretrainedSettings:
    """How a pretrained encoder is read, and trained; see networks/pretrained.py."""

    tune: bool = MISSING
    learning_rate: float = number(0, 1e6, "the learning rate", above=True)
    warmup: int = number(0, 1e9, "the number of updates")
    save: bool = MISSING
    cache: str | None = path(_PLACE)


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
class DistillationSettings:
    """What the second pass learns from other models, beside the oracle; see training/examples/teacher.py."""

    teacher: Any = path(_FOLDERS)  # str | list[str] | None, for which OmegaConf has no type


@dataclass
class LatticeSettings:
    """Word lattices of the parts of the treebank, and how they are learned from; see training/examples/lattices.py."""

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
    """How the trained parser searches: beam=none, greedily."""

    name: str = MISSING


@dataclass
class LocalBeamSettings(BeamSettings):
    """With a beam, over the probabilities of the transitions."""

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
    """With a beam, over scores that are trained for it."""

    training: BeamTrainingSettings = field(default_factory=BeamTrainingSettings)


@dataclass
class TokenizerSettings:
    """Whether a tokenizer is trained: tokenizer=none, none."""

    name: str = MISSING


@dataclass
class UdpipeSettings(TokenizerSettings):
    """UDPipe 1's tokenizer; see text/udpipe.py."""

    epochs: int = number(1, _EPOCHS, "the number of epochs")


@dataclass
class TensorBoardSettings:
    """What the events of a run hold besides curves; see training/observers/tensorboard.py."""

    trees: int = number(0, 1000, "the number of sentences")
    figures: bool = MISSING


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
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    segmenter: SegmenterName = SegmenterName.bilstm
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
    """Those of model=mlp."""

    distillation: DistillationSettings = field(default_factory=DistillationSettings)
    lattice: LatticeSettings = field(default_factory=LatticeSettings)


@dataclass
class BiLSTMSettings(Settings):
    """Those of model=bilstm."""

    encoder: EncoderSettings = MISSING
    pretrained: PretrainedSettings = field(default_factory=PretrainedSettings)


@dataclass
class LinearSettings(Settings):
    """Those of model=linear."""

    online: OnlineSettings = field(default_factory=OnlineSettings)


MODELS: dict[str, type[Settings]] = {"mlp": MlpSettings, "bilstm": BiLSTMSettings, "linear": LinearSettings}
BEAMS: dict[str, type[BeamSettings]] = {
    "none": BeamSettings,
    "local": LocalBeamSettings,
    "global": GlobalBeamSettings,
}
TOKENIZERS: dict[str, type[TokenizerSettings]] = {"none": TokenizerSettings, "udpipe": UdpipeSettings}


@dataclass
class Key:
    """A setting, or a group of them.

    Attributes:
        name: with dots.
        choices: those of a group that have it, such as "beam=local"; none: all have it.
        type, range, path: as its field says.
        optional: whether it is null unless it is given.
    """

    name: str
    choices: list[str]
    type: Any
    range: Range | None = None
    path: PathSetting | None = None
    optional: bool = False

    @property
    def is_group(self) -> bool:
        """Whether there are settings in it."""
        return dataclass_of(self.type) is not None

    @property
    def is_dictionary(self) -> bool:
        """Whether its own keys are its user's."""
        return str(self.type).startswith("dict")


@cache
def keys() -> dict[str, Key]:
    """Every setting that there is with any choice, but the columns of Table 7."""
    found: dict[str, Key] = {}
    every = [*keys_of(Settings)]
    every += [key for name, model in MODELS.items() for key in keys_of(model, "", f"model={name}")]
    for group, kinds in (("beam", BEAMS), ("tokenizer", TOKENIZERS)):
        every += [key for name, kind in kinds.items() for key in keys_of(kind, f"{group}.", f"{group}={name}")]
    for key in every:
        known = found.setdefault(key.name, key)
        known.choices += [choice for choice in key.choices if known.choices and choice not in known.choices]
    return found


@cache
def path_settings() -> dict[str, PathSetting]:
    """The settings that name paths."""
    return {key.name: key.path for key in keys().values() if key.path is not None}


def keys_of(kind: type, prefix: str = "", choice: str = "") -> Iterator[Key]:
    """Yield the settings that a dataclass declares, and those of the groups in it."""
    types = get_type_hints(kind)
    for one in fields(kind):
        name, of, by = f"{prefix}{one.name}", types[one.name], one.metadata.get("chosen_by", choice)
        yield Key(name, [by] if by else [], of, range_of(one), one.metadata.get("path"), one.default is None)
        if (nested := dataclass_of(of)) is not None:
            yield from keys_of(nested, f"{name}.", by)
