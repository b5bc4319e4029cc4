"""A BiLSTM whose weights stay as they are, on a CPU: the vectors of tokens for parsing, without torch.

What of a token goes into the first layer depends only on its signature (precomputed_tokens.py), so its embeddings, its
characters and their product with the layer's weights are worked out once for each signature, for all sentences to come. The
layers themselves are those of FrozenLSTM, in one of the arithmetics of arithmetic.py. BiLSTM.encode is the reference
implementation.

The vectors of a sentence depend on nothing else that is encoded along, nor do the rows of a signature, so that it does not
matter which thread meets one first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from parser import batch_sizes
from parser.data.attributes import SUBWORDS
from parser.data.lemmas import RuleScores, affixes
from parser.data.parts.pretrained import Pieces
from parser.data.parts.subwords import Subwords
from parser.data.sentences import Sentences
from parser.data.vocabularies import ABSENT
from parser.inference.arithmetic import Arithmetic, Int8, Matrix, SinglePrecision
from parser.inference.biaffine import SLOPE
from parser.inference.precomputed_tokens import SignatureRows
from parser.inference.weights import EncoderWeights, PretrainedVectors
from parser.kernels import array_kernel, kernel
from parser.kernels.products import multiply, width_of

# tanh as a quotient of polynomials of x, which compilers turn into vector instructions: Eigen's, generic_fast_tanh_float.
_BOUND = np.float32(7.90531110763549805)
_A1, _A3, _A5 = np.float32(4.89352455891786e-03), np.float32(6.37261928875436e-04), np.float32(1.48572235717979e-05)
_A7, _A9 = np.float32(5.12229709037114e-08), np.float32(-8.60467152213735e-11)
_A11, _A13 = np.float32(2.00018790482477e-13), np.float32(-2.76076847742355e-16)
_B0, _B2 = np.float32(4.89352518554385e-03), np.float32(2.26843463243900e-03)
_B4, _B6 = np.float32(1.18534705686654e-04), np.float32(1.19825839466702e-06)

_HALF = np.float32(0.5)


class FrozenEncoder:
    """Computes token vectors; thread-safe.

    Args:
        weights: those of the encoder as they are now.
        int8: whether vectors are stored and multiplied in 8 bits.

    Raises:
        Int8Error: they cannot be.
    """

    def __init__(self, weights: EncoderWeights, int8: bool = False) -> None:
        arithmetic = self.arithmetic = Int8() if int8 else SinglePrecision()
        spec = weights.spec
        layers = self._layers = [FrozenLSTM(*weights.layer(number), arithmetic) for number in range(spec.layers)]
        first, *others = layers
        self._embeddings = [matrix for name, matrix in weights.inputs.items() if name != SUBWORDS]
        self._subwords = weights.inputs.get(SUBWORDS)
        self._characters = None if spec.characters is None else _FrozenCharacters(weights)
        self._pretrained = None if weights.pretrained is None else _FrozenPretrained(weights, weights.pretrained, first.inputs)
        n_pretrained = 0 if self._pretrained is None else self._pretrained.size
        self._first = SinglePrecision().matrix(first.inputs[:, : first.inputs.shape[1] - n_pretrained], first.bias)
        self._others = [arithmetic.matrix(layer.inputs[:, : 2 * layer.hidden], layer.bias) for layer in others]
        self._tagger = None
        if spec.tagger is not None and weights.tag_outputs:
            above = layers[spec.tagger.layer]
            self._tagger = _FrozenTagger(weights, spec.tagger.layer, above.inputs[:, 2 * first.hidden :], arithmetic)
        self._lemmas = None if weights.lemma_outputs is None else _FrozenLemmas(weights, weights.lemma_outputs)
        n_rows = len(self._embeddings) + (0 if spec.characters is None else spec.characters.longest)
        n_rows += 0 if self._subwords is None else Subwords.longest
        self._n_rows = n_rows
        self._of_signatures = SignatureRows(self._fill, n_rows, np.zeros((0, 8 * first.hidden), np.float32))

    def encode(self, sentences: Sentences) -> np.ndarray:
        """The vectors of all tokens as they are stored; those that the sentences have already, if they have."""
        return self._read(sentences)[0] if sentences.vectors is None else sentences.vectors

    def encode_with_tags(self, sentences: Sentences) -> tuple[np.ndarray, dict[str, np.ndarray], RuleScores | None]:
        """The same, by column the numbers of the tags that score highest, int32[tokens], and the scores of lemmas' rules."""
        read, scores, shares = self._read(sentences)
        rules = None if self._lemmas is None else partial(self._lemmas.scores, scores, shares)
        return read, {task: of_task.argmax(axis=1).astype(np.int32) for task, of_task in scores.items()}, rules

    def _read(self, sentences: Sentences) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What the layers make of all tokens, as it is stored: [tokens, 2 * hidden]; and of their tags the scores, and, where
        layers read them, the probabilities."""
        signatures, inputs = self._of_signatures(sentences.values[: self._n_rows])
        tokens = np.arange(len(signatures), dtype=np.int32)
        if self._pretrained is not None:
            signatures, inputs = tokens, inputs[signatures] + self._pretrained(sentences)
        read = self._layers[0](inputs, signatures, sentences.offsets)
        scores: dict[str, np.ndarray] = {}
        shares: dict[str, np.ndarray] = {}
        for number, (layer, matrix) in enumerate(zip(self._layers[1:], self._others, strict=True), 1):
            inputs = matrix(read)
            if self._tagger is not None and number == self._tagger.layer:
                scores = self._tagger.scores(read)
                if self._tagger.is_read:
                    with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
                        shares = self._tagger.probabilities(scores)
                        inputs += self._tagger.inputs_of(shares)
            read = layer(inputs, tokens, sentences.offsets)
        return read, scores, shares

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        """float32[tokens, size], of vectors that encode() has made."""
        return self.arithmetic.floats(vectors)

    def matrix(self, weights: np.ndarray, bias: np.ndarray) -> Matrix:
        """What multiplies vectors that encode() has made by float32[outputs, size], and adds float32[outputs]."""
        return self.arithmetic.matrix(weights, bias)

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        """float32[outputs, size], what matrix() multiplies by."""
        return self.arithmetic.rounded(weights)

    def _fill(self, values: np.ndarray, rows: np.ndarray) -> None:
        """Fills in the first of ``rows``, for signatures of these values."""
        for start in range(0, values.shape[1], batch_sizes.SIGNATURES_PER_ENCODING):
            some = values[:, start : start + batch_sizes.SIGNATURES_PER_ENCODING]
            parts = [matrix[of_attribute] for matrix, of_attribute in zip(self._embeddings, some, strict=False)]
            further = some[len(parts) :]
            if self._subwords is not None:
                pieces, further = np.split(further, [Subwords.longest])
                parts.append(self._subwords[pieces].sum(axis=0) / (pieces != ABSENT).sum(axis=0)[:, None].astype(np.float32))
            if self._characters is not None:
                parts.append(self._characters(further.T))
            rows[start : start + some.shape[1]] = self._first(np.concatenate(parts, axis=1))


class _FrozenCharacters:
    """A frozen character encoder: what a character brings is one of the rows of a table."""

    def __init__(self, weights: EncoderWeights) -> None:
        self._layer = FrozenLSTM(*weights.characters(), SinglePrecision())
        self._inputs = SinglePrecision().matrix(self._layer.inputs, self._layer.bias)(weights.tensors["characters.vectors"])

    def __call__(self, characters: np.ndarray) -> np.ndarray:
        """float32[forms, size] from int32[forms, longest]; ABSENT is after the last character."""
        offsets = np.concatenate([[0], np.cumsum((characters != ABSENT).sum(axis=1))])
        read = self._layer(self._inputs, characters[characters != ABSENT], offsets)
        hidden = self._layer.hidden
        return np.concatenate([read[offsets[1:] - 1, :hidden], read[offsets[:-1], hidden:]], axis=1)


class _FrozenPretrained:
    """What a pretrained encoder brings to the inputs of the first layer.

    Args:
        weights: those of the encoder that reads its vectors.
        encoder: the pretrained encoder.
        inputs: float32[8 * hidden, width], what the first layer multiplies its input by, of which its vectors are the end.

    Attributes:
        size: length of what is made of its vectors.
    """

    def __init__(self, weights: EncoderWeights, encoder: PretrainedVectors, inputs: np.ndarray) -> None:
        mix, scale, projection, bias = (
            weights.tensors[f"pretrained.{name}"] for name in ("mix", "scale", "projection.weight", "projection.bias")
        )
        self._encoder, self.size = encoder, len(bias)
        with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
            self._mix = _softmax(mix[None])[0][:, None] * scale
        single = SinglePrecision()
        self._projection = single.matrix(projection, bias)
        self._inputs = single.matrix(np.ascontiguousarray(inputs[:, -self.size :]))

    def __call__(self, sentences: Sentences) -> np.ndarray:
        """float32[tokens, 8 * hidden]."""
        made = np.empty((int(sentences.offsets[-1]), self._inputs.outputs), np.float32)
        for first, last in sentences.spans(batch_sizes.TOKENS_PER_PRETRAINED_READ):
            some = sentences.span(first, last)
            by_layer = self._encoder.vectors(some.values[-Pieces.longest :], some.offsets)
            with np.errstate(over="ignore", invalid="ignore"):
                mixed = (by_layer.astype(np.float32) * self._mix).sum(axis=1)
            made[sentences.offsets[first] : sentences.offsets[last]] = self._inputs(self._projection(mixed))
        return made


class _FrozenTagger:
    """The scores of tags, and what their expected vectors bring to the inputs of a layer.

    Args:
        encoder: the weights of the encoder.
        layer: the first layer above the tagger.
        weights: float32[8 * hidden, tasks * size], what the layer multiplies the tags' expected vectors by.
        arithmetic: how the encoder's vectors are stored and multiplied.

    Attributes:
        layer: as above.
    """

    def __init__(self, encoder: EncoderWeights, layer: int, weights: np.ndarray, arithmetic: Arithmetic) -> None:
        single = SinglePrecision()
        self.layer = layer
        self._outputs = {
            task: arithmetic.matrix(values, encoder.tensors[f"tagger.biases.{task}"])
            for task, values in encoder.tag_outputs.items()
        }
        self._expected = {task: single.matrix(values.T) for task, values in encoder.tag_inputs.items()}
        self._inputs = single.matrix(weights)

    @property
    def is_read(self) -> bool:
        """Whether the layer above reads the tags."""
        return bool(self._expected)

    def scores(self, read: np.ndarray) -> dict[str, np.ndarray]:
        """By task, float32[tokens, values], from stored[tokens, 2 * hidden]."""
        return {task: matrix(read) for task, matrix in self._outputs.items()}

    def probabilities(self, scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same, from the scores."""
        return {task: _softmax(scores[task]) for task in self._expected}

    def inputs_of(self, shares: Mapping[str, np.ndarray]) -> np.ndarray:
        """float32[tokens, 8 * hidden], from the probabilities."""
        return self._inputs(np.concatenate([expected(shares[task]) for task, expected in self._expected.items()], axis=1))


class _FrozenLemmas:
    """The scores of rules for lemmas.

    Args:
        encoder: the weights of the encoder.
        outputs: float32[rules, units], the vectors of the rules.
    """

    def __init__(self, encoder: EncoderWeights, outputs: np.ndarray) -> None:
        single = SinglePrecision()
        self._affixes = encoder.tensors["lemmas.affixes"]
        assert encoder.spec.lemmas is not None, "it predicts lemmas"
        self._trigrams = encoder.spec.lemmas.trigrams
        self._inputs = {task: single.matrix(values.T) for task, values in encoder.lemma_inputs.items()}
        self._outputs = single.matrix(outputs, encoder.tensors["lemmas.bias"])

    def scores(
        self,
        tag_scores: Mapping[str, np.ndarray],
        shares: Mapping[str, np.ndarray],
        forms: Sequence[str],
        places: np.ndarray,
    ) -> np.ndarray:
        """float32[forms, rules].

        Args:
            tag_scores: by task, float32[tokens, values], the scores of all tokens' tags.
            shares: their probabilities, if they are known.
            forms, places: see RuleScores.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
            hidden = self._affixes[affixes(forms, len(self._affixes), self._trigrams)].sum(axis=1)
            for task, expected in self._inputs.items():
                hidden += expected(shares[task][places] if task in shares else _softmax(tag_scores[task][places]))
            return self._outputs(np.where(hidden > 0, hidden, np.float32(SLOPE) * hidden))


def _softmax(scores: np.ndarray) -> np.ndarray:
    """float32[n, values], rows that sum to 1."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


class FrozenLSTM:
    """Both directions of a layer.

    Args:
        forwards, backwards: the arrays of LSTM_PARAMETERS.
        arithmetic: how states are stored and multiplied.

    Attributes:
        hidden: units of a direction.
        inputs: float32[8 * hidden, width], what a token's input is multiplied by, forwards and backwards.
        bias: float32[8 * hidden], to be added.
    """

    def __init__(self, forwards: Mapping[str, np.ndarray], backwards: Mapping[str, np.ndarray], arithmetic: Arithmetic) -> None:
        sides = forwards, backwards
        self.hidden = forwards["weight_hh_l0"].shape[1]
        self.inputs = np.concatenate([side["weight_ih_l0"] for side in sides])
        with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
            self.bias = np.concatenate([side["bias_ih_l0"] + side["bias_hh_l0"] for side in sides])
        self._arithmetic = arithmetic
        self._recurrent = [arithmetic.matrix(side["weight_hh_l0"]).panels for side in sides]

    def __call__(self, inputs: np.ndarray, rows: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """What the layer makes of the tokens, stored[tokens, 2 * hidden].

        Args:
            inputs: float32[rows, 8 * hidden], inputs times their weights, the bias added.
            rows: int32[tokens], the row of each token.
            offsets: int64[sentences + 1], where sentences begin among the tokens.
        """
        lengths = np.diff(offsets)
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = offsets[:-1][order], lengths[order]
        # Sentences that have a token at each step.
        reached = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]
        forwards, backwards = self._recurrent
        # A state is as wide as the weights, which may be a few columns more than there are units.
        states = np.zeros((2, len(lengths), width_of(forwards)), self._arithmetic.stored)
        outputs = np.empty((len(rows), 2 * self.hidden), self._arithmetic.stored)
        _read(reached, starts, lengths, inputs, rows, forwards, backwards, *self._arithmetic.storing, states, outputs)
        return outputs


@kernel(fastmath={"contract"}, error_model="numpy", inline="always")
def tanh(x):
    """The hyperbolic tangent of a float32, but for the last digits."""
    x = max(-_BOUND, min(_BOUND, x))
    y = x * x
    numerator = x * (_A1 + y * (_A3 + y * (_A5 + y * (_A7 + y * (_A9 + y * (_A11 + y * _A13))))))
    return numerator / (_B0 + y * (_B2 + y * (_B4 + y * _B6)))


@array_kernel()
def _read(reached, starts, lengths, inputs, rows, forwards, backwards, scale, zero, states, outputs):
    """All steps of both directions.

    Args:
        reached: int64[steps], the sentences that have a token at a step; they are the first ones.
        starts, lengths: int64[sentences], where the sentences begin, and how many tokens they have.
        inputs, rows: see FrozenLSTM.
        forwards, backwards: the recurrent weights.
        scale, zero: float32, what a state is multiplied by, and what is added, when it is stored.
        states: stored[2, sentences, hidden or more], overwritten.
        outputs: stored[tokens, 2 * hidden], overwritten.
    """
    hidden = outputs.shape[1] // 2
    cells = np.zeros((2, len(starts), hidden), np.float32)
    products = np.zeros((len(starts), len(forwards.bias)), np.float32)
    gates = np.empty(4 * hidden, np.float32)
    for t in range(len(reached)):
        n = reached[t]
        for side in range(2):
            if t == 0:
                products[:n] = 0
            elif side:
                multiply(states[side], n, backwards, products)
            else:
                multiply(states[side], n, forwards, products)
            _step(t, n, side, starts, lengths, inputs, rows, products, scale, zero, cells[side], gates, states[side], outputs)


@kernel(fastmath={"contract"}, error_model="numpy")
def _step(t, n, side, starts, lengths, inputs, rows, products, scale, zero, cells, gates, states, outputs):
    """Step t of the first n sentences in one direction.

    Args:
        side: 1: from the end; 0: from the beginning.
        products: float32[n or more, 4 * hidden or more], the states before the step times the recurrent weights.
        cells: float32[sentences, hidden], overwritten, as what follows.
        gates: float32[4 * hidden], for what is in between.
        states: stored[sentences, hidden or more].
        outputs: stored[tokens, 2 * hidden].
    """
    hidden = cells.shape[1]
    for s in range(n):
        token = starts[s] + (lengths[s] - 1 - t if side else t)
        of_state, cell, state = products[s], cells[s], states[s]
        of_input = inputs[rows[token], 4 * hidden * side : 4 * hidden * (side + 1)]
        output = outputs[token, hidden * side : hidden * (side + 1)]
        # Loops over few arrays each: compilers make vector instructions of no others. torch's order: in, forget, new, out.
        for j in range(2 * hidden):
            gates[j] = _HALF + _HALF * tanh(_HALF * (of_state[j] + of_input[j]))
        for j in range(2 * hidden, 3 * hidden):
            gates[j] = tanh(of_state[j] + of_input[j])
        for j in range(3 * hidden, 4 * hidden):
            gates[j] = _HALF + _HALF * tanh(_HALF * (of_state[j] + of_input[j]))
        for j in range(hidden):
            cell[j] = gates[hidden + j] * cell[j] + gates[j] * gates[2 * hidden + j]
        for j in range(hidden):
            state[j] = gates[3 * hidden + j] * tanh(cell[j]) * scale + zero
        for j in range(hidden):
            output[j] = state[j]
