"""A classifier as a model folder describes it: the names and shapes of its tensors, and what parsing makes of them.

No torch module is made: importing torch takes seconds. build.py makes the classifier that has these tensors; the tests compare.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from parser.classifier.compiled_activations import activation_number
from parser.classifier.encoder_weights import EncoderWeights, under
from parser.classifier.resting_encoder import RestingEncoder
from parser.classifier.resting_lstm import WEIGHTS
from parser.classifier.shape import BiLSTMShape, ClassifierShape
from parser.classifier.weights import ClassifierWeights, SentenceEncoder, SlotLayout, SlotWeights
from parser.data.set_vocabulary import Elements, SetVocabulary
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.transitions.features import RELATION, TOKEN, Slot

Shapes = dict[str, tuple[int, ...]]

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
        }

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
        embedded, first = [], 0
        for name, columns in self._slots.embedded_columns.items():
            if columns:
                size, n = self._slots.sizes[name], len(columns)
                part = tensors["embedded.weight"][:, first : first + n * size]
                by_number = part.reshape(len(part), n, size).transpose(2, 1, 0).reshape(size, -1)
                embedded.append(SlotWeights(name, columns, np.ascontiguousarray(by_number)))
                first += n * size
        return ClassifierWeights(
            self._activation,
            self._slots,
            tensors["hidden_bias"],
            tensors["one_hot.weight"],
            embedded,
            vectors,
            tensors["output.weight"],
            tensors["output.bias"],
            encoder,
        )


class StaticLayout(Layout):
    """With a static token representation; see Layout."""

    def __init__(
        self,
        shape: ClassifierShape,
        slots: Sequence[Slot],
        vocabularies: Vocabularies,
        relations: Vocabulary,
        n_outputs: int,
    ) -> None:
        super().__init__(shape, slots, vocabularies, relations, n_outputs)
        for name, values in self._embeddings.items():
            self.shapes[f"{_TOKENS}embeddings.vectors.{name}"] = values.shape

    def _sizes(self) -> dict[str, int]:
        return {name: values.size for name, values in self._embeddings.items()}

    def weights(self, tensors: Mapping[str, np.ndarray], int8: bool = False) -> ClassifierWeights:
        """See Layout; there is no encoder."""
        vectors = {name: tensors[f"{_TOKENS}embeddings.vectors.{name}"] for name in self._embeddings}
        return self._weights(tensors, {name: self._embeddings[name].vectors(found) for name, found in vectors.items()})


class ContextualLayout(Layout):
    """With an encoder; see Layout."""

    def __init__(
        self,
        shape: ClassifierShape,
        slots: Sequence[Slot],
        vocabularies: Vocabularies,
        relations: Vocabulary,
        n_outputs: int,
    ) -> None:
        assert shape.encoder is not None
        self._encoder = shape.encoder
        super().__init__(shape, slots, vocabularies, relations, n_outputs)
        self._inputs = {name: self._embeddings[name] for name in vocabularies.attributes}
        self._tags: dict[str, _TagValues] = {}
        if shape.encoder.tagger is not None:
            self._tags = {task: _TagValues(values) for task, values in vocabularies.tags.items()}
        n_characters = 0 if vocabularies.characters is None else len(vocabularies.characters)
        of_tokens = {
            "reserved": (N_RESERVED, 2 * shape.encoder.hidden),
            **{f"embeddings.vectors.{name}": values.shape for name, values in self._of_relations().items()},
            **encoder_shapes(shape.encoder, self._inputs, n_characters, self._tags, len(relations.symbols)),
        }
        self.shapes |= {_TOKENS + name: found for name, found in of_tokens.items()}

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


def encoder_shapes(
    shape: BiLSTMShape,
    inputs: Mapping[str, EmbeddedValues],
    n_characters: int = 0,
    tags: Mapping[str, _TagValues] | None = None,
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
        self._elements = Elements.of(values) if isinstance(values, SetVocabulary) else None

    @property
    def shape(self) -> tuple[int, int]:
        """That of the tensor."""
        return (self._n_values if self._elements is None else self._elements.n_elements), self.size

    def vectors(self, tensor: np.ndarray) -> np.ndarray:
        """float32[values, size], of sets the sums of their elements' vectors."""
        return tensor if self._elements is None else _sums(self._elements, self._n_values, tensor)


class _TagValues:
    """The vectors of the values of a task of the tagger; see Tagger."""

    def __init__(self, values: Vocabulary) -> None:
        self.n_values = len(values.symbols)
        self._n_known = len(values)
        self._elements = Elements.of(values) if isinstance(values, SetVocabulary) else None

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
