"""A process that parses files: it loads the model once, and returns an outcome for each file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oracles.errors import OptimalStepError
from parser import failures
from parser.child_process import work_for_parent
from parser.conllu.files import open_binary_output, open_input
from parser.decoding.parse_options import ParseOptions
from parser.text.shards import BulkError, Outcome, Shard, remove_half_files

Work = Callable[[Path, ParseOptions], Callable[[Shard], Outcome]]
"""Called once in a process; returns the function that the process calls for each file."""

# In a process of local_engine.py: the function that parses a file, and the file in progress.
_parse: Callable[[Shard], Outcome]
_under_way: Shard | None = None


def begin_parser(model_folder: Path, options: ParseOptions) -> Callable[[Shard], Outcome]:
    """Return a parser of files. If loading fails, every outcome says why: a process that failed
    here would count as dead.
    """
    try:
        return ShardParser(model_folder, options)
    except Exception as error:
        why = _told(error)
        return lambda shard: Outcome(shard, error=f"{shard.source}: {why}")


def begin_child(work: Work, model_folder: Path, options: ParseOptions) -> None:
    """Prepare a process of local_engine.py. It ends with the process that started it, and leaves
    Ctrl-C to that process.
    """
    global _parse
    work_for_parent(at_end=_remove_half_file)
    _parse = work(model_folder, options)


def parse_in_child(shard: Shard) -> Outcome:
    """Parse a file in a process of local_engine.py."""
    global _under_way
    _under_way = shard
    outcome = _parse(shard)
    _under_way = None
    return outcome


def _remove_half_file() -> None:
    if _under_way is not None:
        remove_half_files([_under_way])


class ShardParser:
    """A parser of whole files, in the process that made it.

    Raises:
        ModelError, TokenizerError: the model or the tokenizer cannot be loaded.
        OptimalStepError: the model does not support an option; see Predictor.
    """

    def __init__(self, model_folder: Path, options: ParseOptions) -> None:
        from parser.decoding.predictor import Predictor, load_model
        from parser.text.pipeline import TextPipeline

        self._options = options
        self._predictor = Predictor(load_model(model_folder, options), options)
        self._pipeline = TextPipeline.of_options(model_folder, options) if options.text else None

    @property
    def tokenizer_path(self) -> Path | None:
        """The file of the tokenizer; None if the input is not text."""
        return None if self._pipeline is None else self._pipeline.path

    def warm_up(self) -> None:
        """Compile the kernels for parsing, also for other processes,
        or load them if they are compiled.
        """
        from parser.decoding.files.file_parsing import warm_up

        warm_up(self._predictor)
        if self._pipeline is not None:
            self._pipeline.warm_up()

    def __call__(self, shard: Shard) -> Outcome:
        """Parse a file. Errors are outcomes, not exceptions:
        the other files are parsed all the same.
        """
        from parser.decoding.files.file_parsing import parse_file
        from parser.text.pipeline import conllu_source

        messages: list[str] = []
        try:
            Path(shard.target).parent.mkdir(parents=True, exist_ok=True)
            with open_binary_output(shard.target) as target, open_input(shard.source) as stream:
                begun = _state(shard.source)
                source = conllu_source(
                    self._pipeline, stream, shard.source, self._options, messages.append
                )
                parsed = parse_file(
                    self._predictor,
                    source,
                    target,
                    shard.source,
                    report=lambda error: messages.append(str(error)),
                )
                # later runs would skip the file, because its trees are newer
                if _state(shard.source) != begun:
                    raise BulkError(
                        f"{shard.source}: the file changed while it was parsed; parse it again"
                    )
        except Exception as error:
            why = _told(error)
            return Outcome(
                shard,
                error=why if isinstance(error, OptimalStepError) else f"{shard.source}: {why}",
            )
        warnings = (*messages, *(f"{shard.source}: {text}" for text in parsed.warnings()))
        return Outcome(shard, parsed.words, parsed.refused, warnings=warnings)


def _told(error: Exception) -> str:
    failures.show_traceback(error)
    return failures.told(error)


def _state(path: str) -> tuple[int, int]:
    """Return the time and the size of a file, which show whether it was written again."""
    status = Path(path).stat()
    return status.st_mtime_ns, status.st_size
