"""What is known of one function or operator over rows: all its facets but its SQL, in one frozen record.

Whoever asks something of a call looks its record up in `gateway.functions.table` and asks the facet. The SQL stands
in `gateway.engines.sql.expressions`, under the same name, since this package knows no database.

INVARIANT: a facet that is left out says the least: not computed, not solved, not listed, may be NULL. Facets on which
safety rests have no default (`tests/functions/test_table.py` holds every row to that).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Protocol, TypeAlias

from gateway.catalog.values import Value
from gateway.functions.copy_counts import Copies
from gateway.functions.costs import Cost
from gateway.functions.exact_values import Evaluate
from gateway.functions.grains import Grain
from gateway.functions.range import NOTHING, OPEN, Bounds, Range
from gateway.functions.result_sizes import ResultSize
from gateway.functions.signature import Signature
from gateway.functions.thresholds import Monotone
from gateway.plan.scalars import Call, Scalar


class Nulls(Enum):
    """What a call gives where an operand is NULL."""

    STRICT = "NULL"
    LOGIC = "NULL, or the value it has whatever the operand is"
    OWN = "a value of its own"


class Gaps(Enum):
    """For which operands a call is NULL though none of them is, besides results that do not fit their type."""

    NONE = "none"
    ZERO_DIVISOR = "a divisor of 0"
    UNKNOWN = "nobody has said"


class Operands(Protocol):
    """What is known of the operands of a call whose range is wanted; each is looked at when it is asked for."""

    def bounds(self, place: int) -> Bounds: ...

    def in_microseconds(self, place: int) -> Bounds:
        """Of a date or timestamp."""

    def as_results(self) -> list[Bounds]:
        """Of all operands, each as a value of the type of the call."""

    def grain(self, place: int) -> Fraction | None: ...


RangeOf: TypeAlias = Callable[[Call, Operands], Bounds]


@dataclass(frozen=True, slots=True)
class TimePart:
    """Of a function that looks at a part of a time that its first argument names."""

    period: Callable[[Call], int | None]
    """Within how many microseconds of the day all times are alike to it; None: each counts."""
    values: Callable[[Call, Range, int], Iterable[Value] | None]
    """All values within a range, up to a number of them; None: they cannot be listed."""
    is_zoned: bool = False
    """Whether PostgreSQL makes a time with a zone of a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function or operator. `name` is that of `Call.function`."""

    name: str
    signature: Signature | None
    """None: an operator, or a function whose arguments have a reading of their own (`binding/calls.py`)."""
    nulls: Nulls
    computes: bool
    """Whether it is arithmetic: its operands need a range, and its result is not bounded by its type alone."""
    range: RangeOf
    cost: Cost
    size: ResultSize
    copies: Copies
    gaps: Gaps = Gaps.UNKNOWN
    grain: Grain | None = None
    """A number of which all its values are whole multiples."""
    evaluate: Evaluate | None = None
    """Its value, exactly; None: sources may differ. Of a STRICT function it is asked of values that are there."""
    monotone: Monotone | None = None
    """How a comparison of its value with a constant becomes one of its operand."""
    as_case: Callable[[Call], Scalar] | None = None
    """The CASE that it is in other words."""
    is_distributed: bool = False
    """Whether, computed of a CASE, it is the CASE of what it is of each result."""
    is_one_of: bool = False
    """Whether it has all values that its arguments have, and no other, so that they are listed together."""
    counts: Callable[[Call], bool] | None = None
    """Whether a call gives whole numbers, few enough to list where their range is short."""
    time_part: TimePart | None = None


def no_range(_: Call, __: Operands) -> Bounds:
    return OPEN


def arithmetic_range(
    of: Callable[[Call, Sequence[Range], Operands], Bounds],
) -> RangeOf:
    """The range of arithmetic, for which all operands need one."""

    def find(call: Call, operands: Operands) -> Bounds:
        given = [operands.bounds(place) for place in range(len(call.parts))]
        ranges = [one.range for one in given if one.range is not None]
        if len(ranges) != len(given):
            return OPEN
        if any(one is NOTHING for one in given):
            return NOTHING
        return of(call, ranges, operands)

    return find
