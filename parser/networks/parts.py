"""How the parts of a word are read in training, in torch; inference/parts.py reads them in parsing.

``module_of`` has a function for each kind of part, added with ``module_of.register``; ``reader_of``
has one for each kind that reads whole sentences.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.parts.attributes import Attributes
from parser.data.parts.characters import Characters
from parser.data.parts.part import PartWishes, WordPart
from parser.data.parts.pretrained import PretrainedTokenizer
from parser.data.parts.subwords import Subwords
from parser.data.sentences import Sentences
from parser.data.vocabulary import ABSENT
from parser.network_spec import CharacterSpec, ClassifierSpec
from parser.networks.layers import draw_vectors, lstm, to_device
from parser.networks.lstm import Packing, read_sequences
from parser.networks.pretrained import (
    PretrainedEncoder,
    PretrainedInput,
    cache_vectors,
    vector_cache,
)
from parser.networks.representation import Embeddings

log = logging.getLogger(__name__)


class PartReading(NamedTuple):
    """The module that makes the vectors of a part.

    Attributes:
        read: takes the part's values (int32[tokens, rows] on the CPU, sentence by sentence), the
            lengths of the sentences, and whether dropout is in force. Returns arrays
            float32[tokens, size], the encoder's input; whole rows of each may be dropped.
        module: the module with its own parameters; None if it has none.
    """

    read: Callable[[Tensor, np.ndarray, bool], list[Tensor]]
    module: nn.Module | None = None


@singledispatch
def module_of(part: WordPart, spec: ClassifierSpec, inputs: Embeddings, reader: Any) -> PartReading:
    """Return the reading of a part's vectors, with fresh weights,
    drawn from torch's global generator.

    Args:
        inputs: the tables of vectors, including the part's ``tables``.
        reader: the part's reader of whole sentences, if it is ``in_sentences``.
    """
    raise TypeError(
        f"{part.name} has no module: register a function with "
        "parser.networks.parts.module_of.register"
    )


@singledispatch
def reader_of(part: WordPart, spec: ClassifierSpec) -> Any:
    """Return a part's reader of whole sentences."""
    raise TypeError(
        f"{part.name} has no reader: register a function with "
        "parser.networks.parts.reader_of.register"
    )


@singledispatch
def prepare(
    part: WordPart, wanted: PartWishes, reader: Any, sentences: Sequence[Sentences]
) -> None:
    """Compute the vectors of training sentences for a part that is ``fixed``.

    Args:
        wanted: the plan's settings of parts.
        reader: the part's reader of whole sentences, if it is ``in_sentences``.
        sentences: the sentences of each split of the treebank, with only the rows of ``part``.
    """
    raise TypeError(
        f"nothing prepares {part.name}: register a function with "
        "parser.networks.parts.prepare.register"
    )


@module_of.register(Attributes)
def _(part: Attributes, spec: ClassifierSpec, inputs: Embeddings, reader: Any) -> PartReading:
    def read(values: Tensor, lengths: np.ndarray, dropping: bool) -> list[Tensor]:
        matrices = [inputs.matrix(attribute) for attribute in part.by_attribute]
        rows = to_device(values.numpy(), matrices[0].device).unbind(1) if matrices else ()
        return [
            nn.functional.embedding(row, matrix) for row, matrix in zip(rows, matrices, strict=True)
        ]

    return PartReading(read)


@module_of.register(Subwords)
def _(part: Subwords, spec: ClassifierSpec, inputs: Embeddings, reader: Any) -> PartReading:
    def read(pieces: Tensor, lengths: np.ndarray, dropping: bool) -> list[Tensor]:
        table = inputs.matrix(part.name)
        pieces = to_device(pieces.contiguous().numpy(), table.device)
        return [nn.functional.embedding_bag(pieces, table, mode="mean", padding_idx=ABSENT)]

    return PartReading(read)


@module_of.register(Characters)
def _(part: Characters, spec: ClassifierSpec, inputs: Embeddings, reader: Any) -> PartReading:
    assert spec.encoder is not None, "an encoder reads characters"
    assert spec.encoder.characters is not None, "the spec has this part"
    encoder = CharacterEncoder(spec.encoder.characters, len(part))
    return PartReading(lambda characters, lengths, dropping: [encoder(characters)], encoder)


@module_of.register(PretrainedTokenizer)
def _(
    part: PretrainedTokenizer, spec: ClassifierSpec, inputs: Embeddings, reader: PretrainedEncoder
) -> PartReading:
    assert spec.pretrained is not None, "the spec has this part"
    module = PretrainedInput(spec.pretrained, reader)
    return PartReading(
        lambda pieces, lengths, dropping: [module(pieces, lengths, dropping)], module
    )


@reader_of.register(PretrainedTokenizer)
def _(part: PretrainedTokenizer, spec: ClassifierSpec) -> PretrainedEncoder:
    assert spec.pretrained is not None, "the spec has this part"
    return PretrainedEncoder(part, spec.pretrained)


@prepare.register(PretrainedTokenizer)
def _(
    part: PretrainedTokenizer,
    wanted: PartWishes,
    reader: PretrainedEncoder,
    sentences: Sequence[Sentences],
) -> None:
    cache = None if wanted.pretrained is None else wanted.pretrained.cache
    folder = vector_cache() if cache is None else Path(cache)
    log.info("computing the vectors of the pretrained encoder that are not yet in %s", folder)
    cache_vectors(reader, sentences, folder)


class CharacterEncoder(nn.Module):
    """Makes vectors of forms from characters:
    the final states of both directions (Ling et al. 2015, Section 3).

    A form is read once in a batch, however often it occurs there.

    Args:
        spec: the sizes of its layers.
        n_characters: how many characters have a vector, including reserved ones.
    """

    def __init__(self, spec: CharacterSpec, n_characters: int) -> None:
        super().__init__()
        self.spec, shapes = spec, spec.shapes(n_characters)
        self.vectors = nn.Parameter(torch.empty(shapes["vectors"]))
        draw_vectors(self.vectors)
        self.forwards, self.backwards = lstm(shapes, "forwards"), lstm(shapes, "backwards")

    def forward(self, characters: Tensor) -> Tensor:
        """Return float32[tokens, size] for int32[tokens, longest] on the CPU,
        the transposed output of Characters.encode.
        """
        forms, numbers = np.unique(characters.numpy(), axis=0, return_inverse=True)
        lengths, device = (forms != ABSENT).sum(axis=1), self.vectors.device
        packing, ends = Packing.of(lengths, device), np.cumsum(lengths)
        arrays = forms[forms != ABSENT], ends - 1, ends - lengths, numbers.reshape(-1)
        flat, lasts, firsts, numbered = (to_device(array, device) for array in arrays)
        inputs = nn.functional.embedding(flat[packing.elements], self.vectors)
        last, first = packing.rows[lasts], packing.rows[firsts]
        forwards, backwards = (
            read_sequences(self.forwards, inputs, packing, False),
            read_sequences(self.backwards, inputs, packing, True),
        )
        vectors = torch.cat([forwards[last], backwards[first]], dim=1)
        return vectors[numbered]
