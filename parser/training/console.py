"""What a person reads of a run: a progress bar where there is a terminal, a line of log per epoch, the final table."""

from __future__ import annotations

import logging
from typing import Any

from tqdm import tqdm

from parser.data.vocabulary import TAGS
from parser.training.observer import EpochEnd, Metrics, Observer, PassStart

log = logging.getLogger(__name__)


class ProgressBar(Observer):
    """Draws a bar for each pass on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._bar: tqdm | None = None

    def on_pass_start(self, start: PassStart) -> None:
        """Starts the bar of the pass."""
        self.close()
        title = start.name.replace("_", " ")
        self._bar = tqdm(total=start.epochs, initial=start.epochs_done, desc=title, unit="epoch", disable=None)

    def on_epoch(self, epoch: EpochEnd) -> None:
        """Advances the bar."""
        if self._bar is None:
            return
        shown = {"loss": f"{epoch.loss:.3f}"}
        if epoch.dev is not None:
            shown["dev LAS"] = f"{epoch.dev['las']:.2f}"
        self._bar.set_postfix(shown)
        self._bar.update()

    def close(self) -> None:
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class EpochLog(Observer):
    """Logs a line for each epoch."""

    def on_epoch(self, epoch: EpochEnd) -> None:
        """Logs the line."""
        dev = "" if epoch.dev is None else f", dev UAS {epoch.dev['uas']:.2f} LAS {epoch.dev['las']:.2f}{tag_scores(epoch.dev)}"
        log.info(
            "%s, epoch %d of %d: loss %.4f%s; %.1f s, %s words a second",
            epoch.pass_name.replace("_", " "),
            epoch.epoch + 1,
            epoch.epochs,
            epoch.loss,
            dev,
            epoch.fit_seconds,
            f"{epoch.words / max(epoch.fit_seconds, 1e-9):,.0f}",
        )


def tag_scores(metrics: Metrics) -> str:
    """The scores of the columns that are predicted, each with a space before its name; empty if none is."""
    return "".join(f" {column.upper()} {metrics[column]:.2f}" for column in TAGS if column in metrics)


def final_table(metrics: dict[str, Any]) -> str:
    """The metrics of a run as a table, percentages with two digits; or why there is none."""
    keys = {
        "uas": "UAS",
        "las": "LAS",
        "las_universal": "LAS univ.",
        "uas_nopunct": "UAS no punct.",
        "las_nopunct": "LAS no punct.",
    }
    lines = [f"{'':22}" + "".join(f"{title:>15}" for title in keys.values())]
    if not metrics["dev"] and not metrics["test"]:
        return "nothing was measured, for there is no dev part and no test part: give treebank.dev=FILE or treebank.test=FILE"
    stages = {"after the first pass": metrics["after_first_pass"]}
    if "after_second_pass" in metrics:
        stages["after the second pass"] = metrics["after_second_pass"]
    stages["at the end"] = metrics
    for stage, parts in stages.items():
        for part in ("dev", "test"):
            if parts[part]:
                label = f"{part} {stage}"
                lines.append(f"{label:<26}"[:26] + "".join(f"{parts[part][key]:>15.2f}" for key in keys)[4:])
    tags = {part: tag_scores(metrics[part] or {}) for part in ("dev", "test")}
    lines += [f"{part} tags at the end:{scores}" for part, scores in tags.items() if scores]
    return "\n".join(lines)
