"""The output of a run: a progress bar in a terminal, a line of log per epoch, the final table."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from parser.conllu.checks import counted
from parser.data.attributes import PREDICTED
from parser.evaluation.scores import NAMES
from parser.training.observers import EpochEnd, Metrics, Observer, PassStart, RunStart, Update

if TYPE_CHECKING:
    from parser.model.parser_model import ParserModel

log = logging.getLogger(__name__)

_FORMAT = (
    "{desc}: {percentage:3.0f}%|{bar}| {n:.1f} of {total} epochs, {elapsed}, {remaining} left, "
    "ends {eta:%H:%M}{postfix}"
)

# The bar stops here within an epoch: it may have more examples than expected,
# and measuring takes time.
_NEARLY = 0.99


class ProgressBar(Observer):
    """A bar for the whole run on standard error, if that is a terminal,
    with the time when the run will end.

    It moves with every update, so that it predicts the end even during a long first epoch.
    """

    def __init__(self) -> None:
        self._bar: tqdm | None = None
        self._done = 0  # epochs
        self._examples = math.inf  # in an epoch: as many as in the last one, or as expected

    def on_start(self, start: RunStart) -> None:
        self.close()
        self._done = start.epochs_done
        self._bar = tqdm(
            total=start.epochs, initial=start.epochs_done, bar_format=_FORMAT, disable=None
        )

    def on_pass_start(self, start: PassStart) -> None:
        self._examples = start.examples
        if self._bar is not None:
            self._bar.set_description_str(start.name.replace("_", " "))

    def on_update(self, update: Update) -> None:
        if self._bar is not None and not self._bar.disable:
            self._to(min(self._bar.n + update.examples / self._examples, self._done + _NEARLY))

    def on_epoch(self, epoch: EpochEnd) -> None:
        self._examples = epoch.examples
        if self._bar is None:
            return
        shown = {"loss": f"{epoch.loss:.3f}"}
        if epoch.dev is not None and "las" in epoch.dev:
            shown["dev LAS"] = f"{epoch.dev['las']:.2f}"
        self._bar.set_postfix(shown, refresh=False)
        self._done += 1
        self._to(self._done)

    def _to(self, epochs: float) -> None:
        """Move the bar to a number of epochs; a sum of many steps would miss it by rounding."""
        assert self._bar is not None
        self._bar.update(epochs - self._bar.n)

    def close(self) -> None:
        """Close the bar; it stays on the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class EpochLog(Observer):
    """A log with a line for each epoch. After the first epoch of each pass, another line says when
    all passes will be over.

    Args:
        clock: returns the time.
    """

    def __init__(self, clock: Callable[[], datetime] = datetime.now) -> None:
        self._clock = clock
        self._left = 0  # epochs of all passes
        self._model: ParserModel | None = None
        self._begun: datetime | None = None  # when the pass began; None after its first epoch

    def on_start(self, start: RunStart) -> None:
        self._left = start.epochs - start.epochs_done
        self._model = start.model

    def on_pass_start(self, start: PassStart) -> None:
        self._begun = self._clock()

    def on_epoch(self, epoch: EpochEnd) -> None:
        dev = ""
        if epoch.dev is not None:
            trees = "".join(
                f" {key.upper()} {epoch.dev[key]:.2f}" for key in ("uas", "las") if key in epoch.dev
            )
            predicted = () if self._model is None else self._model.vocabularies.tags
            scores = trees + treebank_scores(epoch.dev) + tag_scores(epoch.dev, predicted)
            dev = f", dev{scores}" if scores else ""
        log.info(
            "%s, epoch %d of %d: loss %.4f%s; %.1f s, %s words per second",
            epoch.pass_name.replace("_", " "),
            epoch.epoch + 1,
            epoch.epochs,
            epoch.loss,
            dev,
            epoch.fit_seconds,
            f"{epoch.words / max(epoch.fit_seconds, 1e-9):,.0f}",
        )
        self._left -= 1
        if self._begun is not None and self._left:
            left = (self._clock() - self._begun) * self._left
            unless = (
                ", or later if the epochs of the next pass take longer"
                if self._left >= epoch.epochs - epoch.epoch
                else ""
            )
            minutes = counted(math.ceil(left / timedelta(minutes=1)), "minute")
            log.info(
                "the passes end at about %s, in %s%s",
                f"{self._clock() + left:%Y-%m-%d %H:%M}",
                minutes,
                unless,
            )
        self._begun = None


def treebank_scores(metrics: Metrics) -> str:
    """Return LAS of each treebank, with a space before its name; empty for a single treebank."""
    return "".join(
        f" {key.removesuffix('/las')} {value:.2f}"
        for key, value in metrics.items()
        if key.endswith("/las")
    )


def tag_scores(metrics: Metrics, predicted: Iterable[str] = ()) -> str:
    """Return the scores of columns, each with a space before its name;
    ``-`` for a predicted column without gold values.

    Args:
        metrics: the metrics of a split; columns that have a score are predicted.
        predicted: further columns that the model predicts.
    """
    named = [column for column in PREDICTED if column in metrics or column in predicted]
    return "".join(
        f" {column.upper()} {metrics[column]:.2f}" if column in metrics else f" {column.upper()} -"
        for column in named
    )


_SCORES = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct")


def final_table(metrics: dict[str, Any], predicted: Sequence[str] = ()) -> str:
    """Return the metrics of a run as a table, with two decimals; or say why nothing was measured.

    Args:
        metrics: as in metrics.json.
        predicted: the columns that the model predicts; those without gold values have no score.
    """
    if not metrics["dev"] and not metrics["test"]:
        return (
            "nothing was measured: there is neither a dev nor a test part; give treebank.dev=FILE "
            "and treebank.test=FILE, or treebank.held_out=0.1,0.1 for a tenth each; with a small "
            "treebank, treebank.folds=10 tests on all sentences"
        )
    if "folds" in metrics:
        rows = {f"fold {number}": scores for number, scores in enumerate(metrics["folds"], 1)}
        rows |= {
            "mean": metrics["test_mean"],
            "standard deviation": metrics["test_standard_deviation"],
        }
        return _table(rows | {"all sentences together": metrics["test"]})
    first = "at the start" if "first_pass_given" in metrics else "after the first pass"
    stages = {first: metrics["after_first_pass"]}
    if "after_second_pass" in metrics:
        stages["after the second pass"] = metrics["after_second_pass"]
    stages["at the end"] = metrics
    rows = {
        f"{split} {stage}": splits[split]
        for stage, splits in stages.items()
        for split in ("dev", "test")
        if splits[split]
    }
    tags = {
        split: tag_scores(metrics[split], predicted) for split in ("dev", "test") if metrics[split]
    }
    treebanks = {split: treebank_scores(metrics[split] or {}) for split in ("dev", "test")}
    further = {"tags at the end": tags, "LAS by treebank": treebanks}
    lines = (
        f"{split} {what}:{scores}"
        for what, splits in further.items()
        for split, scores in splits.items()
        if scores
    )
    return "\n".join([_table(rows), *lines])


def _table(rows: dict[str, Metrics]) -> str:
    lines = [f"{'':22}" + "".join(f"{NAMES[key]:>16}" for key in _SCORES)]
    for label, scores in rows.items():
        cells = (f"{scores[key]:>16.2f}" if key in scores else f"{'-':>16}" for key in _SCORES)
        lines.append(f"{label:<26}"[:26] + "".join(cells)[4:])
    return "\n".join(lines)
