"""Questions settled by measurement: what Nederhof (2019) leaves open, and what each part of recipe=accurate contributes.

    python experiments/choices.py seeds=5 recipe=paper_tuned paths.treebanks=../shared/ud-v2.2
    python experiments/choices.py "studies=[target,exploration]" "languages=[hu]" seeds=1 ...
    python experiments/choices.py --config-name=ablation paths.treebanks=../shared/ud-v2.2
    python experiments/choices.py --config-name=paper_literal paths.treebanks=../shared/ud-v2.2

The studies and their variants are in configs/experiments/choices.yaml, ablation.yaml and paper_literal.yaml. The rows of the
folders of these names under experiments/ are published, and are reused (see results.py); yours go to results.csv under runs/ as
trainings end. RECIPE.md beside it has a table for each study.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import Trainings, check_known, run
from experiments.jobs import Job
from experiments.results import Key, Results, check
from experiments.tables import mean_and_deviation
from experiments.trainings import Training, run_training

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
class Choices(Trainings):
    """Which studies to make; configs/experiments/choices.yaml says what each key is for."""

    title: str = MISSING
    recipe: str = MISSING
    studies: list[str] = field(default_factory=list)
    part: str = MISSING
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


Rows = dict[Key, Row]

ConfigStore.instance().store(name="choices_schema", node=Choices)


def main(wanted: Choices) -> None:
    """Makes the trainings that are not there yet, then writes the tables."""
    check_known("studies", wanted.studies, wanted.all_studies)
    check_known("part", [wanted.part], ("dev", "test"))
    check(wanted, ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    studies = {name: study for name, study in wanted.all_studies.items() if name in wanted.studies or not wanted.studies}
    trainings = {_key(training): training for training in trainings_of(wanted, studies)}
    asked = {key: training.fingerprint() for key, training in trainings.items()}
    missing = [trainings[key] for key in results.missing(asked)]
    jobs = []
    for treebank, seed in dict.fromkeys((training.treebank, training.seed) for training in missing):
        of_one = [training for training in missing if (training.treebank, training.seed) == (treebank, seed)]
        for group in _groups(of_one):
            label = f"{treebank} seed {seed}, {len(group)} variant{'s' * (len(group) > 1)}"
            jobs.append(Job(label, partial(_run, group, Path(wanted.runs), wanted.part, wanted.fresh)))
    results.run(jobs, wanted.workers)
    results.finish(f"{wanted.recipe}.md", lambda rows: _report(rows, wanted), asked, wanted.publish)


def trainings_of(wanted: Choices, studies: dict[str, Study]) -> list[Training]:
    """Those of the studies, by seed and treebank; what several studies have in common, once."""
    variants = list(dict.fromkeys(tuple(settings) for study in studies.values() for settings in study.variants.values()))
    return [
        Training(language, wanted.recipe, 5, seed, wanted.paths.treebanks, variant)
        for seed in range(1, wanted.seeds + 1)
        for language in wanted.languages
        for variant in variants
    ]


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


def _run(trainings: list[Training], runs: Path, part: str, fresh: bool = False) -> list[Row]:
    """Trains variants of one treebank and seed, with one first pass for those that share it. Runs in a process of its own."""
    logging.disable(logging.WARNING)
    rows: list[Row] = []
    for training in trainings:
        base = runs / training.recipe / f"{training.treebank}-seed{training.seed}"
        first_pass = None
        if _shares_first_pass(training):
            first = Training(training.treebank, training.recipe, 2, training.seed, training.treebanks, ())
            folder = base / f"first_pass-{first.fingerprint()}"
            first_pass = folder / "model"
            run_training(first, folder, fresh=fresh and not rows)
        folder = base / training.fingerprint()
        metrics = run_training(training, folder, first_pass, fresh)
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


def _report(rows: Rows, wanted: Choices) -> str:
    """Markdown: a table for each study that was asked for or that there are rows of."""
    of_recipe = [row for row in rows.values() if row.recipe == wanted.recipe]
    found = {row.settings for row in of_recipe}
    languages = list(dict.fromkeys([*wanted.languages, *sorted(row.treebank for row in of_recipe)]))
    seeds = range(1, max([int(row.seed) for row in of_recipe], default=0) + 1)
    lines = [
        f"# {wanted.title}, recipe={wanted.recipe}",
        "",
        f"LAS on {wanted.part} in percent, seeds 1 to {seeds.stop - 1} unless the cell says otherwise, mean ± standard "
        "deviation; the last column is the mean difference from the first line of the table, over treebanks and seeds, ± its "
        "standard error.",
    ]
    for name, study in wanted.all_studies.items():
        there = any(" ".join(settings) in found for settings in study.variants.values() if settings)
        if not (there or name in wanted.studies):
            continue
        lines += ["", f"## {name}", "", study.question, ""]
        lines += ["| | " + " | ".join(languages) + " | difference |", "|---" * (len(languages) + 2) + "|"]
        scores = {
            variant: np.array([[_las(rows, wanted.recipe, t, s, settings) for s in seeds] for t in languages])
            for variant, settings in study.variants.items()
        }
        default = next(iter(scores.values()))
        for variant, of_variant in scores.items():
            cells = [_of_seeds(of_language) for of_language in of_variant]
            cells.append("" if of_variant is default else _gain((of_variant - default).ravel()))
            lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _of_seeds(scores: np.ndarray) -> str:
    """Of those seeds that there are rows of, and how many these are if some are missing; NaN is a missing one."""
    there = scores[~np.isnan(scores)]
    if not len(there):
        return "not run"
    some = "" if len(there) == len(scores) else f" ({len(there)} seed{'s' * (len(there) > 1)})"
    return mean_and_deviation(there) + some


def _gain(differences: np.ndarray) -> str:
    """The mean, and its standard error, of the pairs that are there."""
    there = differences[~np.isnan(differences)]
    if not len(there):
        return "not run"
    error = there.std(ddof=1) / len(there) ** 0.5 if len(there) > 1 else 0.0
    return f"{there.mean():+.2f} ± {error:.2f}"


def _las(rows: Rows, recipe: str, treebank: str, seed: int, settings: list[str]) -> float:
    row = rows.get((recipe, treebank, str(seed), " ".join(settings)))
    return float(row.las) if row else float("nan")


if __name__ == "__main__":
    run(main, Choices, "choices", __doc__)
