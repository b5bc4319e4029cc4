"""What a batch does to the weights: gradients and a step of an optimizer, compiled on a CPU, by autograd elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor, nn

from parser.networks.classifier import Classifier
from parser.settings import OptimizerSettings
from parser.training.compiled.gradients import CompiledGradients
from parser.training.compiled.optimizer import CompiledOptimizer
from parser.training.fitting.loss import Groups, Taught, distillation_loss, set_loss


class Updates(Protocol):
    """What a batch does to the weights."""

    def update(
        self, features: Tensor, targets: Tensor, rate: float, groups: Groups | None = None, taught: Taught | None = None
    ) -> Tensor | float:
        """Takes a step down the gradient of the mean loss of a batch, and returns that loss, in nats.

        Args:
            features: int32[rows, slots].
            targets: int64[rows, targets], right outputs; NO_NODE fills up rows.
            rate: the learning rate.
            groups: which rows are one example; None: each is one.
            taught: see distillation_loss(), which is then added; only for examples of one row.
        """

    def state(self) -> dict[str, Tensor]:
        """What the next step depends on besides weights and random generators: named tensors on the CPU."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Puts back what state() of such an object over the same parameters gave."""


class TorchOptimizer:
    """One of torch's optimizers over parameters whose gradients are there, with a learning rate for each step."""

    def __init__(self, parameters: list[nn.Parameter], settings: OptimizerSettings) -> None:
        self._optimizer = _optimizer(parameters, settings)

    def step(self, rate: float) -> None:
        """Takes a step down the gradients."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()

    def state(self) -> dict[str, Tensor]:
        """See Updates; ``NUMBER_OF_PARAMETER.NAME``."""
        state = self._optimizer.state_dict()["state"]
        return {
            f"{p}.{name}": torch.as_tensor(value).cpu()
            for p, values in state.items()
            for name, value in values.items()
            if value is not None
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """See Updates."""
        state: dict[int, dict[str, Tensor]] = {}
        groups = self._optimizer.state_dict()["param_groups"]
        parameters = [p for group in self._optimizer.param_groups for p in group["params"]]
        for key, tensor in tensors.items():
            number, _, name = key.partition(".")
            parameter = parameters[int(number)]
            # torch's fused optimizers take it for granted that moments lie in memory as their parameter does.
            moved = torch.empty_like(parameter).copy_(tensor) if tensor.shape == parameter.shape else tensor
            state.setdefault(int(number), {})[name] = moved
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})


class AutogradUpdates(TorchOptimizer):
    """Updates by autograd and torch's optimizers, on any device: the reference implementation."""

    def __init__(self, classifier: Classifier, settings: OptimizerSettings) -> None:
        super().__init__([p for p in classifier.parameters() if p.requires_grad], settings)
        self._classifier = classifier

    def update(
        self, features: Tensor, targets: Tensor, rate: float, groups: Groups | None = None, taught: Taught | None = None
    ) -> Tensor:
        """See Updates; the loss stays on the device, so that nothing waits for it."""
        scores = self._classifier(features, dropping=True)
        loss = set_loss(scores, targets, groups)
        if taught is not None:
            loss = loss + distillation_loss(scores, taught)
        self._classifier.zero_grad()
        loss.backward()
        self.step(rate)
        return loss.detach()


class CompiledUpdates:
    """The same updates, but for rounding, by compiled loops: on a CPU, in a fraction of the time."""

    def __init__(self, classifier: Classifier, settings: OptimizerSettings) -> None:
        self._gradients = CompiledGradients(classifier)
        self._optimizer = CompiledOptimizer({n: p for n, p in classifier.named_parameters() if p.requires_grad}, settings)

    def update(
        self, features: Tensor, targets: Tensor, rate: float, groups: Groups | None = None, taught: Taught | None = None
    ) -> float:
        """See Updates."""
        loss = self._gradients.loss(features, targets, groups, taught)
        self._optimizer.step(self._gradients.gradients, rate)
        return loss

    def state(self) -> dict[str, Tensor]:
        """See Updates; the same names as in AutogradUpdates, which can resume from it."""
        return self._optimizer.state()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """See Updates."""
        self._optimizer.restore(tensors)


def updates_of(classifier: Classifier, settings: OptimizerSettings) -> Updates:
    """The fastest updates for where the classifier is."""
    kind = CompiledUpdates if classifier.output.weight.is_cpu else AutogradUpdates
    return kind(classifier, settings)


def _optimizer(parameters: list[nn.Parameter], settings: OptimizerSettings) -> torch.optim.Optimizer:
    decay, rate = settings.weight_decay, settings.learning_rate
    if settings.name == "sgd":
        return torch.optim.SGD(
            parameters, lr=rate, momentum=settings.momentum, nesterov=settings.momentum > 0, weight_decay=decay, fused=True
        )
    if settings.name == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)
