"""Many files to parse: where their trees go, how they are parsed, and which are done.

An output file is written whole or not at all, so an existing file is done: a later run skips it,
unless its input has changed. A note in the output folder records the model, the tokenizer and the
options; a run that differs is refused. Another note counts the refused sentences, for the exit
status of later runs.
"""

from __future__ import annotations

import glob
import json
import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oracles.errors import OptimalStepError
from parser.conllu.checks import counted
from parser.decoding.parse_options import ParseOptions, changed
from parser.model_folder import TOKENIZER_TENSORS
from parser.storage import from_json, remove_temporaries, sha256_of, write_json

NOTE = "parse_many.json"
REFUSALS = "parse_many.refused.jsonl"

_WILDCARDS = "*?["
_OF_SEARCH = "beam", "merge", "rerank", "treebank"
# Options that a note always has. It has other options only if they are given, so that notes stay
# valid when options are added.
_NOTED = (
    "several_roots",
    "tags",
    "on_error",
    "allow_missing_columns",
    "text",
    "sentences",
    "tokens",
    *_OF_SEARCH,
)
# The parts of a model's folder that trees depend on.
_PARTS = (".json", ".safetensors")


class BulkError(OptimalStepError):
    """The files cannot be parsed with these options; the message says why, and what to do."""


@dataclass(frozen=True)
class Shard:
    """A file, and where its trees go."""

    source: str
    target: str


@dataclass(frozen=True)
class Outcome:
    """The result of parsing a file."""

    shard: Shard
    words: int = 0
    refused: int = 0  # sentences that are not CoNLL-U
    error: str | None = None  # why it failed, if it did
    warnings: tuple[str, ...] = ()


def shards_of(patterns: Sequence[str], output: Path, text: bool = False) -> list[Shard]:
    """Return the files that patterns such as ``in/**/*.conllu.gz`` match,
    in the order of their names.

    A pattern that is the name of an existing file stands for that file. A file keeps its path below
    the part of the pattern without wildcards; for text, ``.txt`` becomes ``.conllu``; ``.bz2``,
    which cannot be written, is dropped. If the output folder lies below that part, its files are
    not read.

    Raises:
        BulkError: a pattern matches no file, or is a folder, or two files would go to the same
            place, or one onto itself.
    """
    shards: dict[str, Shard] = {}
    results = output.resolve()
    for pattern in patterns:
        fixed = list(Path(pattern).parts[:-1])
        if Path(pattern).is_file():
            wild, matched = len(fixed), [pattern]
        else:
            wild = next(
                (i for i, part in enumerate(fixed) if any(c in part for c in _WILDCARDS)),
                len(fixed),
            )
            matched = sorted(
                path for path in glob.glob(pattern, recursive=True) if Path(path).is_file()
            )
        below = Path(*fixed[:wild]).resolve() in results.parents
        sources = [
            path for path in matched if not (below and results in Path(path).resolve().parents)
        ]
        if not sources and Path(pattern).is_dir():
            every = shlex.quote(
                str(Path(glob.escape(pattern)) / "**" / ("*.txt" if text else "*.conllu"))
            )
            raise BulkError(f"{pattern}: this is a folder; name the files in it, such as {every}")
        if not sources:
            raise BulkError(
                f"{pattern}: this matches no file; put it in quotes, "
                "with ** for folders of any depth"
            )
        for source in sources:
            inside = Path(*Path(source).parts[wild:])
            target = output / inside.with_name(_name_of_trees(inside.name, text))
            if target.resolve() == Path(source).resolve():
                raise BulkError(f"{source}: its trees would overwrite it; choose another -o")
            other = shards.setdefault(str(target), Shard(source, str(target)))
            if other.source != source:
                raise BulkError(
                    f"{other.source} and {source} would both go to {target}; "
                    "parse them into two folders"
                )
    return list(shards.values())


def _name_of_trees(name: str, text: bool) -> str:
    if Path(name).suffix == ".bz2":  # which can only be read
        name = Path(name).stem
    if not text:
        return name
    base, dot, compression = name.rpartition(".")
    if compression not in ("gz", "xz"):
        base, dot, compression = name, "", ""
    return f"{base.removesuffix('.txt')}.conllu{dot}{compression}"


def claim(
    output: Path,
    model: Path,
    options: ParseOptions,
    tokenizer: Path | None = None,
    shards: Iterable[Shard] = (),
) -> None:
    """Write the note into the output folder. Call it after all other checks.

    Args:
        options: how the files are parsed.
        tokenizer: the file of the tokenizer, for text.
        shards: the files to parse.

    Raises:
        BulkError: the existing files come from another model, another tokenizer or other options;
            or there is no note, so they do not come from this command.
    """
    parts = {
        path.name: sha256_of(path)
        for path in sorted(model.iterdir())
        if path.suffix in _PARTS and path.is_file()
    }
    changes = changed(options)
    how = {name: value for name, value in asdict(options).items() if name in _NOTED} | changes
    how |= {
        "single_root": not how.pop("several_roots"),
        "tokenizer": None if tokenizer is None else sha256_of(tokenizer),
    }
    for name in ("lexicon", "abbreviations"):
        if isinstance(file := getattr(options, name), Path):
            how[name] = sha256_of(file)
    if tokenizer is not None and (weights := tokenizer.with_name(TOKENIZER_TENSORS)).is_file():
        how["tokenizer_weights"] = sha256_of(weights)
    made_with: dict[str, Any] = {"model": parts, "options": how}
    note = output / NOTE
    if not note.exists():
        if foreign := [shard.target for shard in shards if os.path.lexists(shard.target)]:
            more = f", and {counted(len(foreign) - 1, 'other file')}" if foreign[1:] else ""
            why = f"parse_many has not written this file{more}, as there is no {NOTE} in {output}"
            raise BulkError(f"{foreign[0]}: {why}; choose another -o, or move what is there away")
        output.mkdir(parents=True, exist_ok=True)
        write_json(note, made_with)
    elif _read(note) != made_with:
        reason = "the files there come from another model, another tokenizer or other options"
        raise BulkError(f"{output}: {reason}; choose another -o, or remove the folder")


def _read(note: Path) -> Any:
    try:
        return from_json(note.read_bytes())
    except ValueError:
        return None  # unknown, so different from any other


def to_parse(shards: Sequence[Shard]) -> list[Shard]:
    """Return the files whose trees are missing or out of date."""
    return [shard for shard in shards if not Path(shard.target).exists() or has_changed(shard)]


def has_changed(shard: Shard) -> bool:
    """Return whether the trees exist, but the file is newer."""
    source, target = Path(shard.source), Path(shard.target)
    return (
        source.exists()
        and target.exists()
        and source.stat().st_mtime_ns > target.stat().st_mtime_ns
    )


def remove_half_files(shards: Iterable[Shard]) -> None:
    """Remove the temporary files that killed processes have left for these files.
    Call it when the processes are dead.
    """
    remove_temporaries(Path(shard.target) for shard in shards)


class Refusals:
    """Counts of the refused sentences of files that are done, in a note in the output folder."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._path = output / REFUSALS
        self._known: dict[str, int] = {}
        for line in self._path.read_bytes().splitlines() if self._path.exists() else []:
            # a line is cut off if the disk was full
            with suppress(ValueError, KeyError, TypeError, OverflowError):
                entry = from_json(line)
                self._known[str(entry["file"])] = int(entry["sentences"])

    def remember(self, outcome: Outcome) -> None:
        """Record the refused sentences of a file that is done; they replace an older count."""
        file = self._name(outcome.shard)
        if outcome.error is not None or outcome.refused == self._known.get(file, 0):
            return
        self._known[file] = outcome.refused
        with self._path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(json.dumps({"file": file, "sentences": outcome.refused}) + "\n")

    def of(self, shards: Iterable[Shard]) -> int:
        """Return the number of refused sentences in these files."""
        return sum(self._known.get(self._name(shard), 0) for shard in shards)

    def _name(self, shard: Shard) -> str:
        return str(Path(shard.target).relative_to(self._output))
