"""The classifier over precomputed contributions in compiled loops, which greedy parsing and beams share.

Both add up the same rows in the same order, so they find the same scores to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from parser.classifier.compiled_activations import activate, activation_number
from parser.classifier.weights import ClassifierWeights
from parser.data.parses import NO_NODE
from parser.decoding.type_contributions import AddressContributions, TypedSentences
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable

# Outputs are filled up to a multiple of the numbers that a processor multiplies at a time.
_LANES = 16


class Rules(NamedTuple):
    """What of the transition system the loops need; see best_output."""

    degree: int
    n_relations: int
    root_relation: int
    single_root: bool


class Addresses(NamedTuple):
    """Some of the addresses that features read; see FeatureTable for their programs, AddressContributions for the rest."""

    programs: np.ndarray
    places: np.ndarray
    relation_rows: np.ndarray


class Words(NamedTuple):
    """The words of sentences as types, and the contributions of types; see AddressContributions and TypedSentences."""

    types: np.ndarray
    contributions: np.ndarray
    first: int
    per_type: int


class Layers(NamedTuple):
    """The layers: float32[hidden] bias, the activation, float32[hidden, outputs] and float32[outputs] of the output layer.

    There are some outputs of weight 0 behind the real ones.
    """

    hidden_bias: np.ndarray
    activation: int
    weights: np.ndarray
    bias: np.ndarray


def rules_of(system: Attardi, single_root: bool) -> Rules:
    """Those of a transition system; ``single_root``: see TransitionSystem.moves."""
    root_relation = NO_NODE if system.root_relation is None else system.root_relation
    return Rules(system.degree, system.n_relations, root_relation, single_root)


def addresses_of(table: FeatureTable, contributions: AddressContributions) -> tuple[Addresses, Addresses]:
    """The addresses of the buffer, which depend on how far it is read alone, and the others."""
    of_buffer = table.in_buffer & (contributions.relation_rows == NO_NODE)
    parts = [
        Addresses(table.programs[chosen], contributions.places[chosen], contributions.relation_rows[chosen])
        for chosen in (of_buffer, ~of_buffer)
    ]
    return parts[0], parts[1]


def words_of(typed: TypedSentences, contributions: AddressContributions) -> Words:
    """The words of sentences, for the loops."""
    return Words(typed.types, typed.contributions, contributions.first, contributions.per_type)


def layers_of(weights: ClassifierWeights, hidden_bias: np.ndarray) -> Layers:
    """The layers; ``hidden_bias``: float32[hidden], of AddressContributions."""
    lacking = -len(weights.output_bias) % _LANES
    padded = np.ascontiguousarray(np.pad(weights.output.T, ((0, 0), (0, lacking))))
    return Layers(hidden_bias, activation_number(weights.activation), padded, np.pad(weights.output_bias, (0, lacking)))


@njit(cache=True, nogil=True)
def sum_rows(first, rows, picked, count, total):
    """Fills in ``total`` (float32[units]): ``first`` and the ``count`` picked rows, added up in this order."""
    for h in range(len(total)):
        total[h] = first[h]
    # Several rows at a time, so that a sum is read and written less often.
    p = 0
    while p + 4 <= count:
        p0, p1, p2, p3 = picked[p], picked[p + 1], picked[p + 2], picked[p + 3]
        for h in range(len(total)):
            total[h] = total[h] + rows[p0, h] + rows[p1, h] + rows[p2, h] + rows[p3, h]
        p += 4
    if p + 2 <= count:
        p0, p1 = picked[p], picked[p + 1]
        for h in range(len(total)):
            total[h] = total[h] + rows[p0, h] + rows[p1, h]
        p += 2
    if p < count:
        p0 = picked[p]
        for h in range(len(total)):
            total[h] = total[h] + rows[p0, h]


@njit(cache=True, nogil=True, fastmath={"contract"})
def output_scores(hidden, activation, weights, bias, active, scores, row):
    """Fills in ``scores[row]`` of float32[rows, outputs]; units that are zero, half of them under relu, are passed over.

    Args:
        hidden: float32[units], what goes into the activation; overwritten.
        activation: which one.
        weights: float32[units, outputs].
        bias: float32[outputs].
        active: int32[units], room for the numbers of the units that are not zero.
        scores: what is filled in.
        row: a row of it.
    """
    count = 0
    for h in range(len(hidden)):
        hidden[h] = activate(hidden[h], activation)
    for h in range(len(hidden)):
        active[count] = h
        count += hidden[h] != 0  # no branch: which units are active cannot be foreseen
    outputs = len(bias)
    for a in range(outputs):
        scores[row, a] = bias[a]
    # Four units at a time, so that a score is read and written a quarter as often.
    for u in range(0, count - 3, 4):
        h0, h1, h2, h3 = active[u], active[u + 1], active[u + 2], active[u + 3]
        x0, x1, x2, x3 = hidden[h0], hidden[h1], hidden[h2], hidden[h3]
        for a in range(outputs):
            scores[row, a] += x0 * weights[h0, a] + x1 * weights[h1, a] + x2 * weights[h2, a] + x3 * weights[h3, a]
    for u in range(count - count % 4, count):
        h0 = active[u]
        x0 = hidden[h0]
        for a in range(outputs):
            scores[row, a] += x0 * weights[h0, a]
