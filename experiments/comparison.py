"""Variants of a training compared on test parts: rows, tables and claims. What is compared is in configs/experiments alone.

Commands: accurate.py, systems.py, online.py and distillation.py. A claim is the sum of the LAS of some variants minus that of
others, positive if it holds. It is estimated from pairs, trainings on the same treebank with the same seed; the interval is
Student's, 95%, over the pairs of a treebank, and over those of all treebanks together. A claim is open if its interval holds 0,
or if there is only one pair. A variant that has settings ``distillation.*`` is taught by the variant ``teacher``, trained on
the same treebank with the same seed, before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, check
from experiments.tables import NOT_RUN, Key, Row, chosen, markdown, mean_and_deviation, names_of, numbers, plain_table, score
from experiments.trainings import Training, folder_of, formatted, run_training
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parse
from parser.evaluation import NonprojectiveEdges, evaluate_files
from parser.model import loading as models
from scripts.benchmarks import udpipe

UDPIPE = "UDPipe"
_EDGES = [count.name for count in fields(NonprojectiveEdges)]

# In a row, what tells a variant that is taught from its teacher.
TAUGHT_BY = " taught by "


@dataclass
class Claim:
    """What is claimed: the LAS of ``better`` is more than that of ``worse``, sums over the variants named.

    Attributes:
        papers: what the papers found, for the page.
    """

    better: list[str]
    worse: list[str]
    papers: str


@dataclass
class Comparison(Trainings):
    """What to compare; configs/experiments/comparison.yaml says what each key is for."""

    title: str
    about: str
    sections: list[str]
    systems: list[str]
    variants: list[str]
    train_on: str
    dev_alone: list[str]
    teacher: str | None
    all_variants: dict[str, list[str]]
    all_udpipe: dict[str, dict[str, Any]]
    all_claims: dict[str, Claim]
    all_times: dict[str, list[str]]

    @property
    def names(self) -> list[str]:
        """Of all variants, ours first."""
        return [*self.all_variants, *self.all_udpipe]

    def part(self, treebank: str) -> str:
        """The part that is trained on: ``dev`` where there is no other."""
        return "dev" if treebank in self.dev_alone else self.train_on

    def is_taught(self, variant: str) -> bool:
        """Whether a variant has a teacher."""
        return any(setting.startswith("distillation.") for setting in self.all_variants.get(variant, []))

    def training(self, variant: str, treebank: str, seed: int | str) -> Training:
        """The training of a variant; on the dev part only, where the treebank has no other."""
        made = Training.of(self, treebank, seed, self.all_variants.get(variant, []))
        if self.is_taught(variant):
            teacher = folder_of(self.runs, str(self.teacher), made, self.part(treebank)).absolute()
            made = replace(made, files=(f"distillation.teacher={teacher}",))
        return made.on_dev() if self.part(treebank) == "dev" else made

    def settings_of(self, variant: str) -> str:
        """What a row says of its training; of one of UDPipe nothing."""
        if variant in self.all_udpipe:
            return ""
        own = Training.of(self, "", 1, self.all_variants[variant]).described
        return f"{own}{TAUGHT_BY}{self.settings_of(str(self.teacher))}" if self.is_taught(variant) else own


def cells(wanted: Comparison) -> list[Cell]:
    """Those of the variants that are asked for; UDPipe fixes its seeds itself, so that one is enough.

    ``UDPipe`` alone stands for all variants of it.
    """
    named = wanted.variants or wanted.systems or wanted.names
    key = "variants" if wanted.variants else "systems"
    check_known("train_on", [wanted.train_on], ("train", "dev"))
    check_known(key, named, [*wanted.names, UDPIPE])
    if wanted.teacher is not None:
        check_known("teacher", [wanted.teacher], [name for name in wanted.all_variants if not wanted.is_taught(name)])
    check(wanted, ())
    for part in {wanted.part(language) for language in wanted.languages}:
        needed = ("dev", "test") if part == "dev" else ("train", "dev", "test")
        check(wanted, needed, [language for language in wanted.languages if wanted.part(language) == part])
    names = [name for one in named for name in (wanted.all_udpipe if one == UDPIPE else [one])]
    found = []
    for seed, language, name in product(range(1, wanted.seeds + 1), wanted.languages, names):
        if name in wanted.all_variants:
            group = f"{language} seed {seed}" if wanted.teacher else f"{language} {name} seed {seed}"
        elif seed == 1:  # variants of the same options share a model
            group = f"{language} {_model_name(wanted.all_udpipe[name])}"
        else:
            continue
        found.append(Cell((name, language, wanted.part(language), str(seed)), wanted.settings_of(name), group))
    return found


def measure(wanted: Comparison, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains variants on a treebank, their teacher first, and parses the test part."""
    keys = [cell.key for cell in group]
    if keys[0][0] in wanted.all_udpipe:
        yield from _measure_udpipe(wanted, keys)
        return
    untaught = [key for key in keys if not wanted.is_taught(key[0])]
    taught = [key for key in keys if wanted.is_taught(key[0])]
    teacher = (str(wanted.teacher), *keys[0][1:])
    if taught and teacher not in untaught:
        untaught.append(teacher)  # which is not trained again where it is finished
    for key in [*untaught, *taught]:
        numbers = _measure_ours(wanted, key, wanted.fresh and key in keys)
        if key in keys:
            yield key, numbers


def _measure_ours(wanted: Comparison, key: Key, fresh: bool) -> dict[str, str]:
    variant, language, trained_on, seed = key
    training = wanted.training(variant, language, seed)
    folder = folder_of(wanted.runs, variant, training, trained_on)
    metrics = run_training(training, folder, fresh=fresh)
    gold = read_treebank(training.part("test")).sentences
    parses = parse(models.load(folder), gold, single_root=training.settings().single_root)
    heads = parses.heads.tolist()
    ours = [heads[start + 1 : end] for start, end in pairwise(parses.offsets.tolist())]
    fitted = sum(seconds for stage, seconds in metrics["seconds"].items() if stage.endswith(("_fit", "_exploration")))
    found = dict(zip(("las", "uas"), formatted(metrics["test"], "las", "uas"), strict=True))
    (found["dev_las"],) = formatted(metrics["dev"], "las")
    found |= {"cpu_seconds": f"{metrics['cpu_seconds']:.1f}", "fit_seconds": f"{fitted:.1f}"}
    return found | _edges([sentence.heads for sentence in gold], ours)


def _measure_udpipe(wanted: Comparison, keys: list[Key]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains UDPipe's parser on the same file, and parses the test part with the beam of each variant, greedily with none."""
    _, language, trained_on, _ = keys[0]
    treebank = wanted.training(keys[0][0], language, 1).settings().treebank
    options = {name: value for name, value in wanted.all_udpipe[keys[0][0]].items() if name != "beam"}
    ending = "" if trained_on == "train" else f"-{trained_on}"
    model_path = Path(wanted.runs) / _model_name(options).replace(" ", "_") / f"{language}{ending}.udpipe"
    train = Path(str(treebank.train))
    text = train.read_text(encoding="utf-8")
    seconds = udpipe.train(text, str(train), model_path, parser=udpipe.PARSER | options)
    model = udpipe.Udpipe(model_path)
    for key in keys:
        beam = int(wanted.all_udpipe[key[0]].get("beam", 1))
        found = {"cpu_seconds": f"{seconds:.1f}"}
        for part in ("test", "dev"):
            if (gold := getattr(treebank, part)) is None:
                continue
            parsed = model_path.with_suffix(f".{part}.beam{beam}.conllu")
            parsed.write_text(model.parse(Path(gold).read_text(encoding="utf-8"), beam), encoding="utf-8", newline="\n")
            scores = evaluate_files(gold, parsed)
            if part == "test":
                found |= {name: f"{scores[name].f1:.4f}" for name in ("las", "uas")}
                found |= _edges(*([sentence.heads for sentence in read_treebank(file).sentences] for file in (gold, parsed)))
            else:
                found["dev_las"] = f"{scores['las'].f1:.4f}"
        yield key, found


def _model_name(options: dict[str, Any]) -> str:
    """Names the model of some options, on top of those of scripts/benchmarks/udpipe.py."""
    return " ".join([UDPIPE, *(str(value) for name, value in options.items() if name != "beam")])


def _edges(gold: list[list[int]], parsed: list[list[int]]) -> dict[str, str]:
    edges = NonprojectiveEdges.of(gold, parsed)
    return {name: str(getattr(edges, name)) for name in _EDGES}


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


def differences(rows: list[Row], claim: Claim, treebank: str) -> list[float]:
    """The claim's sum in the trainings of each seed that has a row of every variant, in points of LAS."""
    found = []
    las = {(row["variant"], row["seed"]): float(row["las"]) for row in rows if row["treebank"] == treebank}
    for seed in sorted({seed for _, seed in las}, key=int):
        if all((name, seed) in las for name in (*claim.better, *claim.worse)):
            found.append(sum(las[name, seed] for name in claim.better) - sum(las[name, seed] for name in claim.worse))
    return found


def page(rows: list[Row], wanted: Comparison) -> str:
    """Markdown: the sections that are asked for, as far as there are rows."""
    rows = [row for row in rows if row["trained_on"] == wanted.part(row["treebank"])]
    languages = names_of(rows, "treebank", wanted.languages)
    if "summary" not in wanted.sections:
        languages = [name for name in languages if chosen(rows, treebank=name)]
    on_dev = [name for name in languages if wanted.part(name) == "dev" and wanted.train_on != "dev"]
    trained = f" {' and '.join(on_dev)}: trained on the dev part alone, the last epoch." if on_dev else ""
    parts = [f"# {wanted.title}\n\n{wanted.about}{trained}\n\n"]
    parts += [text for section in wanted.sections if (text := _SECTIONS[section](rows, languages, wanted))]
    return parts[0] + "\n".join(parts[1:])


def _table(
    rows: list[Row], languages: list[str], wanted: Comparison, cell: Callable[[list[Row]], str], empty: str = NOT_RUN
) -> tuple[list[str], list[list[str]]]:
    """The head of a table by variant and treebank, and the lines of those variants that there are rows of."""
    lines = []
    for name in wanted.names:
        found = [chosen(rows, variant=name, treebank=language) for language in languages]
        if any(found):
            lines.append([name, *(cell(of_one) if of_one else empty for of_one in found)])
    return ["", *languages], lines


def _scores(rows: list[Row], languages: list[str], wanted: Comparison) -> str:
    return markdown(*_table(rows, languages, wanted, lambda found: score(found, "las", "uas")))


def _summary(rows: list[Row], languages: list[str], wanted: Comparison) -> str:
    def cell(found: list[Row]) -> str:
        return f"{score(found, 'las', 'uas')} ({np.mean(numbers(found, 'cpu_seconds')):.0f} s)"

    return plain_table(*_table(rows, languages, wanted, cell))


def _edge_table(rows: list[Row], languages: list[str], wanted: Comparison) -> str:
    def cell(found: list[Row]) -> str:
        sums = NonprojectiveEdges(*(sum(int(row[name]) for row in found) for name in _EDGES))
        ours, gold = sums.tree_percents
        edges = f"{sums.precision:.1f} / {sums.recall:.1f} / {sums.f1:.1f}" if sums.predicted else "none"
        return f"{edges}; {ours:.1f} of {gold:.1f}"

    told = (
        "## Non-projective edges\n\nPrecision / recall / F1 in percent, all seeds together, then the percentage of the trees "
        "that have such an edge, the parser's and the gold ones; an edge is non-projective if a node between does not "
        "descend from the head.\n\n"
    )
    return told + markdown(*_table(rows, languages, wanted, cell))


def _claims(rows: list[Row], languages: list[str], wanted: Comparison) -> str:
    lines = []
    for label, claim in wanted.all_claims.items():
        by_language = [differences(rows, claim, name) for name in languages]
        if pairs := [difference for found in by_language for difference in found]:
            cells = [str(Estimate.of(found)) if found else NOT_RUN for found in by_language]
            lines.append([label, str(Estimate.of(pairs)), *cells, claim.papers])
    told = "## Claims\n\nDifference of LAS in points, mean and 95% interval over pairs of the same treebank and seed.\n\n"
    return told + markdown(["claim", "all", *languages, "the papers"], lines) if lines else ""


def _times(rows: list[Row], languages: list[str], wanted: Comparison) -> str:
    lines = []
    for label, names in wanted.all_times.items():
        found = [[numbers(chosen(rows, variant=name, treebank=t), "cpu_seconds") for name in names] for t in languages]
        ratios = [f"{np.mean(above) / np.mean(below):.2f}" if above and below else "" for above, below in found]
        if any(ratios):
            lines.append([label, *ratios])
    told = "## CPU time of training\n\nRatio of the means; reading, and measuring dev after each iteration, are in it.\n\n"
    return told + markdown(["", *languages], lines) if lines else ""


def _dev(rows: list[Row], languages: list[str], wanted: Comparison) -> str:
    told = "## LAS on dev\n\nTo choose on; mean ± standard deviation over seeds.\n\n"
    return told + markdown(
        *_table(rows, languages, wanted, lambda found: mean_and_deviation(numbers(found, "dev_las")), empty="")
    )


_SECTIONS = {
    "summary": _summary,
    "scores": _scores,
    "edges": _edge_table,
    "claims": _claims,
    "times": _times,
    "dev": _dev,
}

# Percentages on the test part, all words, full relations; CPU seconds of the whole training, and wall-clock time of fitting and
# exploration only. dev_las is empty where the dev part was trained on; ``predicted`` to ``gold_trees`` count edges of test.
MEASURED = ("las", "uas", "dev_las", *_EDGES, "cpu_seconds", "fit_seconds")
EXPERIMENT = Experiment(Comparison, ("variant", "treebank", "trained_on", "seed"), MEASURED, cells, measure, page)
