"""Algorithm 2 in plain Python: features are tuples, weights dictionaries,
the average is summed up after every step.
"""

from collections import defaultdict

import numpy as np

from parser.transitions.decisions import query
from tests.decoding.computations import find
from tests.transitions.reference_systems import State

POSITIONS = {"X": "s1", "Y": "s0", "B0": "b0", "B1": "b1", "C": "s2"}
AT_CANDIDATES = {"X": "c2", "Y": "c1", "B0": "q1", "B1": "q2", "C": "c3", "P": "gp", "G": "gg"}


class View:
    """One configuration as lists; ``candidate_nodes``: the system's own positions by name,
    or None.
    """

    def __init__(self, now, sentence, candidate_nodes):
        stack = now.stacks[0, : now.stack_sizes[0]].tolist()
        buffer = now.buffers[0, now.buffer_fronts[0] : now.lengths[0] + 1].tolist()
        arcs = enumerate(zip(now.heads[0].tolist(), now.relations[0].tolist(), strict=True))
        self.state = State(stack, buffer, {child: arc for child, arc in arcs if arc[0] >= 0})
        self.sentence, self.candidate_nodes = sentence, candidate_nodes

    def node(self, name):
        """None where there is nothing."""
        base, _, side = name.partition(".")
        if self.candidate_nodes is not None:
            node = self.candidate_nodes[AT_CANDIDATES[base]]
        else:
            node, _ = find(self.state, POSITIONS[base]) if base in POSITIONS else (-1, -1)
        if node < 0 or not side:
            return None if node < 0 else node
        found, rank = self.state.children(node, side[0] == "l"), int(side[1:] or 1)
        return found[rank - 1] if rank <= len(found) else None

    def read(self, name, what):
        """None where there is nothing."""
        node = self.node(name)
        if node is None:
            return None
        if what in "wpm":
            column = {"w": "form", "p": "upos", "m": "feats"}[what]
            return "ROOT" if node == 0 else self.sentence[column][node - 1]
        if what == "L":
            return self.state.arcs.get(node, (None, None))[1]
        if what == "d":
            other = self.node("Y")
            return None if other is None else max(-10, min(10, other - node))
        children = self.state.children(node, what[1] == "l")
        return (
            min(len(children), 7)
            if what[0] == "v"
            else frozenset(self.state.arcs[child][1] for child in children)
        )

    def features(self, templates):
        """Those of the templates that are there."""
        for template in templates:
            values = tuple(self.read(*atom.split(":")) for atom in template.split("+"))
            if None not in values:
                yield template, values


def choices(system, now, transitions, sentence, templates, weights):
    """(score, column, relation, features, output) of each applicable transition and relation,
    in their order.
    """
    nodes = [None]
    if transitions.candidate_nodes is not None:
        nodes = [
            dict(zip(system.candidate_positions, row.tolist(), strict=True))
            for row in transitions.candidate_nodes
        ]
    # by feature row
    features = [list(View(now, sentence, of_row).features(templates)) for of_row in nodes]
    for column in range(transitions.rows.shape[1]):
        if transitions.rows[0, column] < 0:
            continue
        block = int(transitions.blocks[0, column])
        has_arc = transitions.heads[0, column] >= 0
        for r in range(int(system.block_sizes[block])):
            output = int(system.block_starts[block]) + r
            row = features[transitions.rows[0, column]]
            yield sum(weights[f, output] for f in row), column, r if has_arc else -1, row, output


def learn(
    system, templates, sentences, heads, relations, oracle, iterations, *, canonical, explores
):
    """Return the averaged weights by (feature, output). Sentences are dictionaries of columns,
    ``oracle`` is bound to the trees.
    """
    weights, total = defaultdict(float), defaultdict(float)
    row = np.zeros(1, np.int64)
    steps = 0
    for i in range(iterations):
        for s in np.random.default_rng([1, i]).permutation(len(sentences)):
            now = system.initial(np.array([len(heads[s])]))
            while len(system.unfinished(now)):
                scores = oracle.score_batch(query(np.array([s], np.int32), now))[0]
                best = max(scores)
                optimal = [c for c, score in enumerate(scores) if score == best]
                if canonical:
                    optimal = [next(c for c in system.eager_order(len(scores)) if c in optimal)]
                transitions = system.transitions(now, row)

                def is_right(column, relation, transitions=transitions, optimal=optimal, s=s):
                    head, child = transitions.heads[0, column], transitions.children[0, column]
                    gold = column in optimal
                    return gold and (
                        head < 0
                        or heads[s][child - 1] != head
                        or relations[s][child - 1] == relation
                    )

                found = list(choices(system, now, transitions, sentences[s], templates, weights))
                predicted = max(found, key=lambda choice: choice[0])
                target = max(
                    (choice for choice in found if is_right(*choice[1:3])),
                    key=lambda choice: choice[0],
                )
                if not is_right(*predicted[1:3]):
                    for sign, (_, _, _, features, output) in ((1, target), (-1, predicted)):
                        for feature in features:
                            weights[feature, output] += sign
                for key, weight in weights.items():
                    total[key] += weight
                steps += 1
                _, column, relation, _, _ = predicted if explores else target
                system.apply(
                    now, row, transitions, np.array([column]), np.array([relation], np.int32)
                )
    return {key: value / steps for key, value in total.items() if value}


def parse(system, templates, sentence, n, weights):
    """Heads and relations of the best transitions."""
    now = system.initial(np.array([n]))
    row = np.zeros(1, np.int64)
    while len(system.unfinished(now)):
        transitions = system.transitions(now, row)
        found = choices(system, now, transitions, sentence, templates, defaultdict(float, weights))
        _, column, relation, _, _ = max(found, key=lambda choice: choice[0])
        system.apply(now, row, transitions, np.array([column]), np.array([relation], np.int32))
    return now.heads[0, 1 : n + 1].tolist(), now.relations[0, 1 : n + 1].tolist()
