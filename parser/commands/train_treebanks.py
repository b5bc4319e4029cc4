"""Trains a parser for every treebank of a folder: optimal-step train_treebanks FOLDER
[-o runs/treebanks] [KEY=VALUE ...].

A treebank is a folder below FOLDER with files named as in UD (*-ud-train.conllu and so on). If it
has no dev part, a tenth of the training sentences is held out. KEY=VALUE are settings of train.
Each run goes into OUTPUT/TREEBANK, and finished runs are not repeated; the table goes into
OUTPUT/table.md. --together A,B also trains one model on both treebanks, into OUTPUT/A+B; it tells
them apart by a learned vector (recipe=text or model=bilstm).
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

from oracles.errors import OptimalStepError, did_you_mean
from parser.commands.arguments import Arguments
from parser.settings.paths import escaped, override, quoted
from parser.storage import ESCAPES, replacing

_SPLITS = ("train", "dev", "test")


def main(arguments: list[str] | None = None) -> int:
    """Train the parsers one after the other; return 1 if one could not be trained, otherwise 0."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "settings",
        nargs="*",
        metavar="KEY=VALUE",
        help="settings of train, such as recipe=accurate",
    )
    together = "folders of treebanks that one more model is trained on; may be given several times"
    parser.add_argument(
        "--together", action="append", default=[], metavar="NAME,NAME", help=together
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("runs/treebanks"), help="default: %(default)s"
    )
    args = parser.parse_intermixed_args(arguments)
    if bad := [setting for setting in args.settings if "=" not in setting]:
        parser.error(f"{bad[0]} is not KEY=VALUE")
    treebank_files = treebanks(args.folder)
    if not treebank_files:
        raise OptimalStepError(
            f"{args.folder}: no folder in it has a file *-ud-train.conllu; "
            "name a folder that holds treebanks"
        )
    groups = {name: [name] for name in treebank_files} | {
        "+".join(names): names for names in _groups(args.together, treebank_files)
    }
    metrics: dict[str, dict[str, Any] | None] = {}
    for name, members in groups.items():
        print(f"{name} ({len(metrics) + 1} of {len(groups)})", file=sys.stderr)
        metrics[name] = _trained(
            name,
            {member: treebank_files[member] for member in members},
            args.output / name,
            args.settings,
        )
        text = table(metrics)
        args.output.mkdir(parents=True, exist_ok=True)
        with replacing(args.output / "table.md") as temporary:
            temporary.write_text(text, encoding="utf-8", errors=ESCAPES, newline="\n")
    print(text, end="")
    return int(None in metrics.values())


def _groups(together: list[str], treebank_files: dict[str, dict[str, Path]]) -> list[list[str]]:
    """Return the names of the treebanks of each model of several treebanks."""
    groups = [names.split(",") for names in together]
    for name in (name for group in groups for name in group):
        if name not in treebank_files:
            near = did_you_mean(name, treebank_files)
            raise OptimalStepError(
                f"--together: there is no treebank {name}{near}; "
                f"there are {', '.join(treebank_files)}"
            )
        if not re.fullmatch(r"\w[\w-]*", name):
            raise OptimalStepError(
                f"--together: {name!r} cannot name a treebank; "
                "give its folder a name of letters and digits"
            )
    if lone := next((group for group in groups if len({*group}) < max(2, len(group))), None):
        raise OptimalStepError(
            f"--together {','.join(lone)}: name two treebanks or more, each once, "
            "with commas between them"
        )
    return groups


def treebanks(folder: Path) -> dict[str, dict[str, Path]]:
    """Return the files of each treebank below a folder by split,
    and the treebanks by folder name, sorted.
    """
    treebank_files: dict[str, dict[str, Path]] = {}
    for train in sorted(folder.glob("*/*-ud-train.conllu")):
        if train.parent.name in treebank_files:
            raise OptimalStepError(
                f"{train.parent} has several files *-ud-train.conllu; put each into its own folder"
            )
        files = {
            split: train.with_name(train.name.replace("-ud-train.", f"-ud-{split}."))
            for split in _SPLITS
        }
        treebank_files[train.parent.name] = {
            split: path for split, path in files.items() if path.is_file()
        }
    return treebank_files


def table(metrics: dict[str, dict[str, Any] | None]) -> str:
    """Return Markdown: a row for each model, and for each treebank of a model of several; the
    metrics are None if training failed.
    """
    lines = [
        "| treebank | sentences | words | dev LAS / UAS | test LAS / UAS |",
        "|---|---|---|---|---|",
    ]
    for name, run_metrics in metrics.items():
        if run_metrics is None:
            lines.append(f"| {name} | failed | | | |")
            continue
        train = run_metrics["train"]
        lines.append(
            f"| {name} | {train['sentences']:,} | {train['words']:,} | {_scores(run_metrics, '')} |"
        )
        told = {**(run_metrics["dev"] or {}), **(run_metrics["test"] or {})}
        several = [key.removesuffix("/las") for key in told if key.endswith("/las")]
        lines += [
            f"| {name}: {treebank} | | | {_scores(run_metrics, f'{treebank}/')} |"
            for treebank in several
        ]
    return "\n".join(lines) + "\n"


def _scores(metrics: dict[str, Any], prefix: str) -> str:
    split_scores = [metrics[split] or {} for split in ("dev", "test")]
    las, uas = f"{prefix}las", f"{prefix}uas"
    return " | ".join(
        f"{scores[las]:.2f} / {scores[uas]:.2f}" if las in scores else "-"
        for scores in split_scores
    )


def _trained(
    name: str, members: dict[str, dict[str, Path]], folder: Path, settings: list[str]
) -> dict[str, Any] | None:
    """Train in a new process, and return the metrics; None if it failed,
    after it has printed why.
    """
    split_settings = []
    for split in _SPLITS:
        split_files = {
            treebank: files[split] for treebank, files in members.items() if split in files
        }
        split_settings.append(_split_setting(split, split_files, members))
    there = {split for files in members.values() for split in files}
    held_out = [] if "dev" in there else ["treebank.held_out=0.1"]
    run_settings = [f"treebank.name={quoted(escaped(name))}", *split_settings, *held_out]
    there -= {split for split in _SPLITS if f"treebank.{split}=null" in settings}
    run_settings += [setting for setting in settings if _has_effect(setting, there)]
    command = [sys.executable, "-P", "-m", "parser.commands", "train", *run_settings]
    done = subprocess.run([*command, override("hydra.run.dir", folder)], stdout=subprocess.DEVNULL)
    if done.returncode:
        return None
    metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return metrics


def _has_effect(setting: str, there: Collection[str]) -> bool:
    """Return False for shares to hold out if treebanks have the splits (``there``) themselves:
    settings are for all treebanks, and train refuses a share without effect.
    """
    if not setting.startswith("treebank.held_out="):
        return True
    return "dev" not in there or ("," in setting and "test" not in there)


def _split_setting(split: str, files: dict[str, Path], members: Collection[str]) -> str:
    """Return the setting that names the files of a split; for several treebanks, by treebank."""
    key = f"treebank.{split}"
    if not files:
        return f"{key}=null"
    if len(members) == 1:
        return override(key, *files.values())
    entries = [override(name, file).replace("=", ": ", 1) for name, file in files.items()]
    return f"{key}={{{','.join(entries)}}}"
