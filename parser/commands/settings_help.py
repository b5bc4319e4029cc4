"""Explanations of settings from the comments of configs/,
for optimal-step train --help and tables of the documentation.
"""

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

# The files whose comments explain keys; the first file that has a key gives its explanation and the
# value shown.
SECTIONS = {
    "The treebank": ("treebank/sample.yaml",),
    "Every run": ("train.yaml",),
    "The recipe": ("recipe/paper.yaml",),
    "With model=mlp": ("model/mlp.yaml",),
    "With model=bilstm": ("model/bilstm.yaml", "recipe_model/text_bilstm.yaml"),
    "With model=linear": ("model/linear.yaml",),
    "The beam": ("beam/none.yaml", "beam/global.yaml"),
}
_LINE = re.compile(r"( *)(?:- +(?:optional +|override +)?)?([\w/]+): *([^#]*?) *(?:# *(.*))?")
_WIDTH = 110  # of the text; narrower terminals wrap it
_MARGIN = 50
_ABSENT = "???"


def explained(path: Path) -> dict[str, tuple[str, str]]:
    """Return the value and the comment of each key of a settings file;
    a comment may continue on further lines.
    """
    explanations: dict[str, tuple[str, str]] = {}
    parents: list[tuple[int, str]] = []
    package = f"{path.parent.name}." if path.parent.name in ("beam", "treebank") else ""
    last = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r" {20,}#", line) and last:
            value, comment = explanations[last]
            explanations[last] = value, f"{comment} {line.strip().lstrip('# ')}"
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
        if last not in explanations or (comment and not explanations[last][1]):
            explanations[last] = value, comment
    return explanations


def schema_keys() -> list[str]:
    """Return the keys of all settings, for any choice of the groups,
    without the columns of Table 7.
    """
    return [key.name for key in keys().values() if not key.is_group and key.name != "table7"]


def groups() -> Iterator[tuple[str, str, str]]:
    """Yield each group's name, its default choice, and its comment."""
    entries = explained(CONFIGS / "train.yaml")
    return ((group, *entries[group]) for group in CHOICES)


def sections() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Yield the title of each section and its settings: key, value in its file, and comment."""
    every_key = schema_keys()
    done = set(CHOICES)
    for title, files in SECTIONS.items():
        rows = []
        for file in files:
            entries = explained(CONFIGS / file)
            rows += [
                (key, *entries[key]) for key in every_key if key in entries and key not in done
            ]
            done |= {key for key in every_key if key in entries}
        yield title, rows


def settings_help(overrides: Sequence[str]) -> str:
    """Return the text of --help: choices of groups, all settings with their values in the run,
    and their number.

    Raises:
        SettingsError: the overrides are not valid.
    """
    run: Any = training_settings(overrides)
    lines = [
        "Usage: optimal-step train [-m] [--dry-run] [KEY=VALUE ...]",
        "",
        "  -m: a sweep, one run for each value of KEY=A,B",
    ]
    lines += [
        "  --dry-run: print the plan of the run, and stop",
        "  --cfg job: print all settings of the run",
    ]
    lines += [
        "  --hydra-help: print further options, those of hydra",
        "",
        "Choices that set other keys",
    ]
    for group, _, comment in groups():
        names = f"; one of {', '.join(oracles.all_names())}" if group == "oracle" else ""
        lines += _entry(
            f"{group}={_value(run, group) or OmegaConf.select(run, f'{group}.name')}",
            f"{comment}{names}",
        )
    for title, rows in sections():
        lines += ["", title]
        for key, in_file, comment in rows:
            value = in_file if (run_value := _value(run, key)) is None else run_value
            lines += _entry(f"{key}={value}" if value else f"{key}.NAME=VALUE", comment)
    lines += ["", f"{len(schema_keys())} settings"]
    return "\n".join(lines)


def _value(run: Any, key: str) -> str | None:
    """Return the value as a command line gives it; None if the run has no such setting,
    or it is a group.
    """
    value = OmegaConf.select(run, key, default=_ABSENT)
    if value is _ABSENT or OmegaConf.is_dict(value):
        return None
    if OmegaConf.is_list(value):
        return f"[{','.join(map(str, value))}]"
    return (
        "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _entry(setting: str, comment: str) -> list[str]:
    """Return the lines of a setting: its comment, wrapped, is beside it,
    or below a long setting.
    """
    margin = " " * _MARGIN
    wrapped = textwrap.wrap(
        comment, _WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
    ) or [""]
    if len(setting) + 4 > _MARGIN:
        return [f"  {setting}", *filter(None, wrapped)]
    return [f"{f'  {setting}':{_MARGIN}}{wrapped[0].lstrip()}".rstrip(), *wrapped[1:]]
