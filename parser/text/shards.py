"""Many files to parse: where their trees go, how they are parsed, and what is done already.

A file of the output is written whole or not at all, so that what is there is done: when the work is started again, it is
skipped, unless its input has changed since. A note in the output's folder says which model, tokenizer and options made the
files; others are refused there. Another remembers the sentences that were refused, for the exit status of later runs.
"""

from __future__ import annotations

import glob
import json
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parser.decoding.parse_options import ParseOptions, changed
from parser.storage import remove_temporaries, sha256_of, write_json

NOTE = "parse_many.json"
REFUSALS = "parse_many.refused.jsonl"

_WILDCARDS = "*?["
_OF_SEARCH = "beam", "merge", "rerank", "treebank"
# Options that a note names always. Of the others it names those that are given, so that one which is new changes no note.
_NOTED = "several_roots", "tags", "on_error", "allow_missing_columns", "text", "sentences", "tokens", *_OF_SEARCH
# The parts of a model's folder that trees depend on.
_PARTS = (".json", ".safetensors")


class BulkError(ValueError):
    """The files cannot be parsed as asked for; the message says why, and the fix."""


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
    """The files that patterns such as ``in/**/*.conllu.gz`` match, in the order of their names.

    A pattern that is the name of a file stands for that file, whatever is in the name. A file keeps its path below the part of
    the pattern without wildcards; of text, ``.txt`` becomes ``.conllu``, and ``.bz2``, which is not written, is left out. Where
    the output lies below that part, what is in it is not read.

    Raises:
        BulkError: a pattern matches no file, or is a folder, or two files would go to the same place, or one onto itself.
    """
    shards: dict[str, Shard] = {}
    results = output.resolve()
    for pattern in patterns:
        fixed = list(Path(pattern).parts[:-1])
        if Path(pattern).is_file():
            wild, matched = len(fixed), [pattern]
        else:
            wild = next((i for i, part in enumerate(fixed) if any(c in part for c in _WILDCARDS)), len(fixed))
            matched = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())
        below = Path(*fixed[:wild]).resolve() in results.parents
        found = [path for path in matched if not (below and results in Path(path).resolve().parents)]
        if not found and Path(pattern).is_dir():
            every = shlex.quote(str(Path(glob.escape(pattern)) / "**" / ("*.txt" if text else "*.conllu")))
            raise BulkError(f"{pattern}: this is a folder; name the files in it, such as {every}")
        if not found:
            raise BulkError(f"{pattern}: this matches no file; put it in quotes, with ** for folders of any depth")
        for source in found:
            inside = Path(*Path(source).parts[wild:])
            target = output / inside.with_name(_name_of_trees(inside.name, text))
            if target.resolve() == Path(source).resolve():
                raise BulkError(f"{source}: its trees would overwrite it; choose another -o")
            other = shards.setdefault(str(target), Shard(source, str(target)))
            if other.source != source:
                raise BulkError(f"{other.source} and {source} would both go to {target}; parse them into two folders")
    return list(shards.values())


def _name_of_trees(name: str, text: bool) -> str:
    if Path(name).suffix == ".bz2":  # it can be read alone
        name = Path(name).stem
    if not text:
        return name
    base, dot, compression = name.rpartition(".")
    if compression not in ("gz", "xz"):
        base, dot, compression = name, "", ""
    return f"{base.removesuffix('.txt')}.conllu{dot}{compression}"


def claim(output: Path, model: Path, options: ParseOptions, tokenizer: Path | None = None) -> None:
    """Notes in the folder of the output what its files are made with. To be called when all else has been checked.

    Args:
        output: the folder.
        model: the model's.
        options: how the files are parsed.
        tokenizer: the file of the tokenizer, of text.

    Raises:
        BulkError: those that are there were made otherwise.
    """
    parts = {path.name: sha256_of(path) for path in sorted(model.iterdir()) if path.suffix in _PARTS and path.is_file()}
    given = changed(options)
    how = {name: value for name, value in asdict(options).items() if name in _NOTED} | given
    how |= {"single_root": not how.pop("several_roots"), "tokenizer": None if tokenizer is None else sha256_of(tokenizer)}
    if isinstance(options.lexicon, Path):
        how["lexicon"] = sha256_of(options.lexicon)
    made_with: dict[str, Any] = {"model": parts, "options": how}
    note = output / NOTE
    if not note.exists():
        output.mkdir(parents=True, exist_ok=True)
        write_json(note, made_with)
    elif _read(note) != made_with:
        made = "the files there come from another model, another tokenizer or other options"
        raise BulkError(f"{output}: {made}; choose another -o, or remove it")


def _read(note: Path) -> Any:
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except ValueError:
        return None  # nobody knows what made the files


def undone(shards: Sequence[Shard]) -> list[Shard]:
    """Those whose trees are not there yet, or are of what was in the file before."""
    return [shard for shard in shards if not Path(shard.target).exists() or has_changed(shard)]


def has_changed(shard: Shard) -> bool:
    """Whether the trees are there, but the file is newer."""
    source, target = Path(shard.source), Path(shard.target)
    return source.exists() and target.exists() and source.stat().st_mtime_ns > target.stat().st_mtime_ns


def remove_half_files(shards: Iterable[Shard]) -> None:
    """Removes what processes that were killed have left of the trees of these files. To be called when they are dead."""
    remove_temporaries(Path(shard.target) for shard in shards)


class Refusals:
    """How many sentences of files that are done are not CoNLL-U, remembered in the folder of the output.

    Args:
        output: the folder.
    """

    def __init__(self, output: Path) -> None:
        self._output = output
        self._path = output / REFUSALS
        self._known: dict[str, int] = {}
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        for line in lines:
            with suppress(json.JSONDecodeError):  # the end of a line is missing where the disk was full
                found = json.loads(line)
                self._known[found["file"]] = found["sentences"]

    def remember(self, outcome: Outcome) -> None:
        """Takes notice of a file that is done now. What was known of it is of no more use."""
        file = self._name(outcome.shard)
        if outcome.error is not None or outcome.refused == self._known.get(file, 0):
            return
        self._known[file] = outcome.refused
        with self._path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(json.dumps({"file": file, "sentences": outcome.refused}) + "\n")

    def of(self, shards: Iterable[Shard]) -> int:
        """The sentences of these files."""
        return sum(self._known.get(self._name(shard), 0) for shard in shards)

    def _name(self, shard: Shard) -> str:
        return str(Path(shard.target).relative_to(self._output))
