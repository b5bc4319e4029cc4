"""A classifier as a model folder describes it: the names and shapes of its tensors, and what parsing makes of them.

No torch module is made: importing torch takes seconds. networks/classifier.py makes the classifier that has these tensors; the
tests compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parser.data.parts.subwords import Subwords
from parser.data.vocabularies import N_RESERVED, Elements, SetVocabulary, Vocabularies, Vocabulary
from parser.inference.encoder import FrozenEncoder
from parser.inference.weights import ClassifierWeights, EncoderWeights, PretrainedVectors, SlotLayout, under
from parser.kernels.active_units import activation_number
from parser.network_spec import ClassifierSpec, Counts, Shapes, ValueCounts
from parser.transitions.features import RELATION, TOKEN, Slot

_TOKENS = "tokens."  # the token representation of a classifier


class Layout:
    """The tensors of a classifier.

    Args:
        spec: how the classifier is built.
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
        spec: ClassifierSpec,
        slots: Sequence[Slot],
        vocabularies: Vocabularies,
        relations: Vocabulary,
        n_outputs: int,
    ) -> None:
        activation_number(spec.activation)  # refuses an unknown one
        self._spec, encoder = spec, spec.encoder
        known: dict[str, Vocabulary | Subwords] = {**vocabularies.embedded, RELATION: relations}
        tables = {name: (n_vectors(known[name]), embedding.size) for name, embedding in spec.embeddings.items()}
        # What slots read as vectors that are the same in every sentence, and what an encoder reads.
        self._embeddings = {name: known[name] for name in tables if encoder is None or name == RELATION}
        self._inputs = {} if encoder is None else vocabularies.embedded
        self._tags = {} if encoder is None or encoder.tagger is None else vocabularies.tags
        lemmas = None if encoder is None or encoder.lemmas is None else vocabularies.lemmas
        self._rules = None if lemmas is None else lemmas.rules
        sizes = {name: tables[name][1] for name in self._embeddings} | ({} if encoder is None else {TOKEN: encoder.size})
        self._slots = SlotLayout.of(slots, sizes, {name: len(values) for name, values in known.items()})
        of_tokens: Shapes = {f"embeddings.vectors.{name}": tables[name] for name in self._embeddings}
        if encoder is not None:
            of_tokens["reserved"] = N_RESERVED, encoder.size
            n_characters = 0 if vocabularies.characters is None else len(vocabularies.characters)
            counts = Counts(n_characters, len(relations.symbols), value_counts(self._tags), rule_counts(self._rules))
            of_tokens |= encoder.shapes({name: tables[name] for name in self._inputs}, counts, spec.pretrained)
        self.shapes = spec.shapes(self._slots.one_hot_rows, self._slots.width, n_outputs)
        self.shapes |= {_TOKENS + name: shape for name, shape in of_tokens.items()}

    def weights(
        self, tensors: Mapping[str, np.ndarray], int8: bool = False, pretrained: PretrainedVectors | None = None
    ) -> ClassifierWeights:
        """The weights, given tensors of these ``shapes``.

        Args:
            tensors: by name.
            int8: whether an encoder's vectors are stored and multiplied in 8 bits.
            pretrained: the pretrained encoder, where the classifier has one.

        Raises:
            Int8Error: they cannot be.
        """
        vectors = {
            name: value_vectors(tensors[f"{_TOKENS}embeddings.vectors.{name}"], values)
            for name, values in self._embeddings.items()
        }
        encoder = None
        if self._spec.encoder is not None:
            encoder = FrozenEncoder(self._encoder_weights(tensors, pretrained), int8)
            vectors[TOKEN] = tensors[f"{_TOKENS}reserved"]
        made = ClassifierWeights(
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
        return made.rounded_by(encoder) if int8 and encoder is not None else made

    def _encoder_weights(self, tensors: Mapping[str, np.ndarray], pretrained: PretrainedVectors | None) -> EncoderWeights:
        assert self._spec.encoder is not None, "see weights()"
        of_tokens = under(_TOKENS, tensors)
        inputs = {name: value_vectors(of_tokens[f"inputs.vectors.{name}"], values) for name, values in self._inputs.items()}
        outputs, read = (
            {
                task: tag_vectors(under(f"tagger.{side}.{task}.", of_tokens), values)
                for task, values in self._tags.items()
                if f"tagger.{side}.{task}.whole" in of_tokens
            }
            for side in ("outputs", "inputs")
        )
        if self._rules is None:
            return EncoderWeights(self._spec.encoder, inputs, of_tokens, outputs, read, pretrained=pretrained)
        for_rules = {task: tag_vectors(under(f"lemmas.inputs.{task}.", of_tokens), tags) for task, tags in self._tags.items()}
        rules = tag_vectors(under("lemmas.outputs.", of_tokens), self._rules)
        return EncoderWeights(self._spec.encoder, inputs, of_tokens, outputs, read, for_rules, rules, pretrained)


def n_vectors(values: Vocabulary | Subwords) -> int:
    """Rows of the table of vectors of an attribute: its values, or the elements of values that are sets."""
    return values.elements.n_elements if isinstance(values, SetVocabulary) else len(values)


def value_counts(tags: Mapping[str, Vocabulary]) -> dict[str, ValueCounts]:
    """By task of a tagger, how many vectors its values have."""
    return {task: _value_counts(values) for task, values in tags.items()}


def rule_counts(rules: SetVocabulary | None) -> ValueCounts | None:
    """How many vectors the rules for lemmas have, if there are any."""
    return None if rules is None else _value_counts(rules)


def _value_counts(values: Vocabulary) -> ValueCounts:
    return ValueCounts(len(values.symbols), values.elements.n_elements if isinstance(values, SetVocabulary) else None)


def value_vectors(table: np.ndarray, values: Vocabulary | Subwords) -> np.ndarray:
    """float32[values, size], of an attribute; of sets, the sums of their elements' vectors (networks/representation.py)."""
    return _sums(values.elements, len(values), table) if isinstance(values, SetVocabulary) else table


@np.errstate(over="ignore", invalid="ignore")  # weights of a forged model may be of any size
def tag_vectors(tables: Mapping[str, np.ndarray], values: Vocabulary) -> np.ndarray:
    """float32[values, size], of a task of a tagger, or of rules for lemmas (networks/tasks.py)."""
    if not isinstance(values, SetVocabulary):
        return tables["whole"]
    return np.asarray(tables["whole"] + _sums(values.elements, len(values), tables["elements"])[N_RESERVED:])


@np.errstate(over="ignore", invalid="ignore")
def _sums(elements: Elements, n_values: int, table: np.ndarray) -> np.ndarray:
    sums = np.zeros((n_values, table.shape[1]), np.float32)
    np.add.at(sums, elements.values, table[elements.elements])
    return sums
