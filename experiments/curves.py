"""Learning curves of Table 7: dev LAS after every epoch of both passes, mean over seeds.

    python experiments/curves.py recipe=paper
    python experiments/curves.py recipe=paper_tuned

Read from the run folders that experiments/table7.py left. A second pass begins where the first one ended: with its best epoch.
Writes RECIPE.csv and RECIPE.svg.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.command import Pictures, run
from experiments.figures import BLUE, GREEN, GREY, ORANGE, RED, panels, provenance, save, write_csv
from experiments.trainings import run_folder

COMMAND = "python experiments/curves.py"
PASSES = ("first_pass", "second_pass")

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

    recipe: str = MISSING
    treebanks: list[str] = field(default_factory=list)
    seeds: int = MISSING
    runs: str = MISSING


ConfigStore.instance().store(name="curves_schema", node=Curves)


def dev_las(folder: Path, name: str) -> list[float]:
    """Dev LAS in percent after each epoch of a pass, from the events of a run folder; none if it is not there."""
    if not folder.exists():
        return []
    events = EventAccumulator(str(folder)).Reload()
    if "dev/las" not in events.Tags()["scalars"]:
        return []
    passes = {event.step: event.value for event in events.Scalars("pass")}
    return [event.value for event in events.Scalars("dev/las") if passes[event.step] == 1 + PASSES.index(name)]


def curves_of(settings: Curves, treebank: str, column: int) -> np.ndarray:
    """float[seeds, epochs]: dev LAS in the last pass of a column."""
    name = PASSES[column > 2]
    folders = [
        run_folder(Path(settings.runs), (treebank, settings.recipe, str(column), str(seed)))
        for seed in range(1, settings.seeds + 1)
    ]
    curves = [dev_las(folder, name) for folder in folders]
    for folder, curve in zip(folders, curves, strict=True):
        if not curve:
            raise ValueError(f"{folder}: no events of the {name}; run table7.py first")
    return np.array(curves)


def main(settings: Curves) -> None:
    """Writes the numbers and the plot."""
    rows = []
    figure, plots = panels(len(settings.treebanks), width=2.9, height=3.2, share_y=False)
    for plot, treebank in zip(plots, settings.treebanks, strict=True):
        first_epochs = 0
        for column, (label, colour) in LINES.items():
            found = curves_of(settings, treebank, column)
            before = 0 if column <= 2 else first_epochs  # the second pass continues where the first one stopped
            epochs = np.arange(before + 1, before + 1 + found.shape[1])
            first_epochs = found.shape[1] if column <= 2 else first_epochs
            plot.plot(epochs, found.mean(axis=0), color=colour, label=label)
            rows += [
                (treebank, column, int(epoch), float(mean), float(deviation))
                for epoch, mean, deviation in zip(epochs, found.mean(axis=0), found.std(axis=0, ddof=1), strict=True)
            ]
        plot.set_title(treebank)
        plot.set_xlabel("epoch")
        low = min(row[3] for row in rows if row[0] == treebank and row[2] >= 3)
        plot.set_ylim(bottom=low)
    plots[0].set_ylabel("LAS on dev (percent)")
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    output = settings.folder
    head = provenance(f"{COMMAND} recipe={settings.recipe}", settings.treebanks, [f"seeds: 1 to {settings.seeds}"])
    write_csv(output / f"{settings.recipe}.csv", head, ("treebank", "column", "epoch", "dev_las", "standard_deviation"), rows)
    save(figure, output / f"{settings.recipe}.svg")


if __name__ == "__main__":
    run(main, Curves, "curves", __doc__)
