"""What a parser without an encoder gains from the distributions of one that has one (parser/training/examples/teacher.py).

    python experiments/distillation.py paths.treebanks=../shared/ud-v2.2
    python experiments/distillation.py "languages=[got]" seeds=1 "variants=[mlp,bilstm,'all steps, weight 2']" ...

Variants are those of configs/experiments/distillation.yaml. One that has settings ``distillation.*`` is taught by the variant
``teacher``, trained on the same treebank with the same seed, before it. The rows of experiments/distillation/results.csv are
published, and are reused (see results.py); yours go to runs/distillation/results.csv as trainings end. table.md beside it is
the page: test, the claims, and dev, to choose on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments import comparisons
from experiments.command import check_known, run
from experiments.comparisons import Comparison, Row, Rows, run_ours, training_of
from experiments.jobs import Job
from experiments.results import Key, Results, check
from experiments.tables import markdown, mean_and_deviation
from experiments.trainings import Training, variant_folder

_PART = "train"

# Between the fingerprints of a row, its own and its teacher's.
TAUGHT_BY = " taught by "


@dataclass
class Distillation(Comparison):
    """What to compare; configs/experiments/distillation.yaml says what each key is for."""

    teacher: str = MISSING


ConfigStore.instance().store(name="distillation_schema", node=Distillation)


def main(wanted: Distillation) -> None:
    """Trains what is not there yet, then writes the page."""
    check_known("variants", wanted.variants, wanted.all_variants)
    check_known("teacher", [wanted.teacher], [name for name in wanted.all_variants if not is_taught(wanted, name)])
    check(wanted, ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    asked = asked_of(wanted)
    missing = results.missing(asked)
    jobs = []
    for seed, language in product(range(1, wanted.seeds + 1), wanted.languages):
        names = [name for name, *place in missing if place == [language, _PART, str(seed)]]
        if names:
            label = f"{language} seed {seed}, {len(names)} variant{'s' * (len(names) > 1)}"
            jobs.append(Job(label, partial(run_variants, names, wanted, language, seed)))
    results.run(jobs, wanted.workers)
    results.finish("table.md", lambda rows: page(rows, wanted), asked, wanted.publish)


def is_taught(wanted: Distillation, variant: str) -> bool:
    """Whether a variant has a teacher."""
    return any(setting.startswith("distillation.") for setting in wanted.all_variants[variant])


def asked_of(wanted: Distillation) -> dict[Key, str]:
    """The rows that are asked for, and what their fingerprint should be: of one that is taught, the teacher's, too."""
    return {
        (name, language, _PART, str(seed)): config_of(wanted, name, language, seed)
        for seed, language, name in product(
            range(1, wanted.seeds + 1), wanted.languages, wanted.variants or wanted.all_variants
        )
    }


def config_of(wanted: Distillation, name: str, language: str, seed: int) -> str:
    """The fingerprint of a row."""
    own = variant_of(wanted, name, language, seed).fingerprint()
    if not is_taught(wanted, name):
        return own
    return f"{own}{TAUGHT_BY}{variant_of(wanted, wanted.teacher, language, seed).fingerprint()}"


def variant_of(wanted: Distillation, name: str, language: str, seed: int) -> Training:
    """The training of a variant."""
    settings = list(wanted.all_variants[name])
    if is_taught(wanted, name):
        settings.append(f"distillation.teacher={_folder(wanted, wanted.teacher, language, seed)}")
    return training_of(wanted, settings, language, seed)


def run_variants(names: Sequence[str], wanted: Distillation, language: str, seed: int) -> list[Row]:
    """Trains variants on a treebank with a seed, their teacher first. Runs in a process of its own."""
    rows = []
    ordered = [name for name in wanted.all_variants if name in names and not is_taught(wanted, name)]
    taught = [name for name in wanted.all_variants if name in names and is_taught(wanted, name)]
    if taught and wanted.teacher not in ordered:
        ordered.append(wanted.teacher)  # which is not trained again where it is finished
    for name in [*ordered, *taught]:
        training = variant_of(wanted, name, language, seed)
        fresh = wanted.fresh and name in names
        [row] = run_ours(name, training, _PART, Path(wanted.runs), fresh)
        rows.append(replace(row, config=config_of(wanted, name, language, seed)))
    return [row for row in rows if row.variant in names]


def _folder(wanted: Distillation, name: str, language: str, seed: int) -> Path:
    """Where run_ours() trains a variant."""
    return variant_folder(Path(wanted.runs), name, language, _PART, seed).absolute()


def page(rows: Rows, wanted: Distillation) -> str:
    """Markdown: scores and claims on test, then LAS on dev."""
    languages = list(dict.fromkeys(row.treebank for row in rows.values()))
    lines = []
    for name in wanted.all_variants:
        of_variant = [row for row in rows.values() if row.variant == name]
        cells = [[float(row.dev_las) for row in of_variant if row.treebank == language] for language in languages]
        if of_variant:
            lines.append([name, *(mean_and_deviation(cell) if cell else "" for cell in cells)])
    dev = markdown(["", *languages], lines)
    return f"{comparisons.page(rows, wanted)}\n## LAS on dev\n\nTo choose on; mean ± standard deviation over seeds.\n\n{dev}"


if __name__ == "__main__":
    run(main, Distillation, "distillation", __doc__)
