"""Greedy neural dependency parsing: treebanks, transition system, classifier,
training in passes, decoding, evaluation.

As a library: ``from parser import Parser`` (library/).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracles.kernel_cache import forget_stale_kernels

if TYPE_CHECKING:
    from parser.library import (
        BeamError,
        ConlluError,
        GivenArcsError,
        InputError,
        Int8Error,
        MissingColumnsError,
        ModelError,
        NoTagsError,
        OptimalStepError,
        ParsedSentence,
        ParsedWord,
        Parser,
        Token,
        TokenizerError,
        Word,
    )

__all__ = [
    "BeamError",
    "ConlluError",
    "GivenArcsError",
    "InputError",
    "Int8Error",
    "MissingColumnsError",
    "ModelError",
    "NoTagsError",
    "OptimalStepError",
    "ParsedSentence",
    "ParsedWord",
    "Parser",
    "Token",
    "TokenizerError",
    "Word",
]

forget_stale_kernels(Path(__file__).parent)


def __getattr__(name: str) -> Any:
    """Load a name of __all__ on first use, since this loads kernels."""
    if name in __all__:
        from parser import library

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
