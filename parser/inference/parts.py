"""Reading the parts of a word in parsing, without torch; networks/parts.py has the torch modules.

``frozen`` has a function for each kind of part, added with ``frozen.register``. It takes the
weights, and returns a function from the part's rows to vectors. A part that is read from whole
sentences calls its ``reader``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.parts.attributes import Attributes
from parser.data.parts.characters import Characters
from parser.data.parts.part import WordPart
from parser.data.parts.pretrained import PretrainedTokenizer
from parser.data.parts.subwords import Subwords
from parser.data.vocabulary import ABSENT, Elements, SetVocabulary, Vocabulary
from parser.inference.arithmetic import SinglePrecision
from parser.inference.lstm import FrozenLSTM
from parser.inference.transformer import EncoderConfig, FrozenTransformer, rounded_weights
from parser.inference.weights import SentenceReader, under
from parser.network_spec import ClassifierSpec, PretrainedSpec

WordReading = Callable[[np.ndarray], list[np.ndarray]]
"""Maps int32[rows, n] to arrays float32[n, size], to be concatenated; thread-safe; each vector
depends only on its column.
"""

SentenceReading = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Maps int32[rows, tokens] and int64[sentences + 1], where sentences begin, to
float32[tokens, size]; thread-safe.
"""

Tensors = Mapping[str, np.ndarray]


@singledispatch
def frozen(
    part: WordPart, spec: ClassifierSpec, tensors: Tensors, reader: Any
) -> Callable[..., Any]:
    """Return a function that makes the vectors of a part.

    Args:
        tensors: the weights, by their names in the encoder.
        reader: reads whole sentences, if the part is ``in_sentences``.

    Returns:
        A WordReading, or a SentenceReading if the part is ``in_sentences``.
    """
    raise TypeError(
        f"no function reads {part.name}; register one with parser.inference.parts.frozen.register"
    )


@singledispatch
def sentence_reader(part: WordPart, spec: ClassifierSpec, int8: bool) -> SentenceReader | None:
    """Return a part's reader of whole sentences; None if only torch reads them (networks/parts.py).

    Args:
        int8: whether it multiplies in 8 bits.
    """
    return None


@sentence_reader.register(PretrainedTokenizer)
def _(part: PretrainedTokenizer, spec: ClassifierSpec, int8: bool) -> SentenceReader | None:
    assert spec.pretrained is not None, "the spec has this part"
    if (config := encoder_config(part, spec.pretrained)) is None or (
        tensors := part.weights()
    ) is None:
        return None
    return frozen_transformer(part, config, tensors, spec.pretrained, int8)


@frozen.register(Attributes)
def _(part: Attributes, spec: ClassifierSpec, tensors: Tensors, reader: Any) -> WordReading:
    matrices = [
        value_vectors(tensors[f"inputs.vectors.{name}"], values)
        for name, values in part.by_attribute.items()
    ]
    return lambda values: [matrix[row] for matrix, row in zip(matrices, values, strict=True)]


@frozen.register(Subwords)
def _(part: Subwords, spec: ClassifierSpec, tensors: Tensors, reader: Any) -> WordReading:
    (vectors,) = (tensors[name] for name in part.shapes(spec))
    return lambda pieces: [
        vectors[pieces].sum(axis=0) / (pieces != ABSENT).sum(axis=0)[:, None].astype(np.float32)
    ]


@frozen.register(Characters)
def _(part: Characters, spec: ClassifierSpec, tensors: Tensors, reader: Any) -> WordReading:
    part_tensors = under(f"{part.name}.", tensors)
    layer = FrozenLSTM(
        under("forwards.", part_tensors), under("backwards.", part_tensors), SinglePrecision()
    )
    # one row for each character
    inputs = SinglePrecision().matrix(layer.inputs, layer.bias)(part_tensors["vectors"])

    def read(values: np.ndarray) -> list[np.ndarray]:
        characters, hidden = values.T, layer.hidden
        offsets = np.concatenate([[0], np.cumsum((characters != ABSENT).sum(axis=1))])
        states = layer(inputs, characters[characters != ABSENT], offsets)
        return [states[offsets[1:] - 1, :hidden], states[offsets[:-1], hidden:]]

    return read


@frozen.register(PretrainedTokenizer)
def _(
    part: PretrainedTokenizer, spec: ClassifierSpec, tensors: Tensors, reader: SentenceReader
) -> SentenceReading:
    part_tensors = under(f"{part.name}.", tensors)
    # weights of a forged model may be arbitrarily large
    with np.errstate(over="ignore", invalid="ignore"):
        mix = softmax(part_tensors["mix"][None])[0][:, None] * part_tensors["scale"]
    projection = SinglePrecision().matrix(
        part_tensors["projection.weight"], part_tensors["projection.bias"]
    )

    def read(pieces: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        by_layer = reader.vectors(pieces, offsets)
        with np.errstate(over="ignore", invalid="ignore"):
            mixed = (by_layer.astype(np.float32) * mix).sum(axis=1)
        return projection(mixed)

    return read


def encoder_config(part: PretrainedTokenizer, spec: PretrainedSpec) -> EncoderConfig | None:
    """Return the sizes of a pretrained encoder; None if only transformers reads this kind.

    Raises:
        PretrainedError: its config.json is damaged.
    """
    with part.errors_in_files():
        config = EncoderConfig.of(part.config())
    return config._replace(layers=spec.kept) if config is not None and spec.kept else config


def frozen_transformer(
    part: PretrainedTokenizer,
    config: EncoderConfig,
    tensors: Tensors,
    spec: PretrainedSpec,
    int8: bool,
) -> FrozenTransformer:
    """Return a pretrained encoder without torch.

    Args:
        part: the tokenizer of the encoder.
        config: the sizes of the encoder.
        tensors: the weights of the encoder.
        spec: how its vectors are read.
        int8: whether it multiplies in 8 bits.

    Raises:
        PretrainedError: the weights do not fit.
    """
    with part.errors_in_files():
        tensors = rounded_weights(tensors) if spec.tuned else tensors
        transformer = FrozenTransformer(config, tensors, spec.layers, part.before, part.after, int8)
        part.check_encoder(transformer.n_pieces, config.positions)
        if transformer.width != spec.width:
            raise OptimalStepError(
                f"its vectors have {transformer.width} numbers, and the model reads {spec.width}"
            )
    return transformer


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return float32[n, values], whose rows sum to 1."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def value_vectors(table: np.ndarray, values: Vocabulary) -> np.ndarray:
    """Return float32[values, size] of an attribute; a set has the sum of its elements' vectors
    (networks/representation.py).
    """
    return (
        sums_of_elements(values.elements, len(values), table)
        if isinstance(values, SetVocabulary)
        else table
    )


@np.errstate(over="ignore", invalid="ignore")
def sums_of_elements(elements: Elements, n_values: int, table: np.ndarray) -> np.ndarray:
    """Return float32[values, size], for each value the sum of its elements' rows in a table."""
    sums = np.zeros((n_values, table.shape[1]), np.float32)
    np.add.at(sums, elements.values, table[elements.elements])
    return sums
