"""Kills runs at random moments, or lets their disk fail, and resumes them: python
tests/crash/run.py --times 200 --seed 1.

A run that is started again must end in the same model, byte for byte, and leave no temporary file.
A model is there whole or not at all. Half of the kills come at a random moment, half at a random
file operation. With --disk the disk fails instead, at every file operation, one after the other,
and files cannot grow beyond sizes that double.
"""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).parent.parent.parent


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--times", type=int, default=200, help="kills of all models together (200)"
    )
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--model", nargs="*", help="mlp, bilstm, linear, beam; default: all")
    arguments.add_argument(
        "--disk", action="store_true", help="let the disk fail, and kill nothing"
    )
    given = arguments.parse_args()
    sys.path.insert(0, str(ROOT))
    logging.disable(logging.WARNING)

    from tests.crash.checks import Subject, treebank
    from tests.crash.crashes import MODELS

    models = given.model or list(MODELS)
    with tempfile.TemporaryDirectory() as folder:
        data = treebank(Path(folder))
        for number, model in enumerate(models):
            start = time.perf_counter()
            subject = Subject(model, data, Path(folder) / model)
            if given.disk:
                count = subject.survive_failing_disks()
            else:
                count = len(range(number, given.times, len(models)))
                for case in range(count):
                    subject.survive_a_kill(Random(f"{given.seed} {model} {case}"))
            what = (
                "failures of the disk" if given.disk else f"kills, {subject.deaths} before the end"
            )
            print(
                f"{model}: {count} {what}, each resumed; {time.perf_counter() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
