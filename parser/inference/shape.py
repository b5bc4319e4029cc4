"""What a model folder says of its classifier. No torch is needed to read it; build.py makes the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Slope below 0 of the activation of a HeadScorer.
SLOPE = 0.1


@dataclass(frozen=True)
class Embedding:
    """How an attribute is embedded: ``size`` of the vectors, and whether training changes them."""

    size: int
    trained: bool


@dataclass(frozen=True)
class CharacterShape:
    """What is needed to build a CharacterEncoder again.

    Attributes:
        embedding: length of a character's vector.
        hidden: units of each direction; a form's vector has twice as many numbers.
        longest: characters of a form that are read, see parser/data/characters.py.
    """

    embedding: int
    hidden: int
    longest: int


@dataclass(frozen=True)
class TaggerShape:
    """What is needed to build a Tagger again.

    Attributes:
        layer: the layer of the encoder whose outputs are tagged, from 1; those above it read the tags.
        size: length of a tag's expected vector, for each task; 0: the layers above do not read the tags.
        dropout: the share of numbers of the tokens' vectors that is dropped for the tagger in training.
    """

    layer: int
    size: int
    dropout: float


@dataclass(frozen=True)
class HeadScorerShape:
    """What is needed to build a HeadScorer again.

    Attributes:
        size: length of the vectors that the head of a word is found with.
        relation_size: of those that its relation is found with.
        dropout: the share of numbers of all vectors that is dropped.
    """

    size: int
    relation_size: int
    dropout: float


@dataclass(frozen=True)
class BiLSTMShape:
    """What is needed to build a BiLSTM again.

    Attributes:
        layers: LSTMs, one above the other.
        hidden: units of each layer and direction; a token's vector has twice as many numbers.
        dropout: the share of numbers dropped between layers in training.
        attribute_dropout: the share of a token's attributes dropped in training.
        characters: how characters are read; None if they are not.
        tagger: how tags are predicted; None if they are not.
        heads: how heads are predicted, a further task in training; None if they are not.
    """

    layers: int
    hidden: int
    dropout: float
    attribute_dropout: float
    characters: CharacterShape | None = None
    tagger: TaggerShape | None = None
    heads: HeadScorerShape | None = None

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> BiLSTMShape:
        """From plain values, as dataclasses.asdict gives them; KeyError or TypeError if some are missing or too many."""
        kinds: dict[str, type[Any]] = {"characters": CharacterShape, "tagger": TaggerShape, "heads": HeadScorerShape}
        parts = {name: kind(**fields[name]) for name, kind in kinds.items() if fields.get(name) is not None}
        return cls(**(dict(fields) | parts))


@dataclass(frozen=True)
class ClassifierShape:
    """What is needed to build a classifier again; see Classifier for the meanings.

    Attributes:
        embeddings: by attribute, how it is embedded; with an encoder, as the encoder's input, but for the relation.
        encoder: that of a contextual token representation; None for a static one.
    """

    hidden: int
    activation: str
    dropout: float
    input_dropout: float
    slot_dropout: float
    embeddings: dict[str, Embedding]
    encoder: BiLSTMShape | None = None

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> ClassifierShape:
        """From plain values, as dataclasses.asdict gives them; KeyError or TypeError if some are missing or too many."""
        embeddings = {name: Embedding(**embedding) for name, embedding in fields["embeddings"].items()}
        encoder = fields.get("encoder")
        shape = None if encoder is None else BiLSTMShape.of_fields(encoder)
        return cls(**(fields | {"embeddings": embeddings, "encoder": shape}))
