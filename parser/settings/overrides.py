"""Settings as hydra composes them from configs/ and what is given; what is wrong with that is said in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from parser.settings import Settings, register
from parser.settings.files import CONFIGS
from parser.settings.groups import Key, SettingsError, keys, path_settings
from parser.settings.paths import for_hydra, parsed

# Groups that are chosen by name.
CHOICES = ("treebank", "recipe", "model", "system", "beam", "tokenizer", "oracle")

# What is said of settings of older versions.
_OLDER = {
    "second_pass.follow": "its name is second_pass.exploration_probability",
    "online.follow": "its name is online.exploration_probability",
    "first_pass.model": "its name is start",
    "beam.training.start": "its name is start",
    **dict.fromkeys(("distillation.over", "distillation.temperature", "distillation.weight"), "it has left"),
    **dict.fromkeys(("online.feats", "optimizer.momentum", "optimizer.weight_decay"), "it has left"),
    **dict.fromkeys(("pretrained.layers", "pretrained.size", "tensorboard.projector", "vectors.components"), "it has left"),
}

# Lines of hydra's messages that are about its own classes, files and pages.
_OF_HYDRA = ("reference_type=", "object_type=", "Config search path:", "provider=", "See https://hydra.cc")


def composed(name: str, overrides: Sequence[str], folder: Path = CONFIGS) -> DictConfig:
    """The configuration of a file of the folder, with the overrides.

    Raises:
        HydraException, OmegaConfBaseException: no such file or key, or a value of another type.
    """
    with initialize_config_dir(str(folder), version_base="1.3"):
        return compose(name, overrides=list(overrides))


def training_settings(overrides: Sequence[str]) -> Settings:
    """The settings of optimal-step train with these overrides, written as on its command line.

    Raises:
        SettingsError: no such key, or a value that it cannot have; names the key.
    """
    register()
    words = for_hydra(overrides, path_settings(), sweep=False)
    check_overrides(words, sweep=False)
    try:
        return composed("train", words)  # type: ignore[return-value]
    except Exception as error:
        if (told := explained(error, words)) is None:
            raise
        raise told from error


def check_overrides(words: Iterable[str], *, sweep: bool) -> None:
    """Refuse what no run can have, before hydra composes the settings.

    Args:
        words: of a command line, with paths as hydra reads them; KEY=VALUE among others.
        sweep: whether the command is a sweep (-m).

    Raises:
        SettingsError: names the setting.
    """
    for word in words:
        try:
            given = parsed(word)
        except HydraException:  # hydra says it itself
            continue
        name, value, key = given.key_or_group, given.value(), _key(given.key_or_group)
        if name.startswith("hydra") or given.package is not None:
            continue
        if key is None and name not in CHOICES:
            raise SettingsError(f"there is no setting {name}; {_OLDER.get(name, '--help lists them all')}")
        if given.is_sweep_override():
            if not sweep:
                several = "add -m for a run with each of them; a list needs brackets, and one value with commas quotes"
                raise SettingsError(f"{word} has several values: {several}")
        elif name in CHOICES and not (given.is_delete() or isinstance(value, str)):
            raise SettingsError(f"{word}: give the name of one, {name}=NAME; --help lists them")
        elif key is not None and key.is_group and isinstance(value, str | list | dict) and name not in CHOICES:
            raise SettingsError(f"{word}: this is a group of settings; give {name}.KEY=VALUE")


def _key(name: str) -> Key | None:
    """The setting of a name, or the dictionary that it is in; None if there is none."""
    above = (name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
    return keys().get(name) or next((keys()[one] for one in above if one in keys() and keys()[one].is_dictionary), None)


def explained(error: Exception, given: Sequence[str]) -> SettingsError | None:
    """Return one of hydra's refusals, or YAML's, in one line that names the key; None: it is none of theirs.

    ``given``: the overrides, KEY=VALUE.
    """
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark) is not None:  # such as a name that is given twice
        return SettingsError(f"{mark.name}, line {mark.line + 1}: {error.problem}")
    in_null = isinstance(error, AssertionError | AttributeError)  # hydra's, of a setting in a group that is null
    for word in given if in_null or str(error).startswith("Could not override") else ():
        name = word.partition("=")[0].lstrip("+~")
        if (key := _key(name)) is not None and key.choices and (in_null or f"'{name}'" in str(error)):
            return SettingsError(f"{word}: there is no {name} in this run; leave it out, or choose {' or '.join(key.choices)}")
    if not isinstance(error, HydraException | OmegaConfBaseException):
        return None
    if isinstance(error, MissingConfigException) and error.options:
        group, _, name = str(error.missing_cfg_file).partition("/")
        fix = "; for a file, give treebank.train=FILE" if group == "treebank" else ""
        return SettingsError(f"{group}={name} is unknown; known: {', '.join(error.options)}{fix}")
    lines = [line.strip() for one in (error, error.__cause__) for line in str(one or "").splitlines()]
    said = "; ".join(dict.fromkeys(line for line in lines if line and not line.startswith(_OF_HYDRA)))
    if isinstance(error, OverrideParseException):
        if "=" not in str(error.override):
            return SettingsError(f"{error.override} is not KEY=VALUE; to train on a file, give treebank.train=FILE")
        said = f"{error.override} is not KEY=VALUE as settings are written: {said}; quotes of its own, KEY='\"a, b\"', may help"
    return SettingsError(said)
