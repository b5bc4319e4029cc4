"""Many files to parse: where their trees go, how they are parsed, and what is done already.

A file of the output is written whole or not at all, so that what is there is done: when the work is started again, it is
skipped. A note in the output's folder says which model, tokenizer and options made the files; others are refused there.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parser.atomic import write_json
from parser.digest import sha256_of

NOTE = "parse_many.json"

_WILDCARDS = "*?["
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
class Options:
    """How the files are parsed; see parse_file().

    Attributes:
        single_root, tags, on_error, allow_missing_columns: as of parse_file().
        text: whether the files are text, to be tokenized first; all tags that the model predicts are written then.
        tokenizer: of text: a file of UDPipe 1's.
        beam, merge: as of load_for_parsing().
    """

    single_root: bool = True
    tags: str = "keep"
    on_error: str = "stop"
    allow_missing_columns: bool = False
    text: bool = False
    tokenizer: str | None = None
    beam: int | str | None = None
    merge: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a file.

    Attributes:
        shard: the file.
        words: how many it had.
        refused: its sentences that are not CoNLL-U.
        error: why it failed, if it did.
        warnings: what people should know of it.
    """

    shard: Shard
    words: int = 0
    refused: int = 0
    error: str | None = None
    warnings: tuple[str, ...] = ()


def shards_of(patterns: Sequence[str], output: Path, text: bool = False) -> list[Shard]:
    """The files that patterns such as ``in/**/*.conllu.gz`` match, in the order of their names.

    A file keeps its path below the part of the pattern without wildcards; of text, ``.txt`` becomes ``.conllu``. Where the
    output lies below that part, what is in it is not read.

    Raises:
        BulkError: a pattern matches no file, or two files would go to the same place, or one onto itself.
    """
    shards: dict[str, Shard] = {}
    results = output.resolve()
    for pattern in patterns:
        fixed = list(Path(pattern).parts[:-1])
        wild = next((i for i, part in enumerate(fixed) if any(c in part for c in _WILDCARDS)), len(fixed))
        below = Path(*fixed[:wild]).resolve() in results.parents
        matched = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())
        found = [path for path in matched if not (below and results in Path(path).resolve().parents)]
        if not found:
            raise BulkError(f"{pattern}: this matches no file; put it into quotes, with ** for folders of any depth")
        for source in found:
            inside = Path(*Path(source).parts[wild:])
            if text:
                inside = inside.with_name(_without_text_suffix(inside.name))
            target = output / inside
            if target.resolve() == Path(source).resolve():
                raise BulkError(f"{source}: its trees would take its place; choose another -o")
            other = shards.setdefault(str(target), Shard(source, str(target)))
            if other.source != source:
                raise BulkError(f"{other.source} and {source} would both go to {target}; parse them into two folders")
    return list(shards.values())


def _without_text_suffix(name: str) -> str:
    base, dot, compression = name.rpartition(".")
    if compression not in ("gz", "xz"):
        base, dot, compression = name, "", ""
    return f"{base.removesuffix('.txt')}.conllu{dot}{compression}"


def claim(output: Path, model: Path, options: Options, tokenizer: Path | None = None) -> None:
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
    made_with: dict[str, Any] = {"model": parts, "options": asdict(options)}
    made_with["options"]["tokenizer"] = None if tokenizer is None else sha256_of(tokenizer)
    note = output / NOTE
    if note.exists():
        if _read(note) != made_with:
            raise BulkError(
                f"{output}: the files there are of another model, another tokenizer or other options; choose another -o, or "
                "remove it"
            )
        return
    output.mkdir(parents=True, exist_ok=True)
    write_json(note, made_with)


def _read(note: Path) -> Any:
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except ValueError:
        return None  # nobody knows what made the files


def undone(shards: Sequence[Shard]) -> list[Shard]:
    """Those whose trees are not there yet."""
    return [shard for shard in shards if not Path(shard.target).exists()]
