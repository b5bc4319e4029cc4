"""What parsing in 8 bits costs in accuracy: the same encoder's trees with products of 32 and of 8 bits.

    python experiments/int8.py paths.treebanks=../shared/ud-v2.2

A parser with an encoder (recipe=accurate model=bilstm) parses dev and test twice, as scripts/parse.py does without and with
``--int8``. The run folders are those of comparison.py --config-name=accurate: a parser that is there is not trained again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from experiments.command import Trainings
from experiments.engine import Cell, Experiment, check
from experiments.tables import Key, Row, lines_of, markdown, names_of, numbers, score
from experiments.trainings import Training, encoder_folder, encoder_of, formatted, run_training
from parser.data.sentences import Parses
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation.gold_part import GoldPart
from parser.model.loading import load_for_parsing

PARTS = ("dev", "test")


def encoder(wanted: Trainings, treebank: str, seed: int | str) -> Training:
    """The training of the parser."""
    return encoder_of(Training.of(wanted, treebank, seed))


def cells(wanted: Trainings) -> list[Cell]:
    """One for each part; those of both share a job."""
    check(wanted, ("train", *PARTS))
    return [
        Cell((language, part, str(seed)), encoder(wanted, language, seed).described, f"{language} seed {seed}")
        for seed, language, part in product(range(1, wanted.seeds + 1), wanted.languages, PARTS)
    ]


def measure(wanted: Trainings, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains, unless that is done, and parses the parts twice."""
    treebank, _, seed = group[0].key
    training = encoder(wanted, treebank, seed)
    folder = encoder_folder(wanted.runs, training)
    run_training(training, folder, fresh=wanted.fresh)
    model, int8 = (load_for_parsing(folder / "model", int8=of_8_bits)[0] for of_8_bits in (False, True))
    for cell in group:
        gold = GoldPart.of(read_treebank(training.part(cell.key[1])).sentences, model.vocabularies, model.relations)
        parses = parser_of(model).parse(gold.sentences), parser_of(int8).parse(gold.sentences)
        scores = [text for found in parses for text in formatted(gold.scores(found), "las", "uas")]
        counts = str(gold.sentences.lengths.sum()), str(other_words(*parses))
        yield cell.key, dict(zip(MEASURED, [*scores, *counts], strict=True))


def other_words(one: Parses, other: Parses) -> int:
    """How many words have another head or another relation."""
    return int(np.count_nonzero((one.heads != other.heads) | (one.relations != other.relations)))


def page(rows: list[Row], wanted: Trainings) -> str:
    """Markdown: by treebank and part, scores of both, the difference of LAS, and the words whose trees differ."""
    head = ["treebank", "part", "LAS / UAS", "with --int8", "difference of LAS", "of the worst seed", "words that differ"]
    values = {"treebank": names_of(rows, "treebank", wanted.languages), "part": PARTS}
    return wanted.head() + markdown(head, lines_of(rows, values, _cells))


def _cells(found: list[Row]) -> list[str]:
    differences = np.subtract(numbers(found, "int8_las"), numbers(found, "las"))
    share = 100 * sum(numbers(found, "other_words")) / sum(numbers(found, "words"))
    both = score(found, "las", "uas"), score(found, "int8_las", "int8_uas")
    return [*both, f"{differences.mean():+.2f}", f"{differences.min():+.2f}", f"{share:.2f}%"]


# Percentages, all words, full relations, gold tags; ``other_words`` are those that have another head or relation in 8 bits.
MEASURED = ("las", "uas", "int8_las", "int8_uas", "words", "other_words")
EXPERIMENT = Experiment("int8", Trainings, ("treebank", "part", "seed"), MEASURED, cells, measure, page)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
