"""What the rest of the parser asks of a model, whatever its kind.

The kinds are networks, trained (trained_model.py) or frozen (model.py), and linear models
(parser/linear). Code that needs more than this names the kind of model that it works with.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from parser.beam_settings import Beam
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.inference.calibration import Calibration
from parser.transitions.system import TransitionSystem


class ParserModel(Protocol):
    """A parser.

    Attributes:
        kind: the kind in the folder, ``classifier`` or ``linear``.
        gives_probabilities: whether its scores are logits, so that probabilities can be calibrated.
        vocabularies: the vocabularies of all that it reads and predicts.
        relations: the relations; relation number i is ``relations.symbols[i]``.
        system: the transition system over these relations.
        beam: how optimal-step parse searches by default; None: it parses greedily.
    """

    kind: ClassVar[str]
    gives_probabilities: ClassVar[bool]
    vocabularies: Vocabularies
    relations: Vocabulary
    system: TransitionSystem
    beam: Beam | None

    @property
    def contextual(self) -> bool:
        """Whether an encoder reads the sentences."""

    @property
    def int8(self) -> bool:
        """Whether it parses with 8-bit products."""

    @property
    def predicts_heads(self) -> bool:
        """Whether the encoder predicts the head of each word, which reranking needs."""

    @property
    def reads_pretrained(self) -> bool:
        """Whether a pretrained encoder reads the sentences first."""

    @property
    def lattice_beam(self) -> Beam | None:
        """How optimal-step parse searches lattices by default; None: as other input."""

    @property
    def calibration(self) -> Calibration:
        """The calibration of the probabilities of its arcs."""

    @property
    def arithmetic(self) -> dict[str, Any]:
        """The entries of settings.json and metrics.json about 8-bit products;
        empty if these were not measured.
        """

    def frozen(self) -> ParserModel:
        """Return the model with its present weights;
        parsers and taggers made from it share what they precompute.
        """
