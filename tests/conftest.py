"""Settings of all tests."""

import signal

import pytest
from hypothesis import settings

from tests.jit import COMPILED

# The first example of a property may have to wait for kernels to be compiled.
settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")

# A shell starts what runs in the background with Ctrl-C ignored, and so would every command that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Hashes wrap around; where kernels run as plain Python, numpy warns of it, and warnings of ours are errors."""
    if not COMPILED:
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")
