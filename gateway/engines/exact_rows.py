"""Exact tables of the rows that a source gives: as they are, or added over parts."""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, TypeAlias, cast

from gateway.bounding.bounded import BoundedRelease
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.engines.preparation import Chunks
from gateway.engines.reading_values import value_of
from gateway.exact import ExactTable

Rows: TypeAlias = Sequence[Sequence[Any]]


def whole(release: BoundedRelease, chunks: Chunks) -> ExactTable:
    """Rows of `k1`, `k2`, … and `m1`, `m2`, …, read in parts: never are all of them there beside their columns."""
    width, many = len(release.keys), 0
    columns: list[list[Any]] = [[] for _ in range(width + len(release.measurements))]
    for rows in chunks:
        many += len(rows)
        for column, some in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(some)
    keys = tuple(_keys(release, columns, many))
    return ExactTable(keys, tuple(tuple(map(int, one)) for one in columns[width:]))


def added(release: BoundedRelease, parts: Sequence[Rows]) -> ExactTable:
    """The sums over all parts for each group, without groups of too few units.

    Every unit is in one part, so how many units a group has is the sum of how many it has in each: the last
    column of a release with thresholds. No group was dropped before the sum, or it would lack that part.
    """
    width, most = len(release.keys), len(release.measurements)
    sums: dict[tuple[Value | None, ...], list[int]] = {}
    for rows in parts:
        for key, row in zip(keys_of(release, rows), rows, strict=True):
            # a part without any unit counts NULL of them where there are no keys
            mine, there = [int(one or 0) for one in row[width:]], sums.get(key)
            sums[key] = mine if there is None else [a + b for a, b in zip(there, mine, strict=True)]
    least = release.least_units
    kept = [(key, one) for key, one in sums.items() if least is None or one[most] >= least]
    return ExactTable(
        tuple(key for key, _ in kept),
        tuple(tuple(one[place] for _, one in kept) for place in range(most)),
    )


def keys_of(release: BoundedRelease, rows: Rows) -> Iterator[tuple[Value | None, ...]]:
    """By column; without keys, an empty one for every row."""
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
    return [value_of(one, kind) for one in column]
