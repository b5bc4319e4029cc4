"""Where sentences end among the tokens of a text: a bidirectional LSTM over the tokens of a paragraph.

UDPipe's tokenizer decides both from characters. Where punctuation does not tell sentences apart (Gothic, Old Church Slavonic),
words do: which ones a sentence begins and ends with. So tokens are UDPipe's, and of each the probability that a sentence ends
with it is asked of a network that reads its form, affixes and shape, and the tokens around it. The network reads windows, of
which it decides the middle, so that time and memory are linear in the length of a paragraph.

It lies in the folder of a model: ``segmenter.json`` (the vocabularies, the sizes of the network, the threshold) and
``segmenter.safetensors``. segmenter_training.py makes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.encoder import RestingEncoder
from parser.inference.encoder_shapes import EmbeddedValues, encoder_shapes
from parser.inference.encoder_weights import EncoderWeights, under
from parser.inference.shape import BiLSTMShape
from parser.model_folder import SEGMENTER, check_tensors, errors_named, read_header, read_json, read_tensors
from parser.storage.atomic import replacing, write_json
from parser.text.tokens import Token

SETTINGS, TENSORS = SEGMENTER, "segmenter.safetensors"

# Tokens of a window that are decided, and those on each side that are only read.
_DECIDED, _AROUND = 128, 32
# Windows that are read at a time.
_TOGETHER = 64


def _shape_of(token: Token) -> str:
    """Whether it begins with a capital, ends with a letter or digit, and is followed by a space."""
    return "".join("1" if found else "0" for found in (token.form[:1].isupper(), token.form[-1:].isalnum(), token.space_after))


# What is read of a token.
ATTRIBUTES: dict[str, Callable[[Token], str]] = {
    "lower": lambda token: token.form.lower(),
    "prefix3": lambda token: token.form[:3].lower(),
    "suffix3": lambda token: token.form[-3:].lower(),
    "suffix1": lambda token: token.form[-1:].lower(),
    "shape": _shape_of,
}


@dataclass(frozen=True)
class SegmenterShape:
    """The sizes of a network.

    Attributes:
        form: length of the vector of a form.
        affix: length of the vector of each other attribute.
        layers: LSTMs, one above the other.
        hidden: units of each layer and direction.
        dropout: share of the numbers dropped in training, before and after each layer.
    """

    form: int = 64
    affix: int = 32
    layers: int = 2
    hidden: int = 150
    dropout: float = 0.4

    @property
    def lstms(self) -> BiLSTMShape:
        """The layers."""
        return BiLSTMShape(self.layers, self.hidden, self.dropout, attribute_dropout=0.0)

    def size_of(self, attribute: str) -> int:
        """The length of the vector of an attribute."""
        return self.form if attribute == "lower" else self.affix


class Segmenter:
    """Divides the tokens of paragraphs into sentences. Threads may use one side by side.

    Args:
        tensors: the weights of a trained SegmenterNetwork, by name.
        shape: its sizes.
        vocabularies: the values of each of ATTRIBUTES.
        threshold: a sentence ends with a token whose probability is higher.
    """

    def __init__(
        self,
        tensors: Mapping[str, np.ndarray],
        shape: SegmenterShape,
        vocabularies: dict[str, Vocabulary],
        threshold: float,
    ) -> None:
        self.tensors, self.shape, self.vocabularies, self.threshold = tensors, shape, vocabularies, threshold
        of_encoder = under("encoder.", tensors)
        inputs = [of_encoder[f"inputs.vectors.{name}"] for name in vocabularies]
        self._encoder = RestingEncoder(EncoderWeights(shape.lstms, inputs, of_encoder))
        self._output = self._encoder.matrix(tensors["output.weight"], tensors["output.bias"])

    @classmethod
    def load(cls, folder: Path) -> Segmenter:
        """That of a model's folder.

        Raises:
            ModelError: a part is missing or damaged.
        """
        settings, header = read_json(folder, SETTINGS), read_header(folder, TENSORS)
        with errors_named(folder / SETTINGS):
            shape = SegmenterShape(**settings["shape"])
            sizes = shape.form, shape.affix, shape.hidden, shape.layers
            limits = *[sum(math.prod(info.shape) for info in header.values())] * 3, len(header)
            if not all(type(size) is int and 0 < size <= limit for size, limit in zip(sizes, limits, strict=True)):
                raise ValueError(f"the sizes {asdict(shape)} are not those of a segmenter")
            if not 0 <= shape.dropout < 1:
                raise ValueError(f"the dropout {shape.dropout} is not a share")
            if not 0 <= (threshold := float(settings["threshold"])) <= 1:
                raise ValueError(f"the threshold {threshold} is not a probability")
            vocabularies = {name: Vocabulary(settings["vocabularies"][name]) for name in ATTRIBUTES}
            check_tensors(header, _shapes(shape, {name: len(vocabulary) for name, vocabulary in vocabularies.items()}))
        return cls(read_tensors(folder, TENSORS), shape, vocabularies, threshold)

    def save(self, folder: Path, notes: dict[str, Any] | None = None) -> None:
        """Writes it into a model's folder; ``notes`` are for people who look into segmenter.json."""
        with replacing(folder / TENSORS) as temporary:
            temporary.write_bytes(save(dict(self.tensors)))
        vocabularies = {name: vocabulary.symbols for name, vocabulary in self.vocabularies.items()}
        settings = {"threshold": self.threshold, "shape": asdict(self.shape), **(notes or {}), "vocabularies": vocabularies}
        write_json(folder / SETTINGS, settings)

    def split(self, paragraphs: Sequence[Sequence[Token]]) -> list[list[list[Token]]]:
        """The sentences of each paragraph; its last token ends one."""
        return [
            sentences(tokens, probabilities > self.threshold)
            for tokens, probabilities in zip(paragraphs, self.probabilities(paragraphs), strict=True)
        ]

    def probabilities(self, paragraphs: Sequence[Sequence[Token]]) -> list[np.ndarray]:
        """For each paragraph, float32[tokens]: the probability that a sentence ends with a token."""
        found = [np.zeros(len(paragraph), np.float32) for paragraph in paragraphs]
        windows = iter([(number, start) for number, tokens in enumerate(found) for start in range(0, len(tokens), _DECIDED)])
        values = [encoded(self.vocabularies, paragraph) for paragraph in paragraphs]
        while some := list(islice(windows, _TOGETHER)):
            parts = [values[number][:, max(start - _AROUND, 0) : start + _DECIDED + _AROUND] for number, start in some]
            offsets = np.cumsum([0, *(part.shape[1] for part in parts)])
            vectors = self._encoder.encode(Sentences(np.concatenate(parts, axis=1), offsets))
            scores = self._output(vectors)[:, 0]
            for (number, start), offset in zip(some, offsets[:-1], strict=True):
                decided = found[number][start : start + _DECIDED]
                first = offset + min(start, _AROUND)
                decided[:] = 1 / (1 + np.exp(-scores[first : first + len(decided)]))
        return found


def _shapes(shape: SegmenterShape, n_values: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Of the tensors of a SegmenterNetwork."""
    width = 2 * shape.hidden
    inputs = {name: EmbeddedValues(n, shape.size_of(name)) for name, n in n_values.items()}
    of_encoder = {"reserved": (N_RESERVED, width), **encoder_shapes(shape.lstms, inputs)}
    return {f"encoder.{name}": found for name, found in of_encoder.items()} | {
        "output.weight": (1, width),
        "output.bias": (1,),
    }


def encoded(vocabularies: dict[str, Vocabulary], tokens: Iterable[Token]) -> np.ndarray:
    """int32[attributes, tokens], the values of the attributes of the tokens."""
    tokens = list(tokens)
    rows = [vocabularies[name].encode(map(value, tokens)) for name, value in ATTRIBUTES.items()]
    return np.array(rows, np.int32).reshape(len(ATTRIBUTES), len(tokens))


def sentences(tokens: Sequence[Token], ends: np.ndarray) -> list[list[Token]]:
    """The tokens of a paragraph, divided after each one where ``ends``, bool[tokens], is true, and after the last."""
    if not tokens:
        return []
    bounds = [0, *(np.flatnonzero(ends[:-1]) + 1).tolist(), len(tokens)]
    return [list(tokens[start:end]) for start, end in pairwise(bounds)]
