"""The names and shapes of a classifier's tensors in a model folder,
and its weights for parsing, made from them.

This makes no torch module, since importing torch takes seconds. networks/classifier.py makes the
classifier with these tensors; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.encoder import FrozenEncoder
from parser.inference.parts import value_vectors
from parser.inference.weights import ClassifierWeights, SlotLayout, under
from parser.kernels.active_units import activation_number
from parser.network_spec import ClassifierSpec, Shapes, lstm_shapes, prefixed
from parser.transitions.features import RELATION, TOKEN, Slot

TOKENS = "tokens."
"""The prefix of the names in a classifier's token representation."""


class Layout:
    """The tensors of a classifier.

    Attributes:
        shapes: the shapes of the tensors, by name.

    Raises:
        KeyError: an embedding or a slot of an unknown attribute.
        OptimalStepError: an unknown activation.
    """

    shapes: Shapes

    def __init__(
        self,
        spec: ClassifierSpec,
        slots: Sequence[Slot],
        vocabularies: Vocabularies,
        relations: Vocabulary,
        n_outputs: int,
    ) -> None:
        activation_number(spec.activation)  # refuses an unknown one
        self._spec, self._vocabularies, encoder = spec, vocabularies, spec.encoder
        by_attribute = {**vocabularies.by_attribute, RELATION: relations}
        # Attributes with vectors that are the same in every sentence.
        self._embeddings = {
            name: by_attribute[name]
            for name in spec.embeddings
            if encoder is None or name == RELATION
        }
        sizes = {name: spec.embeddings[name].size for name in self._embeddings}
        representation: Shapes = {
            f"embeddings.vectors.{name}": (values.n_vectors, sizes[name])
            for name, values in self._embeddings.items()
        }
        if encoder is not None:
            if unknown := {*spec.embeddings} - {*vocabularies.tables, RELATION}:
                raise KeyError(min(unknown))
            sizes[TOKEN] = encoder.size
            shapes = encoder_shapes(spec, vocabularies)
            representation |= {"reserved": (N_RESERVED, encoder.size), **shapes}
        self._slots = SlotLayout.of(
            slots, sizes, {name: len(values) for name, values in by_attribute.items()}
        )
        self.shapes = spec.shapes(self._slots.one_hot_rows, self._slots.width, n_outputs)
        self.shapes |= prefixed(TOKENS, representation)

    def weights(
        self,
        tensors: Mapping[str, np.ndarray],
        int8: bool = False,
        readers: Mapping[str, Any] | None = None,
    ) -> ClassifierWeights:
        """Return the weights for parsing, from tensors of these ``shapes``.

        Args:
            int8: whether an encoder's vectors are stored and multiplied in 8 bits.
            readers: readers of whole sentences, by the names of their parts.

        Raises:
            Int8Error: 8-bit products are not available.
        """
        vectors = {
            name: value_vectors(tensors[f"{TOKENS}embeddings.vectors.{name}"], values)
            for name, values in self._embeddings.items()
        }
        encoder = None
        if self._spec.encoder is not None:
            encoder = FrozenEncoder(
                self._spec, self._vocabularies, under(TOKENS, tensors), readers, int8
            )
            vectors[TOKEN] = tensors[f"{TOKENS}reserved"]
        weights = ClassifierWeights(
            self._spec.activation,
            self._slots,
            tensors["hidden_bias"],
            tensors["one_hot.weight"],
            self._slots.parts(tensors["embedded.weight"]) if self._slots.width else [],
            vectors,
            tensors["output.weight"],
            tensors["output.bias"],
            encoder,
        )
        return weights.rounded_by(encoder.arithmetic) if int8 and encoder is not None else weights


def encoder_shapes(spec: ClassifierSpec, vocabularies: Vocabularies) -> Shapes:
    """Return the shapes of an encoder's parameters,
    without those that every contextual representation has.

    Args:
        spec: the spec of a classifier with an encoder.
    """
    encoder = spec.encoder
    assert encoder is not None, "it has an encoder"
    all_shapes = {
        name: shape for part in vocabularies.parts for name, shape in part.shapes(spec).items()
    }
    widths = [
        sum(part.size(spec) for part in vocabularies.parts),
        *[encoder.size] * (encoder.layers - 1),
    ]
    of_tasks = {task: prefixed(f"{task.name}.", task.shapes(spec)) for task in vocabularies.tasks}
    for task, shapes in of_tasks.items():
        if (layer_below := task.layer(spec)) is not None and (width := task.width(spec)):
            widths[layer_below] += width
        all_shapes |= shapes if task.in_passes else {}
    for layer, width in enumerate(widths):
        for side in ("forwards", "backwards"):
            all_shapes |= prefixed(f"{side}.{layer}.", lstm_shapes(width, encoder.hidden))
    for task, shapes in of_tasks.items():
        all_shapes |= {} if task.in_passes else shapes
    return all_shapes
