"""Grid of a type: values to cells and back.

INVARIANT: a cell has exactly the values that no comparison with a constant on the grid distinguishes; if a
comparison would split a cell, the functions say so, and never round.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Final
from uuid import UUID

from gateway.catalog.domains import Anything, Domain, Interval, Values
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.functions.calendar import instant_at, moment_at
from gateway.functions.exact_values import exact_number
from gateway.functions.range_arithmetic import Bounds
from gateway.plan.sql_text import decimal_sql
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis

MOST_CELLS: Final = 20_000
_FINEST: Final = Fraction(1, 1_000_000)
_EPOCH: Final = date(1970, 1, 1)
_LARGEST: Final = LAST - 2
_LARGEST_DOUBLE: Final = 2**31  # a double has 52 binary digits: 20 of them remain for millionths
_LARGEST_REAL: Final = 2**23
_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})

Cell = int | str | None


@dataclass(frozen=True, slots=True)
class ValueGrid:
    """Cells are `unit` apart; with `halves` every other cell is what lies between two points of the grid."""

    unit: Fraction
    halves: bool

    def last(self, bound: Fraction, *, inclusive: bool) -> int | None:
        """The last cell below the bound; None if the bound divides a cell."""
        place = bound / self.unit
        if not self.halves:
            return floor(place) if inclusive else ceil(place) - 1
        if place.denominator != 1:
            return None
        return 2 * int(place) - (0 if inclusive else 1)

    def at(self, value: Fraction) -> int | None:
        """The cell that has this value and no other; None if there is no such cell."""
        place = value / self.unit
        if place.denominator != 1:
            return None
        return int(place) * 2 if self.halves else int(place)


def grid_of(kind: ColumnType) -> ValueGrid | None:
    """The grid of a type; None if sources do not agree on the order of its values."""
    if kind.family in _NUMBERS and kind.resolution is None:
        return ValueGrid(_FINEST, halves=True)
    if kind.family in _NUMBERS:
        return ValueGrid(kind.resolution or Fraction(1), halves=False)
    if kind.family in {Family.DATE, Family.TIMESTAMP}:
        return ValueGrid(Fraction(1), halves=False)
    return None


def is_distinct(bound: Fraction, kind: ColumnType) -> bool:
    """Whether two points of the grid as large as this are two values of the type on every source.

    A float is compared with a decimal number as another float, which is the nearest; of large ones many decimals have
    the same.
    """
    if kind.family is not Family.FLOAT:
        return True
    if kind.kind is Kind.REAL:
        return bound.denominator == 1 and abs(bound) < _LARGEST_REAL
    return abs(bound) < _LARGEST_DOUBLE


def name_of(value: Value) -> str:
    """The name of a value that is identified by its text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        return decimal_sql(Fraction(value))
    if isinstance(value, date | UUID):
        return str(value)
    return value


def axis_of(  # noqa: PLR0913 - what an axis is made of
    name: str,
    kind: ColumnType,
    domain: Domain,
    *,
    nullable: bool,
    quasi: bool = False,
    column: ColumnRef | None = None,
    bounds: Bounds | None = None,
) -> RegionAxis:
    """The axis of a column. A computed column has `bounds` instead of a domain."""
    grid = grid_of(kind)
    if isinstance(domain, Values) or grid is None or kind.family is Family.BOOLEAN:
        given = (False, True) if kind.family is Family.BOOLEAN else ()
        values = domain.values if isinstance(domain, Values) else given
        names = frozenset(map(name_of, values)) or None
        size = None if names is None else len(names)
        return RegionAxis(
            name, AxisKind.NAMES, None, None, size, nullable, True, quasi, column, names
        )
    low, high, stride = _span(grid, kind, domain, bounds)
    size = None if low is None or high is None else (high - low) // stride + 1
    return RegionAxis(
        name, AxisKind.STEPS, low, high, size, nullable, True, quasi, column, stride=stride
    )


def _span(
    grid: ValueGrid, kind: ColumnType, domain: Domain, bounds: Bounds | None
) -> tuple[int | None, int | None, int]:
    """The first and the last cell, and the number of cells from one declared value to the next."""
    pace = (2 if grid.halves else 1) / grid.unit
    if isinstance(domain, Interval):
        low, high = _number(domain.low), _number(domain.high)
        step = domain.step * (1_000_000 if kind.family is Family.TIMESTAMP else 1)
    elif isinstance(domain, Anything) and bounds is not None and bounds.range is not None:
        low, high = bounds.range.low, bounds.range.high
        step = bounds.range.step or grid.unit
    else:
        return None, None, 1
    first = grid.last(Fraction(floor(low / grid.unit)) * grid.unit, inclusive=True)
    last = grid.last(Fraction(ceil(high / grid.unit)) * grid.unit, inclusive=True)
    if first is None or last is None or max(abs(first), abs(last)) > _LARGEST:
        return None, None, 1
    return first, last, max(1, floor(step * pace))


def _number(value: Value) -> Fraction:
    found = exact_number(value)
    if found is None:
        raise TypeError("an end of an interval is a number or a time")
    return found


def value_at(cell: int, kind: ColumnType) -> Value:
    """The value of a cell; None if the cell has several."""
    grid = grid_of(kind)
    if grid is None:
        raise TypeError("a type without an order has no cells")
    if kind.family is Family.DATE:
        return _EPOCH + timedelta(days=cell)
    if kind.family is Family.TIMESTAMP:
        return instant_at(cell) if kind.kind is Kind.TIMESTAMPTZ else moment_at(cell)
    value = Fraction(cell, 2 if grid.halves else 1) * grid.unit
    return int(value) if kind.family is Family.WHOLE else value


def list_cells(
    axis: RegionAxis, kind: ColumnType, domain: Domain
) -> Iterator[tuple[Cell, Value | None]] | None:
    """Every cell with its value, NULL last; None if there are too many cells, or cells with several values."""
    if axis.kind is AxisKind.NAMES:
        if axis.names is None:
            return None
        given = (False, True) if kind.family is Family.BOOLEAN else ()
        values = domain.values if isinstance(domain, Values) else given
        return _with_null(((name_of(one), one) for one in values), axis)
    grid = grid_of(kind)
    if grid is None or grid.halves or axis.low is None or axis.high is None:
        return None
    if axis.high - axis.low >= MOST_CELLS:
        return None
    cells = range(axis.low, axis.high + 1)
    return _with_null(((one, value_at(one, kind)) for one in cells), axis)


def _with_null(
    given: Iterator[tuple[Cell, Value | None]], axis: RegionAxis
) -> Iterator[tuple[Cell, Value | None]]:
    yield from given
    if axis.nullable:
        yield None, None


def clamp_cell(cell: int, axis: RegionAxis) -> int | None:
    """The cell, or the end of all cells if that selects the same values; None if it does not."""
    if FIRST < cell < LAST:
        return cell
    if axis.low is None or axis.high is None:
        return None
    return FIRST if cell <= FIRST else LAST
