"""All computations of a short sentence, by recursion over lists, with scores that look random; and
what holds of any trees.
"""

import math
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from oracles import Trees
from parser.data.sentences import Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.decoding.sentence_parser import Tree
from parser.inference.precomputed import Scorer
from parser.model.trained_model import TrainedModel
from parser.transitions.features import FeatureTable, Slot
from tests.transitions.reference_systems import State, possible, take

NOTHING = -1


def hashed_scores(features: tuple[int, ...], outputs: int) -> list[float]:
    """Scores in single precision that look random and follow from the features."""
    draw = random.Random(str(features))
    return [struct.unpack("f", struct.pack("f", draw.gauss(0, 2)))[0] for _ in range(outputs)]


def find(state: State, position: str) -> tuple[int, int]:
    """Return the token at a position, and its relation; NOTHING where there is none."""
    base, *descents = position.split(".")
    index = int(base[1:])
    if base[0] == "b":
        return (
            (state.buffer[index], NOTHING)
            if index < len(state.buffer) and not descents
            else (NOTHING, NOTHING)
        )
    if index >= len(state.stack):
        return NOTHING, NOTHING
    token = state.stack[-1 - index]
    for descent in descents:
        children = state.children(token, descent[0] == "l")
        if len(children) < int(descent[1]):
            return NOTHING, NOTHING
        token = children[int(descent[1]) - 1]
    return token, state.arcs[token][1] if descents else NOTHING


def read_slots(table: FeatureTable, values: np.ndarray, state: State) -> tuple[int, ...]:
    """Return what the slots of a table read; ``values``: int32[attributes, tokens + 1]."""
    row = []
    for slot in table.slots:
        token, relation = find(state, slot.position)
        if slot.attribute == "deprel":
            row.append(ABSENT if relation == NOTHING else relation + N_RESERVED)
        else:
            row.append(
                ABSENT
                if token == NOTHING
                else int(values[table.attributes.index(slot.attribute), token])
            )
    return tuple(row)


class Space(NamedTuple):
    """What computations of Attardi's system there are, and what their transitions score:
    ``scores`` gives all outputs'.
    """

    degree: int
    n_relations: int
    root_relation: int | None
    single_root: bool
    local: bool
    scores: Callable[[State], Sequence[float]]

    def successors(self, state: State) -> list[tuple[float, State]]:
        """Return what a state can become, in the order of the outputs,
        with what the transition scores.
        """
        scores, found = self.scores(state), []
        of_root = self.root_relation if self.single_root else None
        for column, arc in sorted(
            possible("attardi", self.degree, state, self.single_root).items()
        ):
            for relation in range(self.n_relations if arc else 1):
                if arc and of_root is not None and (arc[0] == 0) != (relation == of_root):
                    continue
                after = State([*state.stack], [*state.buffer], dict(state.arcs))
                take("attardi", self.degree, after, column, relation)
                found.append(
                    (scores[1 + (column - 1) * self.n_relations + relation if arc else 0], after)
                )
        norm = math.log(sum(math.exp(score) for score, _ in found)) if self.local else 0.0
        return [(score - norm, after) for score, after in found]


def scores_of(
    table: FeatureTable, values: np.ndarray, scorer: Scorer
) -> Callable[[State], list[float]]:
    """Return what scores a state of a sentence or lattice whose values these are;
    see read_slots().
    """
    of_features = cache(lambda features: scorer(np.array([features], np.int32))[0].tolist())
    return lambda state: of_features(read_slots(table, values, state))


def hashed_space(
    degree: int,
    n_relations: int,
    root_relation: int | None,
    single_root: bool,
    local: bool,
    slots: Sequence[str],
) -> Space:
    """Return the space of sentence_of_tokens(), of any length, with hashing_scorer()."""
    table = FeatureTable([*map(Slot.parse, slots)], ["form"])
    scores = scores_of(
        table, sentence_of_tokens(99).values, hashing_scorer(1 + 2 * degree * n_relations)
    )
    return Space(degree, n_relations, root_relation, single_root, local, scores)


def space_of(
    model: TrainedModel, values: np.ndarray, scorer: Scorer, single_root: bool, local: bool
) -> Space:
    """Return the space of a model's system with what it scores; see scores_of()."""
    system, scores = model.system, scores_of(model.table, values, scorer)
    return Space(
        system.options.get("degree", 1),
        system.n_relations,
        system.root_relation,
        single_root,
        local,
        scores,
    )


def all_computations(space: Space, n: int) -> list[tuple[float, tuple[int, ...], tuple[int, ...]]]:
    """(score, heads, relations) of every computation of n tokens."""
    results = []

    def follow(state: State, total: float) -> None:
        if state.final:
            arcs = [state.arcs[token] for token in range(1, n + 1)]
            results.append(
                (total, tuple(head for head, _ in arcs), tuple(relation for _, relation in arcs))
            )
            return
        for score, after in space.successors(state):
            follow(after, total + score)

    follow(State.initial(n), 0.0)
    return results


def plain_beam(
    space: Space, n: int, size: int, merging: bool
) -> Iterator[list[tuple[float, State]]]:
    """Yield the items of each step of a beam of states of n tokens, best first; with ``merging``,
    of equal states the best alone.
    """
    items = [(0.0, State.initial(n))]
    yield items
    for _ in range(2 * n):
        candidates: list[tuple[float, State]] = []
        for total, state in items:
            best = sorted(space.successors(state), key=lambda pair: -pair[0])[:size]
            candidates += [(total + score, after) for score, after in best]
        items = []
        for total, after in sorted(candidates, key=lambda pair: -pair[0]):
            if len(items) < size and not (merging and any(after == other for _, other in items)):
                items.append((total, after))
        yield items


def best_by_tree(
    computations: list[tuple[float, tuple, tuple]],
) -> list[tuple[tuple[tuple, tuple], float]]:
    """Every tree with the score of its best computation, best first."""
    best: dict[tuple[tuple, tuple], float] = {}
    for total, heads, relations in computations:
        best[heads, relations] = max(total, best.get((heads, relations), -math.inf))
    return sorted(best.items(), key=lambda pair: -pair[1])


def random_slots(rng: random.Random) -> list[str]:
    """Return a table of some positions with up to three descents."""
    slots = set(rng.sample(["s0:form", "s1:form", "b0:form"], 2))
    while len(slots) < 5:
        descents = [rng.choice("lr") + str(rng.randint(1, 2)) for _ in range(rng.randint(0, 3))]
        slots.add(
            ".".join([f"s{rng.randint(0, 2)}", *descents]) + ":" + rng.choice(["form", "deprel"])
        )
    return sorted(slots)


def sentence_of_tokens(n: int) -> Sentences:
    """Return a sentence in which the attribute of token i is i + N_RESERVED."""
    return Sentences(np.arange(n + 1, dtype=np.int32)[None] + N_RESERVED, np.array([0, n + 1]))


def hashing_scorer(n_outputs: int) -> Scorer:
    """hashed_scores() of the features."""
    return lambda features: np.array(
        [hashed_scores(tuple(row), n_outputs) for row in features.tolist()], np.float32
    )


def check_trees(trees: list[Tree], n: int, root_relation: int | None) -> None:
    """Distinct trees in the order of their scores, each of which has one root with its relation."""
    scores = [tree.score for tree in trees]
    assert scores == sorted(scores, reverse=True)
    assert (
        len({(tree.heads.tobytes(), tree.relations.tobytes()) for tree in trees}) == len(trees) > 0
    )
    for tree in trees:
        assert len(tree.heads) == n
        assert (tree.heads == 0).sum() == 1
        np.testing.assert_array_equal(tree.heads == 0, tree.relations == root_relation)
        Trees.from_heads([tree.heads.tolist()])  # refuses cycles
