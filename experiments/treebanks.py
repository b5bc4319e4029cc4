"""The trees for table 6 and the figures, from the available parts of treebanks in
configs/treebank/.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from omegaconf import OmegaConf

from oracles import Trees
from oracles.errors import OptimalStepError, did_you_mean
from parser.data.treebank import read_treebank
from parser.settings.files import CONFIGS
from parser.settings.nearest import treebank_words
from parser.settings.paths import escaped

FOLDER = CONFIGS / "treebank"
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class GoldHeads:
    """Some parts of a treebank.

    Attributes:
        name: as in configs/treebank/.
        parts: the names of the parts, in the order of PARTS.
        heads: [h_1, ..., h_n] for each sentence of these parts.
    """

    name: str
    parts: tuple[str, ...]
    heads: list[list[int]]

    @property
    def label(self) -> str:
        """The name with the parts, such as ``got train`` or ``grc dev+test``."""
        return f"{self.name} {'+'.join(self.parts)}"

    def __str__(self) -> str:
        return described(self.label, len(self.heads), sum(map(len, self.heads)))


def described(name: str, sentences: int, words: int) -> str:
    """Describe a treebank, or a part of it, for a line about what was measured."""
    return f"{name} ({sentences:,} sentences, {words:,} words)"


def paths(name: str, folder: str) -> dict[str, Path]:
    """Return the paths of the parts of a treebank in configs/treebank/,
    even of files that do not exist.

    Raises:
        OptimalStepError: there is no such name.
    """
    config = FOLDER / f"{name}.yaml"
    if not config.is_file():
        names = sorted(path.stem for path in FOLDER.glob("*.yaml"))
        near = did_you_mean(name, names, treebank_words())
        raise OptimalStepError(f"unknown treebank {name!r}{near}; known: {', '.join(names)}")
    wanted = OmegaConf.create(
        {"paths": {"treebanks": escaped(folder)}, "treebank": OmegaConf.load(config)}
    ).treebank
    return {part: Path(wanted[part]) for part in PARTS}


def has_parts(name: str, folder: str, parts: Iterable[str]) -> bool:
    """Return whether these parts exist; see ``paths`` for arguments and errors."""
    where = paths(name, folder)
    return all(where[part].is_file() for part in parts)


def files(name: str, folder: str) -> dict[str, Path]:
    """Return the paths of the parts that exist.

    Raises:
        OptimalStepError: there is no such name, or no part exists.
    """
    where = paths(name, folder)
    paths_of_parts = {part: path for part, path in where.items() if path.is_file()}
    if not paths_of_parts:
        raise OptimalStepError(
            f"treebank {name!r} has no part: {where['train']} and so on do not exist; "
            "set paths.treebanks=DIR"
        )
    return paths_of_parts


def read(name: str, folder: str, parts: Iterable[str] = PARTS) -> GoldHeads:
    """Read those of the given parts that exist.

    Raises:
        OptimalStepError: the name is unknown, or none of these parts exists.
    """
    files_of_parts = {
        part: file for part, file in files(name, folder).items() if part in tuple(parts)
    }
    if not files_of_parts:
        raise OptimalStepError(
            f"treebank {name!r} has no part {' or '.join(parts)} under {folder}; "
            "set paths.treebanks=DIR"
        )
    return GoldHeads(
        name,
        tuple(files_of_parts),
        [s.heads for file in files_of_parts.values() for s in read_treebank(file)],
    )


def read_train_or_rest(name: str, folder: str) -> GoldHeads:
    """Read the training part, or dev and test if there is none; ``parts`` says which."""
    return read(name, folder, ("train",) if "train" in files(name, folder) else PARTS)


def trees(treebanks: Iterable[GoldHeads]) -> Trees:
    """Return all trees of these treebanks."""
    return Trees.from_heads(chain.from_iterable(treebank.heads for treebank in treebanks))
