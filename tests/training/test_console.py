"""The progress bar: one for the whole run, on with every update, with the time when it will end."""

import io
import logging
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parser.training.observers import EpochEnd, PassStart, RunStart, Update
from parser.training.observers.console import EpochLog, ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Treebank:
    n_words = 500

    def __len__(self) -> int:
        return 40


def begun(epochs: int, done: int) -> ProgressBar:
    anything: Any = None
    bar = ProgressBar()
    bar.on_start(RunStart(anything, anything, Path(), SimpleNamespace(train=Treebank()), anything, epochs, done))  # type: ignore[arg-type]
    return bar


def epoch_end(name: str, examples: int) -> EpochEnd:
    return EpochEnd(name, 0, 5, 0.5, {"las": 70.0}, 0.1, examples, 500, 1.0)


def test_it_goes_on_with_every_update_and_ends_with_the_run(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = begun(epochs=3, done=1)
    bar.on_pass_start(PassStart(2, "second_pass", 2, 0, 1000))
    assert bar._bar.n == 1
    bar.on_update(Update("second_pass", 0, 0, 0.5, 250, 0.1))
    assert bar._bar.n == pytest.approx(1.25)  # of two steps for each of 500 words
    for _ in range(5):
        bar.on_update(Update("second_pass", 0, 0, 0.5, 250, 0.1))
    assert bar._bar.n == pytest.approx(1.99)
    bar.on_epoch(epoch_end("second_pass", 1500))
    assert bar._bar.n == pytest.approx(2)
    bar.on_update(Update("second_pass", 1, 0, 0.5, 750, 0.1))  # of as many as there were in the epoch before
    assert bar._bar.n == pytest.approx(2.5)
    bar.on_epoch(epoch_end("second_pass", 1500))
    bar._bar.refresh()
    bar.close()
    last = terminal.getvalue().rstrip().splitlines()[-1].rpartition("\r")[2]
    assert re.match(r"second pass: 100%.* 3\.0 of 3 epochs.* left, ends \d\d:\d\d, loss=0\.500, dev LAS=70\.00", last), last


def test_in_global_training_sentences_are_counted_and_without_a_terminal_nothing_is_drawn(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = begun(epochs=10, done=0)
    bar.on_pass_start(PassStart(3, "third_pass", 10, 0, 40))
    bar.on_update(Update("third_pass", 0, 0, 0.5, 8, 0.1))
    assert bar._bar.n == pytest.approx(0.2)
    bar.close()
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    bar = begun(epochs=3, done=0)
    bar.on_pass_start(PassStart(1, "first_pass", 3, 0, 1000))
    bar.on_update(Update("first_pass", 0, 0, 0.5, 100, 0.1))
    bar.on_epoch(epoch_end("first_pass", 100))
    bar.close()
    assert file.getvalue() == ""


@pytest.mark.parametrize("updates", [3, 7, 11])
def test_many_steps_do_not_lead_beyond_the_end(monkeypatch, updates):
    """tqdm warns of a bar that rounding carries beyond its total."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = begun(epochs=3, done=0)
    bar.on_pass_start(PassStart(1, "first_pass", 3, 0, 130 * updates))
    for epoch in range(1, 4):
        for _ in range(updates):
            bar.on_update(Update("first_pass", epoch, 0, 0.5, 130, 0.1))
        bar.on_epoch(epoch_end("first_pass", 130 * updates + epoch))
        assert bar._bar.n == epoch
    bar.close()


@pytest.mark.parametrize(
    ("done", "passes", "expected"),
    [
        (0, [("first_pass", 0, 3, 15), ("second_pass", 0, 2, 100)], [
            "2026-01-01 23:31, in 1 minute, or later if the epochs of the next pass take longer",
            "2026-01-01 23:34, in 2 minutes",
        ]),
        (1, [("first_pass", 1, 5, 1200)], ["2026-01-02 00:50, in 60 minutes"]),
        (4, [("second_pass", 2, 4, 7200)], ["2026-01-02 03:30, in 120 minutes"]),
        (2, [("second_pass", 2, 3, 15)], []),  # there is no other
    ],
)  # fmt: skip
def test_after_the_first_epoch_of_a_pass_the_log_says_when_the_passes_end(caplog, done, passes, expected):
    now = datetime(2026, 1, 1, 23, 30)
    log = EpochLog(lambda: now)
    anything: Any = None
    total = done + sum(epochs - of_pass for _, of_pass, epochs, _ in passes)
    with caplog.at_level(logging.INFO):
        log.on_start(RunStart(anything, anything, Path(), anything, anything, total, done))
        for number, (name, of_pass, epochs, seconds) in enumerate(passes, 1):
            log.on_pass_start(PassStart(number, name, epochs, of_pass, 100))
            for epoch in range(of_pass, epochs):
                now += timedelta(seconds=seconds)
                log.on_epoch(EpochEnd(name, epoch, epochs, 0.5, None, 0.1, 100, 500, 1.0))
    said = [message.removeprefix("the passes end at about ") for message in caplog.messages if "the passes end" in message]
    assert said == expected
