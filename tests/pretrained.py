"""The folder of a pretrained encoder, as far as subwords need it: a tokenizer of some fifty pieces and random embeddings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from parser.data.subwords import TOKENIZER, WEIGHTS

SIZE = 12
LETTERS = "abcdehlnorstuvw0123456789éβλ"
PIECES = ["▁", "▁w", "▁the", "▁w1", "er", "st", "▁a", "ab", "▁λβ", ".", ",", "▁Ш"]


def tokenizers():
    """The package; a test that needs it is skipped where it is not installed."""
    return pytest.importorskip("tokenizers", reason="tokenizers is not installed (extra subwords)")


def write_encoder(folder: Path, model: str = "Unigram", table: str = "embeddings.word_embeddings.weight") -> Path:
    """Writes one; ``model``: Unigram, whose vocabulary begins with special tokens, or WordPiece."""
    package = tokenizers()
    if model == "Unigram":
        pieces = ["<s>", "<unk>", *PIECES, *LETTERS]
        scores = [0.0, 0.0, *(-float(len(piece)) for piece in PIECES), *(-4.0 - 0.1 * i for i in range(len(LETTERS)))]
        made = package.Tokenizer(package.models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=1, byte_fallback=False))
        made.pre_tokenizer = package.pre_tokenizers.Metaspace(prepend_scheme="always")
        made.add_special_tokens(["<s>"])
    else:
        pieces = ["[UNK]", "w", "the", *LETTERS.replace("w", ""), *(f"##{letter}" for letter in LETTERS)]
        made = package.Tokenizer(package.models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
        made.pre_tokenizer = package.pre_tokenizers.Whitespace()
    made.enable_truncation(3)
    made.enable_padding(length=5)
    folder.mkdir(exist_ok=True)
    made.save(str(folder / TOKENIZER))
    vectors = np.random.default_rng(0).normal(1.0, 2.0, (len(pieces) + 2, SIZE)).astype(np.float16)
    save_file({table: vectors, "encoder.weight": np.ones((2, 2), np.float32)}, folder / WEIGHTS)
    return folder
