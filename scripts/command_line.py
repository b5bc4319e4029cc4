"""What every command does around its work: bad input is one line on standard error, a closed pipe is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

# What a shell reports of a process that SIGPIPE ended.
_CLOSED_PIPE = 141


def run(main: Callable[[], None]) -> NoReturn:
    """Runs a command and exits: with 0, or with 1 and one line of text upon bad input.

    This project raises ValueError, with what is wrong and the mend, for all bad input; a traceback would bury it.
    """
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_CLOSED_PIPE)
    except ValueError as error:
        sys.exit(f"error: {error}")
    sys.exit(0)
