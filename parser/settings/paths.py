"""Settings that name files and folders: how their values are read from a command line, and written to it.

hydra's grammar refuses many paths: ``treebank.train=kő (v2).conllu`` is an error of its lexer, and ``a,b`` a sweep. So the
values of settings that groups.py declares as paths are read here, and given to hydra in its quotes:

* if a file or folder of exactly that name exists, it is used;
* any other value is also a path: ``KEY=any (text)``. A ``~`` at the beginning is the home folder;
* ``KEY="a, b"``: quotes around a path, with ``\\"`` for a quote inside; commas inside do not separate;
* ``KEY=null``: no path. ``KEY=[a,"b, c"]``: a list, if the setting can name several paths;
* ``KEY=a,b``: in a sweep (-m), a run with each; without -m this is refused. Commas within quotes or closed brackets do not
  separate;
* ``${...}`` is an interpolation of hydra, and ``\\${`` stands for these two characters.

Folders that a command writes are never lists or sweeps, whether they exist or not.

``override`` and ``shell_command`` write values that are read back unchanged.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString, ValueType
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import GrammarParseError

from parser.settings.groups import PathKind, PathSetting, SettingsError

Names = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""The value of a setting that names paths: a path, or a list of paths."""

# Settings of hydra itself. The last folder is below the one before it.
_OF_HYDRA = dict.fromkeys(("hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir"), PathSetting(PathKind.OUTPUT))

_WORD = re.compile(r"(\+{0,2})([\w.-]+)=(.*)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def override(name: str, value: Names) -> str:
    """Return KEY=VALUE that a command reads back as exactly these paths, whatever their names."""
    if isinstance(value, str | os.PathLike):
        return f"{name}={_literal(os.fspath(value))}"
    return f"{name}=[{','.join(_literal(os.fspath(one)) for one in value)}]"


def shell_command(words: Iterable[str], paths: Mapping[str, Names] | None = None) -> str:
    """Return a line for a shell: the words, quoted for the shell where needed, and the settings that name paths."""
    return shlex.join([*words, *(override(name, value) for name, value in (paths or {}).items())])


def quoted(text: str) -> str:
    """Return a value of any characters in hydra's quotes."""
    return str(QuotedString(text, Quote.double).with_quotes())


def escaped(value: Any) -> Any:
    """Return text, or plain values that contain text, escaped for OmegaConf, where ``${`` begins an interpolation."""
    if isinstance(value, dict):
        return {key: escaped(one) for key, one in value.items()}
    if isinstance(value, list):
        return [*map(escaped, value)]
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", value) if isinstance(value, str) else value


def unresolved(group: Any, name: str) -> Any:
    """Return a value of a group without resolving ``${``: hydra records its folders and overrides unescaped."""
    found: Any = OmegaConf.to_container(group, resolve=False)
    return found[name]


def for_hydra(words: Iterable[str], settings: Mapping[str, PathSetting], *, sweep: bool | None) -> list[str]:
    """Return the words of a command line, with the values of path settings quoted for hydra.

    Args:
        words: words that are not KEY=VALUE stay unchanged.
        settings: the settings that name paths, by key; in a dictionary, all values name paths.
        sweep: whether the command is a sweep (-m), in which commas separate; None: commas never separate.

    Raises:
        SettingsError: a value could be one path or several (the message says how to write it), or a dictionary has a name
        twice, or a word is not text.
    """
    words = list(words)
    for word in words:
        try:
            os.fsencode(word)
        except UnicodeEncodeError as error:
            raise SettingsError(f"{word!r} cannot be read ({error.reason}); correct its characters") from error
    known = {**settings, **_OF_HYDRA}
    return [_word(word, known, sweep) for word in words]


def is_sweep(words: Iterable[str]) -> bool:
    """Return whether hydra takes a command with these words for a sweep."""
    return any(
        word in ("-m", "hydra.mode=MULTIRUN") or (word.startswith("--m") and "--multirun".startswith(word)) for word in words
    )


def split(text: str) -> list[str]:
    """Split at commas, except those within quotes or closed brackets."""
    parts, begin, i = [], 0, 0
    while i < len(text):
        if text[i] == ",":
            parts.append(text[begin:i])
            begin = i + 1
        else:
            i = _end(text, i)
        i += 1
    return [part.strip() for part in [*parts, text[begin:]]]


def _end(text: str, begin: int) -> int:
    """Return where the quote or bracket at ``begin`` is closed; ``begin`` if there is none, or it is not closed."""
    if text[begin] in "'\"":
        if text[:begin].rstrip()[-1:] not in ("", *",:=([{"):
            return begin  # an apostrophe
        found = re.compile(rf"(?:[^\\{text[begin]}]|\\.)*{text[begin]}(?=\s*(?:[,\]}})]|$))", re.DOTALL).match(text, begin + 1)
        return begin if found is None else found.end() - 1
    if text[begin] not in _CLOSING:
        return begin
    depth, i = 0, begin
    while i < len(text):
        depth += (text[i] == text[begin]) - (text[i] == _CLOSING[text[begin]])
        if depth == 0:
            return i
        i = 1 + (_end(text, i) if text[i] in "'\"" else i)
    return begin


def _word(word: str, settings: Mapping[str, PathSetting], sweep: bool | None) -> str:
    if (found := _WORD.fullmatch(word)) is None:
        return word
    plus, name, text = found.groups()
    above = [name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1)]
    setting = settings.get(name) or next((settings[one] for one in above if one in settings and settings[one].inside), None)
    if setting is None or setting.inside:
        _check_names(word, text)
    return word if setting is None else f"{plus}{name}={_read(name, text, setting, sweep)}"


def _check_names(word: str, text: str) -> None:
    """Refuse a dictionary, at any depth of a value, that has a name twice: hydra would drop one of the values."""
    i = 0
    while i < len(text):
        end = _end(text, i)
        if text[i] == "{" and end > i and text[i - 1 : i] != "$":
            names = [part.partition(":")[0].strip() for part in split(text[i + 1 : end]) if ":" in part]
            if twice := [name for name in names if names.count(name) > 1]:
                raise SettingsError(f"{word}: the name {twice[0]} is given twice; give it once, with several files as a list")
        i = end + 1 if text[i] in "'\"" else i + 1


def _read(name: str, text: str, setting: PathSetting, sweep: bool | None) -> str:
    if setting.kind is PathKind.OUTPUT:
        if not text.strip():
            raise SettingsError(f"{name} is empty; name a folder, or leave it out")
        return text if _is_null(text) else _one(text)
    if not text.strip() or _is_null(text):
        return text
    if os.path.lexists(as_it_stands := os.path.expanduser(text)):
        return _literal(as_it_stands)
    if setting.inside and _is_enclosed(text, "{"):
        pairs = [part.partition(":") for part in split(text[1:-1]) if part]
        return f"{{{','.join(f'{key}:{_read(name, value.strip(), setting, None)}' for key, _, value in pairs)}}}"
    parts = [text] if sweep is None else split(text)
    if len(parts) == 1:
        return _choice(text, setting)  # blanks at its ends belong to the name
    if sweep:
        return ",".join(_choice(part, setting) for part in parts)
    as_list = ""
    if setting.several and not any(part[:1] in ("[", "'", '"') for part in parts):
        as_list = f"; for a list, write {shell_command([], {name: [*map(os.path.expanduser, parts)]})}"
    raise SettingsError(
        f"{name}={text} could be several values, or one value with commas: add -m for a run with each value; for one path, "
        f"write {shell_command([], {name: as_it_stands})}{as_list}"
    )


def _choice(text: str, setting: PathSetting) -> str:
    """Read one value of a sweep, or the only value: a path, a list of paths, or null."""
    if setting.several and _is_enclosed(text, "["):
        return f"[{','.join(map(_one, split(text[1:-1])))}]" if text[1:-1].strip() else text
    return text if _is_null(text) else _one(text)


def _one(text: str) -> str:
    """Return a path, in quotes or not, as hydra reads it."""
    content = _value(text) if text[:1] in ("'", '"') else None
    path = os.path.expanduser(text if content is None else content)
    return _plain(path if _has_interpolation(path) else escaped(path))


def _literal(path: str) -> str:
    """Return a path for a command line, escaped so that no character has a special meaning."""
    return _plain(escaped(f".{os.sep}{path}" if path.startswith("~") else path))


def _plain(text: str) -> str:
    """Return a value in hydra's quotes, or unchanged if hydra reads it unchanged and writes it so for the jobs of a sweep."""
    return text if _value(text) == text and parsed(f"key={text}").get_value_element_as_str() == text else quoted(text)


def _value(text: str) -> str | None:
    """Return the text that hydra reads; None if it reads something other than one text, or cannot read it."""
    try:
        read = parsed(f"key={text}")
    except HydraException:
        return None
    value: Any = read.value()
    return value if read.value_type is ValueType.ELEMENT and isinstance(value, str) else None


def parsed(word: str) -> Override:
    """Return KEY=VALUE as hydra reads it.

    Raises:
        HydraException: hydra cannot read it.
    """
    return _parser().parse_override(word)


_parser = cache(partial(OverridesParser.create))


def _has_interpolation(text: str) -> bool:
    """Return whether ``${`` in a text has a meaning for OmegaConf, be it an escape."""
    if "${" not in text:
        return False
    try:
        OmegaConf.create([text])
    except GrammarParseError:
        return False
    return True


def _is_enclosed(text: str, bracket: str) -> bool:
    return text.startswith(bracket) and len(text) > 1 and _end(text, 0) == len(text) - 1


def _is_null(text: str) -> bool:
    return text.strip().lower() == "null"
