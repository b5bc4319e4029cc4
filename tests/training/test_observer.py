"""Observers hear of everything that a run does, in its order, and are closed when it fails."""

import math
import random

import pytest

from parser.training.observers import EpochEnd, ExplorationEnd, Observer, Observers, PassEnd, PassStart, RunStart, Update
from parser.training.run import train
from tests.toy import planned, sentence, write_conllu

OVERRIDES = [
    "treebank.name=toy", "treebank.test=null", "classifier.hidden=4", "vectors.dimensions=4", "vectors.epochs=1",
    "optimizer.batch_size=7", "optimizer.schedule=linear", "first_pass.epochs=2", "second_pass.epochs=3",
    "second_pass.explore_every=2",
]  # fmt: skip


class Everything(Observer):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list = []
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


for event in ("start", "pass_start", "exploration", "update", "epoch", "pass", "end"):
    setattr(Everything, f"on_{event}", lambda self, heard: self.heard.append(heard))


@pytest.fixture
def treebank(tmp_path):
    return write_conllu(tmp_path / "toy.conllu", [sentence([2, 0, 2], random.Random(seed)) for seed in range(6)])


@pytest.mark.parametrize("dev", [True, False])
def test_a_run_is_heard_from_beginning_to_end_and_updates_add_up_to_their_epoch(treebank, tmp_path, dev):
    everything = Everything()
    run = planned(f"treebank.train={treebank}", f"treebank.dev={treebank if dev else 'null'}", *OVERRIDES)
    metrics = train(run, tmp_path / "run", [everything])
    heard = everything.heard

    # 6 sentences of 3 words have 6 steps each: 36 examples, 6 updates an epoch.
    one = [Update] * 6 + [EpochEnd]
    first = [PassStart, *one * 2, PassEnd]
    second = [PassStart, ExplorationEnd, *one * 2, ExplorationEnd, *one, PassEnd]
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

    epochs = [event for event in heard if isinstance(event, EpochEnd)]
    assert [(e.pass_name, e.epoch, e.epochs) for e in epochs[1:3]] == [("first_pass", 1, 2), ("second_pass", 0, 3)]
    for epoch in epochs:
        its_own = [e for e in heard if isinstance(e, Update) and (e.pass_name, e.epoch) == (epoch.pass_name, epoch.epoch)]
        assert [update.step for update in its_own] == list(range(6))
        assert [update.examples for update in its_own] == [7, 7, 7, 7, 7, 1]
        mean = math.fsum(float(update.loss) * update.examples for update in its_own) / 36
        assert mean == pytest.approx(epoch.loss)
        assert its_own[-1].learning_rate == epoch.learning_rate < its_own[0].learning_rate
        assert (epoch.examples, epoch.words, epoch.dev is not None) == (36, 18, dev)
        assert epoch.fit_seconds > 0


def test_all_are_closed_though_one_fails(treebank, tmp_path):
    class Failing(Observer):
        def on_update(self, update: Update) -> None:
            raise ZeroDivisionError

        def close(self) -> None:
            raise OSError("full disk")

    everything = [Everything(), Everything()]
    run = planned(f"treebank.train={treebank}", "treebank.dev=null", *OVERRIDES)
    with pytest.raises(OSError, match="full disk"):
        train(run, tmp_path / "run", [everything[0], Failing(), everything[1]])
    assert [one.closed for one in everything] == [1, 1]


def test_observers_together_forward_every_event():
    """An event that Observers forgets to pass on is never heard."""
    events = {name for name in vars(Observer) if not name.startswith("_")}
    assert events <= set(vars(Observers))
