"""The settings of a training run, and the plan that they come to. configs/ gives their values and says what each is for.

Loading this package is fast: planning.py, which knows what the choices mean, is loaded by those who plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

import oracles
from parser.data.background_vectors import VectorRequest
from parser.data.treebank import PartFiles, TrainingFiles
from parser.data.word_vectors import VectorTraining
from parser.settings.choices import OnFault, PathKind, SettingsError, TrainingTrees, VocabularySource
from parser.settings.groups import BEAMS, MODELS, TOKENIZERS, Settings, TreebankFiles, VectorSettings
from parser.settings.overrides import path_settings
from parser.settings.paths import unresolved

__all__ = [
    "ENCODER",
    "FILES",
    "FOLDERS",
    "PRETRAINED",
    "Settings",
    "SettingsError",
    "check_column",
    "held_out_of",
    "named_files",
    "numbered",
    "part_files",
    "register",
    "training_files",
    "training_part",
    "vector_training",
    "vectors_to_train",
    "vocabulary_is_of_subset",
]

# The settings that name files and folders; some may name several, see numbered().
FILES = tuple(key for key, setting in path_settings().items() if setting.kind is PathKind.FILE)
FOLDERS = tuple(key for key, setting in path_settings().items() if setting.kind is PathKind.MODEL)
ENCODER = "encoder.pretrained"  # it may also name a model on the Hugging Face hub
PRETRAINED = tuple(key for key, setting in path_settings().items() if setting.kind is PathKind.PRETRAINED)


def check_column(settings: Settings) -> None:
    """Refuses a column that there is not. To be called first: oracle and trees follow from the column, and cannot be read else.

    Raises:
        SettingsError: names the column and lists those that there are.
    """
    if settings.column is not None and str(settings.column) not in settings.table7:
        raise SettingsError(f"column={settings.column} is unknown; known: {', '.join(settings.table7)} (configs/table7.yaml)")
    if settings.column is None and settings.system == "arc_standard":
        known = ", ".join(settings.table7)
        raise SettingsError(f"column=null is only for systems other than arc_standard; give one of {known}")


def named_files(settings: Settings, keys: Sequence[str] = FILES) -> dict[str, str]:
    """By setting, the files or folders that the run reads; several files of a setting are ``treebank.train.0`` and so on."""
    found: dict[str, str] = {}
    for key in keys:
        value: Any = OmegaConf.select(settings, key, default=None)  # type: ignore[arg-type]
        found |= numbered(key, value)
    return found


def part_files(settings: Settings, part: str) -> PartFiles | None:
    """The files of train, dev or test, and the treebanks that they belong to; None if there are none."""
    key = f"treebank.{part}"
    named, value = named_files(settings, [key]), getattr(settings.treebank, part)
    names = [one.removeprefix(f"{key}.").partition(".")[0] for one in named] if isinstance(value, Mapping) else []
    return PartFiles(tuple(named.values()), tuple(names)) if named else None


def training_files(settings: Settings) -> list[str]:
    """The files of the training part; none if there is none."""
    return list(named_files(settings, ["treebank.train"]).values())


def numbered(key: str, value: Any) -> dict[str, str]:
    """What a setting names that may name several: by the setting alone if it is one, else by the setting and a number.

    What a dictionary names is by the setting, the key and, if the key names several, a number.

    Raises:
        SettingsError: the value is neither a path nor a list of paths, nor a dictionary of them, or a path is empty.
    """
    setting = path_settings().get(key)
    if isinstance(value, Mapping) and setting is not None and setting.inside:
        return {one: path for name, inner in value.items() for one, path in numbered(f"{key}.{name}", inner).items()}
    named = [] if value is None else [value] if isinstance(value, str) else value
    if isinstance(named, Sequence) and "" in named:
        raise SettingsError(f"{key} is empty; write {key}=null for none")
    if not isinstance(named, Sequence) or not all(isinstance(one, str) for one in named):
        raise SettingsError(f"{key}={value} is neither a path nor a list of paths; write {key}=PATH or {key}=[PATH,PATH]")
    return {key: named[0]} if len(named) == 1 else {f"{key}.{i}": one for i, one in enumerate(named)}


def vocabulary_is_of_subset(settings: Settings) -> bool:
    """Whether vocabularies and word vectors are made only of the sentences with projective trees."""
    source, trees = settings.vocabulary_from, settings.first_pass.trees
    return source == VocabularySource.first_pass and trees == TrainingTrees.projective_subset


def training_part(settings: Settings) -> TrainingFiles:
    """Where the training sentences are read, and which of them are held out.

    Raises:
        SettingsError: see held_out_of(); or there is no such fold.
    """
    treebank, fold = settings.treebank, None
    if treebank.folds is not None and treebank.fold is not None:
        if treebank.fold > treebank.folds:
            raise SettingsError(f"treebank.fold={treebank.fold} is out of range; treebank.folds={treebank.folds}")
        fold = (treebank.fold, treebank.folds)
    skip = treebank.on_error == OnFault.skip
    files = part_files(settings, "train") or PartFiles(())
    return TrainingFiles(files.paths, skip, held_out_of(treebank), fold, files.names, treebank.partial)


def held_out_of(treebank: TreebankFiles) -> tuple[float, float]:
    """The shares of the training sentences that are held out for dev and test; 0 where there is such a part already.

    Raises:
        SettingsError: treebank.held_out is not a share, nor two.
    """
    given = treebank.held_out
    shares = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    in_range = all(isinstance(share, int | float) and 0 <= share <= 0.5 for share in shares)
    if not (in_range and 1 <= len(shares) <= 2 and sum(shares) < 1):
        what = "a share of sentences must be at least 0 and at most 0.5; or give two, for dev and test, such as 0.1,0.1"
        raise SettingsError(f"treebank.held_out={'null' if given is None else given} is out of range; {what}")
    dev, test = (*shares, 0.0)[:2]
    return 0.0 if treebank.dev is not None else dev, 0.0 if treebank.test is not None else test


def vector_training(vectors: VectorSettings) -> VectorTraining:
    """How word vectors are trained."""
    return VectorTraining(vectors.dimensions, vectors.window, vectors.epochs, vectors.min_count, vectors.skip_gram)


def vectors_to_train(settings: Settings) -> VectorRequest | None:
    """The word vectors that the run trains; None if none are read, or all are those of a file or of a model."""
    vectors, files = settings.vectors, training_part(settings)
    if (
        settings.start is not None
        or vectors.file is not None
        or vectors.attribute is None
        or not settings.features.get(vectors.attribute)
        or not files.paths
    ):
        return None
    subset = vocabulary_is_of_subset(settings)
    return VectorRequest(files, subset, vectors.attribute, vector_training(vectors), settings.seed)


def register() -> None:
    """Makes known to hydra what configs/ names: the classes of settings by model, beam and tokenizer, the group oracle, who
    hears of folders, and the resolver ``as_noted``.

    An oracle of your own is a choice of the group if it was registered (``oracles.register``) before.
    """
    store = ConfigStore.instance()
    for name in oracles.all_names():
        store.store(group="oracle", name=name, node={"oracle": name}, package="_global_")
    # Groups below hydra/ are left out where the choices of a user are listed.
    for group, kinds in (("model", MODELS), ("beam", BEAMS), ("tokenizer", TOKENIZERS)):
        for name, node in kinds.items():
            store.store(group=f"hydra/settings/{group}", name=name, node=node)
    callback = {"_target_": "parser.training.sweeps.JobFolders"}
    OmegaConf.register_new_resolver("as_noted", _as_noted, replace=True)
    store.store(group="hydra/callbacks", name="sweeps", node={"sweeps": callback}, package="hydra.callbacks")


def _as_noted(key: str, *, _root_: DictConfig) -> str:
    """The text of a key, in which ``${`` means nothing; see unresolved()."""
    group, _, name = key.rpartition(".")
    return str(unresolved(OmegaConf.select(_root_, group), name))
