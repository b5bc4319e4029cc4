"""The tokenizer in the folder of a model, and the segmenter beside it, which then decides where sentences end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from parser.model_folder import SEGMENTER, TOKENIZER
from parser.text.tokenizer import Tokenizer
from parser.text.tokens import TokenizerError

if TYPE_CHECKING:
    from parser.text.segmenter import Segmenter


def model_tokenizer(folder: Path, path: Path | None = None) -> Tokenizer:
    """The tokenizer of a model.

    Args:
        folder: the model's folder, or that of a run.
        path: another file to take instead; UDPipe then decides where sentences end.

    Raises:
        TokenizerError: there is none, or it cannot be loaded.
        ModelError: the segmenter beside it is damaged.
    """
    places = [folder / TOKENIZER, folder / "model" / TOKENIZER] if path is None else [path]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise TokenizerError(
            f"{places[0]}: there is no tokenizer; train one into the model's folder (scripts/train.py tokenizer=udpipe), or "
            "name a file of UDPipe 1's (--tokenizer FILE, Parser.load(folder, tokenizer=FILE))"
        )
    return Tokenizer(found, None if path is not None else segmenter_beside(found))


def segmenter_beside(tokenizer: Path) -> Segmenter | None:
    """The segmenter in a tokenizer's folder, if there is one.

    Raises:
        ModelError: it is damaged.
    """
    if not (tokenizer.parent / SEGMENTER).is_file():
        return None
    from parser.text.segmenter import Segmenter  # compiled loops that UDPipe's sentences do not need

    return Segmenter.load(tokenizer.parent)
