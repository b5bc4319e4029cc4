"""The plot of speed against the size of the beam shows what was measured, and says what was not."""

from __future__ import annotations

import pytest

from experiments import beam_speed
from parser.beam_settings import Beam, Merge
from scripts.benchmarks.measurements import Measurement
from scripts.benchmarks.ratios import OURS_AS_UDPIPE, beam_job_name, job_name

GREEDY = job_name("decoding", 1)


def rows(label: str, speeds: dict[str, float]) -> list[Measurement]:
    return [
        Measurement(label, f"{job}, CPU time", f"{speed:g}", "words/CPU s", "", "", "", "") for job, speed in speeds.items()
    ]


MEASURED = {GREEDY: 1000.0} | {
    beam_job_name("decoding", Beam(size, merge)): 1000.0 / size - place
    for size in (16, 2, 4)
    for place, merge in enumerate((Merge.NONE, Merge.CONFIGURATION))
}


def test_a_line_for_each_way_to_merge():
    found = beam_speed.speeds(rows("recipe=accurate", MEASURED) + rows("other", {GREEDY: 1.0}), "recipe=accurate")
    assert found == MEASURED
    assert beam_speed.line_of(found, Merge.CONFIGURATION) == {2: 499.0, 4: 249.0, 16: 61.5}
    assert [*beam_speed.line_of(found, Merge.CONFIGURATION)] == [2, 4, 16]
    assert beam_speed.line_of(found, Merge.SIGNATURE) == {}


def test_the_plot(tmp_path):
    measured = rows("recipe=accurate", MEASURED | {OURS_AS_UDPIPE: 180.0}) + rows("model=bilstm", MEASURED)
    beam_speed.draw(measured, tmp_path / "beams.svg")
    drawn = (tmp_path / "beams.svg").read_text(encoding="utf-8")
    for text in ("recipe=accurate", "model=bilstm", "equal configurations merged", "CoNLL-U to CoNLL-U"):
        assert f"<!-- {text}" in drawn or f"decoding, {text} -->" in drawn
    assert "UDPipe" not in drawn  # which was not measured


@pytest.mark.parametrize(
    ("measured", "said"),
    [([], "there are no rows"), (rows("paper", {OURS_AS_UDPIPE: 1.0}), "paper: 'decoding, 1 thread' was not")],
)
def test_what_was_not_measured_is_named(measured, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        beam_speed.draw(measured, tmp_path / "beams.svg")
