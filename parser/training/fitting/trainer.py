"""Training a classifier: an epoch goes over batches in random order, and each batch is a step down
the gradient of its loss.

There is one Trainer. Each pass gives it:

* an *objective*, which draws the batches and computes the gradients of their losses, with dropout:
  ExampleObjective for a static token representation, SentenceObjective for an encoder of sentences,
  BeamObjective for whole computations in a beam;
* an *optimizer*, which changes weights: TorchOptimizer, which can clip gradients,
  or CompiledOptimizer, for ExampleObjective on a CPU;
* an *OptimizerPlan*: the learning rate and its schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from oracles.errors import OptimalStepError
from parser.settings.plan import OptimizerPlan
from parser.training.compiled.optimizer import CompiledOptimizer

# For each schedule, the share of the learning rate that is left after a share of the epochs.
_SCHEDULES = {
    "constant": lambda done: 1.0,
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "linear": lambda done: 1 - done,
}

_STEPS = "steps"

# An epoch has diverged if its mean loss is this many times the loss of guessing: the classifier is
# confident and wrong. The first updates may cost that much, but not a whole epoch.
_TIMES_GUESSING = 10

OnUpdate = Callable[[int, Tensor | float, int, float], None]
"""Called after each update with its number in the epoch, the mean loss of its batch in nats (a
tensor if it is on a device), the number of examples, and the learning rate.
"""


class BatchLoss(NamedTuple):
    """The loss of a batch.

    Attributes:
        mean: the mean over its examples, in nats;
            a tensor if reading its value would wait for a device.
        examples: how many examples it has; in global training they are sentences.
        has_gradient: whether the gradient is not zero.
    """

    mean: Tensor | float
    examples: int
    has_gradient: bool = True


SomeBatch = TypeVar("SomeBatch")


class Objective(Protocol[SomeBatch]):
    """The objective that a classifier is trained for."""

    @property
    def uniform_loss(self) -> float:
        """The loss of an example, in nats, under a uniform distribution."""

    def batches(self, generator: torch.Generator) -> tuple[int, Iterable[SomeBatch]]:
        """Return the number of batches of an epoch, and the batches,
        in an order that the generator draws.
        """

    def backward(self, batch: SomeBatch) -> BatchLoss:
        """Compute the loss of a batch, with dropout, and store its gradients for the optimizer."""


def learning_rates(plan: OptimizerPlan, epoch: int, batches: int) -> Iterator[float]:
    """Yield the learning rate of each of the ``batches`` of an epoch;
    ``epoch`` counts from 0 in its pass.

    Over the plan's span, it falls to zero along half a cosine (``cosine``) or a line (``linear``),
    or does not change (``constant``).
    """
    share = _SCHEDULES[plan.schedule]
    for batch in range(batches):
        yield (
            share((plan.span.done + epoch + batch / batches) / plan.span.epochs)
            * plan.learning_rate
        )


@dataclass(frozen=True)
class EpochLoss:
    """The loss of an epoch.

    Attributes:
        loss: the mean over its examples, in nats.
        examples: how many examples it had.
        learning_rate: the rate of the last batch.
    """

    loss: float
    examples: int
    learning_rate: float


class Trainer:
    """A trainer that changes a classifier in place, over the epochs of a pass.

    Args:
        objective: draws batches and computes gradients.
        optimizer: changes the parameters.
        plan: the learning rate and its schedule.
        name: the name of the pass, for messages.

    Attributes:
        optimizer: as passed; its state, the weights and the random generators determine the next
            epoch.
    """

    def __init__(
        self,
        objective: Objective[Any],
        optimizer: Optimizer,
        plan: OptimizerPlan,
        name: str = "pass",
    ) -> None:
        self._objective = objective
        self.optimizer = optimizer
        self._plan = plan
        self._name = name

    def fit_epoch(
        self, epoch: int, generator: torch.Generator, on_update: OnUpdate = lambda *_: None
    ) -> EpochLoss:
        """Train on all batches once.

        Args:
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
            on_update: called for each batch.

        Raises:
            DivergenceError: the mean loss is not finite, or far above the loss of guessing.
        """
        total: Tensor | float = 0.0
        examples, rate = 0, 0.0
        n_batches, batches = self._objective.batches(generator)
        for number, (batch, rate) in enumerate(
            zip(batches, learning_rates(self._plan, epoch, n_batches), strict=True)
        ):
            loss = self._objective.backward(batch)
            if loss.has_gradient:
                self.optimizer.step(rate)
            total = total + loss.mean * loss.examples
            examples += loss.examples
            on_update(number, loss.mean, loss.examples, rate)
        mean = float(total) / max(1, examples)
        guessing = self._objective.uniform_loss
        if not mean <= _TIMES_GUESSING * guessing:  # also true for NaN
            raise DivergenceError(
                f"training diverged in the {self._name.replace('_', ' ')}, epoch {epoch + 1}: its "
                f"mean loss is {mean:.4g}, where guessing costs {guessing:.2g}; lower "
                f"{self._plan.rate_key}={self._plan.learning_rate:g}, "
                "or scale down word vectors that were read from a file"
            )
        return EpochLoss(mean, examples, rate)


@dataclass(frozen=True)
class Tuning:
    """How the parameters of a pretrained encoder are trained.

    Attributes:
        prefix: the prefix of their names.
        rate: their learning rate, relative to that of all other parameters.
        warmup: the number of steps in which it rises from 0 to ``rate``.
    """

    prefix: str
    rate: float
    warmup: int


class TorchOptimizer:
    """One of torch's optimizers, for the trained parameters of a module and the gradients that
    autograd computed.

    Args:
        plan: the optimizer and its settings.
        max_grad_norm: longer gradients are scaled down to this norm; None: no clipping. Gradients
            of a pretrained encoder are clipped separately.
        tuning: how a pretrained encoder is trained; None if there is none, or it is not trained.
    """

    def __init__(
        self,
        module: nn.Module,
        plan: OptimizerPlan,
        max_grad_norm: float | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        prefix = None if tuning is None else tuning.prefix
        tuned = [p for name, p in named if prefix is not None and name.startswith(prefix)]
        others = [p for name, p in named if prefix is None or not name.startswith(prefix)]
        self._parameters = [*others, *tuned]
        self._groups = [others] if tuning is None else [others, tuned]
        kind = torch.optim.SGD if plan.name == "sgd" else torch.optim.Adam
        groups = [{"params": group} for group in self._groups]
        self._optimizer: torch.optim.Optimizer = kind(groups, lr=plan.learning_rate, fused=True)
        self._max_grad_norm, self._tuning, self._steps = max_grad_norm, tuning, 0

    def step(self, rate: float) -> None:
        """Clip the gradients, and take a step at a learning rate;
        a pretrained encoder has a rate of its own.
        """
        if self._max_grad_norm is not None:
            for parameters in self._groups:
                nn.utils.clip_grad_norm_(parameters, self._max_grad_norm)
        self._steps += 1
        rates = [rate]
        if self._tuning is not None:
            rates.append(
                rate * self._tuning.rate * min(1.0, self._steps / max(1, self._tuning.warmup))
            )
        for group, its_rate in zip(self._optimizer.param_groups, rates, strict=True):
            group["lr"] = its_rate
        self._optimizer.step()

    def state(self) -> dict[str, Tensor]:
        """Return the optimizer's state: tensors on the CPU, named ``NUMBER_OF_PARAMETER.NAME``."""
        state = self._optimizer.state_dict()["state"]
        steps = {} if self._tuning is None else {_STEPS: torch.tensor(self._steps)}
        return steps | {
            f"{p}.{name}": torch.as_tensor(value).cpu()
            for p, values in state.items()
            for name, value in values.items()
            if value is not None
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back the state() of an optimizer of the same kind and parameters."""
        state: dict[int, dict[str, Tensor]] = {}
        groups = self._optimizer.state_dict()["param_groups"]
        for key, tensor in tensors.items():
            if key == _STEPS:
                self._steps = int(tensor)
                continue
            number, _, name = key.partition(".")
            parameter = self._parameters[int(number)]
            # torch's fused optimizers assume that moments have the same memory layout as their
            # parameter.
            moved = (
                torch.empty_like(parameter).copy_(tensor)
                if tensor.shape == parameter.shape
                else tensor
            )
            state.setdefault(int(number), {})[name] = moved
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})


Optimizer = TorchOptimizer | CompiledOptimizer
"""Changes weights by their gradients."""


class DivergenceError(OptimalStepError):
    """Training has diverged; the message says where, and what to change."""
