"""What parsing in 8 bits costs in accuracy: the same encoder's trees with products of 32 and of 8 bits.

    python experiments/int8.py paths.treebanks=../shared/ud-v2.2

A parser with an encoder (recipe=accurate model=bilstm) parses dev and test twice, as scripts/parse.py does without and with
``--int8``. The rows of experiments/int8 are published, and are reused (see results.py); yours go to runs/int8/results.csv. The
run folders are those of experiments/accurate.py: a parser that is there is not trained again. The table is beside the rows.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from hydra.core.config_store import ConfigStore

from experiments.command import Trainings, run
from experiments.encoders import encoder_of, folder_of, train_encoder
from experiments.jobs import Job
from experiments.results import Key, Results, check
from experiments.tables import markdown, mean_and_deviation
from experiments.trainings import Training
from parser.data.parses import Parses
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation.gold_part import GoldPart
from parser.model.loading import load_for_parsing

PARTS = ("dev", "test")


@dataclass
class Int8(Trainings):
    """What to measure; configs/experiments/int8.yaml says what each key is for."""


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages, all words, full relations, gold tags.

    ``words`` are those of the part, ``other_words`` those of them that have another head or relation in 8 bits.
    """

    treebank: str
    part: str
    seed: str
    las: str
    uas: str
    int8_las: str
    int8_uas: str
    words: str
    other_words: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.treebank, self.part, self.seed


ConfigStore.instance().store(name="int8_schema", node=Int8)


def main(wanted: Int8) -> None:
    """Trains what is not there yet, parses, and writes the table."""
    check(wanted, ("train", *PARTS))
    results = Results.of(Row, wanted)
    trainings: dict[Key, Training] = {
        (language, part, str(seed)): encoder_of(Training(language, "accurate", 5, seed, wanted.paths.treebanks, ()))
        for seed, language, part in product(range(1, wanted.seeds + 1), wanted.languages, PARTS)
    }
    asked = {key: training.fingerprint() for key, training in trainings.items()}
    missing = dict.fromkeys(trainings[key] for key in results.missing(asked))  # both parts share a job
    jobs = [
        Job(f"{training.treebank} seed {training.seed}", partial(measure, training, Path(wanted.runs), wanted.fresh))
        for training in missing
    ]
    results.run(jobs, wanted.workers)
    results.finish("table.md", lambda rows: page_of(rows, wanted), asked, wanted.publish)


def measure(training: Training, runs: Path, fresh: bool = False) -> list[Row]:
    """Trains, unless that is done, and parses dev and test twice. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    train_encoder(runs, training, fresh)
    folder = folder_of(runs, training) / "model"
    model, int8 = (load_for_parsing(folder, int8=of_8_bits)[0] for of_8_bits in (False, True))
    rows = []
    for part in PARTS:
        sentences = read_treebank(str(getattr(training.settings().treebank, part))).sentences
        gold = GoldPart.of(sentences, model.vocabularies, model.relations)
        parses = parser_of(model).parse(gold.sentences), parser_of(int8).parse(gold.sentences)
        both = (gold.scores(found) for found in parses)
        las, uas, int8_las, int8_uas = (f"{scores[name]:.4f}" for scores in both for name in ("las", "uas"))
        words, others = str(gold.sentences.lengths.sum()), str(other_words(*parses))
        key = training.treebank, part, str(training.seed)
        rows.append(Row(*key, las, uas, int8_las, int8_uas, words, others, training.fingerprint()))
    return rows


def other_words(one: Parses, other: Parses) -> int:
    """How many words have another head or another relation."""
    return int(np.count_nonzero((one.heads != other.heads) | (one.relations != other.relations)))


def page_of(rows: Mapping[Key, Row], wanted: Int8) -> str:
    """The table of all treebanks that were asked for or that there are rows of."""
    languages = dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in rows.values())])
    return report(list(rows.values()), list(languages))


def report(rows: Sequence[Row], languages: Sequence[str]) -> str:
    """Markdown: by treebank and part, scores of both, the difference of LAS, and the words whose trees differ."""
    lines = []
    for language, part in product(languages, PARTS):
        found = [row for row in rows if (row.treebank, row.part) == (language, part)]
        if not found:
            lines.append([language, part, "not run", "", "", "", ""])
            continue
        scores = {name: [float(getattr(row, name)) for row in found] for name in ("las", "uas", "int8_las", "int8_uas")}
        means = {name: mean_and_deviation(of_name) for name, of_name in scores.items()}
        both = f"{means['las']} / {means['uas']}", f"{means['int8_las']} / {means['int8_uas']}"
        differences = np.subtract(scores["int8_las"], scores["las"])
        words, others = (sum(int(getattr(row, name)) for row in found) for name in ("words", "other_words"))
        least = f"{differences.min():+.2f}"
        lines.append([language, part, *both, f"{differences.mean():+.2f}", least, f"{100 * others / words:.2f}%"])
    head = ["treebank", "part", "LAS / UAS", "with --int8", "difference of LAS", "of the worst seed", "words that differ"]
    return (
        "# Products of 8 bits, recipe=accurate model=bilstm\n\nLAS / UAS in percent, all words, full relations, gold tags, "
        "mean ± standard deviation over seeds. Words that differ have another head or another relation.\n\n"
        f"{markdown(head, lines)}"
    )


if __name__ == "__main__":
    run(main, Int8, "int8", __doc__)
