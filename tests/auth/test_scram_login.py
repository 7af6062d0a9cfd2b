"""Log-ins by name: a valid key of that name is accepted, and only while it is valid."""

from datetime import timedelta

import pytest
from fix_auth import Door
from fix_state import AUDIT_SECRET

from gateway.admin.key_actions import login_failure_recorder
from gateway.auth.key_store import Claim
from gateway.auth.keys import mock_secret, new_key
from gateway.auth.login_throttle import LoginThrottle
from gateway.auth.scram import Logins, scram_logins
from gateway.errors import BackendUnavailable, Code, Refusal
from gateway.state.connections import engine_for

ALICE = Claim("alice", "192.0.2.7", "pgwire")


def logins_of(door: Door) -> Logins[str]:
    away = LoginThrottle(login_failure_recorder(door.state.journal, door.trail), door.told.append)
    secret = mock_secret(AUDIT_SECRET)
    return scram_logins(door.state.engine, door.subjects.get, away, secret, now=door.clock.wall)


def test_key_as_a_password_lets_its_own_subject_in(door: Door) -> None:
    """Who comes in is the holder, and which key it was is known."""
    key = door.create("alice").key
    admitted = logins_of(door).password.log_in(ALICE, key.reveal())
    assert (admitted.who, admitted.key_id) == ("ALICE", key.id)


def test_key_of_another_lets_nobody_in(door: Door) -> None:
    """A valid key does not make bob alice; the trail has the name that was claimed, and not the key's id."""
    door.create("alice")
    key = door.create("bob").key
    for shown in (key.reveal(), new_key().reveal(), "", "x"):
        with pytest.raises(Refusal) as refused:
            logins_of(door).password.log_in(ALICE, shown)
        assert refused.value.code is Code.BAD_CREDENTIALS
    records = [one["about"] for one in door.recorded("login_refused")]
    assert {one["claimed"] for one in records} == {"alice"}
    assert key.id not in repr(records)


def test_valid_key_stays_valid_until_it_expires_or_is_revoked(door: Door) -> None:
    """A long connection learns at its next question that its key is gone."""
    logins = logins_of(door)
    short, long = door.create("alice", timedelta(minutes=1)).key, door.create("alice").key
    assert logins.still_valid("alice", short.id) == logins.still_valid("alice", long.id) == "ALICE"
    door.clock.forward(minutes=1)
    assert logins.still_valid("alice", short.id) is None
    assert logins.still_valid("alice", long.id) == "ALICE"
    door.revoke(long.id)
    assert logins.still_valid("alice", long.id) is None


def test_subject_is_asked_for_anew(door: Door) -> None:
    """What the policies say now holds: changed attributes, and that somebody is gone."""
    logins, key = logins_of(door), door.create("alice").key
    door.subjects["alice"] = "ALICE, changed"
    assert logins.still_valid("alice", key.id) == "ALICE, changed"
    assert logins.still_valid("alice", None) == "ALICE, changed"
    del door.subjects["alice"]
    assert logins.still_valid("alice", key.id) is None
    assert logins.still_valid("alice", None) is None


def test_key_that_is_not_the_names_is_not_valid_for_it(door: Door) -> None:
    """Nor is one that does not exist."""
    logins, key = logins_of(door), door.create("bob").key
    assert logins.still_valid("alice", key.id) is None
    assert logins.still_valid("alice", new_key().id) is None


def test_state_that_is_gone_says_so(door: Door) -> None:
    """That nobody can be asked is not that the key is invalid."""
    nowhere = engine_for("postgresql://nobody@127.0.0.1:1/none")
    away = LoginThrottle(lambda failed: pytest.fail(f"recorded {failed}"))
    logins = scram_logins(nowhere, door.subjects.get, away, b"s")
    with pytest.raises(BackendUnavailable):
        logins.still_valid("alice", "x")
    with pytest.raises(BackendUnavailable):
        logins.scram.begin("alice")
    nowhere.dispose()


def test_mock_salts_are_made_of_the_audit_key_and_do_not_show_it() -> None:
    """The same key gives the same secret, another one another, and it is not the key."""
    assert mock_secret(AUDIT_SECRET) == mock_secret(bytes(AUDIT_SECRET))
    assert mock_secret(AUDIT_SECRET) != mock_secret(AUDIT_SECRET + b"x")
    assert AUDIT_SECRET not in mock_secret(AUDIT_SECRET)
    assert len(mock_secret(AUDIT_SECRET)) == 32
