"""What an MLP learns from new sentences made of a treebank's, which a parser with an encoder has parsed.

    python experiments/recombination.py paths.treebanks=../shared/ud-v2.2

The new sentences are those of scripts/recombine.py. On the treebank alone an MLP is trained, and parsers with an encoder. The
one of the same seed parses the new sentences; one more MLP learns from the treebank and from them: ``recombined``; another one
learns the distributions of several encoders besides (parser/training/examples/teacher.py): ``taught``. To both, forms are as
rare as the treebank has them. The encoders' run folders are those of comparison.py --config-name=accurate: what is there is not
trained again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import OUTPUT, Trainings, check_at_least, check_known
from experiments.engine import Cell, Experiment, Job, check
from experiments.tables import Key, Row, chosen, lines_of, markdown, names_of, numbers, score
from experiments.trainings import Training, encoder_folder, encoder_of, formatted, run_training
from parser.commands import recombine
from parser.decoding.files.file_parsing import parse_file
from parser.model import loading as models
from parser.settings.paths import override
from parser.storage.atomic import replacing

MLP, ENCODER, RECOMBINED, TAUGHT = SYSTEMS = ("mlp", "encoder", "recombined", "taught")


@dataclass
class Recombination(Trainings):
    """What to measure; configs/experiments/recombination.yaml says what each key is for."""

    copies: int
    epochs: int
    teachers: int
    students: list[str]
    encoders: str = field(metadata=OUTPUT)

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
    both = override("treebank.train", [train, parsed])
    teachers = [encoder_folder(wanted.encoders, one).absolute() for one in wanted.teachers_of(training)]
    files = {RECOMBINED: (both,), TAUGHT: (both, override("distillation.teacher", teachers))}
    for system in (MLP, ENCODER, *wanted.students):
        if system == ENCODER:
            metrics = run_training(encoder, encoder_folder(wanted.encoders, encoder))  # which is done
        else:
            own = replace(training, overrides=wanted.settings_of(system), files=files.get(system, ()))
            metrics = run_training(own, folder / system, fresh=wanted.fresh)
        scores = [*formatted(metrics["test"], "las", "uas"), *formatted(metrics["dev"], "las")]
        yield (
            (system, treebank, *wanted.amounts, seed),
            dict(zip(MEASURED, [str(metrics["train"]["words"]), *scores], strict=True)),
        )


def parse(model: Path, text: Path, target: Path) -> None:
    """Parses a file of CoNLL-U by the model in a folder."""
    with replacing(target) as temporary, text.open("rb") as source, temporary.open("wb") as written:
        parse_file(models.load(model), source, written, str(text))


def page(rows: list[Row], wanted: Recombination) -> str:
    """The page about all treebanks that were asked for or that there are rows of."""
    rows = chosen(rows, **dict(zip(KEY[2:6], wanted.amounts, strict=True)))
    head = ["treebank", "parser", "words trained on", "LAS / UAS", "of the way", "LAS on dev", "of the way"]

    def cells_of(found: list[Row]) -> list[str]:
        words = " and ".join(dict.fromkeys(f"{int(row['words']):,}" for row in found))
        of_treebank = chosen(rows, treebank=found[0]["treebank"])
        ways = [_way(of_treebank, found[0]["system"], name) for name in ("las", "dev_las")]
        return [words, score(found, "las", "uas"), ways[0], score(found, "dev_las"), ways[1]]

    values = {"treebank": names_of(rows, "treebank", wanted.languages), "system": SYSTEMS}
    return wanted.head() + markdown(head, lines_of(rows, values, cells_of))


def _way(rows: list[Row], system: str, name: str) -> str:
    """How much of the way from the plain parser to the encoder, in percent of the means."""
    found = [numbers(chosen(rows, system=one), name) for one in (MLP, ENCODER, system)]
    if system in (MLP, ENCODER) or not all(found):
        return ""
    plain, encoder, own = map(np.mean, found)
    return f"{100 * (own - plain) / (encoder - plain):.0f}"


# Percentages, all words, full relations, gold tags; ``words`` are those of the files that were trained on.
MEASURED = ("words", "las", "uas", "dev_las")
KEY = ("system", "treebank", "recipe", "copies", "teachers", "epochs", "seed")
EXPERIMENT = Experiment("recombination", Recombination, KEY, MEASURED, cells, measure, page, prepare=prepare)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
