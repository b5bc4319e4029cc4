"""The tables and the plot of speed are what was measured, and say what was not."""

import pytest

from experiments import speed
from experiments.command import settings_of
from parser.beam_settings import Beam, Merge
from scripts.benchmarks.measurements import Measurement
from scripts.benchmarks.ratios import OURS_AS_UDPIPE, beam_job_name, decoding_over, job_name

SETTINGS = settings_of(speed.Speed, "speed")
QUANTITIES = [quantity for column in SETTINGS.columns.values() for quantity in column.quantities]


def rows(label: str, quantities: list[str]) -> list[Measurement]:
    return [
        Measurement(label, quantity, str(1.5 + number), "", "", "", "", "")
        for number, quantity in enumerate(quantities)
    ]


def test_a_line_for_each_label_that_was_measured_whole():
    lines = speed.parsing(
        rows("recipe=accurate", QUANTITIES) + rows("something else", QUANTITIES[:1]), SETTINGS
    )
    assert lines[1:] == [
        [
            "`recipe=accurate`",
            "1.5 (2 words/s)",
            "3.5",
            "4.5",
            "5.5",
            "6.5",
            "7.50",
            "8.50",
            "9.50 s",
        ]
    ]
    with pytest.raises(ValueError, match="recipe=paper: 'start-up' was not measured"):
        speed.parsing(rows("recipe=paper", QUANTITIES[:-1]), SETTINGS)


GREEDY = job_name("decoding", 1)
MEASURED = {GREEDY: 1000.0} | {
    beam_job_name("decoding", Beam(size, merge)): 1000.0 / size - place
    for size in (16, 2, 4)
    for place, merge in enumerate((Merge.NONE, Merge.CONFIGURATION))
}


def of_beams(label: str, speeds: dict[str, float]) -> list[Measurement]:
    return [
        Measurement(label, f"{job}, CPU time", f"{speed:g}", "words/CPU s", "", "", "", "")
        for job, speed in speeds.items()
    ]


def test_a_line_for_each_way_to_merge(tmp_path):
    measured = of_beams("recipe=accurate", MEASURED)
    found = speed.speeds(measured + of_beams("other", {GREEDY: 1.0}), "recipe=accurate")
    assert found == MEASURED
    assert [*speed.line_of(found, Merge.CONFIGURATION).items()] == [
        (2, 499.0),
        (4, 249.0),
        (16, 61.5),
    ]
    assert speed.line_of(found, Merge.SIGNATURE) == {}
    speed.draw(measured, tmp_path / "beams.svg")
    # which was not measured
    assert "UDPipe" not in (tmp_path / "beams.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ([], "there are no rows"),
        (of_beams("paper", {OURS_AS_UDPIPE: 1.0}), "paper: 'decoding, 1 thread' was not"),
    ],
)
def test_what_was_not_measured_of_beams_is_named(measured, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        speed.draw(measured, tmp_path / "beams.svg")


def test_means_of_seeds_and_ratios():
    lines = [
        ("swap", "grc", "dev", "50"),
        ("swap", "hu", "train", "70"),
        ("swap", "hu", "train", "71"),
    ]
    measured = [
        dict(zip(("variant", "treebank", "trained_on", "las"), line, strict=True)) for line in lines
    ]
    speeds = [Measurement("swap", decoding_over("arc_standard"), "0.456", "ratio", "", "", "", "")]
    costs = [{"oracle": "context_rows", "mean": "1.06"}]
    head, *found = speed.systems(measured, speeds, costs, SETTINGS)
    # those with a training part first
    assert head[2:] == ["decoding", "oracle, µs", "LAS, hu", "LAS, grc"]
    by_name = {line[0]: line[2:] for line in found}
    assert by_name["`swap`"] == ["0.46", speed.NOT_MEASURED, "70.50", "50.00"]
    assert by_name["`arc_standard`"] == ["1", "1.1", speed.NOT_MEASURED, speed.NOT_MEASURED]
    assert by_name["`lr_spine`"] == [speed.NOT_MEASURED] * 4
