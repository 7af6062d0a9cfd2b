"""Two gateways on one state, for tests in which they take turns."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fix_ledger import Bank
from fix_state import AUDIT_SECRET, StateServer

from gateway.config import Settings
from gateway.state.connections import engine_for
from gateway.state.journal import Journal
from gateway.state.open import State, open_anchor


@dataclass(frozen=True)
class Site:
    """Two gateways on one state, and somebody who may end their journals' connections."""

    server: StateServer
    state: State
    banks: tuple[Bank, Bank]

    def cut_connections(self) -> None:
        with self.server.superuser() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks"
                " JOIN pg_database ON pg_database.oid = pg_locks.database"
                " WHERE locktype = 'advisory' AND datname = %s",
                (self.state.engine.url.database,),
            )


@contextmanager
def second_journal(settings_: Settings) -> Iterator[Journal]:
    """A journal that shares nothing with the state's own but the database and the anchor's file."""
    assert settings_.state_url is not None
    engine = engine_for(settings_.state_url.get_secret_value())
    journal = Journal(engine, open_anchor(settings_, AUDIT_SECRET))
    try:
        yield journal
    finally:
        journal.close()
        engine.dispose()
