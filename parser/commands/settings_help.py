"""What settings are for, as the comments of configs/ say: optimal-step train --help, and the tables of the documentation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

import oracles
from parser.settings.files import CONFIGS
from parser.settings.groups import keys
from parser.settings.overrides import CHOICES, training_settings

# The files that say what keys are for; a key is explained by the first one that has it, and its value there is shown.
SECTIONS = {
    "The treebank": ("treebank/sample.yaml",),
    "Every run": ("train.yaml",),
    "The recipe": ("recipe/paper.yaml",),
    "With model=mlp": ("model/mlp.yaml",),
    "With model=bilstm": ("model/bilstm.yaml", "recipe_model/text_bilstm.yaml"),
    "With model=linear": ("model/linear.yaml",),
    "The beam": ("beam/none.yaml", "beam/global.yaml"),
    "The tokenizer": ("tokenizer/none.yaml", "tokenizer/udpipe.yaml"),
}
_LINE = re.compile(r"( *)(?:- +(?:optional +|override +)?)?([\w/]+): *([^#]*?) *(?:# *(.*))?")
_WIDTH = 110  # of the text, which terminals wrap where they are narrower
_MARGIN = 50
_ABSENT = "???"


def explained(path: Path) -> dict[str, tuple[str, str]]:
    """By key of a file of settings: its value there, and what its comment says; a comment may go on in lines of its own."""
    found: dict[str, tuple[str, str]] = {}
    parents: list[tuple[int, str]] = []
    package = f"{path.parent.name}." if path.parent.name in ("beam", "tokenizer", "treebank") else ""
    last = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r" {20,}#", line) and last:
            value, comment = found[last]
            found[last] = value, f"{comment} {line.strip().lstrip('# ')}"
            continue
        match = _LINE.fullmatch(line)
        if match is None or line.startswith("#"):
            continue
        indent, name, value, comment = len(match[1]), match[2], match[3], match[4] or ""
        parents = [(depth, parent) for depth, parent in parents if depth < indent]
        way = [parent for _, parent in parents if parent != "defaults"]
        if not value:
            parents.append((indent, name))
        last = package + ".".join([*way, name])
        if last not in found or (comment and not found[last][1]):
            found[last] = value, comment
    return found


def schema_keys() -> list[str]:
    """The keys of all settings, with any choice of the groups, but those of the columns of Table 7."""
    return [key.name for key in keys().values() if not key.is_group and key.name != "table7"]


def groups() -> Iterator[tuple[str, str, str]]:
    """Of each group: its name, its choice in a run without settings, and what its comment says."""
    of_file = explained(CONFIGS / "train.yaml")
    return ((group, *of_file[group]) for group in CHOICES)


def sections() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """The settings by section: key, value in its file, and what its comment says."""
    known = schema_keys()
    done = set(CHOICES)
    for title, files in SECTIONS.items():
        rows = []
        for file in files:
            of_file = explained(CONFIGS / file)
            rows += [(key, *of_file[key]) for key in known if key in of_file and key not in done]
            done |= {key for key in known if key in of_file}
        yield title, rows


def settings_help(overrides: Sequence[str]) -> str:
    """Return the text of --help: choices of groups, all settings with their values in the run, and their number.

    Raises:
        SettingsError: there is no such run.
    """
    run: Any = training_settings(overrides)
    lines = ["Usage: optimal-step train [-m] [--dry-run] [KEY=VALUE ...]; -m: a run for each KEY=A,B; --dry-run: a plan", ""]
    lines += ["Choices that set others (--cfg job prints all that a run has; --hydra-help what hydra has)"]
    for group, _, comment in groups():
        names = f"; one of {', '.join(oracles.all_names())}" if group == "oracle" else ""
        lines += _entry(f"{group}={_value(run, group) or OmegaConf.select(run, f'{group}.name')}", f"{comment}{names}")
    for title, rows in sections():
        lines += ["", title]
        for key, in_file, comment in rows:
            value = in_file if (found := _value(run, key)) is None else found
            lines += _entry(f"{key}={value}" if value else f"{key}.NAME=VALUE", comment)
    lines += ["", f"{len(schema_keys())} settings"]
    return "\n".join(lines)


def _value(run: Any, key: str) -> str | None:
    """As it is given on a command line; None if the run has no such setting, or a group."""
    value = OmegaConf.select(run, key, default=_ABSENT)
    if value is _ABSENT or OmegaConf.is_dict(value):
        return None
    if OmegaConf.is_list(value):
        return f"[{','.join(map(str, value))}]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _entry(given: str, comment: str) -> list[str]:
    """A setting and its comment beside it, wrapped; below it, where the setting is long."""
    margin = " " * _MARGIN
    wrapped = textwrap.wrap(comment, _WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False) or [""]
    if len(given) + 4 > _MARGIN:
        return [f"  {given}", *filter(None, wrapped)]
    return [f"{f'  {given}':{_MARGIN}}{wrapped[0].lstrip()}".rstrip(), *wrapped[1:]]
