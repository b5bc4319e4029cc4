"""Word lattices: parsers that find the words of a sentence together with its tree, compared with a
gold path and with a pipeline; F1 on test.

    python experiments/lattices.py "languages=[tr]" paths.treebanks=ud-v2.2 lattices=LATTICES

Systems: (a) ``gold path``: the right path is given; (b) ``lattices``: trained to choose; (c) ``gold
paths alone``: trained on the right paths, but parses lattices; (d) ``UDPipe``: its tokenizer and
tagger, followed by our parser. Treebanks without lattices get them from a lexicon of their training
part, jackknifed for training. Unknown tokens get the most frequent tags of open classes or, in (e)
``lattices by suffixes``, the tags of known forms with the same ending.

TREEBANK.svg shows LAS against the size of the beam. Items of the beam are compared at the same time
of the clock of lattices (docs/lattices.md explains it), not after the same number of steps. Rows
with ``clock`` false, whose items were compared after the same number of steps, were measured at
1d239c4 or before; this setting was removed. De la Clergerie (2013) reports TedEval on closed data,
a metric that cannot be compared with these numbers.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, check
from experiments.figures import (
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    label_beam_sizes,
    panels,
    plot_las,
    save,
)
from experiments.tables import Key, Row, chosen, grid, names_of, numbers, plain_table, score
from experiments.text import tokenized
from experiments.trainings import Training, run_training
from oracles.errors import OptimalStepError
from parser.beam_settings import Beam
from parser.conllu.files import open_input, open_output
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.lattice.parser import LatticeParser, parsed_texts
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor
from parser.evaluation import evaluate_files
from parser.lattices import Lattice, read_lattices, text_of
from parser.lattices.gold_paths import gold_path, joined, read_trees
from parser.lattices.lexicon import Guess, Lexicon, jackknife
from parser.model.model import FrozenModel
from parser.settings.groups import PathKind, PathSetting
from parser.settings.paths import override
from parser.settings.plan import plan
from parser.storage import replacing
from scripts.benchmarks import udpipe

_FILES = {"path": PathSetting(PathKind.FILE, inside=True)}

GOLD, LATTICES, ALONE, PIPELINE = "gold path", "lattices", "gold paths alone", "UDPipe"
SUFFIXES = "lattices by suffixes"
_COLOURS = {GOLD: BLUE, LATTICES: ORANGE, SUFFIXES: PINK, ALONE: GREEN, PIPELINE: RED}
SYSTEMS = (*_COLOURS,)
_CHOOSING = (LATTICES, SUFFIXES)  # trained to choose
# by column of a row
_METRICS = {"las": "las_universal", "uas": "uas", "words": "words", "upos": "upos"}
PARTS = ("train", "dev", "test")

# Lemmas of analysers distinguish analyses of a word with the same tags.
# They are read at the positions of forms.
_LEMMAS = ["+features.lemma=${features.form}", "+embeddings.lemma=32"]


@dataclass
class LatticeExperiment(Trainings):
    """What to compare; configs/experiments/lattices.yaml explains the keys."""

    systems: list[str]
    sizes: list[int]
    lookaheads: list[int]
    lemmas: list[bool]
    lattices: str = field(metadata={"path": PathSetting(PathKind.FOLDER)})
    files: dict[str, dict[str, str]] = field(metadata=_FILES)
    trees: dict[str, dict[str, str]] = field(metadata=_FILES)
    overrides: list[str]

    def training(self, key: Key) -> Training:
        """Return the training of a cell; (a) and (c) share it."""
        system, treebank, seed, lookahead, lemmas, *_ = key
        files = [
            override(f"treebank.{part}", file)
            for part, file in self.trees.get(treebank, {}).items()
        ]
        settings = []
        if system != PIPELINE:
            files += [
                override(f"lattice.{part}", file)
                for part, file in self.lattice_files(system, treebank).items()
            ]
            settings = [
                f"lattice.lookahead={lookahead}",
                f"lattice.choices={str(system in _CHOOSING).lower()}",
            ]
            settings += _LEMMAS if lemmas == "true" else []
        return replace(
            Training.of(self, treebank, seed, [*settings, *self.overrides]), files=tuple(files)
        )

    def lattice_files(self, system: str, treebank: str) -> dict[str, str]:
        """Return the files of lattices, by part: those in the settings, or those that
        make_lattices() writes.
        """
        if treebank in self.files:
            return self.files[treebank]
        return {
            part: str(
                Path(self.runs) / "made" / f"{treebank}{_file_suffix(system)}-{part}.conllul.xz"
            )
            for part in PARTS
        }


def _file_suffix(system: str) -> str:
    """Return the suffix that tells the files of this system apart."""
    return "-suffixes" if system == SUFFIXES else ""


def cells(wanted: LatticeExperiment) -> list[Cell]:
    """Return the cells asked for; a pipeline has no lookahead and no lemmas. Cells that share a
    training run share a job.
    """
    check_known("systems", wanted.systems, SYSTEMS)
    if SUFFIXES in wanted.systems and (
        with_files := [language for language in wanted.languages if language in wanted.files]
    ):
        raise OptimalStepError(
            f"{', '.join(with_files)}: lattices are given, so no analysis is guessed; "
            f"leave out '{SUFFIXES}'"
        )
    check(
        wanted,
        PARTS,
        [] if all(language in wanted.trees for language in wanted.languages) else None,
    )
    all_cells = []
    asked = product(
        wanted.languages, range(1, wanted.seeds + 1), wanted.systems or SYSTEMS, wanted.sizes
    )
    for language, seed, system, size in asked:
        if system == SUFFIXES and language in wanted.files:
            continue
        lookaheads = wanted.lookaheads[-1:] if system == PIPELINE else wanted.lookaheads
        for lookahead, lemmas in product(
            lookaheads, [False] if system == PIPELINE else wanted.lemmas
        ):
            key = (
                system,
                language,
                str(seed),
                str(lookahead),
                str(lemmas).lower(),
                "true",
                str(size),
            )
            settings = wanted.training(key).described
            all_cells.append(Cell(key, settings, f"{language} {system} seed {seed}, {settings}"))
    return all_cells


def make_lattices(wanted: LatticeExperiment, system: str, treebank: str) -> None:
    """Make lattices with a lexicon of the training part, for a treebank without lattices."""
    files = {part: Path(file) for part, file in wanted.lattice_files(system, treebank).items()}
    if treebank in wanted.files or all(file.exists() for file in files.values()):
        return
    settings = wanted.training((PIPELINE, treebank, "1", "1", "false")).settings()
    train = [sentence for file in plan(settings).files.train.paths for sentence in read_trees(file)]
    guess = Guess.SUFFIXES if system == SUFFIXES else Guess.FREQUENT
    lexicon = Lexicon.of(train, guess=guess)
    for part, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if part == "train":
            lattices = jackknife(train, guess=guess)
        else:
            lattices = map(lexicon.lattice, read_trees(getattr(settings.treebank, part)))
        write(file, "".join(map(text_of, lattices)))


def measure(wanted: LatticeExperiment, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train a parser, unless it has already been trained, and parse test with every beam."""
    system, treebank, seed, *_ = group[0].key
    training = wanted.training(group[0].key)
    make_lattices(wanted, system, treebank)
    folder = Path(wanted.runs) / f"{treebank}{_file_suffix(system)}-seed{seed}-{training.folder}"
    run_training(training, folder, fresh=wanted.fresh)
    model, gold = FrozenModel.load(folder), training.part("test")
    for cell in group:
        size = cell.key[-1]
        parsed = folder / f"{system.replace(' ', '_')}-{size}.conllu"
        reference = gold
        if system == PIPELINE:
            pipeline(training, Path(wanted.runs), model, Beam(int(size)), parsed)
        else:
            pairs = list(
                joined(
                    read_lattices(wanted.lattice_files(system, treebank)["test"]), read_trees(gold)
                )
            )
            lattices = [lattice for lattice, _ in pairs]
            if system == GOLD:
                lattices = [
                    only_path(gold_path(*pair).lattice, gold_path(*pair).arcs.tolist())
                    for pair in pairs
                ]
            texts = parsed_texts(LatticeParser(model, Beam(int(size))), model, lattices)
            write(parsed, "".join(text for text, _ in texts))
            reference = folder / "gold.conllu"
            write(reference, "".join("".join([*tree.lines, "\n"]) for _, tree in pairs))
        scores = evaluate_files(reference, parsed)
        yield cell.key, {name: f"{scores[metric].f1:.4f}" for name, metric in _METRICS.items()}


def only_path(lattice: Lattice, arcs: Sequence[int]) -> Lattice:
    """Return the lattice with only the arcs of a path."""
    every = lattice.arcs
    return Lattice.of(
        [every[number] for number in arcs],
        lattice.tokens,
        lattice.comments,
        lattice.where,
        lattice.sent_id,
    )


def pipeline(training: Training, runs: Path, model: FrozenModel, beam: Beam, parsed: Path) -> None:
    """Parse the raw text of test, split by our tokenizer and tagged by UDPipe, with a model that
    was trained on gold tags.
    """
    tagger = runs / training.treebank / "tagger.udpipe"
    if not tagger.exists():
        file = plan(training.settings()).files.train.paths[0]
        with open_input(file) as stream:
            udpipe.train(stream.read().decode(), file, tagger, tagger=udpipe.TAGGER)
    tagged = udpipe.Udpipe(tagger).tag(tokenized(training, runs).decode()).encode()
    with replacing(parsed) as temporary, temporary.open("wb") as target:
        parse_file(Predictor(model, ParseOptions(beam=beam)), io.BytesIO(tagged), target)


def write(path: Path, text: str) -> None:
    """Write a text, compressed if the name says so, whole or not at all."""
    with open_output(path) as target:
        target.write(text)


def page(rows: list[Row], wanted: LatticeExperiment) -> str:
    """Return Markdown: a table for each treebank, lookahead, use of lemmas and clock;
    every table has the pipeline.
    """
    parts = []
    pipelines = chosen(rows, system=PIPELINE)
    others = [row for row in rows if row["system"] != PIPELINE]
    columns = ("treebank", "lookahead", "lemmas", "clock")
    for values in sorted({tuple(row[name] for name in columns) for row in others or pipelines}):
        treebank, lookahead, lemmas, clock = values
        chosen_rows = chosen(others, **dict(zip(columns, values, strict=True))) + chosen(
            pipelines, treebank=treebank
        )
        lemma_use, compared = (
            "read" if lemmas == "true" else "not read",
            "clock" if clock == "true" else "steps",
        )
        systems = [system for system in SYSTEMS if chosen(chosen_rows, system=system)]
        sizes = sorted({row["size"] for row in chosen_rows}, key=int)
        head, lines = grid(chosen_rows, ("size", sizes), ("system", systems), _cell)
        title = (
            f"## {treebank}, {lookahead} words ahead, lemmas {lemma_use}, compared by {compared}"
        )
        parts.append(f"{title}\n\n{plain_table(['beam', *head[1:]], lines)}")
    return wanted.head() + "\n".join(parts)


def _cell(rows: list[Row]) -> str:
    words, upos = (sum(numbers(rows, name)) / len(rows) for name in ("words", "upos"))
    return f"{score(rows, 'las')} ({words:.1f}, {upos:.1f})"


def draw(rows: list[Row], wanted: LatticeExperiment, folder: Path) -> None:
    """Plot LAS against the size of the beam, a picture for each treebank;
    items compared by the clock.
    """
    for treebank in names_of(rows, "treebank"):
        figure, (plot,) = panels(width=7)
        for system, colour in _COLOURS.items():
            system_rows = chosen(rows, treebank=treebank, clock="true", system=system)
            settings = sorted(
                {(row["lookahead"], row["lemmas"]) for row in system_rows}, reverse=True
            )
            for style, (lookahead, lemmas) in zip(("-", "--", ":", "-."), settings, strict=False):
                lemma_note = " with lemmas" if lemmas == "true" else ""
                label = system if system == PIPELINE else f"{system}{lemma_note}, {lookahead} ahead"
                plot_las(
                    plot,
                    chosen(system_rows, lookahead=lookahead, lemmas=lemmas),
                    style,
                    color=colour,
                    label=label,
                )
        label_beam_sizes(plot)
        save(figure, folder / f"{treebank}.svg")


# F1 on test in percent, over aligned words; LAS (official). ``lemmas``:
# whether lemmas of arcs were read.
KEY = ("system", "treebank", "seed", "lookahead", "lemmas", "clock", "size")
EXPERIMENT = Experiment(
    "lattices", LatticeExperiment, KEY, (*_METRICS,), cells, measure, page, draw=draw
)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
