"""Trains a parser for every treebank of a folder: optimal-step train_treebanks FOLDER [-o runs/treebanks] [KEY=VALUE ...].

A treebank is a folder below FOLDER with files named as in UD, *-ud-train.conllu and so on; without a dev part,
every tenth training sentence is held out. KEY=VALUE are settings of train. The runs go into OUTPUT/TREEBANK, so finished
ones are not trained again, and the table into OUTPUT/table.md. With --together A,B there is also one model of both, into
OUTPUT/A+B, which tells them apart by a learned vector (recipe=text or model=bilstm).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from parser.settings.paths import escaped, override, quoted
from parser.storage import replacing

_PARTS = ("train", "dev", "test")


def main(arguments: list[str] | None = None) -> int:
    """Trains them one after the other; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings of train, such as recipe=accurate")
    together = "treebanks, by the names of their folders, that one model is trained of, too; may be given several times"
    parser.add_argument("--together", action="append", default=[], metavar="NAME,NAME", help=together)
    parser.add_argument("-o", "--output", type=Path, default=Path("runs/treebanks"), help="default: %(default)s")
    given = parser.parse_intermixed_args(arguments)
    if bad := [setting for setting in given.settings if "=" not in setting]:
        parser.error(f"{bad[0]} is not KEY=VALUE")
    found = treebanks(given.folder)
    if not found:
        raise ValueError(f"{given.folder}: no folder below it has a file *-ud-train.conllu; name one that holds treebanks")
    groups = {name: [name] for name in found} | {"+".join(names): names for names in _groups(given.together, found)}
    metrics: dict[str, dict[str, Any] | None] = {}
    for name, members in groups.items():
        print(f"{name} ({len(metrics) + 1} of {len(groups)})", file=sys.stderr)
        metrics[name] = _trained(name, {one: found[one] for one in members}, given.output / name, given.settings)
        text = table(metrics)
        given.output.mkdir(parents=True, exist_ok=True)
        with replacing(given.output / "table.md") as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    print(text, end="")
    return int(None in metrics.values())


def _groups(together: list[str], found: dict[str, dict[str, Path]]) -> list[list[str]]:
    """The treebanks of each model of several."""
    groups = [names.split(",") for names in together]
    for name in (one for group in groups for one in group):
        if name not in found:
            raise ValueError(f"--together: there is no treebank {name}; there are {', '.join(found)}")
        if not re.fullmatch(r"\w[\w-]*", name):
            raise ValueError(f"--together: a model cannot tell treebanks by the name {name!r}; give its folder one of letters")
    if lone := next((group for group in groups if len({*group}) < max(2, len(group))), None):
        raise ValueError(f"--together {','.join(lone)}: name two treebanks or more, each once, with commas between them")
    return groups


def treebanks(folder: Path) -> dict[str, dict[str, Path]]:
    """By name of the folder, the parts of each treebank below a folder, sorted."""
    found: dict[str, dict[str, Path]] = {}
    for train in sorted(folder.glob("*/*-ud-train.conllu")):
        if train.parent.name in found:
            raise ValueError(f"{train.parent} has several files *-ud-train.conllu; leave one there, or give each a folder")
        files = {part: train.with_name(train.name.replace("-ud-train.", f"-ud-{part}.")) for part in _PARTS}
        found[train.parent.name] = {part: path for part, path in files.items() if path.is_file()}
    return found


def table(metrics: dict[str, dict[str, Any] | None]) -> str:
    """Markdown: a row for each model, and for each treebank of one of several; None is one whose training failed."""
    lines = ["| treebank | sentences | words | dev LAS / UAS | test LAS / UAS |", "|---|---|---|---|---|"]
    for name, found in metrics.items():
        if found is None:
            lines.append(f"| {name} | failed | | | |")
            continue
        lines.append(f"| {name} | {found['train']['sentences']:,} | {found['train']['words']:,} | {_scores(found, '')} |")
        told = {**(found["dev"] or {}), **(found["test"] or {})}
        of_treebanks = [key.removesuffix("/las") for key in told if key.endswith("/las")]
        lines += [f"| {name}: {one} | | | {_scores(found, f'{one}/')} |" for one in of_treebanks]
    return "\n".join(lines) + "\n"


def _scores(metrics: dict[str, Any], prefix: str) -> str:
    found = [metrics[part] or {} for part in ("dev", "test")]
    las, uas = f"{prefix}las", f"{prefix}uas"
    return " | ".join(f"{scores[las]:.2f} / {scores[uas]:.2f}" if las in scores else "-" for scores in found)


def _trained(name: str, members: dict[str, dict[str, Path]], folder: Path, settings: list[str]) -> dict[str, Any] | None:
    """The metrics of a run in a process of its own; None if it failed, which it has said itself."""
    parts = [_part(part, {one: files[part] for one, files in members.items() if part in files}, members) for part in _PARTS]
    held_out = [] if any("dev" in files for files in members.values()) else ["treebank.held_out=0.1"]
    own = [f"treebank.name={quoted(escaped(name))}", *parts, *held_out]
    command = [sys.executable, "-P", "-m", "parser.commands", "train", *own, *settings]
    done = subprocess.run([*command, override("hydra.run.dir", folder)], stdout=subprocess.DEVNULL)
    if done.returncode:
        return None
    metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return metrics


def _part(part: str, files: dict[str, Path], members: Collection[str]) -> str:
    """The setting that names the files of a part, by treebank where there are several."""
    key = f"treebank.{part}"
    if not files:
        return f"{key}=null"
    if len(members) == 1:
        return override(key, *files.values())
    return f"{key}={{{','.join(override(name, file).replace('=', ': ', 1) for name, file in files.items())}}}"
