"""A bidirectional LSTM over the words of a sentence (Kiperwasser and Goldberg 2016, Section 3): a vector for each token.

A token goes in as the vectors of its attributes, of its subwords and of its characters, and that of a pretrained encoder
(pretrained.py), side by side; the artificial root is the first token of its sentence. Each layer reads the outputs of the one
below, in both directions. A tagger may read the outputs of one of the layers; the next one reads the expected tags beside them
(tasks.py). In training, whole attributes of tokens are dropped, and of what goes from layer to layer the same numbers are
dropped all through a sentence (Gal and Ghahramani 2016).

The tokens of a batch lie in the order in which LSTMs read them (lstm.py), and in that of their sentences before and after. In
which batch a sentence is read changes its vectors by no more than rounding: the products are the same, but the library that
computes them may add up in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.attributes import SUBWORDS
from parser.data.parts.pretrained import Pieces
from parser.data.parts.subwords import Subwords
from parser.data.vocabularies import ABSENT, SetVocabulary, Vocabulary
from parser.inference.encoder import FrozenEncoder
from parser.inference.layouts import rule_counts, value_counts
from parser.inference.weights import EncoderWeights, TaggingEncoder
from parser.network_spec import BiLSTMSpec, CharacterSpec, Counts
from parser.networks.layers import bernoulli_mask, draw_vectors, lstm
from parser.networks.lstm import Packing, read_sequences
from parser.networks.pretrained import PretrainedInput
from parser.networks.representation import ContextualRepresentation, Embeddings, Encoded
from parser.networks.tasks import BiaffineScorer, LemmaScorer, Tagger


class BiLSTM(ContextualRepresentation):
    """From the attributes of tokens to vectors of tokens in their sentences.

    Args:
        inputs: the embeddings of the attributes, in the order of ``Sentences.values``, and of subwords.
        embeddings: those of relations, if they are embedded.
        spec: layers and dropout.
        n_characters: characters that have a vector, where ``spec.characters`` says how they are read.
        tags: by task of the tagger, its values.
        n_relations: relations that ``spec.heads`` tells apart.
        rules: those that ``spec.lemmas`` chooses among.
        input_dropout: the share of the numbers of what goes in that are dropped in training.
        pretrained: what reads with a pretrained encoder; None: there is none.
    """

    def __init__(
        self,
        inputs: Embeddings,
        embeddings: Embeddings,
        spec: BiLSTMSpec,
        n_characters: int = 0,
        tags: Mapping[str, Vocabulary] | None = None,
        n_relations: int = 0,
        rules: SetVocabulary | None = None,
        input_dropout: float = 0.0,
        pretrained: PretrainedInput | None = None,
    ) -> None:
        super().__init__(embeddings, spec.size)
        self.spec = spec
        self.inputs = inputs
        self.input_dropout = input_dropout
        # The order in which parameters are made decides what random numbers they are drawn from.
        self.inputs.initialize(self.inputs.sizes)
        self.characters = None if spec.characters is None else CharacterEncoder(spec.characters, n_characters)
        self.tagger = Tagger(spec.tagger, spec.size, tags) if spec.tagger is not None and tags else None
        self.heads = None if spec.heads is None else BiaffineScorer(spec.heads, spec.size, n_relations)
        counts = Counts(n_characters, n_relations, value_counts(tags or {}), rule_counts(rules))
        tables = {name: tuple(vectors.shape) for name, vectors in inputs.vectors.items()}
        shapes = spec.shapes(tables, counts, None if pretrained is None else pretrained.spec)
        self.forwards = nn.ModuleList(lstm(shapes, f"forwards.{layer}") for layer in range(spec.layers))
        self.backwards = nn.ModuleList(lstm(shapes, f"backwards.{layer}") for layer in range(spec.layers))
        self.lemmas = None
        if spec.lemmas is not None and rules is not None:
            self.lemmas = LemmaScorer(spec.lemmas, tags or {}, rules)
        self.pretrained = pretrained

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        self.inputs.set_vectors(attribute, matrix)

    def frozen(self, int8: bool = False) -> TaggingEncoder:
        """Return the encoder without torch on a CPU, and what runs on the device elsewhere."""
        return FrozenEncoder(self.encoder_weights(), int8) if self.reserved.is_cpu else super().frozen(int8)

    def encoder_weights(self) -> EncoderWeights:
        """The weights as they are now, as numpy arrays, some of which share their memory with the parameters."""
        tagger = self.tagger
        return EncoderWeights(
            self.spec,
            {name: _array(matrix) for name, matrix in self.inputs.matrices().items()},
            {name: _array(tensor) for name, tensor in self.state_dict().items()},
            {} if tagger is None else {task: _array(values()) for task, values in tagger.outputs.items()},
            {} if tagger is None else {task: _array(values()) for task, values in tagger.inputs.items()},
            {} if self.lemmas is None else {task: _array(values()) for task, values in self.lemmas.inputs.items()},
            None if self.lemmas is None else _array(self.lemmas.outputs()),
            None if self.pretrained is None else self.pretrained.encoder,
        )

    def encode(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> Encoded:
        packing = Packing.of(lengths, values.device)
        read = self._embed(values, dropping, lengths)[packing.elements]
        tag_scores: dict[str, Tensor] = {}
        for layer in range(self.spec.layers):
            read = self._read(layer, read, packing, dropping)
            if self.tagger is not None and layer + 1 == self.tagger.spec.layer:
                tag_scores = self._tag(self.tagger, read, packing, dropping)
                if self.tagger.size:
                    read = torch.cat([read, self.tagger.expected(tag_scores)], dim=1)
        return Encoded(read[packing.rows], {task: scores[packing.rows] for task, scores in tag_scores.items()})

    def tag_scores(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> dict[str, Tensor]:
        """Return the scores of tags; the layers above the tagger are not computed."""
        if self.tagger is None:
            return {}
        packing = Packing.of(lengths, values.device)
        read = self._embed(values, dropping, lengths)[packing.elements]
        for layer in range(self.tagger.spec.layer):
            read = self._read(layer, read, packing, dropping)
        return {task: scores[packing.rows] for task, scores in self._tag(self.tagger, read, packing, dropping).items()}

    def rule_scores(self, forms: Sequence[str], tag_scores: Mapping[str, Tensor]) -> Tensor | None:
        return None if self.lemmas is None else self.lemmas.scores(forms, tag_scores)

    def _read(self, layer: int, read: Tensor, packing: Packing, dropping: bool) -> Tensor:
        """float32[rows, 2 * hidden]: what a layer makes of float32[rows, width]."""
        if layer and dropping and self.spec.dropout:
            read = read * _sentence_mask(read, packing, self.spec.dropout)
        sides = self.forwards[layer], self.backwards[layer]
        return torch.cat([read_sequences(side, read, packing, side is sides[1]) for side in sides], dim=1)

    def _tag(self, tagger: Tagger, read: Tensor, packing: Packing, dropping: bool) -> dict[str, Tensor]:
        """By task, float32[rows, values]."""
        if dropping and tagger.spec.dropout:
            read = read * _sentence_mask(read, packing, tagger.spec.dropout)
        return tagger.scores(read)

    def _embed(self, values: Tensor, dropping: bool, lengths: np.ndarray | None = None) -> Tensor:
        """float32[tokens, width]: the vectors of the attributes, the subwords and the characters, and the pretrained ones.

        ``lengths``: of the sentences; None: there is one.
        """
        matrices = self.inputs.matrices()
        subwords = matrices.pop(SUBWORDS, None)
        parts = [nn.functional.embedding(values[:, column], matrix) for column, matrix in enumerate(matrices.values())]
        further = values[:, len(parts) :]
        if subwords is not None:
            pieces, further = further[:, : Subwords.longest], further[:, Subwords.longest :]
            parts.append(nn.functional.embedding_bag(pieces.contiguous(), subwords, mode="mean", padding_idx=ABSENT))
        if self.characters is not None:
            parts.append(self.characters(further[:, : self.characters.spec.longest]))
        if self.pretrained is not None:
            of_sentences = np.array([len(values)]) if lengths is None else lengths
            parts.append(self.pretrained(values[:, -Pieces.longest :], of_sentences, dropping))
        if dropping and self.spec.attribute_dropout:
            parts = [part * bernoulli_mask(part.new_empty(len(part), 1), self.spec.attribute_dropout) for part in parts]
        read = torch.cat(parts, dim=1)
        return read * bernoulli_mask(read, self.input_dropout) if dropping and self.input_dropout else read


class CharacterEncoder(nn.Module):
    """From characters to vectors of forms: the final states of both directions (Ling et al. 2015, Section 3).

    A form is read once in a batch, however often it occurs there.

    Args:
        spec: its layers.
        n_characters: characters that have a vector, reserved ones included.
    """

    def __init__(self, spec: CharacterSpec, n_characters: int) -> None:
        super().__init__()
        self.spec, shapes = spec, spec.shapes(n_characters)
        self.vectors = nn.Parameter(torch.empty(shapes["vectors"]))
        draw_vectors(self.vectors)
        self.forwards, self.backwards = lstm(shapes, "forwards"), lstm(shapes, "backwards")

    def forward(self, characters: Tensor) -> Tensor:
        """float32[tokens, size] from int32[tokens, longest], as Characters.encode gives them, but for their order of axes."""
        forms, numbers = np.unique(characters.numpy(force=True), axis=0, return_inverse=True)
        lengths = (forms != ABSENT).sum(axis=1)
        packing = Packing.of(lengths, characters.device)
        flat = torch.from_numpy(forms[forms != ABSENT]).to(characters.device)
        read = nn.functional.embedding(flat[packing.elements], self.vectors)
        ends = torch.from_numpy(np.cumsum(lengths)).to(characters.device)
        last, first = packing.rows[ends - 1], packing.rows[ends - torch.from_numpy(lengths).to(characters.device)]
        forwards, backwards = (
            read_sequences(self.forwards, read, packing, False),
            read_sequences(self.backwards, read, packing, True),
        )
        of_forms = torch.cat([forwards[last], backwards[first]], dim=1)
        return of_forms[torch.from_numpy(numbers.reshape(-1)).to(characters.device)]


def _sentence_mask(read: Tensor, packing: Packing, share: float) -> Tensor:
    """float32[rows, width]: a mask that drops the same numbers all through a sentence."""
    return bernoulli_mask(read.new_empty(packing.sizes[0], read.shape[1]), share)[packing.sequences]


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().contiguous().numpy()
