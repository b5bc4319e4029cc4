"""Functions in LLVM's instructions that kernels call, made only when a kernel that calls them is
compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any


class Intrinsic:
    """A function in LLVM's instructions; interpreted kernels call a function in Python instead.

    Args:
        plain: the function in Python, which changes its arguments in the same way.
        made: returns numba's intrinsic.
    """

    def __init__(self, plain: Callable[..., None], made: Callable[[], Any]) -> None:
        self._plain, self._made = plain, made

    def __call__(self, *arguments: Any) -> None:
        """Call the function in Python."""
        self._plain(*arguments)

    @cached_property
    def _numba_type_(self) -> Any:
        """The type that a kernel sees, when it is compiled."""
        from numba.core.registry import cpu_target

        self._intrinsic = self._made()  # numba has only weak references to it
        cpu_target.typing_context.refresh()  # it learns of the new one
        return cpu_target.typing_context.resolve_value_type(self._intrinsic)
