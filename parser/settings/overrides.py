"""Composition of settings from configs/ and overrides by hydra, and hydra's errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import get_args

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from oracles.errors import OptimalStepError, did_you_mean
from parser import failures
from parser.settings import Settings, register
from parser.settings.files import CONFIGS
from parser.settings.given import NOTHING_GIVEN, Given
from parser.settings.groups import Key, SettingsError, keys, path_settings
from parser.settings.nearest import meant_entry, meant_oracle, meant_setting, meant_value
from parser.settings.paths import for_hydra
from parser.settings.started import start_choices, started

# Groups that are chosen by name.
CHOICES = ("treebank", "recipe", "model", "system", "beam", "oracle")

# Options of the command line that are not settings: hydra's, and ours.
OPTIONS = (
    *("--help", "--hydra-help", "--version", "--cfg", "--resolve", "--package"),
    *(
        "--run",
        "--multirun",
        "--shell-completion",
        "--config-path",
        "--config-name",
        "--config-dir",
    ),
    *("--experimental-rerun", "--info", "--dry-run"),
)
SHORT_OPTIONS = ("-h", "-c", "-p", "-r", "-m", "-sc", "-cp", "-cn", "-cd", "-i")

# Groups that follow from these, unless an experiment names them.
_FOLLOWING = ("recipe_model", "recipe_system")

# Beginnings of lines of hydra's messages that help only its developers.
_OF_HYDRA = (
    "reference_type=",
    "object_type=",
    "Config search path:",
    "provider=",
    "See https://hydra.cc",
)

# Libraries that hydra calls to read settings, and its launchers,
# which pass on errors of other processes.
_CALLED_BY_HYDRA = sys.stdlib_module_names | {
    "antlr4",
    "yaml",
    "hydra_plugins",
    "joblib",
    "submitit",
}

# How many characters of an error of a library are quoted.
_QUOTED = 300

# Longer than the name of any choice; a file system would refuse such a name of a file.
_LONGEST_NAME, _SHOWN = 100, 30


def composed(name: str, overrides: Sequence[str], folder: Path = CONFIGS) -> DictConfig:
    """Return the configuration of a file of the folder, with the overrides.

    Raises:
        HydraException, OmegaConfBaseException: there is no such file or key,
            or a value has the wrong type.
    """
    with initialize_config_dir(str(folder), version_base="1.3"):
        return compose(name, overrides=list(overrides))


def training_settings(overrides: Sequence[str]) -> Settings:
    """Return the settings of optimal-step train with these overrides,
    written as on its command line.

    Raises:
        SettingsError: there is no such key, or its value is invalid; the message names the key.
    """
    register()
    given = NOTHING_GIVEN
    try:
        given = read_command(overrides, sweep=False)
        return started(composed("train", given.words), given)  # type: ignore[arg-type]
    except Exception as error:
        if (told := explained(error, given)) is None:
            raise
        raise told from error


def read_command(words: Sequence[str], *, sweep: bool) -> Given:
    """Return the settings of a command line; before ``start=`` stand the choices that a run takes
    over from that model.

    Args:
        words: the words as they are typed.
        sweep: whether the command is a sweep (-m).

    Raises:
        SettingsError: no run has such a setting, or its value cannot be read,
            or is not that of the model.
    """
    given = Given(for_hydra(words, path_settings(), sweep=sweep))
    check_overrides(given, sweep=sweep)
    place = next(
        (number for number, word in enumerate(given.words) if word.startswith("start=")), 0
    )
    try:
        # Beside other settings: hydra takes no KEY=VALUE on both sides of an option.
        return Given([*given.words[:place], *start_choices(given, Path()), *given.words[place:]])
    except OptimalStepError:
        if sweep:  # its jobs report their errors
            return given
        raise


def check_overrides(given: Given, *, sweep: bool) -> None:
    """Refuse settings that no run has, before hydra composes the settings.

    Args:
        given: what a command line gives.
        sweep: whether the command is a sweep (-m).

    Raises:
        SettingsError: names the setting.
    """
    for word in given.words:
        if word.startswith("-"):
            _check_option(word, given)
    for setting in given.settings:
        if (
            setting.read is None
            or setting.name.startswith("hydra")
            or setting.read.package is not None
        ):
            continue
        name, value, key = setting.name, setting.value, _key(setting.name)
        if key is None and name not in (*CHOICES, *_FOLLOWING):
            raise SettingsError(
                f"there is no setting {name}{meant_setting(name, given)}; --help lists them all"
            )
        if setting.is_sweep:
            if not sweep:
                several = (
                    "add -m for a run with each value; write a list in brackets, "
                    "and one value with commas in quotes"
                )
                raise SettingsError(f"{setting.word} has several values: {several}")
        elif name in CHOICES and isinstance(value, str) and len(value) > _LONGEST_NAME:
            raise SettingsError(
                f"{name}={value[:_SHOWN]}...: no name has {len(value):,} characters; "
                "--help lists the names"
            )
        elif name in CHOICES and not (setting.is_deleted or isinstance(value, str)):
            size = (
                f" (did you mean beam=local beam.size={value}?)"
                if name == "beam" and type(value) is int
                else ""
            )
            near = size or meant_value(
                name, str(value).lower(), [path.stem for path in (CONFIGS / name).glob("*.yaml")]
            )
            raise SettingsError(
                f"{setting.word}: give a name, {name}=NAME{near}; --help lists the names"
            )
        elif (
            key is not None
            and key.is_group
            and isinstance(value, str | list | dict)
            and name not in CHOICES
        ):
            raise SettingsError(
                f"{setting.word}: this is a group of settings; give {name}.KEY=VALUE"
            )


def _check_option(word: str, given: Given) -> None:
    """Refuse an option that neither hydra nor this command has, if it resembles an option or a
    setting.
    """
    name, _, value = word.partition("=")
    if name in SHORT_OPTIONS or any(option.startswith(name) for option in OPTIONS):
        return
    if name.startswith("--") and (near := did_you_mean(name, OPTIONS)):
        raise SettingsError(f"there is no option {name}{near}")
    plain = name.strip("-").replace("-", "_")
    if _key(plain) is not None or plain in CHOICES:
        raise SettingsError(f"{word}: settings have no dashes; write {plain}={value or 'VALUE'}")
    if near := meant_setting(plain, given):
        raise SettingsError(
            f"{word}: there is no such option, and settings have no dashes{near}; write KEY=VALUE"
        )


def _key(name: str) -> Key | None:
    """Return the setting of a name, or the dictionary that it is in;
    None if there is no such setting.
    """
    above = (name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
    return keys().get(name) or next(
        (keys()[group] for group in above if group in keys() and keys()[group].is_dictionary), None
    )


def explained(error: Exception, given: Given) -> SettingsError | None:
    """Return an error of composing settings as one line that names the key or the file;
    None for any other error.
    """
    # such as a name that is given twice
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark) is not None:
        return SettingsError(f"{mark.name}, line {mark.line + 1}: {error.problem}")
    of_hydra = isinstance(error, HydraException | OmegaConfBaseException)
    if not (of_hydra or (failures.refusal(error) is None and _is_raised_by_hydra(error))):
        return None
    # hydra raises these for a setting in a group that is null
    in_null = isinstance(error, AssertionError | AttributeError)
    for setting in given.settings if in_null or str(error).startswith("Could not override") else ():
        if meant_entry(setting.name):
            continue
        if (
            (key := _key(setting.name)) is not None
            and key.choices
            and (in_null or f"'{setting.name}'" in str(error))
        ):
            fix = f"leave it out, or choose {' or '.join(key.choices)}"
            return SettingsError(f"{setting.word}: there is no {setting.name} in this run; {fix}")
    if not of_hydra:
        place = next(
            (
                frame.f_locals["full_path"]
                for frame in _frames(error)
                if "full_path" in frame.f_locals
            ),
            None,
        )
        fix = "correct the value of a setting" if place is None else "correct the file"
        said = " ".join(str(error).split())[:_QUOTED]
        return SettingsError(
            f"{place or 'the settings'} cannot be read ({type(error).__name__}: {said}); {fix}"
        )
    if isinstance(error, MissingConfigException) and error.options:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        fix = "; for a file, give treebank.train=FILE" if group == "treebank" else ""
        system = given.find("system")
        chosen = "arc_standard" if system is None else system.text
        near = (
            meant_oracle(name, error.options, chosen)
            if group == "oracle"
            else meant_value(group, name, error.options)
        )
        return SettingsError(
            f"{group}={name} is unknown{near}; known: {', '.join(error.options)}{fix}"
        )
    lines = [
        line.strip()
        for exception in (error, error.__cause__)
        for line in str(exception or "").splitlines()
    ]
    said = "; ".join(
        dict.fromkeys(line for line in lines if line and not line.startswith(_OF_HYDRA))
    )
    if isinstance(error, OverrideParseException):
        if "=" not in str(error.override):
            return SettingsError(
                f"{error.override} is not KEY=VALUE; to train on a file, give treebank.train=FILE"
            )
        said = (
            f"{error.override} cannot be read as KEY=VALUE: {said}; "
            "quotes within the shell's may help, KEY='\"a, b\"'"
        )
    return SettingsError(f"{said}{_meant(said, given)}")


def _is_raised_by_hydra(error: BaseException) -> bool:
    """Return whether hydra, or a library that it called, has raised an error, rather than code that
    hydra runs.

    Hydra runs jobs, resolvers and callbacks: their errors come from code that is neither hydra's
    nor Python's.
    """
    for frame in _frames(error):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package in ("hydra", "omegaconf"):
            return True
        if package not in _CALLED_BY_HYDRA:
            return False
    return False


def _frames(error: BaseException) -> Iterator[FrameType]:
    """Yield the frames of an error's traceback, the innermost first."""
    yield from reversed([frame for frame, _ in walk_tb(error.__traceback__)])


def _meant(said: str, given: Given) -> str:
    """Return the hint for an error of hydra about a key or the value of a key; nothing,
    if no known one is near.
    """
    for setting in given.settings:
        key = _key(setting.name)
        if said.startswith("Could not override") and f"'{setting.name}'" in said:
            return meant_entry(setting.name) or (
                meant_setting(setting.name, given) if key is None else ""
            )
        if key is not None and f"'{setting.text}'" in said and (values := _members(key)):
            return meant_value(setting.name, setting.text, values)
    return ""


def _members(key: Key) -> list[str]:
    """Return the possible values of a setting whose values are members of an enumeration; nothing
    for other settings.
    """
    kinds = [
        kind
        for kind in get_args(key.type) or (key.type,)
        if isinstance(kind, type) and issubclass(kind, Enum)
    ]
    return [member.name for kind in kinds for member in kind]
