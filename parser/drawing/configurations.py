"""Configurations of a transition system drawn as SVG: stack and buffer as boxes,
with the gold arcs between their nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from parser.conllu.checks import UNKNOWN_HEAD
from parser.drawing import DrawnTree, WordBox, as_svg


def configuration_as_svg(gold: DrawnTree, stack: Sequence[int], buffer: Sequence[int]) -> str:
    """Return a configuration as an SVG element.

    Words on the stack are labelled a0, a1, ... as in the docstrings of the oracles, the first word
    of the buffer b. Words that have left the stack are not drawn, and neither are gold arcs from or
    to them.

    Args:
        gold: the gold tree of the sentence.
        stack: a_0..a_k, where 0 is the artificial root; the top last.
        buffer: the words of the buffer, the front first.
    """
    nodes = [*stack, *buffer]
    places = {node: place for place, node in enumerate(nodes, 1)}
    forms = [f"{gold.forms[node - 1]}_{node}" if node else "ROOT" for node in nodes]
    labels = [f"a{i}" for i in range(len(stack))] + [
        "b" if i == 0 else "" for i in range(len(buffer))
    ]
    heads = [
        places.get(gold.heads[node - 1], UNKNOWN_HEAD) if node else UNKNOWN_HEAD for node in nodes
    ]
    deprels = [gold.deprels[node - 1] if node else "" for node in nodes]
    boxes = [WordBox("stack", 1, len(stack)), WordBox("buffer", len(stack) + 1, len(nodes))]
    return as_svg(
        DrawnTree(forms, labels, heads, deprels), [box for box in boxes if box.first <= box.last]
    )
