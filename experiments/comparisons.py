"""Transition systems and ways to train compared on test parts: rows, tables and claims of systems.py and online.py.

A claim is the sum of the LAS of some variants minus that of others, positive if it holds. It is estimated from pairs, trainings
on the same treebank with the same seed; the interval is Student's, 95%, over the pairs of a treebank, and over those of all
treebanks together. A claim is open if its interval holds 0, or if there is only one pair.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING
from scipy.stats import t as student

from experiments.command import Trainings, check_known
from experiments.jobs import Job
from experiments.results import Key, Results, check
from experiments.tables import markdown, mean_and_deviation
from experiments.trainings import Training, run_training, variant_folder
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parse
from parser.evaluation import NonprojectiveEdges, evaluate_files
from parser.model import loading as models
from scripts.benchmarks import udpipe

_TOGETHER = "all"
_NOT_RUN = "not run"


@dataclass
class Claim:
    """What is claimed: the LAS of ``better`` is more than that of ``worse``, sums over the variants named.

    Attributes:
        papers: what the papers found, for the page.
    """

    better: list[str] = field(default_factory=list)
    worse: list[str] = field(default_factory=list)
    papers: str = MISSING


@dataclass
class Comparison(Trainings):
    """What to compare; configs/experiments/systems.yaml and online.yaml say what each key is for."""

    title: str = MISSING
    recipe: str = MISSING
    variants: list[str] = field(default_factory=list)
    dev_alone: list[str] = field(default_factory=list)
    all_variants: dict[str, list[str]] = field(default_factory=dict)
    all_udpipe: dict[str, dict[str, str]] = field(default_factory=dict)
    all_claims: dict[str, Claim] = field(default_factory=dict)
    all_times: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages on the test part, all words, full relations; CPU seconds of the whole training.

    ``fit_seconds``: wall-clock time of fitting and exploration only; empty for UDPipe. ``dev_las`` is empty where the dev part
    was trained on. ``predicted`` to ``gold_trees`` count non-projective edges and trees of the test part; see
    NonprojectiveEdges.
    """

    variant: str
    treebank: str
    seed: str
    trained_on: str
    las: str
    uas: str
    dev_las: str
    predicted: str
    predicted_right: str
    gold: str
    gold_found: str
    trees: str
    predicted_trees: str
    gold_trees: str
    cpu_seconds: str
    fit_seconds: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.variant, self.treebank, self.trained_on, self.seed

    @property
    def edges(self) -> NonprojectiveEdges:
        """The non-projective edges."""
        return NonprojectiveEdges(*(int(getattr(self, count.name)) for count in fields(NonprojectiveEdges)))


Rows = dict[Key, Row]

ConfigStore.instance().store(name="comparison_schema", node=Comparison)


def main(wanted: Comparison) -> None:
    """Trains what is not there yet, then writes the page."""
    check_known("variants", wanted.variants, [*wanted.all_variants, *wanted.all_udpipe])
    for parts, languages in (
        (("dev", "test"), [name for name in wanted.languages if name in wanted.dev_alone]),
        (("train", "dev", "test"), [name for name in wanted.languages if name not in wanted.dev_alone]),
    ):
        if languages or not wanted.languages:
            check(replace(wanted, languages=languages), parts)
    results = Results.of(Row, wanted)
    jobs = jobs_by_key(wanted)
    asked = {key: config for key, (config, _) in jobs.items()}
    results.run([jobs[key][1] for key in results.missing(asked)], wanted.workers)
    results.finish("table.md", lambda rows: page(rows, wanted), asked, wanted.publish)


def jobs_by_key(wanted: Comparison) -> dict[Key, tuple[str, Job[list[Row]]]]:
    """The rows that are asked for: what their fingerprint should be, and the job that makes them; UDPipe has one seed."""
    chosen = wanted.variants or [*wanted.all_variants, *wanted.all_udpipe]
    runs = Path(wanted.runs)
    jobs: dict[Key, tuple[str, Job[list[Row]]]] = {}
    for seed, language, name in product(range(1, wanted.seeds + 1), wanted.languages, chosen):
        trained_on = part_trained_on(wanted, language)
        label = f"{language} {name} seed {seed}"
        if name in wanted.all_variants:
            training = training_of(wanted, wanted.all_variants[name], language, seed)
            job = Job(label, partial(run_ours, name, training, trained_on, runs, wanted.fresh))
            jobs[name, language, trained_on, str(seed)] = training.fingerprint(), job
        elif seed == 1:
            training = training_of(wanted, [], language, seed)
            job = Job(label, partial(run_udpipe, name, wanted.all_udpipe[name], training, trained_on, runs))
            jobs[name, language, trained_on, str(seed)] = "", job
    return jobs


def part_trained_on(wanted: Comparison, language: str) -> str:
    """``train``, or ``dev`` where only that is trained on."""
    return "dev" if language in wanted.dev_alone else "train"


def training_of(wanted: Comparison, settings: Sequence[str], language: str, seed: int) -> Training:
    """The training of a variant; on the dev part only, where the treebank has no other."""
    training = Training(language, wanted.recipe, 5, seed, wanted.paths.treebanks, tuple(settings))
    return training.on_dev() if language in wanted.dev_alone else training


def run_ours(variant: str, training: Training, trained_on: str, runs: Path, fresh: bool = False) -> list[Row]:
    """Trains a variant and parses the test part. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    folder = variant_folder(runs, variant, training.treebank, trained_on, training.seed)
    metrics = run_training(training, folder, fresh=fresh)
    settings = training.settings()
    gold = read_treebank(str(settings.treebank.test)).sentences
    parses = parse(models.load(folder), gold, single_root=settings.single_root)
    offsets, heads = parses.offsets.tolist(), parses.heads.tolist()
    ours = [heads[start + 1 : end] for start, end in pairwise(offsets)]
    edges = NonprojectiveEdges.of([sentence.heads for sentence in gold], ours)
    dev_las = f"{metrics['dev']['las']:.4f}" if metrics["dev"] else ""
    scores = f"{metrics['test']['las']:.4f}", f"{metrics['test']['uas']:.4f}", dev_las
    fitted = sum(s for stage, s in metrics["seconds"].items() if stage.endswith(("_fit", "_exploration")))
    seconds = f"{metrics['cpu_seconds']:.1f}", f"{fitted:.1f}"
    return [_row(variant, training, trained_on, scores, edges, seconds, training.fingerprint())]


def run_udpipe(variant: str, options: dict[str, str], training: Training, trained_on: str, runs: Path) -> list[Row]:
    """Trains UDPipe's parser with these options on the same file, and parses the test part greedily."""
    treebank = training.settings().treebank
    model_path = runs / variant.replace(" ", "_").replace(",", "") / f"{training.treebank}-{trained_on}.udpipe"
    train, test = Path(str(treebank.train)), Path(str(treebank.test))
    parser_options = udpipe.PARSER | options
    seconds = udpipe.train(train.read_text(encoding="utf-8"), str(train), model_path, parser=parser_options)
    parsed = model_path.with_suffix(".test.conllu")
    parsed.write_text(udpipe.Udpipe(model_path).parse(test.read_text(encoding="utf-8"), 1), encoding="utf-8")
    found = evaluate_files(test, parsed)
    trees = [[sentence.heads for sentence in read_treebank(file).sentences] for file in (test, parsed)]
    scores = f"{found['las'].f1:.4f}", f"{found['uas'].f1:.4f}", ""
    return [_row(variant, training, trained_on, scores, NonprojectiveEdges.of(*trees), (f"{seconds:.1f}", ""), "")]


def _row(
    variant: str,
    training: Training,
    trained_on: str,
    scores: tuple[str, str, str],
    edges: NonprojectiveEdges,
    seconds: tuple[str, str],
    config: str,
) -> Row:
    counts = [str(getattr(edges, count.name)) for count in fields(NonprojectiveEdges)]
    return Row(variant, training.treebank, str(training.seed), trained_on, *[*scores, *counts, *seconds, config])


@dataclass(frozen=True)
class Estimate:
    """A mean over pairs with its 95% interval; infinite with one pair."""

    mean: float
    margin: float
    pairs: int

    @classmethod
    def of(cls, differences: Sequence[float]) -> Estimate:
        """That of some differences, one at least."""
        n = len(differences)
        if n == 1:
            return cls(differences[0], math.inf, 1)
        error = float(np.std(differences, ddof=1)) / n**0.5
        return cls(float(np.mean(differences)), float(student.ppf(0.975, n - 1)) * error, n)

    def __str__(self) -> str:
        if self.pairs == 1:
            return f"{self.mean:+.2f}, one pair"
        return f"{self.mean:+.2f} [{self.mean - self.margin:+.2f}, {self.mean + self.margin:+.2f}], {self.verdict}"

    @property
    def verdict(self) -> str:
        """What the interval says."""
        return "open" if abs(self.mean) <= self.margin else "holds" if self.mean > 0 else "the opposite holds"


def differences(rows: Rows, claim: Claim, treebank: str, trained_on: str = "train") -> list[float]:
    """The claim's sum in the trainings of each seed that has a row of every variant, in points of LAS."""
    found = []
    for seed in sorted({row.seed for row in rows.values() if row.treebank == treebank}, key=int):
        sides = [[rows.get((name, treebank, trained_on, seed)) for name in names] for names in (claim.better, claim.worse)]
        better, worse = ([float(row.las) for row in side if row is not None] for side in sides)
        if len(better) == len(claim.better) and len(worse) == len(claim.worse):
            found.append(sum(better) - sum(worse))
    return found


def page(rows: Rows, wanted: Comparison) -> str:
    """Markdown: scores, non-projective edges, claims and times, as far as there are rows."""
    rows = {key: row for key, row in rows.items() if row.trained_on == part_trained_on(wanted, row.treebank)}
    languages = list(dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in rows.values())]))
    languages = [name for name in languages if any(row.treebank == name for row in rows.values())]
    names = [*wanted.all_variants, *wanted.all_udpipe]
    of_cell = {
        (name, language): [row for row in rows.values() if row.key[:2] == (name, language)]
        for name, language in product(names, languages)
    }
    there = [name for name in names if any(of_cell[name, language] for language in languages)]
    on_dev = [name for name in languages if part_trained_on(wanted, name) == "dev"]
    trained = f" {' and '.join(on_dev)}: trained on the dev part alone, the last epoch." if on_dev else ""

    def table(cell: Callable[[list[Row]], str]) -> str:
        lines = [[name, *(cell(of_cell[name, t]) if of_cell[name, t] else _NOT_RUN for t in languages)] for name in there]
        return markdown(["", *languages], lines)

    parts = [
        f"# {wanted.title}\n\nLAS / UAS on test in percent, all words, full relations, gold tags; mean ± standard deviation "
        f"over seeds.{trained}\n\n{table(_scores)}",
        "## Non-projective edges\n\nPrecision / recall / F1 in percent, all seeds together, then the percentage of the trees "
        "that have such an edge, the parser's and the gold ones; an edge is non-projective if a node between does not "
        f"descend from the head.\n\n{table(_edges)}",
    ]
    claims = []
    for label, claim in wanted.all_claims.items():
        by_language = {name: differences(rows, claim, name, part_trained_on(wanted, name)) for name in languages}
        pairs = [difference for found in by_language.values() for difference in found]
        if pairs:
            cells = [str(Estimate.of(found)) if found else _NOT_RUN for found in by_language.values()]
            claims.append([label, str(Estimate.of(pairs)), *cells, claim.papers])
    if claims:
        told = "## Claims\n\nDifference of LAS in points, mean and 95% interval over pairs of the same treebank and seed.\n\n"
        parts.append(told + markdown(["claim", _TOGETHER, *languages, "the papers"], claims))
    times = []
    for label, (numerator, denominator) in wanted.all_times.items():
        ratios = [_ratio(of_cell[numerator, language], of_cell[denominator, language]) for language in languages]
        if any(ratios):
            times.append([label, *ratios])
    if times:
        told = "## CPU time of training\n\nRatio of the means; reading, and measuring dev after each iteration, are in it.\n\n"
        parts.append(told + markdown(["", *languages], times))
    return "\n".join(parts)


def _scores(rows: list[Row]) -> str:
    las, uas = ([float(getattr(row, name)) for row in rows] for name in ("las", "uas"))
    return f"{mean_and_deviation(las)} / {mean_and_deviation(uas)}"


def _edges(rows: list[Row]) -> str:
    sums = NonprojectiveEdges(*(sum(getattr(row.edges, count.name) for row in rows) for count in fields(NonprojectiveEdges)))
    ours, gold = sums.tree_percents
    edges = f"{sums.precision:.1f} / {sums.recall:.1f} / {sums.f1:.1f}" if sums.predicted else "none"
    return f"{edges}; {ours:.1f} of {gold:.1f}"


def _ratio(rows: list[Row], others: list[Row]) -> str:
    if not rows or not others:
        return ""
    return f"{np.mean([float(row.cpu_seconds) for row in rows]) / np.mean([float(row.cpu_seconds) for row in others]):.2f}"
