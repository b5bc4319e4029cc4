"""The parts of networks, each declared once: settings with their ranges,
parameters with their shapes.

A part is a dataclass. A group of settings extends it by settings that only training reads
(settings/groups.py). A model folder holds its fields as JSON (``read``). ``shapes`` gives the sizes
of parameters to the modules of torch and to the check of a folder. To add an option to the encoder:
a field with its range here, its parameters in ``shapes``, its use in networks/, and in inference/
if parsing needs it, and its value in configs/.

The range of a number is declared with its field: ``hidden: int = field(metadata=between(1, 65_536,
"the number of units"))``.

Parts are not frozen, because OmegaConf cannot set fields of frozen dataclasses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from oracles.errors import OptimalStepError
from parser.stored_values import checked


@dataclass(frozen=True)
class Range:
    """The range of a number.

    Attributes:
        lowest, highest: the ends.
        what: describes the number in messages.
        above, below: whether the lower or the upper end is excluded.
    """

    lowest: float
    highest: float
    what: str
    above: bool = False
    below: bool = False

    def violation(self, value: float) -> str | None:
        """Return a message about a value outside; None for a value inside. NaN is outside."""
        low = value > self.lowest if self.above else value >= self.lowest
        high = value < self.highest if self.below else value <= self.highest
        if low and high:
            return None
        least = f"{'above' if self.above else 'at least'} {self.lowest:,g}"
        most = f"{'below' if self.below else 'at most'} {self.highest:,.10g}"
        return f"{self.what} must be {least} and {most}"


def between(
    lowest: float, highest: float, what: str, *, above: bool = False, below: bool = False
) -> dict[str, Range]:
    """Return the metadata of a field with this range; see Range. For a dictionary,
    it is the range of each value.
    """
    return {"range": Range(lowest, highest, what, above, below)}


def range_of(field: Field[Any]) -> Range | None:
    """Return the range of a field, if it has one."""
    return field.metadata.get("range")


def dataclass_of(annotation: Any) -> type | None:
    """Return the dataclass in an annotation ``D`` or ``D | None``."""
    options = get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)
    return next(
        (option for option in options if isinstance(option, type) and is_dataclass(option)), None
    )


Shapes = dict[str, tuple[int, ...]]
"""By name of a parameter, its shape."""

# Generous bounds: they catch typos and impossible sizes.
_UNITS = between(1, 65_536, "the number of units of a layer")
_LENGTH = between(1, 65_536, "the length of a vector")
_EMBEDDING = between(1, 10_000, "the length of a vector")
_DROPPED = between(0, 1, "a share of numbers", below=True)
_LAYERS = between(1, 1000, "the number of layers")

# The functions of hidden units. kernels/active_units.py uses their places here,
# networks/layers.py has their derivatives.
ACTIVATIONS = ("relu", "tanh", "sigmoid", "cube")

# The parameters of one direction of a layer, as torch.nn.LSTM calls them.
LSTM_PARAMETERS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


@dataclass
class Spec:
    """A part of a network."""

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the part of an object that has at least these fields,
        such as a group of settings.
        """
        nested = {name: part for name, part, _ in _nested(cls) if getattr(given, name) is not None}
        return cls(
            **{spec_field.name: getattr(given, spec_field.name) for spec_field in fields(cls)}
            | {name: part.of(getattr(given, name)) for name, part in nested.items()}
        )

    @classmethod
    def read(cls, plain: Any, largest: int, key: str) -> Self:
        """Read plain values of a model folder, as from dataclasses.asdict; all are checked.

        Args:
            plain: the values by field.
            largest: how many numbers the folder's tensors hold; no integer may be larger.
            key: the name of the part in messages.

        Raises:
            KeyError, TypeError, ValueError: a field is missing, unknown,
                of another type or out of its range.
        """
        checked(plain, dict, key)
        types = get_type_hints(cls)
        nested = {name: (part, many) for name, part, many in _nested(cls)}
        declared = {spec_field.name: spec_field for spec_field in fields(cls)}
        if unknown := [name for name in plain if name not in declared]:
            raise TypeError(f"{key} has an unknown field {unknown[0]}")
        values: dict[str, Any] = {}
        for name, spec_field in declared.items():
            if name not in plain and spec_field.default is not MISSING:
                continue  # folders of older versions lack it
            value, called = plain[name], f"{key}.{name}"
            if name in nested:
                part, many = nested[name]
                if many:
                    checked(value, dict, called)
                    value = {
                        name: part.read(some, largest, f"{called}.{name}")
                        for name, some in value.items()
                    }
                elif value is not None:
                    value = part.read(value, largest, called)
            else:
                checked(value, types[name], called)
                if (bounds := range_of(spec_field)) is not None and (
                    said := bounds.violation(value)
                ) is not None:
                    raise OptimalStepError(f"{called}: {said}")
                if type(value) is int and value > largest:
                    raise OptimalStepError(
                        f"{called} is larger than the {largest:,} numbers in the tensors"
                    )
            values[name] = value
        return cls(**values)


def _nested(spec: type[Spec]) -> Iterator[tuple[str, type[Spec], bool]]:
    """Yield the fields that are parts, or dictionaries of parts: name, class,
    and whether it is a dictionary.
    """
    types = get_type_hints(spec)
    for spec_field in fields(spec):
        many = get_origin(types[spec_field.name]) is dict
        part = dataclass_of(get_args(types[spec_field.name])[1] if many else types[spec_field.name])
        if part is not None and issubclass(part, Spec):
            yield spec_field.name, part, many


def prefixed(prefix: str, shapes: Shapes) -> Shapes:
    """Return the shapes with a prefix before their names."""
    return {prefix + name: shape for name, shape in shapes.items()}


def lstm_shapes(width: int, hidden: int) -> Shapes:
    """Return the shapes of an LSTM that reads vectors of this length in one direction."""
    shapes = (4 * hidden, width), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)
    return dict(zip(LSTM_PARAMETERS, shapes, strict=True))


@dataclass
class Embedding(Spec):
    """How an attribute is embedded.

    Attributes:
        size: length of a vector.
        trained: whether training changes the vectors.
    """

    size: int = field(metadata=_EMBEDDING)
    trained: bool


@dataclass
class CharacterSpec(Spec):
    """How the characters of forms are read (networks/parts.py, CharacterEncoder).

    Attributes:
        embedding: length of a character's vector.
        hidden: units of each direction.
        longest: characters of a form that are read, see data/parts/characters.py; each takes a row
            of memory for every token.
    """

    embedding: int = field(metadata=_EMBEDDING)
    hidden: int = field(metadata=_UNITS)
    longest: int = field(metadata=between(1, 256, "the number of characters"))

    @property
    def size(self) -> int:
        """Length of a form's vector."""
        return 2 * self.hidden

    def shapes(self, n_characters: int) -> Shapes:
        """Return the shapes of the parameters, for this many characters with a vector."""
        side = lstm_shapes(self.embedding, self.hidden)
        return (
            {"vectors": (n_characters, self.embedding)}
            | prefixed("forwards.", side)
            | prefixed("backwards.", side)
        )


@dataclass
class TaggerSpec(Spec):
    """How tags are predicted (networks/tasks.py).

    Attributes:
        layer: the layer of the encoder whose outputs are tagged, from 1;
            the layers above it read the tags.
        size: length of a tag's expected vector, for each task; 0:
            the layers above do not read the tags.
        dropout: share of the numbers of the tokens' vectors that is dropped for the tagger in
            training.
    """

    layer: int = field(metadata=between(1, 100, "the number of a layer"))
    size: int = field(metadata=between(0, 10_000, "the length of a vector"))
    dropout: float = field(metadata=_DROPPED)

    def shapes(self, width: int, tags: Mapping[str, ValueCounts]) -> Shapes:
        """Return the shapes of the parameters, for vectors of tokens of this length and,
        by task, these values.
        """
        shapes: Shapes = {}
        for task, counts in tags.items():
            shapes |= prefixed(f"outputs.{task}.", counts.shapes(width)) | {
                f"biases.{task}": (counts.values,)
            }
            if self.size:
                shapes |= prefixed(f"inputs.{task}.", counts.shapes(self.size))
        return shapes


@dataclass
class HeadSpec(Spec):
    """How heads and relations are predicted by a biaffine scorer (networks/tasks.py).

    Attributes:
        size: length of the vectors for finding a word's head.
        relation_size: length of the vectors for finding its relation.
        dropout: share of the numbers of all vectors that is dropped in training.
    """

    size: int = field(metadata=_LENGTH)
    relation_size: int = field(metadata=_LENGTH)
    dropout: float = field(metadata=_DROPPED)

    def shapes(self, width: int, n_relations: int) -> Shapes:
        """Return the shapes of the parameters,
        for vectors of tokens of this length and this many relations.
        """
        sizes = {"arc_dependent": self.size, "arc_head": self.size}
        sizes |= {"relation_dependent": self.relation_size, "relation_head": self.relation_size}
        shapes: Shapes = {f"{layer}.weight": (size, width) for layer, size in sizes.items()}
        shapes |= {f"{layer}.bias": (size,) for layer, size in sizes.items()}
        shapes |= {"arc_product": (self.size, self.size), "arc_bias": (self.size,)}
        with_one = self.relation_size + 1
        return shapes | {
            "relation_product.weight": (n_relations, with_one, with_one),
            "relation_product.bias": (n_relations,),
        }


@dataclass
class LemmaSpec(Spec):
    """How lemmas are predicted (networks/tasks.py).

    Attributes:
        size: units of the hidden layer.
        buckets: the number of vectors of affixes; affixes with the same hash share a vector.
        dropout: share of the hidden units dropped in training.
        trigrams: how many trigrams within the word are read, ending 1, 2, ...
            characters before its end.
    """

    size: int = field(metadata=_UNITS)
    buckets: int = field(metadata=between(1, 10_000_000, "the number of vectors"))
    dropout: float = field(metadata=_DROPPED)
    trigrams: int = field(default=0, metadata=between(0, 100, "the number of trigrams"))

    def shapes(self, tags: Mapping[str, ValueCounts], rules: ValueCounts) -> Shapes:
        """Return the shapes of the parameters, for these tags and rules."""
        shapes: Shapes = {"affixes": (self.buckets, self.size)}
        for task, counts in tags.items():
            shapes |= prefixed(f"inputs.{task}.", counts.shapes(self.size))
        return shapes | prefixed("outputs.", rules.shapes(self.size)) | {"bias": (rules.values,)}


@dataclass
class PretrainedSpec(Spec):
    """How the vectors of a pretrained encoder are read (networks/pretrained.py).

    Attributes:
        width: length of its vectors.
        layers: how many of its layers are mixed, the last ones.
        size: length of the vectors that are made of them.
        tuned: whether training changes the encoder; then the model folder holds it.
        kept: how many of its layers are computed, the first ones; 0: all.
    """

    width: int = field(metadata=_LENGTH)
    layers: int = field(metadata=_LAYERS)
    size: int = field(metadata=_EMBEDDING)
    tuned: bool
    kept: int = field(default=0, metadata=between(0, 1000, "the number of layers"))

    def shapes(self) -> Shapes:
        """Return the shapes of the parameters, without the encoder's own."""
        return {
            "mix": (self.layers,),
            "scale": (1,),
            "projection.weight": (self.size, self.width),
            "projection.bias": (self.size,),
        }


@dataclass
class BiLSTMSpec(Spec):
    """An encoder of sentences (networks/bilstm.py).

    Attributes:
        layers: LSTMs, one above the other.
        hidden: units of each layer and direction.
        dropout: share of the numbers dropped between layers in training.
        attribute_dropout: share of a token's attributes dropped in training.
        characters: how characters are read; None if they are not.
        tagger: how tags are predicted; None if they are not.
        heads: how heads are predicted, a further task in training; None if they are not.
        lemmas: how lemmas are predicted; None if they are not.
    """

    layers: int = field(metadata=between(1, 100, "the number of layers"))
    hidden: int = field(metadata=_UNITS)
    dropout: float = field(metadata=_DROPPED)
    attribute_dropout: float = field(metadata=between(0, 1, "a share of attributes", below=True))
    characters: CharacterSpec | None = None
    tagger: TaggerSpec | None = None
    heads: HeadSpec | None = None
    lemmas: LemmaSpec | None = None

    def __post_init__(self) -> None:
        if self.tagger is None:
            return
        # no layer above the last one reads tags
        highest = self.layers - 1 if self.tagger.size else self.layers
        if self.tagger.layer > highest:
            below = f"choose a layer of at most {highest}" if highest else "choose more layers"
            unread = ", tagger.size=0" if self.tagger.layer == self.layers else ""
            raise OptimalStepError(
                f"tagger.layer={self.tagger.layer}: a layer above it reads the tags, but "
                f"layers={self.layers}; {below}{unread}, or tagger=null"
            )

    @property
    def size(self) -> int:
        """Length of a token's vector."""
        return 2 * self.hidden


@dataclass
class MlpSpec(Spec):
    """A hidden layer over what feature slots read (networks/classifier.py).

    Attributes:
        hidden: units of the hidden layer.
        activation: one of ACTIVATIONS.
        dropout: share of the hidden units dropped in training.
        input_dropout: share of the numbers of the vectors dropped in training.
        slot_dropout: share of the slots whose whole vectors are dropped in training.
    """

    hidden: int = field(metadata=between(1, 65_536, "the number of hidden units"))
    activation: str = field(metadata={"words": ACTIVATIONS})
    dropout: float = field(metadata=between(0, 1, "a share of units", below=True))
    input_dropout: float = field(metadata=_DROPPED)
    slot_dropout: float = field(metadata=between(0, 1, "a share of slots", below=True))

    def shapes(self, one_hot_rows: int, width: int, n_outputs: int) -> Shapes:
        """Return the shapes of the parameters.

        Args:
            one_hot_rows: the number of values of all one-hot slots.
            width: length of the vectors that the embedded slots read, side by side.
            n_outputs: the number of outputs.
        """
        return {
            "hidden_bias": (self.hidden,),
            "one_hot.weight": (one_hot_rows, self.hidden),
            **({"embedded.weight": (self.hidden, width)} if width else {}),
            "output.weight": (n_outputs, self.hidden),
            "output.bias": (n_outputs,),
        }


@dataclass
class ClassifierSpec(MlpSpec):
    """All that is needed to build a classifier, besides its vocabularies.

    Attributes:
        embeddings: how each attribute is embedded; with an encoder, all but the relation are the
            encoder's input.
        encoder: the encoder of a contextual token representation; None for a static one.
        pretrained: a pretrained encoder whose vectors are further input of the encoder;
            None if there is none.
    """

    embeddings: dict[str, Embedding]
    encoder: BiLSTMSpec | None = None
    pretrained: PretrainedSpec | None = None


@dataclass(frozen=True)
class ValueCounts:
    """How many values a column of tags has, and how many elements if they are sets; otherwise
    None.
    """

    values: int
    elements: int | None = None

    def shapes(self, size: int) -> Shapes:
        """Return the shapes of vectors of this length: one for each value, and one for each
        element; both are added up.
        """
        whole: Shapes = {"whole": (self.values, size)}
        return whole if self.elements is None else whole | {"elements": (self.elements, size)}
