"""--no-skips, with which make test-extras runs: what is skipped has failed,
and the reason is shown.
"""

import os
import subprocess
import sys

from tests.toy import ROOT

SKIPS = {
    "body": "def test_it():\n    pytest.skip('lacks a body')\n",
    "mark": "@pytest.mark.skipif(True, reason='lacks a mark')\ndef test_it():\n    pass\n",
    "fixture": (
        "@pytest.fixture\ndef it():\n    pytest.skip('lacks a fixture')\n\ndef test_it(it):\n   "
        " pass\n"
    ),
    "module": (
        "pytest.importorskip('no_such_package', reason='lacks a module')\n\ndef test_it():\n   "
        " pass\n"
    ),
}
EXPECTED = "@pytest.mark.xfail\ndef test_expected():\n    assert False\n"


def test_every_kind_of_skip_fails(tmp_path):
    for kind, text in SKIPS.items():
        (tmp_path / f"test_{kind}.py").write_text(f"import pytest\n\n{text}\n{EXPECTED}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "--continue-on-collection-errors",
        str(tmp_path),
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    for options, outcome in (
        ([], "4 skipped, 3 xfailed"),
        (["--no-skips"], "1 failed, 3 xfailed, 3 errors"),
    ):
        done = subprocess.run(
            [*command, *options],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert outcome in done.stdout, done.stdout + done.stderr
        assert (done.returncode == 0) == (not options)
        assert [f"lacks a {kind}" in done.stdout for kind in SKIPS] == [bool(options)] * len(SKIPS)
