"""Exact tables and histograms from a source's rows, as they are or added over shards.

The buckets of a group come as one text and are stored as words of 64 bits: a driver's row for each bucket would
take twenty times as much memory. Drivers' values become the catalog's values: exact, and equal for equal
values.
"""

from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from typing import Any, TypeAlias, cast
from uuid import UUID

from gateway.bounding.bounded_release import BoundedRelease
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.engines.preparation import Chunks
from gateway.exact import ExactHistogram, ExactTable
from gateway.plan.node import BrokenPlan
from gateway.sensitivity.choices import BinnedRows, Histogram, ListedRows


def column_value(given: object, of: ColumnType) -> Value | None:
    """The value of a column of this type. A value that is no number, such as NaN, is NULL as everywhere."""
    match given:
        case None:
            return None
        case bool():
            return given
        case int() | Decimal() | float():
            return _number(given, of)
        case datetime():
            aware = given if given.tzinfo is None else given.astimezone(UTC)
            return aware.replace(tzinfo=UTC) if of.kind is Kind.TIMESTAMPTZ else given
        case date() | UUID():
            return given
        case str():
            return UUID(given) if of.family is Family.UUID else given
        case _:
            raise TypeError(f"a driver gave a {type(given).__name__}")


def _number(given: float | Decimal, of: ColumnType) -> Value | None:
    if isinstance(given, Decimal) and not given.is_finite():
        return None
    if isinstance(given, float) and given - given != 0:
        return None
    exact = Fraction(given)
    return exact.numerator if of.family is Family.WHOLE and exact.denominator == 1 else exact


Rows: TypeAlias = Sequence[Sequence[Any]]


def read_table(release: BoundedRelease, chunks: Chunks) -> ExactTable:
    """Rows of `k1`, `k2`, … and `m1`, `m2`, …, read in parts: never are all of them there beside their columns."""
    width, many = len(release.keys), 0
    columns: list[list[Any]] = [[] for _ in range(width + len(release.measurements))]
    for rows in chunks:
        many += len(rows)
        for column, some in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(some)
    keys = tuple(_keys(release, columns, many))
    return ExactTable(keys, tuple(tuple(map(int, one)) for one in columns[width:]))


def add_shards(release: BoundedRelease, parts: Sequence[Rows]) -> ExactTable:
    """The sums over all parts for each group, without groups of too few units.

    Every unit is in one part, so how many units a group has is the sum of how many it has in each: the last
    column of a release with thresholds. No group was dropped before the sum, or it would lack that part.
    """
    width, most = len(release.keys), len(release.measurements)
    sums: dict[tuple[Value | None, ...], list[int]] = {}
    for rows in parts:
        for key, row in zip(key_columns(release, rows), rows, strict=True):
            # a part without any unit counts NULL of them where there are no keys
            mine, there = [int(one or 0) for one in row[width:]], sums.get(key)
            sums[key] = mine if there is None else [a + b for a, b in zip(there, mine, strict=True)]
    least = release.least_units
    kept = [(key, one) for key, one in sums.items() if least is None or one[most] >= least]
    return ExactTable(
        tuple(key for key, _ in kept),
        tuple(tuple(one[place] for _, one in kept) for place in range(most)),
    )


def key_columns(release: BoundedRelease, rows: Rows) -> Iterator[tuple[Value | None, ...]]:
    """The keys by row; without keys, an empty one for every row."""
    return _keys(release, list(zip(*rows, strict=True)), len(rows))


def _keys(
    release: BoundedRelease, columns: Sequence[Sequence[object]], many: int
) -> Iterator[tuple[Value | None, ...]]:
    if not release.keys or not many:
        return repeat((), many)
    kinds = [key.type for key in release.keys]
    return zip(*map(_values, columns[: len(release.keys)], kinds), strict=True)


def _values(column: Sequence[object], kind: ColumnType) -> Sequence[Value | None]:
    if kind.family is Family.WHOLE and set(map(type, column)) == {int}:
        return cast("Sequence[int]", column)  # as most keys come
    return [column_value(one, kind) for one in column]


Key: TypeAlias = tuple[Value | None, ...]
Cells: TypeAlias = tuple["array[int]", "array[int]"]


def read_histogram(
    release: BoundedRelease, histogram: Histogram, parts: Sequence[Rows]
) -> ExactHistogram:
    """What the rows of such a SELECT say, of each part. Values that are not listed are dropped: domains leave none."""
    counts: dict[Key, Cells] = {}
    for rows in parts:
        found = (
            _binned(release, histogram, rows)
            if isinstance(histogram, BinnedRows)
            else _listed(release, histogram, rows)
        )
        there: dict[Key, Cells] = {}
        for key, (places, many) in found:
            mine = there.setdefault(key, (array("q"), array("q")))
            mine[0].extend(places)
            mine[1].extend(many)
        counts = _added(counts, there) if counts else there
    return ExactHistogram(counts)


def _binned(
    release: BoundedRelease, histogram: BinnedRows, rows: Rows
) -> Iterator[tuple[Key, Cells]]:
    for key, row in zip(key_columns(release, rows), rows, strict=True):
        if row[-1] is None:  # without keys there is a row even where nobody is
            continue
        cells = array("q", map(int, row[-1].split()))
        places, many = cells[::2], cells[1::2]
        if not (min(places) >= 0 and max(places) < histogram.candidates):
            raise BrokenPlan("a bucket that is none of them")
        yield key, (places, many)


def _listed(
    release: BoundedRelease, histogram: ListedRows, rows: Rows
) -> Iterator[tuple[Key, Cells]]:
    places = {value: place for place, value in enumerate(histogram.values)}
    for key, row in zip(key_columns(release, rows), rows, strict=True):
        given, many = row[len(release.keys) :]
        value = column_value(given, histogram.value.type)
        if value is not None and value in places:
            yield key, (array("q", [places[value]]), array("q", [int(many)]))


def _added(one: dict[Key, Cells], other: dict[Key, Cells]) -> dict[Key, Cells]:
    """The sum of two histograms."""
    for key, (places, many) in other.items():
        mine = one.get(key)
        if mine is None:
            one[key] = places, many
            continue
        sums = dict(zip(*mine, strict=True))
        for place, rows in zip(places, many, strict=True):
            sums[place] = sums.get(place, 0) + rows
        one[key] = array("q", sums), array("q", sums.values())
    return one
