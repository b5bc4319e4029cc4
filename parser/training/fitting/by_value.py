"""The hidden layer for training by autograd, faster where a vector is read often: a batch's vectors meet the weights once.

What a vector contributes in each slot is computed once for the batch, and configurations add up rows. Classifier.forward is the
reference implementation. training/compiled has the gradients of a static token representation without autograd.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from parser.networks.classifier import Classifier


def scores_by_value(
    classifier: Classifier, features: Tensor, vectors: Mapping[str, Tensor], *, dropping: bool = False
) -> Tensor:
    """float32[batch, outputs]: as Classifier.forward, but for the dropout of the input.

    The same numbers of a vector are dropped wherever it is read, and no slots are.

    Args:
        classifier: the classifier.
        features: int32[batch, slots], what the slots read.
        vectors: by embedded attribute, float32[values, size], of no more values than are worth the work.
        dropping: whether dropout is in force.
    """
    if dropping:
        vectors = {name: nn.functional.dropout(matrix, classifier.input_dropout) for name, matrix in vectors.items()}
    active = classifier.activation.apply(hidden_by_value(classifier, features, vectors))
    return classifier.output(nn.functional.dropout(active, classifier.dropout, dropping))


def hidden_by_value(classifier: Classifier, features: Tensor, vectors: Mapping[str, Tensor]) -> Tensor:
    """float32[batch, hidden]: what goes into the activation; see scores_by_value()."""
    rows, numbers = [classifier.one_hot.weight], [classifier.one_hot_rows(features)]
    filled = len(classifier.one_hot.weight)
    for name, column, weights in slot_weights(classifier):
        rows.append(nn.functional.linear(vectors[name], weights))
        numbers.append(filled + features[:, column : column + 1])
        filled += len(rows[-1])
    return nn.functional.embedding_bag(torch.cat(numbers, dim=1), torch.cat(rows), mode="sum") + classifier.hidden_bias


def slot_weights(classifier: Classifier) -> Iterator[tuple[str, int, Tensor]]:
    """For each slot that reads vectors: the attribute, the slot, and float32[hidden, size], what vectors are multiplied by."""
    slots = [(name, column) for name, columns in classifier.embedded_columns.items() for column in columns]
    if classifier.embedded is not None:
        # One split, whose gradients are put side by side at once. In one product for all slots, weights would be transposed.
        parts = classifier.embedded.weight.split(classifier.sizes_of_slots, dim=1)
        yield from ((name, column, weights) for (name, column), weights in zip(slots, parts, strict=True))
