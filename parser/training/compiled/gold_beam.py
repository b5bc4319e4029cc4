"""The search of global training: a beam, and beside it a beam of gold items, through one sentence in a compiled loop.

What is gold is a set. ``lost`` of an item is how many words cannot be right any more, whatever follows: words that cannot get
their gold head, by an oracle that is exact for any gold tree, and words with the gold head and another relation. An item is
gold if as many are lost as the start has lost already, which are the words whose arcs no projective tree can have. So it is
the model that chooses among the many computations of one tree, and of several best trees.

``lost`` never falls along a computation, so gold items are made only from gold items. The second beam takes the transitions
alone that lose nothing, of which there is always one; its best item is the best gold item that it can find, also after the
first beam has lost all of them. Both are beams of parser/decoding/beam/compiled.py, and share one set of stacks: items with the
same cell are the same configuration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.arc_standard.context_rows import score_batch
from oracles.arc_standard.transitions import ANY
from parser.data.sentences import NO_NODE
from parser.decoding.beam.compiled import BeamWorkspace, Expansion, Items, score_item, select_items
from parser.decoding.beam.scores import highest_output
from parser.decoding.beam.tree_stacks import FULL, clear
from parser.kernels import array_kernel, highest, kernel, lowest
from parser.transitions.attardi import transition_of


class CompiledGold(NamedTuple):
    """Gold trees, sentence by sentence at ``offsets``, and what the oracle keeps of them.

    Attributes:
        heads: int32[total], see Trees.
        offsets: int64[sentences + 1].
        relations: int32[total]; a negative one is unknown to the model, and no word can get it wrong.
        memory: see oracles.arc_standard.context_rows.
    """

    heads: np.ndarray
    offsets: np.ndarray
    relations: np.ndarray
    memory: tuple


class CompiledSide(NamedTuple):
    """One of the two beams.

    Attributes:
        size: items that it keeps.
        items, expansion: see decoding/beam/compiled.py.
        lost: int32[steps + 1, size], of the items.
    """

    size: int
    items: Items
    expansion: Expansion
    lost: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, size: int, outputs: int, elements: int, units: int) -> CompiledSide:
        """For a sentence of this many tokens; see Expansion."""
        lost = np.empty((2 * tokens + 1, size), np.int32)
        return cls(size, Items.allocate(tokens, size), Expansion.allocate(tokens, size, outputs, elements, units), lost)


class OracleQueries(NamedTuple):
    """Workspace for the oracle queries of a step's items, one configuration per row; see BoundOracle.score_batch."""

    sentences: np.ndarray
    stacks: np.ndarray
    sizes: np.ndarray
    fronts: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, size: int) -> OracleQueries:
        """For this many items of a sentence of this many tokens."""
        numbers = [np.empty(size, np.int32) for _ in range(3)]
        return cls(numbers[0], np.empty((size, tokens + 1), np.int32), *numbers[1:])


@array_kernel()
def search_with_gold(sentence, start, length, model, rules, merging, gold, stacks, beam, gold_beam, queries, scratch):
    """Searches through a sentence with both beams; all of their items are left there.

    Args:
        sentence: its number among the gold trees.
        start: where it begins in ``words``.
        length: its tokens.
        model, rules: see decoding/beam/compiled.py; of arc-standard.
        merging: whether equal configurations are merged.
        gold: the gold trees.
        stacks: the stacks of both beams.
        beam: the beam.
        gold_beam: that of gold items.
        queries: workspace for the items of the larger one.
        scratch: workspace.

    Returns:
        Whether the beam had no gold item at some step; FULL if the stacks are.
    """
    for side in (beam, gold_beam):
        side.items.fronts[0, 0] = 1
        side.items.totals[0, 0] = 0.0
        side.items.counts[0] = 1
        side.lost[0, 0] = 0
        side.expansion.summed[: length + 2] = False
    cell = clear(stacks, length, 2 * length * (beam.size + gold_beam.size))
    beam.items.cells[0, 0] = cell
    gold_beam.items.cells[0, 0] = cell
    all_lost = 0
    for m in range(2 * length):
        is_gold_beam = False
        for side in (beam, gold_beam):
            items, expansion = side.items, side.expansion
            workspace = BeamWorkspace(stacks, items, expansion, scratch)
            for k in range(items.counts[m]):
                score_item(model, rules, False, start, length, workspace, m, k)
            attainable = _attainable(sentence, gold, stacks, items, m, queries)
            if is_gold_beam:
                for k in range(items.counts[m]):
                    _leave_what_loses_nothing(expansion, k, attainable[k], sentence, gold, stacks, items.cells[m, k], rules)
            made = select_items(rules, side.size, merging, workspace, m)
            if made == FULL:
                return FULL
            items.counts[m + 1] = made
            for k in range(made):
                parent = items.parents[m + 1, k]
                output, cell = items.outputs[m + 1, k], items.cells[m, parent]
                loss = lost_by(output, attainable[parent], sentence, gold, stacks, cell, rules)
                side.lost[m + 1, k] = side.lost[m, parent] + loss
            is_gold_beam = True
        if lowest(beam.lost[m + 1, : beam.items.counts[m + 1]]) > 0:
            all_lost = 1
    return all_lost


@array_kernel()
def _attainable(sentence, gold, stacks, items, m, queries):
    """int16[items, 3]: the oracle's scores of the transitions of the items of step m."""
    count = items.counts[m]
    cells, nodes = stacks.cells.keys, stacks.nodes.keys
    for k in range(count):
        front = items.fronts[m, k]
        size = 2 * front - 1 - m
        cell = items.cells[m, k]
        for d in range(size - 1, -1, -1):
            queries.stacks[k, d] = nodes[cells[cell, 0], 0]
            cell = cells[cell, 1]
        queries.sentences[k] = sentence
        queries.sizes[k] = size
        queries.fronts[k] = front
    return score_batch(
        gold.heads,
        gold.offsets,
        gold.memory,
        ANY,
        (),
        queries.sentences[:count],
        queries.stacks[:count],
        queries.sizes[:count],
        queries.fronts[:count],
    )


@kernel()
def _right_relation(column, sentence, gold, stacks, cell):
    """The relation that the arc of a transition must have to lose nothing; NO_NODE if it makes none, or any is as good."""
    if column == 0:
        return NO_NODE
    cells, nodes = stacks.cells.keys, stacks.nodes.keys
    head = nodes[cells[cells[cell, 1], 0], 0]
    child = nodes[cells[cell, 0], 0]
    if column == 2:
        head, child = child, head
    place = gold.offsets[sentence] + child
    if gold.heads[place] != head or gold.relations[place] < 0:
        return NO_NODE
    return gold.relations[place]


@kernel()
def lost_by(output, attainable, sentence, gold, stacks, cell, rules):
    """How many words an output loses.

    Args:
        output: the output, whose transition is applicable.
        attainable: int16[3], the oracle's scores of the transitions.
        sentence, gold, stacks, rules: see search_with_gold().
        cell: the stack.
    """
    column, relation = transition_of(output, rules.n_relations)
    loss = np.int32(highest(attainable) - attainable[column])
    right = _right_relation(column, sentence, gold, stacks, cell)
    if right != NO_NODE and relation != right:
        loss += 1
    return loss


@kernel()
def _leave_what_loses_nothing(expansion, k, attainable, sentence, gold, stacks, cell, rules):
    """Makes the scores of all outputs that lose a word minus infinity."""
    row = expansion.scores[k]
    most = highest(attainable)
    for column in range(3):
        first = 0 if column == 0 else 1 + (column - 1) * rules.n_relations
        last = 1 if column == 0 else first + rules.n_relations
        if attainable[column] != most:
            row[first:last] = -np.inf
            continue
        right = _right_relation(column, sentence, gold, stacks, cell)
        if right != NO_NODE:
            score = row[first + right]
            row[first:last] = -np.inf
            row[first + right] = score
    expansion.best[k] = highest_output(row)
