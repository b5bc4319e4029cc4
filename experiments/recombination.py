"""What an MLP learns from new sentences made of a treebank's, which a parser with an encoder has parsed.

    python experiments/recombination.py paths.treebanks=../shared/ud-v2.2

The new sentences are those of scripts/recombine.py. On the treebank alone an MLP is trained, and parsers with an encoder. The
one of the same seed parses the new sentences; one more MLP learns from the treebank and from them: ``recombined``; another one
learns the distributions of several encoders besides (parser/training/examples/teacher.py): ``taught``. To both, forms are as
rare as the treebank has them. The encoders' run folders are those of experiments/accurate.py: what is there is not trained
again. The rows of experiments/recombination are published, and are reused (see engine.py); yours go to
runs/recombination/results.csv as trainings end. The table is beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from experiments.command import Trainings, check_at_least, check_known
from experiments.engine import Cell, Experiment, Job, check
from experiments.tables import Key, Row, chosen, names_of
from experiments.taught import ENCODER, MEASURED, MLP, measured, table
from experiments.trainings import Training, encoder_folder, encoder_of, parse, run_training
from parser.commands import recombine

RECOMBINED, TAUGHT = "recombined", "taught"


@dataclass
class Recombination(Trainings):
    """What to measure; configs/experiments/recombination.yaml says what each key is for."""

    copies: int
    epochs: int
    teachers: int
    students: list[str]
    encoders: str

    @property
    def amounts(self) -> tuple[str, ...]:
        """Those of a row's key."""
        return self.recipe, str(self.copies), str(self.teachers), str(self.epochs)

    def teachers_of(self, training: Training) -> list[Training]:
        """The encoders that teach on the same treebank, with the seeds from 1 on."""
        return [encoder_of(replace(training, seed=seed)) for seed in range(1, self.teachers + 1)]

    def settings_of(self, system: str) -> tuple[str, ...]:
        """Of the training of a parser.

        A form that the treebank has once, and new sentences some times more, is still to be learned as a rare one. Without
        these settings such forms have vectors of their own, and the MLP learns too little of the forms that it does not know.
        """
        if system in (MLP, ENCODER):
            return () if system == MLP else ("model=bilstm",)
        plain, times = Training.of(self, self.languages[0], 1).settings(), 1 + self.copies
        least = plain.vectors.min_count
        return (
            f"vectors.min_count={max(least, (least - 1) * times * 3 // 2)}",
            f"classifier.word_dropout={plain.classifier.word_dropout * times}",
            f"second_pass.epochs={self.epochs}",
            *(["distillation.over=all"] if system == TAUGHT else []),
        )


def cells(wanted: Recombination) -> list[Cell]:
    """All parsers of a treebank and seed, which share a job."""
    for key in ("copies", "teachers", "epochs"):
        check_at_least(key, getattr(wanted, key), 1)
    check_known("students", wanted.students, (RECOMBINED, TAUGHT))
    check(wanted, ("train", "dev", "test"))
    Training.of(wanted, "", 1).check()
    settings = {system: " ".join(wanted.settings_of(system)) for system in (MLP, ENCODER, *wanted.students)}
    return [
        Cell((system, language, *wanted.amounts, str(seed)), settings[system], f"{language} seed {seed}")
        for seed, language, system in product(range(1, wanted.seeds + 1), wanted.languages, settings)
    ]


def prepare(wanted: Recombination, missing: list[Cell]) -> list[Job[Any]]:
    """Trains the encoders that the jobs share."""
    trainings = [Training.of(wanted, cell.key[1], cell.key[-1]) for cell in missing]
    encoders = dict.fromkeys(encoder for one in trainings for encoder in (encoder_of(one), *wanted.teachers_of(one)))
    return [
        Job(
            f"{encoder.treebank} encoder seed {encoder.seed}",
            partial(run_training, encoder, encoder_folder(wanted.encoders, encoder), fresh=wanted.fresh),
        )
        for encoder in encoders
    ]


def measure(wanted: Recombination, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains the MLPs; the encoders are there."""
    _, treebank, *_, seed = group[0].key
    training = Training.of(wanted, treebank, seed)
    encoder = encoder_of(training)
    name = f"{treebank}-copies{wanted.copies}-teachers{wanted.teachers}-epochs{wanted.epochs}-seed{seed}"
    folder = (Path(wanted.runs) / name).absolute()
    train, new, parsed = str(training.part("train")), folder / "new.conllu", folder / "parsed.conllu"
    folder.mkdir(parents=True, exist_ok=True)
    recombine.main([train, "-o", str(new), "--copies", str(wanted.copies), "--seed", seed])
    parse(encoder_folder(wanted.encoders, encoder) / "model", new, parsed)
    both = f"treebank.train=[{train},{parsed}]"
    teachers = ",".join(str(encoder_folder(wanted.encoders, one).absolute()) for one in wanted.teachers_of(training))
    files = {RECOMBINED: (both,), TAUGHT: (both, f"distillation.teacher=[{teachers}]")}
    for system in (MLP, ENCODER, *wanted.students):
        if system == ENCODER:
            metrics = run_training(encoder, encoder_folder(wanted.encoders, encoder))  # which is done
        else:
            own = replace(training, overrides=wanted.settings_of(system), files=files.get(system, ()))
            metrics = run_training(own, folder / system, fresh=wanted.fresh)
        yield (system, treebank, *wanted.amounts, seed), measured(metrics)


def page(rows: list[Row], wanted: Recombination) -> str:
    """The page about all treebanks that were asked for or that there are rows of."""
    rows = chosen(rows, **dict(zip(KEY[2:6], wanted.amounts, strict=True)))
    return (
        f"# Recombination, recipe={wanted.recipe}\n\nLAS / UAS on test in percent, all words, full relations, gold tags, mean "
        f"± deviation over seeds. There are {wanted.copies} new sentences for each of the treebank, made of these, and parsed "
        f"by the encoder; the taught MLP also learns the mean distribution over all steps of {wanted.teachers} encoders, which "
        f"differ in their seeds; the second pass of either has {wanted.epochs} epochs. Of the way: from the MLP's LAS to the "
        "encoder's, in percent.\n\n"
    ) + table(rows, names_of(rows, "treebank", wanted.languages), (RECOMBINED, TAUGHT))


KEY = ("system", "treebank", "recipe", "copies", "teachers", "epochs", "seed")
EXPERIMENT = Experiment(Recombination, KEY, MEASURED, cells, measure, page, prepare=prepare)

if __name__ == "__main__":
    EXPERIMENT.run("recombination", __doc__)
