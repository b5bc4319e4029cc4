"""Events of a training run: subclass Observer, override the hooks that you need,
and pass an instance to train().

    class LowestLoss(Observer):
        lowest = math.inf

        def on_epoch(self, epoch: EpochEnd) -> None:
            self.lowest = min(self.lowest, epoch.loss)

    train(plan, folder, [LowestLoss()])

The training process calls its observers in their order, and waits for them. This module loads
nothing slow, so that a script can define an observer before it loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from parser.model.parser_model import ParserModel
    from parser.settings.plan import Plan
    from parser.training.examples.corpus import Corpus
    from parser.training.examples.exploration import ExplorationReport
    from parser.training.fitting.beam_objective import SearchReport
    from parser.training.run_folder import Manifest

Metrics = dict[str, float]
"""Percentages under the keys of metrics.json."""


@dataclass(frozen=True)
class RunStart:
    """A run begins, or is resumed.

    The settings are in ``manifest``. Training changes ``model`` in place. ``epochs`` counts the
    epochs of all passes; an interrupted process, or the run of ``start``, has done ``epochs_done``
    of them.
    """

    plan: Plan
    manifest: Manifest
    folder: Path
    corpus: Corpus
    model: ParserModel
    epochs: int
    epochs_done: int


@dataclass(frozen=True)
class PassStart:
    """A pass begins, or is resumed. Passes are numbered from 1;
    an epoch has about ``examples`` examples.
    """

    number: int
    name: str
    epochs: int
    epochs_done: int
    examples: int


@dataclass(frozen=True)
class ExplorationEnd:
    """The parser has followed its own predictions through the training sentences.

    ``epoch``, from 0, is the first epoch of the pass that learns from it;
    ``seconds`` is wall-clock time, oracle included.
    """

    pass_name: str
    epoch: int
    report: ExplorationReport
    seconds: float


@dataclass(frozen=True)
class SearchEnd:
    """The parser has searched the training sentences and learned from them; ``epoch`` is the number
    of the epoch in the pass, from 0.
    """

    pass_name: str
    epoch: int
    report: SearchReport


class Update(NamedTuple):
    """The weights have been updated.

    ``epoch`` is the epoch of the pass and ``step`` the update within it, both from 0. ``loss`` is
    the mean of the batch, in nats per example; a tensor if reading its value would wait for a
    device.
    """

    pass_name: str
    epoch: int
    step: int
    loss: float | Tensor
    examples: int
    learning_rate: float


@dataclass(frozen=True)
class EpochEnd:
    """An epoch is over.

    Attributes:
        epoch: the number of the epoch in the pass, from 0; the pass has ``epochs``.
        loss: mean training loss, in nats per example; in global training an example is a sentence.
        dev: metrics on the dev part; None if there is none.
        learning_rate: the rate of the last update.
        words: the number of words of the training sentences.
        fit_seconds: wall-clock time of the updates only.
    """

    pass_name: str
    epoch: int
    epochs: int
    loss: float
    dev: Metrics | None
    learning_rate: float
    examples: int
    words: int
    fit_seconds: float


@dataclass(frozen=True)
class PassEnd:
    """A pass is over: its name, and the metrics of the weights that it keeps;
    None for a part that does not exist.
    """

    name: str
    dev: Metrics | None
    test: Metrics | None


class Observer:
    """The base class of observers: its hooks do nothing."""

    def on_start(self, start: RunStart) -> None:
        """Act when the run begins, or is resumed."""

    def on_pass_start(self, start: PassStart) -> None:
        """Act when a pass begins, or is resumed."""

    def on_exploration(self, exploration: ExplorationEnd) -> None:
        """Act when the examples of the next epochs have been made."""

    def on_search(self, search: SearchEnd) -> None:
        """Act when an epoch of global training has searched all sentences."""

    def on_update(self, update: Update) -> None:
        """Act when the weights have been updated; called for every batch, so be quick."""

    def on_epoch(self, epoch: EpochEnd) -> None:
        """Act when an epoch is over."""

    def on_pass(self, end: PassEnd) -> None:
        """Act when a pass is over."""

    def on_end(self, metrics: dict[str, Any]) -> None:
        """Act when the run is over; ``metrics`` is the content of metrics.json."""

    def close(self) -> None:
        """Clean up; called last, also after an error."""


class Observers(Observer):
    """Several observers as one: each hook calls the same hook of each observer. As a context
    manager it closes them all.
    """

    def __init__(self, observers: Iterable[Observer]) -> None:
        self._observers = tuple(observers)

    def __enter__(self) -> Observers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        with ExitStack() as stack:
            for observer in reversed(self._observers):
                stack.callback(observer.close)


def _told_to_all(hook: str) -> Callable[[Observers, Any], None]:
    def tell(self: Observers, event: Any) -> None:
        for observer in self._observers:
            getattr(observer, hook)(event)

    return tell


for _hook in vars(Observer):
    if _hook.startswith("on_"):
        setattr(Observers, _hook, _told_to_all(_hook))
