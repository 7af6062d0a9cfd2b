"""Start-up packets as values: requests for encryption, a cancel request, or the start-up itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

from gateway.frontends.pgwire.framing import Malformed, frame_message
from gateway.frontends.pgwire.messages import NEGOTIATE, BodyReader

MAJOR: Final = 3
NEWEST_MINOR: Final = 2
MOST_PARAMETERS: Final = 64
_NOT_A_VERSION: Final = 1234  # as a major number: the packet wants something else
_CANCEL, _TLS, _GSS = 5678, 5679, 5680
_SHORTEST_SECRET, _LONGEST_SECRET = 4, 256
_PROTOCOL_OPTION: Final = "_pq_."


class EncryptionRequest(Enum):
    """A client's request for an encrypted connection."""

    TLS = "TLS"
    GSS = "GSS"


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """A request to cancel the statement of a connection."""

    pid: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class UnsupportedVersion:
    """A protocol version that the server does not speak."""

    major: int
    minor: int


@dataclass(frozen=True, slots=True)
class Startup:
    """User, database and settings; `minor` is the spoken minor version, `negotiate` the message about it for
    the client.
    """

    minor: int
    parameters: Mapping[str, str]
    negotiate: bytes = b""


def read_packet(
    body: bytes, *, may_wish: frozenset[EncryptionRequest]
) -> EncryptionRequest | CancelRequest | Startup | UnsupportedVersion:
    """The meaning of a packet. A request for encryption that is not allowed any more is an unknown version, as
    in PostgreSQL.
    """
    reader = BodyReader(body)
    major, minor = reader.int16(), reader.int16()
    if major == _NOT_A_VERSION:
        if minor == _CANCEL:
            return _cancel(reader, len(body))
        wish = {_TLS: EncryptionRequest.TLS, _GSS: EncryptionRequest.GSS}.get(minor)
        if wish in may_wish:
            reader.end()
            return wish
    if major != MAJOR:
        return UnsupportedVersion(major, minor)
    return _startup(reader, minor)


def _cancel(reader: BodyReader, length: int) -> CancelRequest:
    pid, rest = reader.int32(), length - 8
    if not _SHORTEST_SECRET <= rest <= _LONGEST_SECRET:
        raise Malformed("a cancel request with a key of an impossible length")
    return CancelRequest(pid, reader.take(rest))


def _startup(reader: BodyReader, minor: int) -> Startup:
    parameters: dict[str, str] = {}
    unknown: list[str] = []
    for _ in range(MOST_PARAMETERS + 1):
        name = _text(reader)
        if not name:
            break
        value = _text(reader)
        if name.startswith(_PROTOCOL_OPTION):
            unknown.append(name)
        else:
            parameters[name] = value
    else:
        raise Malformed(f"more than {MOST_PARAMETERS} start-up parameters")
    reader.end()
    spoken = min(minor, NEWEST_MINOR)
    negotiate = _negotiate(spoken, unknown) if unknown or spoken != minor else b""
    return Startup(spoken, MappingProxyType(parameters), negotiate)


def _negotiate(minor: int, unknown: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: the spoken version, complete as in PostgreSQL, and the unknown options."""
    body = (MAJOR << 16 | minor).to_bytes(4) + len(unknown).to_bytes(4)
    return frame_message(NEGOTIATE, body + b"".join(name.encode() + b"\0" for name in unknown))


def _text(reader: BodyReader) -> str:
    try:
        return reader.string().decode()
    except UnicodeDecodeError:
        raise Malformed("a start-up parameter that is not UTF-8") from None
