"""All computations over all paths of a lattice, by recursion over lists,
and models for lattices.
"""

import math
from collections.abc import Iterator

import torch

from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.lattices import Lattice
from parser.model.trained_model import TrainedModel
from parser.network_spec import ClassifierSpec, Embedding
from parser.transitions.features import slots_of
from tests.decoding.computations import space_of
from tests.random_models import with_random_weights
from tests.transitions.reference_systems import State

SLOTS = {
    "form": ["s0", "b0", "b1", "s1.l1"],
    "upos": ["s1", "b0", "b1"],
    "length": ["s0", "b0"],
    "deprel": ["s0.r1", "s1.l1"],
}


def lattice_model(
    lookahead: int | None,
    read: int = 2,
    system: str = "arc_standard",
    slots: dict[str, list[str]] = SLOTS,
    seed: int = 7,
) -> TrainedModel:
    """Return a model with random weights of the size of trained ones;
    ``read`` words ahead are read.
    """
    torch.manual_seed(seed)
    known = {
        "form": ["w0", "w1", "w2", "w3"],
        "upos": ["DET", "NOUN", "VERB"],
        "length": ["1", "2"],
    }
    vocabularies = Vocabularies({name: Vocabulary(symbols) for name, symbols in known.items()})
    slots = {
        name: [a for a in positions if a not in ("b0", "b1")[read:]]
        for name, positions in slots.items()
    }
    spec = ClassifierSpec(11, "tanh", 0.0, 0.0, 0.0, {"form": Embedding(4, True)})
    options = {"degree": 2} if system == "attardi" else {}
    relations = Vocabulary(["root", "obj"])
    return with_random_weights(
        TrainedModel.new(vocabularies, relations, slots_of(slots), spec, system, options, lookahead)
    )


class SlowSearch:
    """All computations over all paths, by recursion over lists."""

    def __init__(
        self, model: TrainedModel, lattice: Lattice, lookahead: int, local: bool, single_root: bool
    ) -> None:
        self.model, self.lattice, self.lookahead, self.local = model, lattice, lookahead, local
        self.space = space_of(
            model, model.vocabularies.encode([lattice]).values, model.scorer(), single_root, local
        )

    def all(self) -> list[tuple[float, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """(score, arcs from 0, heads by place, relations) of every computation."""
        found = []
        for total, state in self._begin(State([0], []), 0.0, 0):
            for score, final in self._follow(state, total):
                words = sorted(final.arcs)
                place = {0: 0, **{word: number for number, word in enumerate(words, 1)}}
                heads = tuple(place[final.arcs[word][0]] for word in words)
                found.append(
                    (
                        score,
                        tuple(w - 1 for w in words),
                        heads,
                        tuple(final.arcs[word][1] for word in words),
                    )
                )
        return found

    def _begin(self, state: State, total: float, node: int) -> Iterator[tuple[float, State]]:
        if len(state.buffer) == self.lookahead or node == self.lattice.last_node:
            yield total, state
            return
        for score, after in self._choices(state, node):
            yield from self._begin(
                after, total + score, int(self.lattice.ends[after.buffer[-1] - 1])
            )

    def _choices(self, state: State, node: int) -> list[tuple[float, State]]:
        arcs = [
            number + 1 for number in range(len(self.lattice)) if self.lattice.starts[number] == node
        ]
        states = [State([*state.stack], [*state.buffer, arc], dict(state.arcs)) for arc in arcs]
        if self.model.lookahead is None or (self.local and len(arcs) == 1):
            return [(0.0, after) for after in states]
        scores = [self.space.scores(after)[self.model.system.n_outputs] for after in states]
        norm = math.log(sum(map(math.exp, scores))) if self.local else 0.0
        return [(score - norm, after) for score, after in zip(scores, states, strict=True)]

    def _follow(self, state: State, total: float) -> Iterator[tuple[float, State]]:
        if state.final:
            yield total, state
            return
        node = (
            int(self.lattice.ends[state.buffer[-1] - 1]) if state.buffer else self.lattice.last_node
        )
        for score, after in self.space.successors(state):
            # a shift: the next word is chosen
            if len(after.buffer) < len(state.buffer) and node < self.lattice.last_node:
                for chosen, further in self._choices(after, node):
                    yield from self._follow(further, total + score + chosen)
            else:
                yield from self._follow(after, total + score)
