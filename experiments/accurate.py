"""recipe=accurate beside UDPipe 1, both trained on the same files with gold tags; test metrics.

    python experiments/accurate.py paths.treebanks=../shared/ud-v2.2

The rows of experiments/accurate/results.csv are published, and are reused (see results.py); yours go to
runs/accurate/results.csv as trainings end. table.md beside it is the comparison. UDPipe needs the extra ``compare``; without
it, say ``systems=[accurate]``.

With ``--config-name=unseen`` it covers treebanks on which nothing was chosen, trained on their dev part, tested on test.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import Trainings, check_known, run
from experiments.jobs import Job
from experiments.results import Key, Results, check
from experiments.tables import mean_and_deviation
from experiments.trainings import Training, run_training, system_folder
from parser.evaluation import evaluate_files
from scripts.benchmarks import udpipe

UDPIPE = "UDPipe"
BEAMS = (1, 5)
UDPIPE_SYSTEMS = tuple(f"{UDPIPE}, beam {beam}" for beam in BEAMS)
PARTS = ("train", "dev")  # that can be trained on


@dataclass
class Accurate(Trainings):
    """What to compare; configs/experiments/accurate.yaml says what each key is for."""

    systems: list[str] = field(default_factory=list)
    train_on: str = MISSING
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


Rows = dict[Key, Row]

ConfigStore.instance().store(name="accurate_schema", node=Accurate)


def main(wanted: Accurate) -> None:
    """Trains what is not there yet, then writes the table."""
    check_known("systems", wanted.systems, [*wanted.all_systems, UDPIPE])
    check_known("train_on", [wanted.train_on], PARTS)
    check(wanted, (wanted.train_on, "test") if wanted.train_on == "dev" else ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    jobs = jobs_by_key(wanted)
    asked = {key: config for key, (config, _) in jobs.items()}
    missing = results.missing(asked)
    results.run(list(dict.fromkeys(jobs[key][1] for key in missing)), wanted.workers)  # UDPipe's rows share a job
    results.finish("table.md", lambda rows: page_of(rows, wanted), asked, wanted.publish)


def jobs_by_key(wanted: Accurate) -> dict[Key, tuple[str, Job[list[Row]]]]:
    """The rows that are asked for: what their fingerprint should be, and the job that makes them."""
    systems = wanted.systems or [*wanted.all_systems, UDPIPE]
    runs = Path(wanted.runs)
    jobs: dict[Key, tuple[str, Job[list[Row]]]] = {}
    for language in wanted.languages if UDPIPE in systems else []:
        training = training_of(wanted, [], language, 1)
        job = Job(f"{language} {UDPIPE}", partial(run_udpipe, training, wanted.train_on, runs))
        jobs |= {(name, language, wanted.train_on, "1"): ("", job) for name in UDPIPE_SYSTEMS}
    ours = [system for system in systems if system != UDPIPE]
    for seed, language, system in product(range(1, wanted.seeds + 1), wanted.languages, ours):
        training = training_of(wanted, wanted.all_systems[system], language, seed)
        job = Job(f"{language} {system} seed {seed}", partial(run_ours, system, training, wanted.train_on, runs, wanted.fresh))
        jobs[system, language, wanted.train_on, str(seed)] = training.fingerprint(), job
    return jobs


def page_of(rows: Rows, wanted: Accurate) -> str:
    """The table of all treebanks that were asked for or that there are rows of."""
    there = sorted(row.treebank for row in rows.values() if row.trained_on == wanted.train_on)
    return report(rows, list(dict.fromkeys([*wanted.languages, *there])), list(wanted.all_systems), wanted.train_on)


def training_of(wanted: Accurate, settings: Sequence[str], language: str, seed: int) -> Training:
    """The training with these settings; of only the dev part if ``train_on`` says so."""
    training = Training(language, "accurate", 5, seed, wanted.paths.treebanks, tuple(settings))
    return training if wanted.train_on == "train" else training.on_dev()


def run_ours(system: str, training: Training, trained_on: str, runs: Path, fresh: bool = False) -> list[Row]:
    """Trains one of our systems. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    metrics = run_training(training, system_folder(runs, system, training), fresh=fresh)
    test, dev = metrics["test"], metrics["dev"]
    las, uas, dev_las = f"{test['las']:.4f}", f"{test['uas']:.4f}", f"{dev['las']:.4f}" if dev else ""
    key = system, training.treebank, trained_on, str(training.seed)
    return [Row(*key, las, uas, dev_las, f"{metrics['cpu_seconds']:.1f}", training.fingerprint())]


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
        numbers = f"{test['las'].f1:.4f}", f"{test['uas'].f1:.4f}", dev_las
        rows.append(Row(f"{UDPIPE}, beam {beam}", training.treebank, trained_on, "1", *numbers, f"{seconds:.1f}", ""))
    return rows


def report(rows: Rows, languages: list[str], systems: list[str], train_on: str) -> str:
    """Markdown: test LAS / UAS by system and treebank; a system without a row is left out."""
    trained = "" if train_on == "train" else f" All were trained on the {train_on} part alone; ours keeps its last epoch."
    lines = [
        "# recipe=accurate beside UDPipe 1",
        "",
        "LAS / UAS on test in percent, all words, full relations, gold tags; mean ± standard deviation over seeds. UDPipe 1.4 "
        "was trained on the same files (options: scripts/benchmarks/udpipe.py), one seed. In parentheses the CPU "
        f"seconds of the training, one thread, mean.{trained}",
        "",
        "| | " + " | ".join(languages) + " |",
        "|---" * (len(languages) + 1) + "|",
    ]
    for system in [*systems, *UDPIPE_SYSTEMS]:
        keys = [(system, language, train_on) for language in languages]
        found = [[row for row in rows.values() if row.key[:-1] == key] for key in keys]
        if any(found):
            lines.append(f"| {system} | " + " | ".join(_cell(of_one) if of_one else "not run" for of_one in found) + " |")
    return "\n".join(lines) + "\n"


def _cell(rows: list[Row]) -> str:
    las, uas, seconds = ([float(getattr(row, name)) for row in rows] for name in ("las", "uas", "cpu_seconds"))
    return f"{mean_and_deviation(las)} / {mean_and_deviation(uas)} ({np.mean(seconds):.0f} s)"


if __name__ == "__main__":
    run(main, Accurate, "accurate", __doc__)
