"""How precisely an expression reads a time: through which clock, to which period, through which part of it.

INVARIANT: an expression has one value within each period that is given, and one for each value of the part.
"""

from typing import Final

from gateway.catalog.types import Family
from gateway.functions.calendar import DAY
from gateway.functions.table import function_of
from gateway.functions.zoned_times import reads_clock
from gateway.plan.fields import Field
from gateway.plan.scalars import Call, Cast, Ref, Scalar, Shift, walk_scalar

_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})


def clock_of(scalar: Scalar, field: Field) -> Call | None:
    """The one clock through which all of an expression reads the column."""
    if field.type.family not in _TIMES:
        return None
    clock = _one_reader(scalar, Ref(field))
    return clock if isinstance(clock, Call) and reads_clock(clock) else None


def _one_reader(scalar: Scalar, column: Scalar) -> Scalar | None:
    """The one expression in it that reads the column; None if there are several."""
    found: Scalar | None = None
    for one in walk_scalar(scalar):
        if column in one.parts:
            if found is not None and one != found:
                return None
            found = one
    return found


def looked_at(scalar: Scalar, column: Scalar) -> int | None:
    """The precision to which the expression reads the column; None if it reads the full value."""
    finest = DAY
    for one in walk_scalar(scalar):
        if column not in one.parts:
            continue
        length = _granularity(one, scalar)
        if length is None:
            return None
        finest = min(finest, length)
    return None if scalar == column else finest


def _granularity(reader: Scalar, scalar: Scalar) -> int | None:
    if isinstance(reader, Shift):
        # the times of a day, hour or minute are moved to those of another one
        length = looked_at(scalar, reader)
        return length if length is not None and not reader.microseconds % length else None
    if isinstance(reader, Cast):
        return DAY if reader.type.family is Family.DATE else None
    looked = function_of(reader).time_part if isinstance(reader, Call) else None
    return looked.period(reader) if looked is not None and isinstance(reader, Call) else None


def part_of_time(scalar: Scalar, field: Field) -> Call | None:
    """The one part of a time, such as its weekday, through which all of an expression reads the column.

    Many conditions of one statement are about the same part, which is then computed once.
    """
    if field.type.family not in _TIMES:
        return None
    clock = clock_of(scalar, field)
    reader = _one_reader(scalar, Ref(field) if clock is None else clock)
    if reader == scalar or not isinstance(reader, Call):
        return None
    return None if function_of(reader).time_part is None else reader
