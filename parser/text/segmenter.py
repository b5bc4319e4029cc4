"""The ends of sentences, found by a bidirectional LSTM over the tokens of a paragraph.

The tokenizer finds tokens and sentences from characters. Where punctuation does not separate
sentences (Gothic, Old Church Slavonic), the words at their beginnings and ends do. So for each
token of the tokenizer this network predicts the probability that it ends a sentence, from its form,
affixes and shape, from how a line ends after it, and from the tokens around it. The network reads
windows and decides their middle, so that time and memory are linear in the length of a paragraph.
It multiplies in 8 bits, which takes half the time, and reads the few uncertain tokens again in
single precision.

The model folder holds it: ``segmenter.json`` (vocabularies, sizes of the network, threshold) and
``segmenter.safetensors``. training/text/segmenter.py trains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from oracles.errors import OptimalStepError
from parser import batch_sizes
from parser.data.sentences import Sentences
from parser.data.spelling import Spelling
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.encoder import FrozenEncoder
from parser.inference.layouts import encoder_shapes
from parser.inference.weights import under
from parser.model_folder import (
    SEGMENTER,
    SEGMENTER_TENSORS,
    check_tensors,
    errors_named,
    n_numbers,
    read_header,
    read_json,
    read_tensors,
)
from parser.network_spec import (
    BiLSTMSpec,
    ClassifierSpec,
    Embedding,
    Shapes,
    Spec,
    between,
    prefixed,
)
from parser.storage import replacing, write_json
from parser.text.sentence_ends import SHORT_LINE
from parser.text.tokens import Token

SETTINGS, TENSORS = SEGMENTER, SEGMENTER_TENSORS

# Tokens of a window that are decided, and tokens on each side that are only read.
_DECIDED, _AROUND = 512, 64
# A token whose probability in 8 bits is this near to the threshold is decided in single precision.
# On dev and test of hu, el, cu and got, 8 bits change a probability by at most 0.017; half a
# percent of the tokens of cu and got are this near, and few tokens of hu and el.
_OPEN = 0.02

Window = tuple[int, int, int]
"""The number of a paragraph, the first of its tokens to decide, and the one after the last."""


def _shape_of(token: Token) -> str:
    """Return whether a token begins with a capital, ends in a letter or digit,
    and precedes a space.
    """
    return "".join(
        "1" if flag else "0"
        for flag in (token.form[:1].isupper(), token.form[-1:].isalnum(), token.space_after)
    )


# The attributes that are read of a token.
ATTRIBUTES: dict[str, Callable[[Token], str]] = {
    "lower": lambda token: token.form.lower(),
    "prefix3": lambda token: token.form[:3].lower(),
    "suffix3": lambda token: token.form[-3:].lower(),
    "suffix1": lambda token: token.form[-1:].lower(),
    "shape": _shape_of,
    "line": lambda token: str(token.line),
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

    def classifier(self, attributes: Iterable[str]) -> ClassifierSpec:
        """Return the spec of a classifier with this encoder; only the encoder is used."""
        sizes = {name: self.form if name == "lower" else self.affix for name in attributes}
        embeddings = {name: Embedding(size, trained=True) for name, size in sizes.items()}
        lstms = BiLSTMSpec(self.layers, self.hidden, self.dropout, attribute_dropout=0.0)
        return ClassifierSpec(1, "relu", 0.0, 0.0, 0.0, embeddings, lstms)

    def shapes(self, vocabularies: dict[str, Vocabulary]) -> Shapes:
        """Return the shapes of the parameters of a SegmenterNetwork with these vocabularies."""
        encoder = {
            "reserved": (N_RESERVED, 2 * self.hidden),
            **encoder_shapes(self.classifier(vocabularies), Vocabularies(vocabularies)),
        }
        return prefixed("encoder.", encoder) | {
            "output.weight": (1, 2 * self.hidden),
            "output.bias": (1,),
        }


class Segmenter:
    """A network that divides the tokens of paragraphs into sentences.
    Several threads may use it at once.

    Args:
        tensors: the weights of a trained SegmenterNetwork, by name.
        spec: the sizes of the network.
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
        self.tensors = tensors
        self.spec = spec
        self.vocabularies = vocabularies
        self.threshold = threshold
        weights = under("encoder.", tensors)
        self._encoder, self._int8_encoder = (
            FrozenEncoder(
                spec.classifier(vocabularies), Vocabularies(vocabularies), weights, int8=int8
            )
            for int8 in (False, True)
        )

    @classmethod
    def load(cls, folder: Path) -> Segmenter:
        """Load the segmenter of a model folder.

        Raises:
            ModelError: a part is missing or damaged.
        """
        settings, header = read_json(folder, SETTINGS), read_header(folder, TENSORS)
        with errors_named(folder / SETTINGS):
            spec = SegmenterSpec.read(settings["shape"], n_numbers(header), "shape")
            if not 0 <= (threshold := float(settings["threshold"])) <= 1:
                raise OptimalStepError(f"the threshold {threshold} is not a probability")
            symbols = settings["vocabularies"]
            # older ones do not read lines
            names = [name for name in ATTRIBUTES if name != "line" or name in symbols]
            vocabularies = {name: Vocabulary(symbols[name]) for name in names}
            check_tensors(header, spec.shapes(vocabularies))
        return cls(read_tensors(folder, TENSORS), spec, vocabularies, threshold)

    def save(self, folder: Path, notes: dict[str, Any] | None = None) -> None:
        """Write it into a model's folder, in 16 bits; training has rounded the weights to fit.
        ``notes`` are for people.
        """
        with replacing(folder / TENSORS) as temporary:
            temporary.write_bytes(
                save({name: tensor.astype(np.float16) for name, tensor in self.tensors.items()})
            )
        vocabularies = {name: vocabulary.symbols for name, vocabulary in self.vocabularies.items()}
        settings = {
            "threshold": self.threshold,
            "shape": asdict(self.spec),
            **(notes or {}),
            "vocabularies": vocabularies,
        }
        write_json(folder / SETTINGS, settings)

    def split(self, paragraphs: Sequence[Sequence[Token]]) -> list[list[list[Token]]]:
        """Return the sentences of each paragraph; the last token always ends a sentence."""
        values = [encoded(self.vocabularies, paragraph) for paragraph in paragraphs]
        all_probabilities = [np.zeros(len(paragraph), np.float32) for paragraph in paragraphs]
        self._decide(self._int8_encoder, values, _windows(all_probabilities), all_probabilities)
        self._decide(self._encoder, values, self._open(all_probabilities), all_probabilities)
        for tokens, likely in zip(paragraphs, all_probabilities, strict=True):
            likely[[token.line == SHORT_LINE for token in tokens]] = 1
        return [
            sentences(tokens, likely > self.threshold)
            for tokens, likely in zip(paragraphs, all_probabilities, strict=True)
        ]

    def probabilities(self, paragraphs: Sequence[Sequence[Token]]) -> list[np.ndarray]:
        """Return float32[tokens] for each paragraph: the probability that a sentence ends with a
        token, in single precision.
        """
        values = [encoded(self.vocabularies, paragraph) for paragraph in paragraphs]
        all_probabilities = [np.zeros(len(paragraph), np.float32) for paragraph in paragraphs]
        self._decide(self._encoder, values, _windows(all_probabilities), all_probabilities)
        return all_probabilities

    def _open(self, all_probabilities: list[np.ndarray]) -> list[Window]:
        """Return windows of the uncertain tokens; neighbouring tokens share a window."""
        windows: list[Window] = []
        for number, probabilities in enumerate(all_probabilities):
            for place in np.flatnonzero(np.abs(probabilities - self.threshold) < _OPEN).tolist():
                last, start, end = windows[-1] if windows else (-1, 0, 0)
                if last == number and place < min(end + _AROUND, start + _DECIDED):
                    windows[-1] = number, start, place + 1
                else:
                    windows.append((number, place, place + 1))
        return windows

    def _decide(
        self,
        encoder: FrozenEncoder,
        values: list[np.ndarray],
        windows: list[Window],
        all_probabilities: list[np.ndarray],
    ) -> None:
        """Write the probabilities of the windows' tokens into ``all_probabilities``; ``values`` is
        int32[attributes, tokens].
        """
        output = encoder.arithmetic.matrix(
            self.tensors["output.weight"], self.tensors["output.bias"]
        )
        parts = [
            values[number][:, max(start - _AROUND, 0) : end + _AROUND]
            for number, start, end in windows
        ]
        offsets = np.cumsum([0, *(part.shape[1] for part in parts)])
        batch = Sentences(
            np.concatenate([np.zeros((len(self.vocabularies), 0), np.int32), *parts], axis=1),
            offsets,
        )
        for first, last in batch.spans(batch_sizes.TOKENS_PER_SEGMENTING):
            some = batch.span(first, last)
            scores = output(encoder.encode(some))[:, 0]
            for (number, start, end), offset in zip(
                windows[first:last], some.offsets[:-1], strict=True
            ):
                place = offset + min(start, _AROUND)
                all_probabilities[number][start:end] = 1 / (
                    1 + np.exp(-scores[place : place + end - start])
                )


def _windows(paragraphs: Sequence[Sized]) -> list[Window]:
    """Return windows that cover the paragraphs."""
    lengths = enumerate(map(len, paragraphs))
    return [
        (number, start, min(start + _DECIDED, n))
        for number, n in lengths
        for start in range(0, n, _DECIDED)
    ]


def encoded(vocabularies: dict[str, Vocabulary], tokens: Iterable[Token]) -> np.ndarray:
    """Return int32[attributes, tokens]: the attributes of the tokens,
    whose forms are looked up in NFC.
    """
    tokens = list(tokens)
    token_forms = [token.form for token in tokens]
    forms = Spelling(lambda: vocabularies["lower"].symbols)(token_forms)
    if forms is not token_forms:
        tokens = [replace(token, form=form) for token, form in zip(tokens, forms, strict=True)]
    rows = [
        vocabulary.encode(map(ATTRIBUTES[name], tokens))
        for name, vocabulary in vocabularies.items()
    ]
    return np.array(rows, np.int32).reshape(len(vocabularies), len(tokens))


def sentences(tokens: Sequence[Token], ends: np.ndarray) -> list[list[Token]]:
    """Divide the tokens of a paragraph after each token where ``ends``, bool[tokens], is true,
    and after the last.
    """
    if not tokens:
        return []
    bounds = [0, *(np.flatnonzero(ends[:-1]) + 1).tolist(), len(tokens)]
    return [list(tokens[start:end]) for start, end in pairwise(bounds)]
