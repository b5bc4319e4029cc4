"""Losses of a batch and their derivatives by the scores, compiled. The reference implementations are in fitting/loss.py."""

from __future__ import annotations

import numpy as np

from parser.kernels import kernel


@kernel(error_model="numpy")
def loss_and_gradient(log_probabilities, targets, by_score, by_bias):
    """The mean loss, in nats, of a batch whose right outputs are ``targets``; see loss.set_loss.

    Args:
        log_probabilities: float32[batch, outputs].
        targets: int[batch, targets], negative where there is none.
        by_score: float32[batch, outputs]: the probabilities; becomes the derivatives of the mean loss by the scores.
        by_bias: float32[outputs]: becomes their sums over the batch.
    """
    loss = 0.0
    batch = np.float32(len(targets))
    by_bias[:] = 0
    for r in range(len(targets)):
        logs, gradient = log_probabilities[r], by_score[r]
        highest = np.float32(-np.inf)
        for target in targets[r]:
            if target >= 0:
                highest = max(highest, logs[target])
        share = 0.0
        for target in targets[r]:
            if target >= 0:
                share += np.exp(np.float64(logs[target] - highest))
        loss -= highest + np.log(share)
        for target in targets[r]:
            if target >= 0:
                gradient[target] -= np.float32(np.exp(np.float64(logs[target] - highest)) / share)
        for a in range(len(gradient)):
            gradient[a] /= batch
            by_bias[a] += gradient[a]
    return loss / len(targets)


@kernel(error_model="numpy")
def add_distillation(log_probabilities, taught, temperature, by_score, by_bias):
    """The mean loss, in nats, by a teacher's distributions; its derivatives are added. See loss.distillation_loss.

    Args:
        log_probabilities: float32[batch, outputs], those of the scores divided by the temperature.
        taught: float32[batch, outputs].
        temperature: float32.
        by_score: float32[batch, outputs], derivatives by the scores.
        by_bias: float32[outputs], their sums over the batch.
    """
    loss = 0.0
    batch = np.float32(len(taught))
    for r in range(len(taught)):
        logs, wanted, gradient = log_probabilities[r], taught[r], by_score[r]
        mass = np.float32(0)
        for a in range(len(wanted)):
            mass += wanted[a]
        if mass == np.float32(0):
            continue
        for a in range(len(wanted)):
            loss -= wanted[a] * logs[a]
            slope = (mass * np.exp(logs[a]) - wanted[a]) * temperature / batch
            gradient[a] += slope
            by_bias[a] += slope
    return loss * temperature * temperature / len(taught)


@kernel(error_model="numpy")
def grouped_loss_and_gradient(scores, targets, starts, blocks, by_score, by_bias):
    """The same where an example has several rows, each of which scores the outputs of one block; see loss.set_loss.

    Args:
        scores: float32[rows, outputs].
        targets: int[rows, targets], negative where there is none.
        starts: int64[examples + 1], the rows of example e are ``starts[e]`` to ``starts[e + 1] - 1``.
        blocks: int[rows, 2], the first output that a row scores and the one after the last.
        by_score: float32[rows, outputs]: becomes the derivatives of the mean loss by the scores.
        by_bias: float32[outputs]: becomes their sums over the batch.
    """
    loss = 0.0
    examples = len(starts) - 1
    by_score[:] = 0
    by_bias[:] = 0
    for e in range(examples):
        highest = highest_right = np.float32(-np.inf)
        for r in range(starts[e], starts[e + 1]):
            for a in range(blocks[r, 0], blocks[r, 1]):
                highest = max(highest, scores[r, a])
            for target in targets[r]:
                if target >= 0:
                    highest_right = max(highest_right, scores[r, target])
        total = right = 0.0
        for r in range(starts[e], starts[e + 1]):
            for a in range(blocks[r, 0], blocks[r, 1]):
                share = np.exp(scores[r, a] - highest)
                by_score[r, a] = share
                total += share
            for target in targets[r]:
                if target >= 0:
                    right += np.exp(np.float64(scores[r, target] - highest_right))
        loss += highest + np.log(total) - highest_right - np.log(right)
        for r in range(starts[e], starts[e + 1]):
            for a in range(blocks[r, 0], blocks[r, 1]):
                by_score[r, a] /= np.float32(total * examples)
            for target in targets[r]:
                if target >= 0:
                    share = np.exp(np.float64(scores[r, target] - highest_right)) / right
                    by_score[r, target] -= np.float32(share / examples)
            for a in range(blocks[r, 0], blocks[r, 1]):
                by_bias[a] += by_score[r, a]
    return loss / examples
