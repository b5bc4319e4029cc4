"""Profiles of hypothesis."""

from hypothesis import Phase, settings

from tests.jit import COMPILED

EVERY_DAY = "every_day"
THOROUGH = "thorough"  # of make test-long
# for a run that asks only whether there is one: no smaller example is looked for
FIRST_FAILURE = "first_failure"


def register() -> None:
    # The first example of a property may have to wait for kernels to be compiled.
    settings.register_profile(EVERY_DAY, deadline=None, max_examples=50 if COMPILED else 10)
    settings.register_profile(THOROUGH, deadline=None, max_examples=500 if COMPILED else 100)
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile(
        FIRST_FAILURE, deadline=None, database=None, phases=phases, report_multiple_bugs=False
    )
