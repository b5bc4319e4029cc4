"""Settings of all tests."""

import logging
import random
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import omegaconf.base
import pytest
from hypothesis import settings
from omegaconf.grammar_parser import parse

from tests import profiles
from tests.jit import COMPILED
from tests.toy import sentence

profiles.register()
settings.load_profile(profiles.EVERY_DAY)

# Thousands of settings are made here whose few interpolations are the same text: half the time of checking them went into
# parsing it. A parse tree is only read.
omegaconf.base.parse = cache(parse)

# The files that take longest, as most of them wait for kernels to be compiled: with several processes, each of which runs whole
# files (--dist loadfile), they come first, so that no process is left with one at the end.
LONGEST = [
    *[
        "test_documentation.py",
        "oracles/test_attardi.py",
        "training/test_gold_beam_search.py",
        "decoding/test_lattice_parser.py",
    ],
    *["oracles/test_oracles_small.py", "decoding/test_beam.py", "scripts/test_train.py", "oracles/test_ties.py"],
    *["training/test_systems.py", "training/test_exploration.py", "fuzz/test_fuzz.py", "oracles/test_lr_spine.py"],
    *[
        "experiments/test_table7.py",
        "experiments/test_comparison.py",
        "experiments/test_pages.py",
        "training/test_resume.py",
    ],
    *["training/test_passes.py", "decoding/test_merging_beam.py", "experiments/test_choices.py", "crash/test_crash.py"],
    *["scripts/test_scripts.py", "text/test_bulk.py", "oracles/test_oracles_agree.py"],
]

# A shell starts what runs in the background with Ctrl-C ignored, and so would every command that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Hashes wrap around; where kernels run as plain Python, numpy warns of it, and warnings of ours are errors."""
    if not COMPILED:
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first; the others stay in their order."""
    rank = {Path(__file__).parent / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Commands that a test runs in its own process set up logging, which the next test would find so."""
    root, manager = logging.root, logging.root.manager
    level, handlers, disabled = root.level, root.handlers[:], manager.disable
    yield
    root.handlers[:], manager.disable = handlers, disabled
    for logger in manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.disabled = False
    root.setLevel(level)  # which also forgets what loggers remember of levels


@pytest.fixture(scope="module")
def sentences():
    """For classifiers that read characters: twenty of up to 12 forms, with one letter beyond ASCII."""
    rng = random.Random(0)
    made = [sentence([0] + [1] * (rng.randint(1, 12) - 1), rng) for _ in range(20)]
    for one in made:
        one.forms = ["".join(rng.choice("abcé") for _ in range(rng.randint(1, 7))) for _ in one.forms]
    return made
