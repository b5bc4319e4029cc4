"""The ranges of numbers, declared with the fields of dataclasses: of settings, and of what a model folder says.

hidden: int = field(metadata=between(1, 65_536, "the number of units"))
"""

from __future__ import annotations

from dataclasses import Field, dataclass, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin


@dataclass(frozen=True)
class Range:
    """From which number to which other a value can be, and what it is.

    Attributes:
        lowest, highest: the ends.
        what: what the number is, for messages.
        above, below: whether the lower or the upper end is not in the range itself.
    """

    lowest: float
    highest: float
    what: str
    above: bool = False
    below: bool = False

    def violation(self, value: float) -> str | None:
        """What to say of a value outside; None of one inside. NaN is outside."""
        low = value > self.lowest if self.above else value >= self.lowest
        high = value < self.highest if self.below else value <= self.highest
        if low and high:
            return None
        least = f"{'above' if self.above else 'at least'} {self.lowest:,g}"
        most = f"{'below' if self.below else 'at most'} {self.highest:,.10g}"
        return f"{self.what} must be {least} and {most}"


def between(lowest: float, highest: float, what: str, *, above: bool = False, below: bool = False) -> dict[str, Range]:
    """The metadata of a field with this range; see Range. Of a dictionary, it is the range of each value."""
    return {"range": Range(lowest, highest, what, above, below)}


def range_of(field: Field[Any]) -> Range | None:
    """The range of a field, if it has one."""
    return field.metadata.get("range")


def dataclass_of(annotation: Any) -> type | None:
    """The dataclass in an annotation that is one, or one or None."""
    options = get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)
    return next((option for option in options if isinstance(option, type) and is_dataclass(option)), None)
