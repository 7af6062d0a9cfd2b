"""Start-up of a wire connection: its packets as values, its parameters, and cancel keys.

A client that has a connection's cancel key may cancel its statement. The keys belong to this process: a cancel
request that reaches another one of several gateways has no effect there.

INVARIANT: the list of settings is an allow-list, the same as for SET. Any other setting is refused by its name,
because a client that believes something to be set must not go on without it.
INVARIANT: a cancel request with a wrong key has no effect and no answer; secrets are compared in constant time.
"""

import hmac
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

from gateway.binding.text.classify import ENCODINGS, SETTINGS, WITHOUT_EFFECT, is_allowed_setting
from gateway.errors import Code, Refusal, SyntaxRefused, UnsupportedSql
from gateway.frontends.pgwire.framing import Malformed, frame_message
from gateway.frontends.pgwire.messages import BACKEND_KEY, NEGOTIATE, BodyReader
from gateway.frontends.pgwire.session_settings import require_readable

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


LOGIN: Final = "gateway.login"
TOKEN: Final = "token"  # noqa: S105  # it names a way to log in
_NAMES_OF_OTHERS: Final = frozenset({"user", "database", "options", "replication"})
_OFF: Final = frozenset({"false", "fals", "fal", "fa", "f", "off", "of", "no", "n", "0"})
# What clients send and nothing depends on here, with the value that it may have: Npgsql before 5 and old pgx ask for no
# renegotiation of TLS, and there is none.
_WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType({"ssl_renegotiation_limit": "0"})
# PostgreSQL compares letters and digits alone: asyncpg sends 'utf-8' with the quotes. SQL_ASCII is what psql finds in a
# locale without an encoding; it means bytes as they are, and those are UTF-8.
_UTF8: Final = ENCODINGS | {"sqlascii"}
_LISTS: Final = frozenset({"search_path"})
_LONGEST_TOLD: Final = 63
_SPACES: Final = frozenset(" \t\n\v\f\r")


@dataclass(frozen=True, slots=True)
class StartupSettings:
    """The wanted settings, by lower-case names; `token` says that the client shows a token instead of a proof."""

    settings: Mapping[str, str]
    token: bool


def read_settings(parameters: Mapping[str, str]) -> StartupSettings:
    """The settings of the start-up parameters; a parameter overrides the same one in `options`, as in
    PostgreSQL.
    """
    _require_no_replication(parameters.get("replication", ""))
    settings: dict[str, str] = {}
    for name, value in _given(parameters):
        small = name.lower()
        if small == "client_encoding":
            settings[small] = _encoding(value)
        elif small in WITHOUT_EFFECT:
            continue
        elif small in SETTINGS or small == LOGIN:
            settings[small] = _settable(small, value)
        elif _WITHOUT_EFFECT.get(small) != value:
            raise _refused(
                f"the parameter `{_told(name)}` cannot be set here", "connect without it"
            )
    token = settings.pop(LOGIN, None) is not None
    return StartupSettings(MappingProxyType(settings), token)


def split_options(text: str) -> list[str]:
    """Words separated by whitespace; a backslash quotes the next character."""
    words: list[str] = []
    word: list[str] | None = None
    escaped = False
    for letter in text:
        if letter in _SPACES and not escaped:
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        word = [] if word is None else word
        if letter == "\\" and not escaped:
            escaped = True
            continue
        escaped = False
        word.append(letter)
    return words if word is None else [*words, "".join(word)]


def _given(parameters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _assignments(parameters.get("options", ""))
    for name, value in parameters.items():
        if name not in _NAMES_OF_OTHERS:
            yield name, value


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Assignments `-c name=value`, `-cname=value` and `--name=value`; in these a name may be written with `-`
    for `_`.
    """
    words = iter(split_options(text))
    for word in words:
        if word.startswith("--") and len(word) > len("--"):
            assigned = word[2:]
        elif word.startswith("-c"):
            assigned = word[2:] or next(words, "")
        else:
            raise _refused(f"`{_told(word)}` in `options` is not valid", "write `-c name=value`")
        name, equals, value = assigned.partition("=")
        if not equals or not name:
            raise _refused(f"`{_told(name)}` in `options` has no value", "write `-c name=value`")
        yield name.replace("-", "_"), value


def _encoding(value: str) -> str:
    said = "".join(letter for letter in value.lower() if letter.isascii() and letter.isalnum())
    if said not in _UTF8:
        raise _refused(
            f"`client_encoding` must be UTF8, not `{_told(value)}`",
            "set client_encoding, or PGCLIENTENCODING, to UTF8",
        )
    return "UTF8"


def _require_no_replication(value: str) -> None:
    if value and value.lower() not in _OFF:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED, "`replication` is not supported", "connect without it"
        )


def _settable(name: str, value: str) -> str:
    values = [_unquoted(one) for one in value.split(",")] if name in _LISTS else [value]
    if not (value == TOKEN if name == LOGIN else is_allowed_setting(name, values)):
        raise _refused(f"`{name}` cannot be `{_told(value)}` here", "connect without it")
    require_readable(name, value)
    return value


def _unquoted(name: str) -> str:
    """A name of a list as PostgreSQL reads it; no allowed name contains a comma or a quote."""
    name = name.strip("".join(_SPACES))
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        return name[1:-1]
    return name.lower()


def _refused(detail: str, hint: str) -> Refusal:
    return SyntaxRefused(Code.BAD_REQUEST, detail, hint)


def _told(text: str) -> str:
    """The client's text, cut to one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_TOLD])


_LARGEST_PID: Final = 2**31 - 1  # drivers read it as a signed number
_SHORT, _LONG = 4, 32  # bytes of a secret: protocol 3.0 has no room for more
_LONG_SINCE: Final = 2  # the minor version


@dataclass(frozen=True, slots=True)
class CancelKey:
    """The key that a client sends, on another connection, to cancel this one's statement."""

    pid: int
    secret: bytes = field(repr=False)

    @property
    def message(self) -> bytes:
        """The message that gives the key to the client."""
        return frame_message(BACKEND_KEY, self.pid.to_bytes(4) + self.secret)


@dataclass(frozen=True, slots=True)
class _Held:
    secret: bytes = field(repr=False)
    cancel: Callable[[], object]


class CancelRegistry:
    """The keys of all connections; thread-safe."""

    def __init__(self, draw: Callable[[int], int] = secrets.randbelow) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._held: dict[int, _Held] = {}

    def register(self, minor: int, cancel: Callable[[], object]) -> CancelKey:
        """A key for a connection that speaks this minor version; `cancel` is called for a request with the key.

        It is called in the thread of the request and must not wait.
        """
        secret = secrets.token_bytes(_LONG if minor >= _LONG_SINCE else _SHORT)
        with self._lock:
            pid = 1 + self._draw(_LARGEST_PID)
            while pid in self._held:
                pid = 1 + self._draw(_LARGEST_PID)
            self._held[pid] = _Held(secret, cancel)
        return CancelKey(pid, secret)

    def forget(self, key: CancelKey) -> None:
        """The connection has ended; its number may be used again."""
        with self._lock:
            self._held.pop(key.pid, None)

    def cancel(self, pid: int, secret: bytes) -> None:
        """Cancel the connection's statement, if this is its key."""
        with self._lock:
            held = self._held.get(pid)
        if held is not None and hmac.compare_digest(secret, held.secret):
            held.cancel()
