"""Start-up of a wire connection: the parameters that a client may set, and its cancel key."""

import struct
from collections.abc import Iterator

import pytest
from frontends.pgwire.packets import told
from laws import for_each

from gateway.binding.text.classify import SETTINGS
from gateway.errors import Refusal
from gateway.frontends.pgwire.startup import CancelKey, CancelRegistry, read_settings, split_options

# what drivers send without being asked, as their sources have it
DRIVERS = {
    "libpq": {"application_name": "psql", "client_encoding": "UTF8"},
    "libpq with PG* variables": {"datestyle": "ISO", "timezone": "UTC", "geqo": "off"},
    "asyncpg": {"client_encoding": "'utf-8'"},
    "pgjdbc": {
        "client_encoding": "UTF8",
        "DateStyle": "ISO",
        "TimeZone": "Europe/Berlin",
        "extra_float_digits": "2",
        "application_name": "PostgreSQL JDBC Driver",
        "search_path": "public",
    },
    "Npgsql 4": {"client_encoding": "UTF8", "TimeZone": "UTC", "ssl_renegotiation_limit": "0"},
    "node-pg": {"client_encoding": "UTF8", "statement_timeout": "1000", "lock_timeout": "5"},
    "lib/pq": {"client_encoding": "UTF8", "datestyle": "ISO, MDY", "extra_float_digits": "2"},
    "sqlx": {"DateStyle": "ISO, MDY", "client_encoding": "UTF8", "TimeZone": "UTC"},
}


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_drivers_send_is_taken(driver: str) -> None:
    """Names come out small, and the encoding in one spelling."""
    sent = {"user": "alice", "database": "clinic", **DRIVERS[driver]}
    wanted = read_settings(sent)
    expected = {name.lower(): value for name, value in DRIVERS[driver].items()}
    expected.pop("ssl_renegotiation_limit", None)
    if "client_encoding" in expected:
        expected["client_encoding"] = "UTF8"
    assert (dict(wanted.settings), wanted.token) == (expected, False)


@for_each(
    ("text", "words"),
    [
        ("", []),
        (" \t\n\v\f\r ", []),
        ("a b", ["a", "b"]),
        ("  a   b  ", ["a", "b"]),
        (r"a\ b c", ["a b", "c"]),
        (r"a\\b", [r"a\b"]),
        (r"\\\ ", ["\\ "]),
        ("a\\", ["a"]),
        ("\\", [""]),
        (r"a\-b", ["a-b"]),
        ("a\u00a0b", ["a\u00a0b"]),
    ],
)
def test_options_are_split_as_postgresql_does(text: str, words: list[str]) -> None:
    """Whitespace of ASCII parts words, a backslash takes the meaning from whatever comes next."""
    assert split_options(text) == words


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("-c gateway.purpose=care-quality", {"gateway.purpose": "care-quality"}),
        (
            "-cgateway.epsilon=0.1 --gateway.fresh=on",
            {"gateway.epsilon": "0.1", "gateway.fresh": "on"},
        ),
        ("--statement-timeout=5", {"statement_timeout": "5"}),
        ("-c Statement-Timeout=5 -c statement_timeout=6", {"statement_timeout": "6"}),
        (r"-c gateway.purpose=care\ quality", {"gateway.purpose": "care quality"}),
        (r"-c DateStyle=ISO,\ MDY", {"datestyle": "ISO, MDY"}),
        ("-c application_name=", {"application_name": ""}),
        ("-c application_name=a=b", {"application_name": "a=b"}),
        ("-c client_encoding=Unicode", {"client_encoding": "UTF8"}),
    ],
)
def test_options_set_what_may_be_set(text: str, settings: dict[str, str]) -> None:
    """`options` is a command line, and its names are as free in their spelling as PostgreSQL's."""
    assert dict(read_settings({"user": "alice", "options": text}).settings) == settings


def test_parameter_outranks_options() -> None:
    """What is said as a parameter holds, whatever `options` says."""
    sent = {"TimeZone": "UTC", "options": "-c timezone=Asia/Tokyo"}
    assert dict(read_settings(sent).settings) == {"timezone": "UTC"}


@for_each(
    ("name", "value"),
    [
        ("role", "postgres"),
        ("session_authorization", "postgres"),
        ("work_mem", "1GB"),
        ("is_superuser", "on"),
        ("User", "bob"),
        ("ssl_renegotiation_limit", "1"),
        ("gateway.budget", "1"),
        ("search_path", "pg_toast"),
        ("search_path", 'public,"pg_temp"'),
        ("search_path", '"public"",""public"'),
        ("standard_conforming_strings", "off"),
        ("client_encoding", "LATIN1"),
        ("client_encoding", ""),
        ("gateway.login", "trust"),
        ("x\n\x1b" * 100, "1"),
    ],
)
@for_each("by_options", [False, True])
def test_what_may_not_be_set_is_refused_by_its_name(
    name: str, value: str, *, by_options: bool
) -> None:
    """A client does not go on in the belief that something is set which is not."""
    written = name.replace("\n", "\\\n")  # a name with whitespace in it takes backslashes there
    sent = {"options": f"-c {written}={value}"} if by_options else {name: value}
    with pytest.raises(Refusal) as refused:
        read_settings({"user": "alice", **sent})
    assert refused.value.sqlstate == "22023"
    assert name[:1].lower() in refused.value.detail.lower()
    assert refused.value.detail.isprintable()
    assert len(refused.value.detail) < 200


@pytest.mark.parametrize(
    "text", ["-c", "-c x", "--timezone", "-e", "-d 5", "--", "x", "-c =1", "-"]
)
def test_command_line_of_another_form_is_refused(text: str) -> None:
    """A switch that is none of the three forms is not passed over."""
    with pytest.raises(Refusal) as refused:
        read_settings({"options": text})
    assert refused.value.sqlstate == "22023"


@pytest.mark.parametrize(("value", "refused"), [("database", True), ("true", True), ("0", False)])
def test_replication_is_refused(value: str, *, refused: bool) -> None:
    """Nothing is replicated from here, and who asks for it is told; who asks for none is not in the way."""
    if not refused:
        assert dict(read_settings({"replication": value}).settings) == {}
        return
    with pytest.raises(Refusal) as caught:
        read_settings({"replication": value})
    assert caught.value.sqlstate == "0A000"


def test_token_is_asked_for_by_name_and_is_no_setting() -> None:
    """The way to log in is taken out of what the connection has set."""
    wanted = read_settings({"options": "-c gateway.login=token -c jit=off"})
    assert (dict(wanted.settings), wanted.token) == ({"jit": "off"}, True)
    assert "gateway.login" not in SETTINGS


@pytest.mark.parametrize(("minor", "length"), [(0, 4), (1, 4), (2, 32)])
def test_key_is_as_long_as_the_version_has_room_for(minor: int, length: int) -> None:
    """Four bytes for protocol 3.0, thirty-two since 3.2, and a number that drivers take for positive."""
    key = CancelRegistry().register(minor, list)
    assert told(key.message) == [("K", struct.pack("!i", key.pid) + key.secret)]
    assert (len(key.secret), key.pid > 0) == (length, True)
    assert key.secret.hex() not in repr(key)
    assert repr(key.secret) not in repr(key)


def test_right_key_alone_cancels() -> None:
    """Its own connection, and no other; a secret that begins or ends rightly is wrong."""
    cancelling, stopped = CancelRegistry(), list[str]()
    one = cancelling.register(2, lambda: stopped.append("one"))
    other = cancelling.register(0, lambda: stopped.append("other"))
    wrong = [b"", one.secret[:4], one.secret[:-1], one.secret + b"\0", other.secret, bytes(32)]
    for secret in wrong:
        cancelling.cancel(one.pid, secret)
    for pid in (0, -1, one.pid ^ 1, other.pid):
        cancelling.cancel(pid, one.secret)
    assert stopped == []
    cancelling.cancel(one.pid, one.secret)
    cancelling.cancel(one.pid, one.secret)
    cancelling.cancel(other.pid, other.secret)
    assert stopped == ["one", "one", "other"]


def test_key_of_a_connection_that_ended_cancels_nothing() -> None:
    """Not even what got the same number afterwards; and to forget twice is no mistake."""
    cancelling, stopped = CancelRegistry(lambda _: 6), list[str]()
    old = cancelling.register(0, lambda: stopped.append("old"))
    cancelling.forget(old)
    cancelling.forget(old)
    new = cancelling.register(0, lambda: stopped.append("new"))
    assert new.pid == old.pid == 7
    cancelling.cancel(old.pid, old.secret)
    cancelling.cancel(old.pid, CancelKey(1, b"").secret)
    assert stopped == []


def test_numbers_of_connections_differ() -> None:
    """A number that is taken is drawn again."""
    drawn: Iterator[int] = iter([3, 3, 3, 4])
    cancelling = CancelRegistry(lambda _: next(drawn))
    assert [cancelling.register(0, list).pid for _ in range(2)] == [4, 5]


def test_secrets_are_drawn_anew() -> None:
    """No two connections share one."""
    cancelling = CancelRegistry()
    keys = [cancelling.register(2, list) for _ in range(200)]
    assert len({key.secret for key in keys}) == len({key.pid for key in keys}) == 200
