"""Composes settings from configs/ and overrides by hydra, and puts hydra's errors into one line."""

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
from parser.settings.started import start_choices, started

# Groups that are chosen by name.
CHOICES = ("treebank", "recipe", "model", "system", "beam", "tokenizer", "oracle")

# Beginnings of lines of hydra's messages that help only its developers.
_OF_HYDRA = ("reference_type=", "object_type=", "Config search path:", "provider=", "See https://hydra.cc")


def composed(name: str, overrides: Sequence[str], folder: Path = CONFIGS) -> DictConfig:
    """Return the configuration of a file of the folder, with the overrides.

    Raises:
        HydraException, OmegaConfBaseException: there is no such file or key, or a value has the wrong type.
    """
    with initialize_config_dir(str(folder), version_base="1.3"):
        return compose(name, overrides=list(overrides))


def training_settings(overrides: Sequence[str]) -> Settings:
    """Return the settings of optimal-step train with these overrides, written as on its command line.

    Raises:
        SettingsError: there is no such key, or its value is invalid; the message names the key.
    """
    register()
    words = for_hydra(overrides, path_settings(), sweep=False)
    check_overrides(words, sweep=False)
    words = [*start_choices(words, Path()), *words]
    try:
        return started(composed("train", words), words)  # type: ignore[arg-type]
    except Exception as error:
        if (told := explained(error, words)) is None:
            raise
        raise told from error


def check_overrides(words: Iterable[str], *, sweep: bool) -> None:
    """Refuse settings that no run has, before hydra composes the settings.

    Args:
        words: of a command line, with paths as hydra reads them; KEY=VALUE among others.
        sweep: whether the command is a sweep (-m).

    Raises:
        SettingsError: names the setting.
    """
    for word in words:
        try:
            given = parsed(word)
        except HydraException:  # hydra reports it later
            continue
        name, value, key = given.key_or_group, given.value(), _key(given.key_or_group)
        if name.startswith("hydra") or given.package is not None:
            continue
        if key is None and name not in CHOICES:
            raise SettingsError(f"there is no setting {name}; --help lists them all")
        if given.is_sweep_override():
            if not sweep:
                several = "add -m for a run with each value; write a list in brackets, and one value with commas in quotes"
                raise SettingsError(f"{word} has several values: {several}")
        elif name in CHOICES and not (given.is_delete() or isinstance(value, str)):
            raise SettingsError(f"{word}: give a name, {name}=NAME; --help lists the names")
        elif key is not None and key.is_group and isinstance(value, str | list | dict) and name not in CHOICES:
            raise SettingsError(f"{word}: this is a group of settings; give {name}.KEY=VALUE")


def _key(name: str) -> Key | None:
    """Return the setting of a name, or the dictionary that it is in; None if there is no such setting."""
    above = (name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
    return keys().get(name) or next((keys()[one] for one in above if one in keys() and keys()[one].is_dictionary), None)


def explained(error: Exception, given: Sequence[str]) -> SettingsError | None:
    """Return an error of hydra or YAML as one line that names the key; None for any other error.

    ``given``: the overrides, KEY=VALUE.
    """
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark) is not None:  # such as a name that is given twice
        return SettingsError(f"{mark.name}, line {mark.line + 1}: {error.problem}")
    in_null = isinstance(error, AssertionError | AttributeError)  # hydra raises these for a setting in a group that is null
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
        said = f"{error.override} cannot be read as KEY=VALUE: {said}; quotes within the shell's may help, KEY='\"a, b\"'"
    return SettingsError(said)
