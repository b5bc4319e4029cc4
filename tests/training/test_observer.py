"""Observers hear of everything that a run does, in its order, and are closed when it fails."""

from __future__ import annotations

import math
import random

import pytest

from parser.training.observers import (
    EpochEnd,
    ExplorationEnd,
    Observer,
    Observers,
    PassEnd,
    PassStart,
    RunStart,
    Update,
)
from parser.training.run import train
from tests.toy import planned, sentence, write_conllu

OVERRIDES = [
    "treebank.name=toy",
    "treebank.test=null",
    "classifier.hidden=4",
    "vectors.dimensions=4",
    "vectors.epochs=1",
    "optimizer.batch_size=7",
    "optimizer.schedule=linear",
    "first_pass.epochs=2",
    "second_pass.epochs=3",
    "second_pass.explore_every=2",
]


class Everything(Observer):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list = []
        self.closed = 0

    def on_start(self, start: RunStart) -> None:
        self.heard.append(start)

    def on_pass_start(self, start: PassStart) -> None:
        self.heard.append(start)

    def on_exploration(self, exploration: ExplorationEnd) -> None:
        self.heard.append(exploration)

    def on_update(self, update: Update) -> None:
        self.heard.append(update)

    def on_epoch(self, epoch: EpochEnd) -> None:
        self.heard.append(epoch)

    def on_pass(self, end: PassEnd) -> None:
        self.heard.append(end)

    def on_end(self, metrics: dict) -> None:
        self.heard.append(metrics)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def treebank(tmp_path):
    return write_conllu(tmp_path / "toy.conllu", [sentence([2, 0, 2], random.Random(seed)) for seed in range(6)])


def test_a_run_is_heard_from_beginning_to_end(treebank, tmp_path):
    everything = Everything()
    run = planned(f"treebank.train={treebank}", f"treebank.dev={treebank}", *OVERRIDES)
    metrics = train(run, tmp_path / "run", [everything])
    heard = everything.heard

    # 6 sentences of 3 words have 6 steps each: 36 examples, 6 updates an epoch.
    epoch = [Update] * 6 + [EpochEnd]
    first = [PassStart, *epoch * 2, PassEnd]
    second = [PassStart, ExplorationEnd, *epoch * 2, ExplorationEnd, *epoch, PassEnd]
    assert [type(event) for event in heard] == [RunStart, *first, *second, dict]
    assert everything.closed == 1

    assert [event.examples for event in heard if isinstance(event, PassStart)] == [36, 36]
    assert (heard[0].epochs, heard[0].epochs_done, heard[0].folder) == (5, 0, tmp_path / "run")
    assert heard[-1] == metrics
    ends = [event for event in heard if isinstance(event, PassEnd)]
    assert [(end.name, end.dev, end.test) for end in ends] == [
        ("first_pass", metrics["after_first_pass"]["dev"], None),
        ("second_pass", metrics["dev"], None),
    ]
    explorations = [event for event in heard if isinstance(event, ExplorationEnd)]
    assert [(e.pass_name, e.epoch) for e in explorations] == [("second_pass", 0), ("second_pass", 2)]
    assert all(e.seconds > 0 for e in explorations)


def test_updates_add_up_to_their_epoch(treebank, tmp_path):
    everything = Everything()
    train(planned(f"treebank.train={treebank}", "treebank.dev=null", *OVERRIDES), tmp_path / "run", [everything])
    epochs = [event for event in everything.heard if isinstance(event, EpochEnd)]
    assert [(e.pass_name, e.epoch, e.epochs) for e in epochs[1:3]] == [("first_pass", 1, 2), ("second_pass", 0, 3)]
    for epoch in epochs:
        updates = [
            event
            for event in everything.heard
            if isinstance(event, Update) and (event.pass_name, event.epoch) == (epoch.pass_name, epoch.epoch)
        ]
        assert [update.step for update in updates] == list(range(6))
        assert [update.examples for update in updates] == [7, 7, 7, 7, 7, 1]
        mean = math.fsum(float(update.loss) * update.examples for update in updates) / 36
        assert mean == pytest.approx(epoch.loss)
        assert updates[-1].learning_rate == epoch.learning_rate < updates[0].learning_rate
        assert (epoch.examples, epoch.words, epoch.dev) == (36, 18, None)
        assert epoch.fit_seconds > 0


def test_all_are_closed_though_one_fails(treebank, tmp_path):
    class Failing(Observer):
        def on_update(self, update: Update) -> None:
            raise ZeroDivisionError

        def close(self) -> None:
            raise OSError("full disk")

    everything = [Everything(), Everything()]
    with pytest.raises(OSError, match="full disk"):
        train(
            planned(f"treebank.train={treebank}", "treebank.dev=null", *OVERRIDES),
            tmp_path / "run",
            [everything[0], Failing(), everything[1]],
        )
    assert [one.closed for one in everything] == [1, 1]


def test_observers_together_forward_every_event():
    """An event that Observers forgets to pass on is never heard."""
    events = {name for name in vars(Observer) if not name.startswith("_")}
    assert events <= set(vars(Observers))
