"""Many files parsed by several processes, each of which loads the model once.

A file of the output is written whole or not at all, so that what is there is done: when the work is started again, it is
skipped. A note in the output's folder says which model and which options made the files; others are refused there. A file whose
process died, as for want of memory, is tried again; one at which processes die over and over is given up, and named.
"""

from __future__ import annotations

import glob
import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parser.atomic import write_json
from parser.conllu.files import open_binary_output, open_input

if TYPE_CHECKING:
    from parser.model import Model
    from parser.text.tokenizer import Tokenizer

NOTE = "parse_many.json"

# Times that processes may die before the files that are left are parsed one at a time, which tells the culprit.
_DEATHS = 2
_WILDCARDS = "*?["


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
        text: whether the files are text, to be tokenized first.
        tokenizer: of text: a file of UDPipe 1's; None for the model's own.
    """

    single_root: bool = True
    tags: str = "keep"
    on_error: str = "stop"
    allow_missing_columns: bool = False
    text: bool = False
    tokenizer: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a file: how many words it had, or why it failed; and what people should know of it."""

    shard: Shard
    words: int = 0
    error: str | None = None
    warnings: tuple[str, ...] = ()


def shards_of(patterns: Sequence[str], output: Path, text: bool = False) -> list[Shard]:
    """The files that patterns such as ``in/**/*.conllu.gz`` match, in the order of their names.

    A file keeps its path below the part of the pattern without wildcards; of text, ``.txt`` becomes ``.conllu``.

    Raises:
        BulkError: a pattern matches no file, or two files would go to the same place, or one onto itself.
    """
    shards: dict[str, Shard] = {}
    for pattern in patterns:
        found = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())
        if not found:
            raise BulkError(f"{pattern}: this matches no file; put it into quotes, with ** for folders of any depth")
        fixed = list(Path(pattern).parts[:-1])
        wild = next((i for i, part in enumerate(fixed) if any(c in part for c in _WILDCARDS)), len(fixed))
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


def claim(output: Path, model: Path, options: Options) -> None:
    """Notes in the folder of the output which model and options its files are made with.

    Raises:
        BulkError: those that are there were made otherwise.
    """
    digests = {}
    for part in sorted(path for path in model.iterdir() if path.is_file()):
        with part.open("rb") as file:
            digests[part.name] = hashlib.file_digest(file, "sha256").hexdigest()
    made_with = {"model": digests, "options": asdict(options)}
    note = output / NOTE
    output.mkdir(parents=True, exist_ok=True)
    if note.exists():
        if json.loads(note.read_text(encoding="utf-8")) != made_with:
            raise BulkError(f"{output}: the files there are of another model or other options; choose another -o, or remove it")
        return
    write_json(note, made_with)


def undone(shards: Sequence[Shard]) -> list[Shard]:
    """Those whose trees are not there yet."""
    return [shard for shard in shards if not Path(shard.target).exists()]


class ShardParser:
    """Parses whole files, in the process that made it."""

    def __init__(self, model_folder: Path, options: Options) -> None:
        import torch

        from parser.model import Model
        from parser.text.tokenizer import model_tokenizer

        torch.set_num_threads(1)  # there is a process for each core
        self._model: Model = Model.load(model_folder)
        self._options = options
        path = None if options.tokenizer is None else Path(options.tokenizer)
        self._tokenizer: Tokenizer | None = model_tokenizer(model_folder, path) if options.text else None

    def __call__(self, shard: Shard) -> Outcome:
        """Parses a file. Bad input is no exception, but an outcome."""
        from parser.decoding.file_parsing import OnError, parse_file
        from parser.decoding.tag_writing import TagUse
        from parser.text.tokenizer import as_stream

        options, found = self._options, []
        try:
            Path(shard.target).parent.mkdir(parents=True, exist_ok=True)
            with open_input(shard.source) as read, open_binary_output(shard.target) as target:
                source = read if self._tokenizer is None else as_stream(self._tokenizer.conllu(read, shard.source))
                parsed = parse_file(
                    self._model,
                    source,
                    target,
                    shard.source,
                    single_root=options.single_root,
                    on_error=OnError(options.on_error),
                    report=lambda error: found.append(str(error)),
                    allow_missing_columns=options.allow_missing_columns,
                    tags=TagUse(options.tags),
                )
        except (ValueError, OSError) as error:
            return Outcome(shard, error=str(error))
        return Outcome(shard, parsed.words, warnings=(*found, *(f"{shard.source}: {text}" for text in parsed.warnings())))


# The parser of a worker process.
_parser: ShardParser | None = None


def _begin(model_folder: Path, options: Options) -> None:
    global _parser
    _parser = ShardParser(model_folder, options)


def _parse(shard: Shard) -> Outcome:
    assert _parser is not None
    return _parser(shard)


def parse_shards(
    model_folder: Path,
    shards: Sequence[Shard],
    options: Options,
    workers: int,
    begin: Callable[[Path, Options], None] = _begin,
    parse: Callable[[Shard], Outcome] = _parse,
) -> Iterator[Outcome]:
    """Parses files by processes of this machine; an outcome for each file, in the order in which they end.

    Args:
        model_folder: the model.
        shards: the files.
        options: how.
        workers: processes.
        begin, parse: what a process does at first, and with each file.
    """
    waiting, deaths = list(shards), 0
    while waiting:
        alone = deaths >= _DEATHS
        batch = waiting[:1] if alone else waiting
        died = False
        with _pool(1 if alone else min(workers, len(batch)), begin, model_folder, options) as pool:
            futures = {pool.submit(parse, shard): shard for shard in batch}
            for future in as_completed(futures):
                try:
                    outcome = future.result()
                except BrokenProcessPool:
                    died = True
                    if not alone:
                        continue
                    outcome = Outcome(futures[future], error=f"{futures[future].source}: the process died; has it the memory?")
                waiting.remove(outcome.shard)
                yield outcome
        deaths += died


def _pool(workers: int, begin: Callable[[Path, Options], None], model_folder: Path, options: Options) -> ProcessPoolExecutor:
    # Not forked: threads of the libraries that are loaded here would be missing there.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, initializer=begin, initargs=(model_folder, options))
