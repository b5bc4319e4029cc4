"""Everything compiled that claims to be exact of arc-standard;
the cubic algorithm comes in all its ways.
"""

from collections.abc import Callable, Iterator
from functools import partial

import oracles
from oracles import Oracle, Strategy
from oracles.arc_standard.nederhof_cubic import NederhofCubic

NAMES = [name for name in oracles.names() if name not in ("static", "arc_standard_tabular")]

EXACT: dict[str, Callable[..., Oracle]] = {
    **{name: partial(oracles.create, name) for name in NAMES},
    "cubic_from_nothing": partial(NederhofCubic, drop_non_critical=False, share_chart=False),
    "cubic_sharing": partial(NederhofCubic, drop_non_critical=False),
    "cubic_dropping": partial(NederhofCubic, share_chart=False),
}


def exact_oracles(strategy: Strategy, projective: bool) -> Iterator[tuple[str, Oracle]]:
    """Those that take any tree, and with ``projective`` also those that take projective ones
    alone.
    """
    for name, create in EXACT.items():
        oracle = create(strategy=strategy)
        if projective or not oracle.needs_projective_gold:
            yield name, oracle
