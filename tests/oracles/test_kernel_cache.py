"""Where compiled kernels are kept; those older than any source of their package are removed,
others stay; damaged ones.
"""

import os
import pickle
import runpy
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numba
import pytest

from oracles import kernel_cache
from oracles.kernel_cache import _own_folders, forget_stale_kernels, is_private
from tests.jit import COMPILED
from tests.toy import ROOT


def touch(path: Path, time: int, text: str = "@njit\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time, time))
    return path


def test_kernels_older_than_any_source_that_kernels_are_made_of_are_forgotten(tmp_path):
    package = tmp_path / "package"
    touch(
        package / "a.py",
        100,
        "from package import b\nfrom package.inside.c import (\n    C,\n)\nkernel(C)\n",
    )
    touch(package / "b.py", 100, "B = 1\n")
    touch(package / "inside" / "c.py", 100, "import package.d\n")
    touch(package / "d.py", 100, "def late():\n    from package import e\n")
    touch(package / "e.py", 300, "E = 1\n")
    touch(package / "f.py", 100, "class F(NamedTuple): ...\n")
    forget_stale_kernels(package)  # it was never compiled
    fresh = touch(package / "__pycache__" / "b.kernel-1.py311.nbi", 400)
    indices = [
        folder / "__pycache__" / "a.kernel-1.py311.nbi" for folder in (package, package / "inside")
    ]
    for source, time in (
        ("e", 310),
        ("b", 320),
        ("inside/c", 330),
        ("d", 340),
        ("f", 350),
        ("a", 360),
    ):
        for index in indices:
            touch(index, 200)
        path = package / f"{source}.py"
        os.utime(path, (time, time))
        forget_stale_kernels(package)
        assert [index.exists() for index in (*indices, fresh)] == [source == "e"] * 2 + [True]
        if source == "e":
            assert [index.stat().st_mtime for index in indices] == [time] * 2
        os.utime(path, (100, 100))


def test_kernels_kept_in_a_place_of_our_own_are_forgotten_as_well(tmp_path, monkeypatch):
    touch(tmp_path / "package" / "a.py", 100)
    stale = touch(tmp_path / "optimal-step" / "package_1" / "a.kernel-1.py311.nbi", 50)
    others = touch(tmp_path / "another" / "a.kernel-1.py311.nbi", 50)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "another"))
    forget_stale_kernels(tmp_path / "package")
    assert others.exists()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "optimal-step"))
    forget_stale_kernels(tmp_path / "package")
    assert not stale.exists()


def loaded(folder: Path, name: str, result: str) -> Any:
    """Return a kernel that a new process would load or compile, from a module of this folder."""
    text = (
        f"from oracles.kernel_cache import kernel\n\n@kernel()\ndef {name}(x):\n    return "
        f"{result}\n"
    )
    return runpy.run_path(str(touch(folder / f"{name}.py", 100, text)), run_name=name)[name]


def first_call(folder: Path) -> tuple[int, bool]:
    """Return what a kernel computes in a new process, and whether it was found on disk."""
    called = loaded(folder, "double", "2 * x")
    return called(21), bool(called.stats.cache_hits)


def wrong_names(index: bytes) -> bytes:
    """Return an index whose kernels are in files that no string names."""
    version = pickle.loads(index)
    begin = len(pickle.dumps(version, protocol=-1))
    stamp, stored = pickle.loads(index[begin:])
    return index[:begin] + pickle.dumps((stamp, dict.fromkeys(stored, 5)))


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled (NUMBA_DISABLE_JIT=1)")
@pytest.mark.parametrize(
    ("ending", "damaged"),
    [
        *product(
            (".nbi", ".nbc"),
            (lambda _: b"", lambda whole: whole[:-1], lambda whole: b"\0" * len(whole)),
        ),
        *product(
            (".nbi", ".nbc"),
            (
                lambda _: pickle.dumps(None),
                lambda _: pickle.dumps([1, 2]),
                lambda _: b"cspam\neggs\n.",
            ),
        ),
        (".nbi", lambda whole: whole[:20]),
        (".nbi", wrong_names),
        (".nbc", lambda _: pickle.dumps((1,) * 12)),
        (".nbc", None),
    ],
)
def test_a_kernel_whose_file_is_damaged_is_compiled_again_once(
    tmp_path, monkeypatch, ending, damaged
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    assert [first_call(tmp_path) for _ in range(2)] == [(42, False), (42, True)]
    (file,) = tmp_path.rglob(f"*{ending}")
    if damaged is None:
        file.unlink()
    else:
        file.write_bytes(damaged(file.read_bytes()))
    assert [first_call(tmp_path) for _ in range(2)] == [(42, False), (42, True)]


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled (NUMBA_DISABLE_JIT=1)")
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_kernel_whose_file_can_be_neither_read_nor_written_runs_all_the_same(
    tmp_path, monkeypatch, caplog, ending
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(kernel_cache, "_is_warned", False)
    first_call(tmp_path)
    (file,) = tmp_path.rglob(f"*{ending}")
    file.unlink()
    file.mkdir()
    assert [first_call(tmp_path) for _ in range(2)] == [(42, False)] * 2
    (message,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert message.startswith("a compiled kernel cannot be stored (")


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled (NUMBA_DISABLE_JIT=1)")
def test_the_file_of_another_kernel_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    first_call(tmp_path)
    (file,) = tmp_path.rglob("*.nbc")
    other = loaded(tmp_path, "halve", "x // 2")
    assert other(42) == 21
    file.write_bytes(next(tmp_path.rglob("halve*.nbc")).read_bytes())
    assert [first_call(tmp_path) for _ in range(2)] == [(42, False), (42, True)]


@pytest.fixture
def home(tmp_path) -> Path:
    """Return a folder that only this user can write to, in one that all can,
    but not rename in: as in /tmp.
    """
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    return shared / "mine"


def test_a_folder_is_made_private_but_no_link_and_none_that_others_can_replace(home, tmp_path):
    assert is_private(home)
    assert home.stat().st_mode & 0o777 == 0o700
    assert is_private(home)
    home.rename(tmp_path / "elsewhere")
    home.symlink_to(tmp_path / "elsewhere")
    assert not is_private(home)
    home.unlink()
    home.parent.chmod(0o777)
    assert not is_private(home)


@pytest.mark.posix
def test_a_relative_folder_of_caches_does_not_count(monkeypatch):
    for name in ("XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, "relative")
    assert Path.home() / ".cache" / "optimal-step" in _own_folders()
    assert all(folder.is_absolute() for folder in _own_folders())


@pytest.mark.parametrize(("mode", "private"), [(0o770, False), (0o707, False), (0o755, True)])
def test_a_folder_that_others_can_write_to_or_own_is_not_private(home, monkeypatch, mode, private):
    home.mkdir()
    home.chmod(mode)
    assert is_private(home) == private
    monkeypatch.setattr(os, "geteuid", lambda: home.stat().st_uid + 1)
    assert not is_private(home)


@pytest.mark.long
@pytest.mark.parametrize("place", ["private", "none"])
def test_oracles_start_where_nothing_can_be_written(tmp_path, place):
    """``__pycache__`` is a file, so that nobody, root neither, can keep anything in it."""
    shutil.copytree(
        ROOT / "oracles", tmp_path / "oracles", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in {path.parent for path in (tmp_path / "oracles").rglob("*.py")}:
        (folder / "__pycache__").touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = """
import os, subprocess, sys, tempfile
tempfile.tempdir = sys.argv[1]
import oracles
print(oracles.lift([0, 1]))
code = "import tempfile; tempfile.tempdir = '/dev/null'; import oracles"
subprocess.run([sys.executable, "-c", code], check=True)
"""
    environment = {
        "HOME": "/dev/null",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argument = str(temporary) if place == "private" else "/dev/null"
    done = subprocess.run(
        [sys.executable, "-c", program, argument],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "[0, 1]\n"), done.stderr
    kept = list(temporary.glob("optimal-step-*/**/*.nbi"))
    if place == "private":
        assert done.stderr == ""
        assert kept
    else:
        assert done.stderr.count("no folder for compiled kernels") == 1
        assert not kept
