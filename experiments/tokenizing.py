"""Compares our tokenizer with another version's output for the same text, under the same parser:
words, sentences, trees.

    python experiments/tokenizing.py "languages=[hu,el,cu,got]" paths.treebanks=ud-v2.2
    python experiments/tokenizing.py "languages=[en,cy]" "+models={en: en, cy:
    RUN_FOLDER}" before=FOLDER \
        paths.treebanks=ud-v2.16

The text of the test part is that of scripts/make_models.py; it is written to runs=, as
TREEBANK.txt. For each seed a tokenizer and a segmenter are trained. The parser is the one of
models=, or one of recipe=, trained with seed 1.

before= is a folder with the trees of another version, such as a commit with UDPipe's tokenizer:
TREEBANK.conllu is what its ``parse MODEL TREEBANK.txt --text`` wrote. It is measured as it is, and
with its words and sentences parsed by the one parser.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from experiments.command import MODELS, Trainings
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
from experiments.trainings import Training, run_training
from oracles.errors import OptimalStepError
from parser.data.treebank import language_of
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.parse_options import ParseOptions, predicted_tags
from parser.decoding.predictor import Predictor
from parser.evaluation import evaluate_files
from parser.model.loading import load
from parser.model.packs import named_folder
from parser.model_folder import TENSORS, TOKENIZER, find_model
from parser.settings.groups import PathKind, PathSetting
from parser.settings.plan import plan
from parser.storage import replacing, replacing_folder, sha256_of
from parser.text.pipeline import TextPipeline
from parser.training.text import write_splitting
from scripts.make_models import raw_text

# Whose words and sentences: another version's with its own trees, another version's, ours.
WHOLE, BEFORE, OURS = "before, its own trees", "before", "characters"
_METRICS = {
    "tokens": "tokens",
    "words": "words",
    "sentences": "sentences",
    "las": "las_universal",
    "lemmas": "lemmas",
}
_HEADS = {
    "tokens": "tokens",
    "words": "words",
    "sentences": "sentences",
    "las": "LAS (official)",
    "lemmas": "lemmas",
}


@dataclass
class Tokenizers(Trainings):
    """What to compare; configs/experiments/tokenizers.yaml explains the keys."""

    models: dict[str, str] = field(metadata=MODELS)
    before: str | None = field(metadata={"path": PathSetting(PathKind.FOLDER)})

    def training(self, treebank: str) -> Training:
        """Return the training of a parser that is not given."""
        return Training.of(self, treebank, 1)

    def parser(self, treebank: str) -> str:
        """Return the name of the parser, for the settings of a row."""
        if treebank not in self.models:
            return self.training(treebank).described
        return f"model={sha256_of(self.given(treebank) / TENSORS)[:8]}"

    def given(self, treebank: str) -> Path:
        """Return the folder of a parser that is given."""
        return find_model(named_folder(Path(self.models[treebank])))

    def split_before(self, treebank: str) -> Path:
        """Return the trees of another version."""
        assert self.before is not None
        return Path(self.before) / f"{treebank}.conllu"


def cells(wanted: Tokenizers) -> list[Cell]:
    """Return a cell for each treebank and seed of the tokenizer,
    and two for the output of another version.
    """
    check(wanted, ("train", "dev", "test"))
    all_cells = []
    for treebank in wanted.languages:
        parser = wanted.parser(treebank)
        keys = [(OURS, str(seed)) for seed in range(1, wanted.seeds + 1)]
        if wanted.before is not None:
            if not wanted.split_before(treebank).is_file():
                raise OptimalStepError(
                    f"before={wanted.before}: {treebank}.conllu is not there; with the other "
                    f"version, make it of {text_file(wanted, treebank)} (optimal-step parse MODEL "
                    "FILE --text), or leave it out of languages="
                )
            keys += [(BEFORE, "1"), (WHOLE, "1")]
        all_cells += [Cell((treebank, *key), parser, " ".join([treebank, *key])) for key in keys]
    return all_cells


def text_file(wanted: Tokenizers, treebank: str) -> Path:
    """Return the file of the text of a test part."""
    return Path(wanted.runs) / f"{treebank}.txt"


def prepare(wanted: Tokenizers, missing: list[Cell]) -> list[Job[Any]]:
    """Write the texts, and train the parsers that are not given."""
    treebanks = dict.fromkeys(cell.key[0] for cell in missing)
    return [
        Job(f"{treebank} parser", partial(parser_of, wanted, treebank)) for treebank in treebanks
    ]


def parser_of(wanted: Tokenizers, treebank: str) -> Path:
    """Return the folder of the one parser of a treebank, trained if it is not given;
    write the text beside it.
    """
    training, file = wanted.training(treebank), text_file(wanted, treebank)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as temporary:
        temporary.write_text(raw_text(training.part("test")), encoding="utf-8", newline="\n")
    if treebank in wanted.models:
        return wanted.given(treebank)
    folder = Path(wanted.runs) / f"{treebank}-{training.folder}"
    run_training(training, folder, fresh=wanted.fresh)
    return find_model(folder)


def train_into(training: Training, folder: Path, seed: int) -> dict[str, float]:
    """Train a tokenizer and a segmenter as a run with tokenizer=characters does;
    return the CPU seconds of each.

    The folder is replaced only when both are there, so that nothing is left of an interrupted
    training run.

    Raises:
        NoRunningTextError: the treebank has no running text.
    """
    planned = plan(training.settings())
    torch.set_num_threads(planned.threads)
    train, dev = planned.files.train.paths, training.part("dev")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with replacing_folder(folder) as temporary:
        seconds = write_splitting(train, dev, temporary, seed, language=language_of(train))
        return {"seconds": seconds["tokenizer"], "segmenter_seconds": seconds["segmenter"]}


def measure(wanted: Tokenizers, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Split the text of the test part, parse it, and compare it with the treebank."""
    for cell in group:
        treebank, words, seed = cell.key
        training, runs, seconds = wanted.training(treebank), Path(wanted.runs), {}
        gold, parsed = (
            training.part("test"),
            runs / f"{treebank}-{words.replace(', ', '_').replace(' ', '_')}-{seed}.conllu",
        )
        if words == WHOLE:
            parsed = wanted.split_before(treebank)
        else:
            if words == OURS:
                folder = runs / f"{treebank}-tokenizer-{seed}"
                if wanted.fresh or not (folder / TOKENIZER).is_file():
                    seconds = train_into(training, folder, int(seed))
                with text_file(wanted, treebank).open("rb") as text:
                    content = b"".join(TextPipeline.of_model(folder).conllu(text))
            else:
                content = wanted.split_before(treebank).read_bytes()
            model = load(parser_of(wanted, treebank))
            predictor = Predictor(model, ParseOptions(tags=predicted_tags(model)))
            with replacing(parsed) as temporary, temporary.open("wb") as target:
                parse_file(predictor, io.BytesIO(content), target)
        scores = evaluate_files(gold, parsed)
        values = {column: f"{scores[metric].f1:.4f}" for column, metric in _METRICS.items()}
        yield cell.key, values | {name: f"{number:.1f}" for name, number in seconds.items()}


def page(rows: list[Row], wanted: Tokenizers) -> str:
    """Return Markdown: a line for each treebank, and whose words and sentences they are."""
    lines = []
    for treebank, words in product(
        names_of(rows, "treebank", wanted.languages), (WHOLE, BEFORE, OURS)
    ):
        there = chosen(rows, treebank=treebank, words_of=words)
        values = [numbers(there, column) for column in _METRICS]
        lines.append(
            [
                treebank,
                words,
                *(mean_and_deviation(scores) if scores else NOT_RUN for scores in values),
            ]
        )
    return wanted.head() + plain_table(["", "words of", *_HEADS.values()], lines)


# F1 on test in percent; CPU seconds of the training of a tokenizer, and of the segmenter,
# empty if both were there before.
MEASURED = (*_METRICS, "seconds", "segmenter_seconds")
KEY = ("treebank", "words_of", "seed")
EXPERIMENT = Experiment(
    "tokenizers", Tokenizers, KEY, MEASURED, cells, measure, page, prepare=prepare
)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
