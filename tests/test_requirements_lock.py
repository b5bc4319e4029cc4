"""requirements/lock.txt has the versions of constraints.txt, each with its hashes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toy import ROOT

CONSTRAINTS, LOCK = ROOT / "requirements" / "constraints.txt", ROOT / "requirements" / "lock.txt"
HEAVY = re.compile(r"(torch|triton|nvidia|cuda)")  # gigabytes


def entries(path: Path) -> dict[str, str]:
    """Each requirement with its lines, by the package's name."""
    text = path.read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {re.split(r"==", line)[0].strip().lower(): line for line in lines}


def test_versions_are_those_of_the_constraints_and_each_has_a_hash():
    constraints = {name: line.split("==")[1].strip() for name, line in entries(CONSTRAINTS).items()}
    locked = entries(LOCK)
    for name, line in locked.items():
        assert "--hash=sha256:" in line, name
        version = re.split(r"[ ;]", line.split("==")[1])[0]
        if name in constraints:
            assert version == constraints[name], name
    for needed in (
        "torch",
        "gensim",
        "conllu",
        "hydra-core",
        "numpy",
        "numba",
        "safetensors",
        "tensorboard",
        "tqdm",
    ):
        assert needed in locked


@pytest.mark.extras
def test_the_lock_can_be_installed(tmp_path):
    """All but torch and what it brings, which is gigabytes; needs a package registry."""
    if not os.environ.get("OPTIMAL_STEP_INSTALL"):
        pytest.skip("OPTIMAL_STEP_INSTALL=1 installs what lock.txt names, from a package registry")
    light = tmp_path / "light.lock"
    light.write_text(
        "\n".join(line for name, line in entries(LOCK).items() if not HEAVY.match(name)),
        encoding="utf-8",
    )
    options = [
        "--quiet",
        "--require-hashes",
        "--no-deps",
        "--target",
        tmp_path / "there",
        "-r",
        light,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
