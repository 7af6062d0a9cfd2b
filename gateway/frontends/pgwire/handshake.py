"""Handshake of a wire client, without I/O: TLS, start-up packet, SASL, up to an authenticated subject.

`log_in` is a conversation that ends with `LoggedInClient`, with the `Cancel` of a client that only wanted to cancel,
or with None if the client was refused or is gone. After `Cancel` and None the connection is closed. After
`LoggedInClient` the client knows that it is authenticated; the caller sends the rest of the start-up: parameters, the
cancel key, and that the server is ready, or that there is no such database. An exception that leaves the
conversation is an internal error.

A conversation is a generator. It yields a step, and is sent what the step asks for:

- `Send(data)`: write these bytes. Sent back: anything.
- `Read()`: sent back are the next bytes of the client, as many as came, at most 64 KiB; `b""` when it has gone.
- `StartTls(answer, came)`: write `answer`, then shake hands as the server; `came` are bytes of the client's that belong
  to the handshake already. Sent back is the ALPN name that was agreed on, or None. Nothing that was received before,
  `came` apart, may be left over anywhere: a driver that has such bytes ends the connection instead.
- `Look(call)`: run `call()` in a thread that may wait. Sent back: anything; its exception is thrown into the generator.

The driver sets the time limit for all of it, and ends a conversation by `close()`.

SCRAM is the offered method, with and without TLS: a listener cannot log in with what it sees. A password in
plain text, a token or a key, is asked for when the start-up says `gateway.login=token`, and inside TLS alone.

INVARIANT: nothing that came before a TLS handshake is read after it. INVARIANT: `LoggedInClient` is made from the
result of a log-in and nowhere else; messages are awaited in their order. INVARIANT: a length is checked before
its body is awaited, so that never more is buffered than the longest packet or message and what came with its
end.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from gateway.auth import scram
from gateway.auth.authenticator import KeyHolder
from gateway.auth.key_store import Claim
from gateway.auth.scram import Logins
from gateway.errors import Code, Refusal, SyntaxRefused, Unauthenticated
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.error_response import (
    PROTOCOL_VIOLATION,
    Severity,
    error_message,
    malformed_message,
)
from gateway.frontends.pgwire.framing import HEADER, Malformed
from gateway.frontends.pgwire.messages import PASSWORD
from gateway.frontends.pgwire.startup import (
    MAJOR,
    NEWEST_MINOR,
    CancelRequest,
    EncryptionRequest,
    Startup,
    StartupSettings,
    UnsupportedVersion,
    read_packet,
    read_settings,
)
from gateway.frontends.tls import POSTGRESQL
from gateway.policy.subjects import Subject

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Send:
    data: bytes


@dataclass(frozen=True, slots=True)
class Read:
    pass


@dataclass(frozen=True, slots=True)
class StartTls:
    answer: bytes
    came: bytes = b""


@dataclass(frozen=True, slots=True)
class Look:
    call: Callable[[], object] = field(repr=False)


Step: TypeAlias = Send | Read | StartTls | Look
Conversation: TypeAlias = Generator[Step, object, Found]


def run_lookup(call: Callable[[], Found]) -> Conversation[Found]:
    """The result of the call; it keeps its type, whatever the driver sends back."""
    found: list[Found] = []
    yield Look(lambda: found.append(call()))
    return found[0]


LONGEST_PACKET: Final = 10_000
TLS_HANDSHAKE: Final = 0x16
_LENGTH_BYTES: Final = 4
_SHORTEST_PACKET: Final = 8


class ClientGone(Exception):
    """The connection ends without an answer: the client is gone, or speaks another protocol."""


class Incoming:
    """The client's bytes in order; `rest` are those that were received and not read yet."""

    def __init__(self) -> None:
        self.rest = b""

    def begins_with_tls(self) -> Conversation[bool]:
        """True if the client begins TLS without having asked."""
        yield from self._until(1)
        return self.rest[0] == TLS_HANDSHAKE

    def packet(self) -> Conversation[bytes]:
        """The next packet without its length."""
        yield from self._until(_LENGTH_BYTES)
        length = int.from_bytes(self.rest[:_LENGTH_BYTES])
        if not _SHORTEST_PACKET <= length <= LONGEST_PACKET:
            raise ClientGone
        yield from self._until(length)
        return self._take(length)[_LENGTH_BYTES:]

    def message(self, kind: int, longest: int) -> Conversation[bytes]:
        """The body of the next message, which has to be of this kind."""
        yield from self._until(1)
        if self.rest[0] != kind:
            raise Malformed("the message is not the expected one")
        yield from self._until(HEADER)
        length = int.from_bytes(self.rest[1:HEADER])
        if not _LENGTH_BYTES <= length <= longest:
            raise Malformed(f"the length of the message is not from 0 to {longest} bytes")
        yield from self._until(length + 1)
        return self._take(length + 1)[HEADER:]

    def _until(self, many: int) -> Conversation[None]:
        while len(self.rest) < many:
            came = yield Read()
            if not isinstance(came, bytes) or not came:
                raise ClientGone
            self.rest += came

    def _take(self, many: int) -> bytes:
        taken, self.rest = self.rest[:many], self.rest[many:]
        return taken


FRONT_END: Final = "pgwire"
_YES, _NO = b"S", b"N"
_LONGEST_SASL: Final = 4_096
_LONGEST_PASSWORD: Final = 65_535


@dataclass(frozen=True)
class LoggedInClient:
    """An authenticated client; `database` is the requested name, `rest` the bytes after the last message."""

    name: str
    subject: Subject
    key_id: str | None
    database: str
    settings: Mapping[str, str]
    minor: int
    secure: bool
    rest: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class _Asked:
    """A start-up packet: user, database and settings."""

    startup: Startup
    name: str
    database: str
    wanted: StartupSettings


class _LogInEnded(Exception):
    """The connection ends with this message."""

    def __init__(self, message: bytes) -> None:
        super().__init__()
        self.message = message


def log_in(
    logins: Logins[Subject], *, address: str, tls: bool, secure: bool = False
) -> Conversation[LoggedInClient | CancelRequest | None]:
    """Authenticate a client. `tls` says that there is a certificate, `secure` that TLS is on already."""
    incoming = Incoming()
    try:
        return (yield from _entering(incoming, logins, address, tls=tls, secure=secure))
    except ClientGone:
        return None
    except Malformed as malformed:
        yield Send(malformed_message(malformed))
    except Refusal as refusal:
        yield Send(error_message(refusal, Severity.FATAL))
    except _LogInEnded as ended:
        yield Send(ended.message)
    return None


def _entering(
    incoming: Incoming, logins: Logins[Subject], address: str, *, tls: bool, secure: bool
) -> Conversation[LoggedInClient | CancelRequest | None]:
    first, secure = yield from _first_packet(incoming, tls=tls, secure=secure)
    if isinstance(first, CancelRequest):
        return first
    asked = _asked(first)
    if first.negotiate:
        yield Send(first.negotiate)
    claim = Claim(asked.name, address, FRONT_END)
    try:
        if asked.wanted.token:
            admitted = yield from _with_password(incoming, logins, claim, secure=secure)
        else:
            admitted = yield from _with_proof(incoming, logins, claim)
    except Refusal as refusal:
        raise _LogInEnded(_failed(refusal, claim)) from None
    return LoggedInClient(
        asked.name,
        admitted.who,
        admitted.key_id,
        asked.database,
        asked.wanted.settings,
        first.minor,
        secure,
        incoming.rest,
    )


def _first_packet(
    incoming: Incoming, *, tls: bool, secure: bool
) -> Conversation[tuple[Startup | CancelRequest, bool]]:
    """The first packet that does not ask for encryption, and whether the connection is inside TLS."""
    if not secure and (yield from incoming.begins_with_tls()):
        yield from _shake_hands_at_once(incoming, tls=tls)
        secure = True
    wishes = frozenset[EncryptionRequest]() if secure else frozenset(EncryptionRequest)
    while True:
        packet = read_packet((yield from incoming.packet()), may_wish=wishes)
        if isinstance(packet, UnsupportedVersion):
            raise _LogInEnded(_unspoken(packet))
        if not isinstance(packet, EncryptionRequest):
            return packet, secure
        if packet is EncryptionRequest.TLS and tls:
            if incoming.rest:
                raise Malformed("unencrypted bytes follow the request for TLS")
            yield StartTls(_YES)
            secure, wishes = True, frozenset()
        else:
            yield Send(_NO)
            wishes -= {packet}


def _shake_hands_at_once(incoming: Incoming, *, tls: bool) -> Conversation[None]:
    """Direct TLS, as in PostgreSQL 17: only with the ALPN name of PostgreSQL."""
    if not tls:
        raise ClientGone
    came, incoming.rest = incoming.rest, b""
    if (yield StartTls(b"", came)) != POSTGRESQL:
        raise ClientGone


def _asked(startup: Startup) -> _Asked:
    name = startup.parameters.get("user", "")
    if not name:
        refusal = Unauthenticated(
            Code.NO_CREDENTIALS,
            "the startup message names no user",
            "log in as a subject with an API key",
        )
        line = "no PostgreSQL user name specified in startup packet"
        raise _LogInEnded(error_message(refusal, Severity.FATAL, message=line))
    database = startup.parameters.get("database", "") or name
    return _Asked(startup, name, database, read_settings(startup.parameters))


def _with_proof(
    incoming: Incoming, logins: Logins[Subject], claim: Claim
) -> Conversation[KeyHolder[Subject]]:
    yield Send(messages.OFFER)
    first = messages.read_first((yield from incoming.message(PASSWORD, _LONGEST_SASL)))
    verifiers = yield from run_lookup(lambda: logins.scram.begin(claim.name))
    challenge = scram.challenge(first, verifiers)
    yield Send(messages.continue_message(challenge.message))
    last = yield from incoming.message(PASSWORD, _LONGEST_SASL)
    logged_in = yield from run_lookup(lambda: logins.scram.finish(claim, challenge, last))
    yield Send(messages.final_message(logged_in.message) + messages.OK)
    return logged_in.admitted


def _with_password(
    incoming: Incoming, logins: Logins[Subject], claim: Claim, *, secure: bool
) -> Conversation[KeyHolder[Subject]]:
    if not secure:
        refusal = Unauthenticated(
            Code.NO_CREDENTIALS,
            "`gateway.login=token` needs TLS",
            "connect with sslmode=require, or log in with an API key, which needs no TLS",
        )
        line = "a plain password may only be sent over TLS"
        raise _LogInEnded(error_message(refusal, Severity.FATAL, message=line))
    yield Send(messages.ASK_FOR_PASSWORD)
    shown = messages.read_password((yield from incoming.message(PASSWORD, _LONGEST_PASSWORD)))
    admitted = yield from run_lookup(lambda: logins.password.log_in(claim, shown))
    yield Send(messages.OK)
    return admitted


def _failed(refusal: Refusal, claim: Claim) -> bytes:
    """A failed log-in as PostgreSQL reports it; the reason is not in it."""
    if refusal.code is Code.BAD_CREDENTIALS:
        line = f'password authentication failed for user "{claim.name}"'
        return error_message(refusal, Severity.FATAL, message=line)
    if isinstance(refusal, SyntaxRefused):
        return error_message(refusal, Severity.FATAL, sqlstate=PROTOCOL_VIOLATION)
    return error_message(refusal, Severity.FATAL)


def _unspoken(version: UnsupportedVersion) -> bytes:
    said = f"unsupported frontend protocol {version.major}.{version.minor}"
    refusal = SyntaxRefused(Code.BAD_REQUEST, said, "use a client of PostgreSQL 7.4 or newer")
    line = f"{said}: server supports {MAJOR}.0 to {MAJOR}.{NEWEST_MINOR}"
    return error_message(refusal, Severity.FATAL, message=line, sqlstate="0A000")
