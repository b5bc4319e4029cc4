"""Word lattices in training: the splits of a treebank as lattices,
and the choices among arcs that are learned.

Choices are collected in gold computations and explorations over the words of gold paths. After each
shift one more arc is chosen, in the new configuration (decoding/lattice/compiled.py). Before the
first step, all arcs within the lookahead are chosen. An example has a row of features for each
candidate, which scores only the output for choices; in the row of the gold arc, this output is the
target. A single candidate makes no example.
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
from parser.decoding.lattice.parser import lattice_parser, parsed_texts
from parser.evaluation.evaluated_text import EvaluatedText, text_of_stream
from parser.evaluation.scores import evaluate_texts
from parser.lattices import Lattice, read_lattices
from parser.lattices.gold_paths import GoldPath, MissingPath, gold_paths, joined, read_trees
from parser.model.parser_model import ParserModel
from parser.training.examples.examples import BatchedComputations, Examples
from parser.transitions.configurations import Configurations
from parser.transitions.features import FeatureTable, Slot
from parser.transitions.system import TransitionSystem

log = logging.getLogger(__name__)

_COMPARED = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct", "words", "upos")


@dataclass(frozen=True)
class LatticeSplit:
    """The lattices of a split, with their trees.

    Attributes:
        name: the name of the file of lattices.
        lattices: all lattices.
        paths: the gold paths; in the training split some sentences may be skipped.
        text: the gold trees as CoNLL-U.
    """

    name: str
    lattices: list[Lattice]
    paths: list[GoldPath]
    text: str

    @classmethod
    def read(
        cls, split: str, lattices: str, trees: str, gold: MissingPath, max_arcs: int | None
    ) -> LatticeSplit:
        """Read a file of lattices and one of their trees;
        leave out sentences that are in only one of them.

        Raises:
            ConlluError: a file cannot be read, or tokens differ.
        """
        pairs = list(joined(read_lattices(lattices, max_arcs), read_trees(trees)))
        with_trees, gold_trees = [lattice for lattice, _ in pairs], [tree for _, tree in pairs]
        paths, summary = gold_paths(with_trees, gold_trees, gold)
        log.info("%-5s %s: %s", split, lattices, summary)
        if len(paths) < len(pairs):
            left_out = counted(len(pairs) - len(paths), "sentence")
            log.info("%-5s %s: %s left out, which have no gold path", split, lattices, left_out)
        lines = (
            line if line.endswith("\n") else line + "\n"
            for tree in gold_trees
            for line in [*tree.lines, "\n"]
        )
        return cls(lattices, with_trees, paths, "".join(lines))

    @property
    def treebank(self) -> Treebank:
        """The gold paths as sentences."""
        return Treebank(self.name, [path.sentence for path in self.paths])

    @cached_property
    def _gold(self) -> EvaluatedText:
        return _evaluated(self.text, self.name)

    def scores(
        self, model: ParserModel, beam: Beam, *, single_root: bool = True
    ) -> dict[str, float]:
        """Return the scores of the model's parses of the lattices: F1 over aligned words,
        in percent.
        """
        texts = parsed_texts(
            lattice_parser(model, beam), model, self.lattices, single_root=single_root
        )
        scores = evaluate_texts(
            self._gold, _evaluated("".join(text for text, _ in texts), f"{self.name}, parsed")
        )
        return {key: scores[key].f1 for key in _COMPARED}


def within_lookahead(slots: Sequence[Slot], lookahead: int) -> list[Slot]:
    """Return the slots that read at most this many words of the buffer."""
    return [
        slot
        for slot in slots
        if slot.position[0] != "b" or int(slot.position.partition(".")[0][1:]) < lookahead
    ]


def _evaluated(text: str, name: str) -> EvaluatedText:
    return text_of_stream(text.encode("utf-8", "surrogateescape").splitlines(keepends=True), name)


class Choices:
    """The choices of gold paths, which are collected step by step.

    Args:
        sentences: the words of the paths, encoded, in the same order.
        vocabularies: the vocabularies that encoded the words.
        table: the features; they read at most ``lookahead`` words of the buffer.
        lookahead: how many arcs are chosen ahead.
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
        # For each word: the first arc from its node, numbered over all lattices;
        # how many arcs; which of them is gold.
        self._first, self._count, self._gold = np.zeros((3, sentences.offsets[-1]), np.int64)
        for start, base, path in zip(sentences.offsets[:-1], arcs.offsets[:-1], paths, strict=True):
            first, nodes = path.lattice.first_arcs(), path.lattice.starts[path.arcs]
            inside = slice(start + 1, start + 1 + len(nodes))
            self._first[inside] = base + 1 + first[nodes]
            self._count[inside] = first[nodes + 1] - first[nodes]
            self._gold[inside] = path.arcs - first[nodes]
        bases = np.array([_ahead(slot.position) for slot in table.slots])
        self._slots_ahead = [np.flatnonzero(bases == index) for index in range(lookahead)]
        self._parts: list[Examples] = []

    def begin(self) -> None:
        """Start again, with the choices before the first step."""
        self._parts = [
            part for index in range(self._lookahead) if len(part := self._first_choices(index))
        ]

    def __call__(self, batch: BatchedComputations, rows: np.ndarray, columns: np.ndarray) -> None:
        """Collect the choices after a step.

        Args:
            batch: the sentences.
            rows: int[m], the sentences that took the step.
            columns: int[m], their transitions.
        """
        shifted = rows[columns == 0]
        words = batch.now.buffer_fronts[shifted] + self._lookahead - 1
        chosen = words <= batch.now.lengths[shifted]
        shifted, words = shifted[chosen], words[chosen]
        if len(shifted):
            features = self._table.extract(batch.now, shifted, self._sentences, batch.numbers)
            self._parts.append(
                self._examples(features, batch.numbers[shifted], words, self._lookahead - 1)
            )

    def joined(self, examples: Examples) -> Examples:
        """Return these examples of transitions together with those of the collected choices."""
        n = len(examples)
        blocks = np.tile(np.array([0, self._system.n_outputs], np.int32), (n, 1))
        transitions = Examples(
            examples.features, examples.targets, examples.sentences, np.arange(n + 1), blocks
        )
        return Examples.concatenate([transitions, *self._parts])

    def _first_choices(self, index: int) -> Examples:
        """Return, for each sentence, the choice of word ``index`` (from 0) before the first
        step.
        """
        numbers = np.flatnonzero(self._sentences.lengths > index).astype(np.int32)
        now = Configurations.initial(self._sentences.lengths[numbers])
        features = self._table.extract(now, np.arange(len(numbers)), self._sentences, numbers)
        for undecided in self._slots_ahead[index + 1 :]:
            features[:, undecided] = ABSENT
        return self._examples(features, numbers, np.full(len(numbers), index + 1), index)

    def _examples(
        self, features: np.ndarray, numbers: np.ndarray, words: np.ndarray, index: int
    ) -> Examples:
        """Return an example for each choice among several arcs.

        The words (int[m]) are element ``index`` of the buffer in sentences ``numbers`` (int32[m]);
        ``features`` (int32[m, slots]) are those of the gold arc.
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
    """Return the number of the buffer's element that a position names; -1 for other positions."""
    return int(position[1:]) if position[0] == "b" and position[1:].isdigit() else -1
