"""Regions and what they are made of as JSON, and back.

INVARIANT: the round trip gives an equal thing, and equal things have equal texts. There are no floats in it.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias
from uuid import UUID

from gateway.catalog.tables import ColumnRef
from gateway.catalog.values import Value
from gateway.regions.axis import Axis, Kind
from gateway.regions.cells import Cells, Names, Steps
from gateway.regions.region import Box, Region

Json: TypeAlias = str | int | bool | Sequence["Json"] | Mapping[str, "Json"] | None


class NotSaid(ValueError):
    """What was read is nothing that was written here."""


def mapping(said: Json) -> Mapping[str, Json]:
    if not isinstance(said, Mapping):
        raise NotSaid
    return said


def sequence(said: Json) -> Sequence[Json]:
    if isinstance(said, str) or not isinstance(said, Sequence):
        raise NotSaid
    return said


def string(said: Json) -> str:
    if not isinstance(said, str):
        raise NotSaid
    return said


def whole(said: Json) -> int:
    if not isinstance(said, int) or isinstance(said, bool):
        raise NotSaid
    return said


def _whole_or_none(said: Json) -> int | None:
    return None if said is None else whole(said)


def axis_json(axis: Axis) -> Json:
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
    }


def axis_of_json(said: Json) -> Axis:
    given = mapping(said)
    column = None if given["column"] is None else [string(one) for one in sequence(given["column"])]
    names = given["names"]
    return Axis(
        string(given["name"]),
        Kind(string(given["kind"])),
        _whole_or_none(given["low"]),
        _whole_or_none(given["high"]),
        _whole_or_none(given["size"]),
        given["nullable"] is True,
        given["readable"] is True,
        given["quasi"] is True,
        None if column is None else ColumnRef(*column),
        None if names is None else frozenset(map(string, sequence(names))),
        whole(given["stride"]),
    )


def cells_json(cells: Cells) -> Json:
    if isinstance(cells, Steps):
        ends = [end for one in cells.ranges for end in one]
        return ["steps", ends, cells.null]
    return ["names", sorted(cells.values), cells.rest, cells.null]


def cells_of_json(said: Json) -> Cells:
    kind, held, *flags = sequence(said)
    if kind == "steps":
        ends = [whole(one) for one in sequence(held)]
        return Steps(tuple(zip(ends[::2], ends[1::2], strict=True)), flags[0] is True)
    if kind != "names":
        raise NotSaid
    return Names(frozenset(map(string, sequence(held))), flags[0] is True, flags[1] is True)


def region_json(region: Region) -> Json:
    boxes = [[[name, cells_json(cells)] for name, cells in box.parts] for box in region.boxes]
    return {"axes": [axis_json(one) for one in region.axes], "boxes": boxes}


def region_of_json(said: Json) -> Region:
    given = mapping(said)
    boxes = []
    for box in sequence(given["boxes"]):
        parts = [sequence(part) for part in sequence(box)]
        boxes.append(Box(tuple((string(name), cells_of_json(cells)) for name, cells in parts)))
    return Region(tuple(map(axis_of_json, sequence(given["axes"]))), tuple(boxes))


def value_json(value: Value | None) -> Json:
    """With its type, so that a number and the text of a number stay apart."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return ["int", str(value)]
        case Fraction():
            return ["fraction", str(value)]
        case datetime():
            return ["time", value.isoformat()]
        case date():
            return ["date", value.isoformat()]
        case UUID():
            return ["uuid", str(value)]


def value_of_json(said: Json) -> Value | None:
    if said is None or isinstance(said, bool | str):
        return said
    kind, written = map(string, sequence(said))
    match kind:
        case "int":
            return int(written)
        case "fraction":
            return Fraction(written)
        case "time":
            return datetime.fromisoformat(written)
        case "date":
            return date.fromisoformat(written)
        case "uuid":
            return UUID(written)
        case _:
            raise NotSaid
