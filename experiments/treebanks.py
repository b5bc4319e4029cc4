"""The trees of table 6 and the figures: of treebanks named as in configs/treebank/, as far as their parts are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from omegaconf import OmegaConf

from oracles import Trees
from parser.data.treebank import read_treebank
from parser.settings.files import CONFIGS
from parser.settings.paths import escaped

FOLDER = CONFIGS / "treebank"
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class GoldHeads:
    """Some parts of a treebank.

    Attributes:
        name: as in configs/treebank/.
        parts: the names of the parts, in the order of PARTS.
        heads: of each sentence of these parts, [h_1, ..., h_n].
    """

    name: str
    parts: tuple[str, ...]
    heads: list[list[int]]

    @property
    def label(self) -> str:
        """Like ``got train`` or ``grc dev+test``."""
        return f"{self.name} {'+'.join(self.parts)}"

    def __str__(self) -> str:
        return described(self.label, len(self.heads), sum(map(len, self.heads)))


def described(name: str, sentences: int, words: int) -> str:
    """A treebank, or a part of one, in a line about what was measured."""
    return f"{name} ({sentences:,} sentences, {words:,} words)"


def paths(name: str, folder: str) -> dict[str, Path]:
    """Where the parts of a treebank in configs/treebank/ lie, or would lie, under paths.treebanks.

    Raises:
        ValueError: no such name.
    """
    config = FOLDER / f"{name}.yaml"
    if not config.is_file():
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.yaml")))
        raise ValueError(f"unknown treebank {name!r}; known: {known}")
    wanted = OmegaConf.create({"paths": {"treebanks": escaped(folder)}, "treebank": OmegaConf.load(config)}).treebank
    return {part: Path(wanted[part]) for part in PARTS}


def has_parts(name: str, folder: str, parts: Iterable[str]) -> bool:
    """Whether these parts are there; arguments and errors are those of ``paths``."""
    where = paths(name, folder)
    return all(where[part].is_file() for part in parts)


def files(name: str, folder: str) -> dict[str, Path]:
    """The parts that are there.

    Raises:
        ValueError: no such name, or none of its parts.
    """
    where = paths(name, folder)
    found = {part: path for part, path in where.items() if path.is_file()}
    if not found:
        raise ValueError(f"no part of treebank {name!r}: {where['train']} and the others do not exist; set paths.treebanks=DIR")
    return found


def read(name: str, folder: str, parts: Iterable[str] = PARTS) -> GoldHeads:
    """Those of the given parts that are there.

    Raises:
        ValueError: unknown name, or none of these parts.
    """
    found = {part: file for part, file in files(name, folder).items() if part in tuple(parts)}
    if not found:
        raise ValueError(f"treebank {name!r} has no part {' or '.join(parts)} under {folder}; set paths.treebanks=DIR")
    return GoldHeads(name, tuple(found), [s.heads for file in found.values() for s in read_treebank(file)])


def read_train_or_rest(name: str, folder: str) -> GoldHeads:
    """The training part; dev and test where it is not there, and ``parts`` says so."""
    return read(name, folder, ("train",) if "train" in files(name, folder) else PARTS)


def trees(treebanks: Iterable[GoldHeads]) -> Trees:
    """All trees of these treebanks."""
    return Trees.from_heads(chain.from_iterable(treebank.heads for treebank in treebanks))
