"""A change of the rows behind cached answers is detected, and such a row is never served."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_journal import bank_on, open_clinic
from fix_ledger import BOB, Bank, limits
from fix_state import AUDIT_SECRET, StateServer
from release_cache.log_entries import ACCOUNTS, DATASET, Desk, entry

from gateway.errors import BackendUnavailable, Code
from gateway.events import Event, StateForged
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.events import ColumnsShared
from gateway.state.open import StateUrls
from gateway.trail.chain import ChainKey
from gateway.trail.verify import verify

_CHANGES = {
    "an integer of a content": "UPDATE released_contents SET content = {content}",
    "a content is another's": "UPDATE released_contents SET release = 'q-3.r1.1' WHERE release = 'q-2.r1.1'",
    "a content is gone": "DELETE FROM released_contents WHERE release = 'q-1.r1.1'",
    "a content has no seal": "UPDATE released_contents SET mac = NULL WHERE release = 'q-1.r1.1'",
    "an event was changed": "UPDATE asked_events SET subject = 'bob' WHERE ordinal = 3",
    "an event has no seal": "UPDATE asked_events SET mac = NULL WHERE ordinal = 3",
    "no event has a seal": "UPDATE asked_events SET mac = NULL",
    "an event in the middle is gone": "DELETE FROM asked_events WHERE ordinal = 3",
    "the first event is gone": "DELETE FROM asked_events WHERE ordinal = 1",
    "the end is cut off": "DELETE FROM asked_events WHERE ordinal >= 4",
    "all events are gone": "DELETE FROM asked_events",
    "two events have changed places": "UPDATE asked_events SET ordinal = 99 WHERE ordinal = 1;"
    " UPDATE asked_events SET ordinal = 1 WHERE ordinal = 3; UPDATE asked_events SET ordinal = 3 WHERE ordinal = 99",
    "an event was put in": "INSERT INTO asked_events SELECT dataset, 6, at, kind, subject, query_id, release, body, mac"
    " FROM asked_events WHERE ordinal = 5",
    "another moment": "UPDATE asked_events SET at = 'infinity' WHERE ordinal = 1",
}
# the integers of a content are packed: another content of the same shape takes its place
_OTHER = "(SELECT content FROM released_contents WHERE release = 'q-2.r1.1')"
_OF_CONTENTS = {one for one in _CHANGES if "content" in one}
# the chain is computed over what is there, so seals that are taken off all events change nothing of what is served
_ONLY_VERIFIED = {"no event has a seal"}


@pytest.fixture
def desk(state_urls: StateUrls, tmp_path: Path) -> Iterator[Desk]:
    """Two releases that were answered, and one of them told to somebody else."""
    with bank_on(state_urls, tmp_path, []) as bank:
        open_clinic(bank)
        bank.open_account(BOB, limits(1000))
        desk = Desk(bank)
        assert desk.buy(0, entry(1))
        desk.answer(entry(1), 4896)
        assert desk.buy(2, entry(2))
        desk.answer(entry(2), 1234)
        assert desk.tell(4, ColumnsShared("q-2.r1.1", (0,), (), ACCOUNTS["bob"]), 3)
        yield desk


def _problem(bank: Bank) -> str | None:
    with bank.engine.connect() as connection:
        snapshot = connection.execution_options(isolation_level="REPEATABLE READ")
        return verify(snapshot, ChainKey(AUDIT_SECRET), None).problem


def _read_all(cache: ReleaseCache) -> None:
    cache.refresh()
    for number in (1, 2, 3):
        cache.content(f"q-{number}.r1.1")


def _forge(desk: Desk, server: StateServer, change: str) -> None:
    """As somebody does who owns the database: what guards the tables is switched off."""
    with server.superuser(str(desk.bank.engine.url.database)) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(change.format(content=_OTHER).encode())


def test_state_verifies_as_it_was_written(desk: Desk) -> None:
    """The negative control: nobody changed anything."""
    assert _problem(desk.bank) is None
    cache = desk.cache()
    assert cache.refresh().ordinal == 5
    content = cache.content("q-1.r1.1")
    assert content is not None
    assert content.columns == ((4896,),)


@pytest.mark.parametrize("what", _CHANGES)
def test_change_is_found_and_never_served(desk: Desk, state_server: StateServer, what: str) -> None:
    """By verification with the trail intact, and by whoever reads it: refused, with a word to the operator."""
    _forge(desk, state_server, _CHANGES[what])
    assert _problem(desk.bank)
    heard: list[Event] = []
    cache = ReleaseCache(desk.bank.engine, desk.bank.trail.seal, DATASET, heard.append)
    if what in _ONLY_VERIFIED:
        assert not cache.entries("patients", since=entry(1).at)
        return
    if what == "a content is gone":
        cache.refresh()
        assert cache.content("q-1.r1.1") is None
        return
    with pytest.raises(BackendUnavailable) as caught:
        _read_all(cache)
    assert caught.value.code is Code.EARLIER_FORGED
    assert [type(one) for one in heard] == [StateForged]
    if what not in _OF_CONTENTS:
        with pytest.raises(BackendUnavailable):
            cache.refresh()


def test_end_that_is_cut_off_is_seen_by_a_gateway_that_runs(
    desk: Desk, state_server: StateServer
) -> None:
    """It has read further than the state goes now."""
    cache = desk.cache()
    cache.refresh()
    _forge(desk, state_server, "DELETE FROM asked_events WHERE ordinal = 5")
    with pytest.raises(BackendUnavailable):
        cache.refresh()


def test_events_from_before_there_were_seals_are_known_and_not_given_again(
    desk: Desk, state_server: StateServer
) -> None:
    """An upgrade leaves them in the histories; the first event that is sealed covers them from then on."""
    with state_server.superuser(str(desk.bank.engine.url.database)) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE asked_events SET mac = NULL")
        connection.execute("UPDATE released_contents SET mac = NULL")
    cache = desk.cache()
    assert cache.refresh().ordinal == 5
    assert not cache.entries("patients", since=entry(1).at)
    assert cache.knows(frozenset({"alice"}), "q-1.r1.1", (0,))
    assert cache.paid_slot("q-1.r1.1", 0) == ACCOUNTS["alice"]
    assert desk.buy(5, entry(4))
    desk.answer(entry(4), 7)
    cache.refresh()
    assert [one.release for one in cache.entries("patients", since=entry(1).at)] == ["q-4.r1.1"]
