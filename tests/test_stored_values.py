"""Values from JSON against declared types."""

from typing import Any, NotRequired, TypedDict

import pytest

from parser.stored_values import checked


class Inner(TypedDict):
    share: float


class Stored(TypedDict):
    names: dict[str, list[str]]
    inner: NotRequired[Inner]
    last: NotRequired[dict[str, float | list[float] | None]]


VALID = {
    "names": {"a": ["b"], "c": []},
    "inner": {"share": 1, "new": "key"},
    "last": {"a": 0.5, "b": [1, 0.5], "c": None},
}


def test_valid_values_are_returned_as_they_are():
    assert checked(VALID, Stored, "x") is VALID
    assert checked({"names": {}}, Stored, "x") == {"names": {}}
    assert checked([[1], []], list[list[int]], "x") == [[1], []]
    assert checked({"a": [None]}, dict[str, Any], "x") == {"a": [None]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": []}, "x.names is list, not dict"),
        ({"names": {"a": "b"}}, "a value of x.names is str, not list"),
        ({"names": {"a": ["b", None]}}, "a value of a value of x.names is NoneType, not str"),
        ({"inner": {"share": True}}, "x.inner.share is bool, not float"),
        ({"inner": None}, "x.inner is NoneType, not dict"),
        ({"last": {"a": "b"}}, "a value of x.last is str, not float"),
        ({"last": {"a": [None]}}, "a value of x.last is list, not float"),
    ],
)
def test_other_types_are_named(change, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        checked(VALID | change, Stored, "x")


def test_a_missing_key_is_named():
    with pytest.raises(KeyError, match="names"):
        checked({}, Stored, "x")
    with pytest.raises(KeyError, match="share"):
        checked(VALID | {"inner": {}}, Stored, "x")


@pytest.mark.parametrize(("value", "kind"), [(True, int), (1.0, int), ("1", int), (1, bool)])
def test_numbers_and_truth_values_are_told_apart(value, kind):
    with pytest.raises(TypeError):
        checked(value, kind, "x")
