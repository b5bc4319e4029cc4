"""The folders of pretrained encoders: one as far as subwords need it, with a tokenizer of some
fifty pieces and random embeddings, and a tiny one that transformers can load.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from parser.data.parts.subwords import TOKENIZER, WEIGHTS

SIZE = 12
LETTERS = "abcdehlnorstuvw0123456789éβλ"
PIECES = ["▁", "▁w", "▁the", "▁w1", "er", "st", "▁a", "ab", "▁λβ", ".", ",", "▁Ш"]


def tokenizers():
    """Return the package; a test that needs it is skipped where it is not installed."""
    return pytest.importorskip("tokenizers", reason="tokenizers is not installed (extra subwords)")


def write_encoder(
    folder: Path, model: str = "Unigram", table: str = "embeddings.word_embeddings.weight"
) -> Path:
    """Write one; ``model``: Unigram, whose vocabulary begins with special tokens, or WordPiece."""
    package = tokenizers()
    if model == "Unigram":
        pieces = ["<s>", "<unk>", *PIECES, *LETTERS]
        scores = [
            0.0,
            0.0,
            *(-float(len(piece)) for piece in PIECES),
            *(-4.0 - 0.1 * i for i in range(len(LETTERS))),
        ]
        made = package.Tokenizer(
            package.models.Unigram(
                list(zip(pieces, scores, strict=True)), unk_id=1, byte_fallback=False
            )
        )
        made.pre_tokenizer = package.pre_tokenizers.Metaspace(prepend_scheme="always")
        made.add_special_tokens(["<s>"])
    else:
        pieces = [
            "[UNK]",
            "w",
            "the",
            *LETTERS.replace("w", ""),
            *(f"##{letter}" for letter in LETTERS),
        ]
        made = package.Tokenizer(
            package.models.WordPiece(
                {piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"
            )
        )
        made.pre_tokenizer = package.pre_tokenizers.Whitespace()
    made.enable_truncation(3)
    made.enable_padding(length=5)
    folder.mkdir(exist_ok=True)
    made.save(str(folder / TOKENIZER))
    vectors = np.random.default_rng(0).normal(1.0, 2.0, (len(pieces) + 2, SIZE)).astype(np.float16)
    save_file({table: vectors, "encoder.weight": np.ones((2, 2), np.float32)}, folder / WEIGHTS)
    return folder


def transformers():
    """Return the package; a test that needs it is skipped where it is not installed."""
    tokenizers()
    return pytest.importorskip(
        "transformers", reason="transformers is not installed (extra pretrained)"
    )


def write_transformer(folder: Path, seed: int = 0, window: int = 24, **settings: Any) -> Path:
    """Write a BERT of two layers of 12 units with random weights,
    which reads so many pieces at a time.
    """
    package = transformers()
    write_encoder(folder)
    tokenizer = tokenizers().Tokenizer.from_file(str(folder / TOKENIZER))
    ends = tokenizers().processors.TemplateProcessing(
        single="<s> $A <s>", special_tokens=[("<s>", 0)]
    )
    tokenizer.post_processor = ends
    tokenizer.save(str(folder / TOKENIZER))
    sizes = {
        "hidden_size": SIZE,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = package.BertConfig(vocab_size=60, max_position_embeddings=window, **sizes | settings)
    (folder / WEIGHTS).unlink()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = package.BertModel(config, add_pooling_layer=False)
        for weights in model.parameters():
            torch.nn.init.normal_(weights, std=0.5)
        model.save_pretrained(folder)
    return folder
