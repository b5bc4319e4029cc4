"""The events of a run for TensorBoard: curves, and settings with the final metrics, so that runs can be compared."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from parser.training.observer import EpochEnd, ExplorationEnd, Observer, RunStart

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoard(Observer):
    """Writes the events to the run's folder. A step is an epoch; those of the second pass follow those of the first."""

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._step = 0
        self._settings: dict[str, Any] = {}

    def on_start(self, start: RunStart) -> None:
        """Opens the file; what an interrupted process wrote of epochs that it did not end is dropped."""
        from torch.utils.tensorboard import SummaryWriter  # a slow import, and only runs need it

        self._writer = SummaryWriter(str(start.folder), purge_step=start.epochs_done)
        self._step = start.epochs_done
        self._settings = OmegaConf.to_container(start.settings, resolve=True)  # type: ignore[assignment]

    def on_exploration(self, exploration: ExplorationEnd) -> None:
        """Records what happened, at the epoch that comes next."""
        for key, value in asdict(exploration.report).items():
            self._record(f"{exploration.pass_name}/{key}", value)

    def on_epoch(self, epoch: EpochEnd) -> None:
        """Records the training loss in nats an example, and percentages on the dev part."""
        self._record(f"{epoch.pass_name}/training_loss", epoch.loss)
        if epoch.dev is not None:
            for key in ("uas", "las"):
                self._record(f"{epoch.pass_name}/dev_{key}", epoch.dev[key])
        self._step += 1

    def on_end(self, metrics: dict[str, Any]) -> None:
        """Records settings and final metrics as hyperparameters."""
        final = {
            f"final/{part}_{key}": metrics[part][key] for part in ("dev", "test") if metrics[part] for key in ("uas", "las")
        }
        if self._writer is not None:
            self._writer.add_hparams(_flat(self._settings), final, run_name=".")

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()

    def _record(self, tag: str, value: float) -> None:
        if self._writer is not None:
            self._writer.add_scalar(tag, value, self._step)


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, str | float | bool]:
    """{"a": {"b": 1}} as {"a.b": 1}; TensorBoard takes numbers, strings and truth values."""
    flat: dict[str, str | float | bool] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value if isinstance(value, bool | int | float | str) else str(value)
    return flat
