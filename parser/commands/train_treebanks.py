"""Trains a parser for every treebank of a folder: optimal-step train_treebanks FOLDER [-o runs/treebanks] [KEY=VALUE ...].

A treebank is a folder below FOLDER with files named as in UD, *-ud-train.conllu and so on; without a dev part,
every tenth training sentence is held out. KEY=VALUE are settings of train. The runs go into OUTPUT/TREEBANK, so finished
ones are not trained again, and the table into OUTPUT/table.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from parser.settings.paths import escaped, override, quoted
from parser.storage.atomic import replacing

_PARTS = ("train", "dev", "test")


def main(arguments: list[str] | None = None) -> int:
    """Trains them one after the other; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings of train, such as recipe=accurate")
    parser.add_argument("-o", "--output", type=Path, default=Path("runs/treebanks"), help="default: %(default)s")
    given = parser.parse_intermixed_args(arguments)
    if bad := [setting for setting in given.settings if "=" not in setting]:
        parser.error(f"{bad[0]} is not KEY=VALUE")
    found = treebanks(given.folder)
    if not found:
        raise ValueError(f"{given.folder}: no folder below it has a file *-ud-train.conllu; name one that holds treebanks")
    metrics: dict[str, dict[str, Any] | None] = {}
    for name, files in found.items():
        print(f"{name} ({len(metrics) + 1} of {len(found)})", file=sys.stderr)
        metrics[name] = _trained(name, files, given.output / name, given.settings)
        text = table(metrics)
        given.output.mkdir(parents=True, exist_ok=True)
        with replacing(given.output / "table.md") as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    print(text, end="")
    return int(None in metrics.values())


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
    """Markdown: a row for each treebank; None is one whose training failed."""
    lines = ["| treebank | sentences | words | dev LAS / UAS | test LAS / UAS |", "|---|---|---|---|---|"]
    for name, found in metrics.items():
        if found is None:
            lines.append(f"| {name} | failed | | | |")
            continue
        scores = [f"{found[part]['las']:.2f} / {found[part]['uas']:.2f}" if found[part] else "-" for part in ("dev", "test")]
        lines.append(f"| {name} | {found['train']['sentences']:,} | {found['train']['words']:,} | {' | '.join(scores)} |")
    return "\n".join(lines) + "\n"


def _trained(name: str, files: dict[str, Path], folder: Path, settings: list[str]) -> dict[str, Any] | None:
    """The metrics of a run in a process of its own; None if it failed, which it has said itself."""
    parts = [override(f"treebank.{part}", files[part]) if part in files else f"treebank.{part}=null" for part in _PARTS]
    held_out = [] if "dev" in files else ["treebank.held_out=0.1"]
    own = [f"treebank.name={quoted(escaped(name))}", *parts, *held_out]
    command = [sys.executable, "-P", "-m", "parser.commands", "train", *own, *settings]
    done = subprocess.run([*command, override("hydra.run.dir", folder)], stdout=subprocess.DEVNULL)
    if done.returncode:
        return None
    metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return metrics
