"""The packets before a connection is one: encryption first, in any order, and nothing read twice."""

import struct
from itertools import permutations

import pytest
from frontends.pgwire.entrance import Wire, unasked_logins, wire
from frontends.pgwire.packets import (
    GSS_REQUEST,
    SSL_REQUEST,
    V3,
    V32,
    cancel,
    error_of,
    packet,
    startup,
    startup_of,
    told,
)

from gateway.frontends.pgwire.handshake import StartTls
from gateway.frontends.pgwire.startup import MOST_PARAMETERS, CancelRequest

OFFER = ("R", b"\0\0\0\x0aSCRAM-SHA-256\0\0")
WISHES = {"ssl": SSL_REQUEST, "gss": GSS_REQUEST}


@pytest.fixture
def plain() -> Wire:
    """A client at a door without a certificate."""
    return wire(unasked_logins())


@pytest.fixture
def locked() -> Wire:
    """A client at a door with one."""
    return wire(unasked_logins(), tls=True)


@pytest.mark.parametrize(
    "order", [order for many in range(3) for order in permutations(("ssl", "gss"), many)]
)
def test_wishes_are_declined_in_any_order(plain: Wire, order: tuple[str, ...]) -> None:
    """Without a certificate each wish is answered N, and the start-up goes on from there."""
    for wish in order:
        assert plain.give(WISHES[wish]) == b"N"
    assert told(plain.give(startup(user="alice"))) == [OFFER]
    assert plain.handshakes == []


@pytest.mark.parametrize("order", [("ssl",), ("gss", "ssl")])
def test_tls_is_begun_where_there_is_a_certificate(locked: Wire, order: tuple[str, ...]) -> None:
    """The wish is answered S, and what follows comes out of TLS."""
    answers = [locked.give(WISHES[wish]) for wish in order]
    assert answers == [b"N"] * (len(order) - 1) + [b"S"]
    assert locked.handshakes == [StartTls(b"S")]
    assert told(locked.give(startup(user="alice"))) == [OFFER]


@pytest.mark.parametrize("before", [(), ("ssl",), ("gss",), ("ssl", "gss"), ("gss", "ssl")])
@pytest.mark.parametrize("again", ["ssl", "gss"])
def test_wish_is_heard_once(plain: Wire, before: tuple[str, ...], again: str) -> None:
    """A wish that was heard is, the second time, a version of the protocol that nobody speaks."""
    for wish in before:
        plain.give(WISHES[wish])
    answer = plain.give(WISHES[again])
    if again not in before:
        assert answer == b"N"
        return
    assert plain.over
    fields = error_of(answer)
    assert (fields["S"], fields["C"]) == ("FATAL", "0A000")
    assert fields["M"].startswith("unsupported frontend protocol 1234.56")


@pytest.mark.parametrize("again", ["ssl", "gss"])
def test_no_wish_is_heard_inside_tls(locked: Wire, again: str) -> None:
    """What is encrypted is not encrypted again."""
    locked.give(SSL_REQUEST)
    assert error_of(locked.give(WISHES[again]))["C"] == "0A000"
    assert len(locked.handshakes) == 1


@pytest.mark.parametrize("smuggled", [b"\0", startup(user="mallory"), b"\x16\x03\x01"])
def test_bytes_before_the_handshake_end_the_connection(locked: Wire, smuggled: bytes) -> None:
    """What somebody on the way put behind the wish for TLS is never read as if it came out of TLS."""
    fields = error_of(locked.give(SSL_REQUEST + smuggled))
    assert (fields["C"], locked.over, locked.handshakes) == ("08P01", True, [])


def test_declined_wish_may_be_followed_at_once(plain: Wire) -> None:
    """In the clear nothing changes by the answer, so nothing is wrong with what came early."""
    answer = plain.give(GSS_REQUEST + SSL_REQUEST + startup(user="alice"))
    assert (answer[:2], told(answer[2:])) == (b"NN", [OFFER])


def test_every_cut_of_the_stream_reads_alike() -> None:
    """Bytes may come one by one: where a stream is cut says nothing."""
    stream = GSS_REQUEST + SSL_REQUEST + startup(user="alice", database="clinic")
    one = wire(unasked_logins())
    assert b"".join(one.give(stream[at : at + 1]) for at in range(len(stream))) == wire(
        unasked_logins()
    ).give(stream)


def test_direct_tls_is_begun_for_postgresql_alone() -> None:
    """A handshake that nobody asked for is one where it names our protocol, and no word is said otherwise."""
    hello = b"\x16\x03\x01 and so on"
    named = wire(unasked_logins(), tls=True, alpn="postgresql")
    assert named.give(hello) == b""
    assert named.handshakes == [StartTls(b"", hello)]
    assert told(named.give(startup(user="alice"))) == [OFFER]
    for alpn, tls in ((None, True), ("http/1.1", True), ("postgresql", False)):
        other = wire(unasked_logins(), tls=tls, alpn=alpn)
        assert (other.give(hello), other.over, other.outcome) == (b"", True, None)
        assert len(other.handshakes) == tls


def test_cancel_request_is_handed_over(locked: Wire) -> None:
    """Keys of 4 and of 32 bytes come through, with and without encryption, and nothing is answered."""
    assert locked.give(SSL_REQUEST) == b"S"
    assert locked.give(cancel(17, bytes(range(32)))) == b""
    assert locked.outcome == CancelRequest(17, bytes(range(32)))
    short = wire(unasked_logins())
    assert short.give(cancel(2**31 - 1, b"abcd")) == b""
    assert short.outcome == CancelRequest(2**31 - 1, b"abcd")
    assert "abcd" not in repr(short.outcome)


@pytest.mark.parametrize("secret", [b"", b"abc", b"x" * 257])
def test_cancel_request_of_another_form_does_nothing(plain: Wire, secret: bytes) -> None:
    """A key that cannot be one leads to nothing but the end."""
    plain.give(cancel(17, secret))
    assert (plain.over, plain.outcome) == (True, None)


@pytest.mark.parametrize(
    ("version", "answer"),
    [(V3, None), (V3 | 1, None), (V32, None), (V3 | 3, V32), (V3 | 9999, V32)],
)
def test_newer_version_is_negotiated(plain: Wire, version: int, answer: int | None) -> None:
    """Who asks for more than 3.2 is told so; older ones are spoken as they are asked for."""
    heard = told(plain.give(startup(version, user="alice")))
    expected = [] if answer is None else [("v", struct.pack("!II", answer, 0))]
    assert heard == [*expected, OFFER]


def test_protocol_options_are_told_to_be_unknown(plain: Wire) -> None:
    """Options of the protocol that nobody here knows are listed, and the connection goes on."""
    options = [("_pq_.compression", "on"), ("user", "alice"), ("_pq_.x", "")]
    heard = told(plain.give(startup_of(V3, options)))
    listed = struct.pack("!II", V3, 2) + b"_pq_.compression\0_pq_.x\0"
    assert heard == [("v", listed), OFFER]


@pytest.mark.parametrize("version", [0, 2 << 16, 4 << 16, 1234 << 16 | 1, 65535 << 16])
def test_other_major_versions_are_refused_in_words(plain: Wire, version: int) -> None:
    """A version that is not 3 is told which ones are, in a form that clients of today can read."""
    fields = error_of(plain.give(startup(version, user="alice")))
    said = f"unsupported frontend protocol {version >> 16}.{version & 0xFFFF}: server supports 3.0 to 3.2"
    assert (fields["S"], fields["V"], fields["C"], fields["M"]) == ("FATAL", "FATAL", "0A000", said)


@pytest.mark.parametrize("length", [0, 4, 7, 10_001, 1 << 30, 0x7FFFFFFF, 0xFFFFFFFF])
def test_length_that_cannot_be_ends_the_connection(plain: Wire, length: int) -> None:
    """A gigabyte that is announced is not waited for, and who knocks with nonsense gets no word."""
    assert plain.give(struct.pack("!I", length)) == b""
    assert (plain.over, plain.outcome) == (True, None)


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", b"\xff" * 64])
def test_other_protocols_get_no_word(plain: Wire, text: bytes) -> None:
    """A client of something else is let go in silence."""
    assert (plain.give(text), plain.over, plain.outcome) == (b"", True, None)


def test_packet_of_the_longest_size_is_read(plain: Wire) -> None:
    """10,000 bytes are read, one more is not."""
    empty = len(startup(user="alice", application_name=""))
    name = "x" * (10_000 - empty)
    assert told(plain.give(startup(user="alice", application_name=name))) == [OFFER]
    longer = wire(unasked_logins())
    assert longer.give(startup(user="alice", application_name=name + "x")) == b""
    assert longer.over


def test_parameters_are_limited() -> None:
    """64 parameters are read, 65 are not."""
    for many, code in ((MOST_PARAMETERS, None), (MOST_PARAMETERS + 1, "08P01")):
        client = wire(unasked_logins())
        pairs = [("user", "alice"), *[("geqo", "on")] * (many - 1)]
        answer = client.give(startup_of(V3, pairs))
        assert (None if code is None else error_of(answer)["C"]) == code


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"user\0alice\0",
        b"user\0alice",
        b"user",
        b"user\0alice\0\0more",
        b"user\0al\xffice\0\0",
        b"us\xc3er\0alice\0\0",
    ],
)
def test_start_up_of_another_form_is_refused(plain: Wire, body: bytes) -> None:
    """What has no end, more than its end, or is no UTF-8, is a violation of the protocol."""
    fields = error_of(plain.give(packet(struct.pack("!I", V3) + body)))
    assert (fields["S"], fields["C"], plain.outcome) == ("FATAL", "08P01", None)
    assert fields["D"].startswith("GW705: ")


@pytest.mark.parametrize("parameters", [{}, {"user": ""}, {"database": "clinic"}])
def test_user_has_to_be_named(plain: Wire, parameters: dict[str, str]) -> None:
    """Nobody comes in without a name."""
    fields = error_of(plain.give(startup(**parameters)))
    assert (fields["S"], fields["C"]) == ("FATAL", "28000")
    assert fields["M"] == "no PostgreSQL user name specified in startup packet"
    assert fields["D"].startswith("GW701: ")


@pytest.mark.parametrize("said", [b"", SSL_REQUEST[:3], SSL_REQUEST, startup(user="a")[:-1]])
def test_client_that_goes_away_leaves_nothing(plain: Wire, said: bytes) -> None:
    """Who leaves in the middle is not told anything and is not anybody."""
    if said:
        plain.give(said)
    assert (plain.gone(), plain.over, plain.outcome) == (b"", True, None)


def test_half_a_packet_is_waited_for_and_no_more(plain: Wire) -> None:
    """What has not come yet is asked for, without a word; how long is for the server to say."""
    whole = startup(user="alice")
    assert plain.give(whole[:-1]) == b""
    assert not plain.over
    assert told(plain.give(whole[-1:])) == [OFFER]
