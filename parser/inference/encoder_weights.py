"""The weights of a BiLSTM at rest, as numpy arrays: what parsing needs of it, without torch.

A torch encoder gives them (BiLSTM.encoder_weights), or a model folder (layouts.py); they are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from parser.inference.lstm import WEIGHTS
from parser.inference.shape import BiLSTMShape

T = TypeVar("T")


@dataclass(frozen=True)
class EncoderWeights:
    """The weights of a BiLSTM; see there for what is made of them.

    Attributes:
        shape: how it is built.
        inputs: for each attribute that is read, float32[values, size].
        tensors: by name, as in the encoder's state_dict(): those of LSTMs and characters, and the tags' biases.
        tag_outputs: by task of the tagger, float32[values, width].
        tag_inputs: by task, float32[values, size], where the layers above read tags.
    """

    shape: BiLSTMShape
    inputs: list[np.ndarray]
    tensors: Mapping[str, np.ndarray]
    tag_outputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    tag_inputs: Mapping[str, np.ndarray] = field(default_factory=dict)

    def layer(self, number: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The weights of a layer, forwards and backwards."""
        return self._lstm(f"forwards.{number}."), self._lstm(f"backwards.{number}.")

    def characters(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Those of the characters' LSTMs."""
        return self._lstm("characters.forwards."), self._lstm("characters.backwards.")

    def _lstm(self, prefix: str) -> dict[str, np.ndarray]:
        return {name: self.tensors[prefix + name] for name in WEIGHTS}


def under(prefix: str, tensors: Mapping[str, T]) -> dict[str, T]:
    """The tensors whose names begin so, by the rest of the name."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
