"""Parsing from text: what is gained from characters, tags as a second task, predicted tags as
input, and beams.

    python experiments/text.py paths.treebanks=ud-v2.2
    python experiments/text.py "languages=[hu]" seeds=1 "systems=[text]" workers=1
    paths.treebanks=ud-v2.2

Every system is measured on the words of the test part, and on its raw text, which one tokenizer
splits (``experiments/tokenizing.py`` compares tokenizers). The published rows are older: UDPipe 1's
tokenizer found their words.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, Job, check
from experiments.tables import (
    NOT_RUN,
    Key,
    Row,
    chosen,
    mean_and_deviation,
    names_of,
    numbers,
    plain_table,
)
from experiments.tokenizing import train_into
from experiments.trainings import Training, run_training
from oracles.errors import OptimalStepError
from parser.conllu.files import open_input
from parser.conllu.stream import read_sentences
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.parse_options import ParseOptions, predicted_tags
from parser.decoding.predictor import Predictor
from parser.evaluation import evaluate_files
from parser.model.loading import load
from parser.model_folder import TOKENIZER
from parser.storage import replacing
from parser.text.pipeline import TextPipeline

# Systems of published rows that cannot be asked for any more, and what to do instead.
GONE = {
    "UDPipe": "experiments/peers.py measures UDPipe",
    "text, UDPipe's sentences": "experiments/tokenizing.py compares tokenizers",
}

# The score in each column of a row, on words and from text.
_METRICS = {
    "las": "las_universal",
    "uas": "uas",
    "upos": "upos",
    "ufeats": "ufeats",
    "lemmas": "lemmas",
}
_RAW_METRICS = {
    "raw_las": "las_universal",
    "raw_upos": "upos",
    "raw_ufeats": "ufeats",
    "raw_lemmas": "lemmas",
    "raw_mlas": "mlas",
    "raw_blex": "blex",
    "raw_sentences": "sentences",
    "raw_words": "words",
}
# Columns left empty if a parser predicts no tags, or no lemmas, because they would show those of
# the input.
_OF_TAGS = ("upos", "ufeats", "raw_upos", "raw_ufeats", "raw_mlas")
_OF_LEMMAS = ("lemmas", "raw_lemmas", "raw_blex")


@dataclass
class Text(Trainings):
    """What to compare; configs/experiments/text.yaml explains the keys."""

    systems: list[str]
    all_systems: dict[str, list[str]]
    beams: dict[str, dict[str, Any]]

    def training(self, system: str, treebank: str, seed: int | str) -> Training:
        """Return the training of a system."""
        return Training.of(self, treebank, seed, self.all_systems.get(system, ()))


def cells(wanted: Text) -> list[Cell]:
    """Return a cell for each system, treebank and seed; cells that share a training run share a
    job.
    """
    if gone := [name for name in wanted.systems if name in GONE]:
        raise OptimalStepError(
            f"system {gone[0]!r} has been removed (commit c2a89270 still has it); {GONE[gone[0]]}"
        )
    check_known("systems", wanted.systems, wanted.all_systems)
    check_known("beams", list(wanted.beams), list(wanted.all_systems))
    check(wanted, ("train", "dev", "test"))
    all_cells = []
    for seed, language, system in product(
        range(1, wanted.seeds + 1), wanted.languages, wanted.systems or wanted.all_systems
    ):
        training = wanted.training(system, language, seed)
        beam = [
            f"beam.{name}={str(value).lower()}"
            for name, value in wanted.beams.get(system, {}).items()
        ]
        settings = " ".join([training.described, *beam])
        all_cells.append(
            Cell(
                (system, language, str(seed)),
                settings,
                f"{language} {training.described} seed {seed}",
            )
        )
    return all_cells


def prepare(wanted: Text, missing: list[Cell]) -> list[Job[Any]]:
    """Train the tokenizers."""
    treebanks = dict.fromkeys(cell.key[1] for cell in missing)
    return [
        Job(
            f"{name} tokenizer",
            partial(tokenizer_of, Training.of(wanted, name, 1), Path(wanted.runs), wanted.fresh),
        )
        for name in treebanks
    ]


def tokenizer_of(training: Training, runs: Path, fresh: bool = False) -> Path:
    """Return the folder of the tokenizer of a treebank; if there is none yet, or ``fresh``,
    train it and a segmenter.
    """
    folder = runs / training.treebank
    if fresh or not (folder / TOKENIZER).exists():
        train_into(training, folder, seed=1)
    return folder


def raw_text(path: str | Path) -> str:
    """Return the text of a file as in the CoNLL 2018 shared task: ``# text`` joined by spaces,
    paragraphs by blank lines.
    """
    paragraphs: list[list[str]] = [[]]
    for sentence in read_sentences(path):
        comments = [line.rstrip("\r\n") for line in sentence.lines if line.startswith("#")]
        if paragraphs[-1] and any(
            comment.startswith(("# newpar", "# newdoc")) for comment in comments
        ):
            paragraphs.append([])
        paragraphs[-1] += [
            comment.removeprefix("# text = ")
            for comment in comments
            if comment.startswith("# text = ")
        ]
    return "".join(" ".join(paragraph) + "\n\n" for paragraph in paragraphs)


def tokenized(training: Training, runs: Path) -> bytes:
    """Return CoNLL-U of the raw text of the test part."""
    text = io.BytesIO(raw_text(training.part("test")).encode())
    return b"".join(TextPipeline.of_model(tokenizer_of(training, runs)).conllu(text))


def measure(wanted: Text, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train the model that some systems share,
    and parse words and text of the test part with each system.
    """
    system, treebank, seed = group[0].key
    training, runs = wanted.training(system, treebank, seed), Path(wanted.runs)
    folder = runs / f"{treebank}-seed{seed}-{training.folder}"
    seconds = sum(run_training(training, folder, fresh=wanted.fresh)["seconds"].values())
    gold = training.part("test")
    with open_input(gold) as stream:
        contents = {"words": stream.read(), "text": tokenized(training, runs)}
    for cell in group:
        system = cell.key[0]
        model, beam = load(folder), dict(wanted.beams.get(system, {}))
        options = ParseOptions(beam=beam.pop("size", None), tags=predicted_tags(model), **beam)
        written = []
        for name, content in contents.items():
            written.append(folder / f"{system.replace(' ', '_')}.{name}.conllu")
            with replacing(written[-1]) as temporary, temporary.open("wb") as target:
                parse_file(Predictor(model, options), io.BytesIO(content), target)
        empty: tuple[str, ...] = () if model.vocabularies.tags else _OF_TAGS
        empty += () if model.vocabularies.lemmas else _OF_LEMMAS
        yield cell.key, _scores(gold, written, empty, seconds)


def _scores(
    gold: Path, written: list[Path], empty: tuple[str, ...], seconds: float
) -> dict[str, str]:
    on_words, from_text = (evaluate_files(gold, path) for path in written)
    scores = {name: f"{on_words[metric].f1:.4f}" for name, metric in _METRICS.items()}
    scores |= {name: f"{from_text[metric].f1:.4f}" for name, metric in _RAW_METRICS.items()}
    return scores | dict.fromkeys(empty, "") | {"seconds": f"{seconds:.1f}"}


def page(rows: list[Row], wanted: Text) -> str:
    """Return Markdown: a table for each treebank that is asked for or has rows."""
    head = ["", "LAS (official)", "UAS", "UPOS", "FEATS", "lemmas"]
    head += [
        "LAS (official) from text",
        "UPOS",
        "FEATS",
        "lemmas",
        "MLAS",
        "BLEX",
        "sentences",
        "words",
    ]
    parts = []
    for language in names_of(rows, "treebank", wanted.languages):
        lines = [
            [name, *_cells(chosen(rows, system=name, treebank=language))]
            for name in [*wanted.all_systems, *GONE]
        ]
        parts.append(f"## {language}\n\n{plain_table(head, lines)}")
    return wanted.head() + "\n".join(parts)


def _cells(rows: list[Row]) -> Iterator[str]:
    for name in (*_METRICS, *_RAW_METRICS):
        values = numbers(rows, name)
        yield mean_and_deviation(values) if values else ("-" if rows else NOT_RUN)


# F1 on test in percent, LAS (official), on gold words and from raw text. ``seconds``: wall-clock
# time of the training, without the tokenizer.
MEASURED = (*_METRICS, *_RAW_METRICS, "seconds")
KEY = ("system", "treebank", "seed")
EXPERIMENT = Experiment("text", Text, KEY, MEASURED, cells, measure, page, prepare=prepare)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
