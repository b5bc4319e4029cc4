"""Precomputed hidden activations: a slot's share in the hidden units for each value that it reads
(Chen and Manning 2014).

The hidden layer of a configuration is then a sum of rows, one for each slot, whatever the length of
the vectors. The rows of a one-hot slot are its weights; for a slot that reads vectors, they are the
vectors times its part of the weights. The rows of all values of a large vocabulary would not fit
into memory. So they are computed only for the values in the given sentences, once per call, by one
matrix product. The row of a value is the same, to the last bit, whatever other values are computed
with it.

Classifier.forward is the reference implementation. Compiled parsers add up the slots of a word only
once for each type (precomputed_tokens.py). Exploration multiplies many configurations at a time
(networks/classifier.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from parser.data.sentences import Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.inference.weights import ClassifierWeights
from parser.kernels import kernel
from parser.kernels.active_units import activate_units, activation_number
from parser.kernels.interpreted import instead_of
from parser.kernels.processor import fused
from parser.kernels.products import Panels, panels_in_fours, product
from parser.transitions.features import RELATION, FeatureTable

Scorer = Callable[[np.ndarray], np.ndarray]
"""Maps features, int32[m, slots], to scores of outputs, float32[m, outputs]."""


@dataclass(frozen=True)
class SlotActivations:
    """The contributions of slots to the hidden layer, for some tokens.

    Attributes:
        rows: float32[total, hidden]; slot c with value v adds row ``starts[c] + v``.
        starts: int64[slots].
        values: int32[attributes, tokens], the values of the tokens, in the numbering of the rows.
        bias: float32[hidden].
    """

    rows: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    bias: np.ndarray


class SlotPrecomputation:
    """Computes the hidden activations of the slots of a classifier;
    those that every sentence needs, only once.
    """

    def __init__(self, weights: ClassifierWeights, table: FeatureTable) -> None:
        self._weights = weights
        self.table = table
        self._bias = weights.hidden_bias
        self._starts = np.zeros(len(table.slots), np.int64)
        self._starts[weights.layout.one_hot_columns] = weights.layout.one_hot_starts
        # Rows that every configuration may need: of one-hot slots, and of relations,
        # which are assigned during parsing.
        self._always = weights.one_hot
        # By attribute of words that is read as a vector, the weights of each slot that reads it.
        self._embedded: dict[str, dict[int, Panels]] = {}
        for part in weights.embedded:
            slots = dict(zip(part.columns, map(panels_in_fours, part.weights), strict=True))
            if part.attribute == RELATION:
                for column, panels in slots.items():
                    self._starts[column] = len(self._always)
                    self._always = np.concatenate(
                        [self._always, self._product(weights.vectors[RELATION], panels)]
                    )
            else:
                self._embedded[part.attribute] = slots

    def _product(self, vectors: np.ndarray, panels: Panels) -> np.ndarray:
        """Return float32[n, hidden], the contributions of n vectors in a slot."""
        return product(vectors, panels, len(self._bias))

    def by_slot(self, values: np.ndarray) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
        """Return a function from a slot that reads words to its contributions, for
        int32[attributes, tokens] (no encoder).

        The function computes float32[rows, >= hidden], and returns it with int[tokens],
        the row of each token.
        """
        vectors, rows = {}, {}
        for name in self._embedded:
            used, rows[name] = np.unique(self._of_attribute(values, name), return_inverse=True)
            vectors[name] = self._weights.vectors[name][used]

        def added(column: int) -> tuple[np.ndarray, np.ndarray]:
            name = self.table.slots[column].attribute
            if name not in vectors:
                return self._weights.one_hot, self._starts[column] + self._of_attribute(
                    values, name
                )
            panels = self._embedded[name][column]
            return product(vectors[name], panels, len(panels.bias)), rows[name]

        return added

    def _of_attribute(self, values: np.ndarray, name: str) -> np.ndarray:
        return values[self.table.attributes.index(name)]

    def for_sentences(self, sentences: Sentences) -> SlotActivations:
        """Return the activations of all values in the sentences."""
        return self._activations(self.table.values(sentences), self._weights.vectors_in(sentences))

    def for_values(self, values: np.ndarray) -> SlotActivations:
        """Return the activations of int32[attributes, tokens]; with an encoder,
        all tokens must be ABSENT.
        """
        return self._activations(values, self._weights.vectors)

    def _activations(
        self, values: np.ndarray, vectors: Mapping[str, np.ndarray]
    ) -> SlotActivations:
        starts, values = self._starts.copy(), values.copy()
        filled = len(self._always)
        occurring = []
        for name, slots in self._embedded.items():
            row = self.table.attributes.index(name)
            used, renumbered = np.unique(
                np.append(values[row], np.int32(ABSENT)), return_inverse=True
            )
            values[row] = renumbered[:-1]  # ABSENT is the lowest number, so it keeps its number
            for column, panels in slots.items():
                starts[column] = filled
                occurring.append((panels, vectors[name][used], slice(filled, filled + len(used))))
                filled += len(used)
        rows = np.empty((filled, len(self._bias)), np.float32)
        rows[: len(self._always)] = self._always
        for panels, used_vectors, places in occurring:
            rows[places] = self._product(used_vectors, panels)
        return SlotActivations(rows, starts, values, self._bias)


def precomputed_scorer(
    weights: ClassifierWeights, table: FeatureTable, sentences: Sentences
) -> Scorer:
    """Return a function from features, int32[m, slots], to scores, float32[m, outputs].

    The scores of a configuration do not depend, even in their last digits, on other configurations.

    Args:
        sentences: the sentences of the features; other values than theirs must not occur.
    """
    hidden_of = hidden_layer(weights, table, sentences)
    activation = activation_number(weights.activation)
    output_weights, bias = np.ascontiguousarray(weights.output.T), weights.output_bias

    def score(features: np.ndarray) -> np.ndarray:
        scores = np.empty((len(features), len(bias)), np.float32)
        _multiply(
            hidden_of(features),
            activation,
            output_weights,
            bias,
            np.empty(len(output_weights), np.int32),
            scores,
        )
        return scores

    return with_arcs(score, weights, sentences)


def with_arcs(score: Scorer, weights: ClassifierWeights, sentences: Sentences) -> Scorer:
    """Return a scorer that adds the log probabilities of ClassifierWeights.arcs;
    without ``arcs``, return ``score``.
    """
    encoder, arcs = weights.encoder, weights.arcs
    if arcs is None:
        return score
    assert encoder is not None, "only an encoder predicts heads"
    arc_scores = arcs.scorer.arc_scores(
        encoder.arithmetic.floats(encoder.encode(sentences)), sentences.offsets
    )

    def both(features: np.ndarray) -> np.ndarray:
        # weights of a forged model may be arbitrarily large
        with np.errstate(over="ignore", invalid="ignore"):
            return score(features) + arc_scores(
                features[:, arcs.word] - N_RESERVED, features[:, arcs.head] - N_RESERVED
            )

    return both


def hidden_layer(
    weights: ClassifierWeights, table: FeatureTable, sentences: Sentences
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from features to float32[m, hidden], the input of the activation;
    see precomputed_scorer().
    """
    activations = SlotPrecomputation(weights, table).for_sentences(sentences)
    # The rows number only the values that occur in the sentences.
    renumbered = {}
    for name, ours, theirs in zip(
        table.attributes, table.values(sentences), activations.values, strict=True
    ):
        renumbered[name] = np.zeros(max(ours.max(initial=0), 0) + 1, np.int32)
        renumbered[name][ours] = theirs
    # there are fewer relations than outputs
    identity = np.arange(N_RESERVED + len(weights.output_bias), dtype=np.int32)
    numbers = [
        identity if slot.attribute == RELATION else renumbered[slot.attribute]
        for slot in table.slots
    ]
    firsts = np.cumsum([0, *map(len, numbers[:-1])])
    flat = np.concatenate(numbers)

    def hidden_of(features: np.ndarray) -> np.ndarray:
        hidden = np.empty((len(features), len(activations.bias)), np.float32)
        arrays = activations.starts, activations.rows, activations.bias
        _add_up(features, flat, firsts, *arrays, np.empty(features.shape[1], np.int64), hidden)
        return hidden

    return hidden_of


@kernel()
def sum_rows(first, rows, picked, count, total):
    """Fill in ``total`` (float32[units]): ``first`` plus the ``count`` picked rows,
    added in this order.
    """
    for h in range(len(total)):
        total[h] = first[h]
    # Four rows at a time, so that a sum is read and written a quarter as often.
    for p in range(0, count - 3, 4):
        p0, p1, p2, p3 = picked[p], picked[p + 1], picked[p + 2], picked[p + 3]
        for h in range(len(total)):
            total[h] = total[h] + rows[p0, h] + rows[p1, h] + rows[p2, h] + rows[p3, h]
    for p in range(count - count % 4, count):
        row = picked[p]
        for h in range(len(total)):
            total[h] += rows[row, h]


@instead_of(sum_rows)
def _sum_rows_in_numpy(
    first: np.ndarray, rows: np.ndarray, picked: np.ndarray, count: int, total: np.ndarray
) -> None:
    total[:] = first
    for row in picked[:count]:
        total += rows[row]


@kernel()
def _add_up(features, numbers, firsts, starts, rows, bias, picked, hidden):
    """Fill in ``hidden`` (float32[m, units]): the bias plus the rows of all slots. ``picked``:
    int64[slots], overwritten.
    """
    for m in range(len(features)):
        for c in range(len(picked)):
            picked[c] = starts[c] + numbers[firsts[c] + features[m, c]]
        sum_rows(bias, rows, picked, len(picked), hidden[m])


@kernel(fastmath={"contract"})
def _multiply(hidden, activation, weights, bias, active, scores):
    """Fill in ``scores`` (float32[m, outputs]) from the input of the activation,
    each sum in a fixed order.

    ``hidden`` is overwritten; ``active`` is workspace, int32[units].
    """
    for m in range(len(hidden)):
        row, units = scores[m], hidden[m]
        for o in range(len(bias)):
            row[o] = bias[o]
        count = activate_units(units, activation, active)
        # Four units at a time, so that a score is read and written a quarter as often;
        # the order of the sum stays the same.
        for a in range(0, count - 3, 4):
            h0, h1, h2, h3 = active[a], active[a + 1], active[a + 2], active[a + 3]
            x0, x1, x2, x3 = units[h0], units[h1], units[h2], units[h3]
            for o in range(len(bias)):
                row[o] = (
                    row[o]
                    + x0 * weights[h0, o]
                    + x1 * weights[h1, o]
                    + x2 * weights[h2, o]
                    + x3 * weights[h3, o]
                )
        for a in range(count - count % 4, count):
            h = active[a]
            x = units[h]
            for o in range(len(bias)):
                row[o] += x * weights[h, o]


@instead_of(_multiply)
def _multiply_in_numpy(
    hidden: np.ndarray,
    activation: int,
    weights: np.ndarray,
    bias: np.ndarray,
    active: np.ndarray,
    scores: np.ndarray,
) -> None:
    for units, row in zip(hidden, scores, strict=True):
        count = activate_units(units, activation, active)
        sums = bias
        for h in active[:count]:
            sums = fused(units[h], weights[h], sums)
        row[:] = sums
