"""Where sentences end among the tokens of a text: a bidirectional LSTM over the tokens of a paragraph.

UDPipe's tokenizer decides both from characters. Where punctuation does not tell sentences apart (Gothic, Old Church Slavonic),
words do: which ones a sentence begins and ends with. So tokens are UDPipe's, and of each the probability that a sentence ends
with it is asked of a network that reads its form, affixes and shape, and the tokens around it. The network reads windows, of
which it decides the middle, so that time and memory are linear in the length of a paragraph.

It lies in the folder of a model: ``segmenter.json`` (the vocabularies, the sizes of the network, the threshold) and
``segmenter.safetensors``. segmenter_training.py makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from parser.data.sentences import Sentences
from parser.data.vocabularies import N_RESERVED, Vocabulary
from parser.inference.encoder import FrozenEncoder
from parser.inference.weights import EncoderWeights, under
from parser.model_folder import SEGMENTER, check_tensors, errors_named, n_numbers, read_header, read_json, read_tensors
from parser.network_spec import BiLSTMSpec, Counts, Shapes, Spec, between
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


@dataclass
class SegmenterSpec(Spec):
    """The sizes of a network.

    Attributes:
        form: length of the vector of a form.
        affix: length of the vector of each other attribute.
        layers: LSTMs, one above the other.
        hidden: units of each layer and direction.
        dropout: share of the numbers dropped in training, before and after each layer.
    """

    form: int = field(default=64, metadata=between(1, 10_000, "the length of a vector"))
    affix: int = field(default=32, metadata=between(1, 10_000, "the length of a vector"))
    layers: int = field(default=2, metadata=between(1, 100, "the number of layers"))
    hidden: int = field(default=150, metadata=between(1, 65_536, "the number of units of a layer"))
    dropout: float = field(default=0.4, metadata=between(0, 1, "a share of numbers", below=True))

    @property
    def lstms(self) -> BiLSTMSpec:
        """The layers."""
        return BiLSTMSpec(self.layers, self.hidden, self.dropout, attribute_dropout=0.0)

    def size_of(self, attribute: str) -> int:
        """The length of the vector of an attribute."""
        return self.form if attribute == "lower" else self.affix

    def shapes(self, n_values: Mapping[str, int]) -> Shapes:
        """Those of the parameters of a SegmenterNetwork, where attributes have so many values."""
        inputs = {name: (n, self.size_of(name)) for name, n in n_values.items()}
        of_encoder = {"reserved": (N_RESERVED, self.lstms.size), **self.lstms.shapes(inputs, Counts())}
        of_output: Shapes = {"output.weight": (1, self.lstms.size), "output.bias": (1,)}
        return {f"encoder.{name}": shape for name, shape in of_encoder.items()} | of_output


class Segmenter:
    """Divides the tokens of paragraphs into sentences. Threads may use one side by side.

    Args:
        tensors: the weights of a trained SegmenterNetwork, by name.
        spec: its sizes.
        vocabularies: the values of each of ATTRIBUTES.
        threshold: a sentence ends with a token whose probability is higher.
    """

    def __init__(
        self,
        tensors: Mapping[str, np.ndarray],
        spec: SegmenterSpec,
        vocabularies: dict[str, Vocabulary],
        threshold: float,
    ) -> None:
        self.tensors, self.spec, self.vocabularies, self.threshold = tensors, spec, vocabularies, threshold
        of_encoder = under("encoder.", tensors)
        inputs = {name: of_encoder[f"inputs.vectors.{name}"] for name in vocabularies}
        self._encoder = FrozenEncoder(EncoderWeights(spec.lstms, inputs, of_encoder))
        self._output = self._encoder.matrix(tensors["output.weight"], tensors["output.bias"])

    @classmethod
    def load(cls, folder: Path) -> Segmenter:
        """That of a model's folder.

        Raises:
            ModelError: a part is missing or damaged.
        """
        settings, header = read_json(folder, SETTINGS), read_header(folder, TENSORS)
        with errors_named(folder / SETTINGS):
            spec = SegmenterSpec.read(settings["shape"], n_numbers(header), "shape")
            if not 0 <= (threshold := float(settings["threshold"])) <= 1:
                raise ValueError(f"the threshold {threshold} is not a probability")
            vocabularies = {name: Vocabulary(settings["vocabularies"][name]) for name in ATTRIBUTES}
            check_tensors(header, spec.shapes({name: len(vocabulary) for name, vocabulary in vocabularies.items()}))
        return cls(read_tensors(folder, TENSORS), spec, vocabularies, threshold)

    def save(self, folder: Path, notes: dict[str, Any] | None = None) -> None:
        """Writes it into a model's folder; ``notes`` are for people who look into segmenter.json."""
        with replacing(folder / TENSORS) as temporary:
            temporary.write_bytes(save(dict(self.tensors)))
        vocabularies = {name: vocabulary.symbols for name, vocabulary in self.vocabularies.items()}
        settings = {"threshold": self.threshold, "shape": asdict(self.spec), **(notes or {}), "vocabularies": vocabularies}
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
