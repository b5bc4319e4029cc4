"""Tables in Markdown, and the scores in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text, and the others numbers."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def mean_and_deviation(scores: Sequence[float] | np.ndarray) -> str:
    """Two decimals, and the standard deviation if there is more than one score; one has no deviation to show."""
    return f"{np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f}" if len(scores) > 1 else f"{scores[0]:.2f}"
