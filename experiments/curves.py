"""Learning curves of Table 7: dev LAS after every epoch of both passes, mean over seeds.

    python experiments/curves.py recipe=paper
    python experiments/curves.py recipe=paper_tuned

Read from the run folders that experiments/table7.py left. A second pass begins where the first one ended: with its best epoch.
Writes RECIPE.csv and RECIPE.svg.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.columns import run_folder
from experiments.command import MODEL, Pictures
from experiments.figures import BLUE, GREEN, GREY, ORANGE, RED, FigureExperiment, Measured, Tables, panels, save
from experiments.tables import chosen, numbers

COLUMNS = ("treebank", "column", "epoch", "dev_las", "standard_deviation")

# By column of Table 7: what it is called in the plot, and its colour.
LINES = {
    1: ("first pass, projective subset (1)", GREY),
    2: ("first pass, projectivized (2)", BLUE),
    3: ("second pass, projective subset (3)", ORANGE),
    4: ("second pass, projectivized (4)", GREEN),
    5: ("second pass, original trees (5)", RED),
}


@dataclass
class Curves(Pictures):
    """Which curves to draw; configs/experiments/curves.yaml says what each key is for."""

    recipe: str
    treebanks: list[str]
    seeds: int
    runs: str = field(metadata=MODEL)

    @property
    def stem(self) -> str:
        """Of the files' names."""
        return self.recipe


def dev_las(folder: Path, number: int) -> list[float]:
    """Dev LAS in percent after each epoch of a pass, 1 or 2, from the events of a run folder.

    Raises:
        ValueError: there are none.
    """
    events = EventAccumulator(str(folder)).Reload() if folder.exists() else None
    if events is None or "dev/las" not in events.Tags()["scalars"]:
        raise ValueError(f"{folder}: no events of pass {number}; run table7.py first")
    passes = {event.step: event.value for event in events.Scalars("pass")}
    return [event.value for event in events.Scalars("dev/las") if passes[event.step] == number]


def measure(settings: Curves) -> Measured:
    """Reads."""
    rows: list[tuple[Any, ...]] = []
    first_epochs = 0
    for treebank, column in product(settings.treebanks, LINES):
        keys = [(treebank, settings.recipe, str(column), str(seed)) for seed in range(1, settings.seeds + 1)]
        found = np.array([dev_las(run_folder(settings.runs, key), 1 + (column > 2)) for key in keys])  # [seeds, epochs]
        before = 0 if column <= 2 else first_epochs  # the second pass continues where the first one stopped
        first_epochs = found.shape[1] if column <= 2 else first_epochs
        spread = zip(found.mean(axis=0), found.std(axis=0, ddof=1), strict=True)
        rows += [(treebank, column, before + epoch, float(mean), float(dev)) for epoch, (mean, dev) in enumerate(spread, 1)]
    return Measured({"results": rows}, settings.treebanks, [f"recipe: {settings.recipe}", f"seeds: 1 to {settings.seeds}"])


def draw(tables: Tables, settings: Curves, folder: Path) -> None:
    """A panel for each treebank."""
    rows = tables["results"]
    names = list(dict.fromkeys(row["treebank"] for row in rows))
    figure, plots = panels(len(names), width=2.9, height=3.2, share_y=False)
    for plot, treebank in zip(plots, names, strict=True):
        own = chosen(rows, treebank=treebank)
        for column, (label, colour) in LINES.items():
            found = chosen(own, column=column)
            plot.plot(numbers(found, "epoch"), numbers(found, "dev_las"), color=colour, label=label)
        lowest = min(float(row["dev_las"]) for row in own if int(row["epoch"]) >= 3)
        plot.set(title=treebank, xlabel="epoch", ylim=(lowest, None))
    plots[0].set_ylabel("LAS on dev (percent)")
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save(figure, folder / f"{settings.stem}.{settings.format}")


EXPERIMENT = FigureExperiment("curves", Curves, {"results": COLUMNS}, measure, draw=draw)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
