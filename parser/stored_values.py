"""Values read from JSON, checked against a declared type.

A TypedDict declares the keys of an object, ``NotRequired`` those that older folders lack::

    class Known(TypedDict):
        by_upos: dict[str, list[str]]
        written_for: dict[str, str]

    content = checked(from_json(text), Known, "lemmas.known")

What a type cannot say, such as the range of a number, is checked by who reads the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import (
    Any,
    NotRequired,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

_Kind = TypeVar("_Kind")


def checked(value: object, kind: type[_Kind], called: str) -> _Kind:
    """Return a value that must have a declared type.

    Args:
        value: plain values, as from json.loads.
        kind: bool, int, float, str, dict[str, KIND], list[KIND], KIND | KIND, Any, or a TypedDict
            of these. An integer counts as a float, a bool does not count as an integer.
        called: the name of the value in messages.

    Raises:
        KeyError: a key of a TypedDict is missing.
        TypeError: a value has another type.
    """
    _check(value, kind, called)
    return cast(_Kind, value)


def _check(value: Any, kind: Any, called: str) -> None:
    if kind is Any:
        return
    if is_typeddict(kind):
        _check_keys(value, kind, called)
        return
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if outer is UnionType:
        _check_options(value, inner, called)
        return
    if type(value) is not outer and not (outer is float and type(value) is int):
        raise TypeError(f"{called} is {type(value).__name__}, not {outer.__name__}")
    if not inner:
        return
    values, kind = value.values() if outer is dict else value, inner[-1]
    if any(type(one) is not kind for one in values):  # quick for many strings
        for one in values:
            _check(one, kind, f"a value of {called}")


def _check_options(value: Any, kinds: Sequence[Any], called: str) -> None:
    """Check a value that may have one of several types; name the first one if it has none."""
    for kind in reversed(kinds):
        try:
            _check(value, kind, called)
            return
        except TypeError as error:
            wrong = error
    raise wrong


def _check_keys(value: Any, kind: Any, called: str) -> None:
    _check(value, dict, called)
    for key, declared in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(declared) is NotRequired
        if key in value:
            _check(value[key], get_args(declared)[0] if optional else declared, f"{called}.{key}")
        elif not optional:
            raise KeyError(key)
