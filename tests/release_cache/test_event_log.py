"""Events of releases are written once, in one order; a plan rests on all earlier events."""

import threading
from fractions import Fraction
from functools import partial

import psycopg
import pytest
from fix_journal import bank_on, end_connections
from fix_ledger import ALICE, BOB, NOON, Bank, audit, commit_together, limits
from fix_state import StateServer, dsn_of
from psycopg import errors
from release_cache.log_entries import ACCOUNTS, DATASET, Desk, entry, scope, slot

from gateway.release_cache.event_log import append_always, load_after, load_content, load_last
from gateway.release_cache.events import (
    ColumnsShared,
    ContentLost,
    ContentStored,
    DataRefreshed,
    EntryCharged,
    Event,
)
from gateway.state.draft import Draft
from gateway.state.open import StateUrls
from gateway.trail.record import ActRecord, RecordKind
from gateway.trail.seal import EventChain


@pytest.fixture
def desk(bank: Bank) -> Desk:
    bank.open_ledger(limits(1000))
    bank.open_account(ALICE, limits(1000))
    bank.open_account(BOB, limits(1000))
    return Desk(bank)


def test_event_is_read_as_it_was_written(desk: Desk) -> None:
    """Every kind of event comes back equal, with its number, its moment and whose question it was."""
    one = entry(1, slots=(slot(20), slot(7, "cost")))
    told = ColumnsShared(one.release, (0,), (), ACCOUNTS["bob"])
    assert desk.buy(0, one)
    desk.answer(one, 41, slot=0)
    assert desk.tell(2, told, 2)
    desk.lose(one)
    desk.refresh()
    read = list(load_after(desk.bank.engine, DATASET, EventChain(desk.bank.trail.seal)))
    assert [each.event for each in read] == [
        EntryCharged(one, ACCOUNTS["alice"]),
        ContentStored(one.release, (41,), 0, Fraction(2), whole=True),
        told,
        ContentLost(one.release),
        DataRefreshed("dave"),
    ]
    assert [each.ordinal for each in read] == [1, 2, 3, 4, 5]
    assert {(each.dataset, each.at) for each in read} == {(DATASET, NOON)}
    assert [(each.subject, each.query_id) for each in read] == [
        ("alice", "q-1"),
        (None, None),
        ("bob", "q-2"),
        (None, None),
        (None, None),
    ]
    chain = EventChain(desk.bank.trail.seal)
    read_on = load_after(desk.bank.engine, DATASET, chain)
    assert [next(read_on) for _ in range(3)] == read[:3]
    assert list(load_after(desk.bank.engine, DATASET, chain)) == read[3:]
    assert load_last(desk.bank.engine, DATASET) == 5


def test_event_is_not_written_when_it_was_planned_on_less(desk: Desk) -> None:
    """Of two questions that were planned on the same event the second is not charged, and leaves no trace."""
    assert desk.buy(0, entry(1))
    before = audit(desk.bank.engine)
    assert not desk.buy(0, entry(2), "bob")
    after = audit(desk.bank.engine)
    assert (after.seq, after.spent) == (before.seq, before.spent)
    assert load_last(desk.bank.engine, DATASET) == 1
    assert desk.buy(1, entry(2), "bob")


def test_datasets_are_numbered_apart(desk: Desk) -> None:
    """What happens to one dataset leaves questions about another as they were planned."""
    other = Desk(desk.bank, "labs")
    assert desk.buy(0, entry(1))
    assert other.buy(0, entry(2))
    assert load_last(desk.bank.engine, "labs") == load_last(desk.bank.engine, DATASET) == 1
    assert load_last(desk.bank.engine, "nowhere") == 0
    assert [
        each.query_id
        for each in load_after(desk.bank.engine, "labs", EventChain(desk.bank.trail.seal))
    ] == ["q-2"]


def test_questions_of_one_batch_are_told_apart(desk: Desk) -> None:
    """Of three that are committed together, planned on the same event, exactly the first is charged."""
    bought = [entry(1), entry(2), entry(3)]
    calls = [partial(desk.buy, 0, one) for one in bought]
    assert commit_together(desk.bank.journal, calls) == [True, False, False]
    assert set(audit(desk.bank.engine).charged_at) == {"q-1"}


def test_content_is_found_when_it_is_there(desk: Desk) -> None:
    """Nothing before the answer, the text as it was written after it."""
    one = entry(1)
    assert desk.buy(0, one)
    assert load_content(desk.bank.engine, desk.bank.trail.seal, one.release) is None
    desk.answer(one, 7)
    assert load_content(desk.bank.engine, desk.bank.trail.seal, one.release) is not None


def test_events_are_all_read_when_they_are_many(desk: Desk) -> None:
    """More than are read at once come in order, each once."""
    record = ActRecord(RecordKind.POLICY_LOADED, "dave")
    events: list[Event] = [DataRefreshed(f"dave-{number}") for number in range(2_500)]

    def step(draft: Draft) -> None:
        append_always(draft, DATASET, events, NOON)
        desk.bank.trail.append(draft, record)

    desk.bank.journal.commit(step)
    assert [
        each.event
        for each in load_after(desk.bank.engine, DATASET, EventChain(desk.bank.trail.seal))
    ] == events


def test_event_is_written_once_when_connections_break(
    desk: Desk, state_server: StateServer, state_urls: StateUrls
) -> None:
    """A step that is tried again on a new connection is in the log once."""
    assert desk.buy(0, entry(1))
    end_connections(state_server, str(state_urls.application.database))
    assert desk.buy(1, entry(2))
    assert load_last(desk.bank.engine, DATASET) == 2


def test_gateways_buy_once_when_they_plan_on_the_same_event(
    desk: Desk, state_urls: StateUrls, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Two journals on one state: of those that planned on event n one is charged; the other is told, reads on, and
    sees the entry.
    """
    with bank_on(state_urls, tmp_path_factory.mktemp("other"), []) as bank:
        other = Desk(bank)
        here, there = desk.cache(), other.cache()
        assert here.refresh() == there.refresh()
        outcomes = {}
        barrier = threading.Barrier(2)

        def plan_and_buy(name: str, who: Desk, number: int) -> None:
            barrier.wait()
            outcomes[name] = who.buy(0, entry(number))

        threads = [
            threading.Thread(target=plan_and_buy, args=("here", desk, 1)),
            threading.Thread(target=plan_and_buy, args=("there", other, 2)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes.values()) == [False, True]
        cache = there if outcomes["here"] else here
        assert cache.refresh().ordinal == 1
        (seen,) = cache.entries("patients", since=NOON)
        assert seen.query_id == ("q-1" if outcomes["here"] else "q-2")
        assert len(audit(desk.bank.engine).charged_at) == 1


def test_gateway_is_charged_when_its_journal_remembers_less_than_its_book(
    desk: Desk, state_urls: StateUrls, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whoever read on may buy at once, also where the own journal still believes in an older past."""
    with bank_on(state_urls, tmp_path_factory.mktemp("other"), []) as bank:
        other = Desk(bank)
        assert desk.buy(0, entry(1))
        for number in range(2, 12, 2):
            assert other.buy(number - 1, entry(number))
            assert desk.buy(number, entry(number + 1))
        assert [
            each.ordinal for each in load_after(bank.engine, DATASET, EventChain(bank.trail.seal))
        ] == list(range(1, 12))
        assert audit(desk.bank.engine).spent[ALICE] == 11 * Fraction(1, 1000)


def test_gateways_lose_nothing_when_both_write_all_the_time(
    desk: Desk, state_urls: StateUrls, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Four threads of two gateways plan, are told no, and plan again: every purchase is there once, without holes."""
    with bank_on(state_urls, tmp_path_factory.mktemp("other"), []) as bank:
        desks = [desk, desk, Desk(bank), Desk(bank)]
        caches = [desk.cache(), desk.cache(), desks[2].cache(), desks[3].cache()]

        refused = []

        def work(place: int) -> None:
            for number in range(place * 10, place * 10 + 10):
                # each no means that one of the 80 events came meanwhile
                for _ in range(81):
                    seen = caches[place].refresh().ordinal
                    if desks[place].buy(seen, entry(number)):
                        break
                else:
                    refused.append(number)
                    return
                desks[place].answer(entry(number), number)

        threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused == []
        read = list(load_after(bank.engine, DATASET, EventChain(bank.trail.seal)))
        assert len(read) == 80
        for cache in caches:
            assert cache.refresh().ordinal == 80
            assert {one.query_id for one in cache.entries("patients", since=NOON)} == {
                f"q-{number}" for number in range(40)
            }
        assert len(audit(bank.engine).charged_at) == 40


def insert(urls: StateUrls, statement: str) -> None:
    with psycopg.connect(dsn_of(urls.application), autocommit=True) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "values",
    [
        "('clinic', 3, now(), 'refreshed', null, null, null, '{}')",  # a hole
        "('clinic', 1, now(), 'refreshed', null, null, null, '{}')",  # there is one
        "('clinic', 0, now(), 'refreshed', null, null, null, '{}')",
        "('clinic', 2, now(), 'given', null, null, null, '{}')",
        "('clinic', 2, now(), 'refreshed', null, null, 'q-1.r1.1', '{}')",
        "('clinic', 2, now(), 'lost', null, null, null, '{}')",
        "('clinic', 2, now(), 'lost', null, null, 'q-2.r1.1', '{}')",  # never bought
        "('labs', 1, now(), 'lost', null, null, 'q-1.r1.1', '{}')",  # bought elsewhere
        "('clinic', 2, now(), 'told', null, 'q-1', 'q-1.r1.1', '{}')",  # to nobody
        "('clinic', 2, now(), 'bought', 'alice', 'q-1', 'q-1.r1.1', '{}')",  # again
        "('clinic', 2, now(), 'bought', 'alice', 'q-9', 'q-9.r1.1', '{}')",  # never charged
    ],
)
def test_database_takes_no_event_that_follows_nothing(
    desk: Desk, state_urls: StateUrls, values: str
) -> None:
    """Holes, doubles, purchases without a charge and fates of what was never bought are refused by the tables."""
    assert desk.buy(0, entry(1))
    with pytest.raises(errors.IntegrityError):
        insert(state_urls, f"INSERT INTO asked_events VALUES {values}")  # constants


def test_database_takes_what_follows(desk: Desk, state_urls: StateUrls) -> None:
    """A negative control: the same rows, as they should be, and of contents those alone that were bought."""
    assert desk.buy(0, entry(1))
    insert(
        state_urls,
        "INSERT INTO asked_events VALUES ('clinic', 2, now(), 'lost', null, null, 'q-1.r1.1', '{}'),"
        " ('clinic', 3, now(), 'refreshed', null, null, null, '{}')",
    )
    insert(state_urls, "INSERT INTO released_contents VALUES ('q-1.r1.1', now(), '')")
    with pytest.raises(errors.IntegrityError):
        insert(state_urls, "INSERT INTO released_contents VALUES ('q-2.r1.1', now(), '')")


def test_entries_are_found_by_what_they_are_about(desk: Desk) -> None:
    """A negative control of the helpers of these tests: another shape is another index."""
    assert desk.buy(0, entry(1, scope(shape="visits")))
    cache = desk.cache()
    cache.refresh()
    assert cache.entries("patients", since=NOON) == ()
    assert len(cache.entries("visits", since=NOON)) == 1
