"""Backups restore cached releases, except those from before a data refresh."""

from collections.abc import Iterator
from contextlib import contextmanager

from fix_gateway import Installation
from fix_ledger import ALICE, BOB, NOON, Bank, limits
from release_cache.log_entries import DATASET, Desk, entry

from gateway.admin.instance import open_foundation
from gateway.release_cache.event_log import load_content

EVENTS = "SELECT dataset, ordinal, at, kind, subject, query_id, release, body FROM asked_events"
CONTENTS = "SELECT release, at, content FROM released_contents"


@contextmanager
def at_work(installation: Installation) -> Iterator[Desk]:
    """A gateway that works on the state until this ends."""
    with open_foundation(installation.settings) as foundation:
        yield Desk(Bank(foundation.journal, foundation.trail, foundation.engine))


def open_books(desk: Desk) -> None:
    desk.bank.open_ledger(limits(10))
    desk.bank.open_account(ALICE, limits(5))
    desk.bank.open_account(BOB, limits(5))


def test_restored_state_gives_again_what_the_backup_knows(installation: Installation) -> None:
    """Events and noisy integers are the same to the last bit, and the cache reads them."""
    with at_work(installation) as desk:
        open_books(desk)
        assert desk.buy(0, entry(1))
        desk.answer(entry(1), 41)
        assert desk.buy(2, entry(2), "bob")
    file = installation.backup()
    events, contents = installation.rows(EVENTS), installation.rows(CONTENTS)
    assert len(events) == 3
    installation.lose()
    assert installation.restore(file).refreshed == ()
    assert (installation.rows(EVENTS), installation.rows(CONTENTS)) == (events, contents)
    with at_work(installation) as desk:
        cache = desk.cache()
        assert cache.refresh().ordinal == 3
        assert [one.query_id for one in cache.entries("patients", since=NOON)] == ["q-2", "q-1"]
        content = cache.content("q-1.r1.1")
        assert content is not None
        assert content.columns == ((41,),)
        assert desk.buy(3, entry(3))


def test_restored_state_forgets_what_was_asked_since_but_not_what_it_cost(
    installation: Installation,
) -> None:
    """What came after the backup is neither given again nor known to the auditor; it stays charged."""
    with at_work(installation) as desk:
        open_books(desk)
        assert desk.buy(0, entry(1))
        desk.answer(entry(1), 41)
    file = installation.backup()
    with at_work(installation) as desk:
        assert desk.buy(2, entry(2))
        desk.answer(entry(2), 42)
    spent = installation.spent()
    installation.lose()
    installation.restore(file)
    assert installation.spent() == spent
    with at_work(installation) as desk:
        cache = desk.cache()
        assert cache.refresh().ordinal == 2
        assert load_content(desk.bank.engine, desk.bank.trail.seal, "q-2.r1.1") is None
        assert [one.query_id for one in cache.entries("patients", since=NOON)] == ["q-1"]
        assert desk.buy(2, entry(3))


def test_restored_state_gives_nothing_again_from_before_a_refresh_that_it_forgot(
    installation: Installation,
) -> None:
    """The anchor knows that the data was refreshed since the backup, of which dataset, and it is recorded."""
    with at_work(installation) as desk:
        open_books(desk)
        desk.refresh()
        assert desk.buy(1, entry(1, epoch=1))
        labs = Desk(desk.bank, "labs")
        assert labs.buy(0, entry(2))
    file = installation.backup()
    with at_work(installation) as desk:
        desk.refresh()
        desk.refresh()
    installation.lose()
    assert installation.restore(file).refreshed == (DATASET,)
    with at_work(installation) as desk:
        cache = desk.cache()
        assert cache.refresh().epoch == 2
        assert cache.entries("patients", since=NOON) == ()
        labs = Desk(desk.bank, "labs")
        other = labs.cache()
        assert other.refresh().epoch == 0
        assert len(other.entries("patients", since=NOON)) == 1
    records = installation.rows("SELECT dataset FROM trail_records WHERE kind = 'data_refreshed'")
    assert records == [(DATASET,), (DATASET,)]
    assert installation.verdict().intact
    assert installation.restore().refreshed == ()
