"""Changes one place of the oracles and transition systems at a time:
python tests/mutation/run.py --mutants 300 --seed 1.

Of each change the tests that cover its file must fail; one that they do not notice has survived,
and is listed. Kernels run as plain Python (NUMBA_DISABLE_JIT=1), so that nothing is compiled anew
for each change, and an index outside an array is an error; the tests are smaller then. With
--compiled they are compiled, for minutes a change; survivors may fall to the larger tests.
A test that runs five times as long as it should has noticed the change as well.

mutmut and cosmic-ray were looked at first. mutmut 3 leaves out functions that have a decorator,
which all kernels have (@njit). cosmic-ray changes the files of the checkout itself, runs one
command for all files, and draws no sample.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.mutation.forked_tests import LOADED, run_tests  # noqa: E402 - found by the line above
from tests.mutation.mutants import Mutant, mutants_of  # noqa: E402
from tests.profiles import FIRST_FAILURE  # noqa: E402

PARTS = ("oracles", "parser/transitions")
_COPIED = (
    "oracles",
    "parser",
    "tests",
    "configs",
    "data",
    "experiments",
    "scripts",
    "pyproject.toml",
)

# Processes that run tests are forked from one that has loaded what tests load,
# but nothing of this project.
_PROCESSES = multiprocessing.get_context("forkserver")

_SHARED = [
    "test_arc_hybrid",
    "test_projectivize",
    "test_oracles_agree",
    "test_ties",
    "test_oracles_small",
    "test_kernel_cache",
]
# By package, the tests of tests/oracles that cover it, the quickest first; of other packages, the
# test has the package's name.
_OF_PACKAGES = {
    "arc_standard": ["test_oracles_agree", "test_context_rows", "test_ties", "test_oracles_small"],
    "tabular": ["test_tabular", "test_arc_hybrid"],
    "charts": [
        "test_projectivize",
        "test_lr_spine",
        "test_ties",
        "test_oracles_agree",
        "test_arc_eager",
    ],
    "projectivization": ["test_projectivize"],
}
_OF_TRANSITIONS = ["tests/transitions"]


def tests_of(path: str) -> list[str]:
    """The tests that cover a file, which is given from the root of the repository."""
    top, *packages, _ = path.split("/")
    if top != "oracles":
        return _OF_TRANSITIONS
    names = _OF_PACKAGES.get(packages[0], [f"test_{packages[0]}"]) if packages else _SHARED
    return [f"tests/oracles/{name}.py" for name in [*names, "test_refusals"]]


def sample(root: Path, n: int, seed: int) -> list[tuple[str, Mutant]]:
    """Return some of the mutants of all files, drawn without repetition;
    a part of them from the first on is a sample as well.
    """
    paths = sorted(path for part in PARTS for path in (root / part).rglob("*.py"))
    everything = [
        (str(path.relative_to(root)), mutant)
        for path in paths
        for mutant in mutants_of(path.read_text("utf-8"))
    ]
    drawn = Random(seed).sample(everything, min(n, len(everything)))
    print(f"{len(drawn):,} of {len(everything):,} mutants in {len(paths)} files", flush=True)
    return drawn


class Checker:
    """Runs tests in a copy of the repository, with a seed for hypothesis."""

    def __init__(self, root: Path, seed: int = 1) -> None:
        self._root, self._seed = root, seed
        self._seconds: dict[tuple[str, ...], float] = {}

    def survives(self, path: str, mutant: Mutant, tests: Sequence[str]) -> bool:
        """Whether the tests pass with the mutant in place of a file.

        Raises:
            RuntimeError: they fail without it.
        """
        if tuple(tests) not in self._seconds:
            start = time.perf_counter()
            if (said := self._failure(tests, None)) is not None:
                raise RuntimeError(f"tests fail before anything is changed:\n{said}")
            self._seconds[tuple(tests)] = time.perf_counter() - start
        file = self._root / path
        text = file.read_text("utf-8")
        file.write_text(mutant.applied(text), "utf-8")
        try:
            return self._failure(tests, 5 * self._seconds[tuple(tests)]) is None
        finally:
            file.write_text(text, "utf-8")

    def _failure(self, tests: Sequence[str], limit: float | None) -> str | None:
        """Return what the tests print if they fail; None if they pass."""
        shutil.rmtree(self._root / ".hypothesis", ignore_errors=True)
        arguments = [
            f"--hypothesis-profile={FIRST_FAILURE}",
            f"--hypothesis-seed={self._seed}",
            *tests,
        ]
        with tempfile.NamedTemporaryFile() as output:
            process = _PROCESSES.Process(
                target=run_tests, args=(str(self._root), arguments, output.name)
            )
            process.start()
            process.join(limit)
            if process.exitcode is None:
                process.kill()
                process.join()
                return "too slow"
            return (
                None if process.exitcode == 0 else Path(output.name).read_text("utf-8", "replace")
            )


def check(
    root: Path,
    drawn: Sequence[tuple[str, Mutant]],
    seed: int,
    tests: Callable[[str], list[str]] = tests_of,
    minutes: float = float("inf"),
) -> int:
    """Try mutants, each with its file, for some minutes,
    and print those that survive and how many were killed by file.

    Returns:
        How many survive.
    """
    checker = Checker(root, seed)
    killed, survived = Counter[str](), Counter[str]()
    end = time.monotonic() + 60 * minutes
    for number, (path, mutant) in enumerate(drawn, 1):
        if time.monotonic() > end:
            break
        if checker.survives(path, mutant, tests(path)):
            survived[path] += 1
            print(
                f"survived: {path}:{mutant.line}: {mutant.old!r} -> {mutant.new!r} ({number} of "
                f"{len(drawn)})",
                flush=True,
            )
        else:
            killed[path] += 1
        if number % 25 == 0:
            print(f"{number} of {len(drawn)} tried", flush=True)
    for path in sorted({*killed, *survived}):
        print(f"{path}: {killed[path]} of {killed[path] + survived[path]} killed")
    tried = killed.total() + survived.total()
    print(
        f"all: {killed.total()} of {tried} killed, {survived.total()} survived; "
        f"{len(drawn) - tried} not tried"
    )
    return survived.total()


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--mutants", type=int, default=300, help="how many are drawn (300)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument(
        "--file",
        nargs="*",
        default=[],
        help="of the mutants drawn, those of these files, or FILE:LINE, alone",
    )
    arguments.add_argument(
        "--compiled", action="store_true", help="compile the kernels of each, which takes minutes"
    )
    arguments.add_argument(
        "--minutes", type=float, default=float("inf"), help="try no more after so long"
    )
    given = arguments.parse_args()
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1"} | (
        {} if given.compiled else {"NUMBA_DISABLE_JIT": "1"}
    )
    _PROCESSES.set_forkserver_preload([*LOADED])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        for name in _COPIED:
            source, target = ROOT / name, root / name
            target.parent.mkdir(exist_ok=True)
            if source.is_dir():
                shutil.copytree(
                    source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(source, target)
        drawn = sample(root, given.mutants, given.seed)
        chosen = [
            (path, one)
            for path, one in drawn
            if not given.file or {path, f"{path}:{one.line}"} & {*given.file}
        ]
        check(root, chosen, given.seed, minutes=given.minutes)


if __name__ == "__main__":
    main()
