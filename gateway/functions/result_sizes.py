"""How large the value of a call is at most: characters of texts, digits of decimal numbers.

Takes a call with the sizes of its arguments. What is put together is as long as its parts together.

INVARIANT: no value that an engine computes for the call is larger, whatever stands in the row: functions that could
make a text longer than its arguments do not bind (`replace` by something longer, `repeat`, `lpad`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.catalog.tables import LONGEST_TEXT
from gateway.catalog.types import ColumnType, Family
from gateway.plan.scalars import Call, Literal


@dataclass(frozen=True, slots=True)
class Size:
    """How large values are at most: characters of a text, digits of a decimal number before and behind the point."""

    characters: int = 0
    before: int = 0
    behind: int = 0

    @property
    def digits(self) -> int:
        return self.before + self.behind


ResultSize: TypeAlias = Callable[[Call, Sequence[Size]], Size]

LONGEST_MADE: Final = 10_000
"""Characters of a text that an expression makes."""
RESULT_DIGITS: Final = 300  # powers and exponentials end at 1e300
LENGTHS: Final = {Family.BOOLEAN: 5, Family.DATE: 10, Family.TIMESTAMP: 40, Family.UUID: 36}
_UNKNOWN_BEHIND: Final = 40
_WHOLE_DIGITS: Final = 19
_MOST_BEHIND: Final = 1_000  # PostgreSQL keeps no more of quotients and roots
_KEPT_BEHIND: Final = 28


def size_of_type(of: ColumnType) -> Size:
    """The size of values of which no more is known than their type."""
    match of.family:
        case Family.TEXT:
            return Size(LONGEST_TEXT if of.length is None else min(of.length, LONGEST_TEXT))
        case Family.WHOLE:
            return Size(_WHOLE_DIGITS + 1, _WHOLE_DIGITS)
        case Family.EXACT if of.precision is not None:
            scale = of.scale or 0
            return Size(of.precision + 2, of.precision - scale, scale)
        case Family.EXACT | Family.FLOAT:
            return Size(RESULT_DIGITS, _WHOLE_DIGITS, _UNKNOWN_BEHIND)
        case _:
            return Size(LENGTHS[of.family])


def largest_size(sizes: Iterable[Size]) -> Size:
    given = list(sizes)
    return Size(
        max(one.characters for one in given),
        max(one.before for one in given),
        max(one.behind for one in given),
    )


def type_size(call: Call, _: Sequence[Size]) -> Size:
    """No more is known than the type of the call."""
    return size_of_type(call.type)


def largest_operand(_: Call, sizes: Sequence[Size]) -> Size:
    return largest_size(sizes)


def first_operand(_: Call, sizes: Sequence[Size]) -> Size:
    return sizes[0]


def total_length(_: Call, sizes: Sequence[Size]) -> Size:
    return Size(sum(one.characters for one in sizes))


def first_text(_: Call, sizes: Sequence[Size]) -> Size:
    """A text that is no longer than its first operand."""
    return Size(min(sizes[0].characters, LONGEST_MADE))


def text_up_to(place: int) -> ResultSize:
    """A text that is cut to as many characters as the constant at `place` says, if there is one."""

    def size(call: Call, sizes: Sequence[Size]) -> Size:
        most = call.parts[place] if place < len(call.parts) else None
        if isinstance(most, Literal) and isinstance(most.value, int):
            return Size(min(sizes[0].characters, max(int(most.value), 0)))
        return first_text(call, sizes)

    return size


def _decimal(digits: Callable[[Call, Sequence[Size]], tuple[int, int]]) -> ResultSize:
    """Digits of a decimal as PostgreSQL keeps them, before the point and behind it; other numbers have their type's."""

    def size(call: Call, sizes: Sequence[Size]) -> Size:
        if call.type.family is not Family.EXACT:
            return size_of_type(call.type)
        before, behind = digits(call, sizes)
        return Size(before + behind + 2, before, behind)

    return size


def _before(sizes: Sequence[Size]) -> int:
    return max(one.before for one in sizes) + 1


def _behind(sizes: Sequence[Size]) -> int:
    return max(one.behind for one in sizes)


def _rounding(call: Call, sizes: Sequence[Size]) -> tuple[int, int]:
    places = call.parts[1] if len(call.parts) > 1 else None
    cut = places.value if isinstance(places, Literal) else 0
    behind = _behind(sizes)
    return _before(sizes), min(behind, max(int(cut), 0)) if isinstance(cut, int) else behind


def _quotient(_: Call, sizes: Sequence[Size]) -> tuple[int, int]:
    left, right = sizes
    behind = max(_behind(sizes), _KEPT_BEHIND + left.behind + right.before)
    return left.before + right.behind + 1, min(_MOST_BEHIND, behind)


def _real(_: Call, sizes: Sequence[Size]) -> tuple[int, int]:
    behind = max(_behind(sizes), _KEPT_BEHIND + sizes[0].behind + sizes[0].before)
    return RESULT_DIGITS, min(_MOST_BEHIND, behind)


number: Final = _decimal(lambda _, sizes: (_before(sizes), _behind(sizes)))
"""A sum, a remainder, a number near the operand."""
product: Final = _decimal(
    lambda _, sizes: (sum(one.before for one in sizes), sum(one.behind for one in sizes))
)
quotient: Final = _decimal(_quotient)
rounding: Final = _decimal(_rounding)
real: Final = _decimal(_real)
