"""What a parser of text needs: characters, tags as a second task, predicted tags as input, a tokenizer. Compared with UDPipe 1.

    python experiments/text.py paths.treebanks=../shared/ud-v2.2
    python experiments/text.py "languages=[hu]" seeds=1 "systems=[text]" workers=1 paths.treebanks=../shared/ud-v2.2

Every system is measured on the words of the test part, and on its raw text, which UDPipe 1's tokenizer splits (extra
``text``). The rows of experiments/text/results.csv are published, and are reused (see results.py); yours go to
runs/text/results.csv as trainings end. The table is beside them.
"""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import Trainings, check_known, run
from experiments.jobs import Job, run_jobs
from experiments.results import Key, Results, check
from experiments.tables import mean_and_deviation
from experiments.trainings import Training, run_training
from parser.conllu.files import open_input
from parser.conllu.stream import read_raw_sentences
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.files.tag_writing import TagUse
from parser.evaluation import evaluate_files
from parser.model.loading import load_for_parsing
from parser.model_folder import TOKENIZER
from parser.settings import training_files
from parser.storage.atomic import replacing
from parser.text.segmenter_training import train_segmenter
from parser.text.tokenizer import Tokenizer, segmenter_beside
from parser.text.tokenizer_training import train_tokenizer
from scripts.benchmarks import udpipe

UDPIPE = "UDPipe"

# The fields of a row: which score they are, on words and from text.
_METRICS = {"las": "las_universal", "uas": "uas", "upos": "upos", "ufeats": "ufeats"}
_RAW_METRICS = {"raw_las": "las_universal", "raw_upos": "upos", "raw_sentences": "sentences", "raw_words": "words"}


@dataclass
class Text(Trainings):
    """What to compare; configs/experiments/text.yaml says what each key is for."""

    recipe: str = MISSING
    systems: list[str] = field(default_factory=list)
    all_systems: dict[str, list[str]] = field(default_factory=dict)
    beams: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: official F1 on test in percent, relations without subtypes; on gold words, and from raw text.

    ``seconds``: wall-clock time of the training, without the tokenizer's.
    """

    system: str
    treebank: str
    seed: str
    las: str
    uas: str
    upos: str
    ufeats: str
    raw_las: str
    raw_upos: str
    raw_sentences: str
    raw_words: str
    seconds: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.system, self.treebank, self.seed


Rows = dict[Key, Row]

ConfigStore.instance().store(name="text_schema", node=Text)


def main(wanted: Text) -> None:
    """Trains what is not there yet, then writes the table."""
    check_known("systems", wanted.systems, [*wanted.all_systems, UDPIPE])
    check_known("beams", list(wanted.beams), list(wanted.all_systems))
    check(wanted, ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    systems, runs = wanted.systems or [*wanted.all_systems, UDPIPE], Path(wanted.runs)
    trainings: dict[Key, Training] = {}
    for seed, language, system in product(range(1, wanted.seeds + 1), wanted.languages, systems):
        if system != UDPIPE or seed == 1:  # UDPipe fixes its seeds itself
            trainings[system, language, str(seed)] = training_of(wanted, system, language, seed)
    asked = {key: "" if key[0] == UDPIPE else training.fingerprint() for key, training in trainings.items()}
    missing = results.missing(asked)
    treebanks = {key[1]: trainings[key] for key in missing}
    tokenizers = [Job(f"{name} tokenizer", partial(tokenizer_of, t, runs, wanted.fresh)) for name, t in treebanks.items()]
    for _ in run_jobs(tokenizers, wanted.workers):
        pass
    results.run(jobs_of({key: trainings[key] for key in missing}, wanted), wanted.workers)
    results.finish("table.md", lambda rows: page_of(rows, wanted), asked, wanted.publish)


def jobs_of(trainings: Mapping[Key, Training], wanted: Text) -> list[Job[list[Row]]]:
    """A job for UDPipe on each treebank, and one for all systems that share a training of ours."""
    sharing: dict[tuple[str, ...], dict[str, Training]] = {}
    for (system, language, seed), training in trainings.items():
        shared = UDPIPE if system == UDPIPE else training.fingerprint()
        sharing.setdefault((language, seed, shared), {})[system] = training
    return [
        Job(f"{language} {UDPIPE}", partial(run_udpipe, systems[UDPIPE], Path(wanted.runs)))
        if UDPIPE in systems
        else Job(f"{language} {'; '.join(systems)} seed {seed}", partial(run_ours, systems, wanted))
        for (language, seed, _), systems in sharing.items()
    ]


def training_of(wanted: Text, system: str, language: str, seed: int) -> Training:
    """The training of a system."""
    settings = tuple(wanted.all_systems.get(system, ()))
    return Training(language, wanted.recipe, 5, seed, wanted.paths.treebanks, settings)


def tokenizer_of(training: Training, runs: Path, fresh: bool = False) -> Path:
    """The tokenizer of a treebank, trained with the segmenter beside it if it is not there yet, or ``fresh``."""
    path = runs / training.treebank / TOKENIZER
    if fresh or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = training.settings()
        train_tokenizer(training_files(settings), settings.treebank.dev, path)
        train_segmenter(training_files(settings), settings.treebank.dev, path, seed=1)
    return path


def raw_text(path: str | Path) -> str:
    """The text of a file as in the shared task of CoNLL 2018: ``# text`` joined by spaces, a blank line between paragraphs."""
    paragraphs: list[list[str]] = [[]]
    with open_input(path) as stream:
        for sentence in read_raw_sentences(stream, str(path)):
            comments = [line.rstrip("\r\n") for line in sentence.lines if line.startswith("#")]
            if paragraphs[-1] and any(comment.startswith(("# newpar", "# newdoc")) for comment in comments):
                paragraphs.append([])
            paragraphs[-1] += [comment.removeprefix("# text = ") for comment in comments if comment.startswith("# text = ")]
    return "".join(" ".join(paragraph) + "\n\n" for paragraph in paragraphs)


def run_ours(systems: Mapping[str, Training], wanted: Text) -> list[Row]:
    """Trains what some of our systems share, and parses as each of them does. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    training = next(iter(systems.values()))
    folder = Path(wanted.runs) / f"{training.treebank}-seed{training.seed}-{training.fingerprint()}"
    metrics = run_training(training, folder, fresh=wanted.fresh)
    seconds = sum(metrics["seconds"].values())
    return [_parse_test(system, of_system, folder, wanted, seconds) for system, of_system in systems.items()]


def _parse_test(system: str, training: Training, folder: Path, wanted: Text, seconds: float) -> Row:
    """Parses the words and the text of the test part with the model of a run folder."""
    model, beam = load_for_parsing(folder, **wanted.beams.get(system, {}))
    settings, tokenizer = training.settings(), tokenizer_of(training, Path(wanted.runs))
    gold = str(settings.treebank.test)
    segmenter = segmenter_beside(tokenizer) if settings.segmenter == "bilstm" else None
    tokenized = b"".join(Tokenizer(tokenizer, segmenter).conllu(io.BytesIO(raw_text(gold).encode())))
    with open_input(gold) as stream:
        words = stream.read()
    written = []
    tags = TagUse.OVERWRITE if model.vocabularies.tags else TagUse.KEEP
    for name, content in {"words": words, "text": tokenized}.items():
        written.append(folder / f"{system.replace(' ', '_')}.{name}.conllu")
        with replacing(written[-1]) as temporary, temporary.open("wb") as target:
            parse_file(model, io.BytesIO(content), target, beam=beam, tags=tags)
    key = system, training.treebank, str(training.seed)
    return _row(key, gold, written, bool(model.vocabularies.tags), seconds, training.fingerprint())


def run_udpipe(training: Training, runs: Path) -> list[Row]:
    """Trains UDPipe's tagger, and its parser on the tags of it; parses with its default beam."""
    treebank = training.settings().treebank
    model_path = runs / training.treebank / "tagger_and_parser.udpipe"
    train, gold = Path(str(treebank.train)), str(treebank.test)
    begun = time.perf_counter()
    parser = {**udpipe.PARSER, "use_gold_tags": 0}
    udpipe.train(train.read_text(encoding="utf-8"), str(train), model_path, tagger=udpipe.TAGGER, parser=parser)
    seconds = time.perf_counter() - begun
    model = udpipe.Udpipe(model_path)
    tokenized = b"".join(Tokenizer(tokenizer_of(training, runs)).conllu(io.BytesIO(raw_text(gold).encode()))).decode()
    written = []
    for name, content in {"words": Path(gold).read_text(encoding="utf-8"), "text": tokenized}.items():
        path = runs / training.treebank / f"udpipe.{name}.conllu"
        path.write_text(model.parse(model.tag(content), beam=5), encoding="utf-8")
        written.append(path)
    return [_row((UDPIPE, training.treebank, "1"), gold, written, True, seconds, "")]


def _row(key: tuple[str, str, str], gold: str, written: list[Path], tags: bool, seconds: float, config: str) -> Row:
    on_words, from_text = (evaluate_files(gold, path) for path in written)
    scores = {name: on_words[metric].f1 for name, metric in _METRICS.items()}
    scores |= {name: from_text[metric].f1 for name, metric in _RAW_METRICS.items()}
    shown = {name: f"{score:.4f}" for name, score in scores.items()}
    if not tags:  # those of the input came through
        shown |= dict.fromkeys(("upos", "ufeats", "raw_upos"), "")
    return Row(*key, **shown, seconds=f"{seconds:.1f}", config=config)


def page_of(rows: Rows, wanted: Text) -> str:
    """Markdown: a table for each treebank that was asked for or that there are rows of."""
    lines = [
        f"# From text, recipe={wanted.recipe}",
        "",
        "F1 on test in percent by the official evaluation of CoNLL 2018, relations without subtypes, mean ± standard deviation "
        "over seeds. No system reads a tag of the input. Words of raw text are those of one tokenizer, UDPipe 1's, trained on "
        "the treebank; sentences are those of the segmenter trained with it, except where UDPipe's are named. Parsing is "
        "greedy except where a beam is named; its trees may be reranked by the heads that the encoder predicts. UDPipe is "
        "UDPipe 1 with its own tagger and beam 5, and its own sentences.",
    ]
    for language in dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in rows.values())]):
        lines += ["", f"## {language}", "", "| | LAS | UAS | UPOS | FEATS | LAS from text | UPOS | sentences | words |"]
        lines.append("|---" * 9 + "|")
        for system in [*wanted.all_systems, UDPIPE]:
            found = [row for row in rows.values() if (row.system, row.treebank) == (system, language)]
            lines.append(f"| {' | '.join([system, *_cells(found)])} |")
    return "\n".join(lines) + "\n"


def _cells(rows: list[Row]) -> Iterator[str]:
    for name in (*_METRICS, *_RAW_METRICS):
        values = [float(value) for row in rows if (value := getattr(row, name))]
        yield mean_and_deviation(values) if values else ("none" if rows else "not run")


if __name__ == "__main__":
    run(main, Text, "text", __doc__)
