"""Results of threads are in order, few items at a time."""

from __future__ import annotations

from itertools import count, islice
from threading import Barrier

import pytest

from parser.decoding.files.file_parsing import parallel_map


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
