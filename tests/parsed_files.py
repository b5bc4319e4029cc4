"""parse_file() of a model, with the options of parsing as keywords."""

from collections.abc import Callable
from io import BytesIO
from typing import Any, BinaryIO

import pytest

from parser import batch_sizes
from parser.conllu.checks import ConlluError
from parser.decoding.files import file_parsing
from parser.decoding.files.file_parsing import FileCounts
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor
from parser.model.parser_model import ParserModel


def parse_file(
    model: ParserModel,
    source: BinaryIO,
    target: BinaryIO,
    name: str = "-",
    *,
    threads: int = 1,
    report: Callable[[ConlluError], None] = lambda error: None,
    chunk_bytes: int = batch_sizes.BYTES_PER_CHUNK,
    **options: Any,
) -> FileCounts:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_sizes, "BYTES_PER_CHUNK", chunk_bytes)
        predictor = Predictor(model, ParseOptions(**options))
        return file_parsing.parse_file(
            predictor, source, target, name, threads=threads, report=report
        )


def parsed(model: ParserModel, content: bytes, **options: Any) -> bytes:
    """Return what parse_file() writes of a file."""
    target = BytesIO()
    parse_file(model, BytesIO(content), target, **options)
    return target.getvalue()
