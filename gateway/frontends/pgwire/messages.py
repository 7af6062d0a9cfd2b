"""Protocol messages as values, in both directions: no I/O, no state.

INVARIANT: reading follows the lengths in the message itself. Bytes that do not fit are `Malformed`.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.auth.scram import MECHANISM
from gateway.frontends.pgwire.framing import HEADER, Malformed, frame_message

NULL: Final = -1
TEXT, BINARY = 0, 1

# what a client sends
BIND, CLOSE, COPY_DATA, COPY_DONE, COPY_FAIL, DESCRIBE = b"BCdcfD"
EXECUTE, FLUSH, FUNCTION_CALL, PARSE, PASSWORD, QUERY, SYNC, TERMINATE = b"EHFPpQSX"
# what a server sends
AUTHENTICATION, BACKEND_KEY, BIND_COMPLETE, CLOSE_COMPLETE, COMMAND_COMPLETE = b"RK23C"
COPY_OUT, DATA_ROW, EMPTY_QUERY, ERROR, NO_DATA, NOTICE, NOTIFICATION = b"HDIEnNA"
PARAMETER_DESCRIPTION, PARAMETER_STATUS, PARSE_COMPLETE, PORTAL_SUSPENDED = b"tS1s"
NEGOTIATE, READY, ROW_DESCRIPTION = b"vZT"

BOUND: Final = frame_message(BIND_COMPLETE, b"")
FLUSHING: Final = frame_message(FLUSH, b"")
SYNCING: Final = frame_message(SYNC, b"")

_MOST_VALUES: Final = 65_535


class BodyReader:
    """Reads the parts of one body in order."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._place = 0

    def string(self) -> bytes:
        """The text up to a zero byte, which is left out."""
        end = self._body.find(b"\0", self._place)
        if end < 0:
            raise Malformed("a string without an end")
        found = self._body[self._place : end]
        self._place = end + 1
        return found

    def take(self, many: int) -> bytes:
        end = self._place + many
        if many < 0 or end > len(self._body):
            raise Malformed("a message that ends too early")
        found = self._body[self._place : end]
        self._place = end
        return found

    def int16(self) -> int:
        return int.from_bytes(self.take(2))

    def int32(self) -> int:
        return int.from_bytes(self.take(4), signed=True)

    def value(self) -> bytes | None:
        """A value with its length before it; None is NULL."""
        length = self.int32()
        return None if length == NULL else self.take(length)

    def end(self) -> None:
        """Require that nothing is left."""
        if self._place != len(self._body):
            raise Malformed("a message with more in it than belongs there")


@dataclass(frozen=True, slots=True)
class Parse:
    """A statement under a name; PostgreSQL infers a type of 0."""

    name: bytes
    text: bytes
    types: tuple[int, ...] = ()

    @classmethod
    def read(cls, body: bytes) -> "Parse":
        reader = BodyReader(body)
        name, text = reader.string(), reader.string()
        types = tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.int16()))
        reader.end()
        return cls(name, text, types)

    def write(self) -> bytes:
        types = struct.pack(f"!H{len(self.types)}I", len(self.types), *self.types)
        return frame_message(PARSE, self.name + b"\0" + self.text + b"\0" + types)


@dataclass(frozen=True, slots=True)
class Bind:
    """A portal over a prepared statement; formats are none for all text, one for all, or one for each."""

    portal: bytes
    statement: bytes
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]

    @classmethod
    def read(cls, body: bytes) -> "Bind":
        reader = BodyReader(body)
        portal, statement = reader.string(), reader.string()
        formats = tuple(reader.int16() for _ in range(reader.int16()))
        values = tuple(reader.value() for _ in range(reader.int16()))
        results = tuple(reader.int16() for _ in range(reader.int16()))
        reader.end()
        return cls(portal, statement, formats, values, results)

    def write(self) -> bytes:
        parts = [self.portal, b"\0", self.statement, b"\0", _int16s(self.formats)]
        if len(self.values) > _MOST_VALUES:
            raise Malformed("too many values")
        parts.append(len(self.values).to_bytes(2))
        for one in self.values:
            if one is None:
                parts.append(b"\xff\xff\xff\xff")
            else:
                parts += [len(one).to_bytes(4), one]
        parts.append(_int16s(self.results))
        return frame_message(BIND, b"".join(parts))


@dataclass(frozen=True, slots=True)
class NamedObject:
    """The subject of a Describe or a Close: a statement (`S`) or a portal (`P`)."""

    what: bytes
    name: bytes

    @classmethod
    def read(cls, body: bytes) -> "NamedObject":
        reader = BodyReader(body)
        what, name = reader.take(1), reader.string()
        reader.end()
        if what not in {b"S", b"P"}:
            raise Malformed("neither a statement nor a portal")
        return cls(what, name)

    def write(self, kind: int) -> bytes:
        return frame_message(kind, self.what + self.name + b"\0")


@dataclass(frozen=True, slots=True)
class ExecutePortal:
    """A limited number of rows of a portal; 0 is all."""

    portal: bytes
    most: int = 0

    @classmethod
    def read(cls, body: bytes) -> "ExecutePortal":
        reader = BodyReader(body)
        portal, most = reader.string(), reader.int32()
        reader.end()
        return cls(portal, most)

    def write(self) -> bytes:
        return frame_message(EXECUTE, self.portal + b"\0" + struct.pack("!i", self.most))


def query(text: bytes) -> bytes:
    return frame_message(QUERY, text + b"\0")


def read_query(body: bytes) -> bytes:
    reader = BodyReader(body)
    text = reader.string()
    reader.end()
    return text


def ready(status: int) -> bytes:
    return frame_message(READY, bytes((status,)))


def parameter_status(name: bytes, value: bytes) -> bytes:
    return frame_message(PARAMETER_STATUS, name + b"\0" + value + b"\0")


def fields_message(kind: int, fields: Mapping[str, str]) -> bytes:
    """An error or a notice; empty fields are left out, and no text contains a zero byte."""
    told = {name: value.replace("\0", "") for name, value in fields.items()}
    parts = [
        name.encode() + value.encode("utf-8", "replace") + b"\0"
        for name, value in told.items()
        if value
    ]
    return frame_message(kind, b"".join(parts) + b"\0")


def read_fields(body: bytes) -> dict[str, str]:
    """The fields of an error or a notice, by their letters."""
    reader, found = BodyReader(body), dict[str, str]()
    while (letter := reader.take(1)) != b"\0":
        found[letter.decode("latin-1")] = reader.string().decode("utf-8", "replace")
    reader.end()
    return found


def read_types(body: bytes) -> tuple[int, ...]:
    """The types in a ParameterDescription."""
    reader = BodyReader(body)
    types = tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.int16()))
    reader.end()
    return types


def read_row(body: bytes) -> tuple[bytes | None, ...]:
    """The values of a DataRow."""
    reader = BodyReader(body)
    values = tuple(reader.value() for _ in range(reader.int16()))
    reader.end()
    return values


def read_rows(raw: bytes) -> Iterator[tuple[bytes | None, ...]]:
    """The values of consecutive DataRows."""
    place = 0
    while place < len(raw):
        end = place + 1 + int.from_bytes(raw[place + 1 : place + HEADER])
        yield read_row(raw[place + HEADER : end])
        place = end


def with_formats(body: bytes, formats: Sequence[int]) -> bytes:
    """The RowDescription of a portal, from a statement's, which has no formats yet."""
    reader = BodyReader(body)
    many = reader.int16()
    parts = [many.to_bytes(2)]
    for place in range(many):
        parts += [reader.string(), b"\0", reader.take(16)]
        reader.take(2)
        parts.append((_format(formats, place)).to_bytes(2))
    reader.end()
    return frame_message(ROW_DESCRIPTION, b"".join(parts))


def _format(formats: Sequence[int], place: int) -> int:
    if not formats:
        return TEXT
    if len(formats) == 1:
        return formats[0]
    if place >= len(formats):
        raise Malformed("another number of formats than of columns")
    return formats[place]


def _int16s(values: Sequence[int]) -> bytes:
    return struct.pack(f"!H{len(values)}H", len(values), *values)


_OK, _CLEARTEXT, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 3, 10, 11, 12


def _request(which: int, data: bytes = b"") -> bytes:
    return frame_message(AUTHENTICATION, which.to_bytes(4) + data)


OK: Final = _request(_OK)
ASK_FOR_PASSWORD: Final = _request(_CLEARTEXT)
OFFER: Final = _request(_SASL, MECHANISM.encode() + b"\0\0")


def continue_message(data: bytes) -> bytes:
    return _request(_SASL_CONTINUE, data)


def final_message(data: bytes) -> bytes:
    return _request(_SASL_FINAL, data)


def read_first(body: bytes) -> bytes:
    """The first message of the offered mechanism; a message without data belongs to no mechanism here."""
    reader = BodyReader(body)
    mechanism, data = reader.string(), reader.value()
    reader.end()
    if mechanism != MECHANISM.encode():
        raise Malformed(f"another mechanism than {MECHANISM}")
    if not data:
        raise Malformed(f"{MECHANISM} without its first message")
    return data


def read_password(body: bytes) -> str:
    """The password of a PasswordMessage."""
    reader = BodyReader(body)
    password = reader.string()
    reader.end()
    try:
        return password.decode()
    except UnicodeDecodeError:
        raise Malformed("a password that is not UTF-8") from None
