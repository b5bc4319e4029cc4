"""What an MLP learns from new sentences made of a treebank's, which a parser with an encoder has parsed.

    python experiments/recombination.py paths.treebanks=../shared/ud-v2.2

The new sentences are those of scripts/recombine.py. On the treebank alone an MLP is trained, and parsers with an encoder. The
one of the same seed parses the new sentences; one more MLP learns from the treebank and from them: ``recombined``; another one
learns the distributions of several encoders besides (parser/training/examples/teacher.py): ``taught``. To both, forms are as
rare as the treebank has them. The encoders' run folders are those of experiments/accurate.py: what is there is not trained
again. The rows of experiments/recombination are published, and are reused (see results.py); yours go to
runs/recombination/results.csv as trainings end. The table is beside them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import check_at_least, check_known, run
from experiments.encoders import encoder_of, folder_of, train_encoder
from experiments.jobs import Job, run_jobs
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
    epochs: int = MISSING
    teachers: int = MISSING
    students: list[str] = field(default_factory=list)
    encoders: str = MISSING


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages, all words, full relations, gold tags.

    ``epochs`` are those of the students' second pass; ``words`` those of the files that were trained on.
    """

    system: str
    treebank: str
    recipe: str
    copies: str
    teachers: str
    epochs: str
    seed: str
    words: str
    las: str
    uas: str
    dev_las: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.system, self.treebank, self.recipe, self.copies, self.teachers, self.epochs, self.seed


ConfigStore.instance().store(name="recombination_schema", node=Recombination)


def main(wanted: Recombination) -> None:
    """Trains, makes and parses sentences, trains, and writes the table."""
    for key in ("copies", "teachers", "epochs"):
        check_at_least(key, getattr(wanted, key), 1)
    check_known("students", wanted.students, PARSERS.others)
    check(wanted, ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    parsers = replace(PARSERS, others=tuple(wanted.students))
    teaching = Teaching(parsers, wanted.copies, wanted.teachers, wanted.epochs, Path(wanted.encoders))

    def train_encoders(missing: list[Training]) -> None:
        """Before the jobs that share them."""
        encoders = dict.fromkeys(encoder for one in missing for encoder in (encoder_of(one), *teaching.teachers_of(one)))
        jobs = [
            Job(
                f"{encoder.treebank} encoder seed {encoder.seed}",
                partial(train_encoder, teaching.encoders, encoder, wanted.fresh),
            )
            for encoder in encoders
        ]
        for _ in run_jobs(jobs, wanted.workers):
            pass

    asked = train_all(wanted, teaching.amounts, parsers, partial(measure, teaching), results, train_encoders)
    results.finish("table.md", lambda rows: page_of(rows, wanted), asked, wanted.publish)


@dataclass(frozen=True)
class Teaching:
    """Who learns, from whom and how.

    Attributes:
        parsers: those that are trained.
        copies: new sentences for each of the treebank.
        teachers: how many encoders teach, with the seeds from 1 on.
        epochs: of the students' second pass.
        encoders: where the encoders' run folders are.
    """

    parsers: Taught
    copies: int
    teachers: int
    epochs: int
    encoders: Path

    @property
    def amounts(self) -> tuple[int, int, int]:
        """Those of a row's key."""
        return self.copies, self.teachers, self.epochs

    def teachers_of(self, training: Training) -> list[Training]:
        """The encoders that teach on the same treebank."""
        return [encoder_of(replace(training, seed=seed)) for seed in range(1, self.teachers + 1)]


def measure(teaching: Teaching, training: Training, runs: Path, fresh: bool = False) -> list[Row]:
    """Trains the MLPs; the encoders are there. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    encoder, copies, epochs = encoder_of(training), teaching.copies, teaching.epochs
    teachers = ",".join(str(folder_of(teaching.encoders, one).absolute()) for one in teaching.teachers_of(training))
    name = f"{training.treebank}-copies{copies}-teachers{teaching.teachers}-epochs{epochs}-seed{training.seed}"
    folder = (runs / name).absolute()
    train, new, parsed = str(training.settings().treebank.train), folder / "new.conllu", folder / "parsed.conllu"
    folder.mkdir(parents=True, exist_ok=True)
    recombine.main([train, "-o", str(new), "--copies", str(copies), "--seed", str(training.seed)])
    both = (f"treebank.train=[{train},{parsed}]", *as_rare_as_before(training, copies), f"second_pass.epochs={epochs}")
    parse(folder_of(teaching.encoders, encoder) / "model", new, parsed)
    overrides = {
        MLP: (),
        RECOMBINED: both,
        TAUGHT: (*both, f"distillation.teacher=[{teachers}]", "distillation.over=all"),
    }
    rows = []
    for key in keys_of(training, teaching.amounts, teaching.parsers):
        if (system := key[0]) == ENCODER:
            metrics = train_encoder(teaching.encoders, encoder)  # which is done
        else:
            metrics = run_training(replace(training, overrides=overrides[system]), folder / system, fresh=fresh)
        rows.append(row_of(key, metrics, training.fingerprint()))
    return rows


def row_of(key: Key, metrics: dict[str, Any], config: str) -> Row:
    """The row of a run."""
    system, treebank, recipe, copies, teachers, epochs, seed = key
    return Row(system, treebank, recipe, copies, teachers, epochs, seed, *scores_of(metrics), config)


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
    asked = wanted.recipe, str(wanted.copies), str(wanted.teachers), str(wanted.epochs)
    found = [row for row in rows.values() if (row.recipe, row.copies, row.teachers, row.epochs) == asked]
    languages = list(dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in found)]))
    return (
        f"# Recombination, recipe={wanted.recipe}\n\nLAS / UAS on test in percent, all words, full relations, gold tags, mean "
        f"± deviation over seeds. There are {wanted.copies} new sentences for each of the treebank, made of these, and parsed "
        f"by the encoder; the taught MLP also learns the mean distribution over all steps of {wanted.teachers} encoders, which "
        f"differ in their seeds; the second pass of either has {wanted.epochs} epochs. Of the way: from the MLP's LAS to the "
        f"encoder's, in percent.\n\n{table(found, languages, PARSERS)}"
    )


if __name__ == "__main__":
    run(main, Recombination, "recombination", __doc__)
