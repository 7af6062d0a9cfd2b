"""Stops that count and suspensions: at the stages, on a real state."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from fix_gateway import KEY, Clerk, Tamperer, superuser_engine
from fix_state import StateServer
from fix_two_gateways import second_journal
from sqlalchemy import text

from gateway.config import Settings
from gateway.errors import Code, NotPermitted
from gateway.stages.suspension import EVERYWHERE, suspend, tally
from gateway.state.open import State
from gateway.trail.verify import verify

MORNING = datetime.fromisoformat("2026-11-19T08:00:00+00:00")


@pytest.fixture
def books(clerk: Clerk) -> Iterator[Clerk]:
    clerk.now = MORNING
    clerk.open_books()
    yield clerk
    clerk.journal.close()


def _stop(clerk: Clerk, most: int = 3) -> bool:
    return clerk.stop(clerk.ask(price="0.01"), most=most)


def _is_refused(clerk: Clerk) -> bool:
    try:
        clerk.ask(price="0.01")
    except NotPermitted as refusal:
        return refusal.code is Code.SUBJECT_SUSPENDED
    return False


def test_subject_is_suspended_by_the_last_stop_of_a_day(books: Clerk) -> None:
    """The third stop of a day suspends; another subject, and the same one elsewhere, are answered."""
    assert [_stop(books), _stop(books)] == [False, False]
    assert not _is_refused(books)
    assert _stop(books)
    assert _is_refused(books)
    books.ask("analyst:bob@clinic", "0.01")


def test_stops_of_two_days_do_not_suspend(books: Clerk) -> None:
    """The day is a calendar day of UTC; a clock that was set back opens no new one."""
    _stop(books), _stop(books)
    books.now = MORNING + timedelta(hours=16)
    assert [_stop(books), _stop(books)] == [False, False]
    books.now = MORNING
    assert _stop(books)


def test_resumed_subject_is_counted_from_zero(books: Clerk) -> None:
    """After a resumption as many stops are free as on a new day."""
    _stop(books, most=1)
    assert _is_refused(books)
    assert books.resume(dataset="labs") == ()
    assert books.resume() == ("clinic",)
    assert books.resume() == ()
    assert not _is_refused(books)
    assert [_stop(books), _stop(books), _stop(books)] == [False, False, True]


def test_administrator_suspends_everywhere(books: Clerk) -> None:
    """An administrator's act is about every dataset, is written once, and one resumption lifts everything."""

    def act() -> bool:
        return books.journal.commit(
            lambda draft: suspend(
                draft, books.trail, "alice", EVERYWHERE, actor="dave", now=books.now
            )
        )

    assert [act(), act()] == [True, False]
    assert _is_refused(books)
    assert books.resume() == (EVERYWHERE,)
    assert not _is_refused(books)


def test_suspension_holds_in_a_gateway_that_remembers_otherwise(
    books: Clerk, state: State, state_settings: Settings
) -> None:
    """A second gateway with one state charges nothing more, whatever it remembered; nor does one that starts later."""
    with second_journal(state_settings) as journal:
        other = Clerk(journal, books.trail, MORNING, asked=1_000)
        assert not _is_refused(other)  # it remembers alice as active
        assert [_stop(books), _stop(other), _stop(books)] == [False, False, True]
        assert _is_refused(other)
    with second_journal(state_settings) as journal:
        assert _is_refused(Clerk(journal, books.trail, MORNING, asked=2_000))
        # what is remembered is what the table says
        found = journal.commit(lambda draft: tally(draft, "alice", "clinic"))
        assert found == books.journal.commit(lambda draft: tally(draft, "alice", "clinic"))


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM suspensions WHERE ordinal = 3",
        "DELETE FROM suspensions",
        "UPDATE suspensions SET subject = 'bob'",
        "UPDATE suspensions SET kind = 'resumed', query_id = NULL WHERE ordinal = 1",
        "UPDATE suspensions SET actor = 'gateway' WHERE ordinal = 3",
        "INSERT INTO suspensions VALUES ('bob', 'clinic', 1, now(), 'suspended', 'dave', NULL)",
    ],
)
def test_trail_does_not_verify_when_suspensions_were_changed(
    tamperer: Tamperer, change: str
) -> None:
    """A line that is gone, was changed, or was put in is found."""
    assert tamperer.verdict().intact
    assert tamperer.run(change)
    assert "suspension" in str(tamperer.verdict().problem)


def test_suspensions_follow_one_another_in_the_database(
    books: Clerk, state: State, state_server: StateServer
) -> None:
    """The database itself takes no line out of order, none for a question without a charge, and none back."""
    _stop(books)
    engine = superuser_engine(state_server, str(state.engine.url.database))
    try:
        for statement in (
            "INSERT INTO suspensions VALUES ('alice', 'clinic', 9, now(), 'resumed', 'x', NULL)",
            "INSERT INTO suspensions VALUES ('bob', 'clinic', 1, now(), 'counted', 'x', 'none')",
            "UPDATE suspensions SET actor = 'x'",
            "DELETE FROM suspensions",
        ):
            with (
                pytest.raises(Exception, match=r"follows nothing|append|refuse"),
                engine.begin() as c,
            ):
                c.execute(text(statement))
        with engine.connect() as connection:
            assert verify(connection, KEY, None).intact
    finally:
        engine.dispose()
