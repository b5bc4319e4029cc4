"""What an MLP learns from new sentences made of a treebank's, which a parser with an encoder has parsed.

    python experiments/recombination.py paths.treebanks=../shared/ud-v2.2

The new sentences are those of scripts/recombine.py. On the treebank alone an MLP is trained, and a parser with an encoder,
which parses the new sentences. One more MLP learns from the treebank and from them: ``recombined``; another one learns the
encoder's distributions besides (parser/training/teacher.py): ``taught``. To both, forms are as rare as the treebank has them.
The rows of experiments/recombination are published, and are reused (see results.py); yours go to
runs/recombination/results.csv as trainings end. The table is beside them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import check_at_least, check_known, run
from experiments.results import Key, Results, check
from experiments.taught import Taught, TaughtTrainings, keys_of, parse, scores_of, table, train_all
from experiments.trainings import Training, run_training
from parser.commands import recombine

MLP, ENCODER, RECOMBINED, TAUGHT = "mlp", "encoder", "recombined", "taught"
PARSERS = Taught(MLP, ENCODER, (RECOMBINED, TAUGHT))


@dataclass
class Recombination(TaughtTrainings):
    """What to measure; configs/experiments/recombination.yaml says what each key is for."""

    copies: int = MISSING
    pupils: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages, all words, full relations, gold tags; ``words`` are those trained on."""

    system: str
    treebank: str
    recipe: str
    copies: str
    seed: str
    words: str
    las: str
    uas: str
    dev_las: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.system, self.treebank, self.recipe, self.copies, self.seed


ConfigStore.instance().store(name="recombination_schema", node=Recombination)


def main(wanted: Recombination) -> None:
    """Trains, makes and parses sentences, trains, and writes the table."""
    check_at_least("copies", wanted.copies, 1)
    check_known("pupils", wanted.pupils, PARSERS.others)
    check(wanted, ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    parsers = replace(PARSERS, others=tuple(wanted.pupils))
    asked = train_all(wanted, wanted.copies, parsers, partial(measure, parsers), results)
    results.finish("table.md", lambda rows: page_of(rows, wanted), asked, wanted.publish)


def measure(parsers: Taught, training: Training, copies: int, runs: Path, fresh: bool = False) -> list[Row]:
    """Trains the parsers, the encoder before those that learn from it. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    folder = (runs / f"{training.treebank}-copies{copies}-seed{training.seed}").absolute()
    train, new, parsed = str(training.settings().treebank.train), folder / "new.conllu", folder / "parsed.conllu"
    folder.mkdir(parents=True, exist_ok=True)
    recombine.main([train, "-o", str(new), "--copies", str(copies), "--seed", str(training.seed)])
    both = (f"treebank.train=[{train},{parsed}]", *as_rare_as_before(training, copies))
    overrides = {
        MLP: (),
        ENCODER: ("model=bilstm",),
        RECOMBINED: both,
        TAUGHT: (*both, f"distillation.teacher={folder / ENCODER}", "distillation.over=all"),
    }
    rows = []
    for key in keys_of(training, copies, parsers):
        system, treebank, recipe, of_row, seed = key
        metrics = run_training(replace(training, overrides=overrides[system]), folder / system, fresh=fresh)
        rows.append(Row(system, treebank, recipe, of_row, seed, *scores_of(metrics), training.fingerprint()))
        if system == ENCODER:
            parse(folder / ENCODER / "model", new, parsed)
    return rows


def as_rare_as_before(training: Training, copies: int) -> tuple[str, str]:
    """Settings by which a form that the treebank has once, and new sentences some times more, is still learned as a rare one.

    Without them such forms have vectors of their own, and the MLP learns too little of the forms that it does not know.
    """
    settings, times = training.settings(), 1 + copies
    least = settings.vectors.min_count
    return (
        f"vectors.min_count={max(least, (least - 1) * times * 3 // 2)}",
        f"classifier.word_dropout={settings.classifier.word_dropout * times}",
    )


def page_of(rows: Mapping[Key, Row], wanted: Recombination) -> str:
    """The page about all treebanks that were asked for or that there are rows of."""
    found = [row for row in rows.values() if (row.recipe, row.copies) == (wanted.recipe, str(wanted.copies))]
    languages = list(dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in found)]))
    return (
        f"# Recombination, recipe={wanted.recipe}\n\nLAS / UAS on test in percent, all words, full relations, gold tags, mean "
        f"± deviation over seeds. There are {wanted.copies} new sentences for each of the treebank, made of these, and parsed "
        "by the encoder; the taught MLP also learns its distributions over all steps. Of the way: from the MLP's LAS to the "
        f"encoder's, in percent.\n\n{table(found, languages, PARSERS)}"
    )


if __name__ == "__main__":
    run(main, Recombination, "recombination", __doc__)
