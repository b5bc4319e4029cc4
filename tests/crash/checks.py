"""What must hold of a run that died, and of the one that goes on in its folder."""

import errno
import random
import resource
import shutil
from multiprocessing.sharedctypes import RawValue
from pathlib import Path

from parser.training.run import train
from tests.crash.crashes import (
    DONE,
    TOLD,
    Trap,
    counting,
    ended,
    failing_from_operation,
    killed_after,
    killed_at_operation,
    left_over,
    model_of,
    no_file_larger_than,
    run_of,
)
from tests.random_trees import random_projective_tree
from tests.toy import sentence, write_conllu


def treebank(folder: Path) -> Path:
    rng = random.Random(0)
    trees = [
        tree
        for tree in (random_projective_tree(rng, rng.randint(2, 9)) for _ in range(60))
        if tree.count(0) == 1
    ]
    return write_conllu(folder / "toy.conllu", [sentence(heads, rng) for heads in trees[:20]])


class Subject:
    """A run that is whole, beside which others die.

    Attributes:
        deaths: how many runs so far died, or were stopped, before their end.
    """

    def __init__(self, model: str, data: Path, folder: Path) -> None:
        self._plan, self._folder = run_of(model, data), folder
        self.deaths = 0
        folder.mkdir()
        train(self._plan, folder / "first")  # here, so that the others find everything loaded
        before, operations = _seconds_of_children(), RawValue("i")
        assert ended(self._plan, folder / "whole", counting(operations)) == DONE
        self._seconds, self._operations = _seconds_of_children() - before, operations.value
        self._model = model_of(folder / "whole")

    def survive_a_kill(self, rng: random.Random) -> None:
        """Kills a run at a random moment or file operation, perhaps several times;
        then it must come to the same end.
        """
        folder = self._fresh()
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if rng.random() < 0.5:
                trap = killed_at_operation(rng.randint(1, self._operations))
            else:
                trap = killed_after(rng.uniform(0.01, self._seconds))
            self._stopped(folder, trap)
        self._resumed(folder)

    def survive_failing_disks(self) -> int:
        """Lets the disk fail at every file operation, and at sizes of files that double;
        how many times that was.
        """
        times = 0
        for error in (errno.ENOSPC, errno.EROFS):
            for number in range(1, 1000):
                folder = self._fresh()
                status = self._stopped(folder, failing_from_operation(number, error))
                self._resumed(folder)
                times += 1
                if status == DONE:
                    break
        for size in (1 << n for n in range(8, 18)):
            folder = self._fresh()
            self._stopped(folder, no_file_larger_than(size))
            self._resumed(folder)
            times += 1
        return times

    def _fresh(self) -> Path:
        folder = self._folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def _stopped(self, folder: Path, trap: Trap) -> int:
        status = ended(self._plan, folder, trap)
        assert status < 0 or status in (DONE, TOLD), "the run ended with a traceback"
        self.deaths += status != DONE
        assert model_of(folder) in ({}, self._model), (
            "the model is there in part, or is another one"
        )
        return status

    def _resumed(self, folder: Path) -> None:
        assert ended(self._plan, folder) == DONE
        assert model_of(folder) == self._model
        assert not left_over(folder)


def _seconds_of_children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
