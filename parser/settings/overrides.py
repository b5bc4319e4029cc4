"""What is given on the command line: refused where no run has such a setting, and hydra's refusals in this project's words."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import GrammarParseError, InterpolationKeyError, OmegaConfBaseException, UnsupportedInterpolationType
from yaml import MarkedYAMLError

from parser.settings.choices import SettingsError
from parser.settings.files import HOME
from parser.settings.groups import Key, keys
from parser.settings.paths import parsed, quoted, shell_command

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
    *("online.feats", "optimizer.momentum", "optimizer.weight_decay", "pretrained.layers", "pretrained.size"),
    *("tensorboard.projector", "vectors.components"),
)


def check_overrides(words: Iterable[str], *, sweep: bool) -> None:
    """Refuse what no run can have, before hydra composes the settings.

    Args:
        words: of a command line, with paths as hydra reads them; KEY=VALUE among others.
        sweep: whether the command is a sweep (-m).

    Raises:
        SettingsError: names the setting, and how to give it.
    """
    for word in words:
        if word.startswith("-"):
            _check_option(word)
            continue
        try:
            given = parsed(word)
        except HydraException:  # hydra says it itself; see unreadable()
            continue
        if not (given.key_or_group.startswith("hydra") or given.package is not None):
            _check_override(word, given, sweep)


def _check_option(word: str) -> None:
    name, _, value = word.lstrip("-").partition("=")
    if name in (*RENAMED, *keys(), *(key.rpartition(".")[2] for key in keys())):
        how = f"write {name}={value or 'VALUE'}" if name in keys() else _absent(name, word)
        raise SettingsError(f"{word}: settings have no dashes; {how}")


def _check_override(word: str, given: Override, sweep: bool) -> None:
    name, value, text = given.key_or_group, given.value(), word.partition("=")[2]
    key = _key(name)
    if key is None and name not in _CHOICES:
        raise SettingsError(_absent(name, word))
    is_group = name in _CHOICES or key is None or key.is_group
    if is_group and any(isinstance(one, list | dict) for one in getattr(value, "list", [value])):
        raise SettingsError(f"{word}: a group of settings is no list and no dictionary; give {', or '.join(_ways(name))}")
    if given.is_sweep_override() and not sweep:
        several = f"{word} has several values: add -m for a run with each of them"
        if key is not None and (key.type is Any or str(key.type).startswith(("list", "dict"))):
            raise SettingsError(f"{several}; for a list, write {shell_command([f'{name}=[{text}]'])}")
        raise SettingsError(f"{several}; for one value with commas, quote it: {shell_command([f'{name}={quoted(text)}'])}")
    if name in _CHOICES and not (given.is_delete() or given.is_sweep_override() or isinstance(value, str)):
        size = f"; for a beam with {value} items, give beam=local beam.size={value}" if name == "beam" and value else ""
        raise SettingsError(
            f"{word}: there must be one, given by its name; give one that --help lists, or leave {name}= out{size}"
        )


def _key(name: str) -> Key | None:
    """The setting of a name, or the dictionary that it is in; None if there is none."""
    above = (name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
    return keys().get(name) or next((keys()[one] for one in above if one in keys() and keys()[one].is_dictionary), None)


def _ways(group: str) -> Iterator[str]:
    """The ways to give a group of settings."""
    if group in _CHOICES:
        yield f"{group}=NAME"
    if inside := _inside(group):
        beside = f", beside {' or '.join(keys()[group].choices)}" if keys()[group].choices else ""
        yield f"{group}.KEY=VALUE with one of {inside}{beside}"


def _inside(group: str) -> str:
    return ", ".join(key.rpartition(".")[2] for key in keys() if key.rpartition(".")[0] == group)


def _absent(key: str, given: str) -> str:
    """What to say of a key that no run has, as it was given."""
    if key in RENAMED:
        return f"there is no setting {key}; its name is {RENAMED[key]}"
    if key in GONE:
        return f"there is no setting {key} any more; leave {given} out"
    # A last part that any group has; else the group decides first, then the last part: optimzer.lr is the optimizer's.
    group, _, name = key.rpartition(".")
    lasts = {other: other.rpartition(".")[2] for other in keys()}
    if group and name not in lasts.values():
        near = _nearest(group, {other.rpartition(".")[0] for other in keys()})
        lasts = {other: last for other, last in lasts.items() if other == f"{near}.{last}"}
    last = _nearest(name, lasts.values())
    found = [other for other in lasts if lasts[other] == last]
    return f"there is no setting {key}; the nearest is {' or '.join(found)}; --help lists them all"


def _nearest(word: str, known: Iterable[str]) -> str:
    return max(known, key=lambda other: difflib.SequenceMatcher(None, word, other).ratio() if word else not other)


def explained(error: Exception, given: Sequence[str]) -> SettingsError | None:
    """Return one of hydra's refusals, or YAML's, as one line that names the key and the fix; None: it is none of theirs.

    ``given``: the overrides, KEY=VALUE.
    """
    if (told := _of_files(error) or _of_interpolation(error) or _of_override(error, given)) is not None:
        return SettingsError(told)
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark) is not None:  # such as a name that is given twice
        return SettingsError(f"{mark.name}, line {mark.line + 1}: {error.problem}")
    if not isinstance(error, HydraException | OmegaConfBaseException):
        return None
    cause = f": {_first_line(error.__cause__)}" if isinstance(error.__cause__, OmegaConfBaseException) else ""
    return SettingsError(f"{_first_line(error)}{cause}")


def _of_files(error: Exception) -> str | None:
    """What to say of a choice that no group has, or of a word that is not KEY=VALUE."""
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
    return None


def _of_interpolation(error: Exception) -> str | None:
    """What to say of a value that others are made from, and of ``${`` where it has no meaning."""
    if found := re.match(r"Error resolving interpolation '(.*)', possible interpolation keys: (.*)", _first_line(error)):
        there = found[2].split(", ")  # the groups that are chosen; others choose files by them
        return f"give {' '.join(f'{name}=VALUE' for name in re.findall('[a-z]+', found[1]) if name not in there)}"
    for one in (error, error.__cause__):
        if isinstance(one, GrammarParseError):  # hydra notes its folders as they are, see unresolved()
            return (
                f"hydra cannot work in a folder whose name has a ${{ in it that is not closed ({_first_line(one)}); rename it"
            )
    taken_away = re.match(r"(?:Interpolation key|Key) '(.*)' not (?:found|in '.*Settings')", _first_line(error))
    if taken_away and taken_away[1] in keys():
        return f"{taken_away[1]} has no value; give {taken_away[1]}=VALUE"
    if isinstance(error, InterpolationKeyError | UnsupportedInterpolationType):
        return f"{error.full_key}: {_first_line(error)}; in a path that has ${{ in its name, write \\${{ for it"
    return None


# How hydra names the override that it could not apply, or its key.
_AT_OVERRIDE = re.compile(r"Error merging override (.*)|(?:Could not [\w ]*\.?(?: An item is already at)?) '([^']*)'")


def _of_override(error: Exception, given: Sequence[str]) -> str | None:
    """What to say of an override that the settings of the run have no place for."""
    if found := _AT_OVERRIDE.match(_first_line(error)):
        named = (one for one in given if one == found[1] or one.partition("=")[0].lstrip("+~") == found[2])
    elif isinstance(error, AssertionError | AttributeError):  # hydra's, of a setting in a group that is null
        named = (one for one in given if (key := _key(one.partition("=")[0].lstrip("+~"))) is not None and key.choices)
    else:
        return None
    if (override := next(named, None)) is None or (key := _key(parsed(override).key_or_group)) is None:
        return None
    name, value, text = parsed(override).key_or_group, parsed(override).value(), override.partition("=")[2]
    if "already at" in str(error):
        return f"{override}: leave out the plus, there is such a setting"
    lacking = getattr(error.__cause__, "full_key", None) if found and found[2] else None
    if key.is_dictionary and found and found[2] and name in (lacking, key.name):  # its keys are its user's
        return f"there is no {name} yet; write +{override}"
    if not found or found[2]:
        choice = f", or choose {' or '.join(key.choices)}" if key.choices else ""
        return f"{override}: there is no {name} in this run; leave it out{choice}"
    if key.is_group:
        return f"{override}: this is a group of settings; give {name}.KEY=VALUE with one of {_inside(name)}"
    if words := columns() if name == "column" else _words(key.type):
        return f"{override} is unknown; known: {', '.join(words)}"
    if value is None:
        return f"{override}: it cannot be null"
    if key.is_dictionary and key.name == name:
        return f"{override}: it holds values by name; give {name}.NAME=VALUE"
    if (allowed := key.range) is not None:
        kind = "a whole number" if "int" in str(key.type) else "a number"
        return f"{override} is not {kind}; {allowed.violation(math.nan)}"
    if "list" in str(key.type):
        return f"{override} is no list of texts; write {shell_command([f'{name}=[{text}]'])}"
    if isinstance(value, list | dict):
        return f"{override}: it has one value, and no list or dictionary of them"
    return f"{override}: {_first_line(error.__cause__ or error)}"


def columns() -> list[str]:
    """Return the columns of Table 7 that there are."""
    return [str(column) for column in OmegaConf.load(HOME / "configs" / "table7.yaml").table7]


def _to_train_on(file: str) -> str:
    return shell_command([], {"treebank.train": file})


def unreadable(error: OverrideParseException) -> str:
    """Return what to say of a word that hydra's grammar does not take: where it ends, and how to write it."""
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
