"""Trains several variants of a parser and compares them on test parts: rows, tables and claims.
Files of configs/experiments name the variants.

    python experiments/comparison.py --config-name=accurate paths.treebanks=ud-v2.2
    python experiments/comparison.py --config-name=systems "languages=[hu]" seeds=1
    "variants=[arc_standard,swap]" ...

--config-name is one of accurate, unseen, systems, systems_bilstm, systems_text,
subwords, pretrained, online.

A claim is the sum of the LAS of some variants minus the sum of other variants; it holds if this is
positive. It is estimated from pairs of training runs on the same treebank with the same seed, with
Student's 95% interval over the pairs of a treebank, and over all pairs. A claim is open if its
interval contains 0, or if there is only one pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, check
from experiments.tables import (
    NOT_RUN,
    Interval,
    Key,
    Row,
    chosen,
    grid,
    markdown,
    names_of,
    numbers,
    plain_table,
    score,
)
from experiments.trainings import Training, folder_of, formatted, is_gone, run_training
from parser.data.treebank import read_treebank
from parser.decoding.search import parse
from parser.evaluation import evaluate_files, nonprojective_edges
from parser.model import loading as models
from scripts.benchmarks import udpipe

UDPIPE = "UDPipe"

# Counts of non-projective arcs, without relations: the parser's arcs, and how many of these have
# the gold head; the gold arcs, and how many of these the parser found; all trees, and how many
# predicted and gold trees have such an arc.
_EDGES = (
    "predicted",
    "predicted_right",
    "gold",
    "gold_found",
    "trees",
    "predicted_trees",
    "gold_trees",
)


@dataclass
class Claim:
    """A claim: the sum of the LAS of ``better`` is above that of ``worse``.

    Attributes:
        papers: what the papers found, as the page shows it.
    """

    better: list[str]
    worse: list[str]
    papers: str


@dataclass
class VariantComparison(Trainings):
    """What to compare; configs/experiments/comparison.yaml explains the keys."""

    sections: list[str]
    variants: list[str]
    train_on: str
    dev_alone: list[str]
    all_variants: dict[str, list[str]]
    all_udpipe: dict[str, dict[str, Any]]
    all_claims: dict[str, Claim]
    all_times: dict[str, list[str]]
    told: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The names of all variants, ours first."""
        return [*self.all_variants, *self.all_udpipe]

    def part(self, treebank: str) -> str:
        """Return the part to train on: ``dev`` if the treebank has no training part."""
        return "dev" if treebank in self.dev_alone else self.train_on

    def training(self, variant: str, treebank: str, seed: int | str) -> Training:
        """Return the training of a variant; on the dev part if the treebank has no training
        part.
        """
        training = Training.of(self, treebank, seed, self.all_variants.get(variant, []))
        return training.on_dev() if self.part(treebank) == "dev" else training

    def settings_of(self, variant: str) -> str:
        """Return the settings that a row of a variant has; empty for UDPipe."""
        if variant in self.all_udpipe:
            return ""
        return Training.of(self, "", 1, self.all_variants[variant]).described


def cells(wanted: VariantComparison) -> list[Cell]:
    """Return the cells of the chosen variants; UDPipe fixes its seeds, so it has one cell.

    The name ``UDPipe`` stands for all of its variants.
    """
    able = [name for name in wanted.names if not is_gone(wanted.all_variants.get(name, []))]
    named = wanted.variants or able
    check_known("train_on", [wanted.train_on], ("train", "dev"))
    check_known("variants", named, [*able, UDPIPE])
    check(wanted, ())
    for part in {wanted.part(language) for language in wanted.languages}:
        needed = ("dev", "test") if part == "dev" else ("train", "dev", "test")
        check(
            wanted,
            needed,
            [language for language in wanted.languages if wanted.part(language) == part],
        )
    names = [
        name
        for name_or_group in named
        for name in (wanted.all_udpipe if name_or_group == UDPIPE else [name_or_group])
    ]
    all_cells = []
    for seed, language, name in product(range(1, wanted.seeds + 1), wanted.languages, names):
        if name in wanted.all_variants:
            group = f"{language} {name} seed {seed}"
        elif seed == 1:  # variants that differ only in the beam share a model
            group = f"{language} {_model_name(wanted.all_udpipe[name])}"
        else:
            continue
        all_cells.append(
            Cell(
                (name, language, wanted.part(language), str(seed)), wanted.settings_of(name), group
            )
        )
    return all_cells


def measure(wanted: VariantComparison, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train variants on a treebank, and parse the test part."""
    keys = [cell.key for cell in group]
    if keys[0][0] in wanted.all_udpipe:
        yield from _measure_udpipe(wanted, keys)
        return
    for key in keys:
        yield key, _measure_ours(wanted, key)


def _measure_ours(wanted: VariantComparison, key: Key) -> dict[str, str]:
    variant, language, trained_on, seed = key
    training = wanted.training(variant, language, seed)
    folder = folder_of(wanted.runs, variant, training, trained_on)
    metrics = run_training(training, folder, fresh=wanted.fresh)
    gold = read_treebank(training.part("test")).sentences
    parses = parse(models.load(folder), gold, single_root=training.settings().single_root)
    heads = parses.heads.tolist()
    ours = [heads[start + 1 : end] for start, end in pairwise(parses.offsets.tolist())]
    fitted = sum(
        seconds
        for stage, seconds in metrics["seconds"].items()
        if stage.endswith(("_fit", "_exploration"))
    )
    values = dict(zip(("las", "uas"), formatted(metrics["test"], "las", "uas"), strict=True))
    (values["dev_las"],) = formatted(metrics["dev"], "las")
    values |= {"cpu_seconds": f"{metrics['cpu_seconds']:.1f}", "fit_seconds": f"{fitted:.1f}"}
    return values | _edges([sentence.heads for sentence in gold], ours)


def _measure_udpipe(
    wanted: VariantComparison, keys: list[Key]
) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train UDPipe's parser on the same file,
    and parse the test part with the beam of each variant, if any.
    """
    _, language, trained_on, _ = keys[0]
    treebank = wanted.training(keys[0][0], language, 1).settings().treebank
    options = {
        name: value for name, value in wanted.all_udpipe[keys[0][0]].items() if name != "beam"
    }
    ending = "" if trained_on == "train" else f"-{trained_on}"
    model_path = (
        Path(wanted.runs) / _model_name(options).replace(" ", "_") / f"{language}{ending}.udpipe"
    )
    train = Path(str(treebank.train))
    text = train.read_text(encoding="utf-8")
    seconds = udpipe.train(text, str(train), model_path, parser=udpipe.PARSER | options)
    model = udpipe.Udpipe(model_path)
    for key in keys:
        beam = int(wanted.all_udpipe[key[0]].get("beam", 1))
        values = {"cpu_seconds": f"{seconds:.1f}"}
        for part in ("test", "dev"):
            if (gold := getattr(treebank, part)) is None:
                continue
            parsed = model_path.with_suffix(f".{part}.beam{beam}.conllu")
            parsed.write_text(
                model.parse(Path(gold).read_text(encoding="utf-8"), beam),
                encoding="utf-8",
                newline="\n",
            )
            scores = evaluate_files(gold, parsed)
            if part == "test":
                values |= {name: f"{scores[name].f1:.4f}" for name in ("las", "uas")}
                values |= _edges(
                    *(
                        [sentence.heads for sentence in read_treebank(file).sentences]
                        for file in (gold, parsed)
                    )
                )
            else:
                values["dev_las"] = f"{scores['las'].f1:.4f}"
        yield key, values


def _model_name(options: dict[str, Any]) -> str:
    """Return the name of the model with these options;
    scripts/benchmarks/udpipe.py has the defaults.
    """
    return " ".join([UDPIPE, *(str(value) for name, value in options.items() if name != "beam")])


def count_edges(gold: Sequence[Sequence[int]], parsed: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return the counts of _EDGES over sentences, each a list of heads [h_1, ..., h_n]."""
    counts = dict.fromkeys(_EDGES, 0) | {"trees": len(gold)}
    for theirs, ours in zip(gold, parsed, strict=True):
        for edges, right, heads in (
            ("predicted", "predicted_right", ours),
            ("gold", "gold_found", theirs),
        ):
            children = nonprojective_edges(heads)
            counts[edges] += len(children)
            counts[right] += sum(ours[child - 1] == theirs[child - 1] for child in children)
            counts[f"{edges}_trees"] += bool(children)
    return counts


def _edges(gold: list[list[int]], parsed: list[list[int]]) -> dict[str, str]:
    return {name: str(count) for name, count in count_edges(gold, parsed).items()}


def student(differences: Sequence[float]) -> Interval:
    """Return Student's interval of the mean; infinite for one difference."""
    mean, n = float(np.mean(differences)), len(differences)
    if n == 1:
        return Interval(mean, -math.inf, math.inf)
    from scipy import stats  # an extra

    margin = float(stats.t.ppf(0.975, n - 1)) * float(np.std(differences, ddof=1)) / n**0.5
    return Interval(mean, mean - margin, mean + margin)


def shown(differences: Sequence[float]) -> str:
    """Return the mean, its interval, and the verdict."""
    interval = student(differences)
    return (
        f"{interval}, {interval.verdict}"
        if len(differences) > 1
        else f"{interval.mean:+.2f}, one pair"
    )


def differences(rows: list[Row], claim: Claim, treebank: str) -> list[float]:
    """Return the claim's sum for each seed that has a row of every variant, in points of LAS."""
    las = {
        (row["variant"], row["seed"]): float(row["las"])
        for row in rows
        if row["treebank"] == treebank
    }
    return [
        sum(las[name, seed] for name in claim.better) - sum(las[name, seed] for name in claim.worse)
        for seed in sorted({seed for _, seed in las}, key=int)
        if all((name, seed) in las for name in (*claim.better, *claim.worse))
    ]


def page(rows: list[Row], wanted: VariantComparison) -> str:
    """Return Markdown: the chosen sections that have rows."""
    rows = [row for row in rows if row["trained_on"] == wanted.part(row["treebank"])]
    languages = names_of(rows, "treebank", wanted.languages)
    if "summary" not in wanted.sections:
        languages = [name for name in languages if chosen(rows, treebank=name)]
    on_dev = [name for name in languages if wanted.part(name) == "dev" and wanted.train_on != "dev"]
    trained = (
        f" {' and '.join(on_dev)}: trained on the dev part only, so the model of the last epoch is "
        "used."
        if on_dev
        else ""
    )
    variants = names_of(rows, "variant", wanted.names)
    sections = []
    for section in wanted.sections:
        if section in _CELLS:
            empty = "" if section == "dev" else NOT_RUN
            head, lines = grid(
                rows, ("variant", variants), ("treebank", languages), _CELLS[section], empty
            )
        else:
            head, lines = _TABLES[section](rows, languages, wanted)
        if lines or section in _CELLS:
            sections.append(
                wanted.told.get(section, "")
                + (plain_table if section == "summary" else markdown)(head, lines)
            )
    return wanted.head(trained) + "\n".join(sections)


def _summary(rows: list[Row]) -> str:
    return f"{score(rows, 'las', 'uas')} ({np.mean(numbers(rows, 'cpu_seconds')):.0f} s)"


def _edges_of(rows: list[Row]) -> str:
    predicted, right, gold, there, trees, *nonprojective = (
        sum(int(row[name]) for row in rows) for name in _EDGES
    )
    precision, recall = (
        100 * n / total if total else 0.0 for n, total in ((right, predicted), (there, gold))
    )
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    ours, theirs = (100 * n / max(1, trees) for n in nonprojective)
    return (
        f"{f'{precision:.1f} / {recall:.1f} / {f1:.1f}' if predicted else 'none'}; {ours:.1f} of "
        f"{theirs:.1f}"
    )


def _claims(
    rows: list[Row], languages: list[str], wanted: VariantComparison
) -> tuple[list[str], list[list[str]]]:
    lines = []
    for label, claim in wanted.all_claims.items():
        by_language = [differences(rows, claim, name) for name in languages]
        if pairs := [difference for differences in by_language for difference in differences]:
            cells = [shown(differences) if differences else NOT_RUN for differences in by_language]
            lines.append([label, shown(pairs), *cells, claim.papers])
    return ["claim", "all", *languages, "the papers"], lines


def _times(
    rows: list[Row], languages: list[str], wanted: VariantComparison
) -> tuple[list[str], list[list[str]]]:
    lines = []
    for label, names in wanted.all_times.items():
        cpu_seconds = [
            [numbers(chosen(rows, variant=name, treebank=t), "cpu_seconds") for name in names]
            for t in languages
        ]
        ratios = [
            f"{np.mean(above) / np.mean(below):.2f}" if above and below else ""
            for above, below in cpu_seconds
        ]
        if any(ratios):
            lines.append([label, *ratios])
    return ["", *languages], lines


# The sections of a page: a function that shows the rows of a variant and a treebank,
# or one that makes another table.
_CELLS: dict[str, Callable[[list[Row]], str]] = {
    "summary": _summary,
    "scores": lambda rows: score(rows, "las", "uas"),
    "edges": _edges_of,
    "dev": lambda rows: score(rows, "dev_las"),
}
_TABLES = {"claims": _claims, "times": _times}

# Percentages on the test part, all words, full relations; CPU seconds of the whole training run,
# and wall-clock time of fitting and exploration only. dev_las is empty where the dev part was
# trained on; ``predicted`` to ``gold_trees`` count edges of test.
MEASURED = ("las", "uas", "dev_las", *_EDGES, "cpu_seconds", "fit_seconds")
KEY = ("variant", "treebank", "trained_on", "seed")
EXPERIMENT = Experiment("accurate", VariantComparison, KEY, MEASURED, cells, measure, page)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
