"""How a client comes in: from its first byte to being somebody, or to nothing at all.

`entering` is a conversation (see `steps`) that ends with `Entered`, with the `Cancel` of a client that came for that
alone, or with None, when the client was told why not, or is gone. After `Cancel` and None the connection is closed.
After `Entered` the client has read that it is authenticated; what comes next is the rest of the start-up: parameters,
the cancel key, and that the server is ready, or that there is no such database. An exception that leaves it is our bug.

SCRAM is the one method that is offered, with and without TLS: what a listener sees of it lets nobody in. A password as it
is, a token or a key, is asked for when the start-up says `gateway.login=token`, and inside TLS alone.

INVARIANT: nothing that came before a TLS handshake is read after it.
INVARIANT: `Entered` is made from what a log-in returned and nowhere else; each message is waited for in its turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.errors import Code, Refusal, SyntaxRefused, Unauthenticated
from gateway.frontends.pgwire import sasl
from gateway.frontends.pgwire.frames import Malformed
from gateway.frontends.pgwire.incoming import Dropped, Incoming
from gateway.frontends.pgwire.messages import PASSWORD
from gateway.frontends.pgwire.options import Wanted, read_settings
from gateway.frontends.pgwire.refusals import (
    PROTOCOL_VIOLATION,
    Severity,
    error_message,
    malformed_message,
)
from gateway.frontends.pgwire.startup import (
    MAJOR,
    NEWEST_MINOR,
    Cancel,
    Startup,
    Unspoken,
    Wish,
    read_packet,
)
from gateway.frontends.pgwire.steps import Conversation, Send, StartTls, look
from gateway.frontends.tls import POSTGRESQL
from gateway.identity import scram
from gateway.identity.acts import Claim
from gateway.identity.holders import Admitted
from gateway.identity.logins import Logins
from gateway.policy.subjects import Subject

FRONT_END: Final = "pgwire"
_YES, _NO = b"S", b"N"
_LONGEST_SASL: Final = 4_096
_LONGEST_PASSWORD: Final = 65_535


@dataclass(frozen=True)
class Entered:
    """Somebody who was let in; `database` is as it was asked for, `rest` what came after the last message."""

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
    """A start-up that was read: who wants in, to what, and how."""

    startup: Startup
    name: str
    database: str
    wanted: Wanted


class _Told(Exception):
    """The connection ends with this message."""

    def __init__(self, message: bytes) -> None:
        super().__init__()
        self.message = message


def entering(
    logins: Logins[Subject], *, address: str, tls: bool, secure: bool = False
) -> Conversation[Entered | Cancel | None]:
    """Let in who can prove to be somebody. `tls` says that there is a certificate, `secure` that TLS is on already."""
    incoming = Incoming()
    try:
        return (yield from _entering(incoming, logins, address, tls=tls, secure=secure))
    except Dropped:
        return None
    except Malformed as malformed:
        yield Send(malformed_message(malformed))
    except Refusal as refusal:
        yield Send(error_message(refusal, Severity.FATAL))
    except _Told as told:
        yield Send(told.message)
    return None


def _entering(
    incoming: Incoming, logins: Logins[Subject], address: str, *, tls: bool, secure: bool
) -> Conversation[Entered | Cancel | None]:
    first, secure = yield from _first_packet(incoming, tls=tls, secure=secure)
    if isinstance(first, Cancel):
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
        raise _Told(_failed(refusal, claim)) from None
    return Entered(
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
) -> Conversation[tuple[Startup | Cancel, bool]]:
    """The packet that is no wish for encryption, and whether the connection is inside TLS."""
    if not secure and (yield from incoming.begins_with_tls()):
        yield from _shake_hands_at_once(incoming, tls=tls)
        secure = True
    wishes = frozenset[Wish]() if secure else frozenset(Wish)
    while True:
        packet = read_packet((yield from incoming.packet()), may_wish=wishes)
        if isinstance(packet, Unspoken):
            raise _Told(_unspoken(packet))
        if not isinstance(packet, Wish):
            return packet, secure
        if packet is Wish.TLS and tls:
            if incoming.rest:
                raise Malformed("bytes that are not encrypted, after the request for TLS")
            yield StartTls(_YES)
            secure, wishes = True, frozenset()
        else:
            yield Send(_NO)
            wishes -= {packet}


def _shake_hands_at_once(incoming: Incoming, *, tls: bool) -> Conversation[None]:
    """TLS without asking for it, as PostgreSQL 17 has it: only for who says that it is for PostgreSQL."""
    if not tls:
        raise Dropped
    came, incoming.rest = incoming.rest, b""
    if (yield StartTls(b"", came)) != POSTGRESQL:
        raise Dropped


def _asked(startup: Startup) -> _Asked:
    name = startup.parameters.get("user", "")
    if not name:
        refusal = Unauthenticated(
            Code.NO_CREDENTIALS,
            "the start-up names no user",
            "log in as a subject, with an API key",
        )
        line = "no PostgreSQL user name specified in startup packet"
        raise _Told(error_message(refusal, Severity.FATAL, message=line))
    database = startup.parameters.get("database", "") or name
    return _Asked(startup, name, database, read_settings(startup.parameters))


def _with_proof(
    incoming: Incoming, logins: Logins[Subject], claim: Claim
) -> Conversation[Admitted[Subject]]:
    yield Send(sasl.OFFER)
    first = sasl.read_first((yield from incoming.message(PASSWORD, _LONGEST_SASL)))
    verifiers = yield from look(lambda: logins.scram.begin(claim.name))
    challenge = scram.challenge(first, verifiers)
    yield Send(sasl.continued(challenge.message))
    last = yield from incoming.message(PASSWORD, _LONGEST_SASL)
    logged_in = yield from look(lambda: logins.scram.finish(claim, challenge, last))
    yield Send(sasl.final(logged_in.message) + sasl.OK)
    return logged_in.admitted


def _with_password(
    incoming: Incoming, logins: Logins[Subject], claim: Claim, *, secure: bool
) -> Conversation[Admitted[Subject]]:
    if not secure:
        refusal = Unauthenticated(
            Code.NO_CREDENTIALS,
            "`gateway.login=token` without TLS",
            "connect with sslmode=require, or log in with an API key, which needs no TLS",
        )
        line = "a password as it is may be sent inside TLS alone"
        raise _Told(error_message(refusal, Severity.FATAL, message=line))
    yield Send(sasl.ASK_FOR_PASSWORD)
    shown = sasl.read_password((yield from incoming.message(PASSWORD, _LONGEST_PASSWORD)))
    admitted = yield from look(lambda: logins.password.log_in(claim, shown))
    yield Send(sasl.OK)
    return admitted


def _failed(refusal: Refusal, claim: Claim) -> bytes:
    """A log-in that failed as PostgreSQL says it; why it did is not in it."""
    if refusal.code is Code.BAD_CREDENTIALS:
        line = f'password authentication failed for user "{claim.name}"'
        return error_message(refusal, Severity.FATAL, message=line)
    if isinstance(refusal, SyntaxRefused):
        return error_message(refusal, Severity.FATAL, sqlstate=PROTOCOL_VIOLATION)
    return error_message(refusal, Severity.FATAL)


def _unspoken(version: Unspoken) -> bytes:
    said = f"unsupported frontend protocol {version.major}.{version.minor}"
    refusal = SyntaxRefused(Code.BAD_REQUEST, said, "use a client of PostgreSQL 7.4 or newer")
    line = f"{said}: server supports {MAJOR}.0 to {MAJOR}.{NEWEST_MINOR}"
    return error_message(refusal, Severity.FATAL, message=line, sqlstate="0A000")
