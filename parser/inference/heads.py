"""A frozen biaffine scorer of heads: log probabilities of arcs, without torch.

HeadScorer (networks/tasks.py) is the version for training, and the reference implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from parser import batch_sizes
from parser.inference.arithmetic import SinglePrecision
from parser.kernels import kernel

# The slope of the activation below 0.
SLOPE = 0.1


class _Tokens(NamedTuple):
    """The inputs of the scores of arcs, for each token.

    Attributes:
        arc_dependent, arc_head: float32[tokens, size], whose products, plus ``arc_bias`` of the
            head, are the scores of heads.
        arc_bias: float32[tokens].
        log_sums: float32[tokens], the logarithms of the summed exponentials of all heads' scores.
        relation_dependent, relation_head: float32[tokens, relation size].
    """

    arc_dependent: np.ndarray
    arc_head: np.ndarray
    arc_bias: np.ndarray
    log_sums: np.ndarray
    relation_dependent: np.ndarray
    relation_head: np.ndarray


class FrozenHeadScorer:
    """Computes log probabilities of arcs, each independent of the others; thread-safe.

    Args:
        tensors: the weights of a HeadScorer, by their names there.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        layers = "arc_dependent", "arc_head", "relation_dependent", "relation_head"
        matrix = SinglePrecision().matrix
        weights, biases = (
            [tensors[f"{layer}.{name}"] for layer in layers] for name in ("weight", "bias")
        )
        self._layers = matrix(np.concatenate(weights), np.concatenate(biases))
        self._ends = np.cumsum([*map(len, biases)])[:-1]
        self._arc_product, self._arc_bias = matrix(tensors["arc_product"].T), tensors["arc_bias"]
        product = tensors["relation_product.weight"]  # [relations, of dependents, of heads]
        by_output = product.transpose(0, 2, 1).reshape(-1, product.shape[1])
        self._relation_product = matrix(by_output[:, :-1], by_output[:, -1])
        self._relation_bias = tensors["relation_product.bias"]

    @np.errstate(over="ignore", invalid="ignore")  # weights of a forged model may be huge
    def log_probabilities(
        self,
        vectors: np.ndarray,
        offsets: np.ndarray,
        words: np.ndarray,
        heads: np.ndarray,
        relations: np.ndarray,
    ) -> np.ndarray:
        """Return float32[arcs], the log probabilities (nats) of arcs and their relations;
        arcs may be repeated.

        Args:
            vectors, offsets: see arc_scores().
            words, heads, relations: int[arcs].
        """
        tokens, n = self._read(vectors, offsets), len(vectors)
        # most arcs are in several trees
        arcs, places = np.unique(words.astype(np.int64) * n + heads, return_inverse=True)
        word, head = arcs // n, arcs % n
        scores = np.empty((len(arcs), len(self._relation_bias)), np.float32)
        size = batch_sizes.TOKENS_PER_SCORING
        for first in range(0, n, size):
            block = slice(*np.searchsorted(word, (first, first + size)))
            products = self._relation_product(tokens.relation_dependent[first : first + size])
            _score_arcs(
                word[block],
                head[block],
                tokens,
                products,
                first,
                self._relation_bias,
                scores[block],
            )
        return np.asarray(scores[places, relations])

    @np.errstate(over="ignore", invalid="ignore")
    def arc_scores(
        self, vectors: np.ndarray, offsets: np.ndarray
    ) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return a function from arcs (int[arcs] words and int[arcs] heads) to their scores,
        float32[arcs, relations], in nats.

        A score is the log probability of the head among all tokens of the sentence,
        and of the relation given the head.

        Args:
            vectors: float32[tokens, width]; the artificial root is the first token of each
                sentence.
            offsets: int64[sentences + 1], where the sentences begin; at least one sentence.
        """
        tokens = self._read(vectors, offsets)
        products = self._relation_product(tokens.relation_dependent)

        def score(words: np.ndarray, heads: np.ndarray) -> np.ndarray:
            scores = np.empty((len(words), len(self._relation_bias)), np.float32)
            _score_arcs(words, heads, tokens, products, 0, self._relation_bias, scores)
            return scores

        return score

    def _read(self, vectors: np.ndarray, offsets: np.ndarray) -> _Tokens:
        outputs = self._layers(vectors)
        parts = np.split(np.maximum(outputs, SLOPE * outputs), self._ends, axis=1)
        arc_dependent, arc_head, relation_dependent, relation_head = map(
            np.ascontiguousarray, parts
        )
        arc_dependent = self._arc_product(arc_dependent)
        bias = (arc_head * self._arc_bias).sum(axis=1)
        log_sums = np.empty(len(vectors), np.float32)
        _log_sums(offsets, arc_dependent, arc_head, bias, log_sums)
        return _Tokens(arc_dependent, arc_head, bias, log_sums, relation_dependent, relation_head)


@kernel(fastmath={"contract", "reassoc"})
def _log_sums(offsets, dependents, heads, bias, log_sums):
    """Fill in ``log_sums``, float32[tokens]: the logarithms of the summed exponentials of the
    scores of all heads.
    """
    for s in range(len(offsets) - 1):
        for word in range(offsets[s], offsets[s + 1]):
            highest, total = np.float32(-np.inf), np.float32(0)
            for head in range(offsets[s], offsets[s + 1]):
                score = bias[head]
                for i in range(dependents.shape[1]):
                    score += dependents[word, i] * heads[head, i]
                if score > highest:
                    highest, total = score, total * np.exp(highest - score) + np.float32(1)
                else:
                    total += np.exp(score - highest)
            log_sums[word] = highest + np.log(total)


@kernel(fastmath={"contract", "reassoc"})
def _score_arcs(words, heads, tokens, products, first, relation_bias, scores):
    """Fill in ``scores`` (float32[arcs, relations]) from a _Tokens and the ``products`` of the
    words from ``first`` on.
    """
    arc_dependent, arc_head, arc_bias, log_sums, _, relation_head = tokens
    size = relation_head.shape[1]
    for a in range(len(words)):
        word, head = words[a], heads[a]
        by_arc = arc_bias[head] - log_sums[word]
        for i in range(arc_head.shape[1]):
            by_arc += arc_dependent[word, i] * arc_head[head, i]
        highest = np.float32(-np.inf)
        for relation in range(len(relation_bias)):
            column = relation * (size + 1)
            by_relation = products[word - first, column + size] + relation_bias[relation]
            for i in range(size):
                by_relation += products[word - first, column + i] * relation_head[head, i]
            scores[a, relation] = by_relation
            highest = max(highest, by_relation)
        total = np.float32(0)
        for relation in range(len(relation_bias)):
            total += np.exp(scores[a, relation] - highest)
        by_arc -= highest + np.log(total)
        for relation in range(len(relation_bias)):
            scores[a, relation] += by_arc
