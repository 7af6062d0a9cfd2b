"""A journal of one's own, whose events are heard, and batches made to measure."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from fix_ledger import ALICE, Bank, Books, limits
from fix_state import AUDIT_SECRET, StateServer

from gateway.events import Committed, Event
from gateway.state.anchor import Anchor
from gateway.state.connections import engine_for
from gateway.state.journal import Journal
from gateway.state.open import StateUrls
from gateway.trail.chain import ChainKey
from gateway.trail.record import ActRecord, RecordKind, Trail

Heard = list[Event]


@contextmanager
def bank_on(
    urls: StateUrls, home: Path, heard: Heard, *, patience_s: float = 30.0
) -> Iterator[Bank]:
    """A gateway's own journal on a database; what it says is heard."""
    with ExitStack() as stack:
        engine = engine_for(urls.application, pooled=False)
        stack.callback(engine.dispose)
        anchor = Anchor(home / "anchor", AUDIT_SECRET)
        journal = Journal(engine, anchor, heard.append, patience_s=patience_s)
        stack.callback(journal.close)
        journal.open()
        yield Bank(journal, Trail(ChainKey(AUDIT_SECRET)), engine)


@pytest.fixture
def heard() -> Heard:
    return []


@pytest.fixture
def own(state_urls: StateUrls, tmp_path: Path, heard: Heard) -> Iterator[Bank]:
    """A bank with an open account, whose journal is heard."""
    with bank_on(state_urls, tmp_path, heard) as bank:
        open_clinic(bank)
        heard.clear()
        yield bank


def open_clinic(bank: Bank) -> None:
    bank.open_ledger(limits(1000))
    bank.open_account(ALICE, limits(1000))


def committed(heard: Heard) -> list[tuple[int, int]]:
    return [(event.steps, event.attempts) for event in heard if isinstance(event, Committed)]


def note(bank: Bank, text: str) -> Callable[[], None]:
    """A step that writes one record and nothing else that could be recognised when it is doubled."""
    record = ActRecord(RecordKind.POLICY_LOADED, text)
    return lambda: bank.journal.commit(lambda draft: bank.trail.append(draft, record))


def notes(books: Books) -> list[object]:
    return [record["actor"] for record in books.kinds("policy_loaded")]


def end_connections(server: StateServer, database: str) -> None:
    with server.superuser() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
            (database,),
        )
