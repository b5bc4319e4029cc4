"""What a process does that parses files for parse_many.py: it loads the model once, and makes an outcome of each file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from parser.conllu.files import open_binary_output, open_input
from parser.text.shards import Options, Outcome, Shard

if TYPE_CHECKING:
    from parser.text.tokenizer import Tokenizer


class ShardParser:
    """Parses whole files, in the process that made it.

    Args:
        model_folder: the model.
        options: how.

    Raises:
        ModelError, BeamError, TokenizerError, NoTagsError, Int8Error: the model cannot parse so.
    """

    def __init__(self, model_folder: Path, options: Options) -> None:
        from parser.beam_settings import Merge
        from parser.decoding.files.tag_writing import TagPredictor, TagUse
        from parser.decoding.parsers import parser_with_beam
        from parser.model.loading import load_for_parsing
        from parser.text.model_tokenizer import model_tokenizer

        merge = None if options.merge is None else Merge(options.merge)
        self._model, self._beam = load_for_parsing(model_folder, options.beam, merge, int8=options.int8, rerank=options.rerank)
        if self._beam is not None:
            parser_with_beam(self._model, self._beam)  # refuses a search that the model does not have
        self._options = options
        self._tags = TagUse.OVERWRITE if options.text and self._model.vocabularies.tags else TagUse(options.tags)
        if self._tags is not TagUse.KEEP:
            TagPredictor(self._model)  # refuses a model that predicts none
        path = None if options.tokenizer is None else Path(options.tokenizer)
        self._tokenizer: Tokenizer | None = model_tokenizer(model_folder, path) if options.text else None

    @property
    def tokenizer_path(self) -> Path | None:
        """The file of the tokenizer, of text."""
        return None if self._tokenizer is None else self._tokenizer.path

    def __call__(self, shard: Shard) -> Outcome:
        """Parses a file. Bad input and lack of memory are outcomes, not exceptions."""
        from parser.decoding.files.file_parsing import OnError, parse_file
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
                    beam=self._beam,
                    tags=self._tags,
                )
        except (ValueError, OSError) as error:
            return Outcome(shard, error=str(error))
        except MemoryError:
            return Outcome(shard, error=f"{shard.source}: not enough memory for it; use fewer workers, or split the file")
        warnings = (*found, *(f"{shard.source}: {text}" for text in parsed.warnings()))
        return Outcome(shard, parsed.words, parsed.refused, warnings=warnings)
