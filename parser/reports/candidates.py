"""The heads that were in question for each word of a computation."""

from __future__ import annotations

from dataclasses import dataclass

from parser.reports.trace import Trace


@dataclass(frozen=True)
class Candidate:
    """A head that some step could have given a word.

    Attributes:
        head: the head, 0 = the artificial root.
        relation: the most probable relation of such an arc.
        probability: the highest that a step gave the moves which make the arc; of the head that was taken, that of its step.
        taken: whether the word got it.
    """

    head: int
    relation: str
    probability: float
    taken: bool


def candidates(trace: Trace) -> list[list[Candidate]]:
    """For each word its candidates: the head that it got, then the others, the most probable first.

    Args:
        trace: a computation of a model.
    """
    found: list[dict[int, Candidate]] = [{} for _ in trace.heads]
    for step in trace.steps:
        for number, move in enumerate(step.moves):
            if move.child is None or move.head is None or move.probability is None:
                continue
            of_word = found[move.child - 1]
            taken = number == step.taken
            before = of_word.get(move.head)
            if taken or before is None or before.probability < move.probability:
                of_word[move.head] = Candidate(move.head, move.relation or "_", move.probability, taken)
    return [sorted(of_word.values(), key=lambda one: (not one.taken, -one.probability, one.head)) for of_word in found]
