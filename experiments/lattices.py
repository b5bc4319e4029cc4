"""Word lattices: the words of a sentence found along with its tree, against a given gold path and a pipeline; F1 on test.

    python experiments/lattices.py "languages=[tr]" paths.treebanks=../shared/ud-v2.2 lattices=../shared/lattices

Systems: (a) ``gold path``, the right path is given; (b) ``lattices``, trained to choose; (c) ``gold paths alone``, trained on
the right paths but parsing lattices; (d) ``UDPipe``, its tokenizer and tagger, and our parser after them.
Treebanks without lattices get some from a lexicon of their training part, jackknifed ones for training; their unknown tokens
have the most frequent tags of open classes, and (e) in ``lattices by suffixes`` those of the forms that end like them.

The rows of experiments/lattices/results.csv are published, and are reused (see results.py); yours go to
runs/lattices/results.csv as trainings end, with the table and a picture of LAS against the size of the beam. De la Clergerie
(2013) reports TedEval on closed data, which is another metric: its figures are not comparable with these.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import Trainings, check_known, run
from experiments.figures import BLUE, GREEN, ORANGE, PINK, RED, label_beam_sizes, panels, save
from experiments.jobs import Job
from experiments.results import Key, Results, check
from experiments.tables import mean_and_deviation
from experiments.text import raw_text, tokenizer_of
from experiments.trainings import Training, run_training
from parser.beam_settings import Beam
from parser.conllu.files import open_input, open_output
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.lattice.file import parsed_texts
from parser.decoding.lattice.parser import LatticeParser
from parser.evaluation import evaluate_files
from parser.lattices.conllul import read_lattices, text_of
from parser.lattices.gold_paths import gold_path, joined, read_trees
from parser.lattices.lattice import Lattice
from parser.lattices.lexicon import Guess, Lexicon, jackknife
from parser.model.model import Model
from parser.settings import training_files
from parser.storage.atomic import replacing
from parser.text.tokenizer import Tokenizer
from scripts.benchmarks import udpipe

GOLD, LATTICES, ALONE, PIPELINE = "gold path", "lattices", "gold paths alone", "UDPipe"
SUFFIXES = "lattices by suffixes"
SYSTEMS = (GOLD, LATTICES, SUFFIXES, ALONE, PIPELINE)
_COLOURS = {GOLD: BLUE, LATTICES: ORANGE, SUFFIXES: PINK, ALONE: GREEN, PIPELINE: RED}
_CHOOSING = (LATTICES, SUFFIXES)  # trained to choose
_METRICS = ("las_universal", "uas", "words", "upos")  # in the order of the fields of a row
PARTS = ("train", "dev", "test")

# Analysers give lemmas, which tell analyses of a word apart that have the same tags. They are read wherever forms are.
_LEMMAS = ["+features.lemma=${features.form}", "+embeddings.lemma=32"]


@dataclass
class LatticeExperiment(Trainings):
    """What to compare; configs/experiments/lattices.yaml says what each key is for."""

    recipe: str = MISSING
    systems: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    lookaheads: list[int] = field(default_factory=list)
    lemmas: list[bool] = field(default_factory=list)
    clocks: list[bool] = field(default_factory=list)
    lattices: str = MISSING
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    trees: dict[str, dict[str, str]] = field(default_factory=dict)
    overrides: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: official F1 on test in percent, over aligned words; relations without subtypes.

    ``lemmas``: whether the arcs' lemmas were read. ``clock``: whether items were compared by the clock, or by their steps.
    """

    system: str
    treebank: str
    seed: str
    lookahead: str
    lemmas: str
    clock: str
    size: str
    las: str
    uas: str
    words: str
    upos: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.system, self.treebank, self.seed, self.lookahead, self.lemmas, self.clock, self.size


Rows = dict[Key, Row]

ConfigStore.instance().store(name="lattices_schema", node=LatticeExperiment)


def main(wanted: LatticeExperiment) -> None:
    """Trains and parses what is not there yet, then writes the table and the picture."""
    check_known("systems", wanted.systems, list(_COLOURS))
    if SUFFIXES in wanted.systems and (own := [language for language in wanted.languages if language in wanted.files]):
        raise ValueError(f"{', '.join(own)}: lattices are given, so that nothing is guessed; leave out '{SUFFIXES}'")
    if any(language not in wanted.trees for language in wanted.languages):
        check(wanted, PARTS)
    results = Results.of(Row, wanted)
    asked: dict[Key, str] = {}
    missing: dict[tuple[str, Training], list[Key]] = {}
    trainings: dict[Key, tuple[str, Training]] = {}
    for key in keys(wanted):
        training = training_of(wanted, key[0], key[1], int(key[2]), int(key[3]), key[4] == "true")
        asked[key], trainings[key] = training.fingerprint(), (key[0], training)
    for key in results.missing(asked):
        missing.setdefault(trainings[key], []).append(key)
    jobs = [
        Job(f"{training.treebank} {system} seed {training.seed}", partial(run_one, training, cells, wanted))
        for (system, training), cells in missing.items()
    ]
    results.run(jobs, wanted.workers)
    results.finish("table.md", report, asked, wanted.publish, draw)


def keys(wanted: LatticeExperiment) -> Iterator[Key]:
    """The cells that are asked for. A given path and a pipeline know no clock; a pipeline knows no lookahead and no lemmas."""
    settings = product(wanted.languages, range(1, wanted.seeds + 1), wanted.systems or _COLOURS, wanted.sizes)
    for language, seed, system, size in settings:
        if system == SUFFIXES and language in wanted.files:
            continue
        lookaheads = wanted.lookaheads[-1:] if system == PIPELINE else wanted.lookaheads
        lemmas = [False] if system == PIPELINE else wanted.lemmas
        clocks = [True] if system in (GOLD, PIPELINE) else wanted.clocks
        for lookahead, *switches in product(lookaheads, lemmas, clocks):
            yield system, language, str(seed), str(lookahead), *(str(switch).lower() for switch in switches), str(size)


def training_of(wanted: LatticeExperiment, system: str, language: str, seed: int, lookahead: int, lemmas: bool) -> Training:
    """The training of a system; (a) and (c) have the same."""
    overrides = [f"treebank.{part}={file}" for part, file in wanted.trees.get(language, {}).items()]
    if system != PIPELINE:
        overrides += [f"lattice.{part}={file}" for part, file in lattice_files(wanted, system, language).items()]
        overrides += [f"lattice.lookahead={lookahead}", f"lattice.choices={str(system in _CHOOSING).lower()}"]
        overrides += _LEMMAS if lemmas else []
    return Training(language, wanted.recipe, 5, seed, wanted.paths.treebanks, (*overrides, *wanted.overrides))


def lattice_files(wanted: LatticeExperiment, system: str, language: str) -> dict[str, str]:
    """The files of lattices by part: given ones, or those that make_lattices() makes."""
    if language in wanted.files:
        return wanted.files[language]
    return {part: str(Path(wanted.runs) / "made" / f"{language}{_guess(system)}-{part}.conllul.xz") for part in PARTS}


def _guess(system: str) -> str:
    """What tells files of this system from those of others."""
    return "-suffixes" if system == SUFFIXES else ""


def make_lattices(wanted: LatticeExperiment, system: str, language: str) -> None:
    """Makes the lattices of a treebank that has none with a lexicon of its training part."""
    files = {part: Path(file) for part, file in lattice_files(wanted, system, language).items()}
    if language in wanted.files or all(file.exists() for file in files.values()):
        return
    settings = training_of(wanted, PIPELINE, language, 1, 1, lemmas=False).settings()
    train = [sentence for file in training_files(settings) for sentence in read_trees(file)]
    guess = Guess.SUFFIXES if system == SUFFIXES else Guess.FREQUENT
    lexicon = Lexicon.of(train, guess=guess)
    for part, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if part == "train":
            of_part = jackknife(train, guess=guess)
        else:
            of_part = map(lexicon.lattice, read_trees(getattr(settings.treebank, part)))
        write(file, "".join(map(text_of, of_part)))


def run_one(training: Training, cells: Sequence[Key], wanted: LatticeExperiment) -> list[Row]:
    """Trains a parser, or takes the one that is there, and parses test. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    (guess,) = {_guess(key[0]) for key in cells}  # cells of one training read the same lattices
    make_lattices(wanted, cells[0][0], training.treebank)
    folder = Path(wanted.runs) / f"{training.treebank}{guess}-seed{training.seed}-{training.fingerprint()}"
    run_training(training, folder, fresh=wanted.fresh)
    model, gold = Model.load(folder), str(training.settings().treebank.test)
    rows = []
    for key in cells:
        system, beam, clock = key[0], Beam(int(key[6])), key[5] == "true"
        parsed = folder / f"{system.replace(' ', '_')}-{key[6]}-{key[5]}.conllu"
        if system == PIPELINE:
            pipeline(training, Path(wanted.runs), model, beam, parsed)
            reference: str | Path = gold
        else:
            pairs = list(joined(read_lattices(lattice_files(wanted, system, training.treebank)["test"]), read_trees(gold)))
            lattices = [lattice for lattice, _ in pairs]
            if system == GOLD:
                lattices = [only_path(gold_path(*pair).lattice, gold_path(*pair).arcs.tolist()) for pair in pairs]
            texts = parsed_texts(LatticeParser(model, beam, clock=clock), model, lattices)
            write(parsed, "".join(text for text, _ in texts))
            reference = folder / "gold.conllu"
            write(reference, "".join("".join([*tree.lines, "\n"]) for _, tree in pairs))
        scores = evaluate_files(reference, parsed)
        las, uas, words, upos = (f"{scores[metric].f1:.4f}" for metric in _METRICS)
        cell = *key, las, uas, words, upos, training.fingerprint()
        rows.append(Row(*cell))
    return rows


def only_path(lattice: Lattice, arcs: Sequence[int]) -> Lattice:
    """The lattice with only the arcs of a path."""
    every = lattice.arc
    return Lattice.of([every[number] for number in arcs], lattice.tokens, lattice.comments, lattice.where, lattice.sent_id)


def pipeline(training: Training, runs: Path, model: Model, beam: Beam, parsed: Path) -> None:
    """The raw text of test, split and tagged by UDPipe, parsed by a model that was trained on gold tags."""
    settings = training.settings()
    tagger = runs / training.treebank / "tagger.udpipe"
    if not tagger.exists():
        with open_input(training_files(settings)[0]) as stream:
            udpipe.train(stream.read().decode(), training_files(settings)[0], tagger, tagger=udpipe.TAGGER)
    text = io.BytesIO(raw_text(str(settings.treebank.test)).encode())
    tokenized = b"".join(Tokenizer(tokenizer_of(training, runs)).conllu(text)).decode()
    tagged = udpipe.Udpipe(tagger).tag(tokenized).encode()
    with replacing(parsed) as temporary, temporary.open("wb") as target:
        parse_file(model, io.BytesIO(tagged), target, beam=beam)


def write(path: Path, text: str) -> None:
    """Writes a text, compressed if the name says so, whole or not at all."""
    with open_output(path) as target:
        target.write(text)


def report(rows: Rows) -> str:
    """Markdown: a table for each treebank, lookahead, clock, and whether lemmas are read; the pipeline is in all of them."""
    lines = [
        "# Word lattices",
        "",
        "Official F1 of CoNLL 2018 on test in percent over aligned words, relations without subtypes: LAS, in parentheses that "
        "of words and of UPOS; mean ± standard deviation of LAS over seeds. Sentences without a lattice are left out, but for "
        "UDPipe, which splits the raw text of the whole file.",
    ]
    pipelines = [row for row in rows.values() if row.system == PIPELINE]
    others = [row for row in rows.values() if row.system != PIPELINE]
    asked = {(row.treebank, row.lookahead, row.lemmas, row.clock) for row in others or pipelines}
    for treebank, lookahead, lemmas, clock in sorted(asked):
        found = [r for r in others if (r.treebank, r.lookahead, r.lemmas, r.clock) == (treebank, lookahead, lemmas, clock)]
        found += [row for row in pipelines if row.treebank == treebank]
        systems = [system for system in _COLOURS if any(row.system == system for row in found)]
        read, compared = "read" if lemmas == "true" else "not read", "clock" if clock == "true" else "steps"
        lines += [
            "",
            f"## {treebank}, {lookahead} words ahead, lemmas {read}, compared by {compared}",
            "",
            f"| beam | {' | '.join(systems)} |",
        ]
        lines.append("|---" * (1 + len(systems)) + "|")
        for size in sorted({int(row.size) for row in found}):
            cells = [_cell([row for row in found if row.system == system and row.size == str(size)]) for system in systems]
            lines.append(f"| {size} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return "not run"
    words, upos = (sum(float(getattr(row, name)) for row in rows) / len(rows) for name in ("words", "upos"))
    return f"{mean_and_deviation([float(row.las) for row in rows])} ({words:.1f}, {upos:.1f})"


def draw(rows: Rows, folder: Path) -> None:
    """Plots LAS against the size of the beam, a picture for each treebank; items compared by the clock."""
    for treebank in sorted({row.treebank for row in rows.values()}):
        of_treebank = [row for row in rows.values() if row.treebank == treebank and row.clock == "true"]
        figure, (plot,) = panels(width=7)
        for system, colour in _COLOURS.items():
            own = [row for row in of_treebank if row.system == system]
            settings = sorted({(row.lookahead, row.lemmas) for row in own}, reverse=True)
            for style, setting in zip(("-", "--", ":", "-."), settings, strict=False):
                drawn = [row for row in own if (row.lookahead, row.lemmas) == setting]
                sizes = sorted({int(row.size) for row in drawn})
                scores = [[float(row.las) for row in drawn if row.size == str(size)] for size in sizes]
                means = [sum(of_size) / len(of_size) for of_size in scores]
                read = " with lemmas" if setting[1] == "true" else ""
                label = system if system == PIPELINE else f"{system}{read}, {setting[0]} ahead"
                plot.plot(sizes, means, style, marker="o", color=colour, label=label)
        label_beam_sizes(plot)
        save(figure, folder / f"{treebank}.svg")


if __name__ == "__main__":
    run(main, LatticeExperiment, "lattices", __doc__)
