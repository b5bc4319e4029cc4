"""Kernels compiled for a processor that has only what every processor has: their tests pass, and 8
bits give the same trees.
"""

import os
import subprocess
import sys

import pytest

from tests.profiles import EVERY_DAY
from tests.random_models import random_text_model
from tests.toy import ROOT

# Tests of all that is written in vector instructions (see parser/kernels/llvm.py) or made of what
# is.
WITH_KERNELS = (
    "tests/kernels/test_products.py",
    "tests/kernels/test_in_numpy.py",
    "tests/inference/test_encoder.py",
    "tests/inference/test_precomputed_tokens.py",
    "tests/networks/test_bilstm.py",
    "tests/training/test_compiled_updates.py",
)

WITHOUT_FEATURES = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Python's, which succeeds."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "NUMBA_CPU_"))
    }
    environment |= {"PYTHONPATH": str(ROOT), **variables}
    process = subprocess.run(
        [sys.executable, *command],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process


@pytest.mark.long
def test_the_tests_of_kernels_pass_without_the_features_of_this_processor():
    options = "-q", "-p", "no:cacheprovider", "--hypothesis-profile", EVERY_DAY
    run("-m", "pytest", *options, *WITH_KERNELS, **WITHOUT_FEATURES)


def test_8_bits_give_the_same_trees_without_the_features_of_this_processor(tmp_path):
    random_text_model().save(tmp_path / "model")
    command = (
        "scripts/parse.py",
        str(tmp_path / "model"),
        "data/sample/sample-ud-dev.conllu",
        "--int8",
    )
    native, plain = run(*command), run(*command, **WITHOUT_FEATURES)
    assert native.stdout.count("\n") > 1000
    assert native.stdout == plain.stdout
