"""The cells of the immutable partition that a statement is confined to.

A policy may declare that columns of a table with one row for each unit never change. Then every unit is in one cell of
the partition that these columns make, for ever, and a charge that is confined to some cells is none for the units of all
others: the ledger keeps a sum for each cell, and the largest counts (`budget/confined.py`).

A column is divided as its declared domain is: a value of a set is a cell of its own; of an interval every step is one,
together with what lies between it and the next; beyond the ends values are moved to the ends at the scan, so the first
and last cell have them; and NULL is a cell where there may be one. Where the source keeps a column from being NULL and
a value is blanked nevertheless, which cell it counts in does not matter, see below; say the first.

Why a unit outside of the touched cells moves nothing, whatever its rows are:

1. Every row of the release has passed through the unit's own row of the table (`passing`), and there is one, for a
   constraint of the source says so. A unit without a row there has no row in the release.
2. The region is exact or wider: a row that is in the release is in one of the region's boxes, so the value of each
   immutable column of its unit is in the box's cells of that column's axis. Other axes are left out, which makes
   it wider still. So the cell of the unit is one of those that the box's projection meets.
3. A value that was blanked in a column which is read as if it were never NULL is in no box's cells. But then the row
   would be in the region with any value in its place (`passing`), so also with one in the first cell.
4. What the scan makes of a stored value is a function of it, of the type and of the domain. Of these the names of the
   cells have a digest, with the table and the columns: when one of them changes, the cells are others.

So all rows of other units are dropped before anything is counted, and the answer is the same without them.

INVARIANT: None, the whole, is never wrong. It is the answer wherever one of the above is not known.

docs/proofs/parallel_cells.md has the argument at length, tests/regions/test_partition_cells.py tries to disprove it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final, TypeAlias

from gateway.bounding.licences import Licences
from gateway.catalog.tables import Column, Dataset, Table
from gateway.catalog.types import Family
from gateway.digest import digest
from gateway.engines.catalog.proofs import TableProof
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.base_columns import bases_of, has_one_row
from gateway.regions.cells import Cells, NameCells, StepCells, intersection, is_empty
from gateway.regions.grid import name_of, value_at
from gateway.regions.names import cells_text
from gateway.regions.region import Box, Region
from gateway.regions.scope import ReleaseScope

MOST_CELLS: Final = 1024
MOST_TOUCHED: Final = 64
_DIGITS: Final = 32
_RULES: Final = 1  # to be increased if scans convert stored values in another way
Place: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionAxis:
    """The cells that one column is divided into, each with its name."""

    axis: RegionAxis
    names: tuple[str | None, ...]
    cells: tuple[Cells, ...]

    def met_by(self, cells: Cells) -> tuple[int, ...]:
        return tuple(
            place for place, one in enumerate(self.cells) if not is_empty(intersection(one, cells))
        )


@dataclass(frozen=True, slots=True)
class Partition:
    """All combinations of the cells of some immutable columns of one table."""

    table: str
    divisions: tuple[PartitionAxis, ...]
    digest: str

    @property
    def size(self) -> int:
        return prod(len(one.cells) for one in self.divisions)

    def name(self, place: Place) -> str:
        values = [one.names[at] for one, at in zip(self.divisions, place, strict=True)]
        return f"{self.digest}:{json.dumps(values, ensure_ascii=False, separators=(',', ':'))}"


def confining_cells(
    scopes: Sequence[ReleaseScope], dataset: Dataset, proven: Mapping[str, TableProof]
) -> tuple[str, ...] | None:
    """The cells to which all releases of a statement are confined; None if they are not confined."""
    found = partition_of(dataset, proven)
    if found is None:
        return None
    places: set[Place] = set()
    for one in scopes:
        if found.table not in one.through or one.region.is_nothing:
            return None
        if not all(_is_as_declared(dataset.table(name), proven) for name in one.tables):
            return None
        for box in one.region.boxes:
            met = _met(found, one.region, box)
            if prod(map(len, met)) > MOST_TOUCHED:
                return None
            places.update(product(*met))
    if not places or len(places) > MOST_TOUCHED or len(places) == found.size:
        return None
    return tuple(map(found.name, sorted(places)))


def partition_of(dataset: Dataset, proven: Mapping[str, TableProof]) -> Partition | None:
    """The partition of the first table that has one. A column that would make too many cells is left out."""
    for table in dataset.tables:
        if not _has_one_row(table, proven):
            continue
        divisions: tuple[PartitionAxis, ...] = ()
        size = 1
        for column, base in zip(table.columns, bases_of(table, table.name), strict=True):
            one = _division(column, base.axis) if column.immutable else None
            if one is not None and size * len(one.cells) <= MOST_CELLS:
                divisions, size = (*divisions, one), size * len(one.cells)
        if divisions:
            return Partition(table.name, divisions, _digest(table, divisions))
    return None


def _is_as_declared(table: Table | None, proven: Mapping[str, TableProof]) -> bool:
    """Whether no scan of a table with one row per unit stands for several in a region."""
    return table is not None and (not has_one_row(table) or _has_one_row(table, proven))


def _has_one_row(table: Table, proven: Mapping[str, TableProof]) -> bool:
    """Whether the source enforces that no unit has two rows."""
    return has_one_row(table) and Licences(proven).is_row_per_unit(table)


def _division(column: Column, axis: RegionAxis | None) -> PartitionAxis | None:
    # sources do not agree on which floats are equal
    if axis is None or axis.size is None or column.type.family is Family.FLOAT:
        return None
    if axis.size > MOST_CELLS:
        return None
    cells = list(_named(axis) if axis.kind is AxisKind.NAMES else _stepped(axis, column))
    if axis.nullable:
        names = axis.kind is AxisKind.NAMES
        cells.append(
            (None, NameCells(frozenset(), null=True) if names else StepCells((), null=True))
        )
    return PartitionAxis(axis, tuple(name for name, _ in cells), tuple(one for _, one in cells))


def _named(axis: RegionAxis) -> Iterator[tuple[str | None, Cells]]:
    for name in sorted(axis.names or ()):
        yield name, NameCells(frozenset({name}))


def _stepped(axis: RegionAxis, column: Column) -> Iterator[tuple[str | None, Cells]]:
    """Cells from each declared value up to the next one."""
    if axis.low is None or axis.high is None:
        return
    starts = range(axis.low, axis.high + 1, axis.stride)
    for start in starts:
        first = FIRST if start == starts[0] else start
        last = LAST if start == starts[-1] else start + axis.stride - 1
        yield name_of(value_at(start, column.type)), StepCells(((first, last),))


def _digest(table: Table, divisions: Sequence[PartitionAxis]) -> str:
    key = table.unit_column
    parts: list[object] = [_RULES, table.name, None if key is None else key.name]
    for one in divisions:
        reference = one.axis.column
        column = None if reference is None else table.column(reference.column)
        of = "" if column is None else str(column.type)
        cells = [cells_text(each) for each in one.cells]
        parts.append([str(reference), of, repr((one.axis.low, one.axis.high)), *cells])
    return digest(json.dumps(parts))[:_DIGITS]


def _met(partition: Partition, region: Region, box: Box) -> list[tuple[int, ...]]:
    """For each column, the cells of its division that the box meets."""
    found = []
    for division in partition.divisions:
        there = tuple(range(len(division.cells)))
        for axis in region.axes:
            part = box.along(axis.name) if axis == division.axis else None
            if part is not None:
                met = division.met_by(part)
                there = tuple(place for place in there if place in met)
        found.append(there)
    return found
