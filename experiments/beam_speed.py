"""Words per second against the size of the beam, drawn from experiments/speed/beams.csv: python experiments/beam_speed.py.

Each panel is a label of the rows, which one command measures on a machine where nothing else runs (UDPipe trained by
experiments/comparison.py --config-name=accurate; without --udpipe its points are left out):

    python scripts/benchmark.py parsing RUN_FOLDER/model hu_szeged-ud-{dev,test}.conllu --beam 1,2,4,8,16,32 --threads 1 \\
        --times 3 --udpipe runs/accurate/UDPipe/hu.udpipe --rows experiments/speed/beams.csv --label recipe=accurate

Lines are of decoding alone, one for each way to merge items; the dotted one is greedy parsing's speed divided by the number of
items. Points are of CoNLL-U to CoNLL-U, which is all that can be measured of UDPipe. Writes experiments/speed/beams.svg, or the
file that the first argument names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from experiments.figures import BLACK, BLUE, GREEN, GREY, ORANGE, label_beam_axis, panels, save
from parser.beam_settings import Merge
from scripts.benchmarks.measurements import Measurement, read_measurements
from scripts.benchmarks.ratios import OURS_AS_UDPIPE, UDPIPE, UDPIPE_BEAM, UDPIPE_WITH_BEAM, job_name

ROWS = Path(__file__).parent / "speed" / "beams.csv"
PLOT = ROWS.with_suffix(".svg")

_BEAM = re.compile(r"decoding, beam (\d+), merge (\w+)")  # as beam_job_name() has it
_LINES = {Merge.NONE: ("none merged", BLUE), Merge.CONFIGURATION: ("equal configurations merged", ORANGE)} | {
    Merge.SIGNATURE: ("merged by signature", GREEN)
}
_POINTS = {
    "CoNLL-U to CoNLL-U": (BLACK, "o", {1: job_name("end to end", 1), UDPIPE_BEAM: OURS_AS_UDPIPE}),
    "UDPipe 1": (BLACK, "x", {1: UDPIPE, UDPIPE_BEAM: UDPIPE_WITH_BEAM}),
}


def speeds(rows: Sequence[Measurement], label: str) -> dict[str, float]:
    """What was measured under a label: by job, words per second of CPU time.

    Raises:
        ValueError: greedy decoding was not, which all else is compared with.
    """
    end = ", CPU time"
    found = {
        row.quantity.removesuffix(end): float(row.value) for row in rows if row.label == label and row.quantity.endswith(end)
    }
    if job_name("decoding", 1) not in found:
        raise ValueError(
            f"{label}: {job_name('decoding', 1)!r} was not measured; measure as experiments/beam_speed.py --help says"
        )
    return found


def line_of(found: dict[str, float], merge: Merge) -> dict[int, float]:
    """By size of the beam, words per second; none if items were not merged in this way."""
    beams = [(match, speed) for job, speed in found.items() if (match := _BEAM.fullmatch(job))]
    return dict(sorted((int(match[1]), speed) for match, speed in beams if match[2] == merge))


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """A panel for each label.

    Raises:
        ValueError: see speeds(), or there are no rows.
    """
    labels = list(dict.fromkeys(row.label for row in rows))
    if not labels:
        raise ValueError(f"{ROWS}: there are no rows to draw; measure as experiments/beam_speed.py --help says")
    figure, plots = panels(len(labels), width=4.2)
    for label, plot in zip(labels, plots, strict=True):
        _draw_model(plot, speeds(rows, label))
        plot.set_title(label)
    plots[0].set_ylabel("words per second of CPU time")
    shown = {text: handle for plot in plots for handle, text in zip(*plot.get_legend_handles_labels(), strict=True)}
    plots[-1].legend(shown.values(), shown.keys(), loc="upper left", bbox_to_anchor=(1.02, 1))
    save(figure, path)


def _draw_model(plot: Axes, found: dict[str, float]) -> None:
    """The lines and points of one model."""
    greedy = found[job_name("decoding", 1)]
    lines = {merge: line for merge in _LINES if (line := line_of(found, merge))}
    sizes = sorted({1, *(size for line in lines.values() for size in line)})
    plot.plot(sizes, [greedy / size for size in sizes], ":", color=GREY, label="greedy, divided by the items")
    for merge, line in lines.items():
        name, colour = _LINES[merge]
        plot.plot([*line], [*line.values()], marker="o", color=colour, label=f"decoding, {name}")
    for name, (colour, marker, jobs) in _POINTS.items():
        measured = {size: found[job] for size, job in jobs.items() if job in found}
        if measured:
            plot.plot([*measured], [*measured.values()], marker, color=colour, markersize=5, label=name, fillstyle="none")
    plot.set_yscale("log")
    label_beam_axis(plot, sizes)


if __name__ == "__main__":
    if "--help" in sys.argv:
        print(__doc__)
    else:
        draw(read_measurements(ROWS), Path(sys.argv[1]) if len(sys.argv) > 1 else PLOT)
