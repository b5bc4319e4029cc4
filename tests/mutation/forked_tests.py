"""What a process does that runs the tests of a copy of the repository."""

import os
import resource
import sys
from collections.abc import Sequence

# What most tests load, and takes longer than most of them.
LOADED = ("numba", "hypothesis", "hydra.compose", "hydra.utils", "pytest", "torch")

_MEMORY = 16 * 2**30  # bytes of address space


def run_tests(root: str, arguments: Sequence[str], output: str) -> None:
    """Run pytest with the modules of a copy, and print to a file;
    end the process with pytest's status.
    """
    with open(output, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    # Lets a loop that never ends run out of memory sooner than the machine does.
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    os.chdir(root)
    rooms = {name for name in os.listdir(root) if os.path.isdir(name)}
    for name in [name for name in sys.modules if name.partition(".")[0] in rooms]:
        del sys.modules[name]
    sys.path.insert(0, root)

    import pytest  # see LOADED

    imported = "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis is in LOADED
    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-W", imported, *arguments]))
