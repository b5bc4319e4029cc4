"""What experiments have in common that look at how trained models parse a part of a treebank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments import treebanks
from experiments.command import Pictures
from experiments.figures import describe, provenance
from parser.data.treebank import Treebank, read_treebank
from parser.model.model import Model


@dataclass
class ParsedPart(Pictures):
    """Models by name, and a part of a treebank: train, dev or test."""

    models: dict[str, str]
    treebank: str
    part: str
    sizes: list[int]

    def read(self) -> Treebank:
        """The part.

        Raises:
            ValueError: the treebank has none of that name, or there is no model to parse it with.
        """
        if not self.models:
            raise ValueError('give models to parse with: "+models={accurate: RUN_FOLDER/model}"')
        file = treebanks.files(self.treebank, self.paths.treebanks).get(self.part)
        if file is None:
            raise ValueError(f"treebank {self.treebank!r} has no part {self.part} under {self.paths.treebanks}; name another")
        return read_treebank(file)

    def loaded(self) -> Iterator[tuple[str, Model]]:
        """The models, one after the other."""
        for name, folder in self.models.items():
            yield name, Model.load(Path(folder))

    def provenance(self, command: str, treebank: Treebank) -> list[str]:
        """What the numbers depend on."""
        return provenance(command, [describe(f"{self.treebank} {self.part}", len(treebank), treebank.n_words)])
