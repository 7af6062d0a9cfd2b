"""The server's side of SCRAM-SHA-256 agrees with the standard, with libpq, and with nobody else."""

import base64
import hashlib
import hmac
import re
import secrets
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.auth.keys import (
    ApiKey,
    Salt,
    Verifier,
    Verifiers,
    decoy_verifiers,
    derive_keys,
    new_key,
    new_salt,
    verifier_of,
)
from gateway.auth.scram import MECHANISM, ClientProof, challenge
from gateway.errors import Code, GatewayError, SyntaxRefused, Unauthenticated

RFC_SALT = Salt(base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
RFC = Verifiers(RFC_SALT, (Verifier("rfc", *derive_keys("pencil", RFC_SALT)),))
RFC_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
RFC_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
RFC_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)


def rfc_nonce() -> str:
    return RFC_NONCE


def holding(*keys: ApiKey) -> Verifiers:
    salt = new_salt()
    return Verifiers(salt, tuple(verifier_of(key, salt) for key in keys))


class Client:
    """A client written from the standard, which shares no code with the server."""

    def __init__(self, password: str, gs2: str = "n,,", extension: str = "") -> None:
        self.password = password.encode()
        self.gs2 = gs2
        self.nonce = secrets.token_hex(12)
        self.bare = f"n=,r={self.nonce}{extension}"
        self.expected = b""

    def first(self) -> bytes:
        return (self.gs2 + self.bare).encode()

    def final(self, server_first: bytes) -> bytes:
        match = re.fullmatch(r"r=([^,]+),s=([^,]+),i=(\d+)", server_first.decode())
        assert match is not None
        nonce, salt, iterations = match.groups()
        assert nonce.startswith(self.nonce)
        assert len(nonce) > len(self.nonce) + 15
        step = total = hmac.new(
            self.password, base64.b64decode(salt) + b"\0\0\0\1", hashlib.sha256
        ).digest()
        for _ in range(int(iterations) - 1):
            step = hmac.new(self.password, step, hashlib.sha256).digest()
            total = bytes(a ^ b for a, b in zip(total, step, strict=True))
        client_key = hmac.new(total, b"Client Key", hashlib.sha256).digest()
        unproved = f"c={base64.b64encode(self.gs2.encode()).decode()},r={nonce}"
        said = f"{self.bare},{server_first.decode()},{unproved}".encode()
        signature = hmac.new(hashlib.sha256(client_key).digest(), said, hashlib.sha256).digest()
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.new(total, b"Server Key", hashlib.sha256).digest()
        self.expected = b"v=" + base64.b64encode(
            hmac.new(server_key, said, hashlib.sha256).digest()
        )
        return f"{unproved},p={base64.b64encode(proof).decode()}".encode()


def converse(client: Client, verifiers: Verifiers) -> ClientProof:
    server = challenge(client.first(), verifiers)
    return server.verify(client.final(server.message))


def test_conversation_of_the_standard_is_reproduced() -> None:
    """RFC 7677's example goes through, byte by byte."""
    server = challenge(RFC_FIRST, RFC, rfc_nonce)
    assert server.message == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    proved = server.verify(RFC_FINAL)
    assert proved.message == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert proved.key_id == "rfc"


@pytest.mark.parametrize("gs2", ["n,,", "y,,"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_key_of_a_subject_logs_in(gs2: str, place: int) -> None:
    """The proof tells which of the keys the client holds, and the server proves the same one."""
    keys = [new_key() for _ in range(3)]
    client = Client(keys[place].reveal(), gs2)
    proved = converse(client, holding(*keys))
    assert proved.key_id == keys[place].id
    assert proved.message == client.expected


def test_other_key_is_refused() -> None:
    """A key that is not among the subject's proves nothing."""
    with pytest.raises(Unauthenticated) as caught:
        converse(Client(new_key().reveal()), holding(new_key(), new_key()))
    assert caught.value.code is Code.BAD_CREDENTIALS


def test_unknown_name_is_refused_like_a_wrong_key() -> None:
    """A name without keys gets a challenge like anybody, and then the same refusal."""
    verifiers = decoy_verifiers("mallory", b"s" * 32)
    with pytest.raises(Unauthenticated) as nobody:
        converse(Client(new_key().reveal()), verifiers)
    with pytest.raises(Unauthenticated) as wrong:
        converse(Client(new_key().reveal()), holding(new_key()))
    assert nobody.value.args == wrong.value.args


def test_server_nonces_differ() -> None:
    """A recorded conversation cannot be replayed."""
    first = Client("x").first()
    messages = {challenge(first, RFC).message for _ in range(50)}
    assert len(messages) == 50
    with pytest.raises(SyntaxRefused, match="nonce"):
        challenge(RFC_FIRST, RFC).verify(RFC_FINAL)


FIRST_REFUSED = [
    b"",
    b"n,,",
    b"n,,n=user",
    b"n,,n=user,r=",
    b"n,,r=abc,n=user",
    b"n=user,r=abc",
    b"x,,n=user,r=abc",
    b"p=tls-server-end-point,,n=user,r=abc",
    b"n,a=admin,n=user,r=abc",
    b"n,,m=ext,n=user,r=abc",
    b"n,,n=user,r=ab c",
    b"n,,n=user,r=\xc3\xa9",
    b"n,,n=\xff,r=abc",
    b"n,,n=us\0er,r=abc",
    b"n,,n=user,r=abc,",
    b"n,,n=user,r=abc\n",
    b"n,,n=user,r=" + b"x" * 3000,
]


@for_each("message", FIRST_REFUSED)
def test_malformed_first_message_is_refused(message: bytes) -> None:
    """What is not a client's first message, or asks for what is not offered, is refused."""
    with pytest.raises(SyntaxRefused) as caught:
        challenge(message, RFC)
    assert caught.value.code is Code.BAD_REQUEST


def test_optional_extension_is_ignored() -> None:
    """An attribute the standard lets clients add does not break the log-in."""
    key = new_key()
    assert converse(Client(key.reveal(), extension=",x=later"), holding(key)).key_id == key.id


@for_each(
    ("old", "new"),
    [
        (b"c=biws", b"c=eSws"),
        (b"c=biws", b"c=biw"),
        (b"c=biws", b"c="),
        (b"k0,p=", b"k0x,p="),
        (b"r=rOpr", b"r=rOpR"),
        (b",p=dHzb", b",p=dHz"),
        (b",p=dHzbZapW", b",p="),
        (b",p=", b",q="),
        (b"c=biws,", b""),
        (b"ndVQ=", b"ndVQ=\0"),
        (b"ndVQ=", b"ndVQ=\n"),
        (b"ndVQ=", b"ndVQ=" + b"x" * 3000),
    ],
)
def test_malformed_final_message_is_refused(old: bytes, new: bytes) -> None:
    """A final message that does not belong to the conversation is refused before any proof."""
    assert old in RFC_FINAL
    server = challenge(RFC_FIRST, RFC, rfc_nonce)
    with pytest.raises(SyntaxRefused) as caught:
        server.verify(RFC_FINAL.replace(old, new))
    assert caught.value.code is Code.BAD_REQUEST


@given(st.integers(0, 31), st.integers(1, 255))
def test_any_other_proof_is_refused(place: int, change: int) -> None:
    """One changed bit of the proof is enough."""
    unproved, _, proof = RFC_FINAL.rpartition(b",p=")
    changed = bytearray(base64.b64decode(proof))
    changed[place] ^= change
    with pytest.raises(Unauthenticated):
        challenge(RFC_FIRST, RFC, rfc_nonce).verify(unproved + b",p=" + base64.b64encode(changed))


@given(st.binary(max_size=60) | st.text("nyp=,ar\0 xc+/", max_size=30).map(str.encode))
def test_any_bytes_are_refused_or_answered(message: bytes) -> None:
    """No message leads to anything but a challenge or a refusal, and none to a log-in."""
    with suppress(GatewayError):
        challenge(message, RFC)
    with pytest.raises(GatewayError):
        challenge(RFC_FIRST, RFC, rfc_nonce).verify(message)


def test_challenge_shows_no_verifier_in_its_repr() -> None:
    """A challenge in a log gives nothing away."""
    server = challenge(RFC_FIRST, RFC, rfc_nonce)
    assert repr(RFC.keys[0].stored_key) not in repr(server)
    assert repr(RFC.keys[0].server_key) not in repr(server)


def test_libpq_logs_in_and_verifies_us() -> None:
    """PostgreSQL's client library accepts our side of the conversation with the right key alone."""
    right, other = new_key(), new_key()
    verifiers = holding(other, right)
    proved: list[ClientProof] = []
    with_listening(
        lambda port: assert_connects(port, right.reveal(), works=True), verifiers, proved
    )
    assert [one.key_id for one in proved] == [right.id]
    with_listening(
        lambda port: assert_connects(port, new_key().reveal(), works=False), verifiers, proved
    )
    assert len(proved) == 1


def assert_connects(port: int, password: str, *, works: bool) -> None:
    said = (
        f"host=127.0.0.1 port={port} user=alice dbname=clinic password={password}"
        " sslmode=disable gssencmode=disable require_auth=scram-sha-256 connect_timeout=10"
    )
    with nullcontext() if works else pytest.raises(psycopg.OperationalError, match="no"):
        psycopg.connect(said).close()


def with_listening(
    use: Callable[[int], None], verifiers: Verifiers, proved: list[ClientProof]
) -> None:
    """Run `use` against a port where a server speaks just enough of the protocol to log in."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve_login, args=(listening, verifiers, proved))
        thread.start()
        use(listening.getsockname()[1])
        thread.join(10)
        assert not thread.is_alive()


def serve_login(listening: socket.socket, verifiers: Verifiers, proved: list[ClientProof]) -> None:
    connection, _ = listening.accept()
    with connection, connection.makefile("rwb") as wire:

        def send(kind: bytes, payload: bytes) -> None:
            wire.write(kind + struct.pack("!i", len(payload) + 4) + payload)
            wire.flush()

        def receive() -> bytes:
            return wire.read(struct.unpack("!i", wire.read(4))[0] - 4)

        receive()
        send(b"R", struct.pack("!i", 10) + MECHANISM.encode() + b"\0\0")
        assert wire.read(1) == b"p"
        mechanism, _, initial = receive().partition(b"\0")
        assert mechanism == MECHANISM.encode()
        server = challenge(initial[4:], verifiers)
        send(b"R", struct.pack("!i", 11) + server.message)
        assert wire.read(1) == b"p"
        try:
            done = server.verify(receive())
        except Unauthenticated:
            send(b"E", b"SFATAL\0VFATAL\0C28P01\0Mno\0\0")
            return
        proved.append(done)
        send(b"R", struct.pack("!i", 12) + done.message)
        send(b"R", struct.pack("!i", 0))
        send(b"Z", b"I")
        wire.read(5)
