"""Keys are created and revoked with their trail records; the state does not contain the keys themselves."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta

import pytest
from fix_auth import Clock, Door
from fix_state import AUDIT_SECRET
from sqlalchemy import Table, func, select

from gateway.auth.key_store import create, find_verifiers, list_keys, revoke
from gateway.auth.keys import Verifiers, verifier_of
from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.state.draft import Draft
from gateway.state.open import State, open_state
from gateway.state.tables import METADATA, api_keys, key_revocations, scram_salts
from gateway.trail.record import ActRecord, RecordKind, Trail


def count(state: State, table: Table) -> int:
    with state.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def verifiers(door: Door, subject: str) -> Verifiers | None:
    with door.state.engine.connect() as connection:
        return find_verifiers(connection, subject, door.clock.now)


def refusal(act: Callable[[], object]) -> OperatorError:
    with pytest.raises(OperatorError) as caught:
        act()
    return caught.value


def test_key_is_listed_and_recorded_when_it_is_created(door: Door) -> None:
    """A key is known by its id, with who made it, when, for whom and until when."""
    order = door.create("alice", timedelta(days=90))
    with door.state.engine.connect() as connection:
        (known,) = list_keys(connection)
    assert (known.id, known.subject, known.created_by) == (order.key.id, "alice", "os:op")
    assert (known.created_at, known.expires_at) == (order.at, order.at + timedelta(days=90))
    assert (known.revoked_at, known.revoked_by, known.last_used_at) == (None, None, None)
    assert known.secret_hash == order.key.digest()
    (record,) = door.recorded()
    assert (record["kind"], record["subject"], record["actor"]) == ("key_created", "alice", "os:op")
    assert record["about"]["key"] == order.key.id


def test_state_holds_nothing_a_key_can_be_read_from(door: Door) -> None:
    """The secret stands in no row of any table, in no form it could be used in."""
    secret = door.create().key.secret.get_secret_value()
    with door.state.engine.connect() as connection:
        dump = [
            repr(tuple(row))
            for table in METADATA.sorted_tables
            for row in connection.execute(select(table))
        ]
    assert len(dump) == 3
    assert not [row for row in dump if secret in row or secret.encode().hex() in row]


def test_keys_of_a_subject_share_their_salt(door: Door) -> None:
    """One salt for all keys of a subject, another one for the next subject."""
    first, second, other = door.create("alice"), door.create("alice"), door.create("bob")
    assert count(door.state, scram_salts) == 2
    of_alice, of_bob = verifiers(door, "alice"), verifiers(door, "bob")
    assert of_alice is not None
    assert of_bob is not None
    assert of_alice.salt == first.salt_if_first
    assert of_alice.salt != second.salt_if_first
    assert of_alice.salt != of_bob.salt
    assert set(of_alice.keys) == {
        verifier_of(key, of_alice.salt) for key in (first.key, second.key)
    }
    assert of_bob.keys == (verifier_of(other.key, of_bob.salt),)


def test_two_gateways_agree_on_the_salt(
    state_settings: Settings, trail: Trail, clock: Clock
) -> None:
    """A gateway that remembers no salt, while another one made it, does not make a second one."""
    with ExitStack() as stack:
        doors = [
            Door(stack.enter_context(open_state(state_settings, AUDIT_SECRET)), trail, clock)
            for _ in range(2)
        ]
        refusal(lambda: doors[1].revoke("a" * 12))
        keys = [doors[n % 2].create("alice").key.id for n in range(4)]
        found = verifiers(doors[0], "alice")
        assert found is not None
        assert {key.key_id for key in found.keys} == set(keys)
        assert count(doors[0].state, scram_salts) == 1
        doors[0].revoke(keys[0])
        assert "already revoked" in refusal(lambda: doors[1].revoke(keys[0])).detail


def test_step_sees_what_it_wrote_itself(door: Door) -> None:
    """Within one commit a second key finds the first one's salt, and a second revocation the first."""
    one, two = door.order("alice"), door.order("alice")

    def step(draft: Draft) -> None:
        door.trail.append(draft, ActRecord(RecordKind.KEY_CREATED, "os:op"))
        for order in (one, two):
            create(draft, order, door.subjects.__contains__)
        revoke(draft, one.key.id, actor="os:op", at=door.clock.now)
        with pytest.raises(OperatorError, match="already revoked"):
            revoke(draft, one.key.id, actor="os:op", at=door.clock.now)

    door.state.journal.commit(step)
    found = verifiers(door, "alice")
    assert found == Verifiers(one.salt_if_first, (verifier_of(two.key, one.salt_if_first),))


def test_keys_made_at_once_share_their_salt(door: Door) -> None:
    """First keys of one subject that are committed together agree, and each of them is made."""
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: door.create("alice").key.id, range(24)))
    found = verifiers(door, "alice")
    assert found is not None
    assert {key.key_id for key in found.keys} == made
    assert count(door.state, scram_salts) == 1


def test_key_is_revoked_once_by_many_at_once(door: Door) -> None:
    """Of revocations that are committed together one works, the others are told."""
    key_id = door.create().key.id

    def told(_: int) -> str:
        try:
            door.revoke(key_id)
        except OperatorError as error:
            return error.code
        return "revoked"

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(told, range(8))) == [Code.ARGUMENT_INVALID] * 7 + ["revoked"]
    assert len(door.recorded("key_revoked")) == 1


def test_subject_without_entry_gets_no_key(door: Door) -> None:
    """A key for nobody is refused, and nothing is written."""
    error = refusal(lambda: door.create("mallory"))
    assert (error.code, error.detail) == (Code.SUBJECT_UNKNOWN, "`mallory`")
    assert count(door.state, api_keys) == count(door.state, scram_salts) == 0
    assert door.recorded() == []


def test_revoked_and_expired_keys_have_no_verifier(door: Door) -> None:
    """A proof is tried against active keys alone; the salt stays, so that nothing shows."""
    short, gone = door.create("alice", timedelta(minutes=30)), door.create("alice")
    before = verifiers(door, "alice")
    door.revoke(gone.key.id)
    left = verifiers(door, "alice")
    assert left is not None
    assert [key.key_id for key in left.keys] == [short.key.id]
    door.clock.forward(minutes=30)
    after = verifiers(door, "alice")
    assert before is not None
    assert after == Verifiers(before.salt, ())
    assert verifiers(door, "bob") is None


def test_key_is_revoked_once_and_recorded(door: Door) -> None:
    """The first time works and is recorded; the second time says when that was."""
    key = door.create().key
    door.revoke(key.id)
    assert [record["kind"] for record in door.recorded()] == ["key_created", "key_revoked"]
    assert door.recorded("key_revoked")[0]["about"] == {"key": key.id}
    error = refusal(lambda: door.revoke(key.id))
    assert error.code is Code.ARGUMENT_INVALID
    assert "2026-03-01T12:00:00+00:00" in error.detail
    assert count(door.state, key_revocations) == 1
    assert len(door.recorded()) == 2


def test_key_that_was_found_can_be_revoked_by_itself(door: Door) -> None:
    """Who finds a whole key revokes it without taking it apart; neither way repeats it."""
    key = door.create().key
    door.revoke(key.reveal())
    assert key.secret.get_secret_value() not in str(refusal(lambda: door.revoke(key.reveal())))


@pytest.mark.parametrize("text", ["", "x", "a" * 11, "A" * 12, "gwk_" + "a" * 12 + "_" + "s" * 42])
def test_text_that_is_no_id_is_not_repeated(door: Door, text: str) -> None:
    """What may be most of a key appears in no message."""
    error = refusal(lambda: door.revoke(text))
    assert error.code is Code.KEY_UNKNOWN
    assert len(text) < 2 or text not in str(error)


def test_unknown_id_is_refused(door: Door) -> None:
    """An id that nobody has is named in the error."""
    error = refusal(lambda: door.revoke("abcdefgh2345"))
    assert (error.code, error.detail) == (Code.KEY_UNKNOWN, "`abcdefgh2345`")
