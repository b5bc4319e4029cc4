"""The optimizers of torch.optim over parameters on a CPU, a compiled loop for each; they need no torch._dynamo to start."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from parser.settings.plan import OptimizerPlan
from parser.training.compiled import kernels
from parser.training.compiled.tables import Gradient, matrix_of

# As in torch.optim.
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


class CompiledOptimizer:
    """SGD (with Nesterov's momentum), Adam or AdamW.

    Args:
        parameters: by name, what is optimized.
        gradients: by name of the parameter; what they hold when a step is taken.
        plan: which optimizer, and how.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], gradients: Mapping[str, Gradient], plan: OptimizerPlan) -> None:
        self._gradients = gradients
        self._name, self._momentum, self._decay = plan.name, plan.momentum, plan.weight_decay
        self._weights = {name: matrix_of(parameter) for name, parameter in parameters.items()}
        self._steps = 0
        kinds = {"sgd": ["momentum_buffer"] if plan.momentum else []}.get(plan.name, ["exp_avg", "exp_avg_sq"])
        # By parameter, and by name in torch.optim; the same as arrays.
        self._moments = {name: {kind: torch.zeros_like(p.detach()) for kind in kinds} for name, p in parameters.items()}
        self._arrays = {name: [matrix_of(moment) for moment in moments.values()] for name, moments in self._moments.items()}

    def step(self, rate: float) -> None:
        """See Optimizer."""
        self._steps += 1
        if self._name == "sgd":
            self._sgd(rate)
        else:
            self._adam(rate)

    def _sgd(self, rate: float) -> None:
        constants = np.float32(rate), np.float32(self._momentum), np.float32(self._decay)
        for name, weights in self._weights.items():
            gradient, (velocity,) = self._gradients[name], self._arrays[name] or [_NOTHING]
            kernels.sgd(weights, gradient.values, gradient.used, velocity, *constants)

    def _adam(self, rate: float) -> None:
        decay, decoupled = self._decay, self._name == "adamw"
        constants = (
            np.float32(rate / (1 - _BETA1**self._steps)),
            np.float32(math.sqrt(1 - _BETA2**self._steps)),
            np.float32(1 - rate * decay if decoupled else 1),
            np.float32(0 if decoupled else decay),
            np.float32(_BETA1),
            np.float32(_BETA2),
            np.float32(_EPSILON),
        )
        for name, weights in self._weights.items():
            gradient, (mean, square) = self._gradients[name], self._arrays[name]
            kernels.adam(weights, gradient.values, gradient.used, mean, square, *constants)

    def state(self) -> dict[str, Tensor]:
        """What a step depends on besides the weights, named as torch.optim's: ``NUMBER_OF_PARAMETER.exp_avg`` and so on."""
        named = {f"{i}.{kind}": t for i, moments in enumerate(self._moments.values()) for kind, t in moments.items()}
        if self._name != "sgd":
            named |= {f"{i}.step": torch.tensor(float(self._steps)) for i in range(len(self._moments))}
        return named

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Puts back what state() gave."""
        for key, tensor in tensors.items():
            number, _, kind = key.partition(".")
            if kind == "step":
                self._steps = int(tensor)
            else:
                list(self._moments.values())[int(number)][kind].copy_(tensor)


_NOTHING = np.empty((0, 0), np.float32)
