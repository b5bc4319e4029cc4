"""Settings that name files and folders: how their values are read from a command line, and written for one.

hydra's grammar has no room for many paths: ``treebank.train=kő (v2).conllu`` is an error of its lexer, and ``a,b`` a sweep. So
the values of these settings, which the metadata of groups.py tell, are read here and given to hydra in its quotes:

* what is the name of an existing file or folder means that one;
* any other value is a path as it stands: ``KEY=any (text)``. A ``~`` at the beginning is the home folder;
* in quotes, ``KEY="a, b"``, with ``\\"`` for a quote inside; nothing in it separates;
* ``KEY=null``: none. ``KEY=[a,"b, c"]``: a list, where a setting can name several;
* ``KEY=a,b``: in a sweep (-m), a run with each. Without -m this is refused. Commas within quotes or within brackets that are
  closed do not separate;
* ``${...}`` is an interpolation of hydra's, and ``\\${`` stands for these two characters.

Folders that a command writes are never lists or sweeps, whether they exist or not.

``override`` and ``shell_command`` write what is read back as it was.
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
"""What a setting names: a path, or a list of them."""

# hydra's own. The last one is below the one before.
_OF_HYDRA = dict.fromkeys(("hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir"), PathSetting(PathKind.OUTPUT))

_WORD = re.compile(r"(\+{0,2})([\w.-]+)=(.*)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def override(name: str, value: Names) -> str:
    """KEY=VALUE that a command reads back as exactly these paths, whatever their names."""
    if isinstance(value, str | os.PathLike):
        return f"{name}={_literal(os.fspath(value))}"
    return f"{name}=[{','.join(_literal(os.fspath(one)) for one in value)}]"


def shell_command(words: Iterable[str], paths: Mapping[str, Names] | None = None) -> str:
    """A line for a shell: words, which are left as they are but for the shell's quotes, and settings that name paths."""
    return shlex.join([*words, *(override(name, value) for name, value in (paths or {}).items())])


def quoted(text: str) -> str:
    """A value of any characters in hydra's quotes."""
    return str(QuotedString(text, Quote.double).with_quotes())


def escaped(value: Any) -> Any:
    """Text, or plain values with texts in them, as OmegaConf has to hold it, for which ``${`` begins an interpolation."""
    if isinstance(value, dict):
        return {key: escaped(one) for key, one in value.items()}
    if isinstance(value, list):
        return [*map(escaped, value)]
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", value) if isinstance(value, str) else value


def unresolved(group: Any, name: str) -> Any:
    """A value in which ``${`` means nothing: hydra notes the folders that it works in, and what it is given, as they are."""
    found: Any = OmegaConf.to_container(group, resolve=False)
    return found[name]


def for_hydra(words: Iterable[str], settings: Mapping[str, PathSetting], *, sweep: bool | None) -> list[str]:
    """The words of a command line, values of settings that name paths as hydra reads them.

    Args:
        words: those that are KEY=VALUE, among others, which are left as they are.
        settings: by key, those that name paths; of a dictionary, all that is in it does.
        sweep: whether the command is a sweep (-m), in which commas separate; None if there are none: then they do not.

    Raises:
        SettingsError: a value that could be one path or several, with how to write it; or a dictionary that has a name twice.
    """
    known = {**settings, **_OF_HYDRA}
    return [_word(word, known, sweep) for word in words]


def is_sweep(words: Iterable[str]) -> bool:
    """Whether hydra takes a command with these words for a sweep."""
    return any(
        word in ("-m", "hydra.mode=MULTIRUN") or (word.startswith("--m") and "--multirun".startswith(word)) for word in words
    )


def split(text: str) -> list[str]:
    """The parts between commas, but for those within quotes or brackets that are closed."""
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
    """Where the quote or bracket that begins there is closed; the same place if none does, or it is not."""
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
    """Refuse a dictionary, at any depth of a value, that has a name twice: hydra would drop one of its values."""
    i = 0
    while i < len(text):
        end = _end(text, i)
        if text[i] == "{" and end > i and text[i - 1 : i] != "$":
            names = [part.partition(":")[0].strip() for part in split(text[i + 1 : end]) if ":" in part]
            if twice := [name for name in names if names.count(name) > 1]:
                raise SettingsError(f"{word}: the name {twice[0]} is given twice; give it once, several files of it as a list")
        i = end + 1 if text[i] in "'\"" else i + 1


def _read(name: str, text: str, setting: PathSetting, sweep: bool | None) -> str:
    """The value as hydra reads it."""
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
        return _choice(text, setting)  # blanks at its ends are its own
    if sweep:
        return ",".join(_choice(part, setting) for part in parts)
    as_list = ""
    if setting.several and not any(part[:1] in ("[", "'", '"') for part in parts):
        as_list = f"; for a list, write {shell_command([], {name: [*map(os.path.expanduser, parts)]})}"
    raise SettingsError(
        f"{name}={text} has several values, or one with commas in it: add -m for a run with each of them; for one path, "
        f"write {shell_command([], {name: as_it_stands})}{as_list}"
    )


def _choice(text: str, setting: PathSetting) -> str:
    """One of the values of a sweep, or the only one: a path, a list of paths, or null."""
    if setting.several and _is_enclosed(text, "["):
        return f"[{','.join(map(_one, split(text[1:-1])))}]" if text[1:-1].strip() else text
    return text if _is_null(text) else _one(text)


def _one(text: str) -> str:
    """A path, in quotes or not, as hydra reads it."""
    content = _value(text) if text[:1] in ("'", '"') else None
    path = os.path.expanduser(text if content is None else content)
    return _plain(path if _has_interpolation(path) else escaped(path))


def _literal(path: str) -> str:
    """A path in which nothing has a meaning, as a command line reads it."""
    return _plain(escaped(f".{os.sep}{path}" if path.startswith("~") else path))


def _plain(text: str) -> str:
    """A value in hydra's quotes, unless it reads it as it is, and writes it so for the jobs of a sweep."""
    return text if _value(text) == text and parsed(f"key={text}").get_value_element_as_str() == text else quoted(text)


def _value(text: str) -> str | None:
    """What hydra reads; None if that is not text, or several values, or nothing that it can read."""
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
    """Whether ``${`` in it means something to OmegaConf, if only that it does not."""
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
