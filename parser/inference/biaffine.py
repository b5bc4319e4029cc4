"""A frozen biaffine scorer of heads: log probabilities of arcs and whole trees, without torch.

BiaffineScorer (networks/tasks.py) is its version for training, and the reference implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from parser import batch_sizes
from parser.inference.arithmetic import SinglePrecision
from parser.kernels import kernel

# The slope of the activation below 0.
SLOPE = 0.1


class FrozenBiaffineScorer:
    """Computes log probabilities of arcs, each independent of the others; thread-safe.

    Args:
        tensors: the weights of a BiaffineScorer, by their names there.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        layers = "arc_dependent", "arc_head", "relation_dependent", "relation_head"
        self._weights = np.concatenate([tensors[f"{layer}.weight"] for layer in layers]).T.copy()
        self._biases = np.concatenate([tensors[f"{layer}.bias"] for layer in layers])
        self._ends = np.cumsum([len(tensors[f"{layer}.bias"]) for layer in layers])[:-1]
        self._arc_product, self._arc_bias = tensors["arc_product"], tensors["arc_bias"]
        product = tensors["relation_product.weight"]  # [relations, of dependents, of heads]
        self._relation_product = np.ascontiguousarray(product.transpose(1, 0, 2)).reshape(product.shape[1], -1)
        self._relation_bias = tensors["relation_product.bias"]

    @np.errstate(over="ignore", invalid="ignore")  # weights of a forged model may be of any size
    def log_probabilities(self, vectors: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """Return float64[trees], the log probabilities (nats) of trees of one sentence: sums over words, of head and relation.

        Args:
            vectors: float32[n + 1, width], the vectors of the tokens; the artificial root is the first.
            heads: int32[trees, n], the heads of tokens 1..n.
            relations: int32[trees, n].
        """
        read = vectors @ self._weights + self._biases
        read = np.where(read > 0, read, SLOPE * read)
        arc_dependent, arc_head, relation_dependent, relation_head = np.split(read, self._ends, axis=1)
        arc_dependent, bias = arc_dependent @ self._arc_product, arc_head @ self._arc_bias
        log_sums = _log_sums(arc_dependent, arc_head, bias)

        n = len(vectors)
        all_arcs = heads.astype(np.int64) * n + np.arange(1, n)
        arcs, places = np.unique(all_arcs, return_inverse=True)  # most arcs are in several trees
        head, word = arcs // n, arcs % n
        by_arc = np.einsum("ai,ai->a", arc_dependent[word], arc_head[head]) + bias[head] - log_sums[word]
        size = batch_sizes.ARCS_PER_BATCH
        blocks = [slice(start, start + size) for start in range(0, max(1, len(arcs)), size)]
        by_relation = [self._by_relation(relation_dependent[word[block]], relation_head[head[block]]) for block in blocks]
        places = places.reshape(heads.shape)
        found = by_arc[places] + np.concatenate(by_relation)[places, relations]
        return np.asarray(found.sum(axis=1, dtype=np.float64))

    @np.errstate(over="ignore", invalid="ignore")
    def arc_scores(self, vectors: np.ndarray, offsets: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return a function from arcs, int[arcs] words and int[arcs] heads, to float32[arcs, relations], in nats.

        A score is the log probability of the head among all tokens of the sentence, and of the relation given the head. The
        scores of a sentence do not depend on other sentences.

        Args:
            vectors: float32[tokens, width]; the artificial root is the first token of each sentence.
            offsets: int64[sentences + 1], where the sentences begin; at least one sentence.
        """
        matrix = SinglePrecision().matrix
        read = matrix(self._weights.T, self._biases)(vectors)
        parts = np.split(np.where(read > 0, read, SLOPE * read), self._ends, axis=1)
        arc_dependent, arc_head, relation_dependent, relation_head = map(np.ascontiguousarray, parts)
        arc_dependent, bias = matrix(self._arc_product.T)(arc_dependent), (arc_head * self._arc_bias).sum(axis=1)
        sentences = [slice(*ends) for ends in pairwise(offsets.tolist())]
        log_sums = np.concatenate([_log_sums(arc_dependent[s], arc_head[s], bias[s]) for s in sentences])
        products = matrix(self._relation_product[:-1].T, self._relation_product[-1])(relation_dependent)
        tokens = arc_dependent, arc_head, bias, log_sums, products, relation_head

        def score(words: np.ndarray, heads: np.ndarray) -> np.ndarray:
            found = np.empty((len(words), len(self._relation_bias)), np.float32)
            _score_arcs(words, heads, tokens, self._relation_bias, found)
            return found

        return score

    def _by_relation(self, dependents: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """Return float32[arcs, relations], the log probabilities of the relations."""
        ones = np.ones((len(heads), 1), np.float32)
        products = np.concatenate([dependents, ones], axis=1) @ self._relation_product
        products = products.reshape(len(heads), len(self._relation_bias), heads.shape[1] + 1)
        scores = np.einsum("arj,aj->ar", products, np.concatenate([heads, ones], axis=1)) + self._relation_bias
        scores -= scores.max(axis=1, keepdims=True, initial=-np.inf)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def _log_sums(dependents: np.ndarray, heads: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return float32[tokens], for each token the logarithm of the summed exponentials of the scores of all heads."""
    found = np.empty(len(heads), np.float32)
    step = max(1, batch_sizes.HEAD_SCORES_PER_BATCH // len(heads))
    for start in range(0, len(heads), step):
        scores = dependents[start : start + step] @ heads.T + bias
        highest = scores.max(axis=1)
        found[start : start + step] = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    return found


@kernel(fastmath={"contract", "reassoc"})
def _score_arcs(words, heads, tokens, relation_bias, found):
    """Fill in ``found``, float32[arcs, relations]; ``tokens``: the arrays that arc_scores() computes for each token."""
    arc_dependent, arc_head, arc_bias, log_sums, products, relation_head = tokens
    size = relation_head.shape[1]
    for a in range(len(words)):
        word, head = words[a], heads[a]
        by_arc = arc_bias[head] - log_sums[word]
        for i in range(arc_head.shape[1]):
            by_arc += arc_dependent[word, i] * arc_head[head, i]
        highest = np.float32(-np.inf)
        for relation in range(len(relation_bias)):
            first = relation * (size + 1)
            by_relation = products[word, first + size] + relation_bias[relation]
            for i in range(size):
                by_relation += products[word, first + i] * relation_head[head, i]
            found[a, relation] = by_relation
            highest = max(highest, by_relation)
        total = np.float32(0)
        for relation in range(len(relation_bias)):
            total += np.exp(found[a, relation] - highest)
        by_arc -= highest + np.log(total)
        for relation in range(len(relation_bias)):
            found[a, relation] += by_arc
