"""Axes of regions, and the cells that a column's values become on them.

A cell is the smallest unit that a condition can select. On STEPS cells are absolute whole numbers, so a policy
that moves the end of a domain leaves them unchanged: whole numbers and decimals count by the digits of their
type, dates are days since 1970-01-01, timestamps microseconds since then. A type without digits (`numeric`,
floats) has values everywhere: there the even cells are the millionths themselves, the odd ones the values
between two.

A declared domain may be coarser than that. `stride` is the number of cells from one declared value to the next,
and `cells.cell_count` counts declared values: the difference of two ends is not a size.

INVARIANT: axes of one name have the same cells.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from gateway.catalog.tables import ColumnRef
from gateway.json_form import (
    Json,
    read_mapping,
    read_sequence,
    read_string,
    read_whole,
    whole_or_none,
)

FIRST: Final = -(2**62)
LAST: Final = 2**62
_MET: Final = frozenset({"true"})


class AxisKind(Enum):
    """Whether the cells have an order."""

    STEPS = "steps"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class RegionAxis:
    """`low` and `high` are the first and last cell of a declared interval, `names` all declared names.

    `size` is the number of values in the declared domain, without NULL; None if unknown. An axis that is not
    `readable` is an opaque condition: its names are `true` and `false`. `quasi`: the column is declared a
    quasi-identifier or an identifier. `between`: the names of the two axes of times whose difference this is. `of_person`: its
    values were computed from the rows of a person.
    """

    name: str
    kind: AxisKind
    low: int | None
    high: int | None
    size: int | None
    nullable: bool
    readable: bool
    quasi: bool
    column: ColumnRef | None
    names: frozenset[str] | None = None
    stride: int = 1
    between: tuple[str, str] | None = None
    of_person: bool = False


def partner_axis(name: str, *, quasi: bool, few: bool) -> RegionAxis:
    """The axis of a row that a row may meet, named `true`; NULL is that it meets none. `few`: few persons have such a row.

    INVARIANT: a row that meets none has no weight, as NULL has none. Nearly every row may meet one, and nobody knows; if those
    that do not were taken for a share of all, they would hide the person that a difference isolates.
    """
    size = None if few else len(_MET)
    return RegionAxis(
        name,
        AxisKind.NAMES,
        low=None,
        high=None,
        size=size,
        nullable=True,
        readable=True,
        quasi=quasi or few,
        column=None,
        names=_MET,
    )


def is_of_partner(axis: RegionAxis) -> bool:
    """Whether the axis says that a row meets another one."""
    return axis.readable and axis.column is None and axis.names == _MET


def axis_json(axis: RegionAxis) -> Json:
    column = axis.column
    return {
        "name": axis.name,
        "kind": axis.kind.value,
        "low": axis.low,
        "high": axis.high,
        "size": axis.size,
        "nullable": axis.nullable,
        "readable": axis.readable,
        "quasi": axis.quasi,
        "column": None if column is None else [column.table, column.column],
        "names": None if axis.names is None else sorted(axis.names),
        "stride": axis.stride,
        "between": None if axis.between is None else list(axis.between),
        "of_person": axis.of_person,
    }


def axis_of_json(said: Json) -> RegionAxis:
    given = read_mapping(said)
    column = (
        None
        if given["column"] is None
        else [read_string(one) for one in read_sequence(given["column"])]
    )
    names = given["names"]
    between = given.get("between")
    ends = None if between is None else [read_string(one) for one in read_sequence(between)]
    return RegionAxis(
        read_string(given["name"]),
        AxisKind(read_string(given["kind"])),
        whole_or_none(given["low"]),
        whole_or_none(given["high"]),
        whole_or_none(given["size"]),
        given["nullable"] is True,
        given["readable"] is True,
        given["quasi"] is True,
        None if column is None else ColumnRef(*column),
        None if names is None else frozenset(map(read_string, read_sequence(names))),
        read_whole(given["stride"]),
        None if ends is None else (ends[0], ends[1]),
        given.get("of_person") is True,
    )
