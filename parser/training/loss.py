"""Loss and gradients of the classifier by explicit formulas in torch's operators, for any device.

Autograd gives the same numbers (the tests compare them) but spends as much time on its bookkeeping as on the matrix products:
the network is small. compiled_gradients.py is faster still, on a CPU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from parser.classifier.classifier import Classifier
from parser.data.parses import NO_NODE
from parser.training.compiled.dropout import dropout_mask


def set_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Minus the logarithm of the probability of the set of right actions, mean over the batch.

    Args:
        scores: float[batch, actions].
        targets: int64[batch, targets], right actions; NO_NODE fills up rows. With one target it is the cross entropy.
    """
    if targets.shape[1] == 1:
        return nn.functional.cross_entropy(scores, targets[:, 0])
    of_targets = scores.gather(1, targets.clamp(min=0)).masked_fill(targets == NO_NODE, -torch.inf)
    return (scores.logsumexp(1) - of_targets.logsumexp(1)).mean()


@torch.no_grad()
def loss_and_gradients(classifier: Classifier, features: Tensor, targets: Tensor) -> Tensor:
    """The loss of a batch, as set_loss(classifier(features), targets); its gradients go to the parameters' ``grad``.

    Dropout is in force. Parameters that training does not change get no gradient.

    Args:
        classifier: the classifier.
        features: int32[batch, slots].
        targets: int64[batch, targets].
    """
    batch = len(features)
    rows = classifier.one_hot_rows(features)
    vectors = kept_inputs = None
    if classifier.embedded is not None:
        vectors = classifier.embed(features)
        kept_inputs = _input_mask(classifier, vectors)
        if kept_inputs is not None:
            vectors *= kept_inputs
    total = classifier.hidden_input(rows, vectors)
    active = classifier.activation.apply(total)
    kept = dropout_mask(active, classifier.dropout.p)
    hidden = active if kept is None else active * kept
    output = classifier.output
    loss, by_score = _loss_and_gradient(torch.addmm(output.bias, hidden, output.weight.t()), targets)
    by_score /= batch

    output.weight.grad = by_score.t() @ hidden
    output.bias.grad = by_score.sum(0)
    by_total = by_score @ output.weight
    if kept is not None:
        by_total *= kept
    by_total *= classifier.activation.slope(total, active)
    classifier.hidden_bias.grad = by_total.sum(0)
    table = classifier.one_hot.weight
    table.grad = torch.zeros_like(table)
    table.grad.index_add_(0, rows.flatten(), by_total.repeat_interleave(rows.shape[1], 0))
    if classifier.embedded is not None and vectors is not None:
        classifier.embedded.weight.grad = by_total.t() @ vectors
        if any(matrix.requires_grad for matrix in classifier.vectors.values()):
            by_vector = by_total @ classifier.embedded.weight
            _vector_gradients(classifier, features, by_vector if kept_inputs is None else by_vector * kept_inputs)
    return loss


def _loss_and_gradient(scores: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The mean loss, and float[batch, actions]: the derivative of each row's loss by its scores.

    It is the distribution over actions minus that over the right ones alone.
    """
    log_all = scores.log_softmax(1)
    of_targets = log_all.gather(1, targets.clamp(min=0))
    if targets.shape[1] == 1:
        loss, share = -of_targets, torch.ones_like(of_targets)
    else:
        of_targets = of_targets.masked_fill(targets == NO_NODE, -torch.inf)
        loss, share = -of_targets.logsumexp(1), of_targets.softmax(1)
    return loss.mean(), log_all.exp_().scatter_add_(1, targets.clamp(min=0), -share)


def _input_mask(classifier: Classifier, vectors: Tensor) -> Tensor | None:
    """What to multiply the embedded input by, if numbers of it or the vectors of whole slots are to be dropped."""
    numbers = dropout_mask(vectors, classifier.input_dropout.p)
    slots = dropout_mask(vectors.new_empty(len(vectors), classifier.n_embedded), classifier.slot_dropout)
    if slots is None:
        return numbers
    slots = slots[:, classifier.slot_of_input]
    return slots if numbers is None else numbers * slots


def _vector_gradients(classifier: Classifier, features: Tensor, by_vector: Tensor) -> None:
    """Hands the derivatives by the embedded input, float[batch, width], on to the vectors that training changes."""
    start = 0
    for name, columns in classifier.embedded_columns.items():
        matrix = classifier.vectors[name]
        end = start + len(columns) * matrix.shape[1]
        if matrix.requires_grad:
            looked_up = features[:, columns].flatten()
            by_value = matrix.new_zeros(classifier.n_values[name], matrix.shape[1])
            by_value.index_add_(0, looked_up, by_vector[:, start:end].reshape(len(looked_up), -1))
            matrix.grad = classifier.vector_gradient(name, by_value)
        start = end
