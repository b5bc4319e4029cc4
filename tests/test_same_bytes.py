import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.same_bytes import contents, differing

WEIGHTS = {"hidden": np.arange(6, dtype=np.float32).reshape(2, 3), "output": np.ones(3, np.float32)}


def run_folder(
    folder: Path, weights: dict[str, np.ndarray] = WEIGHTS, las: float = 80.0, seconds: float = 1.0
) -> Path:
    model = folder / "model"
    model.mkdir(parents=True)
    save_file(weights, model / "classifier.safetensors")
    (model / "settings.json").write_text(json.dumps({"format": 2, "versions": {"time": seconds}}))
    (model / "README.md").write_text(f"trained in {seconds} seconds")
    (folder / "metrics.json").write_text(
        json.dumps({"dev": {"las": las}, "seconds": {"read": seconds}, "versions": {}})
    )
    return folder


def test_time_and_versions_are_not_compared(tmp_path, capsys):
    old, new = (
        contents(run_folder(tmp_path / "old")),
        contents(run_folder(tmp_path / "new", seconds=2.0)),
    )
    assert differing("paper", old, new) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.endswith(" equal") for line in lines)


@pytest.mark.parametrize(
    ("changes", "what", "verdict"),
    [
        (
            {"weights": WEIGHTS | {"output": np.array([1, 1, 1 + 1e-7], np.float32)}},
            "output",
            "differs",
        ),
        ({"weights": WEIGHTS | {"hidden": WEIGHTS["hidden"].reshape(3, 2)}}, "hidden", "differs"),
        ({"weights": WEIGHTS | {"output": WEIGHTS["output"].view(np.int32)}}, "output", "differs"),
        ({"weights": {"hidden": WEIGHTS["hidden"]}}, "output", "only old"),
        ({"weights": WEIGHTS | {"more": WEIGHTS["hidden"]}}, "more", "only new"),
        ({"las": 80.1}, "metrics.json", "differs"),
    ],
)
def test_what_differs_is_named(tmp_path, capsys, changes, what, verdict):
    old, new = (
        contents(run_folder(tmp_path / "old")),
        contents(run_folder(tmp_path / "new", **changes)),
    )
    assert differing("paper", old, new) == 1
    (line,) = (line for line in capsys.readouterr().out.splitlines() if not line.endswith(" equal"))
    assert what in line
    assert line.endswith(verdict)
