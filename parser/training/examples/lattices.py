"""Word lattices in training: the parts of a treebank as lattices, and the choices among arcs that are learned.

Choices are collected while computations over the words of gold paths go on, gold ones or those of exploration: whenever a word
has been shifted, one more arc is chosen, in the configuration after it (decoding/lattice/compiled.py). In the beginning
as many are chosen as are decided ahead. An example has a row of features for each candidate, of which the output for choices
alone is scored; the row of the gold arc has it as its target. Where there is one candidate, there is no example.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parser.beam_settings import Beam
from parser.conllu.checks import counted
from parser.data.sentences import NO_NODE, Sentences
from parser.data.treebank import Treebank
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import ABSENT
from parser.decoding.lattice.parser import LatticeParser, parsed_texts
from parser.evaluation.evaluated_text import EvaluatedText, text_of_stream
from parser.evaluation.scores import evaluate_texts
from parser.lattices import Lattice, read_lattices
from parser.lattices.gold_paths import GoldPath, MissingPath, gold_paths, joined, read_trees
from parser.model.model import Model
from parser.training.examples.examples import BatchedComputations, Examples
from parser.transitions.configurations import Configurations
from parser.transitions.features import FeatureTable, Slot
from parser.transitions.system import TransitionSystem

log = logging.getLogger(__name__)

_COMPARED = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct", "words", "upos")


@dataclass(frozen=True)
class LatticePart:
    """The lattices of a part, with their trees.

    Attributes:
        name: of the file of lattices.
        lattices: the lattices as they are.
        paths: the gold paths, of the training part without those that were skipped.
        text: the gold trees as CoNLL-U.
    """

    name: str
    lattices: list[Lattice]
    paths: list[GoldPath]
    text: str

    @classmethod
    def read(cls, part: str, lattices: str, trees: str, gold: MissingPath, max_arcs: int | None) -> LatticePart:
        """Reads a file of lattices and one of their trees; sentences that are in only one of them are left out.

        Raises:
            ConlluError: they cannot be read, or are not of the same tokens.
        """
        pairs = list(joined(read_lattices(lattices, max_arcs), read_trees(trees)))
        own, of_trees = [lattice for lattice, _ in pairs], [tree for _, tree in pairs]
        paths, found = gold_paths(own, of_trees, gold)
        log.info("%-5s %s: %s", part, lattices, found)
        if len(paths) < len(pairs):
            left_out = counted(len(pairs) - len(paths), "sentence")
            log.info("%-5s %s: %s left out for want of a gold path", part, lattices, left_out)
        lines = (line if line.endswith("\n") else line + "\n" for tree in of_trees for line in [*tree.lines, "\n"])
        return cls(lattices, own, paths, "".join(lines))

    @property
    def treebank(self) -> Treebank:
        """The gold paths as sentences."""
        return Treebank(self.name, [path.sentence for path in self.paths])

    @cached_property
    def _gold(self) -> EvaluatedText:
        return _evaluated(self.text, self.name)

    def scores(self, model: Model, beam: Beam, *, single_root: bool = True) -> dict[str, float]:
        """What the model makes of the lattices, compared with the trees: F1 over aligned words, in percent."""
        texts = parsed_texts(LatticeParser(model, beam), model, self.lattices, single_root=single_root)
        found = evaluate_texts(self._gold, _evaluated("".join(text for text, _ in texts), f"{self.name}, parsed"))
        return {key: found[key].f1 for key in _COMPARED}


def within_lookahead(slots: Sequence[Slot], lookahead: int) -> list[Slot]:
    """The slots without those that read further into the buffer than this many words."""
    return [slot for slot in slots if slot.position[0] != "b" or int(slot.position.partition(".")[0][1:]) < lookahead]


def _evaluated(text: str, name: str) -> EvaluatedText:
    return text_of_stream(text.encode("utf-8", "surrogateescape").splitlines(keepends=True), name)


class Choices:
    """The choices of gold paths.

    Args:
        paths: the gold paths.
        sentences: their words, encoded, in the same order.
        vocabularies: that the words were encoded with.
        system: the transition system.
        table: the features, none of which reads further ahead than ``lookahead``.
        lookahead: the arcs that are decided ahead.
    """

    def __init__(
        self,
        paths: Sequence[GoldPath],
        sentences: Sentences,
        vocabularies: Vocabularies,
        system: TransitionSystem,
        table: FeatureTable,
        lookahead: int,
    ) -> None:
        self._sentences = sentences
        self._system = system
        self._table = table
        self._lookahead = lookahead
        arcs = vocabularies.encode([path.lattice for path in paths])
        self._values = table.values(arcs)
        # Of each word: the first of the arcs from its node, among those of all lattices; how many there are; which is gold.
        self._first, self._count, self._gold = np.zeros((3, sentences.offsets[-1]), np.int64)
        for start, of_arcs, path in zip(sentences.offsets[:-1], arcs.offsets[:-1], paths, strict=True):
            first, nodes = path.lattice.first_arcs(), path.lattice.starts[path.arcs]
            inside = slice(start + 1, start + 1 + len(nodes))
            self._first[inside] = of_arcs + 1 + first[nodes]
            self._count[inside] = first[nodes + 1] - first[nodes]
            self._gold[inside] = path.arcs - first[nodes]
        bases = np.array([_ahead(slot.position) for slot in table.slots])
        self._slots_ahead = [np.flatnonzero(bases == index) for index in range(lookahead)]
        self._parts: list[Examples] = []

    def begin(self) -> None:
        """Forgets what was collected, but for the choices before the first step."""
        self._parts = [part for index in range(self._lookahead) if len(part := self._first_choices(index))]

    def __call__(self, batch: BatchedComputations, rows: np.ndarray, columns: np.ndarray) -> None:
        """Collects the choices after a step.

        Args:
            batch: the sentences.
            rows: int[m], those that have moved.
            columns: int[m], their transitions.
        """
        shifted = rows[columns == 0]
        words = batch.now.buffer_fronts[shifted] + self._lookahead - 1
        chosen = words <= batch.now.lengths[shifted]
        shifted, words = shifted[chosen], words[chosen]
        if len(shifted):
            features = self._table.extract(batch.now, shifted, self._sentences, batch.numbers)
            self._parts.append(self._examples(features, batch.numbers[shifted], words, self._lookahead - 1))

    def joined(self, examples: Examples) -> Examples:
        """The choices that were collected, and examples of transitions."""
        n = len(examples)
        blocks = np.tile(np.array([0, self._system.n_outputs], np.int32), (n, 1))
        transitions = Examples(examples.features, examples.targets, examples.sentences, np.arange(n + 1), blocks)
        return Examples.concatenate([transitions, *self._parts])

    def _first_choices(self, index: int) -> Examples:
        """The choices of the words number ``index`` (from 0), before the first step."""
        numbers = np.flatnonzero(self._sentences.lengths > index).astype(np.int32)
        now = Configurations.initial(self._sentences.lengths[numbers])
        features = self._table.extract(now, np.arange(len(numbers)), self._sentences, numbers)
        for undecided in self._slots_ahead[index + 1 :]:
            features[:, undecided] = ABSENT
        return self._examples(features, numbers, np.full(len(numbers), index + 1), index)

    def _examples(self, features: np.ndarray, numbers: np.ndarray, words: np.ndarray, index: int) -> Examples:
        """An example for each choice among several arcs.

        The words (int[m]) are element ``index`` of the buffer in these sentences (int32[m]); features have the gold arc.
        """
        places = self._sentences.offsets[numbers] + words
        several = self._count[places] > 1
        places, counts = places[several], self._count[places[several]]
        starts = np.cumsum([0, *counts])
        candidate = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
        arcs = np.repeat(self._first[places], counts) + candidate
        rows = np.repeat(features[several], counts, axis=0)
        slots = self._slots_ahead[index]
        rows[:, slots] = self._values[self._table.columns[slots, 1]][:, arcs].T
        output = self._system.n_outputs
        is_gold = candidate == np.repeat(self._gold[places], counts)
        targets = np.where(is_gold, output, NO_NODE).astype(np.int32)[:, None]
        blocks = np.tile(np.array([output, output + 1], np.int32), (len(rows), 1))
        return Examples(rows, targets, numbers[several].astype(np.int32), starts, blocks)


def _ahead(position: str) -> int:
    """Which element of the buffer a position is; -1 for any other."""
    return int(position[1:]) if position[0] == "b" and position[1:].isdigit() else -1
