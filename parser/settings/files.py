"""The files and folders that settings name: where they are, to which part of a run they belong, and
whether they are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from parser.data.parts.pretrained import HELD
from parser.data.treebank import SplitFiles, TrainingFiles
from parser.model.packs import meant_model, named_folder, shipped_packs
from parser.model_folder import find_model, holds_model
from parser.settings.given import Given
from parser.settings.groups import (
    OnTreebankError,
    PathKind,
    Settings,
    SettingsError,
    TreebankFiles,
    path_settings,
)
from parser.settings.paths import escaped
from parser.storage import HOME

CONFIGS = HOME / "configs"

# It may also name a model that holds an encoder, or one on the Hugging Face hub.
ENCODER = "encoder.pretrained"


@dataclass(frozen=True)
class FilesPlan:
    """The files and folders that a run reads.

    Attributes:
        train: the files of the training sentences, and which of these are held out.
        dev, test: the files of the dev and the test split; None if there are none.
        named: every file that is read, including lattices and word vectors, by the setting that
            names it.
        models: the folder of each run or model that is read, by the setting that names it.
        pretrained: the folder of each pretrained encoder, or its name on the Hugging Face hub, by
            the setting that names it.
        treebanks: the folder of the treebanks known by name.
    """

    train: TrainingFiles
    dev: SplitFiles | None = None
    test: SplitFiles | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    pretrained: Mapping[str, str] = field(default_factory=dict)
    treebanks: str = ""

    @classmethod
    def of(cls, settings: Settings) -> FilesPlan:
        """Return the files and folders that settings name.

        Raises:
            SettingsError: there is no training split; or a path,
                a share of sentences or the number of a fold is invalid.
        """
        treebank = settings.treebank
        train = split_files(treebank, "train")
        if train is None:
            raise SettingsError(
                "there is no training part: give treebank=NAME or treebank.train=FILE"
            )
        return cls(
            train=_training_files(treebank, train),
            dev=split_files(treebank, "dev"),
            test=split_files(treebank, "test"),
            named=named_paths(settings, PathKind.FILE),
            models=named_paths(settings, PathKind.MODEL),
            pretrained=named_paths(settings, PathKind.PRETRAINED),
            treebanks=settings.paths.treebanks,
        )

    def check(self) -> None:
        """Refuse files that are not there.

        Raises:
            SettingsError: names the file, the key and what to set.
        """
        for key, name in self.named.items():
            if Path(name).is_dir():
                raise SettingsError(f"{key}={name}: this is a folder; name a file in it")
            if not Path(name).is_file():
                in_treebanks = f"{Path(self.treebanks).as_posix()}/" in Path(name).as_posix()
                fix = (
                    f"; paths.treebanks={self.treebanks} must be the folder that holds the "
                    "treebanks known by name"
                )
                raise SettingsError(
                    f"{key}={name}: there is no such file{fix if in_treebanks else ''}"
                )


def named_paths(settings: Settings, kind: PathKind) -> dict[str, str]:
    """Return, by setting, the files or folders of a kind; several of a setting are
    ``treebank.train.0`` and so on.
    """
    paths: dict[str, str] = {}
    for key in (key for key, path in path_settings().items() if path.kind is kind):
        group, _, name = key.rpartition(".")
        holder = getattr(settings, group, None) if group else settings
        paths |= numbered(key, getattr(holder, name, None))
    return paths


def numbered(key: str, value: Any) -> dict[str, str]:
    """Return the paths that a setting names: one path under the setting's name,
    several under name and number.

    Paths in a dictionary are under the setting's name, the key and, if the key has several,
    a number.

    Raises:
        SettingsError: the value is neither a path nor a list of paths, nor a dictionary of them,
            or a path is empty.
    """
    setting = path_settings().get(key)
    if isinstance(value, Mapping) and setting is not None and setting.inside:
        return {
            inner_key: path
            for name, inner in value.items()
            for inner_key, path in numbered(f"{key}.{name}", inner).items()
        }
    named = [] if value is None else [value] if isinstance(value, str) else value
    if isinstance(named, Sequence) and "" in named:
        raise SettingsError(f"{key} is empty; write {key}=null for none")
    if not isinstance(named, Sequence) or not all(isinstance(path, str) for path in named):
        raise SettingsError(
            f"{key}={value} is neither a path nor a list of paths; write {key}=PATH or "
            f"{key}=[PATH,PATH]"
        )
    return (
        {key: named[0]} if len(named) == 1 else {f"{key}.{i}": path for i, path in enumerate(named)}
    )


def split_files(treebank: TreebankFiles, split: str) -> SplitFiles | None:
    """Return the files of train, dev or test, and the treebanks that they belong to;
    None if there are none.
    """
    key, value = f"treebank.{split}", getattr(treebank, split)
    named = numbered(key, value)
    names = (
        [setting.removeprefix(f"{key}.").partition(".")[0] for setting in named]
        if isinstance(value, Mapping)
        else []
    )
    return SplitFiles(tuple(named.values()), tuple(names)) if named else None


def _training_files(treebank: TreebankFiles, files: SplitFiles) -> TrainingFiles:
    fold = None
    if treebank.folds is not None and treebank.fold is not None:
        if treebank.fold > treebank.folds:
            raise SettingsError(
                f"treebank.fold={treebank.fold} is out of range; treebank.folds={treebank.folds}"
            )
        fold = (treebank.fold, treebank.folds)
    skip = treebank.on_error == OnTreebankError.skip
    return TrainingFiles(
        files.paths, skip, held_out_of(treebank), fold, files.names, treebank.partial
    )


def held_out_of(treebank: TreebankFiles) -> tuple[float, float]:
    """Return the shares of the training sentences that are held out for dev and test;
    0 where there is such a split already.

    Raises:
        SettingsError: treebank.held_out is neither one share nor two.
    """
    dev, test = wanted_shares(treebank)
    return 0.0 if treebank.dev is not None else dev, 0.0 if treebank.test is not None else test


def wanted_shares(treebank: TreebankFiles) -> tuple[float, float]:
    """Return the shares of treebank.held_out, for dev and test.

    Raises:
        SettingsError: treebank.held_out is neither one share nor two.
    """
    held_out = treebank.held_out
    shares = (
        list(held_out)
        if isinstance(held_out, Sequence) and not isinstance(held_out, str)
        else [held_out]
    )
    in_range = all(isinstance(share, int | float) and 0 <= share <= 0.5 for share in shares)
    if not (in_range and 1 <= len(shares) <= 2 and sum(shares) < 1):
        what = (
            "a share of sentences must be at least 0 and at most 0.5; or give two, "
            "for dev and test, such as 0.1,0.1"
        )
        raise SettingsError(
            f"treebank.held_out={'null' if held_out is None else held_out} is out of range; {what}"
        )
    dev, test = (*shares, 0.0)[:2]
    return dev, test


def completed(
    settings: Settings, given: Given, start: Path | None = None, fold: int | None = None
) -> Settings:
    """Return a copy of composed settings with the name of the treebank,
    absolute paths and the number of the fold.

    Args:
        settings: the settings as hydra has composed them; they are not changed.
        given: the settings given by hand.
        start: the folder that relative paths begin in; None: they stay relative. A path that exists
            only in this package names the file there; the name of a fetched model stands for its
            folder, or for the pretrained encoder that it holds.
        fold: the number of the fold; None: as the settings say.

    Raises:
        SettingsError: the value of a setting is no path, or no model has this name.
    """
    copy = deepcopy(settings)
    for name, value in treebank_changes(copy.treebank, given).items():
        setattr(copy.treebank, name, escaped(value))
    if fold is not None:
        copy.treebank.fold = fold
    for key, setting in path_settings().items() if start is not None else ():
        if setting.kind is PathKind.FOLDER:
            continue
        value = OmegaConf.select(copy, key, default=None)  # type: ignore[arg-type]
        if value is not None:
            numbered(key, value)  # refuses invalid paths
            OmegaConf.update(copy, key, _absolute(value, key, setting.kind, start))  # type: ignore[arg-type]
    return copy


def treebank_changes(treebank: TreebankFiles, given: Given) -> dict[str, Any]:
    """Return the settings that other training files change: the treebank's name,
    and dev and test of the default treebank.

    Args:
        treebank: the settings of the treebank as hydra composes them.
        given: the settings given by hand.
    """
    names = given.names
    changes: dict[str, Any] = {}
    if "treebank.train" in names and "treebank" not in names:
        changes = {split: None for split in ("dev", "test") if f"treebank.{split}" not in names}
    elif not OmegaConf.is_missing(treebank, "name"):
        return {}
    if "treebank.name" not in names:
        files = numbered("treebank.train", treebank.train).values()
        changes["name"] = "+".join(Path(file).name.partition(".")[0] for file in files) or "unnamed"
    return changes


def _absolute(value: Any, key: str, kind: PathKind, start: Path) -> Any:
    if isinstance(value, Mapping):
        return {name: _absolute(inner, key, kind, start) for name, inner in value.items()}
    if value is None:  # a treebank without this split
        return None
    if not isinstance(value, str):
        return [_absolute(path, key, kind, start) for path in value]
    here, ours = start / value, HOME / value  # ours: the sample treebank
    path = ours if ours.exists() and not here.exists() else here
    if kind is PathKind.MODEL:
        path = start / named_folder(Path(value))
        if not path.exists() and (near := meant_model(value, shipped_packs())):
            raise SettingsError(
                f"{key}={value}: there is neither a folder nor a model of this name{near}"
            )
    if key == ENCODER:
        path = _encoder_folder(value, path, start)
    of_hub = key == ENCODER and not path.exists()
    return escaped(value if of_hub else str(path))


def _encoder_folder(value: str, path: Path, start: Path) -> Path:
    """Return the folder of a pretrained encoder: if ``value`` names a model, the one in it,
    otherwise ``path``.

    Raises:
        SettingsError: the model holds none.
    """
    if path.exists() and not holds_model(path):  # also if a model elsewhere has this name
        return path
    model = start / named_folder(Path(value))
    if not holds_model(model):
        return path
    held = find_model(model) / HELD
    if not held.is_dir():
        raise SettingsError(
            f"{ENCODER}={value}: this model holds no pretrained encoder; name a model of "
            "recipe=tuned, such as en-tuned, or the folder of an encoder"
        )
    return held
