"""What a person sees of a run while it goes: TensorBoard curves, a progress bar, the final table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from tqdm import tqdm

from parser.training.exploration import ExplorationReport

Figures = dict[str, float]


class Tracker:
    """Writes the events of a run to its folder and draws a bar for each pass, where there is a terminal to draw it on.

    Args:
        folder: the run's folder.
        first_step: epochs (of all passes together) that an earlier, killed run has written already.
    """

    def __init__(self, folder: Path, first_step: int = 0) -> None:
        from torch.utils.tensorboard import SummaryWriter  # a slow import, and only runs need it

        self._writer = SummaryWriter(str(folder), purge_step=first_step)
        self._step = first_step
        self._bar: tqdm | None = None

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._close_bar()
        self._writer.close()

    def begin_pass(self, name: str, epochs: int, done: int) -> None:
        """Starts the bar of a pass of which ``done`` epochs are behind us."""
        self._close_bar()
        self._bar = tqdm(total=epochs, initial=done, desc=name.replace("_", " "), unit="epoch", disable=None)

    def walk(self, name: str, report: ExplorationReport) -> None:
        """Records what happened on a walk before the epoch that comes next."""
        for key, value in asdict(report).items():
            self._writer.add_scalar(f"{name}/{key}", value, self._step)

    def epoch(self, name: str, loss: float, dev: Figures | None) -> None:
        """Records an epoch: the training loss in nats an example, percentages on the dev part."""
        self._writer.add_scalar(f"{name}/training_loss", loss, self._step)
        shown = {"loss": f"{loss:.3f}"}
        if dev is not None:
            for key in ("uas", "las"):
                self._writer.add_scalar(f"{name}/dev_{key}", dev[key], self._step)
            shown["dev LAS"] = f"{dev['las']:.2f}"
        self._step += 1
        if self._bar is not None:
            self._bar.set_postfix(shown)
            self._bar.update()

    def finish(self, settings: dict[str, Any], metrics: dict[str, Any]) -> None:
        """Records settings and final figures as hyperparameters, so that TensorBoard can compare runs."""
        final = {
            f"final/{part}_{key}": metrics[part][key] for part in ("dev", "test") if metrics[part] for key in ("uas", "las")
        }
        self._writer.add_hparams(_flat(settings), final, run_name=".")

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, str | float | bool]:
    """{"a": {"b": 1}} as {"a.b": 1}; TensorBoard takes numbers, strings and truth values."""
    flat: dict[str, str | float | bool] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value if isinstance(value, bool | int | float | str) else str(value)
    return flat


def final_table(metrics: dict[str, Any]) -> str:
    """The figures of a run as a table, percentages with two digits."""
    keys = {
        "uas": "UAS",
        "las": "LAS",
        "las_universal": "LAS univ.",
        "uas_nopunct": "UAS no punct.",
        "las_nopunct": "LAS no punct.",
    }
    lines = [f"{'':22}" + "".join(f"{title:>15}" for title in keys.values())]
    stages = {"after the first pass": metrics["after_first_pass"], "at the end": metrics}
    for stage, figures in stages.items():
        for part in ("dev", "test"):
            if figures[part]:
                label = f"{part} {stage}"
                lines.append(f"{label:<26}"[:26] + "".join(f"{figures[part][key]:>15.2f}" for key in keys)[4:])
    return "\n".join(lines)
