"""The journal: shared commits, each step once or not at all, whoever else writes."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg
import pytest
from fix_journal import Heard, bank_on, committed, note, notes
from fix_ledger import (
    ALICE,
    CLINIC,
    NOON,
    Bank,
    audit,
    commit_together,
)
from fix_state import AUDIT_SECRET
from sqlalchemy import Table

from gateway.budget.charge import Receipt
from gateway.events import StateLost
from gateway.state.anchor import Anchor
from gateway.state.draft import Cell, Draft
from gateway.state.open import StateUrls
from gateway.state.tables import accounts, charges, ledger_entries, ledgers
from gateway.trail.record import ActRecord, RecordKind


def test_journal_commits_all_who_wait_at_once(own: Bank, heard: Heard) -> None:
    """Sixty callers who come during a commit are made durable by the one after it."""
    outcomes = commit_together(own.journal, [partial(own.ask, "0.1")] * 60)
    assert all(isinstance(one, Receipt) for one in outcomes)
    assert committed(heard) == [(1, 1), (60, 1)]
    assert len(audit(own.engine).charges) == 60


def test_journal_commits_in_batches_of_bounded_size(own: Bank, heard: Heard) -> None:
    """A crowd is served in batches of 256, in the order in which it came."""
    commit_together(own.journal, [note(own, str(place)) for place in range(300)])
    assert committed(heard) == [(1, 1), (256, 1), (44, 1)]
    assert notes(audit(own.engine)) == [str(place) for place in range(300)]


def test_journal_tells_nobody_before_the_anchor_knows(own: Bank, tmp_path: Path) -> None:
    """When a caller goes on, the anchor is at or behind none of the records it was told of."""
    own.ask("0.1", query_id="told")
    anchor = Anchor(tmp_path / "anchor", AUDIT_SECRET)
    anchored = anchor.read()
    anchor.close()
    assert anchored is not None
    assert anchored.position.seq == audit(own.engine).charged_at["told"]


def test_step_that_raises_writes_nothing_and_hurts_nobody(own: Bank) -> None:
    """What a step raises is its caller's; its neighbours in the batch are committed."""

    def fail(draft: Draft) -> None:
        own.trail.append(draft, ActRecord(RecordKind.POLICY_LOADED, "never"))
        draft.remember(("balance", ALICE), "nonsense")
        draft.state_fact(f"account:{ALICE}", {"spent": "0/1"})
        raise LookupError("mine")

    before, failed, after = commit_together(
        own.journal,
        [partial(own.ask, "0.1"), partial(own.journal.commit, fail), partial(own.ask, "0.1")],
    )
    assert isinstance(failed, LookupError)
    assert isinstance(before, Receipt)
    assert isinstance(after, Receipt)
    books = audit(own.engine)
    assert notes(books) == []
    assert len(books.charges) == 2
    own.ask("0.1")


Row = tuple[Table, dict[str, Cell]]
_AT = NOON.isoformat()
_LEDGER: dict[str, Cell] = {"source": "s", "unit": "u", "currency": "pure", "opened_at": _AT}
_CHARGE: dict[str, Cell] = {
    "query_id": "poison",
    "at": _AT,
    "subject": "eve",
    "ledger": CLINIC,
    "price": "1/1",
    "amount": "1/1",
    "delta": "0/1",
    "measurements": "[]",
}
_ENTRY: dict[str, Cell] = {
    "account": ALICE,
    "cell": "*",
    "query_id": "first",
    "at": _AT,
    "amount": "1/10",
    "spent_after": "1/5",
    "delta": "0/1",
    "delta_after": "0/1",
}
_POISON: dict[str, Row] = {
    "a NUL": (charges, {**_CHARGE, "subject": "eve\0"}),
    "a lone surrogate": (charges, {**_CHARGE, "subject": "eve\ud800"}),
    "an unknown currency": (ledgers, {**_LEDGER, "name": "n", "currency": "gold"}),
    "a negative amount": (charges, {**_CHARGE, "amount": "-1/1"}),
    "an amount without a value": (charges, {**_CHARGE, "amount": None}),
    "no such ledger": (charges, {**_CHARGE, "ledger": "dataset:nowhere"}),
    "no such parent": (
        accounts,
        {"name": "n", "ledger": CLINIC, "parent": "nobody", "opened_at": _AT},
    ),
    "a query id that was used": (charges, {**_CHARGE, "query_id": "first"}),
    "an account that is open": (
        accounts,
        {"name": ALICE, "ledger": CLINIC, "parent": None, "opened_at": _AT},
    ),
    "an entry that skips one": (ledger_entries, {**_ENTRY, "ordinal": 9}),
    "an entry that is there": (ledger_entries, {**_ENTRY, "ordinal": 1}),
    "a date that is none": (charges, {**_CHARGE, "at": "yesterday-ish"}),
}


@pytest.mark.parametrize("poison", _POISON)
def test_row_that_the_database_refuses_fails_alone(own: Bank, heard: Heard, poison: str) -> None:
    """A step whose rows PostgreSQL will not take fails with that, not with an outage; everybody else
    in its batch is served, and the journal goes on.
    """
    own.ask("0.1", query_id="first")
    heard.clear()

    def write(draft: Draft) -> None:
        own.trail.append(draft, ActRecord(RecordKind.POLICY_LOADED, "poisoned"))
        draft.insert(*_POISON[poison])

    calls: list[Callable[[], object]] = [
        partial(own.ask, "0.1", query_id=f"before {place}") for place in range(3)
    ]
    calls.append(partial(own.journal.commit, write))
    calls += [partial(own.ask, "0.1", query_id=f"after {place}") for place in range(3)]
    *first, failed, fourth, fifth, sixth = commit_together(own.journal, calls)
    assert isinstance(failed, psycopg.Error)
    assert not isinstance(failed, psycopg.OperationalError)
    assert all(isinstance(one, Receipt) for one in (*first, fourth, fifth, sixth))
    assert not any(isinstance(event, StateLost) for event in heard)
    own.ask("0.1")
    books = audit(own.engine)
    assert notes(books) == []
    assert len(books.charges) == 8


def test_query_id_used_twice_in_one_batch_is_charged_once(own: Bank) -> None:
    """Two charges under one query id: one is made, the other fails, their neighbour is served."""
    outcomes = commit_together(
        own.journal,
        [
            partial(own.ask, "0.1", query_id="twice"),
            partial(own.ask, "0.1", query_id="once"),
            partial(own.ask, "0.1", query_id="twice"),
        ],
    )
    kinds = [isinstance(one, Receipt) for one in outcomes]
    assert kinds == [True, True, False]
    assert sorted(audit(own.engine).charges) == ["once", "twice"]


@pytest.mark.parametrize("alone", [True, False])
def test_step_that_writes_without_a_trail_record_is_refused(own: Bank, *, alone: bool) -> None:
    """Nothing changes the state unrecorded, also not in the company of steps that are recorded."""

    def silently(draft: Draft) -> None:
        draft.insert(ledgers, {**_LEDGER, "name": "secret"})

    calls: list[Callable[[], object]] = [partial(own.journal.commit, silently)]
    if not alone:
        calls = [note(own, "a"), *calls, note(own, "b")]
    outcomes = commit_together(own.journal, calls)
    assert [isinstance(one, AssertionError) for one in outcomes] == (
        [True] if alone else [False, True, False]
    )
    with own.engine.connect() as connection:
        query = "SELECT count(*) FROM ledgers WHERE name = 'secret'"
        assert connection.exec_driver_sql(query).scalar_one() == 0
    assert notes(audit(own.engine)) == ([] if alone else ["a", "b"])


def test_journal_notices_that_another_wrote_and_builds_on_that(
    own: Bank, state_urls: StateUrls, tmp_path: Path, heard: Heard
) -> None:
    """Two journals that take turns lose no charge, and see each other by trying again."""
    with bank_on(state_urls, tmp_path, []) as other:
        for place in range(10):
            own.ask("0.1", query_id=f"own-{place}")
            other.ask("0.1", query_id=f"other-{place}")
    books = audit(own.engine)
    assert len(books.charges) == 20
    assert (1, 2) in committed(heard)


def test_journal_that_writes_under_the_lock_is_not_outrun(
    own: Bank, state_urls: StateUrls, tmp_path: Path
) -> None:
    """A journal that met another is served although three others never stop writing."""
    stop = threading.Event()
    with ExitStack() as stack:
        others = [stack.enter_context(bank_on(state_urls, tmp_path, [])) for _ in range(2)]

        def write_on(bank: Bank, name: int) -> None:
            place = 0
            while not stop.is_set():
                bank.journal._polite = 0
                bank.ask("1/1000", query_id=f"{name}-{place}")
                place += 1

        threads = [
            threading.Thread(target=write_on, args=each)
            for each in ((others[0], 0), (others[1], 1))
        ]
        for thread in threads:
            thread.start()
        try:
            for place in range(60):
                own.ask("1/1000", query_id=f"own-{place}")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert len([one for one in audit(own.engine).charges if one.startswith("own")]) == 60
