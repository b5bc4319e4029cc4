"""After settings were renamed: gives the committed rows the fingerprints, and the settings, that they have under the new names.

    python experiments/migrate.py second_pass.walk_every=second_pass.explore_every      (OLD=NEW ...)

Run it once, when code, configs/ and the studies in configs/experiments/ have the new names, and commit only its changes.
All trainings that the experiments know (columns by recipes, systems, variants) are composed. Each one's fingerprint under the
old names is computed from its settings with the renaming undone; a row with that fingerprint was made with exactly these
settings, so it gets the fingerprint under the new names. If a row has neither fingerprint of any training, nothing is written.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from experiments import distillation, lattices
from experiments.accurate import Accurate
from experiments.beam import BeamExperiment
from experiments.choices import Choices
from experiments.command import ROOT, check_override, settings_of
from experiments.comparisons import Comparison
from experiments.distillation import TAUGHT_BY, Distillation
from experiments.fingerprints import fingerprint, renamed
from experiments.lattices import LatticeExperiment
from experiments.table7_page import COLUMNS
from experiments.text import Text
from experiments.trainings import Training
from parser.commands import command_line
from parser.commands.configs import CONFIGS
from parser.storage.atomic import replacing

csv.field_size_limit(sys.maxsize)  # counts by sentence


def known_trainings() -> Iterator[Training]:
    """A training for each combination of settings that the experiments know; the treebank has no part in fingerprints."""

    def of(recipe: str, column: int, overrides: Iterable[str] = ()) -> Training:
        return Training("sample", recipe, column, 1, "any", tuple(overrides))

    for recipe in sorted(path.stem for path in (CONFIGS / "recipe").glob("*.yaml")):
        for column in COLUMNS:
            yield of(recipe, column)
    for config in ("accurate", "unseen"):
        for system in settings_of(Accurate, config).all_systems.values():
            yield of("accurate", 5, system)
    for config in ("choices", "ablation", "paper_literal"):
        wanted = settings_of(Choices, config)
        for study in wanted.all_studies.values():
            for variant in study.variants.values():
                yield of(wanted.recipe, 5, variant)
    for config in ("systems", "systems_bilstm", "online"):
        compared = settings_of(Comparison, config)
        for variant in compared.all_variants.values():
            yield of(compared.recipe, 5, variant)
    for system in settings_of(BeamExperiment, "beam").all_systems.values():
        yield of("accurate", 5, system)
    text = settings_of(Text, "text")
    for system in text.all_systems.values():
        yield of(text.recipe, 5, system)
    of_lattices = settings_of(LatticeExperiment, "lattices", ["paths.treebanks=any"])
    for name, lookahead, lemmas in product(lattices.SYSTEMS, (1, 3), (False, True)):
        yield lattices.training_of(of_lattices, name, "tr", 1, lookahead, lemmas)
    taught = settings_of(Distillation, "distillation", ["paths.treebanks=any"])
    for name in taught.all_variants:
        yield distillation.variant_of(taught, name, "hu", 1)


def parts_of(config: str) -> list[str]:
    """The fingerprints that a row names: its own, and its teacher's."""
    return config.split(TAUGHT_BY)


def committed_files() -> list[Path]:
    """The committed files whose lines carry fingerprints."""
    found = []
    for path in sorted((ROOT / "experiments").glob("*/*.csv")):
        with path.open(encoding="utf-8") as file:
            if "config" in file.readline().rstrip("\n").split(","):
                found.append(path)
    return found


@dataclass(frozen=True)
class Renaming:
    """What becomes of rows.

    Attributes:
        names: old key -> new key, with dots.
        fingerprints: under the old names -> under the new ones.
    """

    names: Mapping[str, str]
    fingerprints: Mapping[str, str]

    @classmethod
    def of(cls, names: Mapping[str, str], trainings: Iterable[Training]) -> Renaming:
        """From trainings whose settings have the new names."""
        back = {new: old for old, new in names.items()}
        plain = [training.plain_settings() for training in trainings]
        return cls(names, {fingerprint(renamed(settings, back)): fingerprint(settings) for settings in plain})

    def override(self, setting: str) -> str:
        """A setting as rows and studies write it, KEY=VALUE, under its new name."""
        key, equals, value = setting.partition("=")
        plus = "+" if key.startswith("+") else ""
        return plus + self.names.get(key.lstrip("+"), key.lstrip("+")) + equals + value

    def text(self, path: Path) -> str:
        """The file's text under the new names.

        Raises:
            ValueError: a line was made with settings that belong to no training.
        """
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            columns, lines = list(reader.fieldnames or []), list(reader)
        there = {"", *self.fingerprints, *self.fingerprints.values()}  # empty: none of ours, or words of a treebank
        for number, line in enumerate(lines, 2):
            if not there.issuperset(parts_of(line["config"])):
                raise ValueError(f"{path}, line {number}: {line['config']} is not the fingerprint of a known training")
            line["config"] = TAUGHT_BY.join(self.fingerprints.get(part, part) for part in parts_of(line["config"]))
            if "settings" in line:
                line["settings"] = " ".join(self.override(setting) for setting in line["settings"].split())
        written = io.StringIO()
        writer = csv.DictWriter(written, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        return written.getvalue()


def main() -> None:
    """Does it for all committed files, or for none."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__, end="")
        return
    names = dict(check_override(argument).split("=", 1) for argument in sys.argv[1:])
    renaming = Renaming.of(names, known_trainings())
    texts = {path: renaming.text(path) for path in committed_files()}
    for path, text in texts.items():
        before = path.read_text(encoding="utf-8").splitlines()
        changed = sum(old != new for old, new in zip(before, text.splitlines(), strict=True))
        print(f"{path.relative_to(ROOT)}: {changed} of {len(before) - 1} lines under new names")
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    command_line.run(main)
