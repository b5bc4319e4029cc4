"""Settings of all tests."""

import logging
import os
import random
import signal
from collections.abc import Generator, Iterator
from functools import cache

import omegaconf.base
import pytest
from hypothesis import settings
from omegaconf.grammar_parser import parse

from tests import profiles
from tests.jit import COMPILED
from tests.toy import sentence

# Tests of signals, forks, pipes with names, permissions and shells, which Windows does not have,
# or has otherwise.
_OF_POSIX = [
    "conllu/test_files.py",
    "crash",
    "data/test_background_vectors.py",
    "mutation",
    "oracles/test_kernel_cache.py",
    "scripts/test_command_line.py",
    "scripts/test_train.py",
    "test_documentation.py",
    "test_forged_models.py",
    "text/test_interruption.py",
]
collect_ignore = [] if hasattr(os, "fork") else _OF_POSIX

profiles.register()
settings.load_profile(profiles.EVERY_DAY)

# Thousands of settings are made here whose few interpolations are the same text: half the time of
# checking them went into parsing it. A parse tree is only read.
omegaconf.base.parse = cache(parse)

# A shell starts what runs in the background with Ctrl-C ignored, and so would every command that a
# test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips", action="store_true", help="what is skipped fails: nothing may be missing here"
    )


def no_skip(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    """With --no-skips, a skipped test has failed,
    and so has a module that is skipped as a whole.
    """
    if report.skipped and config.getoption("no_skips") and isinstance(report.longrepr, tuple):
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr[2]}; --no-skips makes this a failure"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    no_skip(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    no_skip(report, collector.config)
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Hashes wrap around; where kernels run as plain Python, numpy warns of it,
    and warnings of ours are errors.
    """
    if not COMPILED:
        config.addinivalue_line(
            "filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where there is no fork, tests marked ``posix`` are skipped."""
    for item in items:
        if item.get_closest_marker("posix") is not None and not hasattr(os, "fork"):
            item.add_marker(pytest.mark.skip(reason="this system has no such thing"))


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Commands that a test runs in its own process set up logging,
    which the next test would find so.
    """
    root, manager = logging.root, logging.root.manager
    level, handlers, disabled = root.level, root.handlers[:], manager.disable
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()  # Python warns of a log that is dropped open
    root.handlers[:], manager.disable = handlers, disabled
    for logger in manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.disabled = False
    root.setLevel(level)  # which also forgets what loggers remember of levels


@pytest.fixture(scope="module")
def sentences():
    """For classifiers that read characters: twenty of up to 12 forms,
    with one letter beyond ASCII.
    """
    rng = random.Random(0)
    made = [sentence([0] + [1] * (rng.randint(1, 12) - 1), rng) for _ in range(20)]
    for one in made:
        one.forms = [
            "".join(rng.choice("abcé") for _ in range(rng.randint(1, 7))) for _ in one.forms
        ]
    return made
