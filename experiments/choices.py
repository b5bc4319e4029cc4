"""Questions settled by measurement: what Nederhof (2019) leaves open, and what each part of recipe=accurate brings.

    python experiments/choices.py seeds=5 recipe=paper_tuned paths.treebanks=../shared/ud-v2.2
    python experiments/choices.py "studies=[target,walks]" "languages=[hu]" seeds=1 ...
    python experiments/choices.py --config-name=ablation paths.treebanks=../shared/ud-v2.2
    python experiments/choices.py --config-name=paper_literal paths.treebanks=../shared/ud-v2.2

The studies and their variants are in configs/experiments/choices.yaml, ablation.yaml and paper_literal.yaml. Rows go to
results.csv as trainings end; a row that is there is not run again. RECIPE.md beside it has a table for each study.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import hydra
import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from cells import Training, run_training
from jobs import make_rows
from parser.settings import Paths
from rows import read_rows

# Settings that decide the outcome of the first pass.
_FIRST_PASS = (
    "classifier.",
    "column=",
    "features.",
    "first_pass.",
    "keep=",
    "optimizer.",
    "projectivization=",
    "second_pass.trees=null",
    "single_root=",
    "vectors.",
    "vocabulary_from=",
)


@dataclass
class Study:
    """A question and its answers: settings by variant, the default first."""

    question: str = MISSING
    variants: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Choices:
    """Which studies to make; configs/experiments/choices.yaml says what each key is for."""

    title: str = MISSING
    languages: list[str] = field(default_factory=list)
    seeds: int = MISSING
    recipe: str = MISSING
    studies: list[str] = field(default_factory=list)
    part: str = "dev"
    workers: int = MISSING
    results: str = MISSING
    runs: str = MISSING
    paths: Paths = field(default_factory=Paths)
    all_studies: dict[str, Study] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: scores on the part that is asked for, percentages, all words, full relations."""

    recipe: str
    treebank: str
    seed: str
    settings: str
    las: str
    uas: str
    seconds: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.recipe, self.treebank, self.seed, self.settings


Rows = dict[tuple[str, ...], Row]

ConfigStore.instance().store(name="choices_schema", node=Choices)


@hydra.main(version_base="1.3", config_path="../configs/experiments", config_name="choices")
def main(wanted: Choices) -> None:
    """Makes the trainings that are not there yet, then writes the tables."""
    results = Path(wanted.results)
    path = results / "results.csv"
    rows = read_rows(path, Row)
    if unknown := set(wanted.studies) - set(wanted.all_studies):
        raise ValueError(f"studies has {', '.join(sorted(unknown))}; known are {', '.join(wanted.all_studies)}")
    studies = {name: study for name, study in wanted.all_studies.items() if name in wanted.studies or not wanted.studies}
    variants = list(dict.fromkeys(tuple(settings) for study in studies.values() for settings in study.variants.values()))
    jobs = []
    for seed in range(1, wanted.seeds + 1):
        for language in wanted.languages:
            trainings = [Training(language, wanted.recipe, 5, seed, wanted.paths.treebanks, variant) for variant in variants]
            missing = [training for training in trainings if not training.made(rows.get(_key(training)))]
            jobs += [partial(_run, group, Path(wanted.runs), wanted.part) for group in _groups(missing)]
    make_rows(jobs, wanted.workers, rows, path, Row)
    text = _report(rows, wanted, studies)
    (results / f"{wanted.recipe}.md").write_text(text, encoding="utf-8")
    print(text)


def _settings(training: Training) -> str:
    return " ".join(training.overrides)


def _key(training: Training) -> tuple[str, ...]:
    return training.recipe, training.treebank, str(training.seed), _settings(training)


def _groups(trainings: list[Training]) -> list[list[Training]]:
    """Variants of one treebank and seed, in lists that one process trains: those that share a first pass stay together."""
    sharing = [training for training in trainings if _shares_first_pass(training)]
    return [*([sharing] if sharing else []), *([training] for training in trainings if training not in sharing)]


def _shares_first_pass(training: Training) -> bool:
    # A schedule over the run knows of the second pass, so its first pass is nobody else's.
    in_passes = training.settings().optimizer.schedule_over == "pass"
    return in_passes and not any(setting.startswith(_FIRST_PASS) for setting in training.overrides)


def _run(trainings: list[Training], runs: Path, part: str) -> list[Row]:
    """Trains variants of one treebank and seed, with one first pass for those that share it. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    rows = []
    for training in trainings:
        base = runs / training.recipe / f"{training.treebank}-seed{training.seed}"
        first_pass = None
        if _shares_first_pass(training):
            first_pass = base / "first_pass" / "model"
            if not first_pass.exists():
                first = Training(training.treebank, training.recipe, 2, training.seed, training.treebanks, ())
                run_training(first, base / "first_pass")
        folder = base / training.fingerprint()
        finished = folder / "metrics.json"  # of a study that was interrupted before its rows were written
        metrics = json.loads(finished.read_text()) if finished.exists() else run_training(training, folder, first_pass)
        found = metrics[part]
        rows.append(
            Row(
                training.recipe,
                training.treebank,
                str(training.seed),
                _settings(training),
                f"{found['las']:.4f}",
                f"{found['uas']:.4f}",
                f"{sum(metrics['seconds'].values()):.1f}",
                training.fingerprint(),
            )
        )
    return rows


def _report(rows: Rows, wanted: Choices, studies: dict[str, Study]) -> str:
    """Markdown: a table for each study."""
    languages, seeds = list(wanted.languages), range(1, wanted.seeds + 1)
    lines = [
        f"# {wanted.title}, recipe={wanted.recipe}",
        "",
        f"LAS on {wanted.part} in percent, seeds 1 to {wanted.seeds}, mean ± standard deviation; the last column is the mean "
        "difference from the first line of the table, over treebanks and seeds, ± its standard error.",
    ]
    for name, study in studies.items():
        lines += ["", f"## {name}", "", study.question, ""]
        lines += ["| | " + " | ".join(languages) + " | difference |", "|---" * (len(languages) + 2) + "|"]
        scores = {
            variant: np.array([[_las(rows, wanted.recipe, t, s, settings) for s in seeds] for t in languages])
            for variant, settings in study.variants.items()
        }
        default = next(iter(scores.values()))
        for variant, found in scores.items():
            cells = [_mean_and_deviation(of_language) for of_language in found]
            gain = (found - default).ravel()
            error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else 0.0
            cells.append("" if found is default else f"{gain.mean():+.2f} ± {error:.2f}")
            lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _mean_and_deviation(scores: np.ndarray) -> str:
    """One seed has no deviation to show."""
    return f"{scores.mean():.2f} ± {scores.std(ddof=1):.2f}" if len(scores) > 1 else f"{scores[0]:.2f}"


def _las(rows: Rows, recipe: str, treebank: str, seed: int, settings: list[str]) -> float:
    row = rows.get((recipe, treebank, str(seed), " ".join(settings)))
    return float(row.las) if row else float("nan")


if __name__ == "__main__":
    main()
