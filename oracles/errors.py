"""The base of all errors that bad input raises, here and in the parser that builds on the oracles."""


class OptimalStepError(ValueError):
    """Bad input; the message says what is wrong, where, and how to mend it.

    A command prints the message alone, in one line, with exit status 1. Any other error is a fault of this project, and keeps
    its traceback.
    """
