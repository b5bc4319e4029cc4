"""The tables of speed and of transition systems in docs/,
and words per second against the size of the beam.

    python experiments/speed.py
    python experiments/speed.py what=systems
    python experiments/speed.py what=beams

They are made from rows in experiments/results/speed, which ``scripts/benchmark.py parsing``
measures on a machine where nothing else runs; tests compare the pages with the rows. Each line of
the first table is a label in parsing.csv (comparison.py --config-name=accurate trains UDPipe):

    python scripts/benchmark.py parsing RUN_FOLDER/model
    ud-v2.2/*/{hu,el,cu,got,tr}_*-ud-{dev,test}.conllu --repeat 10 \\
        --beam 5 --times 3 --udpipe runs/accurate/UDPipe/hu.udpipe \\
        --spacy-train ud-v2.2/UD_Hungarian-Szeged/hu_szeged-ud-train.conllu \\
        --rows experiments/results/speed/parsing.csv --label recipe=accurate

and the same with recipe=paper, with "recipe=accurate model=bilstm", and the latter also with
--int8. In the second table, the column "trees" (which trees a system can build) is taken from
speed.yaml. LAS is the mean over seeds of comparison.py --config-name=systems. "decoding" is the
decoding speed relative to arc_standard (above 1: faster), from systems.csv; it was measured with
the models that comparison.py trained. The labels in systems.csv are those in speed.yaml, except
arc_standard. A cell for which there is no row shows a dash. To measure a row:

    python scripts/benchmark.py parsing runs/systems/lr_spine/hu-train-seed1/model
    ud-v2.2/*/{hu,got}_*-ud-{dev,test}.conllu \\
        --over arc_standard=runs/systems/arc_standard/hu-train-seed1/model --threads 1 \\
        --rows experiments/results/speed/systems.csv --label lr_spine

Each panel of the plot is a label in beams.csv (without --udpipe its points are left out). Lines
show only decoding, one for each way to merge items; the dotted line is the greedy speed divided by
the number of items. Points show CoNLL-U to CoNLL-U, the only speed of UDPipe that can be measured:

    python scripts/benchmark.py parsing RUN_FOLDER/model hu_szeged-ud-{dev,test}.conllu --beam
    1,2,4,8,16,32 --threads 1 \\
        --times 3 --udpipe runs/accurate/UDPipe/hu.udpipe --rows experiments/results/speed/beams.csv
        --label recipe=accurate
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from experiments import comparison
from experiments.command import ROOT, check_known, run
from experiments.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    label_beam_axis,
    panels,
    read_csv,
    save,
)
from experiments.tables import Row, chosen, numbers, plain_table, read_rows
from oracles.errors import OptimalStepError
from parser.beam_settings import Merge
from scripts.benchmarks.measurements import Measurement, read_measurements
from scripts.benchmarks.ratios import (
    OURS_AS_UDPIPE,
    UDPIPE,
    UDPIPE_BEAM,
    UDPIPE_WITH_BEAM,
    decoding_over,
    job_name,
)

FOLDER = ROOT / "experiments" / "results" / "speed"
BASELINE = "arc_standard"
NOT_MEASURED = "\N{EN DASH}"

_AS_HELP_SAYS = "python experiments/speed.py --help explains how to measure it"
_BEAM = re.compile(r"decoding, beam (\d+), merge (\w+)")  # names of beam_job_name()
_LINES = {
    Merge.NONE: ("none merged", BLUE),
    Merge.CONFIGURATION: ("equal configurations merged", ORANGE),
} | {Merge.SIGNATURE: ("merged by signature", GREEN)}
_POINTS = {
    "CoNLL-U to CoNLL-U": ("o", {1: job_name("end to end", 1), UDPIPE_BEAM: OURS_AS_UDPIPE}),
    "UDPipe 1": ("x", {1: UDPIPE, UDPIPE_BEAM: UDPIPE_WITH_BEAM}),
}


@dataclass
class SpeedColumn:
    """The format string of a cell, and its quantities."""

    form: str
    quantities: list[str]


@dataclass
class Speed:
    """The tables and pictures to show; configs/experiments/speed.yaml explains the keys."""

    what: str
    output: str
    labels: list[str]
    columns: dict[str, SpeedColumn]
    systems: dict[str, list[str]]


def parsing(measured: Sequence[Measurement], settings: Speed) -> list[list[str]]:
    """Return the cells of the table of speed, the head first, with a line for each measured label.

    Raises:
        OptimalStepError: a quantity of a label is missing; the message says how to measure it.
    """
    values = {(row.label, row.quantity): float(row.value) for row in measured}
    lines = [["", *settings.columns]]
    for label in settings.labels:
        if not any(row.label == label for row in measured):
            continue
        lines.append([f"`{label}`"])
        for column in settings.columns.values():
            if missing := [
                quantity for quantity in column.quantities if (label, quantity) not in values
            ]:
                raise OptimalStepError(f"{label}: {missing[0]!r} was not measured; {_AS_HELP_SAYS}")
            lines[-1].append(
                column.form.format(*(values[label, quantity] for quantity in column.quantities))
            )
    return lines


def systems(
    rows: Sequence[Row], measured: Sequence[Measurement], costs: Sequence[Row], settings: Speed
) -> list[list[str]]:
    """Return the cells of the table of systems, the head first; LAS by treebank,
    those with a training part first.
    """
    treebanks = list(
        dict.fromkeys(
            row["treebank"] for row in sorted(rows, key=lambda row: row["trained_on"] != "train")
        )
    )
    ratios = {
        row.label: f"{float(row.value):.2f}"
        for row in measured
        if row.quantity == decoding_over(BASELINE)
    }
    microseconds = {row["oracle"]: f"{float(row['mean']):.1f}" for row in costs}
    lines = [
        ["`system=`", "trees", "decoding", "oracle, µs", *(f"LAS, {name}" for name in treebanks)]
    ]
    for label, (system, variant, trees, oracle) in settings.systems.items():
        las_of_treebanks = (
            numbers(chosen(rows, variant=variant, treebank=treebank), "las")
            for treebank in treebanks
        )
        las = [f"{fmean(values):.2f}" if values else NOT_MEASURED for values in las_of_treebanks]
        speeds = (
            (ratios | {BASELINE: "1"}).get(label, NOT_MEASURED),
            microseconds.get(oracle, NOT_MEASURED),
        )
        lines.append([f"`{system}`", trees, *speeds, *las])
    return lines


def speeds(measured: Sequence[Measurement], label: str) -> dict[str, float]:
    """Return the words per second of CPU time under a label, by job.

    Raises:
        OptimalStepError: there is no greedy decoding, with which all jobs are compared.
    """
    end, rows = ", CPU time", [row for row in measured if row.label == label]
    speeds_by_job = {
        row.quantity.removesuffix(end): float(row.value)
        for row in rows
        if row.quantity.endswith(end)
    }
    if job_name("decoding", 1) not in speeds_by_job:
        raise OptimalStepError(
            f"{label}: {job_name('decoding', 1)!r} was not measured; {_AS_HELP_SAYS}"
        )
    return speeds_by_job


def line_of(speeds_by_job: dict[str, float], merge: Merge) -> dict[int, float]:
    """Return words per second by size of the beam; empty if items were not merged in this way."""
    beams = [
        (match, speed) for job, speed in speeds_by_job.items() if (match := _BEAM.fullmatch(job))
    ]
    return dict(sorted((int(match[1]), speed) for match, speed in beams if match[2] == merge))


def draw(measured: Sequence[Measurement], path: Path) -> None:
    """Draw a panel for each label.

    Raises:
        OptimalStepError: see speeds(), or there are no rows.
    """
    labels = list(dict.fromkeys(row.label for row in measured))
    if not labels:
        raise OptimalStepError(f"there are no rows to draw; {_AS_HELP_SAYS}")
    figure, plots = panels(len(labels), width=4.2)
    for label, plot in zip(labels, plots, strict=True):
        _draw_model(plot, speeds(measured, label))
        plot.set_title(label)
    plots[0].set_ylabel("words per second of CPU time")
    shown = {
        text: handle
        for plot in plots
        for handle, text in zip(*plot.get_legend_handles_labels(), strict=True)
    }
    plots[-1].legend(shown.values(), shown.keys(), loc="upper left", bbox_to_anchor=(1.02, 1))
    save(figure, path)


def _draw_model(plot: Axes, speeds_by_job: dict[str, float]) -> None:
    """Draw the lines and points of one model."""
    greedy = speeds_by_job[job_name("decoding", 1)]
    lines = {merge: line for merge in _LINES if (line := line_of(speeds_by_job, merge))}
    sizes = sorted({1, *(size for line in lines.values() for size in line)})
    plot.plot(
        sizes,
        [greedy / size for size in sizes],
        ":",
        color=GREY,
        label="greedy, divided by the items",
    )
    for merge, line in lines.items():
        name, colour = _LINES[merge]
        plot.plot([*line], [*line.values()], marker="o", color=colour, label=f"decoding, {name}")
    look: dict[str, Any] = {"color": BLACK, "markersize": 5, "fillstyle": "none"}
    for name, (marker, jobs) in _POINTS.items():
        if points := {
            size: speeds_by_job[job] for size, job in jobs.items() if job in speeds_by_job
        }:
            plot.plot([*points], [*points.values()], marker, label=name, **look)
    plot.set_yscale("log")
    label_beam_axis(plot, sizes)


def table_of(settings: Speed) -> list[list[str]]:
    """Return a table of the committed rows."""
    measured = read_measurements(FOLDER / f"{settings.what}.csv")
    if settings.what == "parsing":
        return parsing(measured, settings)
    compared = comparison.EXPERIMENT
    rows = read_rows(
        ROOT / "experiments" / "results" / "systems" / "results.csv",
        compared.columns,
        len(compared.key),
    )
    costs = read_csv(ROOT / "experiments" / "results" / "system_oracles" / "results.csv")
    return systems([*rows.values()], measured, costs, settings)


def main(settings: Speed) -> None:
    """Print a table, or draw the plot."""
    check_known("what", [settings.what], ("parsing", "systems", "beams"))
    if settings.what == "beams":
        draw(read_measurements(FOLDER / "beams.csv"), Path(settings.output))
    else:
        head, *lines = table_of(settings)
        print(plain_table(head, lines), end="")


if __name__ == "__main__":
    run(main, Speed, "speed", __doc__)
