"""The numbering of strings of bytes, and of vectors, against a dict."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parser.kernels.hash_tables import ByteTable, VectorTable

strings = st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"\n", b"n")), max_size=40)


def look_up(table: ByteTable, wanted: list[bytes]) -> list[int]:
    ends = np.cumsum([len(text) for text in wanted], dtype=np.int64)
    begins = ends - [len(text) for text in wanted]
    text = np.frombuffer(b"".join(wanted) or b"?", np.uint8)
    return table.look_up(text, begins.astype(np.int64), ends).tolist()


@given(st.lists(strings, max_size=5))
def test_strings_are_numbered_as_they_are_met(calls):
    table, numbers = ByteTable(), {}
    for wanted in calls:
        before = len(numbers)
        assert look_up(table, wanted) == [numbers.setdefault(text, len(numbers)) for text in wanted]
        assert len(table) == len(numbers)
        assert table.strings(before) == [
            text.decode("utf-8", "surrogateescape") for text in [*numbers][before:]
        ]
        assert table.n_bytes == sum(len(text) + 1 for text in numbers)


def test_many_strings():
    wanted = [b"%d" % (i * 7919 % 30_011) for i in range(60_000)]
    numbers: dict[bytes, int] = {}
    assert look_up(ByteTable(), wanted) == [
        numbers.setdefault(text, len(numbers)) for text in wanted
    ]


vectors = st.lists(st.tuples(*[st.sampled_from([-1, 0, 1, 2**31 - 1])] * 3), max_size=40)


@given(st.lists(vectors, max_size=5))
def test_vectors_are_numbered_as_they_are_met(calls):
    table, numbers = VectorTable(3), {}
    for wanted in calls:
        found = table.look_up(np.array(wanted, np.int32).reshape(-1, 3).T.copy())
        assert found.tolist() == [numbers.setdefault(vector, len(numbers)) for vector in wanted]
        assert len(table) == len(numbers)
        assert table.vectors[: len(table)].tolist() == [list(vector) for vector in numbers]
