"""What is made later is made once, whoever asks first."""

from __future__ import annotations

from threading import Barrier, Event, Thread

import pytest

from parser.decoding.files.later import Later


def test_it_is_made_once_by_the_first_that_begins():
    made = []

    def make():
        made.append(object())
        return made[-1]

    later = Later(make)
    assert not made
    later.begin()
    later.begin()
    assert later.get() is later.get() is made[0]
    assert len(made) == 1


def test_others_do_not_wait_until_they_need_it():
    begun, go_on = Event(), Event()

    def make():
        begun.set()
        assert go_on.wait(60)
        return 5

    later = Later(make)
    maker = Thread(target=later.begin)
    maker.start()
    assert begun.wait(60)
    later.begin()  # returns, though it is not made
    go_on.set()
    assert later.get() == 5
    maker.join()


def test_an_error_comes_to_all_that_need_it():
    def make():
        raise ValueError("no weights")

    later = Later(make)
    later.begin()
    both = Barrier(2)
    found = []

    def need():
        both.wait(60)
        with pytest.raises(ValueError, match="no weights"):
            later.get()
        found.append(True)

    threads = [Thread(target=need) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True, True]


def test_an_interrupt_comes_at_once():
    def make():
        raise KeyboardInterrupt

    later = Later(make)
    with pytest.raises(KeyboardInterrupt):
        later.begin()
    with pytest.raises(KeyboardInterrupt):
        later.get()
