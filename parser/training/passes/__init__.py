"""The interface of passes over the training sentences,
and the context that all passes of a run share.

A run begins a pass, or restores the state that an interrupted process saved. Then it fits epoch
after epoch, measures dev after each, and saves the state. classifier_passes.py has the passes of a
classifier (gold computations, exploration, whole computations), online.py the passes of a linear
model.
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
    """Wall-clock seconds added up by stage, in a dictionary that checkpoints keep.

    Attributes:
        seconds: the seconds of each stage so far.
        last: the seconds of the stage that ended last.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = 0.0

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time a stage; nested stages both count."""
        start = time.perf_counter()
        yield
        self.last = time.perf_counter() - start
        self.seconds[stage] = self.seconds.get(stage, 0.0) + self.last


@dataclass(frozen=True)
class RunContext:
    """The context that the passes of a run share.

    Attributes:
        corpus: the training data.
        observers: the observers, which are told what happens.
        stopwatch: counts the time of stages.
        seed: the seed of the run.
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
        context: shared by all passes of the run.

    Attributes:
        name: what messages call the pass, and the prefix of its stages in metrics.json.
        epochs: how often it goes over its training data.
        search: how dev is parsed after each epoch; None: greedily.
        given: whether an earlier run has done this pass, so that only its result is measured.
    """

    def __init__(self, plan: PlanT, context: RunContext) -> None:
        self._plan = plan
        self._context = context
        self.name, self.epochs = plan.name, plan.epochs
        self.search: Beam | None = getattr(plan, "search", None)
        self.given: bool = getattr(plan, "given", False)

    @property
    def expected_examples(self) -> int:
        """The approximate number of examples in an epoch: two for each word."""
        return 2 * self._context.corpus.train.n_words

    @property
    @abstractmethod
    def data(self) -> TrainingSentences:
        """The training sentences of the pass."""

    @abstractmethod
    def begin(self) -> None:
        """Prepare the first epoch."""

    @abstractmethod
    def restore(self, saved: Saved, epochs_done: int) -> None:
        """Prepare the epoch after ``epochs_done`` from what state() returned then;
        replaces begin().
        """

    @abstractmethod
    def fit_epoch(self, epoch: int) -> EpochLoss:
        """Train for an epoch, numbered from 0;
        the stopwatch's last stage is that of its updates.
        """

    @abstractmethod
    def state(self) -> Saved:
        """Return the state that is needed to resume after the last epoch."""

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """Return copies, on the CPU, of the weights that parse."""

    @abstractmethod
    def put_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Put back what weights() returned."""
