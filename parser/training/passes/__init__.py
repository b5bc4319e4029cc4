"""What a pass over the training sentences is, and what all passes of a run share.

A run begins a pass, or restores what an interrupted process left of it. Then it fits epoch after epoch, measures dev after
each, and saves the state. Passes differ in what they learn from, and how: classifier_passes.py has those of a classifier
(gold computations, exploration, whole computations), online.py those of a linear model.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from parser.beam_settings import Beam
from parser.settings.plan import PassPlan, SystemPlan
from parser.training.examples.corpus import Corpus
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.trainer import EpochLoss
from parser.training.observers import Observer

Saved = dict[str, dict[str, Tensor]]
"""Named groups of named tensors, as a checkpoint holds them."""


class Stopwatch:
    """Adds up wall-clock seconds by stage in a dictionary that outlives it: that of a checkpoint.

    Attributes:
        seconds: by stage, so far.
        last: seconds of the stage that ended last.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = 0.0

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Times what is done under it; stages may lie within each other, and then both count."""
        start = time.perf_counter()
        yield
        self.last = time.perf_counter() - start
        self.seconds[stage] = self.seconds.get(stage, 0.0) + self.last


@dataclass(frozen=True)
class RunContext:
    """What the passes of a run share.

    Attributes:
        corpus: what they learn from.
        system: the transition system.
        observers: who hears of them.
        stopwatch: counts the time of their stages.
        seed: of the run.
    """

    corpus: Corpus
    system: SystemPlan
    observers: Observer
    stopwatch: Stopwatch
    seed: int


PlanT = TypeVar("PlanT", bound=PassPlan)


class TrainingPass(ABC, Generic[PlanT]):
    """A pass over the training sentences. Its model is changed in place.

    Args:
        plan: of the pass.
        context: of the run.

    Attributes:
        name: for messages, and for its stages in metrics.json.
        epochs: how often it goes over what it learns from.
        search: how dev is parsed after each of them; None: greedily.
        given: whether another run has done it, so that only its end is measured.
    """

    def __init__(self, plan: PlanT, context: RunContext) -> None:
        self._plan = plan
        self._context = context
        self.name, self.epochs = plan.name, plan.epochs
        self.search: Beam | None = getattr(plan, "search", None)
        self.given: bool = getattr(plan, "given", False)

    @property
    def expected_examples(self) -> int:
        """About how many examples an epoch has: a word takes two steps."""
        return 2 * self._context.corpus.train.n_words

    @property
    @abstractmethod
    def data(self) -> TrainingSentences:
        """The sentences that it goes over."""

    @abstractmethod
    def begin(self) -> None:
        """Makes ready for the first epoch."""

    @abstractmethod
    def restore(self, saved: Saved, epochs_done: int) -> None:
        """Makes ready for the epoch after ``epochs_done``, in place of begin(): puts back what state() gave then."""

    @abstractmethod
    def fit_epoch(self, epoch: int) -> EpochLoss:
        """Trains for an epoch, whose number counts from 0; the stopwatch's last stage is that of its updates."""

    @abstractmethod
    def state(self) -> Saved:
        """What is needed to go on after the last epoch."""

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """Copies of the weights that parse, on the CPU."""

    @abstractmethod
    def put_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Puts back what weights() gave."""
