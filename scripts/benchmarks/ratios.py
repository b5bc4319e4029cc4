"""Names of the measurements of the parsing benchmark, and their ratios.

All jobs are measured in turn, once per round. A ratio compares two jobs of the same round; the
median over rounds is given.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from parser.beam_settings import Beam

UDPIPE = "UDPipe, end to end, greedy, 1 thread"
# The beam of UDPipe's own models.
UDPIPE_BEAM = 5
UDPIPE_WITH_BEAM = f"UDPipe, end to end, beam {UDPIPE_BEAM}, 1 thread"
OURS_AS_UDPIPE = f"end to end, beam {UDPIPE_BEAM}, 1 thread"

SPACY = "spaCy, end to end, 1 thread"


@dataclass(frozen=True)
class Time:
    """The seconds of a job: by the clock, and of processor time."""

    wall: float
    cpu: float


def job_name(job: str, threads: int) -> str:
    """Return the name of a job with this many threads."""
    return f"{job}, {threads} thread{'s' * (threads > 1)}"


def beam_job_name(job: str, beam: Beam) -> str:
    """Return the name of a job with such a beam."""
    return f"{job}, beam {beam.size}, merge {beam.merge}"


def decoding_of(name: str) -> str:
    """Return the name of decoding with a model of --over."""
    return f"decoding by {name}, 1 thread"


def repeated(times: int) -> str:
    """Return the name of parsing the text this many times over."""
    return f"end to end, {times} times over"


def ratios_of(times: dict[str, list[Time]], threads: int, repeat: int = 1) -> dict[str, float]:
    """Return the speed of one thread relative to UDPipe and spaCy, by CPU time per word, and of
    ``threads`` relative to one, by the clock.

    Relative to UDPipe, also the speed on the text repeated ``repeat`` times, and that of decoding
    alone.
    """
    ratios = {}
    if UDPIPE in times and repeat > 1:
        whole = repeat * _median_ratio(times, UDPIPE, job_name(repeated(repeat), 1))
        ratios[f"{repeated(repeat)}, 1 thread, over UDPipe, CPU time"] = whole
    if SPACY in times:
        ratios["end to end, 1 thread, over spaCy, CPU time"] = _median_ratio(
            times, SPACY, job_name("end to end", 1)
        )
    for job in ("decoding", "end to end"):
        if UDPIPE in times:
            ratios[f"{job}, 1 thread, over UDPipe, CPU time"] = _median_ratio(
                times, UDPIPE, job_name(job, 1)
            )
        if threads > 1:
            jobs = job_name(job, 1), job_name(job, threads)
            ratios[f"{job}, {threads} threads over 1"] = _median_ratio(times, *jobs, clock="wall")
    return ratios


def _median_ratio(
    times: dict[str, list[Time]], dividend: str, divisor: str, clock: str = "cpu"
) -> float:
    """Return the median over rounds of the ratio of two jobs' times in a round."""
    pairs = zip(times[dividend], times[divisor], strict=True)
    return statistics.median(
        getattr(first, clock) / getattr(second, clock) for first, second in pairs
    )


def ratios_over_others(times: dict[str, list[Time]], names: Sequence[str]) -> dict[str, float]:
    """Return how many times as fast this model decodes as each other model, by CPU time."""
    return {
        decoding_over(name): _median_ratio(times, decoding_of(name), job_name("decoding", 1))
        for name in names
    }


def decoding_over(name: str) -> str:
    """Return the name of the ratio to a model of --over."""
    return f"decoding, 1 thread, over {name}, CPU time"


def beam_ratios(times: dict[str, list[Time]], beams: dict[str, Beam]) -> dict[str, float]:
    """Return two ratios, by CPU time: words/s of a beam, times its size, divided by words/s of
    greedy parsing; and the speed of our beam of 5 relative to UDPipe's.
    """
    ratios = {
        f"{name}, words/s x size over greedy": beam.size
        * _median_ratio(times, job_name("decoding", 1), name)
        for name, beam in beams.items()
    }
    if UDPIPE_WITH_BEAM in times:
        ratios[f"end to end, beam {UDPIPE_BEAM}, over UDPipe's"] = _median_ratio(
            times, UDPIPE_WITH_BEAM, OURS_AS_UDPIPE
        )
    return ratios
