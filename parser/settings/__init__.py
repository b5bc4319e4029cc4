"""The typed settings of a training run. configs/train.yaml gives their values and says what each is for.

This package loads fast, because it does not know what the choices mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, OmegaConf

import oracles
from parser.data.background_vectors import VectorRequest
from parser.data.word_vectors import VectorTraining
from parser.settings.choices import (
    ExampleUse,
    Mode,
    OnlineSentences,
    SettingsError,
    TrainingTrees,
    UpdateStep,
    VocabularySource,
)
from parser.settings.groups import (
    BeamSettings,
    BeamTrainingSettings,
    BiaffineSettings,
    ClassifierSettings,
    Column,
    DistillationSettings,
    EncoderSettings,
    FirstPass,
    LatticeSettings,
    OnlineSettings,
    OptimizerSettings,
    Paths,
    SecondPass,
    TaggerSettings,
    TensorBoardSettings,
    TreebankFiles,
    VectorSettings,
)

__all__ = [
    "FILES",
    "FOLDERS",
    "BeamSettings",
    "BeamTrainingSettings",
    "BiaffineSettings",
    "ClassifierSettings",
    "Column",
    "DistillationSettings",
    "EncoderSettings",
    "ExampleUse",
    "FirstPass",
    "LatticeSettings",
    "Mode",
    "OnlineSentences",
    "OnlineSettings",
    "OptimizerSettings",
    "Paths",
    "SecondPass",
    "Settings",
    "SettingsError",
    "TaggerSettings",
    "TensorBoardSettings",
    "TrainingTrees",
    "TreebankFiles",
    "UpdateStep",
    "VectorSettings",
    "VocabularySource",
    "check_column",
    "given_models",
    "held_out",
    "named_files",
    "numbered",
    "register",
    "system_options",
    "teachers",
    "training_files",
    "update_of",
    "vector_training",
    "vectors_to_train",
    "vocabulary_is_of_subset",
]

# The settings that name files and folders, besides treebank.train and distillation.teacher, which may be several.
FILES = ("treebank.dev", "treebank.test", "lattice.train", "lattice.dev", "lattice.test", "vectors.file")
FOLDERS = ("first_pass.model", "beam.training.start")


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
    segmenter: str = "bilstm"
    paths: Paths = field(default_factory=Paths)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    features: dict[str, list[str]] = MISSING
    embeddings: dict[str, int] = field(default_factory=dict)
    classifier: ClassifierSettings = MISSING
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
    """Whether vocabularies and word vectors are made only of the sentences with projective trees."""
    source, trees = settings.vocabulary_from, settings.first_pass.trees
    return source == VocabularySource.FIRST_PASS and trees == TrainingTrees.PROJECTIVE_SUBSET


def update_of(training: BeamTrainingSettings) -> str | None:
    """The setting ``beam.training.update``, by its name: as an attribute it is the method of a mapping."""
    found: str | None = OmegaConf.select(training, "update")  # type: ignore[arg-type]
    return found


def training_files(settings: Settings) -> list[str]:
    """The files of the training part; none if there is none."""
    return list(numbered("treebank.train", settings.treebank.train).values())


def named_files(settings: Settings) -> dict[str, str]:
    """By setting, the files that the run reads; those of a training part of several are ``treebank.train.0`` and so on."""
    return numbered("treebank.train", settings.treebank.train) | _given(settings, FILES)


def given_models(settings: Settings) -> dict[str, str]:
    """By setting, the models of other runs that take the place of passes of this run."""
    return _given(settings, ("first_pass.model", "beam.training.start"))


def teachers(settings: Settings) -> dict[str, str]:
    """By setting, the models that teach in the second pass; those of several are ``distillation.teacher.0`` and so on."""
    return numbered("distillation.teacher", settings.distillation.teacher)


def numbered(key: str, value: str | Sequence[str] | None) -> dict[str, str]:
    """What a setting names that may name several: by the setting alone if it is one, else by the setting and a number.

    Raises:
        SettingsError: the value is neither a path nor a list of paths.
    """
    named = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(named, Sequence) or not all(isinstance(one, str) for one in named):
        raise SettingsError(f"{key}={value} is neither a path nor a list of paths; write {key}=PATH or {key}=[PATH,PATH]")
    return {key: named[0]} if len(named) == 1 else {f"{key}.{i}": one for i, one in enumerate(named)}


def _given(settings: Settings, keys: Iterable[str]) -> dict[str, str]:
    found = {key: OmegaConf.select(settings, key) for key in keys}  # type: ignore[arg-type]
    return {key: path for key, path in found.items() if path is not None}


def held_out(settings: Settings) -> float:
    """The share of the training sentences that are held out as the dev part; 0 where there is a dev part already."""
    return 0.0 if settings.treebank.dev is not None else settings.treebank.held_out


def vector_training(settings: Settings) -> VectorTraining:
    """How word vectors are trained."""
    vectors = settings.vectors
    return VectorTraining(vectors.dimensions, vectors.window, vectors.epochs, vectors.min_count, vectors.skip_gram)


def vectors_to_train(settings: Settings) -> VectorRequest | None:
    """The word vectors that the run trains; None if none are read, or all are read from a file."""
    attribute, files = settings.vectors.attribute, tuple(training_files(settings))
    if settings.vectors.file is not None or attribute is None or not settings.features.get(attribute) or not files:
        return None
    subset = vocabulary_is_of_subset(settings)
    return VectorRequest(files, held_out(settings), subset, attribute, vector_training(settings), settings.seed)


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
