"""SGD and Adam as in torch.optim, for parameters on a CPU. Each is a compiled loop, which starts
without loading torch._dynamo.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from parser.kernels import kernel
from parser.settings.plan import OptimizerPlan
from parser.training.compiled.tables import Gradient, matrix_of

# As in torch.optim.
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


class CompiledOptimizer:
    """SGD or Adam.

    Args:
        parameters: the parameters to optimize, by name.
        gradients: the gradients, by name of the parameter; read at each step.
        plan: the optimizer and its settings.
    """

    def __init__(
        self,
        parameters: Mapping[str, nn.Parameter],
        gradients: Mapping[str, Gradient],
        plan: OptimizerPlan,
    ) -> None:
        self._gradients = gradients
        self._name = plan.name
        self._weights = {name: matrix_of(parameter) for name, parameter in parameters.items()}
        self._steps = 0
        kinds = [] if plan.name == "sgd" else ["exp_avg", "exp_avg_sq"]
        # By parameter, and by name in torch.optim. _arrays has the same memory as matrices.
        self._moments = {
            name: {kind: torch.zeros_like(p.detach()) for kind in kinds}
            for name, p in parameters.items()
        }
        self._arrays = {
            name: [matrix_of(moment) for moment in moments.values()]
            for name, moments in self._moments.items()
        }

    def step(self, rate: float) -> None:
        """Take a step of SGD or Adam; ``rate``: the learning rate."""
        self._steps += 1
        constants = [
            np.float32(rate / (1 - _BETA1**self._steps)),
            np.float32(math.sqrt(1 - _BETA2**self._steps)),
            *map(np.float32, (_BETA1, _BETA2, _EPSILON)),
        ]
        for name, weights in self._weights.items():
            gradient = self._gradients[name]
            if self._name == "sgd":
                sgd(weights, gradient.values, gradient.used, np.float32(rate))
            else:
                adam(weights, gradient.values, gradient.used, *self._arrays[name], *constants)

    def state(self) -> dict[str, Tensor]:
        """Return the optimizer's state, named as in torch.optim:
        ``NUMBER_OF_PARAMETER.exp_avg`` and so on.
        """
        named = {
            f"{i}.{kind}": t
            for i, moments in enumerate(self._moments.values())
            for kind, t in moments.items()
        }
        if self._name != "sgd":
            named |= {
                f"{i}.step": torch.tensor(float(self._steps)) for i in range(len(self._moments))
            }
        return named

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back the state that state() returned."""
        for key, tensor in tensors.items():
            number, _, kind = key.partition(".")
            if kind == "step":
                self._steps = int(tensor)
            else:
                list(self._moments.values())[int(number)][kind].copy_(tensor)


@kernel()
def sgd(weights, gradient, used, rate):
    """Take a step of torch.optim.SGD, in place; ``gradient`` and ``used``: see Gradient."""
    for r in range(len(weights)):
        if used[r]:
            w, g = weights[r], gradient[r]
            for j in range(len(w)):
                w[j] -= rate * g[j]


@kernel(error_model="numpy")
def adam(weights, gradient, used, mean, square, rate, correction, beta1, beta2, epsilon):
    """Take a step of torch.optim.Adam, in place.

    Args:
        weights: float32[rows, width], changed in place.
        gradient, used: see Gradient.
        mean, square: the running means of the gradient and of its square.
        rate: float32, like the following ones: the learning rate over 1 - beta1^step.
        correction: the root of 1 - beta2^step.
        beta1, beta2: the shares of the running means that are kept.
        epsilon: keeps the divisor above zero.
    """
    new1, new2 = np.float32(1) - beta1, np.float32(1) - beta2
    for r in range(len(weights)):
        w, m, s, g = weights[r], mean[r], square[r], gradient[r]
        if used[r]:
            for j in range(len(w)):
                m[j] += new1 * (g[j] - m[j])
                s[j] = beta2 * s[j] + new2 * g[j] * g[j]
                w[j] -= rate * m[j] / (np.sqrt(s[j]) / correction + epsilon)
        else:
            zero = np.float32(0)
            for j in range(len(w)):
                m[j] += new1 * (zero - m[j])
                s[j] *= beta2
                w[j] -= rate * m[j] / (np.sqrt(s[j]) / correction + epsilon)
