"""What is given on the command line: refused where the run would not read it, and hydra's refusals in this project's words."""

from __future__ import annotations

import difflib
import logging
import math
import re
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import GrammarParseError, InterpolationKeyError, OmegaConfBaseException, UnsupportedInterpolationType
from yaml import MarkedYAMLError

from parser.network_spec import Range, dataclass_of, range_of
from parser.settings.choices import SettingsError
from parser.settings.groups import BEAMS, MODELS, TOKENIZERS, PathSetting, Settings
from parser.settings.paths import has_collections, quoted, shell_command

log = logging.getLogger(__name__)

# Between conditions that all must hold.
_AND = ", and "

_TREEBANK = "treebank"

# Groups that are chosen by name.
_CHOICES = (_TREEBANK, "beam", "tokenizer", "model", "recipe", "system", "oracle")

# Settings of older versions, and what people call others elsewhere, and their names.
RENAMED = {
    **dict.fromkeys(("run_dir", "output", "output_dir", "out", "o", "model_dir", "save_dir", "log_dir"), "hydra.run.dir"),
    "epochs": "first_pass.epochs or second_pass.epochs",
    "lr": "optimizer.learning_rate",
    "lang": "treebank",
    "second_pass.follow": "second_pass.exploration_probability",
    "online.follow": "online.exploration_probability",
    "first_pass.model": "start",
    "beam.training.start": "start",
}

# Settings of older versions that changed nothing, or nothing for the better.
GONE = (
    *("distillation.over", "distillation.temperature", "distillation.weight"),
    *("online.feats", "optimizer.momentum", "optimizer.weight_decay", "tensorboard.projector"),
)


@dataclass
class Key:
    """A setting, or a group of them.

    Attributes:
        name: with dots.
        choices: those of a group that have it, such as "beam=local"; none: all have it.
        read, used: the settings that it is read beside, those of its groups included; see groups.setting().
        type, range, path: as the schema says.
    """

    name: str
    choices: list[str]
    read: str
    used: str
    type: Any
    range: Range | None = None
    path: PathSetting | None = None

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


def keys_of(kind: type, prefix: str = "", choice: str = "", read: str = "") -> Iterator[Key]:
    """The settings that a dataclass declares, and those of the groups in it."""
    types = get_type_hints(kind)
    for field in fields(kind):
        name, of, by = f"{prefix}{field.name}", types[field.name], field.metadata.get("chosen_by", choice)
        reads = _AND.join(filter(None, [read, field.metadata.get("read")]))
        yield Key(
            name, [by] if by else [], reads, field.metadata.get("used", ""), of, range_of(field), field.metadata.get("path")
        )
        if (nested := dataclass_of(of)) is not None:
            yield from keys_of(nested, f"{name}.", by, reads)


def check_words(words: Iterable[str]) -> None:
    """Refuses a list or a dictionary for a group of settings, of which hydra composes settings that nobody asked for, or fails;
    and settings that are given as options.

    Args:
        words: of a command line, before hydra reads them; KEY=VALUE among others.

    Raises:
        SettingsError: names the setting, and how to give it.
    """
    for word in words:
        name, _, value = word.lstrip("+-").partition("=")
        if word.startswith("-") and name in (*RENAMED, *keys(), *(key.rpartition(".")[2] for key in keys())):
            how = f"write {name}={value or 'VALUE'}" if name in keys() else absent(name, OmegaConf.create(), word)
            raise SettingsError(f"{word}: settings have no dashes; {how}")
        fixes = [f"{name}=NAME"] if name in _CHOICES else []
        if name in keys() and keys()[name].is_group:
            beside = f", beside {' or '.join(keys()[name].choices)}" if keys()[name].choices else ""
            fixes.append(f"{name}.KEY=VALUE with one of {', '.join(_inside(name))}{beside}")
        if fixes and has_collections(value):
            raise SettingsError(f"{word}: a group of settings is no list and no dictionary; give {', or '.join(fixes)}")


def check_given(settings: Settings, overrides: Iterable[str]) -> None:
    """Refuses what was given but is not read; of some of it, which jobs of a sweep may have, it only gives a warning.

    Args:
        settings: of the run.
        overrides: what was given, KEY=VALUE.

    Raises:
        SettingsError: names the key, and the settings beside which it is read.
    """
    for override in overrides:
        key = next((keys()[one] for one in _and_above(override.partition("=")[0].lstrip("+~")) if one in keys()), None)
        if key is None:
            continue
        check_read(settings, key.name, override)
        if (lacking := _lacking(settings, key.used)) is not None:
            log.warning("%s is not read: that needs %s", override, lacking)


def check_read(settings: Settings, key: str, given: str) -> None:
    """Refuses what is not read beside the others.

    Args:
        settings: of the run.
        key: of the setting.
        given: KEY=VALUE, for the message.

    Raises:
        SettingsError: names the key, and the settings beside which it is read.
    """
    if (lacking := _lacking(settings, keys()[key].read)) is not None:
        raise SettingsError(f"{given} is read only with {lacking}; leave it out, or give that, too")


def _lacking(settings: Settings, conditions: str) -> str | None:
    """The first of the conditions that does not hold."""

    def is_so(atom: str) -> bool:
        key, _, wanted = atom.partition("=")
        found = _select(settings, key.rstrip("!"))
        if wanted.partition(" ")[0].isupper():
            return found is not None
        words = {None: "null", True: "true", False: "false"}
        said = words[found] if found is None or isinstance(found, bool) else str(found)
        return (said == wanted) is not key.endswith("!")

    return next((one for one in conditions.split(_AND) if one and not any(map(is_so, one.split(" or ")))), None)


def _select(settings: Any, key: str) -> Any:
    """The value of a setting, or the choice of a group; None if it is not there."""
    found = OmegaConf.select(settings, key, default=None)
    return found.name if isinstance(found, DictConfig) and "name" in found else found


def _and_above(key: str) -> list[str]:
    """A key and the groups that it is in, the innermost first."""
    return [key.rsplit(".", n)[0] for n in range(key.count(".") + 1)]


def absent(key: str, settings: Any, given: str) -> str:
    """What to say of a key that is none of this run's, as it was given: it is misspelt, or of another choice of a group."""
    if key in RENAMED:
        return f"there is no setting {key}; its name is {RENAMED[key]}"
    if key in GONE:
        return f"there is no setting {key} any more; leave {given} out"
    known = next((one for one in _and_above(key) if one in keys() and (one == key or keys()[one].is_dictionary)), None)
    if known is None:
        # A last part that any group has; else the group decides first, then the last part: optimzer.lr is the optimizer's.
        group, _, name = key.rpartition(".")
        lasts = {other: other.rpartition(".")[2] for other in keys()}
        if group and name not in lasts.values():
            near = _nearest(group, {other.rpartition(".")[0] for other in keys()})
            lasts = {other: last for other, last in lasts.items() if other == f"{near}.{last}"}
        last = _nearest(name, lasts.values())
        found = [other for other in lasts if lasts[other] == last]
        here = [other for other in found if OmegaConf.select(settings, other, default=other) != other]
        return f"there is no setting {key}; the nearest is {' or '.join(here or found)}; --help lists them all"
    missing = [one for one in _and_above(known) if keys()[one].choices and (one == key or _select(settings, one) is None)]
    if not missing:  # in a dictionary, whose keys are its user's
        return f"there is no {key} yet; write +{given}"
    choices = " or ".join(keys()[missing[-1]].choices)
    return f"{given}: there is no {missing[-1]} in this run; leave it out, or choose {choices}"


def _nearest(word: str, known: Iterable[str]) -> str:
    return max(known, key=lambda other: difflib.SequenceMatcher(None, word, other).ratio() if word else not other)


def explained(error: Exception) -> SettingsError | None:
    """One of hydra's refusals, or YAML's, as one line that names the key and the fix; None: it is none of theirs."""
    if (told := _translated(error)) is not None:
        return SettingsError(told)
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark) is not None:  # such as a name that is given twice
        return SettingsError(f"{mark.name}, line {mark.line + 1}: {error.problem}")
    if not isinstance(error, HydraException | OmegaConfBaseException):
        return None
    cause = f": {_first_line(error.__cause__)}" if isinstance(error.__cause__, OmegaConfBaseException) else ""
    return SettingsError(f"{_first_line(error)}{cause}")


def _translated(error: Exception) -> str | None:
    if isinstance(error, MissingConfigException):
        missing = str(error.missing_cfg_file)
        group, _, name = missing.partition("/") if missing.startswith(f"{_TREEBANK}/") else missing.rpartition("/")
        known = ", ".join(error.options or [])
        fix = f"; if it is a file, give {_to_train_on(name)}" if group == _TREEBANK and name else ""
        return f"{group}={name} is unknown; known: {known}{fix}" if group and known else None
    if isinstance(error, OverrideParseException):
        if "=" not in str(error.override) and Path(error.override).is_file():
            return f"{error.override} is not KEY=VALUE; to train on this file, give {_to_train_on(error.override)}"
        return unreadable(error)
    if found := re.match(r"Error resolving interpolation '(.*)', possible interpolation keys: (.*)", _first_line(error)):
        there = found[2].split(", ")  # the groups that are chosen; others choose files by them
        return f"give {' '.join(f'{name}=VALUE' for name in re.findall('[a-z]+', found[1]) if name not in there)}"
    for one in (error, error.__cause__):
        if isinstance(one, GrammarParseError):  # hydra notes its folders as they are, see unresolved()
            return (
                f"hydra cannot work in a folder whose name has a ${{ in it that is not closed ({_first_line(one)}); rename it"
            )
    taken_away = re.match(r"(?:Interpolation key|Key) '(.*)' not (?:found|in '.*Settings')", _first_line(error))
    if (found := taken_away) and found[1] in keys():
        return f"{found[1]} has no value; give {found[1]}=VALUE"
    if isinstance(error, InterpolationKeyError | UnsupportedInterpolationType):
        return f"{error.full_key}: {_first_line(error)}; in a path that has ${{ in its name, write \\${{ for it"
    given, settings = _override_of(error)
    if given is None or given.key_or_group.startswith("hydra."):
        return None
    override, name = str(given.input_line), given.key_or_group
    if str(error).startswith("Config group override"):  # of null, or a number
        size = f"; for a beam with {given.value()} items, give beam=local beam.size={given.value()}"
        fix = size if name == "beam" and given.value() is not None else ""
        return f"{override}: there must be one, given by its name; give one that --help lists, or leave {name}= out{fix}"
    if given.is_sweep_override():
        several = f"{override} has several values: add -m for a run with each of them"
        kind, value = keys()[name].type if name in keys() else Any, override.partition("=")[2]
        if kind is Any or str(kind).startswith(("list", "dict")):
            return f"{several}; for a list, write {shell_command([f'{name}=[{value}]'])}"
        return f"{several}; for one value with commas, quote it: {shell_command([f'{name}={quoted(value)}'])}"
    if given.is_add() and name in keys() and not given.package:
        return f"{override}: leave out the plus, there is such a setting"
    if isinstance(error, AssertionError | AttributeError) or str(error).startswith(("Could not override", "Could not delete")):
        return absent(name, settings, override)
    setting = keys().get(name) or keys().get(name.rpartition(".")[0])
    if setting is None or (setting.name != name and not setting.is_dictionary):
        return None
    if setting.is_group:
        return f"{override}: this is a group of settings; give {name}.KEY=VALUE with one of {', '.join(_inside(name))}"
    if words := _words(setting.type):
        return f"{override} is unknown; known: {', '.join(words)}"
    if given.value() is None:
        return f"{override}: it cannot be null"
    if name == "column" and settings is not None:
        return f"{override} is unknown; known: {', '.join(settings.table7)}"
    if setting.is_dictionary and setting.name == name:
        return f"{override}: it holds values by name; give {name}.NAME=VALUE"
    if (allowed := setting.range) is not None:
        kind = "a whole number" if "int" in str(setting.type) else "a number"
        return f"{override} is not {kind}; {allowed.violation(math.nan)}"
    if "list" in str(setting.type):
        value = override.partition("=")[2]
        return f"{override} is no list of texts; write {shell_command([f'{name}=[{value}]'])}"
    if isinstance(given.value(), list | dict):
        return f"{override}: it has one value, and no list or dictionary of them"
    return f"{override}: {_first_line(error.__cause__ or error)}"


def _inside(group: str) -> list[str]:
    """The names of the settings in a group."""
    return [key.rpartition(".")[2] for key in keys() if key.rpartition(".")[0] == group]


def _to_train_on(file: str) -> str:
    return shell_command([], {"treebank.train": file})


def unreadable(error: OverrideParseException) -> str:
    """What to say of a word of the command line that hydra's grammar does not take: where it ends, and how to write it."""
    word = str(error.override)
    name, equals, value = word.partition("=")
    if not equals and word in keys():
        return f"{word} is not KEY=VALUE; give {word}=VALUE"
    if not equals:
        return f"{word} is not KEY=VALUE; a value with blanks needs the shell's quotes: {shell_command(['KEY=some text'])}"
    why, mark, _ = str(error).partition("\n")[2].partition("^")
    if str(error).startswith("Lexer") and mark:  # of a character that nothing in the grammar begins with; below it is a caret
        position = len(why) - len("LexerNoViableAltException: ")
        if position <= len(name):
            return f"{word} is not KEY=VALUE: there can be no {word[position]!r} in a key"
        why = f"nothing outside quotes can begin with {word[position]!r}"
    else:
        why = _first_line(error)
    if value[:1] in ("[", "{"):
        example = f'{name}=["a, b",c]'
        how = f"what has blanks, accents or any of ,=:[]{{}}()'\" in it needs quotes of its own: {shell_command([example])}"
    else:
        how = f"if it is one value, write {shell_command([f'{name}={quoted(value)}'])}"
    if error.__cause__ is not None:  # of a function of hydra's, which the line above names without saying why
        return f"{why}: {_first_line(error.__cause__)}; {how}"
    return f"{word} is not KEY=VALUE as settings are written: {why}; {how}"


def _first_line(error: BaseException) -> str:
    """What omegaconf says of an error; names of its classes follow."""
    return str(error).partition("\n")[0]


def _override_of(error: Exception) -> tuple[Override | None, Any]:
    """The override that hydra was at, for its messages do not always name it, and the settings as they were then."""
    given, settings = None, None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for found in (frame.f_locals.get("override"), frame.f_locals.get("x")):
            if isinstance(found, Override):
                given, settings = found, frame.f_locals.get("cfg")
    return given, settings


def _words(of: Any) -> list[str]:
    """What a setting of this type can be, where they are words."""
    found: list[str] = []
    for one in (of, *get_args(of)):
        if one is type(None):
            found.insert(0, "null")
        elif one is bool:
            found += ["true", "false"]
        elif isinstance(one, type) and hasattr(one, "__members__"):
            found += list(one.__members__)
    return found if found != ["null"] else []
