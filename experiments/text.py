"""Parsing from text: what characters, tags as a second task, predicted tags as input and a tokenizer bring; and UDPipe 1.

    python experiments/text.py paths.treebanks=ud-v2.2
    python experiments/text.py "languages=[hu]" seeds=1 "systems=[text]" workers=1 paths.treebanks=ud-v2.2

Every system is measured on the words of the test part, and on its raw text, which UDPipe 1's tokenizer splits.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, Job, check
from experiments.tables import NOT_RUN, Key, Row, chosen, mean_and_deviation, names_of, numbers, plain_table
from experiments.trainings import Training, run_training
from parser.conllu.files import open_input
from parser.conllu.stream import read_sentences
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.parse_options import ParseOptions, predicted_tags
from parser.decoding.predictor import Predictor
from parser.evaluation import evaluate_files
from parser.model.loading import load
from parser.model_folder import SEGMENTER
from parser.settings.plan import plan
from parser.storage import replacing
from parser.text.pipeline import TextPipeline
from parser.text.segmenter import Segmenter
from parser.text.segmenter_training import train_segmenter
from scripts.benchmarks import udpipe

UDPIPE = "UDPipe"
TOKENIZER = "tokenizer.udpipe"

# The score in each column of a row, on words and from text.
_METRICS = {"las": "las_universal", "uas": "uas", "upos": "upos", "ufeats": "ufeats", "lemmas": "lemmas"}
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
# Columns left empty if a parser predicts no tags, or no lemmas, as they would show the input.
_OF_TAGS = ("upos", "ufeats", "raw_upos", "raw_ufeats", "raw_mlas")
_OF_LEMMAS = ("lemmas", "raw_lemmas", "raw_blex")


@dataclass
class Text(Trainings):
    """What to compare; configs/experiments/text.yaml explains the keys."""

    systems: list[str]
    all_systems: dict[str, list[str]]
    beams: dict[str, dict[str, Any]]

    def training(self, system: str, treebank: str, seed: int | str) -> Training:
        """Return the training of a system, without the choice of segmenter, which only parsing uses."""
        settings = [one for one in self.all_systems.get(system, ()) if not one.startswith("segmenter=")]
        return Training.of(self, treebank, seed, settings)


def cells(wanted: Text) -> list[Cell]:
    """Return a cell for each system, treebank and seed (UDPipe fixes its seeds); cells that share a training share a job."""
    check_known("systems", wanted.systems, [*wanted.all_systems, UDPIPE])
    check_known("beams", list(wanted.beams), list(wanted.all_systems))
    check(wanted, ("train", "dev", "test"))
    systems = wanted.systems or [*wanted.all_systems, UDPIPE]
    found = []
    for seed, language, system in product(range(1, wanted.seeds + 1), wanted.languages, systems):
        if system != UDPIPE:
            training = wanted.training(system, language, seed)
            beam = [f"beam.{name}={str(value).lower()}" for name, value in wanted.beams.get(system, {}).items()]
            settings = " ".join([Training.of(wanted, language, seed, wanted.all_systems[system]).described, *beam])
            found.append(Cell((system, language, str(seed)), settings, f"{language} {training.described} seed {seed}"))
        elif seed == 1:
            found.append(Cell((system, language, "1"), "", f"{language} {UDPIPE}"))
    return found


def prepare(wanted: Text, missing: list[Cell]) -> list[Job[Any]]:
    """Trains the tokenizers."""
    treebanks = dict.fromkeys(cell.key[1] for cell in missing)
    return [
        Job(f"{name} tokenizer", partial(tokenizer_of, Training.of(wanted, name, 1), Path(wanted.runs), wanted.fresh))
        for name in treebanks
    ]


def tokenizer_of(training: Training, runs: Path, fresh: bool = False) -> Path:
    """Return the tokenizer of a treebank; if there is none yet, or ``fresh``, train it and the segmenter beside it."""
    path = runs / training.treebank / TOKENIZER
    if fresh or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = training.settings()
        train, dev = plan(settings).files.train.paths, settings.treebank.dev
        udpipe.train_tokenizer(train, dev, path, sentences=False)
        train_segmenter(train, dev, TextPipeline(udpipe.UdpipeSplitter(path)), path.parent, seed=1)
    return path


def raw_text(path: str | Path) -> str:
    """Return the text of a file as in the CoNLL 2018 shared task: ``# text`` joined by spaces, paragraphs by blank lines."""
    paragraphs: list[list[str]] = [[]]
    for sentence in read_sentences(path):
        comments = [line.rstrip("\r\n") for line in sentence.lines if line.startswith("#")]
        if paragraphs[-1] and any(comment.startswith(("# newpar", "# newdoc")) for comment in comments):
            paragraphs.append([])
        paragraphs[-1] += [comment.removeprefix("# text = ") for comment in comments if comment.startswith("# text = ")]
    return "".join(" ".join(paragraph) + "\n\n" for paragraph in paragraphs)


def tokenized(training: Training, runs: Path, segmenter: bool = False) -> bytes:
    """Return CoNLL-U of the raw text of the test part, with sentences of UDPipe or of our segmenter."""
    path = tokenizer_of(training, runs)
    ends = Segmenter.load(path.parent) if segmenter and (path.parent / SEGMENTER).is_file() else None
    tokenizer = TextPipeline(udpipe.UdpipeSplitter(path), ends)
    return b"".join(tokenizer.conllu(io.BytesIO(raw_text(training.part("test")).encode())))


def measure(wanted: Text, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains the model that some systems share, and parses words and text of the test part with each system."""
    system, treebank, seed = group[0].key
    training, runs = wanted.training(system, treebank, seed), Path(wanted.runs)
    if system == UDPIPE:
        yield group[0].key, _measure_udpipe(training, runs)
        return
    folder = runs / f"{treebank}-seed{seed}-{training.folder}"
    seconds = sum(run_training(training, folder, fresh=wanted.fresh)["seconds"].values())
    gold = training.part("test")
    for cell in group:
        system = cell.key[0]
        model, beam = load(folder), dict(wanted.beams.get(system, {}))
        options = ParseOptions(beam=beam.pop("size", None), tags=predicted_tags(model), **beam)
        own = Training.of(wanted, treebank, seed, wanted.all_systems[system]).settings()
        with open_input(gold) as stream:
            contents = {"words": stream.read(), "text": tokenized(training, runs, own.segmenter == "bilstm")}
        written = []
        for name, content in contents.items():
            written.append(folder / f"{system.replace(' ', '_')}.{name}.conllu")
            with replacing(written[-1]) as temporary, temporary.open("wb") as target:
                parse_file(Predictor(model, options), io.BytesIO(content), target)
        empty: tuple[str, ...] = () if model.vocabularies.tags else _OF_TAGS
        empty += () if model.vocabularies.lemmas else _OF_LEMMAS
        yield cell.key, _scores(gold, written, empty, seconds)


def _measure_udpipe(training: Training, runs: Path) -> dict[str, str]:
    """Trains UDPipe's tagger and lemmatizer, and its parser on their tags; parses with its default beam."""
    model_path = runs / training.treebank / "tagger_and_parser.udpipe"
    train, gold = training.part("train"), training.part("test")
    begun = time.perf_counter()
    parser = {**udpipe.PARSER, "use_gold_tags": 0}
    udpipe.train(train.read_text(encoding="utf-8"), str(train), model_path, tagger=udpipe.TAGGER, parser=parser)
    seconds = time.perf_counter() - begun
    model = udpipe.Udpipe(model_path)
    written = []
    for name, content in {"words": gold.read_text(encoding="utf-8"), "text": tokenized(training, runs).decode()}.items():
        written.append(runs / training.treebank / f"udpipe.{name}.conllu")
        written[-1].write_text(model.parse(model.tag(content), beam=5), encoding="utf-8", newline="\n")
    return _scores(gold, written, (), seconds)


def _scores(gold: Path, written: list[Path], empty: tuple[str, ...], seconds: float) -> dict[str, str]:
    on_words, from_text = (evaluate_files(gold, path) for path in written)
    scores = {name: f"{on_words[metric].f1:.4f}" for name, metric in _METRICS.items()}
    scores |= {name: f"{from_text[metric].f1:.4f}" for name, metric in _RAW_METRICS.items()}
    return scores | dict.fromkeys(empty, "") | {"seconds": f"{seconds:.1f}"}


def page(rows: list[Row], wanted: Text) -> str:
    """Return Markdown: a table for each treebank that is asked for or has rows."""
    head = ["", "LAS (official)", "UAS", "UPOS", "FEATS", "lemmas"]
    head += ["LAS (official) from text", "UPOS", "FEATS", "lemmas", "MLAS", "BLEX", "sentences", "words"]
    parts = []
    for language in names_of(rows, "treebank", wanted.languages):
        lines = [[name, *_cells(chosen(rows, system=name, treebank=language))] for name in [*wanted.all_systems, UDPIPE]]
        parts.append(f"## {language}\n\n{plain_table(head, lines)}")
    return wanted.head() + "\n".join(parts)


def _cells(rows: list[Row]) -> Iterator[str]:
    for name in (*_METRICS, *_RAW_METRICS):
        values = numbers(rows, name)
        yield mean_and_deviation(values) if values else ("-" if rows else NOT_RUN)


# F1 on test in percent, LAS (official), on gold words and from raw text. ``seconds``: wall-clock time of the training, without
# the tokenizer.
MEASURED = (*_METRICS, *_RAW_METRICS, "seconds")
KEY = ("system", "treebank", "seed")
EXPERIMENT = Experiment("text", Text, KEY, MEASURED, cells, measure, page, prepare=prepare)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
