"""The one list of transition systems for tests: all registered ones,
so that a new system is tried wherever it fits.

A test that some systems do not fit names these, and says why.
"""

from parser import transitions

# Other options than the defaults, with which a system is tried as well.
_FURTHER_OPTIONS = {
    "attardi": [{"degree": degree} for degree in (1, 3)],
    "arc_eager": [{"nonmonotonic": 1}],
}
# toys are registered by other tests
_REGISTERED = [name for name in transitions.names() if not name.startswith("toy_")]


def systems(*but: str) -> list[str]:
    """Return the names of all systems but some."""
    assert {*but} <= {*_REGISTERED}
    return [name for name in _REGISTERED if name not in but]


def variants(*but: str) -> list[tuple[str, dict[str, int]]]:
    """Return all systems but some, each with its default options and with others."""
    return [
        (name, options)
        for name in systems(*but)
        for options in ({}, *_FURTHER_OPTIONS.get(name, []))
    ]


def variant_name(variant: tuple[str, dict[str, int]]) -> str:
    """Return a name such as ``attardi degree=3``."""
    name, options = variant
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])
