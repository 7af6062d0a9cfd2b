"""Arrow response: an answer as a stream of record batches, some thousand rows each.

Whole numbers, floats, truth values, dates and timestamps have Arrow's own types. For a `numeric` an Arrow
column would have to fix the scale, which PostgreSQL does not: it is sent as a double, which holds the 15 digits
that noisy numbers have. Everything else is PostgreSQL's own text. So is a column with a date that Arrow cannot
express: one of before Christ, or `infinity`.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, TypeAlias

import nanoarrow as na
import numpy as np
from nanoarrow.ipc import StreamWriter

from gateway.columnar.texts import TextRows
from gateway.requests.request import Answer

MEDIA_TYPE: Final = "application/vnd.apache.arrow.stream"
_BLOCKS_AT_ONCE: Final = 4  # 8,192 rows
_MODIFIER: Final = re.compile(r"\([^)]*\)")
_EPOCH: Final = date(1970, 1, 1)
_MOMENT: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - of columns without a zone
_MOMENT_UTC: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Texts: TypeAlias = Sequence[str | None]


@dataclass(frozen=True)
class _Numbers:
    """Columns whose values are numbers in a buffer; `read` may find a text that is no number."""

    schema: Any
    dtype: str
    read: Callable[[str], int | float]

    def takes(self, texts: Texts) -> bool:
        try:
            for text in texts:
                if text is not None:
                    self.read(text)
        except ValueError:
            return False
        return True

    def array(self, texts: Texts) -> Any:  # noqa: ANN401 - nanoarrow has no types
        read = self.read
        values = np.array([0 if text is None else read(text) for text in texts], dtype=self.dtype)
        missing, validity = _validity(texts)
        return na.c_array_from_buffers(
            self.schema, len(texts), [validity, values], null_count=missing
        )


class _Truths:
    schema = na.bool_()

    def takes(self, texts: Texts) -> bool:
        return all(text in {"t", "f", None} for text in texts)

    def array(self, texts: Texts) -> Any:  # noqa: ANN401 - see above
        missing, validity = _validity(texts)
        return na.c_array_from_buffers(
            self.schema,
            len(texts),
            [validity, _bits([text == "t" for text in texts])],
            null_count=missing,
        )


class _Text:
    schema = na.string()

    def takes(self, texts: Texts) -> bool:
        del texts
        return True

    def array(self, texts: Texts) -> Any:  # noqa: ANN401 - see above
        encoded = [b"" if text is None else text.encode() for text in texts]
        ends = np.zeros(len(texts) + 1, dtype=np.int32)
        np.cumsum([len(one) for one in encoded], out=ends[1:])
        missing, validity = _validity(texts)
        buffers = [validity, ends, b"".join(encoded)]
        return na.c_array_from_buffers(self.schema, len(texts), buffers, null_count=missing)


_Kind: TypeAlias = _Numbers | _Truths | _Text
_TEXT: Final = _Text()


def _day(text: str) -> int:
    return (date.fromisoformat(text) - _EPOCH).days


def _moment(text: str) -> int:
    return (datetime.fromisoformat(text) - _MOMENT) // _MICROSECOND


def _moment_utc(text: str) -> int:
    return (datetime.fromisoformat(text) - _MOMENT_UTC) // _MICROSECOND


_KINDS: Final[dict[str, _Kind]] = {
    "smallint": _Numbers(na.int16(), "int16", int),
    "integer": _Numbers(na.int32(), "int32", int),
    "bigint": _Numbers(na.int64(), "int64", int),
    "real": _Numbers(na.float32(), "float32", float),
    **dict.fromkeys(("double precision", "numeric"), _Numbers(na.float64(), "float64", float)),
    "boolean": _Truths(),
    "date": _Numbers(na.date32(), "int32", _day),
    "timestamp without time zone": _Numbers(na.timestamp("us"), "int64", _moment),
    "timestamp with time zone": _Numbers(na.timestamp("us", "UTC"), "int64", _moment_utc),
}


def arrow_chunks(answer: Answer) -> Iterator[bytes]:
    """The schema with the first rows, then some thousand rows at a time, then the end of the stream."""
    rows = answer.rows
    kinds = [_kind(column.type, place, rows) for place, column in enumerate(answer.columns)]
    fields = [
        na.c_schema(kind.schema).modify(name=column.name)
        for kind, column in zip(kinds, answer.columns, strict=True)
    ]
    schema = na.struct(fields, nullable=False)
    out = io.BytesIO()
    writer = StreamWriter.from_writable(out)
    nothing: list[list[str | None]] = [[] for _ in kinds]
    for many, columns in rows.parts(_BLOCKS_AT_ONCE) if rows else [(0, nothing)]:
        children = [kind.array(texts) for kind, texts in zip(kinds, columns, strict=True)]
        writer.write_array(na.c_array_from_buffers(schema, many, [None], children=children))
        yield _taken(out)
    writer.close()
    yield _taken(out)


def _kind(type_name: str, place: int, rows: TextRows) -> _Kind:
    kind = _KINDS.get(_MODIFIER.sub("", type_name).strip().replace("  ", " "), _TEXT)
    if isinstance(kind, _Text) or not rows:
        return kind
    return kind if all(map(kind.takes, rows.columns[place].parts())) else _TEXT


def _taken(out: io.BytesIO) -> bytes:
    made = out.getvalue()
    out.seek(0)
    out.truncate()
    return made


def _validity(texts: Texts) -> tuple[int, Any]:
    missing = sum(text is None for text in texts)
    if not missing:
        return 0, None
    return missing, _bits([text is not None for text in texts])


def _bits(truths: Sequence[bool]) -> Any:  # noqa: ANN401 - an array of bytes
    return np.packbits(np.array(truths, dtype=bool), bitorder="little")
