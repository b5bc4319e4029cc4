"""Settings of all tests."""

import signal

from hypothesis import settings

# The first example of a property may have to wait for kernels to be compiled.
settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")

# A shell starts what runs in the background with Ctrl-C ignored, and so would every command that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
