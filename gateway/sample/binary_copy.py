"""Binary COPY of PostgreSQL from numpy columns, without a loop over rows.

A row is a field count, then for each field its length and its value, in big-endian order. Every field is laid
out as wide as it may be, in a matrix of one line per row; the mask says which bytes are used; `matrix[mask]` is
the stream. An unknown value has length -1 and uses no bytes.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Integers = NDArray[np.integer[Any]]

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"

_EPOCH = date(2000, 1, 1)
_BASE = 10_000  # numeric is a sequence of digits to this base
_LENGTH = 4


class CopyColumn(NamedTuple):
    """One column: its values at full width, and the used bytes of each (-1: unknown)."""

    value: Bytes
    used: NDArray[np.int32]


def bigint(values: Integers) -> CopyColumn:
    return _fixed(values.astype(">i8"))


def integer(values: Integers) -> CopyColumn:
    return _fixed(values.astype(">i4"))


def day(values: Integers, first: date) -> CopyColumn:
    """Dates, given as days since `first`."""
    return _fixed((values + (first - _EPOCH).days).astype(">i4"))


def moment(values: Integers) -> CopyColumn:
    """Times with a zone, given as whole seconds since 1970, UTC."""
    first = (_EPOCH - date(1970, 1, 1)).days * 86_400
    return _fixed(((values.astype(np.int64) - first) * 1_000_000).astype(">i8"))


def text(codes: Integers, names: Sequence[str]) -> CopyColumn:
    """The name with that index; a negative code is NULL."""
    encoded = [name.encode() for name in names]
    lengths = np.array([*map(len, encoded), -1], dtype=np.int32)  # so that code -1 finds NULL
    letters = np.array([*encoded, b""])
    width = letters.dtype.itemsize
    table = letters.view(np.uint8).reshape(len(letters), width)
    return CopyColumn(table[codes], lengths[codes])


def numeric(values: Integers, scale: int) -> CopyColumn:
    """Numbers below 10^8, given as whole units of 10^-scale, scale 0 or 2; negative is NULL.

    Two digits to the base 10,000: around the point, or before it. PostgreSQL drops zeros itself.
    """
    whole, part = np.divmod(values, 10**scale)
    high, low = (whole, part * (_BASE // 10**scale)) if scale else np.divmod(values, _BASE)
    weight = 0 if scale else 1
    head = np.broadcast_to(np.array([2, weight, 0, scale]), (len(values), 4))
    words = np.column_stack((head, high, low)).astype(">i2")
    fixed = _fixed(words)
    return CopyColumn(fixed.value, np.where(values < 0, -1, fixed.used).astype(np.int32))


def rows(*fields: CopyColumn) -> bytes:
    """The stream of these columns, row after row."""
    count = len(fields[0].used)
    head = np.broadcast_to(_as_bytes(np.array([len(fields)], dtype=">i2")), (count, 2))
    blocks: list[NDArray[Any]] = [head]
    masks: list[NDArray[Any]] = [np.ones((count, 2), dtype=bool)]
    for field in fields:
        blocks += [_as_bytes(field.used.astype(">i4")), field.value]
        places = np.arange(field.value.shape[1])
        masks += [np.ones((count, _LENGTH), dtype=bool), places < field.used[:, None]]
    stream: Bytes = np.concatenate(blocks, axis=1)[np.concatenate(masks, axis=1)]
    return stream.tobytes()


def _fixed(values: NDArray[Any]) -> CopyColumn:
    as_bytes = _as_bytes(values)
    return CopyColumn(as_bytes, np.full(len(values), as_bytes.shape[1], dtype=np.int32))


def _as_bytes(values: NDArray[Any]) -> Bytes:
    lines = values[:, np.newaxis] if values.ndim == 1 else values
    return np.ascontiguousarray(lines).view(np.uint8)
