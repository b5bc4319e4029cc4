"""How fast a pretrained encoder with BERT's architecture runs: in torch, in this project without
torch, and in onnxruntime.

    python experiments/encoder_speed.py ENCODER FILE.conllu [--layers 8] [--onnxruntime]

It prints words per second of CPU time on one thread, measured alternately, three times each, and
the mean difference of the words' vectors (mean 0, variance 1) from torch's. onnxruntime reads a
sentence at a time, from a graph that torch.onnx.export makes; its 8 bits are dynamic, with a scale
for each output. It needs the packages onnxruntime, onnx and onnxscript.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from parser.conllu.checks import FORM
from parser.conllu.stream import read_sentences
from parser.data.parts.pretrained import PretrainedTokenizer
from parser.inference.parts import encoder_config, frozen_transformer
from parser.inference.windows import PieceWindows
from parser.network_spec import PretrainedSpec
from parser.networks.pretrained import PretrainedEncoder

_TURNS = 3

Reading = Callable[[], np.ndarray]
"""Reads the sentences; returns float[tokens, width]."""


def main() -> None:
    """Print a line for each way to run the encoder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("encoder", type=Path)
    parser.add_argument("conllu", type=Path)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--onnxruntime", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = PretrainedTokenizer.of(str(args.encoder))
    sentences = [
        sentence.column(FORM) for sentence in read_sentences(args.conllu) if len(sentence)
    ][: args.sentences]
    pieces = tokenizer.encode_forms(sentences)
    offsets = np.cumsum([0, *(len(forms) + 1 for forms in sentences)])
    spec = PretrainedSpec(tokenizer.sizes()[0], 1, 256, False, args.layers)
    encoder = PretrainedEncoder(tokenizer, spec)
    readings = {
        "torch": _by_torch(encoder, pieces, offsets),
        **_without_torch(tokenizer, spec, pieces, offsets),
    }
    with TemporaryDirectory() as place:
        if args.onnxruntime:
            readings |= _by_onnxruntime(encoder, pieces, offsets, Path(place))
        _print(readings, sum(map(len, sentences)))


def _print(readings: dict[str, Reading], n_words: int) -> None:
    expected = readings["torch"]()
    vectors = {name: read() for name, read in readings.items()}  # compiles what is not compiled yet
    speeds: dict[str, list[float]] = {name: [] for name in readings}
    for _ in range(_TURNS):
        for name, read in readings.items():
            begun = time.process_time()
            read()
            speeds[name].append(n_words / (time.process_time() - begun))
    for name, each in speeds.items():
        difference = np.abs(vectors[name].astype(np.float32) - expected.astype(np.float32)).mean()
        shown = ", ".join(f"{speed:,.0f}" for speed in each)
        median = f"{statistics.median(each):,.0f} words a second"
        print(f"{name}: {median} ({shown}); vectors differ by {difference:.3f}")


def _by_torch(encoder: PretrainedEncoder, pieces: np.ndarray, offsets: np.ndarray) -> Reading:
    """Return a function that reads one sentence at a time, because no tree may depend on other
    sentences.
    """

    @torch.no_grad()
    def read() -> np.ndarray:
        spans = pairwise(offsets.tolist())
        some = [
            encoder.compute(torch.from_numpy(pieces[:, a:b]), np.array([b - a]))[:, 0].numpy()
            for a, b in spans
        ]
        return np.concatenate(some)

    return read


def _without_torch(
    tokenizer: PretrainedTokenizer, spec: PretrainedSpec, pieces: np.ndarray, offsets: np.ndarray
) -> dict[str, Reading]:
    config, weights = encoder_config(tokenizer, spec), tokenizer.weights()
    assert config is not None, "an encoder of the shape of BERT"
    assert weights is not None, "weights that numpy reads"

    def reading(int8: bool) -> Reading:
        transformer = frozen_transformer(tokenizer, config, weights, spec, int8)
        return lambda: transformer.vectors(pieces, offsets)[:, 0]

    return {"without torch": reading(False), "without torch, 8 bits": reading(True)}


def _by_onnxruntime(
    encoder: PretrainedEncoder, pieces: np.ndarray, offsets: np.ndarray, place: Path
) -> dict[str, Reading]:
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class Reader(torch.nn.Module):
        """The encoder for a sentence without padding."""

        def __init__(self) -> None:
            super().__init__()
            self.transformer = encoder.transformer

        def forward(self, pieces: torch.Tensor) -> torch.Tensor:
            """Return the vectors of the last layer."""
            mask = torch.ones_like(pieces)
            hidden: torch.Tensor = self.transformer(
                input_ids=pieces, attention_mask=mask
            ).last_hidden_state
            return hidden

    encoder.transformer.set_attn_implementation("eager")
    sizes = ({1: torch.export.Dim("n", min=2, max=512)},)
    example = (torch.randint(10, 100, (1, 17)),)
    torch.onnx.export(
        Reader(),
        example,
        place / "single.onnx",
        input_names=["pieces"],
        dynamic_shapes=sizes,
        dynamo=True,
    )
    quantize_dynamic(
        place / "single.onnx", place / "8.onnx", weight_type=QuantType.QInt8, per_channel=True
    )
    tokenizer, room = encoder.pieces, encoder.transformer.config.max_position_embeddings - 2
    over = PieceWindows.over(pieces, np.diff(offsets), room, tokenizer.before, tokenizer.after)
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1

    def reading(file: str) -> Reading:
        session = onnxruntime.InferenceSession(
            place / file, options, providers=["CPUExecutionProvider"]
        )
        return lambda: over.vectors(
            np.concatenate(
                [session.run(None, {"pieces": window[None]})[0][0] for window in over.pieces]
            )
        )

    return {"onnxruntime": reading("single.onnx"), "onnxruntime, 8 bits": reading("8.onnx")}


if __name__ == "__main__":
    main()
