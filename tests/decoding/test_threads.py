"""What is made later is made once, whoever asks first; results of threads are in order, few items at a time."""

from __future__ import annotations

from itertools import count, islice
from threading import Barrier, Event, Thread

import pytest

from parser.decoding.threads import Lazy, parallel_map


def test_it_is_made_once_by_the_first_that_begins():
    made = []

    def make():
        made.append(object())
        return made[-1]

    later = Lazy(make)
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

    later = Lazy(make)
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

    later = Lazy(make)
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

    later = Lazy(make)
    with pytest.raises(KeyboardInterrupt):
        later.begin()
    with pytest.raises(KeyboardInterrupt):
        later.get()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_in_the_order_of_the_items(threads):
    assert list(parallel_map(lambda x: x * x, range(100), threads)) == [(x, x * x) for x in range(100)]
    assert list(parallel_map(str, [], threads)) == []


def test_threads_work_side_by_side():
    met = Barrier(2, timeout=60)
    assert len(list(parallel_map(lambda _: met.wait(), range(10), 2))) == 10


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_few_items_are_taken_ahead(threads):
    taken = []

    def items():
        for item in count():
            taken.append(item)
            yield item

    results = parallel_map(str, items(), threads)
    assert [result for _, result in islice(results, 50)] == [str(item) for item in range(50)]
    assert len(taken) <= 50 + 3 * threads
    results.close()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("fault", ["item", "function"])
def test_an_error_comes_after_the_results_before_it(threads, fault):
    def items():
        yield from range(10)
        if fault == "item":
            raise OSError("cannot be read on")
        yield from range(-1, 10)

    results = parallel_map(lambda item: item if item >= 0 else [][0], items(), threads)
    assert list(islice(results, 10)) == [(item, item) for item in range(10)]
    with pytest.raises(OSError if fault == "item" else IndexError):
        next(results)
