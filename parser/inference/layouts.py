"""A classifier as a model folder describes it: the names and shapes of its tensors, and what parsing makes of them.

No torch module is made: importing torch takes seconds. build.py makes the classifier that has these tensors; the tests compare.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.encoder import RestingEncoder
from parser.inference.encoder_shapes import EmbeddedValues, Shapes, TagValues, encoder_shapes
from parser.inference.encoder_weights import EncoderWeights, under
from parser.inference.shape import BiLSTMShape, ClassifierShape
from parser.inference.weights import ClassifierWeights, SentenceEncoder, SlotLayout
from parser.kernels.activations import activation_number
from parser.transitions.features import RELATION, TOKEN, Slot

_TOKENS = "tokens."  # the token representation of a classifier


class Layout(ABC):
    """The tensors of a classifier.

    Args:
        shape: how the classifier is built.
        slots: the feature slots.
        vocabularies: of the attributes.
        relations: the relations.
        n_outputs: number of outputs.

    Attributes:
        shapes: by name, the shapes of the tensors.

    Raises:
        KeyError: an embedding or a slot of an attribute that is not there.
        ValueError: an unknown activation.
    """

    shapes: Shapes

    def __init__(
        self,
        shape: ClassifierShape,
        slots: Sequence[Slot],
        vocabularies: Vocabularies,
        relations: Vocabulary,
        n_outputs: int,
    ) -> None:
        activation_number(shape.activation)  # refuses an unknown one
        self._activation = shape.activation
        self._shape, self._vocabularies, self._n_relations = shape, vocabularies, len(relations.symbols)
        values = dict(vocabularies.by_attribute)
        n_values = {name: len(known) for name, known in values.items()} | {RELATION: len(relations)}
        self._embeddings = {
            name: EmbeddedValues(n_values[name], embedding.size, values.get(name))
            for name, embedding in shape.embeddings.items()
        }
        self._slots = SlotLayout.of(slots, self._sizes(), n_values)
        hidden, width = shape.hidden, self._slots.width
        self.shapes = {
            "hidden_bias": (hidden,),
            "one_hot.weight": (self._slots.one_hot_rows, hidden),
            **({"embedded.weight": (hidden, width)} if width else {}),
            "output.weight": (n_outputs, hidden),
            "output.bias": (n_outputs,),
            **{_TOKENS + name: found for name, found in self._token_shapes().items()},
        }

    @abstractmethod
    def _token_shapes(self) -> Shapes:
        """Those of the tensors of the token representation."""

    @abstractmethod
    def _sizes(self) -> dict[str, int]:
        """By what slots read as a vector, its length."""

    @abstractmethod
    def weights(self, tensors: Mapping[str, np.ndarray], int8: bool = False) -> ClassifierWeights:
        """The weights, given tensors of these ``shapes``.

        Args:
            tensors: by name.
            int8: whether an encoder's vectors are stored and multiplied in 8 bits.

        Raises:
            Int8Error: they cannot be.
        """

    def _weights(
        self, tensors: Mapping[str, np.ndarray], vectors: dict[str, np.ndarray], encoder: SentenceEncoder | None = None
    ) -> ClassifierWeights:
        return ClassifierWeights(
            self._activation,
            self._slots,
            tensors["hidden_bias"],
            tensors["one_hot.weight"],
            self._slots.parts(tensors["embedded.weight"]) if self._slots.width else [],
            vectors,
            tensors["output.weight"],
            tensors["output.bias"],
            encoder,
        )


class StaticLayout(Layout):
    """With a static token representation; see Layout."""

    def _token_shapes(self) -> Shapes:
        return {f"embeddings.vectors.{name}": values.shape for name, values in self._embeddings.items()}

    def _sizes(self) -> dict[str, int]:
        return {name: values.size for name, values in self._embeddings.items()}

    def weights(self, tensors: Mapping[str, np.ndarray], int8: bool = False) -> ClassifierWeights:
        """See Layout; there is no encoder."""
        vectors = {name: tensors[f"{_TOKENS}embeddings.vectors.{name}"] for name in self._embeddings}
        return self._weights(tensors, {name: self._embeddings[name].vectors(found) for name, found in vectors.items()})


class ContextualLayout(Layout):
    """With an encoder; see Layout."""

    @property
    def _encoder(self) -> BiLSTMShape:
        assert self._shape.encoder is not None, "see layout_of()"
        return self._shape.encoder

    @cached_property
    def _inputs(self) -> dict[str, EmbeddedValues]:
        return {name: self._embeddings[name] for name in self._vocabularies.attributes}

    @cached_property
    def _tags(self) -> dict[str, TagValues]:
        tags = {} if self._encoder.tagger is None else self._vocabularies.tags
        return {task: TagValues(values) for task, values in tags.items()}

    def _token_shapes(self) -> Shapes:
        characters = self._vocabularies.characters
        n_characters = 0 if characters is None else len(characters)
        return {
            "reserved": (N_RESERVED, 2 * self._encoder.hidden),
            **{f"embeddings.vectors.{name}": values.shape for name, values in self._of_relations().items()},
            **encoder_shapes(self._encoder, self._inputs, n_characters, self._tags, self._n_relations),
        }

    def _of_relations(self) -> dict[str, EmbeddedValues]:
        return {name: values for name, values in self._embeddings.items() if name == RELATION}

    def _sizes(self) -> dict[str, int]:
        return {name: values.size for name, values in self._of_relations().items()} | {TOKEN: 2 * self._encoder.hidden}

    def encoder_weights(self, tensors: Mapping[str, np.ndarray]) -> EncoderWeights:
        """Those of the encoder."""
        of_tokens = under(_TOKENS, tensors)
        inputs = [values.vectors(of_tokens[f"inputs.vectors.{name}"]) for name, values in self._inputs.items()]
        outputs, read = (
            {
                task: values.vectors(under(f"tagger.{side}.{task}.", of_tokens))
                for task, values in self._tags.items()
                if f"tagger.{side}.{task}.whole" in of_tokens
            }
            for side in ("outputs", "inputs")
        )
        return EncoderWeights(self._encoder, inputs, of_tokens, outputs, read)

    def weights(self, tensors: Mapping[str, np.ndarray], int8: bool = False) -> ClassifierWeights:
        """See Layout."""
        encoder = RestingEncoder(self.encoder_weights(tensors), int8)
        vectors = {name: tensors[f"{_TOKENS}embeddings.vectors.{name}"] for name in self._of_relations()}
        made = self._weights(tensors, vectors | {TOKEN: tensors[f"{_TOKENS}reserved"]}, encoder)
        return made.rounded_by(encoder) if int8 else made


def layout_of(
    shape: ClassifierShape, slots: Sequence[Slot], vocabularies: Vocabularies, relations: Vocabulary, n_outputs: int
) -> Layout:
    """That of a classifier; see Layout."""
    kind = StaticLayout if shape.encoder is None else ContextualLayout
    return kind(shape, slots, vocabularies, relations, n_outputs)
