"""Settings of all tests."""

from hypothesis import settings

# The first example of a property may have to wait for kernels to be compiled.
settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")
