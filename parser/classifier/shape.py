"""What a model folder says of its classifier. No torch is needed to read it; build.py makes the classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parser.classifier.bilstm import BiLSTMShape


@dataclass(frozen=True)
class Embedding:
    """How an attribute is embedded: ``size`` of the vectors, and whether training changes them."""

    size: int
    trained: bool


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
        if encoder is not None:
            from parser.classifier.bilstm import BiLSTMShape  # which needs torch, as a static representation does not

            encoder = BiLSTMShape.of_fields(encoder)
        return cls(**(fields | {"embeddings": embeddings, "encoder": encoder}))
