"""Where an expression that reads the hour of a day alone has each of its values: hours that come back every day.

Takes an expression that reads a time only through `extract(hour …)`, of a timestamp or of a zone's clock; gives the
cells of each value, computed for 24 hours and not for each hour of a domain of years.

INVARIANT: what is given is exact. An hour that a clock shows twice is two spans, and one that it skips is none.
"""

from collections.abc import Iterator
from typing import Final

from gateway.catalog.values import Value
from gateway.catalog.zones import OffsetChange, TimeZone
from gateway.functions.calendar import DAY, moment_at
from gateway.functions.exact_values import Known
from gateway.plan.scalars import Call, Literal, Scalar, walk_scalar
from gateway.ranges.enumerate import evaluate_at
from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import Cells, StepCells, clip_cells

_HOUR: Final = DAY // 24
MOST_SPANS: Final = 4_500  # three a day for four years: comparing very many spans takes seconds


def tabulate_hours(
    scalar: Scalar, atom: Scalar, axis: RegionAxis, zone: TimeZone | None
) -> dict[Value | None, Cells] | None:
    """The cells of each value; None if more than the hour is read, or if there are too many spans.

    `atom` is the column, or the clock that reads it. `NotComputed` passes through.
    """
    if axis.kind is not AxisKind.STEPS or axis.low is None or axis.high is None:
        return None
    if not _reads_hours(scalar, atom):
        return None
    runs = list(_runs(scalar, atom))
    days = (axis.high - axis.low) // DAY + 3
    if len(runs) * days > MOST_SPANS:
        return None
    found: dict[Value | None, list[tuple[int, int]]] = {}
    changes = (OffsetChange(axis.low, 0),) if zone is None else zone.changes(axis.low, axis.high)
    ends = [one.since - 1 for one in changes[1:]] + [axis.high]
    for change, end in zip(changes, ends, strict=True):
        for value, first, after in runs:
            there = found.setdefault(value, [])
            there += _spans(first, after, change, end)
    made = {value: clip_cells(StepCells(tuple(spans)), axis) for value, spans in found.items()}
    if axis.nullable:
        value = evaluate_at(scalar, atom, None)
        here = made.get(value)
        ranges = here.ranges if isinstance(here, StepCells) else ()
        made[value] = StepCells(ranges, null=True)
    return made


def _reads_hours(scalar: Scalar, atom: Scalar) -> bool:
    readers = [one for one in walk_scalar(scalar) if atom in one.parts]
    return scalar != atom and bool(readers) and all(map(_is_hour, readers))


def _is_hour(reader: Scalar) -> bool:
    return (
        isinstance(reader, Call)
        and reader.function == "extract"
        and isinstance(reader.parts[0], Literal)
        and reader.parts[0].value == "hour"
    )


def _runs(scalar: Scalar, atom: Scalar) -> Iterator[tuple[Known, int, int]]:
    """Hours side by side with one value: the value, and the microseconds of a day from which and before which it has it."""
    values = [evaluate_at(scalar, atom, moment_at(hour * _HOUR)) for hour in range(24)]
    first = 0
    for hour in range(1, 25):
        if hour == 24 or values[hour] != values[first]:  # noqa: PLR2004 - hours of a day
            yield values[first], first * _HOUR, hour * _HOUR
            first = hour


def _spans(first: int, after: int, change: OffsetChange, end: int) -> Iterator[tuple[int, int]]:
    """The moments of one offset at which the clock shows a time of day from `first` to before `after`."""
    begin = change.since
    day = (begin + change.offset) // DAY * DAY
    while day - change.offset <= end:
        low, high = day + first - change.offset, day + after - 1 - change.offset
        if max(low, begin) <= min(high, end):
            yield max(low, begin), min(high, end)
        day += DAY
