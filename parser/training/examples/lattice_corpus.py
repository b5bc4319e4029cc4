"""The parts of a treebank as word lattices: gold paths to learn from, and lattices to measure on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from parser.beam_settings import Beam
from parser.data.treebank import Treebank
from parser.decoding.lattice.file import parsed_texts
from parser.decoding.lattice.parser import LatticeParser
from parser.evaluation.evaluated_text import EvaluatedText, text_of_stream
from parser.evaluation.scores import evaluate_texts
from parser.lattices.conllul import read_lattices
from parser.lattices.gold_paths import GoldPath, MissingPath, gold_paths, joined, read_trees
from parser.lattices.lattice import Lattice
from parser.model.model import Model
from parser.transitions.features import Slot

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
            log.info("%-5s %s: %d sentences are left out, as they have no gold path", part, lattices, len(pairs) - len(paths))
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
    return [slot for slot in slots if slot.address[0] != "b" or int(slot.address.partition(".")[0][1:]) < lookahead]


def _evaluated(text: str, name: str) -> EvaluatedText:
    return text_of_stream(text.encode("utf-8", "surrogateescape").splitlines(keepends=True), name)
