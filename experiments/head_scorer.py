"""What the transitions cost or gain: the parser's trees are compared with trees of the encoder's
head scorer alone.

    python experiments/head_scorer.py MODEL GOLD.conllu

An encoder with ``encoder.heads`` scores heads and relations; these scores are used to train the
encoder and to rerank beams. As graph-based parsers do, this program takes the single-root tree with
the highest total of these scores (a maximum spanning tree, by networkx's implementation of Edmonds
1967), and the best relation for each arc. It prints LAS without subtypes (the official one) and
UAS, in percent of all words; no tag of the file is read if the model predicts tags.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np

from oracles.errors import OptimalStepError
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.data.treebank import read_treebank
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor, load_model
from parser.decoding.sentence_parser import Tree, write_trees
from parser.model.model import FrozenModel

# Larger, in nats, than the difference between the scores of any two trees. Subtracted for each arc
# from the root, it makes sure that the best tree has one root.
_ONE_ROOT = 1e6


def main() -> None:
    """Print a line for each way to find trees."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("gold", type=Path)
    args = parser.parse_args()
    model = load_model(args.model, ParseOptions()).frozen()
    if not isinstance(model, FrozenModel) or not model.predicts_heads:
        raise OptimalStepError(f"{args.model}: the model has no encoder that scores heads")
    gold = read_treebank(args.gold).sentences
    sentences = model.vocabularies.encode(gold)
    heads = np.concatenate([[NO_NODE, *sentence.heads] for sentence in gold])
    relations = np.array(
        [name for sentence in gold for name in ("", *map(universal, sentence.deprels))]
    )
    searches = {"greedy": ParseOptions(), "beam 32, reranked": ParseOptions(beam=32, rerank=True)}
    parsed = {
        name: Predictor(model, options).predict(sentences).parses
        for name, options in searches.items()
    }
    parsed["head scorer alone"] = best_trees(model, sentences)
    symbols = np.array([*map(universal, model.relations.symbols)])
    words = heads != NO_NODE
    for name, parses in parsed.items():
        attached = words & (parses.heads == heads)
        labelled = attached & (symbols[parses.relations] == relations)
        las, uas = (100 * right.sum() / words.sum() for right in (labelled, attached))
        print(f"{name:18} LAS {las:.2f}  UAS {uas:.2f}")


def universal(relation: str) -> str:
    """Return a relation without its subtype."""
    return relation.partition(":")[0]


def best_trees(model: FrozenModel, sentences: Sentences) -> Parses:
    """Return the maximum spanning trees of the head scorer's log probabilities."""
    encoder, scorer = model.weights.encoder, model.head_scorer
    assert encoder is not None
    assert scorer is not None
    parses = Parses.allocate(sentences.offsets)
    for number in range(len(sentences)):
        one = sentences.span(number, number + 1)
        score = scorer.arc_scores(encoder.arithmetic.floats(encoder.encode(one)), one.offsets)
        write_trees([best_tree(score, len(one.values[0]))], parses.span(number, number + 1))
    return parses


def best_tree(score: Callable[[np.ndarray, np.ndarray], np.ndarray], n: int) -> Tree:
    """Return the maximum spanning tree with one root.

    Args:
        score: a function that takes arcs, as int[arcs] words and int[arcs] heads, and returns their
            scores, float32[arcs, relations].
        n: the number of tokens, including the root.
    """
    words, heads = (
        places.ravel() for places in np.meshgrid(np.arange(1, n), np.arange(n), indexing="ij")
    )
    scores = score(words, heads)
    by_arc = scores.max(axis=1).astype(np.float64) - _ONE_ROOT * (heads == 0)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(
        (head, word, weight)
        for head, word, weight in zip(heads.tolist(), words.tolist(), by_arc.tolist(), strict=True)
        if head != word
    )
    chosen = np.zeros(n, np.int64)
    for head, word in nx.maximum_spanning_arborescence(graph).edges:
        chosen[word] = head
    arcs = (np.arange(1, n) - 1) * n + chosen[1:]
    return Tree(float(by_arc[arcs].sum()), chosen[1:], scores[arcs].argmax(axis=1))


if __name__ == "__main__":
    main()
