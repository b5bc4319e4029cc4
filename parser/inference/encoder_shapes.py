"""The names and shapes of the tensors of an encoder, and what values of attributes and tags make of theirs; without torch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parser.data.set_vocabulary import Elements, SetVocabulary
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.lstm import WEIGHTS
from parser.inference.shape import BiLSTMShape

Shapes = dict[str, tuple[int, ...]]


def encoder_shapes(
    shape: BiLSTMShape,
    inputs: Mapping[str, EmbeddedValues],
    n_characters: int = 0,
    tags: Mapping[str, TagValues] | None = None,
    n_relations: int = 0,
) -> Shapes:
    """The names and shapes of the tensors of a BiLSTM, those apart that every contextual representation has.

    Args:
        shape: how it is built.
        inputs: by attribute that is read, its values.
        n_characters, n_relations: see BiLSTM.
        tags: by task of the tagger, its values.
    """
    shapes: Shapes = {f"inputs.vectors.{name}": values.shape for name, values in inputs.items()}
    width = 2 * shape.hidden
    widths = [sum(values.size for values in inputs.values()), *[width] * (shape.layers - 1)]
    if (characters := shape.characters) is not None:
        widths[0] += 2 * characters.hidden
        shapes["characters.vectors"] = n_characters, characters.embedding
        for side in ("forwards", "backwards"):
            shapes |= _lstm_shapes(f"characters.{side}.", characters.embedding, characters.hidden)
    if (tagger := shape.tagger) is not None and tags:
        for task, values in tags.items():
            shapes |= values.shapes(f"tagger.outputs.{task}.", width)
            shapes[f"tagger.biases.{task}"] = (values.n_values,)
            if tagger.size:
                shapes |= values.shapes(f"tagger.inputs.{task}.", tagger.size)
                widths[tagger.layer] += tagger.size
    if (heads := shape.heads) is not None:
        for name in ("arc_dependent", "arc_head"):
            shapes |= {f"heads.{name}.weight": (heads.size, width), f"heads.{name}.bias": (heads.size,)}
        shapes |= {"heads.arc_product": (heads.size, heads.size), "heads.arc_bias": (heads.size,)}
        for name in ("relation_dependent", "relation_head"):
            shapes |= {f"heads.{name}.weight": (heads.relation_size, width), f"heads.{name}.bias": (heads.relation_size,)}
        with_one = heads.relation_size + 1
        shapes["heads.relation_product.weight"] = n_relations, with_one, with_one
        shapes["heads.relation_product.bias"] = (n_relations,)
    for number, of_layer in enumerate(widths):
        for side in ("forwards", "backwards"):
            shapes |= _lstm_shapes(f"{side}.{number}.", of_layer, shape.hidden)
    return shapes


def _lstm_shapes(prefix: str, width: int, hidden: int) -> Shapes:
    shapes = (4 * hidden, width), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)
    return {prefix + name: found for name, found in zip(WEIGHTS, shapes, strict=True)}


class EmbeddedValues:
    """The vectors of the values of an attribute; see Embeddings.

    Args:
        n_values: how many values there are.
        size: length of a vector.
        values: the vocabulary, if they are sets of elements, which have the vectors then.

    Attributes:
        size: as above.
    """

    def __init__(self, n_values: int, size: int, values: Vocabulary | None = None) -> None:
        self._n_values, self.size = n_values, size
        self._elements = values.elements if isinstance(values, SetVocabulary) else None

    @property
    def shape(self) -> tuple[int, int]:
        """That of the tensor."""
        return (self._n_values if self._elements is None else self._elements.n_elements), self.size

    def vectors(self, tensor: np.ndarray) -> np.ndarray:
        """float32[values, size], of sets the sums of their elements' vectors."""
        return tensor if self._elements is None else _sums(self._elements, self._n_values, tensor)


class TagValues:
    """The vectors of the values of a task of the tagger; see Tagger."""

    def __init__(self, values: Vocabulary) -> None:
        self.n_values = len(values.symbols)
        self._n_known = len(values)
        self._elements = values.elements if isinstance(values, SetVocabulary) else None

    def shapes(self, prefix: str, size: int) -> Shapes:
        """Those of the tensors."""
        elements = {} if self._elements is None else {f"{prefix}elements": (self._elements.n_elements, size)}
        return {f"{prefix}whole": (self.n_values, size), **elements}

    @np.errstate(over="ignore", invalid="ignore")  # weights of a forged model may be of any size
    def vectors(self, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
        """float32[values, size]."""
        if self._elements is None:
            return tensors["whole"]
        sums = _sums(self._elements, self._n_known, tensors["elements"])
        return np.asarray(tensors["whole"] + sums[N_RESERVED:])


@np.errstate(over="ignore", invalid="ignore")  # weights of a forged model may be of any size
def _sums(elements: Elements, n_values: int, tensor: np.ndarray) -> np.ndarray:
    """float32[values, size]: the sums of the vectors of the values' elements."""
    sums = np.zeros((n_values, tensor.shape[1]), np.float32)
    np.add.at(sums, elements.values, tensor[elements.elements])
    return sums
