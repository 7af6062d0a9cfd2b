"""A valid key lets its subject in; everything else reads alike, is recorded, and is limited."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fix_auth import Door
from fix_state import StateServer
from sqlalchemy import Engine, select

from gateway.auth.authenticator import Authenticator, KeyAuthenticator
from gateway.auth.key_store import LoginFailed
from gateway.auth.keys import new_key
from gateway.auth.login_throttle import FailureLimits, LoginThrottle
from gateway.errors import BackendUnavailable, Code, LimitExceeded, Refusal, Unauthenticated
from gateway.events import LoginRefused, StateLost
from gateway.state.connections import engine_for
from gateway.state.tables import key_uses

HERE = "10.0.0.1"


def log_in(door: Authenticator[str], credential: str | None, address: str = HERE) -> str:
    return door.authenticate(credential, address=address, front_end="rest")


def refusal(door: Authenticator[str], credential: str | None, address: str = HERE) -> Refusal:
    with pytest.raises(Refusal) as caught:
        log_in(door, credential, address)
    return caught.value


@pytest.fixture
def nowhere() -> Iterator[Engine]:
    """An engine on a state that is not there."""
    engine = engine_for("postgresql://nobody@127.0.0.1:1/none")
    yield engine
    engine.dispose()


def test_valid_key_lets_its_subject_in(door: Door) -> None:
    """Each key leads to the subject it was made for, at once after it was made."""
    authenticator = door.authenticator()
    keys = {door.create(name).key.reveal(): name.upper() for name in ("alice", "bob", "alice")}
    assert {key: log_in(authenticator, key) for key in keys} == keys
    assert door.recorded("login_refused") == []


def test_refusals_read_alike_whatever_is_wrong(door: Door) -> None:
    """Malformed, unknown, wrong, expired and revoked keys and lost subjects cannot be told apart."""
    expired = door.create("alice", timedelta(minutes=30)).key
    revoked, lost, good = door.create().key, door.create("bob").key, door.create().key
    door.revoke(revoked.id)
    del door.subjects["bob"]
    door.clock.forward(minutes=30)
    authenticator = door.authenticator()
    unknown = new_key()
    wrong = good.reveal()[:-4] + ("AAAA" if not good.reveal().endswith("AAAA") else "BBBB")
    swapped = good.reveal().replace(good.id, revoked.id)
    bad = [expired.reveal(), revoked.reveal(), lost.reveal(), unknown.reveal(), wrong, swapped]
    bad += [
        "x",
        "gwk__",
        good.reveal() + " ",
        "Bearer " + good.reveal(),
        "\0",
        "\udcff",
        "x" * 100_000,
    ]
    refusals = [refusal(authenticator, credential) for credential in bad]
    assert {type(one) for one in refusals} == {Unauthenticated}
    assert {one.args for one in refusals} == {refusals[0].args}
    assert refusals[0].code is Code.BAD_CREDENTIALS
    assert log_in(authenticator, good.reveal()) == "ALICE"


def test_missing_credential_says_so(door: Door) -> None:
    """Without any credential the refusal says what to send."""
    authenticator = door.authenticator()
    for nothing in (None, ""):
        assert refusal(authenticator, nothing).code is Code.NO_CREDENTIALS


def test_key_stops_working_the_moment_it_expires_or_is_revoked(door: Door) -> None:
    """There is no grace: the next log-in after either is refused."""
    authenticator = door.authenticator()
    short, long = door.create("alice", timedelta(minutes=30)).key, door.create().key
    door.clock.forward(minutes=29, seconds=59)
    assert log_in(authenticator, short.reveal()) == "ALICE"
    door.clock.forward(seconds=1)
    assert refusal(authenticator, short.reveal()).code is Code.BAD_CREDENTIALS
    assert log_in(authenticator, long.reveal()) == "ALICE"
    door.revoke(long.id)
    assert refusal(authenticator, long.reveal()).code is Code.BAD_CREDENTIALS


def test_refused_log_in_is_recorded_without_the_credential(door: Door) -> None:
    """The trail has door, address and the claimed id; of the credential it has nothing else."""
    key = new_key()
    authenticator = door.authenticator()
    refusal(authenticator, key.reveal())
    refusal(authenticator, f"hunter2-{key.reveal()}")
    refusal(authenticator, None)
    records = door.recorded("login_refused")
    assert [(one["about"]["claimed"], one["about"]["code"]) for one in records] == [
        (key.id, "GW702"),
        (None, "GW702"),
        (None, "GW701"),
    ]
    assert {(one["about"]["front_end"], one["about"]["address"]) for one in records} == {
        ("rest", HERE)
    }
    assert key.secret.get_secret_value() not in repr((records, door.told))
    assert "hunter2" not in repr((records, door.told))
    assert door.told == [LoginRefused("rest", code) for code in ("GW702", "GW702", "GW701")]


def test_refusal_stands_when_it_cannot_be_recorded(door: Door) -> None:
    """A trail that cannot be written opens no door, and a valid key does not need it."""

    def broken(failed: LoginFailed) -> None:
        del failed
        raise BackendUnavailable(Code.STATE_UNAVAILABLE)

    authenticator = KeyAuthenticator(
        door.state.engine, door.subjects.get, LoginThrottle(broken), now=door.clock.wall
    )
    assert refusal(authenticator, new_key().reveal()).code is Code.BAD_CREDENTIALS
    assert refusal(authenticator, None).code is Code.NO_CREDENTIALS
    assert log_in(authenticator, door.create().key.reveal()) == "ALICE"


def test_failures_are_limited_and_a_valid_key_is_not(door: Door) -> None:
    """After too many failures from an address failures are told so; valid keys there still work."""
    authenticator = door.authenticator(FailureLimits(address=5, name=100, together=100))
    good = door.create().key.reveal()
    refusals = [refusal(authenticator, new_key().reveal()) for _ in range(9)]
    assert [one.code for one in refusals] == [Code.BAD_CREDENTIALS] * 5 + [
        Code.TOO_MANY_FAILURES
    ] * 4
    assert isinstance(refusals[-1], LimitExceeded)
    assert refusal(authenticator, new_key().reveal(), "10.0.0.2").code is Code.BAD_CREDENTIALS
    assert log_in(authenticator, good) == "ALICE"
    door.clock.forward(seconds=60)
    assert refusal(authenticator, new_key().reveal()).code is Code.BAD_CREDENTIALS


def test_nobody_locks_a_key_out_by_failing_with_its_id(door: Door) -> None:
    """Wrong secrets for a known id are limited from everywhere; its holder does not notice."""
    authenticator = door.authenticator(FailureLimits(address=100, name=3, together=100))
    good = door.create().key
    wrong = new_key().reveal()
    claimed = wrong[:4] + good.id + wrong[16:]
    codes = [refusal(authenticator, claimed, f"10.0.0.{n}").code for n in range(6)]
    assert codes == [Code.BAD_CREDENTIALS] * 3 + [Code.TOO_MANY_FAILURES] * 3
    assert log_in(authenticator, good.reveal()) == "ALICE"


def test_trail_is_not_flooded_by_failures(door: Door) -> None:
    """A flood with changing addresses and ids leaves its limit and one notice in the trail."""
    limits = FailureLimits(address=5, name=3, together=12)
    authenticator = door.authenticator(limits)
    for n in range(60):
        refusal(authenticator, new_key().reveal(), f"10.0.0.{n % 20}")
    codes = [one["about"]["code"] for one in door.recorded("login_refused")]
    assert codes == ["GW702"] * 12 + ["GW703"]
    for n in range(60):
        refusal(authenticator, None, f"10.0.1.{n}")
    assert len(door.recorded("login_refused")) == 26
    assert len(door.told) == 120


def test_requests_without_credential_never_use_up_what_wrong_keys_may(door: Door) -> None:
    """A monitor's probes stay 401, however many, and hide no later attempt from the trail."""
    authenticator = door.authenticator(FailureLimits(address=2, name=2, together=3))
    codes = {refusal(authenticator, None).code for _ in range(20)}
    assert codes == {Code.NO_CREDENTIALS}
    assert refusal(authenticator, new_key().reveal()).code is Code.BAD_CREDENTIALS
    assert door.recorded("login_refused")[-1]["about"]["code"] == "GW702"


def test_flood_is_limited_exactly_when_threads_fail_together(door: Door) -> None:
    """Counting loses nothing between threads."""
    authenticator = door.authenticator(FailureLimits(address=7, name=100, together=100))
    with ThreadPoolExecutor(8) as pool:
        refusals = list(
            pool.map(lambda _: refusal(authenticator, new_key().reveal()).code, range(40))
        )
    assert refusals.count(Code.BAD_CREDENTIALS) == 7
    assert len(door.recorded("login_refused")) == 8


def test_state_that_is_gone_is_not_a_bad_credential(door: Door, nowhere: Engine) -> None:
    """Without the state nobody gets in, and nobody is told that the key is wrong."""
    turning_away = LoginThrottle(lambda failed: pytest.fail(f"recorded {failed}"))
    authenticator = KeyAuthenticator(nowhere, door.subjects.get, turning_away)
    error = refusal(authenticator, new_key().reveal())
    assert isinstance(error, BackendUnavailable)
    assert error.code is Code.STATE_UNAVAILABLE


def test_use_is_noted_once_a_minute(door: Door) -> None:
    """The last use is known to the minute, and a busy key writes once in a minute."""
    authenticator = door.authenticator()
    key = door.create().key
    started = door.clock.now
    for seconds, noted in ((0, 0), (59, 0), (1, 60), (30, 60), (3600, 3690)):
        door.clock.forward(seconds=seconds)
        log_in(authenticator, key.reveal())
        with door.state.engine.connect() as connection:
            rows = connection.execute(select(key_uses)).all()
        assert [tuple(row) for row in rows] == [(key.id, started + timedelta(seconds=noted))]


def test_use_is_not_noted_for_a_refused_key(door: Door) -> None:
    """Only a key that let somebody in was used."""
    key = door.create().key
    door.revoke(key.id)
    refusal(door.authenticator(), key.reveal())
    with door.state.engine.connect() as connection:
        assert connection.execute(select(key_uses)).all() == []


def test_log_in_stands_when_its_use_cannot_be_noted(door: Door, state_server: StateServer) -> None:
    """A use that cannot be written is reported, and the valid key still lets in."""
    key = door.create().key.reveal()
    database = door.state.engine.url.database
    with state_server.superuser(str(database)) as connection, connection.transaction():
        connection.execute("LOCK TABLE key_uses IN SHARE MODE")
        assert log_in(door.authenticator(), key) == "ALICE"
    (told,) = door.told
    assert isinstance(told, StateLost)
