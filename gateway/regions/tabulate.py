"""What an expression over one column is in every cell: by computing it, or by solving it where there are many.

INVARIANT: what is given is exact: every cell is in the class of the value that all rows in it have. What nobody can
compute or solve is None.
"""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Final, TypeAlias

from gateway.catalog.types import Family, Kind
from gateway.catalog.values import Value
from gateway.catalog.zones import REACH, TimeZone, TooManyChanges
from gateway.functions.calendar import DAY, moment_at
from gateway.functions.exact_values import NotComputed, exact_number
from gateway.functions.thresholds import Unsolved
from gateway.functions.zoned_times import zone_of
from gateway.lru_cache import LruCache
from gateway.plan.fields import Field
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, transform, walk_scalar
from gateway.plan.sql_text import scalar_sql
from gateway.ranges.decimal_digits import is_exact
from gateway.ranges.enumerate import evaluate_at
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import (
    Cells,
    NameCells,
    StepCells,
    all_cells,
    clip_cells,
    merge_ranges,
    minus,
    no_cells,
    union_of_many,
)
from gateway.regions.daily_hours import MOST_SPANS, tabulate_hours
from gateway.regions.grid import (
    MOST_CELLS,
    Cell,
    grid_of,
    is_distinct,
    list_cells,
    name_of,
    value_at,
)
from gateway.regions.monotone import solve_comparison
from gateway.regions.region_work import may_compute
from gateway.regions.time_precision import clock_of, looked_at, part_of_time

Classes: TypeAlias = dict[Value | None, Cells]
Truths: TypeAlias = tuple[Cells, Cells]
_Key = tuple[str, str, RegionAxis]
_ValuesKey = tuple[str, str, RegionAxis, bool]

COMPARING: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_MOST_WORK: Final = 400_000  # parts of the expression, times the cells in which it is computed
_MOST_REMEMBERED: Final = 16_000_000


def memory_weight(text: str, held: Iterable[Cells]) -> int:
    """The approximate number of bytes of a cache entry with these cells under the text."""
    sizes = [len(one.ranges if isinstance(one, StepCells) else one.values) for one in held]
    return 1_000 + 4 * len(text) + 200 * (len(sizes) + sum(sizes))


# What an expression is in each cell follows from its text, the type of its column and the axis alone. Two readings
# of one column in two datasets that are called alike differ in their axes or in their types.
_TABULATED: Final[LruCache[_ValuesKey, Classes | None]] = LruCache(
    _MOST_REMEMBERED, lambda key, found: memory_weight(key[0], (found or {}).values())
)
_COMPARED: Final[LruCache[_Key, Truths | None]] = LruCache(
    _MOST_REMEMBERED, lambda key, found: memory_weight(key[0], found or ())
)


def tabulate_values(
    scalar: Scalar, field: Field, axis: RegionAxis, *, as_key: bool = False
) -> Classes | None:
    """The cells in which the expression has each of its values; of a key, quotients are taken as exact."""
    if not as_key and not is_exact(scalar, of_person=axis.of_person):
        return None
    part = part_of_time(scalar, field)
    if part is not None and (classes := tabulate_values(part, field, axis)) is not None:
        return _composed(transform(scalar, with_reciprocal) if as_key else scalar, part, classes)
    key = (scalar_sql(scalar), str(field.type), axis, as_key)
    if not may_compute(key, tabulation_work(scalar, field, axis)):
        return None
    made = transform(scalar, with_reciprocal) if as_key else scalar
    return _TABULATED.get(key, lambda: _tabulated(made, field, axis))


def tabulate_condition(scalar: Scalar, field: Field, axis: RegionAxis) -> Truths | None:
    """Where a condition is true and where it is false; None also if a source may compute it in doubles."""
    if not is_exact(scalar, of_person=axis.of_person):
        return None
    key = (scalar_sql(scalar), str(field.type), axis)
    found = _COMPARED.get(key, lambda: _solved(scalar, field, axis))
    if found is not None:
        return found
    classes = tabulate_values(scalar, field, axis)
    if classes is None or any(one not in {True, False, None} for one in classes):
        return None
    return classes.get(True, no_cells(axis)), classes.get(False, no_cells(axis))


def _composed(scalar: Scalar, part: Call, classes: Classes) -> Classes | None:
    """The cells of each value of an expression that reads the column through this part alone."""
    if not may_compute((scalar_sql(scalar), len(classes)), len(classes) * _parts_of(scalar)):
        return None
    found: dict[Value | None, list[Cells]] = {}
    try:
        for value, cells in classes.items():
            found.setdefault(evaluate_at(scalar, part, value), []).append(cells)
    except NotComputed:
        return None
    return {value: union_of_many(several) for value, several in found.items()}


def _parts_of(scalar: Scalar) -> int:
    return sum(1 for _ in walk_scalar(scalar))


def _solved(scalar: Scalar, field: Field, axis: RegionAxis) -> Truths | None:
    try:
        return _by_ends(scalar, field, axis)
    except Unsolved:
        return None


def tabulation_work(scalar: Scalar, field: Field, axis: RegionAxis) -> int:
    """Parts of the expression times the cells in which it is computed, at most; 0 if there are too many cells."""
    parts = _parts_of(scalar)
    if axis.kind is AxisKind.NAMES:
        return parts * len(axis.names or ())
    if axis.low is None or axis.high is None:
        return 0
    cells = axis.high - axis.low + 1
    if field.type.family is Family.TIMESTAMP and cells > MOST_CELLS:
        clock = clock_of(scalar, field)
        length = looked_at(scalar, Ref(field) if clock is None else clock)
        cells = 0 if length is None else cells // length + 3
        if cells > MOST_CELLS:
            return MOST_SPANS
    return parts * cells if cells <= MOST_CELLS else 0


def _tabulated(scalar: Scalar, field: Field, axis: RegionAxis) -> Classes | None:
    atom: Scalar = Ref(field)
    cells = MOST_CELLS if axis.size is None else min(MOST_CELLS, axis.size)
    if cells * _parts_of(scalar) > _MOST_WORK:
        return None
    found: dict[Value | None, list[Cell | tuple[int, int]]] = {}
    periods = list_cells(axis, field.type, field.domain)
    clock = clock_of(scalar, field) if periods is None else None
    if periods is None and (hours := _hours(scalar, field, axis, clock)) is not None:
        return hours
    given: Iterator[tuple[Cell | tuple[int, int], Value | None]] | None = periods
    if clock is not None:
        atom, given = clock, _clock_periods(scalar, clock, axis)
    elif periods is None:
        given = _periods(scalar, field, axis)
    if given is None:
        return None
    try:
        for cell, value in given:
            found.setdefault(evaluate_at(scalar, atom, value), []).append(cell)
    except NotComputed:
        return None
    return {value: clip_cells(_cells(cells, axis), axis) for value, cells in found.items()}


def _hours(scalar: Scalar, field: Field, axis: RegionAxis, clock: Call | None) -> Classes | None:
    """The cells of an expression that reads the hour of a day alone."""
    if clock is None and field.type.kind is not Kind.TIMESTAMP:
        return None
    zone = None if clock is None else zone_of(clock)
    try:
        return tabulate_hours(scalar, Ref(field) if clock is None else clock, axis, zone)
    except (NotComputed, TooManyChanges):
        return None


def with_reciprocal(scalar: Scalar) -> Scalar:
    """A quotient of decimals by a constant as a product, which is computed exactly.

    Databases round quotients in the 16th digit. What is made of them has other values than these only if it tells such digits
    apart; the values of a column with few cells are not that near to each other.
    """
    if (
        not isinstance(scalar, Call)
        or scalar.function != "/"
        or scalar.type.family is not Family.EXACT
    ):
        return scalar
    one, other = scalar.parts
    by = other.what if isinstance(other, Cast) else other
    value = exact_number(by.value) if isinstance(by, Literal) and by.value is not None else None
    if not value:
        return scalar
    return Call("*", (one, Literal(1 / value, scalar.type)), scalar.type)


def _cells(cells: Iterable[Cell | tuple[int, int]], axis: RegionAxis) -> Cells:
    there = list(cells)
    null = None in there
    if axis.kind is AxisKind.NAMES:
        return NameCells(frozenset(one for one in there if isinstance(one, str)), null=null)
    ranges = [
        one if isinstance(one, tuple) else (one, one)
        for one in there
        if isinstance(one, int | tuple)
    ]
    return StepCells(merge_ranges(ranges), null)


def _periods(
    scalar: Scalar, field: Field, axis: RegionAxis
) -> Iterator[tuple[Cell | tuple[int, int], Value | None]] | None:
    """One value for each day, hour or minute, if the expression reads the timestamp only to that precision."""
    if field.type.kind is not Kind.TIMESTAMP or axis.kind is not AxisKind.STEPS:
        return None
    length = looked_at(scalar, Ref(field))
    if length is None or axis.low is None or axis.high is None:
        return None
    first, last = axis.low // length, axis.high // length
    if last - first >= MOST_CELLS:
        return None
    return _by_period(range(first, last + 1), length, field, axis)


def _clock_periods(
    scalar: Scalar, clock: Call, axis: RegionAxis
) -> Iterator[tuple[Cell | tuple[int, int], Value | None]] | None:
    """One value for each day, hour or minute of a clock, with the moments at which the clock shows it."""
    length = looked_at(scalar, clock)
    if length is None or axis.kind is not AxisKind.STEPS or axis.low is None or axis.high is None:
        return None
    first, last = (axis.low - REACH) // length, (axis.high + REACH) // length
    if last - first >= MOST_CELLS:
        return None
    return _by_clock(range(first, last + 1), length, zone_of(clock), axis)


def _by_clock(
    places: range, length: int, zone: TimeZone, axis: RegionAxis
) -> Iterator[tuple[Cell | tuple[int, int], Value | None]]:
    low, high = axis.low or 0, axis.high or 0
    for place in places:
        shown = moment_at(place * length)
        for span in zone.spans(place * length, (place + 1) * length, low, high):
            yield span, shown
    if axis.nullable:
        yield None, None


def _by_period(
    places: range, length: int, field: Field, axis: RegionAxis
) -> Iterator[tuple[Cell | tuple[int, int], Value | None]]:
    for place in places:
        yield (place * length, (place + 1) * length - 1), value_at(place * length, field.type)
    if axis.nullable:
        yield None, None


def _by_ends(  # noqa: PLR0911 - one answer for each kind of condition
    scalar: Scalar, field: Field, axis: RegionAxis
) -> Truths | None:
    """The cells of comparisons with constants, for domains of any size."""
    if not isinstance(scalar, Call):
        return None
    function, parts = scalar.function, scalar.parts
    there = _there(axis)
    if function in {"is null", "is not null"} and isinstance(parts[0], Ref):
        null = minus(all_cells(axis), there)
        return (null, there) if function == "is null" else (there, null)
    values = [one.value for one in parts[1:] if isinstance(one, Literal)]
    if len(values) != len(parts) - 1 or not values or not _comparable(parts):
        return None
    if axis.kind is AxisKind.NAMES and any(isinstance(one, date) for one in values):
        # a date and its midnight are equal but have two names
        return None
    if function == "in":
        held = _among(parts[0], field, axis, [one for one in values if one is not None])
        # with a NULL in the list, no value is surely outside of it
        return held, no_cells(axis) if None in values else minus(there, held)
    if function in COMPARING:
        if values[0] is None:
            return minus(there, there), minus(there, there)
        held = _holds(function, parts[0], field, axis, values[0])
        return held, minus(there, held)
    if function in {"is distinct from", "is not distinct from"} and values[0] is not None:
        held = _holds("=", parts[0], field, axis, values[0])
        apart = minus(all_cells(axis), held)
        return (apart, held) if function == "is distinct from" else (held, apart)
    return None


def _comparable(parts: tuple[Scalar, ...]) -> bool:
    """Whether the types are compared as numbers, or as times without a zone."""
    kinds = {one.type.kind for one in parts}
    families = {one.type.family for one in parts}
    if Kind.TIMESTAMPTZ in kinds:
        return kinds == {Kind.TIMESTAMPTZ}
    times = {Family.DATE, Family.TIMESTAMP}
    numbers = {Family.WHOLE, Family.EXACT, Family.FLOAT}
    return len(families) == 1 or families <= times or families <= numbers


def _there(axis: RegionAxis) -> Cells:
    """All cells but NULL."""
    null = (
        StepCells((), null=True)
        if axis.kind is AxisKind.STEPS
        else NameCells(frozenset(), null=True)
    )
    return minus(all_cells(axis), null)


def _holds(operator: str, scalar: Scalar, field: Field, axis: RegionAxis, value: Value) -> Cells:
    if axis.kind is AxisKind.STEPS:
        return clip_cells(solve_comparison(scalar, field, axis, operator, value), axis)
    if not isinstance(scalar, Ref) or operator not in {"=", "<>"}:
        raise Unsolved
    return clip_cells(NameCells(frozenset({name_of(value)}), rest=operator == "<>"), axis)


def _among(scalar: Scalar, field: Field, axis: RegionAxis, values: list[Value]) -> Cells:
    """The cells with one of these values. They are merged once, because there may be very many."""
    if axis.kind is AxisKind.NAMES:
        if not isinstance(scalar, Ref):
            raise Unsolved
        return clip_cells(NameCells(frozenset(map(name_of, values))), axis)
    found = [_single(scalar, field, axis, one) for one in values]
    return clip_cells(StepCells(tuple(each for one in found for each in one.ranges)), axis)


def _single(scalar: Scalar, field: Field, axis: RegionAxis, value: Value) -> StepCells:
    # the cell itself if it has this value alone; else the cells that compare as equal
    found = value_cells(field, axis, value) if isinstance(scalar, Ref) else None
    if found is None:
        found = solve_comparison(scalar, field, axis, "=", value)
    if not isinstance(found, StepCells):
        raise Unsolved
    return found


def value_cells(field: Field, axis: RegionAxis, value: Value | None) -> Cells | None:
    """The cells in which a column has the value; None if they cannot be computed."""
    if value is None:
        return (
            StepCells((), null=True)
            if axis.kind is AxisKind.STEPS
            else NameCells(frozenset(), null=True)
        )
    if axis.kind is AxisKind.NAMES:
        return clip_cells(NameCells(frozenset({name_of(value)})), axis)
    grid, there = grid_of(field.type), exact_number(value)
    if grid is None or there is None or not is_distinct(there, field.type):
        return None
    if field.type.family is Family.TIMESTAMP and not isinstance(value, datetime):
        there *= DAY
    if field.type.family is Family.DATE and isinstance(value, datetime):
        there /= DAY
    cell = grid.at(there)
    if cell is None or not FIRST < cell < LAST:
        return None
    return clip_cells(StepCells(((cell, cell),)), axis)
