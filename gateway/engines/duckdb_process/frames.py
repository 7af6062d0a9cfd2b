"""Frames between the gateway and a DuckDB process: a length, a kind and a JSON document.

Both sides read them. A document holds numbers, texts, NULLs and, under their tags, decimals, dates, timestamps,
intervals and UUIDs. JSON because it has no values that run code when they are read, and its whole numbers have any
length. Nothing but the standard library is imported: the DuckDB processes load this module too.

INVARIANT: what is decoded is exactly what was encoded. A value of another type raises; it is never made a text.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any, Final, TypeAlias
from uuid import UUID

HEADER: Final = struct.Struct("!IB")
LONGEST: Final = 1 << 30
"""Bytes of one frame. A longer one is an error of the side that sends it."""

Row: TypeAlias = tuple[Any, ...]


class FrameKind(IntEnum):
    """The kinds of frames."""

    OPEN = 1
    READY = 2
    RUN = 3
    ROWS = 4
    END = 5
    FAILED = 6


class BrokenFrame(ValueError):
    """The frame is malformed."""


def encode(kind: FrameKind, document: object) -> bytes:
    """The bytes of one frame."""
    payload = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    if len(payload) > LONGEST:
        raise BrokenFrame("a frame is too long")
    return HEADER.pack(len(payload), kind) + payload


def read_header(header: bytes) -> tuple[int, FrameKind]:
    """The length of the document in bytes, and the kind of the frame."""
    length, kind = HEADER.unpack(header)
    if length > LONGEST:
        raise BrokenFrame("a frame is too long")
    try:
        return length, FrameKind(kind)
    except ValueError:
        raise BrokenFrame("a frame of an unknown kind") from None


def decode(payload: bytes) -> Any:  # noqa: ANN401 - whoever reads it checks it
    """The document of a frame."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise BrokenFrame("a frame without a document") from None


def encode_rows(rows: Sequence[Row]) -> bytes:
    """A frame of rows: column by column, each with the tag of its values."""
    columns = [_encode_column(one) for one in zip(*rows, strict=True)]
    tags, values = [tag for tag, _ in columns], [some for _, some in columns]
    return encode(FrameKind.ROWS, {"count": len(rows), "tags": tags, "columns": values})


def decode_rows(payload: bytes) -> list[Row]:
    """The rows of a frame that `encode_rows` wrote."""
    match decode(payload):
        case {"count": int(count), "tags": list(tags), "columns": list(columns)}:
            if len(tags) != len(columns) or any(not _is_long(one, count) for one in columns):
                raise BrokenFrame("rows of different widths")
            try:
                read = [_decode_column(*one) for one in zip(tags, columns, strict=True)]
            except (KeyError, TypeError, ValueError, ArithmeticError):
                raise BrokenFrame("a value that is not what its tag says") from None
            return list(zip(*read, strict=True)) if read else [()] * count
        case _:
            raise BrokenFrame("a frame that holds no rows")


def encode_parameters(values: Sequence[object]) -> list[object]:
    """The parameters of a statement, for a document."""
    return [_encode_parameter(one) for one in values]


def decode_parameters(values: Sequence[object]) -> list[object]:
    """The parameters that `encode_parameters` wrote."""
    return [_decode_parameter(one) for one in values]


def _encode_parameter(value: object) -> object:
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return [_encode_parameter(one) for one in value]
    tag = _TAGS[type(value)]
    return {tag: _WRITE[tag](value)}


def _decode_parameter(value: object) -> object:
    match value:
        case dict():
            ((tag, written),) = value.items()
            return _READ[tag](written)
        case list():
            return [_decode_parameter(one) for one in value]
        case _:
            return value


def _encode_column(column: Sequence[object]) -> tuple[str, Sequence[object]]:
    kinds = set(map(type, column)) - {type(None)}
    if kinds <= _PLAIN:
        return "", column
    if len(kinds) > 1:
        raise TypeError("a column of values of different types")
    tag = _TAGS[kinds.pop()]
    write = _WRITE[tag]
    return tag, [None if one is None else write(one) for one in column]


def _decode_column(tag: str, column: list[object]) -> Sequence[object]:
    if tag == "":
        if not {*map(type, column)} <= _PLAIN | {type(None)}:
            raise BrokenFrame("a value of an unknown type")
        return column
    read = _READ[tag]
    return [None if one is None else read(one) for one in column]


def _is_long(column: object, count: int) -> bool:
    return isinstance(column, list) and len(column) == count


def _write_timestamp(value: Any) -> str:  # noqa: ANN401
    """The timestamp as text; one with a time zone in UTC, because zones of other libraries have no name here."""
    moment: datetime = value if value.tzinfo is None else value.astimezone(UTC)
    return moment.isoformat()


def _write_interval(value: Any) -> list[int]:  # noqa: ANN401
    return [value.days, value.seconds, value.microseconds]


def _read_interval(parts: Any) -> timedelta:  # noqa: ANN401
    days, seconds, microseconds = parts
    return timedelta(days, seconds, microseconds)


_PLAIN: Final = frozenset({int, float, str, bool})
_TAGS: Final[Mapping[type, str]] = {
    Decimal: "decimal",
    date: "date",
    datetime: "timestamp",
    timedelta: "interval",
    UUID: "uuid",
}
_WRITE: Final[Mapping[str, Callable[[Any], object]]] = {
    "decimal": str,
    "date": date.isoformat,
    "timestamp": _write_timestamp,
    "interval": _write_interval,
    "uuid": str,
}
_READ: Final[Mapping[str, Callable[[Any], object]]] = {
    "decimal": Decimal,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "interval": _read_interval,
    "uuid": UUID,
}
