"""libpq connects in every way that it has, and gets the reason of a refusal."""

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from fix_auth import Door
from frontends.certificates import write_pair
from frontends.pgwire.entrance import logins_of
from frontends.pgwire.listening_entrance import Host, listening
from frontends.pgwire.packets import GSS_REQUEST, SSL_REQUEST, Scram, startup, told

from gateway.config import Settings
from gateway.frontends.tls import POSTGRESQL, tls_context


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    pair = write_pair(tmp_path)
    settings = Settings(home=tmp_path, tls_cert=pair.certificate, tls_key=pair.key)
    context = tls_context(settings, POSTGRESQL)
    assert context is not None
    return context


@pytest.fixture
def plain(door: Door) -> Iterator[Host]:
    with listening(logins_of(door)) as host:
        yield host


@pytest.fixture
def locked(door: Door, context: ssl.SSLContext) -> Iterator[Host]:
    with listening(logins_of(door), context) as host:
        yield host


def connect(host: Host, password: str, **options: object) -> psycopg.Connection:
    return psycopg.connect(
        host="127.0.0.1",
        port=host.port,
        password=password,
        autocommit=True,
        connect_timeout=10,
        **{"user": "alice", "dbname": "clinic", "sslmode": "disable", **options},  # type: ignore[arg-type]  # libpq's
    )


def who(host: Host, password: str, **options: object) -> str:
    """What the server says of who came in; the wire is asked itself, as there is no twin to ask."""
    with connect(host, password, **options) as connection:
        result = connection.pgconn.exec_(b"who am I")
        return (result.get_value(0, 0) or b"").decode()


@pytest.mark.parametrize("version", ["3.0", "3.2"])
def test_libpq_comes_in(plain: Host, door: Door, version: str) -> None:
    """With its key, in both versions of the protocol that it speaks."""
    key = door.create().key
    said = who(plain, key.reveal(), max_protocol_version=version)
    assert said == f"alice|clinic|{version}|False"
    assert plain.entered[0].key_id == key.id


@pytest.mark.parametrize(
    ("options", "secure"),
    [
        ({"sslmode": "disable"}, False),
        ({"sslmode": "allow"}, False),
        ({"sslmode": "prefer"}, True),
        ({"sslmode": "require"}, True),
        ({"sslmode": "require", "sslnegotiation": "direct"}, True),
        ({"sslmode": "verify-full"}, True),
    ],
)
def test_libpq_comes_in_by_every_kind_of_tls(
    locked: Host, door: Door, tmp_path: Path, options: dict[str, str], *, secure: bool
) -> None:
    """Asked for, at once, and with the certificate checked."""
    if options["sslmode"] == "verify-full":
        options = {**options, "sslrootcert": str(tmp_path / "server.crt")}
    key = door.create().key.reveal()
    assert who(locked, key, **options) == f"alice|clinic|3.0|{secure}"


def test_libpq_is_told_that_there_is_no_tls(plain: Host, door: Door) -> None:
    """Who prefers TLS comes in without it, who requires it does not."""
    key = door.create().key.reveal()
    assert who(plain, key, sslmode="prefer") == "alice|clinic|3.0|False"
    with pytest.raises(psycopg.OperationalError, match="server does not support SSL"):
        connect(plain, key, sslmode="require")


def test_libpq_requires_scram_and_gets_it(locked: Host, door: Door) -> None:
    """A client that would take nothing else is content, and one that wants channels bound is not."""
    key = door.create().key.reveal()
    assert who(locked, key, require_auth="scram-sha-256", sslmode="require").endswith("True")
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        connect(locked, key, sslmode="require", channel_binding="require")


@pytest.mark.parametrize("user", ["alice", "mallory"])
def test_libpq_hears_what_postgresql_would_say(plain: Host, door: Door, user: str) -> None:
    """A wrong password and an unknown name read alike to whoever sits at the client."""
    door.create("alice")
    with pytest.raises(psycopg.OperationalError) as refused:
        connect(plain, "guess", user=user)
    assert f'FATAL:  password authentication failed for user "{user}"' in str(refused.value)
    assert "DETAIL:  GW702: " in str(refused.value)
    assert plain.entered == []


def test_libpq_sets_what_may_be_set(plain: Host, door: Door) -> None:
    """`options` and parameters reach the connection, others are refused by name."""
    key = door.create().key.reveal()
    options = r"-c gateway.purpose=care\ quality --gateway.epsilon=0.1"
    who(plain, key, options=options, application_name="test", client_encoding="utf-8")
    assert dict(plain.entered[0].settings) == {
        "gateway.purpose": "care quality",
        "gateway.epsilon": "0.1",
        "application_name": "test",
        "client_encoding": "UTF8",
    }
    with pytest.raises(psycopg.OperationalError, match="the parameter `work_mem`"):
        connect(plain, key, options="-c work_mem=1GB")
    with pytest.raises(psycopg.OperationalError, match="replication"):
        connect(plain, key, replication="database")


def test_libpq_shows_a_token_inside_tls(locked: Host, door: Door) -> None:
    """The seam for tokens, with a key in the place of one; in the clear libpq is told what to do."""
    key, options = door.create().key.reveal(), "-c gateway.login=token"
    assert who(locked, key, options=options, sslmode="require") == "alice|clinic|3.0|True"
    with pytest.raises(psycopg.OperationalError, match="sslmode=require"):
        connect(locked, key, options=options)


@pytest.mark.parametrize(("version", "tls"), [("3.0", False), ("3.2", False), ("3.2", True)])
def test_libpq_cancels_the_statement_under_way(
    locked: Host, door: Door, version: str, *, tls: bool
) -> None:
    """A cancel request stops the statement of its connection, in the clear and inside TLS."""
    mode = "require" if tls else "disable"
    key = door.create().key.reveal()
    with connect(locked, key, sslmode=mode, max_protocol_version=version) as connection:
        # `exec_` lets other threads run; a request that overtakes the statement stops it all the same
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(connection.pgconn.exec_, b"sleep")
            connection.cancel_safe()
            result = running.result()
        assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"57014"


def test_every_version_of_tls_below_1_2_is_declined(locked: Host) -> None:
    """An old client gets no handshake."""
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version = ssl.TLSVersion.TLSv1
    with socket.create_connection(("127.0.0.1", locked.port)) as raw:
        raw.sendall(SSL_REQUEST)
        assert raw.recv(1) == b"S"
        with pytest.raises(ssl.SSLError):
            old.wrap_socket(raw)


def test_bytes_smuggled_before_the_handshake_are_not_read(locked: Host, door: Door) -> None:
    """Over a real socket, too, a start-up in the clear behind the wish for TLS leads nowhere."""
    door.create("alice")
    with socket.create_connection(("127.0.0.1", locked.port)) as raw:
        raw.sendall(SSL_REQUEST + startup(user="alice"))
        answer = raw.makefile("rb").read()
    assert answer[:1] == b"E"
    assert b"08P01" in answer
    assert locked.entered == []


def test_wishes_and_log_in_by_hand(plain: Host, door: Door) -> None:
    """A client written from the manual that asks for GSS first, as libpq with Kerberos does."""
    scram = Scram(door.create().key.reveal())
    with socket.create_connection(("127.0.0.1", plain.port)) as raw:
        answers = []
        for packet in (GSS_REQUEST, SSL_REQUEST, startup(user="alice"), scram.first()):
            raw.sendall(packet)
            answers.append(raw.recv(65_536))
        raw.sendall(scram.final(answers[3]))
        last = raw.recv(65_536)
    assert answers[:2] == [b"N", b"N"]
    assert told(answers[2]) == [("R", b"\0\0\0\x0aSCRAM-SHA-256\0\0")]
    assert [kind for kind, _ in told(last)][:2] == ["R", "R"]
