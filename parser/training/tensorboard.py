"""The events of a run for TensorBoard: curves, the settings as text, and what tells runs apart beside their final metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from parser.training.observer import EpochEnd, ExplorationEnd, Observer, PassStart, RunStart

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

# The columns of the HPARAMS tab: the settings in which runs that are compared differ. The text tab has them all.
COMPARED = (
    "treebank.name",
    "system",
    "degree",
    "column",
    "oracle",
    "strategy",
    "recipe",
    "model",
    "seed",
    "online.mode",
    "second_pass.trees",
    "second_pass.policy",
    "classifier.hidden",
    "optimizer.learning_rate",
)


class TensorBoard(Observer):
    """Writes the events to the run's folder. A step is an epoch; those of the second pass follow those of the first.

    The curves: train/loss (nats an example), train/learning_rate, train/words_per_second, dev/las and dev/uas (percentages),
    exploration/* (see ExplorationReport), and pass, the number of the pass from 1.
    """

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._step = 0
        self._pass = 0
        self._compared: dict[str, Any] = {}

    def on_start(self, start: RunStart) -> None:
        """Opens the file; what an interrupted process wrote of epochs that it did not end is dropped."""
        from torch.utils.tensorboard import SummaryWriter  # a slow import, and only runs need it

        self._writer = SummaryWriter(str(start.folder), purge_step=start.epochs_done)
        self._step = start.epochs_done
        self._compared = {key: _shown(OmegaConf.select(start.settings, key)) for key in COMPARED}  # type: ignore[arg-type]
        text = OmegaConf.to_yaml(start.settings, resolve=True)
        self._writer.add_text("settings", "".join(f"    {line}\n" for line in text.splitlines()), 0)

    def on_pass_start(self, start: PassStart) -> None:
        """Notes the pass."""
        self._pass = start.number

    def on_exploration(self, exploration: ExplorationEnd) -> None:
        """Records what happened, at the epoch that comes next."""
        self._record({f"exploration/{key}": value for key, value in asdict(exploration.report).items()})

    def on_epoch(self, epoch: EpochEnd) -> None:
        """Records the epoch."""
        curves = {
            "train/loss": epoch.loss,
            "train/learning_rate": epoch.learning_rate,
            "train/words_per_second": epoch.words / max(epoch.fit_seconds, 1e-9),
            "pass": self._pass,
        }
        if epoch.dev is not None:
            curves |= {f"dev/{key}": epoch.dev[key] for key in ("las", "uas")}
        self._record(curves)
        self._step += 1

    def on_end(self, metrics: dict[str, Any]) -> None:
        """Records final metrics, and the settings to compare runs by, as hyperparameters."""
        final = {
            f"final/{part}_{key}": metrics[part][key] for key in ("las", "uas") for part in ("dev", "test") if metrics[part]
        }
        if self._writer is not None:
            self._writer.add_hparams(self._compared, final, run_name=".")

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()

    def _record(self, curves: dict[str, float]) -> None:
        if self._writer is not None:
            for tag, value in curves.items():
                self._writer.add_scalar(tag, value, self._step)


def _shown(value: Any) -> str | float | bool:
    """TensorBoard takes numbers, strings and truth values."""
    return value if isinstance(value, bool | int | float | str) else str(value)
