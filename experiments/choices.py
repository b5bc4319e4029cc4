"""Questions settled by measurement: what Nederhof (2019) leaves open, and what each part of
recipe=accurate contributes.

    python experiments/choices.py seeds=5 recipe=paper_tuned paths.treebanks=ud-v2.2
    python experiments/choices.py "studies=[target,exploration]" "languages=[hu]" seeds=1 ...
    python experiments/choices.py --config-name=ablation paths.treebanks=ud-v2.2
    python experiments/choices.py --config-name=paper_literal paths.treebanks=ud-v2.2

The studies and their variants are in configs/experiments/choices.yaml, ablation.yaml and
paper_literal.yaml. RECIPE.md has a table for each study.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, check
from experiments.tables import NOT_RUN, Key, Row, chosen, mean_and_deviation, names_of, plain_table
from experiments.trainings import Training, formatted, is_gone, run_training

# Settings that change the result of the first pass.
_FIRST_PASS = (
    *(
        "classifier.",
        "column=",
        "features.",
        "first_pass.",
        "keep=",
        "optimizer.",
        "projectivization=",
    ),
    *("second_pass.trees=null", "single_root=", "vectors.", "vocabulary_from="),
)


@dataclass
class Study:
    """A question and its answers: settings by variant, the default first."""

    question: str
    variants: dict[str, list[str]]


@dataclass
class OpenChoices(Trainings):
    """Which studies to make; configs/experiments/choices.yaml explains the keys."""

    studies: list[str]
    part: str
    all_studies: dict[str, Study]


def cells(wanted: OpenChoices) -> list[Cell]:
    """Return the cells of the studies, by seed and treebank;
    a variant of several studies has one cell.

    Variants of one treebank and seed that share a first pass are measured together.
    """
    check_known("studies", wanted.studies, wanted.all_studies)
    check_known("part", [wanted.part], ("dev", "test"))
    check(wanted, ("train", "dev", "test"))
    studies = [
        study
        for name, study in wanted.all_studies.items()
        if name in wanted.studies or not wanted.studies
    ]
    all_settings = [settings for study in studies for settings in study.variants.values()]
    variants = dict.fromkeys(
        " ".join(settings) for settings in all_settings if not is_gone(settings)
    )
    sharing = {
        settings: shares_first_pass(Training.of(wanted, "hu", 1, settings.split()))
        for settings in variants
    }
    return [
        Cell(
            (wanted.recipe, language, str(seed), settings),
            settings,
            f"{language} seed {seed}, "
            + ("variants that share a first pass" if sharing[settings] else settings),
        )
        for seed, language, settings in product(
            range(1, wanted.seeds + 1), wanted.languages, variants
        )
    ]


def shares_first_pass(training: Training) -> bool:
    """Return whether its first pass is the same as the default's."""
    # With a schedule over the run, the first pass depends on the second.
    in_passes = training.settings().optimizer.schedule_over == "pass"
    return in_passes and not any(setting.startswith(_FIRST_PASS) for setting in training.overrides)


def measure(wanted: OpenChoices, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train variants of one treebank and seed; variants that share a first pass train it once."""
    for number, cell in enumerate(group):
        recipe, treebank, seed, settings = cell.key
        training = Training.of(wanted, treebank, seed, settings.split())
        base = Path(wanted.runs) / recipe / f"{treebank}-seed{seed}"
        first_pass = None
        if shares_first_pass(training):
            first = replace(training, column=2, overrides=())
            folder = base / f"first_pass-{first.folder}"
            first_pass = folder / "model"
            run_training(first, folder, fresh=wanted.fresh and number == 0)
        metrics = run_training(training, base / training.folder, first_pass, wanted.fresh)
        las, uas = formatted(metrics[wanted.part], "las", "uas")
        yield (
            cell.key,
            {"las": las, "uas": uas, "seconds": f"{sum(metrics['seconds'].values()):.1f}"},
        )


def page(rows: list[Row], wanted: OpenChoices) -> str:
    """Return Markdown: a table for each study that is asked for or has rows."""
    rows = chosen(rows, recipe=wanted.recipe)
    languages = names_of(rows, "treebank", wanted.languages)
    seeds = range(1, max([int(row["seed"]) for row in rows], default=0) + 1)
    las = {(row["treebank"], int(row["seed"]), row["settings"]): float(row["las"]) for row in rows}
    parts = []
    for name, study in wanted.all_studies.items():
        variants = {variant: " ".join(settings) for variant, settings in study.variants.items()}
        if name not in wanted.studies and not any(
            row["settings"] in variants.values() for row in rows if row["settings"]
        ):
            continue
        default, lines = None, []
        for variant, settings in variants.items():
            scores = np.array(
                [[las.get((t, s, settings), np.nan) for s in seeds] for t in languages]
            )
            lines.append(
                [
                    variant,
                    *map(_over_seeds, scores),
                    "" if default is None else _gain((scores - default).ravel()),
                ]
            )
            default = scores if default is None else default
        parts.append(
            f"## {name}\n\n{study.question}\n\n{plain_table(['', *languages, 'difference'], lines)}"
        )
    # {} in the text is the number of seeds.
    return wanted.head().format(seeds.stop - 1) + "\n".join(parts)


def _over_seeds(scores: np.ndarray) -> str:
    """Return mean and deviation over seeds, and the number of seeds if some are missing;
    NaN is a missing seed.
    """
    there = scores[~np.isnan(scores)]
    if not len(there):
        return NOT_RUN
    some = "" if len(there) == len(scores) else f" ({len(there)} seed{'s' * (len(there) > 1)})"
    return mean_and_deviation(there) + some


def _gain(differences: np.ndarray) -> str:
    """Return the mean and its standard error over pairs without a missing seed."""
    there = differences[~np.isnan(differences)]
    if not len(there):
        return NOT_RUN
    error = there.std(ddof=1) / len(there) ** 0.5 if len(there) > 1 else 0.0
    return f"{there.mean():+.2f} ± {error:.2f}"


# Percentages on the chosen part, all words, full relations.
KEY, MEASURED = ("recipe", "treebank", "seed", "settings"), ("las", "uas", "seconds")
EXPERIMENT = Experiment("choices", OpenChoices, KEY, MEASURED, cells, measure, page, "{recipe}.md")

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
