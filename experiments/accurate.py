"""recipe=accurate beside UDPipe 1, both trained on the same files with gold tags; test figures.

    python experiments/accurate.py paths.treebanks=../shared/ud-v2.2

Rows go to experiments/accurate/results.csv as trainings end; a row that is there is not run again. table.md beside it is the
comparison. UDPipe needs the extra ``compare``; without it, say ``systems=[accurate]``.

With ``--config-name=unseen`` it is about treebanks that nothing was chosen on, trained on their dev part, tested on test.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path

import hydra
import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from cells import Training, run_training
from jobs import make_rows
from measuring import udpipe
from parser.evaluation import evaluate_files
from parser.settings import Paths
from rows import read_rows

UDPIPE = "UDPipe"
BEAMS = (1, 5)


@dataclass
class Accurate:
    """What to compare; configs/experiments/accurate.yaml says what each key is for."""

    languages: list[str] = field(default_factory=list)
    seeds: int = MISSING
    systems: list[str] = field(default_factory=list)
    train_on: str = MISSING
    workers: int = MISSING
    results: str = MISSING
    runs: str = MISSING
    paths: Paths = field(default_factory=Paths)
    all_systems: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages on the test part, all words, full relations; CPU seconds of the whole training.

    ``dev_las`` is empty where there is no dev part left to measure on.
    """

    system: str
    treebank: str
    trained_on: str
    seed: str
    las: str
    uas: str
    dev_las: str
    cpu_seconds: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.system, self.treebank, self.trained_on, self.seed


Rows = dict[tuple[str, ...], Row]

ConfigStore.instance().store(name="accurate_schema", node=Accurate)


@hydra.main(version_base="1.3", config_path="../configs/experiments", config_name="accurate")
def main(wanted: Accurate) -> None:
    """Trains what is not there yet, then writes the table."""
    path = Path(wanted.results) / "results.csv"
    rows = read_rows(path, Row)
    make_rows(_missing(wanted, rows), wanted.workers, rows, path, Row)
    text = report(rows, list(wanted.languages), list(wanted.all_systems), wanted.train_on)
    (path.parent / "table.md").write_text(text, encoding="utf-8")
    print(text)


def _missing(wanted: Accurate, rows: Rows) -> list[Callable[[], list[Row]]]:
    """The trainings whose rows are not there, or were made with other settings."""
    systems = list(wanted.systems) or [*wanted.all_systems, UDPIPE]
    if unknown := set(systems) - {*wanted.all_systems, UDPIPE}:
        known = ", ".join([*wanted.all_systems, UDPIPE])
        raise ValueError(f"systems has {', '.join(sorted(unknown))}; known are {known}")
    runs = Path(wanted.runs)
    jobs: list[Callable[[], list[Row]]] = []
    if UDPIPE in systems:
        made = {(row.treebank, row.trained_on) for row in rows.values() if row.system.startswith(UDPIPE)}
        missing = [name for name in wanted.languages if (name, wanted.train_on) not in made]
        jobs += [partial(run_udpipe, training_of(wanted, [], name, 1), wanted.train_on, runs) for name in missing]
    ours = [system for system in systems if system != UDPIPE]
    for seed, language, system in product(range(1, wanted.seeds + 1), wanted.languages, ours):
        training = training_of(wanted, wanted.all_systems[system], language, seed)
        if not training.made(rows.get((system, language, wanted.train_on, str(seed)))):
            jobs.append(partial(run_ours, system, training, wanted.train_on, runs))
    return jobs


def training_of(wanted: Accurate, settings: Sequence[str], language: str, seed: int) -> Training:
    """The training with these settings; of the dev part alone if ``train_on`` says so.

    Raises:
        ValueError: ``train_on`` is neither train nor dev.
    """
    training = Training(language, "accurate", 5, seed, wanted.paths.treebanks, tuple(settings))
    if wanted.train_on == "train":
        return training
    if wanted.train_on == "dev":
        dev = training.settings().treebank.dev
        return replace(training, overrides=(*settings, f"treebank.train={dev}", "treebank.dev=null"))
    raise ValueError(f"train_on={wanted.train_on}: train and dev are the parts that can be trained on")


def run_ours(system: str, training: Training, trained_on: str, runs: Path) -> list[Row]:
    """Trains one of our systems. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    begun = time.process_time()
    folder = runs / system.replace(" ", "_").replace(",", "") / f"{training.treebank}-seed{training.seed}"
    metrics = run_training(training, folder)
    seconds = time.process_time() - begun
    test, dev = metrics["test"], metrics["dev"]
    figures = [f"{test['las']:.4f}", f"{test['uas']:.4f}", f"{dev['las']:.4f}" if dev else ""]
    return [Row(system, training.treebank, trained_on, str(training.seed), *figures, f"{seconds:.1f}", training.fingerprint())]


def run_udpipe(training: Training, trained_on: str, runs: Path) -> list[Row]:
    """Trains UDPipe's parser on the same treebank, and parses greedily and with a beam."""
    treebank = training.settings().treebank
    model_path = runs / UDPIPE / f"{training.treebank}.udpipe"
    train = Path(str(treebank.train))
    seconds = udpipe.train(train.read_text(encoding="utf-8"), str(train), model_path, parser=udpipe.PARSER)
    model = udpipe.Udpipe(model_path)
    rows = []
    for beam in BEAMS:
        scores = {}
        for part in ("test", "dev"):
            if (gold := getattr(treebank, part)) is not None:
                parsed = model_path.with_suffix(f".{part}.beam{beam}.conllu")
                parsed.write_text(model.parse(Path(gold).read_text(encoding="utf-8"), beam), encoding="utf-8")
                scores[part] = evaluate_files(gold, parsed)
        test = scores["test"]
        dev_las = f"{scores['dev']['las'].f1:.4f}" if "dev" in scores else ""
        figures = f"{test['las'].f1:.4f}", f"{test['uas'].f1:.4f}", dev_las
        rows.append(Row(f"{UDPIPE}, beam {beam}", training.treebank, trained_on, "1", *figures, f"{seconds:.1f}", ""))
    return rows


def report(rows: Rows, languages: list[str], systems: list[str], train_on: str) -> str:
    """Markdown: test LAS / UAS by system and treebank; a system without a row is left out."""
    trained = "" if train_on == "train" else f" All were trained on the {train_on} part alone; ours keeps its last epoch."
    lines = [
        "# recipe=accurate beside UDPipe 1",
        "",
        "LAS / UAS on test in percent, all words, full relations, gold tags; mean ± standard deviation over seeds. UDPipe 1.4 "
        "was trained on the same files (options: scripts/benchmarks/udpipe.py), one seed. In parentheses the CPU seconds of "
        f"the training, one thread, mean.{trained}",
        "",
        "| | " + " | ".join(languages) + " |",
        "|---" * (len(languages) + 1) + "|",
    ]
    for system in [*systems, *(f"{UDPIPE}, beam {beam}" for beam in BEAMS)]:
        keys = [(system, language, train_on) for language in languages]
        found = [[row for row in rows.values() if row.key[:-1] == key] for key in keys]
        if any(found):
            lines.append(f"| {system} | " + " | ".join(_cell(of_one) if of_one else "not run" for of_one in found) + " |")
    return "\n".join(lines) + "\n"


def _cell(rows: list[Row]) -> str:
    las, uas, seconds = (np.array([float(getattr(row, name)) for row in rows]) for name in ("las", "uas", "cpu_seconds"))

    def shown(scores: np.ndarray) -> str:
        return f"{scores.mean():.2f} ± {scores.std(ddof=1):.2f}" if len(scores) > 1 else f"{scores[0]:.2f}"

    return f"{shown(las)} / {shown(uas)} ({seconds.mean():.0f} s)"


if __name__ == "__main__":
    main()
