"""Feeds readers, the parser and model loading with changed input:
python tests/fuzz/run.py --cases 100000 --seed 1.

Ends at the first fault, or at a case of more than 10 seconds, with the command that repeats it.
With --bounds the kernels are compiled, in a place of their own, so that an index outside an array
is an error; this takes some minutes at first.
"""

import argparse
import faulthandler
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_LIMIT = 10  # seconds for a case


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--cases", type=int, default=10_000, help="of each target (10000)")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--first", type=int, default=0, help="the number of the first case (0)")
    arguments.add_argument(
        "--target",
        nargs="*",
        help=(
            "parse, gold, compressed, model, output, checkpoint, settings, files, overrides, "
            "text, lattice; default: all"
        ),
    )
    arguments.add_argument("--bounds", action="store_true", help="check every index in the kernels")
    given = arguments.parse_args()
    if given.bounds:
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        os.environ["NUMBA_CACHE_DIR"] = str(
            ROOT / "tests" / "fuzz" / "__pycache__" / "optimal-step-bounds"
        )
    sys.path.insert(0, str(ROOT))
    import torch

    # numba reads its settings when it is imported
    from tests.fuzz.targets import TARGETS, compile_kernels, generator

    torch.set_num_threads(1)  # tiny matrix products are slower with more
    compile_kernels()
    for name in given.target or TARGETS:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            for case in range(given.first, given.first + given.cases):
                faulthandler.dump_traceback_later(_LIMIT, exit=True)
                try:
                    TARGETS[name](generator(given.seed, name, case), Path(folder))
                except BaseException:
                    print(
                        f"fault: python tests/fuzz/run.py --target {name} --seed {given.seed} "
                        f"--first {case} --cases 1"
                    )
                    raise
                finally:
                    faulthandler.cancel_dump_traceback_later()
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name}: {given.cases:,} cases, no fault; {seconds:.0f} s, at most {peak:,} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
