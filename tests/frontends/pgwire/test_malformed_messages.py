"""A malformed message is the client's error, 08P01, and never an error of the gateway's."""

import random
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from fix_auth import Door
from frontends.pgwire.conversations import (
    Gatewayed,
    Plain,
    Shown,
    a_plain_database,
    gatewayed,
    plain,
    shown,
)
from frontends.pgwire.entrance import Wire, logins_of, wire
from frontends.pgwire.malformed import BIND, EXECUTE, QUESTION, VALID, bodies, mutants
from frontends.pgwire.packets import Scram, cancel, error_of, message, packet, startup, told
from frontends.pgwire.wire_server import Wired, query, read_to_end, read_to_ready, wired
from samples import draws

from gateway.auth.scram import Logins
from gateway.events import Crashed
from gateway.frontends.pgwire import messages, question_flow
from gateway.frontends.pgwire.framing import Malformed
from gateway.frontends.pgwire.handshake import LoggedInClient
from gateway.frontends.pgwire.question_flow import Talk, Work
from gateway.policy.subjects import Subject
from gateway.twin import Twin

VIOLATION = "08P01"
_END = messages.query(b"SELECT 'this was all'")
_MOST = draws(400, fewest=80)  # of each message
_ROLLBACK = messages.query(b"ROLLBACK")


@pytest.fixture(scope="module")
def database(twin: Twin) -> Iterator[str]:
    with a_plain_database(twin) as name:
        yield name


@pytest.fixture
def server(twin: Twin, door: Door) -> Iterator[Wired]:
    with wired(twin, door) as server:
        yield server


def _around(one: bytes, *, at_once: bool) -> list[bytes]:
    """The message behind a question that was bound, alone or in one go with it, and what a client does then."""
    kind = chr(one[0])
    bind = [] if kind == "B" else [BIND]
    before = [QUESTION, *bind] if at_once else [QUESTION, messages.SYNCING, *bind]
    if kind == "Q":  # no driver sends it before a Sync
        before.append(messages.SYNCING)
    after = [] if kind == "E" else [EXECUTE]
    return [*before, one, *after, messages.SYNCING, _ROLLBACK, _END]


def _codes(said: list[Shown]) -> list[object]:
    return [body for kind, body in said if kind == "E"]


def _compare(ours: Gatewayed, theirs: Plain, given: list[bytes]) -> bool:
    """Whether PostgreSQL calls it a violation; both must say the same then, and no more is said to be one here
    than is some error there.
    """
    wanted, got = shown(theirs.converse(given)), shown(ours.converse(given))
    if VIOLATION in _codes(wanted):
        assert got == wanted, given
        return True
    assert _codes(wanted) or VIOLATION not in _codes(got), given
    return False


@pytest.mark.parametrize("at_once", [True, False], ids=["at_once", "after_a_sync"])
def test_session_says_what_postgresql_says_when_a_message_is_malformed(
    twin: Twin, database: str, *, at_once: bool
) -> None:
    """Every violation of PostgreSQL's is one here, in the same place, and the connection goes on."""
    draw = random.Random(11)  # noqa: S311 - to be repeated
    with gatewayed(twin, random.Random(5)) as ours, plain(twin, database) as theirs:  # noqa: S311
        for valid in VALID:
            violations = sum(
                _compare(ours, theirs, _around(one, at_once=at_once))
                for one in mutants(valid, draw, _MOST)
            )
            assert violations > 0, valid
        assert ours.asked > 0  # some mutants are valid


def _trust(talk: Talk, malformed: Malformed, *, simple: bool) -> Work:
    del talk, simple
    raise malformed


def test_comparison_notices_when_malformed_bodies_are_not_expected(
    twin: Twin, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a session that takes a malformed Bind for impossible is told apart."""
    monkeypatch.setattr(question_flow, "send_malformed", _trust)
    given = _around(message("B", b"\0\0\xff\xff"), at_once=True)
    with (
        gatewayed(twin, random.Random(5)) as ours,  # noqa: S311 - to be repeated
        plain(twin, database) as theirs,
        pytest.raises(Malformed),
    ):
        _compare(ours, theirs, given)


# what ended as an internal error, each behind a Parse of a question
_BINDS = {
    "parameters -1": b"\0\0" + struct.pack("!hhh", 0, -1, 0),
    "formats -1": b"\0\0" + struct.pack("!hhh", -1, 0, 0),
    "results -1": b"\0\0" + struct.pack("!hhi5sh", 0, 1, 5, b"north", -1),
    "a value of 100 bytes": b"\0\0" + struct.pack("!hhi", 0, 1, 100) + b"ab",
    "a value of -2 bytes": b"\0\0" + struct.pack("!hhih", 0, 1, -2, 0),
    "a surplus byte": BIND[5:] + b"\0",
    "no result formats": b"\0\0" + struct.pack("!hhi5s", 0, 1, 5, b"north"),
    "a portal without an end": b"abc",
    "two formats, and none there": b"\0\0" + struct.pack("!h", 2),
    "0x2000 formats": b"\0\0" + struct.pack("!h", 0x2000),
}


def test_server_goes_on_when_a_bind_of_a_question_was_malformed(server: Wired, door: Door) -> None:
    """Over a socket: one ERROR 08P01 for each, then the connection is as before, and nothing was asked."""
    with server.raw() as line:
        for name, body in _BINDS.items():
            line.sendall(QUESTION + message("B", body) + EXECUTE + messages.SYNCING)
            said = told(read_to_ready(line))
            assert [kind for kind, _ in said] == ["1", "E", "Z"], name
            fields = messages.read_fields(said[1][1])
            assert (fields["V"], fields["C"]) == ("ERROR", VIOLATION), name
            assert fields["D"].startswith("GW705: "), name
        line.sendall(query("SELECT 1"))
        assert [kind for kind, _ in told(read_to_ready(line))] == ["T", "D", "C", "Z"]
    assert server.pipeline.asked == []
    assert _crashed(door) == []


def test_server_goes_on_when_messages_come_that_it_does_not_read(server: Wired, door: Door) -> None:
    """Bodies of COPY messages outside of a COPY are ignored, and a FunctionCall is refused, whatever they hold."""
    with server.raw() as line:
        for body in (b"", b"x", b"\xff\xff\xff\xff"):
            line.sendall(b"".join(message(kind, body) for kind in "dcf"))
            line.sendall(message("F", body))
            said = told(read_to_ready(line))
            assert [kind for kind, _ in said] == ["E", "Z"]
            assert messages.read_fields(said[0][1])["C"] == "0A000"
    assert _crashed(door) == []


@pytest.mark.parametrize("kind", ["p", "1", "\x01", "N"])
@pytest.mark.parametrize("before", [b"", QUESTION], ids=["at once", "behind a question"])
def test_connection_ends_when_a_message_is_of_no_kind(
    server: Wired, door: Door, before: bytes, kind: str
) -> None:
    """FATAL 08P01, as PostgreSQL says it, also when the message had to wait."""
    with server.raw() as line:
        line.sendall(before + message(kind, b"x\0") + messages.SYNCING)
        said = told(read_to_end(line))
    fields = messages.read_fields(said[-1][1])
    assert (fields["V"], fields["C"]) == ("FATAL", VIOLATION)
    assert _crashed(door) == []


def _crashed(door: Door) -> list[object]:
    return [one for one in door.told if isinstance(one, Crashed)]


# before the log-in

_TOKEN = {"user": "alice", "options": "-c gateway.login=token"}


@dataclass(frozen=True)
class Entry:
    """The messages of a log-in; the last one is broken."""

    given: tuple[bytes, ...]
    secure: bool = False

    def knock(self, logins: Logins[Subject], body: bytes) -> tuple[Wire, bytes]:
        """What is said to the last message with this body."""
        client = wire(logins, secure=self.secure)
        for one in self.given[:-1]:
            client.give(one)
        return client, client.give(packet(body) if len(self.given) == 1 else message("p", body))

    @property
    def body(self) -> bytes:
        return self.given[-1][4 if len(self.given) == 1 else 5 :]


def _proof(door: Door) -> bytes:
    """The last message of a log-in, of another exchange."""
    scram, client = Scram(door.create("alice").key.reveal()), wire(logins_of(door))
    client.give(startup(user="alice"))
    return scram.final(client.give(scram.first()))


def test_log_in_is_refused_when_a_message_is_malformed(door: Door) -> None:
    """Start-up, SASL and passwords: 08P01 or a failed log-in, and no exception leaves the conversation."""
    draw = random.Random(7)  # noqa: S311 - to be repeated
    logins, first = logins_of(door), Scram("guess").first()
    begun = startup(user="alice")
    entries = {
        "startup": Entry((startup(user="alice", database="clinic", options="-c jit=off"),)),
        "cancel": Entry((cancel(7, b"a secret"),)),
        "first": Entry((begun, first)),
        "last": Entry((begun, first, _proof(door))),
        "password": Entry((startup(**_TOKEN), message("p", b"gwk_no_such_key\0")), secure=True),
    }
    for name, entry in entries.items():
        found = list(dict.fromkeys(bodies(entry.body)))
        ends: Counter[str] = Counter()
        for body in draw.sample(found, min(draws(200, fewest=60), len(found))):
            client, said = entry.knock(logins, body)
            assert not isinstance(client.outcome, LoggedInClient), (name, body)
            if client.over and said:
                ends[error_of(said)["C"]] += 1
        assert ends[VIOLATION] > 0, name
        assert set(ends) <= {VIOLATION, "28P01", "28000", "0A000", "22023"}, (name, ends)
