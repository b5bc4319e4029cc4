"""A search and its losses over lists of states, with every score a tensor:
the obvious reference of global training.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parser.model.trained_model import TrainedModel
from parser.training.fitting.beam_objective import BeamTraining
from tests.brute_force import StepScores
from tests.decoding.computations import read_slots
from tests.transitions.reference_systems import State, applicable, arc, take


@dataclass
class Item:
    """A configuration with the score of its best computation, how many words it has lost besides
    the start's, and its transitions.
    """

    state: State
    total: Tensor
    lost: int
    transitions: tuple[int, ...] = ()

    @property
    def key(self) -> tuple:
        return tuple(self.state.stack), tuple(sorted(self.state.arcs.items()))


class SlowBeam:
    """Searches through one sentence without single_root.

    Args:
        model: the model, for arc-standard.
        values: int[attributes, n + 1], of the sentence; the root comes first.
        heads: gold heads of the tokens 1..n.
        relations: their gold relations; negative ones cannot be wrong.
        merging: whether equal configurations are merged.
        vectors: what slots read; see Classifier.forward().
    """

    def __init__(
        self,
        model: TrainedModel,
        values,
        heads: list[int],
        relations: list[int],
        merging: bool,
        vectors=None,
    ) -> None:
        self.model, self.values, self.heads, self.relations, self.merging = (
            model,
            values,
            heads,
            relations,
            merging,
        )
        self.vectors = vectors
        self._attainable = StepScores(heads, "any")

    def attainable(self, state: State) -> int:
        """Gold heads that can still be made."""
        if state.final:
            return 0
        front = state.buffer[0] if state.buffer else len(self.heads) + 1
        return max(score for score in self._attainable(state.stack, front) if score is not None)

    def lost(self, state: State) -> int:
        right = [child for child, (head, _) in state.arcs.items() if self.heads[child - 1] == head]
        wrong = [
            c
            for c in right
            if self.relations[c - 1] >= 0 and state.arcs[c][1] != self.relations[c - 1]
        ]
        start = self.attainable(State.initial(len(self.heads)))
        return start - len(right) - self.attainable(state) + len(wrong)

    def scores(self, states: list[State]) -> Tensor:
        """float32[states, outputs], with gradients."""
        features = [read_slots(self.model.table, self.values, state) for state in states]
        return self.model.classifier(torch.tensor(features, dtype=torch.int32), self.vectors)

    def expand(self, items: list[Item], size: int, gold_only: bool) -> list[Item]:
        made = []
        n = self.model.system.n_relations
        for item, scores in zip(items, self.scores([item.state for item in items]), strict=True):
            for column in range(3):
                if not applicable("arc_standard", 1, item.state, column, False):
                    continue
                for relation in range(n if arc("arc_standard", 1, item.state, column) else 1):
                    after = State([*item.state.stack], [*item.state.buffer], dict(item.state.arcs))
                    take("arc_standard", 1, after, column, relation)
                    output = 0 if column == 0 else 1 + (column - 1) * n + relation
                    lost = self.lost(after)
                    if not gold_only or lost == 0:
                        made.append(
                            Item(
                                after,
                                item.total + scores[output].double(),
                                lost,
                                (*item.transitions, output),
                            )
                        )
        return self.best(made, size)

    def best(self, items: list[Item], size: int) -> list[Item]:
        items = sorted(items, key=lambda item: -float(item.total.detach()))
        if self.merging:
            items = list({item.key: item for item in reversed(items)}.values())[::-1]
            items.sort(key=lambda item: -float(item.total.detach()))
        return items[:size]

    def steps(self, size: int, gold_size: int) -> list[tuple[list[Item], list[Item]]]:
        """Return the items of the beam and of the beam of gold items, of each step."""
        start = Item(State.initial(len(self.heads)), torch.zeros((), dtype=torch.float64), 0)
        steps = [([start], [start])]
        for _ in range(2 * len(self.heads)):
            beam, gold_beam = steps[-1]
            steps.append((self.expand(beam, size, False), self.expand(gold_beam, gold_size, True)))
        return steps

    def loss_of_step(self, beam: list[Item], gold_beam: list[Item]) -> Tensor:
        items = list({item.transitions: item for item in (*beam, *gold_beam)}.values())
        if self.merging:
            items = self.best(items, len(items))
        totals = torch.stack([item.total for item in items])
        gold = torch.stack([item.total for item in items if item.lost == 0])
        return totals.logsumexp(0) - gold.logsumexp(0)

    def loss(self, training: BeamTraining) -> tuple[int, Tensor, bool]:
        """Return the step that is learned from, the loss there,
        and whether the beam lost all that is gold.
        """
        steps = self.steps(training.beam.size, training.gold_size)
        losses = [self.loss_of_step(*step) for step in steps]
        chosen = max(range(1, len(steps)), key=lambda m: float(losses[m].detach()))
        return chosen, losses[chosen], any(all(item.lost for item in beam) for beam, _ in steps)
