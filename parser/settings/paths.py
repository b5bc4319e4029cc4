"""Settings that name files and folders: how their values are read from a command line,
and written to it.

hydra's grammar refuses many paths: ``treebank.train=kő (v2).conllu`` is an error of its lexer, and
``a,b`` a sweep. So the values of settings that groups.py declares as paths are read here, and given
to hydra in its quotes. docs/configuration.md ("Paths") says how they are written. ``override`` and
``shell_command`` write values that are read back unchanged.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hydra.core.override_parser.types import Quote, QuotedString
from omegaconf import OmegaConf
from omegaconf.errors import GrammarParseError

from parser.settings.given import read_by_hydra
from parser.settings.groups import PathKind, PathSetting, SettingsError

Names = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""The value of a setting that names paths: a path, or a list of paths."""

# Settings of hydra itself. The last folder is below the one before it.
_OF_HYDRA = dict.fromkeys(
    ("hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir"), PathSetting(PathKind.OUTPUT)
)

_WORD = re.compile(r"(\+{0,2})([\w.-]+)=(.*)", re.DOTALL)

# Two shares, which are a list where commas do not separate the values of a sweep.
_SHARES = re.compile(r"(treebank\.held_out=)([0-9.]+,[0-9.]+)")

# A value in quotes (a quote elsewhere is an apostrophe),
# and brackets that are closed before others of their kind open.
_QUOTED = re.compile(
    r"""(?:^|(?<=[,:=(\[{]))\s*(["'])(?:(?!\1)[^\\]|\\.)*\1(?=\s*(?:[,\]})]|$))""", re.DOTALL
)
_BRACES = re.compile(r"\{[^{}]*\}")
_BRACKETS = re.compile(rf"\([^()]*\)|\[[^][]*\]|{_BRACES.pattern}")


def override(name: str, value: Names) -> str:
    """Return KEY=VALUE that a command reads back as exactly these paths, whatever their names."""
    if isinstance(value, str | os.PathLike):
        return f"{name}={_literal(os.fspath(value))}"
    return f"{name}=[{','.join(_literal(os.fspath(path)) for path in value)}]"


def shell_command(words: Iterable[str], paths: Mapping[str, Names] | None = None) -> str:
    """Return a line for a shell: the words, quoted for the shell where needed,
    and the settings that name paths.
    """
    return shlex.join([*words, *(override(name, value) for name, value in (paths or {}).items())])


def quoted(text: str) -> str:
    """Return a value of any characters in hydra's quotes."""
    return str(QuotedString(text, Quote.double).with_quotes())


def escaped(value: Any) -> Any:
    """Return text, or plain values that contain text, escaped for OmegaConf,
    where ``${`` begins an interpolation.
    """
    if isinstance(value, dict):
        return {key: escaped(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [*map(escaped, value)]
    return (
        re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + r"\${", value)
        if isinstance(value, str)
        else value
    )


def unresolved(group: Any, name: str) -> Any:
    """Return a value of a group without resolving ``${``:
    hydra records its folders and overrides unescaped.
    """
    values: Any = OmegaConf.to_container(group, resolve=False)
    return values[name]


def for_hydra(
    words: Iterable[str], settings: Mapping[str, PathSetting], *, sweep: bool | None
) -> list[str]:
    """Return the words of a command line as hydra reads them:
    the values of path settings quoted, two shares as a list.

    Args:
        words: words that are not KEY=VALUE stay unchanged.
        settings: the settings that name paths, by key; in a dictionary, all values name paths.
        sweep: whether the command is a sweep (-m), in which commas separate; None:
            commas never separate.

    Raises:
        SettingsError: a value could be one path or several (the message says how to write it), a
            dictionary has a name twice, or a word is not text.
    """
    all_settings = {**settings, **_OF_HYDRA}
    return [_word(word, all_settings, sweep) for word in words]


def is_sweep(words: Iterable[str]) -> bool:
    """Return whether hydra takes a command with these words for a sweep."""
    return any(
        word in ("-m", "hydra.mode=MULTIRUN")
        or (word.startswith("--m") and "--multirun".startswith(word))
        for word in words
    )


def split(text: str) -> list[str]:
    """Split at commas, except those within quotes or closed brackets."""
    commas = (match.start() for match in re.finditer(",", _masked(text)))
    return [
        text[before + 1 : comma].strip() for before, comma in pairwise([-1, *commas, len(text)])
    ]


def _word(word: str, settings: Mapping[str, PathSetting], sweep: bool | None) -> str:
    try:
        os.fsencode(word)
    except UnicodeEncodeError as error:
        raise SettingsError(
            f"{word!r} cannot be read ({error.reason}); correct its characters"
        ) from error
    if (match := _WORD.fullmatch(word)) is None:
        return word
    plus, name, text = match.groups()
    above = [name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1)]
    setting = settings.get(name) or next(
        (settings[group] for group in above if group in settings and settings[group].inside), None
    )
    if setting is None or setting.inside:
        _check_names(word, text)
    if setting is not None:
        return f"{plus}{name}={_read(name, text, setting, sweep)}"
    return _SHARES.sub(r"\1[\2]", word) if not sweep and _SHARES.fullmatch(word) else word


def _check_names(word: str, text: str) -> None:
    """Refuse a dictionary, at any depth of a value, that has a name twice:
    hydra would drop one of the values.
    """
    masked = _QUOTED.sub(_mask, text)
    while (braces := _BRACES.search(masked)) is not None:
        begin, end = braces.span()
        if masked[begin - 1 : begin] != "$":
            names = [
                part.partition(":")[0].strip()
                for part in split(text[begin + 1 : end - 1])
                if ":" in part
            ]
            if twice := [name for name in names if names.count(name) > 1]:
                raise SettingsError(
                    f"{word}: the name {twice[0]} is given twice; give it once, "
                    "with several files as a list"
                )
        masked = masked[:begin] + _mask(braces) + masked[end:]


def _read(name: str, text: str, setting: PathSetting, sweep: bool | None) -> str:
    if setting.kind is PathKind.OUTPUT:
        if not text.strip():
            raise SettingsError(f"{name} is empty; name a folder, or leave it out")
        return text if _is_null(text) else _path(text)
    if not text.strip() or _is_null(text):
        return text
    if os.path.lexists(as_it_stands := os.path.expanduser(text)):
        return _literal(as_it_stands)
    if setting.inside and (inside := _inside(text, "{}")) is not None:
        pairs = [part.partition(":") for part in split(inside) if part]
        entries = [f"{key}:{_read(name, value.strip(), setting, None)}" for key, _, value in pairs]
        return f"{{{','.join(entries)}}}"
    parts = [text] if sweep is None else split(text)
    if len(parts) == 1:
        return _choice(text, setting)  # spaces at its ends belong to the name
    if sweep:
        return ",".join(_choice(part, setting) for part in parts)
    as_list = ""
    if setting.several and not any(part[:1] in ("[", "'", '"') for part in parts):
        as_list = (
            f"; for a list, write {shell_command([], {name: [*map(os.path.expanduser, parts)]})}"
        )
    raise SettingsError(
        f"{name}={text} could be several values, or one value with commas: add -m for a run with "
        f"each value; for one path, write {shell_command([], {name: as_it_stands})}{as_list}"
    )


def _choice(text: str, setting: PathSetting) -> str:
    """Read one value of a sweep, or the only value: a path, a list of paths, or null."""
    if setting.several and (inside := _inside(text, "[]")) is not None:
        return f"[{','.join(map(_path, split(inside)))}]" if inside.strip() else text
    return text if _is_null(text) else _path(text)


def _path(text: str) -> str:
    """Return a path, in quotes or not, as hydra reads it."""
    reading = read_by_hydra(f"key={text}") if text[:1] in ("'", '"') else None
    content: Any = None if reading is None else reading.value()
    path = os.path.expanduser(content if isinstance(content, str) else text)
    return _plain(path if _has_interpolation(path) else escaped(path))


def _literal(path: str) -> str:
    """Return a path for a command line, escaped so that no character has a special meaning."""
    return _plain(escaped(f".{os.sep}{path}" if path.startswith("~") else path))


def _plain(text: str) -> str:
    """Return a value in hydra's quotes, or unchanged if hydra reads it unchanged and writes it so
    for the jobs of a sweep.
    """
    reading = read_by_hydra(f"key={text}")
    is_plain = reading is not None and reading.value() == text == reading.get_value_element_as_str()
    return text if is_plain else quoted(text)


def _has_interpolation(text: str) -> bool:
    """Return whether ``${`` in a text has a meaning for OmegaConf, also if it is escaped."""
    try:
        OmegaConf.create([text])
    except GrammarParseError:
        return False
    return "${" in text


def _inside(text: str, brackets: str) -> str | None:
    """Return what is between the brackets around a text; None if there are none."""
    inside = text[1:-1]
    is_enclosed = text == f"{brackets[0]}{inside}{brackets[1]}" and not {*brackets} & {
        *_masked(inside)
    }
    return inside if is_enclosed else None


def _masked(text: str) -> str:
    """Return a text of the same length, without what is within quotes or closed brackets."""
    masked = _QUOTED.sub(_mask, text)
    while (outside := _BRACKETS.sub(_mask, masked)) != masked:
        masked = outside
    return masked


def _mask(match: re.Match[str]) -> str:
    return "\0" * len(match[0])


def _is_null(text: str) -> bool:
    return text.strip().lower() == "null"
