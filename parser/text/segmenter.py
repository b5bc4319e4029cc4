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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save
from torch import Tensor, nn

from parser.atomic import replacing, write_json
from parser.classifier.bilstm import BiLSTM
from parser.classifier.build import Undrawn
from parser.classifier.embeddings import Embeddings
from parser.classifier.shape import BiLSTMShape, Embedding
from parser.data.sentences import Sentences
from parser.data.vocabulary import Vocabulary
from parser.model_folder import SEGMENTER, check_tensors, errors_named, read_header, read_json, read_tensors
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


class SegmenterNetwork(nn.Module):
    """From the attributes of tokens to the scores of sentence ends.

    Args:
        shape: its sizes.
        n_values: by attribute, how many values there are, reserved ones included.
    """

    def __init__(self, shape: SegmenterShape, n_values: dict[str, int]) -> None:
        super().__init__()
        sizes = {name: Embedding(shape.form if name == "lower" else shape.affix, True) for name in n_values}
        lstms = BiLSTMShape(shape.layers, shape.hidden, shape.dropout, attribute_dropout=0.0)
        self.encoder = BiLSTM(Embeddings(sizes, n_values), Embeddings({}, {}), lstms, input_dropout=shape.dropout)
        self.encoder.initialize()
        for vectors in self.encoder.inputs.vectors.values():  # longer than a parser's, with which it learns less on got
            nn.init.normal_(vectors)
        self.dropout = nn.Dropout(shape.dropout)
        self.output = nn.Linear(2 * shape.hidden, 1)

    def forward(self, values: Tensor, lengths: np.ndarray) -> Tensor:
        """float32[tokens], scores (logits), for training.

        Args:
            values: int32[tokens, attributes], the tokens of all windows.
            lengths: int[windows], tokens of each.
        """
        return self.output(self.dropout(self.encoder.encode(values, lengths, dropping=True).tokens))[:, 0]


class Segmenter:
    """Divides the tokens of paragraphs into sentences. Threads may use one side by side.

    Args:
        network: a trained one, on the CPU.
        shape: its sizes.
        vocabularies: the values of each of ATTRIBUTES.
        threshold: a sentence ends with a token whose probability is higher.
    """

    def __init__(
        self, network: SegmenterNetwork, shape: SegmenterShape, vocabularies: dict[str, Vocabulary], threshold: float
    ) -> None:
        self.network, self.shape, self.vocabularies, self.threshold = network, shape, vocabularies, threshold
        self._encoder = network.encoder.at_rest()
        output = network.output
        self._output = self._encoder.matrix(output.weight.detach().numpy(), output.bias.detach().numpy())

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
            n_values = {name: len(vocabulary) for name, vocabulary in vocabularies.items()}
            with torch.device("meta"), Undrawn():  # which takes no memory, whatever the sizes
                expected = SegmenterNetwork(shape, n_values).state_dict()
            check_tensors(header, {name: tuple(tensor.shape) for name, tensor in expected.items()})
        tensors, network = read_tensors(folder, TENSORS), SegmenterNetwork(shape, n_values)
        network.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
        return cls(network, shape, vocabularies, threshold)

    def save(self, folder: Path, notes: dict[str, Any] | None = None) -> None:
        """Writes it into a model's folder; ``notes`` are for people who look into segmenter.json."""
        tensors = {name: tensor.detach().numpy() for name, tensor in self.network.state_dict().items()}
        with replacing(folder / TENSORS) as temporary:
            temporary.write_bytes(save(tensors))
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
