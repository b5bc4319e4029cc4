"""The settings of a training run, as hydra composes them from configs/: their names, types and ranges, and what they depend on.

A group of which there are several has a dataclass for each choice, so that hydra itself refuses a key that the choice does not
have: ``model=`` chooses the class of all settings (MODELS), ``beam=`` that of ``beam`` (BEAMS), ``tokenizer=`` that of
``tokenizer`` (TOKENIZERS). A number says its range, a word what it can be, and a setting that is read only beside certain
others says beside which (``read`` and ``used``, see setting()). The values are in configs/, and what they are for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

import oracles
from oracles import arc_eager
from parser.beam_settings import MAX_SIZE, Merge
from parser.data.attributes import ATTRIBUTES
from parser.lattices.gold_paths import MissingPath
from parser.model_folder import MAX_LOOKAHEAD
from parser.network_spec import BiaffineSpec, BiLSTMSpec, CharacterSpec, LemmaSpec, MlpSpec, TaggerSpec, between
from parser.settings.choices import (
    ExampleUse,
    KeptEpoch,
    Mode,
    OnFault,
    OnlineSentences,
    OptimizerName,
    PathKind,
    Policy,
    Schedule,
    ScheduleSpan,
    SegmenterName,
    Target,
    TrainingTrees,
    UpdateStep,
    VocabularySource,
)

_EPOCHS = 100_000
_NETWORK = "model=mlp or model=bilstm"
_OWN_PASSES = "start=null or beam!=global"
_PRETRAINED = "encoder.pretrained=FOLDER"
_NEW_PRETRAINED = f"start=null, and {_PRETRAINED}"
_TUNED = "pretrained.tune=true or start=RUN_FOLDER"
_OWN_VECTORS = "vectors.file=null, and start=null"
_SECOND_PASS = "second_pass.trees=TREES (column=3 to 6 have them)"


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


def number(
    lowest: float, highest: float, what: str, *, default: Any = MISSING, read: str = "", used: str = "", **ends: bool
) -> Any:
    """A field that is a number, or a dictionary of numbers, with its range; ``ends``: above, below; see setting()."""
    return setting(default, read=read, used=used, **between(lowest, highest, what, **ends))


def setting(default: Any = MISSING, *, read: str = "", used: str = "", **metadata: Any) -> Any:
    """A field.

    Args:
        default: None: null, so that any other value has been given, whoever composed the settings.
        read: beside which others it is read, such as "KEY=VALUE or KEY=VALUE, and KEY=FILE, and KEY!=VALUE"; in capitals: any
            value. Given beside others it is refused.
        used: the same, but given beside others it is only told, for a sweep may have such jobs.
        metadata: ``range`` of a number, see between(); ``words``: what it can be, where that is no enumeration of choices.py;
            ``path``: that it names one.
    """
    return field(default=default, metadata={"read": read, "used": used, **metadata})


def group(kind: type, *, read: str = "") -> Any:
    """A field that is a group of settings; ``read`` is of all of them, besides their own."""
    return field(default_factory=kind, metadata={"read": read})


def no_group(chosen_by: str) -> Any:
    """A field that is a group of settings, or null unless ``chosen_by`` is chosen."""
    return field(default=None, metadata={"chosen_by": chosen_by})


@dataclass
class Paths:
    """Where things lie on this machine."""

    treebanks: str = setting(path=PathSetting(PathKind.FOLDER))


@dataclass
class TreebankFiles:
    """The parts of a treebank; null where there is none.

    Each is a file or a list of files, or these by the name of a treebank, where one model is of several. ``held_out`` is the
    share of the training sentences that are the dev part, where no file is, or a list of two, for dev and test. ``fold``: of
    ``folds``, the one that is the test part; null: each in its turn.
    """

    name: str = MISSING
    # str | list[str] | dict[str, str | list[str]] | None, for which OmegaConf has no type
    train: Any = setting(None, path=_PARTS)
    dev: Any = setting(None, path=_PARTS)
    test: Any = setting(None, path=_PARTS)
    held_out: Any = 0.0  # float | list[float], for which OmegaConf has no type
    folds: int | None = number(2, 1000, "the number of folds", default=None, read="treebank.test=null")
    fold: int | None = number(1, 1000, "the number of a fold", default=None, read="treebank.folds=N")
    on_error: OnFault = setting(OnFault.stop)
    partial: bool = setting(False)


@dataclass
class VectorSettings:
    """How word vectors are trained, or where they are read; see data/word_vectors.py."""

    file: str | None = setting(None, read="start=null", path=_FILE)
    limit: int | None = number(1, 1e9, "the number of vectors", read="vectors.file=FILE", default=None)
    restrict: bool = setting(False, read="vectors.file=FILE")
    dimensions: int = number(1, 10_000, "the length of a vector", used=_OWN_VECTORS)
    window: int = number(1, 1000, "the number of words to either side", used=_OWN_VECTORS)
    epochs: int = number(1, _EPOCHS, "the number of epochs", used=_OWN_VECTORS)
    min_count: int = number(1, 1e9, "the lowest count of a form", used=_OWN_VECTORS)
    skip_gram: bool = setting(used=_OWN_VECTORS)
    attribute: str | None = setting(words=[None, *ATTRIBUTES])
    trained: bool = MISSING
    subwords: str | None = setting(None, path=PathSetting(PathKind.PRETRAINED), read="model=bilstm")


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
    pretrained: str | None = setting(None, path=PathSetting(PathKind.PRETRAINED))
    max_grad_norm: float = number(0, 1e9, "the norm of a gradient", above=True)
    slots: dict[str, list[str]] = MISSING


@dataclass
class PretrainedSettings:
    """How a pretrained encoder is read, and trained; see networks/pretrained.py."""

    tune: bool = setting(read=_NEW_PRETRAINED)
    learning_rate: float = number(0, 1e6, "the learning rate", above=True, read=_TUNED)
    warmup: int = number(0, 1e9, "the number of updates", read=_TUNED)
    save: bool = setting(read=f"{_PRETRAINED} or start=RUN_FOLDER")
    cache: str | None = setting(None, path=PathSetting(PathKind.FOLDER), read=f"{_PRETRAINED} or start=RUN_FOLDER")


@dataclass
class OptimizerSettings:
    """How the classifier is fitted; see training/fitting/."""

    name: OptimizerName = setting(read=_OWN_PASSES)
    learning_rate: float = number(0, 1e6, "the learning rate", above=True, read=_OWN_PASSES)
    schedule: Schedule = MISSING
    schedule_over: ScheduleSpan = MISSING
    batch_size: int = number(1, 1e6, "the number of examples in a batch", read=_OWN_PASSES)


@dataclass
class FirstPass:
    """The pass over gold computations."""

    trees: TrainingTrees = MISSING
    epochs: int = number(1, _EPOCHS, "the number of epochs")


@dataclass
class SecondPass:
    """The pass over the parser's own computations; see training/examples/exploration.py."""

    trees: TrainingTrees | None = MISSING
    epochs: int = number(1, _EPOCHS, "the number of epochs", used=_SECOND_PASS)
    target: Target = setting(used=_SECOND_PASS)
    start_from_first_pass: bool = setting(used=_SECOND_PASS)
    examples: ExampleUse = setting(used=_SECOND_PASS)
    explore_every: int = number(0, _EPOCHS, "the number of epochs between explorations", used=_SECOND_PASS)
    policy: Policy = setting(used=_SECOND_PASS)
    exploration_probability: float = number(0, 1, "a probability", read="second_pass.policy=mixed", used=_SECOND_PASS)


@dataclass
class DistillationSettings:
    """What the second pass learns from other models, beside the oracle; see training/examples/teacher.py."""

    # str | list[str] | None, for which OmegaConf has no type
    teacher: Any = setting(
        None,
        path=_FOLDERS,
        read=f"{_SECOND_PASS}, and lattice.train=null, and system!=lr_spine",
    )


@dataclass
class LatticeSettings:
    """Word lattices of the parts of the treebank, and how they are learned from; see training/examples/lattices.py."""

    train: str | None = setting(None, path=_FILE, read="system=arc_standard or system=attardi")
    dev: str | None = setting(None, path=_FILE, read="lattice.train=FILE, and treebank.dev=FILE")
    test: str | None = setting(None, path=_FILE, read="lattice.train=FILE, and treebank.test=FILE")
    lookahead: int = number(1, MAX_LOOKAHEAD, "the number of words ahead", read="lattice.train=FILE")
    gold: str = setting(words=[*MissingPath], read="lattice.train=FILE")
    max_arcs: int | None = number(1, 1e9, "the number of arcs", read="lattice.train=FILE")
    choices: bool = setting(read="lattice.train=FILE")
    beam: int = number(1, MAX_SIZE, "the number of items", read="lattice.train=FILE, and beam=none")


@dataclass
class OnlineSettings:
    """How a linear model learns; see training/passes/online.py."""

    mode: Mode = MISSING
    iterations: int = number(1, _EPOCHS, "the number of iterations")
    explore_after: int = number(0, _EPOCHS, "the number of iterations without exploration", read="online.mode=explore")
    exploration_probability: float = number(0, 1, "a probability", read="online.mode=explore")
    sentences: OnlineSentences = MISSING


@dataclass
class BeamSettings:
    """How the trained parser searches: beam=none, greedily."""

    name: str = MISSING


@dataclass
class LocalBeamSettings(BeamSettings):
    """With a beam, over the probabilities of the transitions."""

    size: int = number(1, MAX_SIZE, "the number of items")
    merge: str = setting(words=[*Merge])


@dataclass
class BeamTrainingSettings:
    """The pass over whole computations that compete in a beam; see training/fitting/."""

    epochs: int = number(1, _EPOCHS, "the number of epochs")
    learning_rate: float = number(0, 1e6, "the learning rate", above=True, read=_NETWORK)
    batch_sentences: int = number(1, 1e6, "the number of sentences in a batch", read=_NETWORK)
    update: UpdateStep = setting(read="model=linear")
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
    """UDPipe 1's tokenizer; see text/tokenizer_training.py."""

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
    column: int | None = setting(read=_NETWORK)
    recipe: str = setting(read=_NETWORK)
    system: str = MISSING
    degree: int | None = number(1, 9, "the degree of a transition system", default=None, read="system=attardi")
    nonmonotonic: bool | None = setting(None, read="system=arc_eager")
    model: str = MISSING
    oracle: str = setting(read=_OWN_PASSES, used=_SECOND_PASS)
    strategy: str = setting(words=[*oracles.Strategy], read=_OWN_PASSES, used=_SECOND_PASS)
    ties: str | None = setting(words=[None, *oracles.TIES[1:], *arc_eager.TIES], read=_OWN_PASSES, used=_SECOND_PASS)
    projectivization: str = setting(words=oracles.PROJECTIVIZATIONS)
    vocabulary_from: VocabularySource = setting(read=_NETWORK)
    start: str | None = setting(None, read=_NETWORK, path=_FOLDER)
    seed: int = number(0, 2**32 - 1, "a seed")
    device: str = MISSING
    threads: int = number(1, 1024, "the number of threads")
    single_root: bool = MISSING
    keep: KeptEpoch = MISSING
    resume: bool = MISSING
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    segmenter: SegmenterName = setting(SegmenterName.bilstm, read="tokenizer=udpipe")
    paths: Paths = field(default_factory=Paths)
    vectors: VectorSettings = group(VectorSettings, read=_NETWORK)
    features: dict[str, list[str]] = setting(read=_NETWORK)
    embeddings: dict[str, int] = number(1, 10_000, "the length of a vector", read=_NETWORK)
    classifier: ClassifierSettings = setting(read=_NETWORK)
    optimizer: OptimizerSettings = group(OptimizerSettings, read=_NETWORK)
    first_pass: FirstPass = group(FirstPass, read=f"{_NETWORK}, and {_OWN_PASSES}")
    second_pass: SecondPass = group(SecondPass, read=f"{_NETWORK}, and {_OWN_PASSES}")
    beam: BeamSettings = field(default_factory=BeamSettings)
    tensorboard: TensorBoardSettings = field(default_factory=TensorBoardSettings)


@dataclass
class MlpSettings(Settings):
    """Those of model=mlp."""

    distillation: DistillationSettings = group(DistillationSettings, read=_OWN_PASSES)
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
